"""The public classes and functions as text, from their docstrings, for ``docs/api.md``.

``python -m automl_flows.api_reference docs/api.md`` writes it anew between its two marks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from automl.generated_lists import renew_page

PUBLIC = {
    "The estimator": {
        "automl_flows": [
            "AutoML.fit predict predict_proba score",
            "Result.of leaderboard why report",
        ]
    },
    "The final model": {"automl.inference.model": ["TableModel.predict predict_proba deviations"]},
    "Tasks that read and divide tables": {
        "automl_tasks.data": [
            "read_table",
            "detect_roles",
            "fit_schema",
            "type_columns",
            "split_test",
            "make_folds",
        ]
    },
    "Tasks that prepare columns": {
        "automl_tasks.preprocessing": [
            "impute",
            "fit_imputer",
            "encode",
            "fit_encoder",
            "filter_variance",
            "fit_variance_filter",
            "count_values",
            "fit_value_counts",
            "scale",
            "fit_scaler",
            "reduce",
            "fit_reducer",
            "apply",
            "fit_preprocessor",
            "apply_preprocessor",
        ]
    },
    "Tasks that evaluate, select and blend models": {
        "automl_tasks.models": [
            "evaluate_configuration",
            "select_models",
            "weigh_models",
            "blend",
            "score_folds",
            "load_model",
            "predict",
            "score",
        ]
    },
    "What packages extend": {
        "automl.optimizers.protocol": ["Optimizer.ask tell", "Proposal"],
        "automl.optimizers.registry": ["OptimizerEntry"],
        "automl.bandits.protocol": ["Allocator.choose update"],
        "automl.bandits.registry": ["AllocatorEntry"],
        "automl.metrics.metric": ["Metric"],
        "automl.metrics.registry": ["register_metric"],
        "automl.ensembles.problem": ["EnsembleProblem"],
        "automl.ensembles.registry": ["EnsembleMethod"],
    },
}
"""Names by title and module; the words after a class's point are its methods."""

_SECTION = re.compile(r"(?m)^(Parameters|Attributes|Returns|Raises|Warns|Examples)\n-+\n")


def api_sections() -> str:
    """A section for each title, in which every name has its signature and its docstring."""
    return "\n\n".join(
        "\n\n".join([f"## {title}", *_entries(modules)]) for title, modules in PUBLIC.items()
    )


def _entries(modules: dict[str, list[str]]) -> Iterator[str]:
    for module, names in modules.items():
        for words in names:
            name, *methods = re.split(r"[. ]", words)
            found = getattr(import_module(module), name)
            yield _entry(f"### {name}", f"from {module} import {name}", name, found)
            for method in methods:
                yield _entry(f"#### {name}.{method}", "", method, getattr(found, method))


def _entry(heading: str, imported: str, name: str, found: Any) -> str:
    """Heading, signature and docstring of a function, a task, a class or a method."""
    function = getattr(found, "fn", found)
    code = [line for line in (imported, f"{name}{_signature(function)}") if line]
    return "\n\n".join([heading, "```text\n" + "\n".join(code) + "\n```", *_text(function)])


def _signature(function: Any) -> str:
    """Names and defaults of the parameters; the docstring says the rest."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _text(function: Any) -> Iterator[str]:
    """Paragraphs of a docstring in NumPy's style."""
    before, *sections = _SECTION.split((inspect.getdoc(function) or "").replace("``", "`"))
    if before:
        yield before.strip()
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield f"**{title}**"
        yield _example(body) if title == "Examples" else "\n".join(_items(body))


def _example(body: str) -> str:
    return f"```pycon\n{body.strip()}\n```"


def _items(body: str) -> Iterator[str]:
    """A list item for each entry; its description is indented below its name."""
    for entry in re.split(r"\n(?=\S)", body.strip()):
        name, _, description = entry.partition("\n")
        said = " ".join(description.split())
        yield f"- {_name(name)}{': ' + said if said else ''}"


def _name(line: str) -> str:
    """``name : type`` with the name as code; a whole sentence as it is."""
    name, colon, kind = line.partition(" : ")
    if " " in name.replace(", ", "") and not colon:
        return line.strip()
    return f"`{name.strip()}`" + (f" ({kind.strip()})" if colon else "")


if __name__ == "__main__":
    renew_page(api_sections)
