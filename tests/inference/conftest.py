"""A small raw table of every kind of column, and models fitted on it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.preprocessing import build_preprocessor

ROLES = {
    "size": "numeric",
    "count": "numeric",
    "price": "numeric",
    "color": "nominal",
    "is_new": "nominal",
    "code": "nominal",
    "seen": "date",
    "remark": "ignored",
}


@pytest.fixture(scope="session")
def raw():
    """120 raw rows."""
    rng = np.random.default_rng(11)
    n = 120
    days = pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "count": pd.array(
                np.where(rng.random(n) < 0.1, None, rng.integers(0, 9, n)), dtype="Int64"
            ),
            "price": np.where(rng.random(n) < 0.1, "?", rng.integers(1, 99, n).astype(str)),
            "color": rng.choice(["red", "green", "blue"], n),
            "is_new": rng.random(n) < 0.5,
            "code": rng.integers(1, 4, n),
            "seen": (pd.Timestamp("2024-01-01") + days).strftime("%Y-%m-%d"),
            "remark": [f"text {i}" for i in range(n)],
        }
    )


@pytest.fixture(scope="session")
def schema(raw):
    return TableSchema.fit(raw, ROLES)


@pytest.fixture(scope="session")
def typed(raw, schema):
    return schema.transform(raw)


@pytest.fixture(scope="session")
def targets(typed):
    """Target by task: class codes or numbers."""
    signal = typed["size"].fillna(0.0).to_numpy() + (typed["color"] == "red").to_numpy()
    signal = signal + np.random.default_rng(12).normal(0.0, 0.5, len(signal))
    return {
        "binary": (signal > 0.3).astype(np.int32),
        "multiclass": np.digitize(signal, [-0.3, 0.8]).astype(np.int32),
        "regression": signal,
    }


LABELS = {"binary": ["no", "yes"], "multiclass": [10, 20, 30], "regression": None}


@pytest.fixture(scope="session")
def model_of(schema, typed, targets):
    """Function that fits a model of two members: a bag of two forests, and a linear one."""

    def build(task, **keywords):
        y = targets[task]
        regression = task == "regression"
        forest = RandomForestRegressor if regression else RandomForestClassifier
        linear = Ridge() if regression else LogisticRegression(max_iter=500)
        bag = []
        for fold in range(2):
            rows = np.arange(len(y)) % 2 != fold
            preprocessor = build_preprocessor({"prep.encoder": "ordinal"}, seed=fold)
            X = preprocessor.fit_transform(typed[rows], y[rows])
            bag.append(FittedPipeline(preprocessor, forest(10, random_state=fold).fit(X, y[rows])))
        preprocessor = build_preprocessor({"prep.scaler": "standard"}, seed=0)
        X = preprocessor.fit_transform(typed, y)
        members = [
            Member(3.0, bag, "random_forest"),
            Member(1.0, [FittedPipeline(preprocessor, linear.fit(X, y))], "linear"),
        ]
        keywords.setdefault("classes", LABELS[task])
        return TableModel(schema, members, task=task, target="label", **keywords)

    return build


@pytest.fixture
def strange(raw):
    """Rows with unseen categories, missing values, another column order and other types."""
    rows = raw.head(6).iloc[:, ::-1].copy()
    rows["color"] = ["purple", None, "red", "?", "blue", ""]
    rows["code"] = ["1", "2.0", "9", None, "3", "x"]
    rows["size"] = ["1.5", "?", "", "2", None, "-1"]
    rows["seen"] = [None, "2030-12-31", "2024-01-01", "2024-02-29", None, "1999-01-01"]
    return rows
