"""The tables of the experiment: training, validation and test rows, as numbers.

Of the catalog's tables those take part that have at least `FEWEST_ROWS` rows, at most
`MOST_FEATURES` features and no dates, other than the ones in `LEFT_OUT`. A hash of the name orders
them; the first `N_CLASSIFICATION` and `N_REGRESSION` are used, small ones first. Rows that repeat another one are
dropped. Classes of a table with more than two are merged at random into two of about equal size,
as the document makes all of its tables binary.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from automl.preprocessing.pipeline import build_preprocessor
from automl.randomness import Purpose, integer_seed, stream
from automl.records import FloatArray

FEWEST_ROWS, MOST_FEATURES = 200, 100
N_CLASSIFICATION, N_REGRESSION = 39, 22
"""As many as the document has."""
TRAINING, VALIDATION, TEST = 500, 500, 2000
"""Most rows of each part; a smaller table is cut into 40 %, 30 % and 30 %."""
SHARES = (0.4, 0.3)
LEFT_OUT = {
    "Australian": "the rows of credit-approval",
    "hypothyroid": "the rows of sick",
    "mfeat-karhunen": "the digits of mfeat-fourier",
    "mfeat-morphological": "the digits of mfeat-fourier",
    "mfeat-zernike": "the digits of mfeat-fourier",
    "pc3": "one of four alike with pc1, pc4 and kc1",
    "cpu_small": "the rows of cpu_act",
    "energy-cooling": "the rows of energy-heating",
    "cjs": "a column determines the classes",
}


@dataclass(frozen=True)
class Problem:
    """One table as the learners see it.

    Parameters
    ----------
    X, y : training rows
    X_validation, y_validation : S
    X_test, y_test : test rows
    """

    name: str
    is_classification: bool
    X: FloatArray
    y: FloatArray
    X_validation: FloatArray
    y_validation: FloatArray
    X_test: FloatArray
    y_test: FloatArray

    @property
    def seed(self) -> int:
        """Root of the table's random streams."""
        return root_seed(self.name)


def root_seed(name: str) -> int:
    """Integer that depends on the name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())


def problem_names(data: Path) -> list[tuple[str, bool]]:
    """Tables and whether they have classes; small ones first, both kinds in proportion."""
    catalog = pd.read_csv(data / "catalog.csv")
    fits = (catalog.rows >= FEWEST_ROWS) & (catalog.features <= MOST_FEATURES)
    names = catalog[fits & (catalog.n_datetime == 0) & ~catalog.name.isin(LEFT_OUT)]
    is_number = names.task == "regression"

    size = dict(zip(names.name, names.rows.clip(upper=TRAINING) * names.features, strict=True))

    def chosen(group: pd.Series, n: int) -> list[str]:
        drawn = sorted(group, key=lambda name: root_seed(f"order:{name}"))[:n]
        return sorted(drawn, key=lambda name: (size[name], name))

    classes = chosen(names.name[~is_number], N_CLASSIFICATION)
    numbers = chosen(names.name[is_number], N_REGRESSION)
    places = [((i + 0.5) / len(classes), name, True) for i, name in enumerate(classes)]
    places += [((i + 0.5) / len(numbers), name, False) for i, name in enumerate(numbers)]
    return [(name, kind) for _, name, kind in sorted(places)]


def read_problem(data: Path, name: str) -> Problem:
    """Cut and preprocess a table; everything is learned from the training rows alone."""
    entry = pd.read_csv(data / "catalog.csv").set_index("name").loc[name]
    types = json.loads((data / "schema.json").read_text())[name]["columns"]
    frame = pd.read_csv(data / entry["file"])
    target = str(entry["target"])
    frame = frame.dropna(subset=[target]).drop_duplicates().reset_index(drop=True)
    is_classification = bool(entry["task"] != "regression")
    seed = root_seed(name)
    y = two_classes(frame[target], seed) if is_classification else frame[target].to_numpy(float)
    rows = stream(seed, Purpose.SPLIT).permutation(len(frame))
    n_training = min(TRAINING, round(SHARES[0] * len(rows)))
    n_validation = min(VALIDATION, round(SHARES[1] * len(rows)))
    parts = np.split(rows, [n_training, n_training + n_validation])
    parts[2] = parts[2][:TEST]
    features = typed(frame, types)
    preprocessor = build_preprocessor(
        {
            "prep.encoder": "onehot",
            "prep.numeric_imputer": "median",
            "prep.scaler": "standard",
        },
        seed=integer_seed(seed, Purpose.ESTIMATOR),
    )
    preprocessor.fit(features.iloc[parts[0]], y[parts[0]])
    found: list[FloatArray] = []
    for part in parts:
        found += [np.asarray(preprocessor.transform(features.iloc[part])), y[part]]
    return Problem(name, is_classification, *found)


def typed(frame: pd.DataFrame, types: dict[str, str]) -> pd.DataFrame:
    """Numbers and categories; identifiers and texts are left out."""
    columns: dict[str, pd.Series[Any]] = {}
    for name, kind in types.items():
        if kind == "numeric":
            columns[name] = frame[name].astype("float64")
        elif kind == "nominal":
            columns[name] = frame[name].map(str, na_action="ignore").astype("category")
    return pd.DataFrame(columns)


def two_classes(labels: pd.Series, seed: int) -> FloatArray:
    """Codes 0 and 1; more than two classes go, in random order, to the smaller side."""
    codes, names = pd.factorize(labels.astype(str), sort=True)
    counts = np.bincount(codes)
    side = np.zeros(len(names), dtype=np.int64)
    sizes = [0, 0]
    for code in stream(seed, Purpose.SAMPLE).permutation(len(names)):
        side[code] = int(sizes[1] < sizes[0])
        sizes[side[code]] += counts[code]
    return np.asarray(side[codes], dtype=np.float64)
