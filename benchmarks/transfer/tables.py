"""The SVM and the AdaBoost table: scores of a grid on 50 data sets, and their meta-features."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from automl.records import FloatArray, IntArray
from automl.surrogates.earlier_data import Sources

TABLES = ("svm", "adaboost")
META = {
    "all": None,
    "document": ["num_classes", "log_num_attributes", "log_inst_per_attr"],
}
"""Meta-features: the 22 of the folder, or the three that the document names."""


@dataclass(frozen=True)
class Table:
    """One table.

    Parameters
    ----------
    names : t data sets
    X : (n, d), in [0, 1]
        Encoded configurations; what is not used by the kernel is 0.
    score : (n,)
        Accuracy.
    task : (n,), in [0, t)
    meta : (t, p), in [0, 1]
    """

    name: str
    names: Sequence[str]
    X: FloatArray
    score: FloatArray
    task: IntArray
    meta: FloatArray

    def others(self, target: int, y: FloatArray) -> Sources:
        """All data sets but one as sources, with targets y (n,)."""
        kept = self.task != target
        task = self.task[kept]
        return Sources(
            self.X[kept],
            y[kept],
            task - (task > target),
            np.delete(self.meta, target, axis=0),
            self.meta[target],
        )


def read_table(metadata: Path, name: str, meta: str = "all") -> Table:
    """Table of a name from the folder METADATA/svm_adaboost."""
    folder = metadata / "svm_adaboost"
    trials = pd.read_csv(folder / f"{name}.csv.gz")
    features = pd.read_csv(folder / "metafeatures.csv").set_index("dataset")
    names = list(features.index)
    columns = META[meta] or list(features.columns)
    return Table(
        name,
        names,
        _svm(trials) if name == "svm" else _adaboost(trials),
        trials["accuracy"].to_numpy(float),
        trials["dataset"].map({key: i for i, key in enumerate(names)}).to_numpy(int),
        features[columns].to_numpy(float),
    )


def _svm(trials: pd.DataFrame) -> FloatArray:
    kernels = [(trials["kernel"] == kernel).to_numpy(float) for kernel in ("rbf", "poly", "linear")]
    numbers = [
        _scaled(np.log2(trials["C"].to_numpy(float))),
        _scaled(np.log10(trials["gamma"].to_numpy(float))),
        _scaled(trials["degree"].to_numpy(float)),
    ]
    return np.stack([*kernels, *numbers], axis=1)


def _adaboost(trials: pd.DataFrame) -> FloatArray:
    columns = ("iterations", "product_terms")
    return np.stack([_scaled(np.log(trials[name].to_numpy(float))) for name in columns], axis=1)


def _scaled(values: FloatArray) -> FloatArray:
    """Values in (0, 1], 0 if there is none: a tenth of the range is left below the least."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.nan_to_num(0.1 + 0.9 * (values - low) / (high - low))


def chosen(names: Sequence[str], n: int) -> list[int]:
    """Positions of n data sets that a hash of the name puts first; the choice sees no score."""

    def key(i: int) -> bytes:
        return hashlib.blake2b(names[i].encode()).digest()

    return sorted(sorted(range(len(names)), key=key)[:n])


def seed_of(*parts: str) -> int:
    """Integer that depends on the names alone."""
    return int.from_bytes(hashlib.blake2b("/".join(parts).encode(), digest_size=4).digest())
