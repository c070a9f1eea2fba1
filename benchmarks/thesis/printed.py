"""The tables of B14's table 5.1 that are to be had, and what the thesis prints of them.

``data/printed_table.csv`` has the 36 rows of table 5.1 (B14, page 32) and the sizes of appendix B. `table` is
the name in the data folder's catalog, empty for the five data sets that are not public;
`family` is our name of the printed family.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

PRINTED = Path(__file__).parent / "data" / "printed_table.csv"
TRAINING_PARTS = ("optdigits", "pendigits")
"""Of these the thesis has the source's training part, which are the first rows of the file."""

FAMILIES = {
    "PassiveAggressive": "passive_aggressive",
    "RadiusNeighbors": "radius_neighbors",
    "GaussianNB": "gaussian_nb",
    "ExtraTreeEnsemble": "extra_trees",
    "SVM": "svm",
    "LinearDiscriminant": "lda",
    "KNN": "knn",
    "RandomForest": "random_forest",
    "StochasicGradientDescent": "sgd",
    "LogisticRegression": "logistic_regression",
    "NearestCentroid": "nearest_centroid",
    "LinearSVM": "linear_svm",
    "NuSVM": "nu_svm",
    "DecisionTree": "decision_tree",
    "Ridge": "ridge",
    "QuadraticDiscriminant": "qda",
    "GradientBoosting": "gradient_boosting",
}
"""Our name of each of the thesis' 17 families (B14, chapter 5, as printed)."""


@dataclass(frozen=True)
class PrintedRow:
    """One row of table 5.1."""

    table: str
    rows: int
    worst: float
    best: float
    score: float
    family: str

    @property
    def boost(self) -> float:
        """Gain of the optimized score over the best default, as a share of the latter."""
        return self.score / self.best - 1.0


def printed_rows() -> dict[str, PrintedRow]:
    """Rows of the tables that are to be had, in the order of the thesis."""
    with PRINTED.open(encoding="utf-8") as file:
        return {
            row["table"]: PrintedRow(
                row["table"],
                int(row["rows"]),
                float(row["default_worst"]),
                float(row["default_best"]),
                float(row["score"]),
                row["family"],
            )
            for row in csv.DictReader(file)
            if row["table"]
        }


@dataclass(frozen=True)
class Source:
    """A table to learn from.

    Parameters
    ----------
    rows : of the file that is used
    """

    name: str
    file: Path
    target: str
    rows: int

    @property
    def budget_seconds(self) -> float:
        """5 minutes, 20 for tables over 5,000 rows."""
        return 1200.0 if self.rows > 5000 else 300.0


def sources(data: Path, out: Path, names: list[str] | None = None) -> list[Source]:
    """Tables by their number of cells, the smallest first.

    Parameters
    ----------
    data
        Folder with ``catalog.csv`` and the tables.
    out
        Where the parts of optdigits and pendigits are written.
    names
        Only these.

    Raises
    ------
    SystemExit
        If a name is not among the tables.
    """
    catalog = pd.read_csv(data / "catalog.csv").set_index("name")
    printed = printed_rows()
    if unknown := sorted(set(names or ()) - set(printed)):
        raise SystemExit(f"{unknown[0]!r} is not a table of the thesis; use {', '.join(printed)}")
    wanted = catalog.loc[names or list(printed)]
    ordered = wanted.assign(cells=wanted["rows"] * wanted["features"]).sort_values("cells")
    return [_source(data, out, str(name), facts) for name, facts in ordered.iterrows()]


def _source(data: Path, out: Path, name: str, facts: pd.Series) -> Source:
    file, rows = (data / facts["file"]).resolve(), int(facts["rows"])
    if name in TRAINING_PARTS:
        rows, whole = printed_rows()[name].rows, file
        file = (out / "tables" / f"{name}.csv").resolve()
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = pd.read_csv(whole, nrows=rows)
            part.to_csv(file, index=False)
    return Source(name, file, str(facts["target"]), rows)
