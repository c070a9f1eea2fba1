"""Small real models of the columns `x` (numbers) and `kind` (a, b, c), as bundles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge

from automl.inference.bundle import write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.reference import TrainingReference, prediction_references
from automl.inference.schema import TableSchema
from automl.preprocessing import build_preprocessor

CLASSES = ["no", "prediction"]


def training_rows(n_rows: int = 60) -> pd.DataFrame:
    """Raw rows with x in 0 to 49."""
    numbers = [i * 37 % 50 for i in range(n_rows)]
    return pd.DataFrame({"x": numbers, "kind": ["abc"[i % 3] for i in range(n_rows)]})


def tiny_model(task: str = "binary") -> TableModel:
    """A model that knows its training table; class ``prediction`` where x is over 20, or x itself."""
    raw = training_rows()
    schema = TableSchema.fit(raw, {"x": "numeric", "kind": "nominal"})
    typed = schema.transform(raw)
    x = raw["x"].to_numpy(float)
    y = x if task == "regression" else (x > 20).astype(int)
    preprocessor = build_preprocessor({}, seed=0)
    X = preprocessor.fit_transform(typed, y)
    estimator = Ridge(alpha=0.01) if task == "regression" else LogisticRegression(C=100.0)
    members = [Member(1.0, [FittedPipeline(preprocessor, estimator.fit(X, y))], "linear")]
    classes = None if task == "regression" else CLASSES
    model = TableModel(schema, members, task=task, target="y", classes=classes)
    found = prediction_references(np.array(model.raw_typed(typed)), model.rule_, classes)
    model.reference = TrainingReference.fit(schema, typed, found)
    return model


def tiny_bundle(folder: Path, task: str = "binary") -> Path:
    """The folder, with a model in it."""
    write_bundle(tiny_model(task), folder)
    return folder
