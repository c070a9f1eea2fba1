"""The tables, chosen before any system ran on them, and their splits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from automl.data.splits import split_test
from automl.records import Task

TABLES = (
    "credit-g", "churn", "phoneme", "sick", "pc4", "kc1", "qsar-biodeg", "ilpd", "wilt", "tic-tac-toe",
    "electricity", "adult", "bank-marketing", "magic-telescope", "colonTumor",
    "vehicle", "yeast", "cmc", "soybean", "splice", "segment", "satellite", "car", "letter", "dermatology",
    "abalone", "housing", "auto-price", "cpu_act", "puma32H", "elevators", "cal_housing", "concrete", "airfoil",
    "wine-quality-white", "bike-sharing", "sensory", "pol",
)  # fmt: skip
"""38 of the folder's 110: fifteen with two classes, ten with more, thirteen with numbers, small and large of each."""
SMALL = ("credit-g", "phoneme", "vehicle", "yeast", "abalone", "concrete")
"""Of the profile of 40 minutes: two of each kind, 846 to 5,404 rows."""
TEST_SHARE = 0.3
"""Of the rows. AMLB tests by ten folds; one split of 30 % costs a tenth, and seeds repeat it."""


def prepare(data: Path, out: Path, name: str, seed: int) -> Path:
    """Folder with training rows, test rows and what every system is told of them."""
    folder = out / name / f"seed-{seed}"
    if (folder / "split.json").exists():
        return folder
    tables = pd.read_csv(data / "catalog.csv").set_index("name")
    if name not in tables.index:
        raise SystemExit(f"{data / 'catalog.csv'} has no table {name!r}")
    catalog = tables.loc[name]
    types = json.loads((data / "schema.json").read_text())[name]["columns"]
    nominal = [column for column, kind in types.items() if kind == "nominal"]
    frame = pd.read_csv(data / catalog["file"], dtype=dict.fromkeys(nominal, "str"))
    target, task = catalog["target"], Task(str(catalog["task"]))
    frame = frame.dropna(subset=[target])
    y = frame[target].to_numpy()
    if task.is_classification:
        y = np.unique(y.astype(str), return_inverse=True)[1]
    training, test = split_test(y, task, share=TEST_SHARE, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    frame.iloc[training].to_csv(folder / "train.csv", index=False)
    frame.iloc[test].to_csv(folder / "test.csv", index=False)
    split = {
        "name": name,
        "target": target,
        "task": str(task),
        "nominal": [column for column in nominal if column != target],
    }
    (folder / "split.json").write_text(json.dumps(split))
    return folder
