"""Variants of the network for tables: ``networks.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. The default of `tabular_network` is fitted on
five folds of 70 % of the rows; the bag of the five models predicts the other 30 %. Beside it: labels smoothed by
a twentieth and by a tenth (a share of each label is spread evenly over all classes), four members with weights
of their own, and four that share their hidden layers.

A line of OUT.jsonl is a table and a variant. Finished ones are not repeated. Prints the log loss or root mean
squared error of each variant as a ratio to the default's, geometric means with standard errors, and the area under
the curve and the accuracy beside the default's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "seconds"))

import kept_lines
from shared_rounds import completed, fitted_folds, prepared

from automl.data.table import Table
from automl.estimators import tabular_network
from automl.estimators.tabular_network import (
    Float32,
    Network,
    Parameters,
    Passed,
    _TabularNetwork,
)
from automl.evaluation.fitting import SharedRounds
from automl.evaluation.plan import EvaluationPlan
from automl.metrics.building import build_index
from automl.records import FloatArray

KEYS = ("table", "variant")
TABLES = (
    "vehicle", "qsar-biodeg", "credit-g", "kc1", "cmc", "yeast", "segment", "pc4", "splice", "car", "ilpd", "vowel",
    "concrete", "airfoil", "abalone", "housing", "stock", "sensory",
)  # fmt: skip
DEFAULT = "default"


@dataclass(frozen=True)
class Variant:
    """What differs from the default.

    Parameters
    ----------
    smoothing
        Share of a label that is spread evenly over all classes.
    members
        Networks whose outputs are averaged; None: as by default.
    is_shared
        Whether they share their hidden layers.
    """

    smoothing: float = 0.0
    members: int | None = None
    is_shared: bool = False


VARIANTS: Mapping[str, Variant] = {
    DEFAULT: Variant(),
    "labels smoothed by 0.05": Variant(smoothing=0.05),
    "labels smoothed by 0.1": Variant(smoothing=0.1),
    "four members": Variant(members=4),
    "four members, shared layers": Variant(members=4, is_shared=True),
}


class SharedNetwork(Network):
    """Members share the hidden layers; inputs begin with random signs, and each member has an output of its own.

    Unlike in [1], each member also embeds the numbers by itself.

    References
    ----------
    .. [1] Gorishniy, Kotelnikov and Babenko (2024), "TabM", arXiv 2410.24210, section 3.3 (TabM-mini).
    """

    def __init__(self, *given: Any, rng: np.random.Generator, **named: Any) -> None:
        super().__init__(*given, rng=rng, **named)
        for layer in range(self.n_layers - 1):
            for name in (f"W{layer}", f"b{layer}"):
                self.parameters[name] = self.parameters[name][:1]
        signs = rng.choice([-1.0, 1.0], self.parameters["scale"].shape)
        self.parameters["scale"] = signs.astype(np.float32)

    def gradient(self, X: Float32, passed: Passed, delta: Any) -> Parameters:
        """Gradient by all parameters; that of the members' mean loss by what they share."""
        found = super().gradient(X, passed, delta)
        return {
            name: value.mean(axis=0, keepdims=True) if len(self.parameters[name]) == 1 else value
            for name, value in found.items()
        }


def varied(variant: Variant) -> ExitStack:
    """While it is open, networks are fitted as the variant says."""
    stack = ExitStack()
    train = _TabularNetwork._train  # noqa: SLF001 - what varies is private
    share = np.float32(variant.smoothing)

    def smoothed(
        model: _TabularNetwork, X: FloatArray, T: Float32, w: FloatArray | None, *, classes: bool
    ) -> None:
        labels = T * (1 - share) + share / np.float32(T.shape[1]) if classes else T
        train(model, X, labels, w, classes=classes)

    if variant.smoothing:
        stack.enter_context(mock.patch.object(_TabularNetwork, "_train", smoothed))
    if variant.is_shared:
        stack.enter_context(mock.patch.object(tabular_network, "Network", SharedNetwork))
    return stack


def measured(
    data: Path, tables: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table and variant that is not known yet."""
    for name in tables:
        with prepared(data, name) as (plan, test):
            for label, variant in VARIANTS.items():
                is_idle = variant.smoothing and not plan.table.n_classes
                if (name, label) not in known and not is_idle:
                    yield {"table": name, "variant": label, **_fitted(plan, test, variant)}


def _fitted(plan: EvaluationPlan, test: Table, variant: Variant) -> dict[str, Any]:
    """Metrics of the bag on the test rows, and processor seconds."""
    values = {} if variant.members is None else {"members": variant.members}
    configuration, started = completed(plan, "tabular_network", values), time.process_time()
    with varied(variant):
        folds = [*fitted_folds(plan, test, configuration, SharedRounds.of(plan, None))]
    seconds = time.process_time() - started
    bag = np.mean([fold.on_test for fold in folds], axis=0)
    table, n_classes = plan.table, plan.table.n_classes or None
    names = ("log_loss", "roc_auc", "accuracy") if n_classes else ("rmse",)
    index = build_index(names[0], task=table.task, y_all=table.y, n_classes=n_classes)
    found = index.metrics(test.y, bag)
    return {"seconds": seconds, "loss": found[names[0]], **{name: found[name] for name in names}}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Losses by table, and what the variants come to."""
    found = {(line["table"], line["variant"]): line for line in lines}
    tables = list(dict.fromkeys(line["table"] for line in lines))
    for name in tables:
        losses = [found.get((name, label), {}).get("loss", np.nan) for label in VARIANTS]
        yield f"{name:<14} " + " ".join(f"{loss:9.4g}" for loss in losses)
    for label in VARIANTS:
        pairs = [
            (found[name, label], found[name, DEFAULT])
            for name in tables
            if label != DEFAULT and (name, label) in found and (name, DEFAULT) in found
        ]
        if len(pairs) > 1:
            yield f"{label}: {_summary(pairs)}"


def _summary(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Mean differences of pairs of a variant and the default."""
    ratios = np.log([new["loss"] / old["loss"] for new, old in pairs])
    seconds = np.log([new["seconds"] / old["seconds"] for new, old in pairs])
    parts = [
        f"{len(pairs)} tables, loss x {np.exp(ratios.mean()):.4f} ({_error(ratios):.4f})",
        f"seconds x {np.exp(seconds.mean()):.2f}",
    ]
    for name in ("roc_auc", "accuracy"):
        gains = np.array([new[name] - old[name] for new, old in pairs if name in new])
        if len(gains) > 1:
            parts.append(f"{name} {gains.mean():+.4f} ({_error(gains):.4f})")
    return ", ".join(parts)


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


if __name__ == "__main__":
    kept_lines.run(__doc__, TABLES, KEYS, measured, report)
