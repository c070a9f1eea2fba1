"""How to use the model: lines that work as they are pasted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from automl.addresses import public_address
from automl.home import Home, RunFolder
from automl.inference.manifest import MANIFEST, Manifest, parse_manifest
from automl.reports.command_line import command
from automl.reports.page import Code, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices
from automl.run.beginning import GIVEN_FRAME

KEY, TITLE = "use", "How to use it"


def usage(choices: RunChoices, folder: RunFolder) -> Section:
    """In Python, on the command line and from the registry."""
    return Section(KEY, TITLE, tuple(_parts(choices, folder)))


def python_lines(folder: RunFolder, facts: Mapping[str, Any], manifest: Manifest) -> str:
    """Python that loads the model and predicts rows, of the table where it can be read once more.

    Parameters
    ----------
    facts
        Content of `run.json`.
    """
    trust = ", trust=True" if manifest.needs_trust else ""
    load = f'load_bundle("{folder.bundle.resolve()}"{trust})'
    if facts.get(GIVEN_FRAME):
        return (
            "import pandas as pd\n"
            "from automl.inference.bundle import load_bundle, read_manifest\n"
            "from automl.inference.example import input_example\n"
            f'rows = pd.DataFrame(input_example(read_manifest("{folder.bundle.resolve()}")))\n'
            f"print({load}.predict(rows))"
        )
    source = public_address(str(facts["settings"]["table"]))
    return (
        "from automl.data.readers import read_table\n"
        "from automl.inference.bundle import load_bundle\n"
        f'print({load}.predict(read_table("{source}").head()))'
    )


def _parts(choices: RunChoices, folder: RunFolder) -> Iterator[Part]:
    if choices.final is None or not (folder.bundle / MANIFEST).is_file():
        yield Paragraph("The run has no model yet.")
        return
    manifest, home = parse_manifest(folder.bundle / MANIFEST)[1], Home(folder.path.parents[1])
    yield Paragraph("In Python, wherever this package is installed:")
    yield Code(python_lines(folder, choices.facts, manifest))
    if choices.facts.get(GIVEN_FRAME):
        yield Paragraph(
            "The two rows are made up of the columns' types; give your own instead.", "note"
        )
    if manifest.needs_trust:
        yield Paragraph(
            "A part of the model is a pickle, which can run code: load it only from where you trust it.",
            "notice",
        )
    yield Paragraph("On the command line, for a table of new rows, and how far they have moved:")
    predict = command(home, "predict", choices.run_id, "TABLE", "-o", "predictions.csv")
    yield Code(f"{predict}\n{command(home, 'drift', choices.run_id, 'TABLE')}", "sh")
    label = choices.status.registered.partition("@")[0]
    if label:
        yield Paragraph("From MLflow, where the tracking store is known:")
        yield Code(f'import mlflow\nmodel = mlflow.pyfunc.load_model("models:/{label}")')
