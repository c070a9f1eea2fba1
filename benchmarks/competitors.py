"""One system on one split, in a process of its own: ``competitors.py SYSTEM FOLDER SECONDS``.

FOLDER holds ``train.csv``, ``test.csv`` and ``split.json`` ({"target", "task", "nominal"}). Writes
``SYSTEM.npz`` with the test prediction (probabilities in the order of the sorted labels, or
numbers) and the threshold at which the system predicts the second of two labels. Imports the system's own package only, so it may live in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

STARTED = time.monotonic()
os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # spinning threads slow everyone on a busy machine


def read(folder: Path) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, dict]:
    split = json.loads((folder / "split.json").read_text())
    types = dict.fromkeys(split["nominal"], "str")
    train = pd.read_csv(folder / "train.csv", dtype=types)
    test = pd.read_csv(folder / "test.csv", dtype=types)
    target = split["target"]
    return train.drop(columns=target), train[target], test.drop(columns=target), split


def categories(X: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    X, test = X.copy(), test.copy()
    for column in X.columns:
        if not pd.api.types.is_numeric_dtype(X[column]):
            known = pd.CategoricalDtype(sorted(X[column].dropna().astype(str).unique()))
            X[column] = X[column].astype("str").astype(known)
            test[column] = test[column].astype("str").astype(known)
    return X, test


def codes(X: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    X, test = categories(X, test)
    for frame in (X, test):
        for column in frame.select_dtypes("category").columns:
            frame[column] = frame[column].cat.codes
    median = X.median()
    return X.fillna(median).to_numpy(float), test.fillna(median).to_numpy(float)


def lightgbm(X, y, test, split, seconds):
    import lightgbm as lgb

    X, test = categories(X, test)
    kind = lgb.LGBMRegressor if split["task"] == "regression" else lgb.LGBMClassifier
    model = kind(n_jobs=2, verbose=-1)
    X.columns = test.columns = [f"c{i}" for i in range(X.shape[1])]
    return _predict(model.fit(X, y), test, split)


def forest(X, y, test, split, seconds):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    X, test = codes(X, test)
    kind = RandomForestRegressor if split["task"] == "regression" else RandomForestClassifier
    return _predict(kind(n_jobs=2, random_state=0).fit(X, y), test, split)


def flaml(X, y, test, split, seconds):
    from flaml import AutoML

    X, test = categories(X, test)
    X.columns = test.columns = [f"c{i}" for i in range(X.shape[1])]
    task = "regression" if split["task"] == "regression" else "classification"
    left = seconds - (time.monotonic() - STARTED)
    model = AutoML()
    model.fit(X, y, task=task, time_budget=left, n_jobs=2, seed=1, verbose=0)
    return _predict(model, test, split)


def automl(X, y, test, split, seconds):
    """The command line, as a user calls it; probabilities from `automl predict`."""
    folder = Path(sys.argv[2]).resolve()
    command = [sys.executable, "-m", "automl_flows.commands.cli"]
    train = [
        *command, "train", str(folder / "train.csv"), "--target", split["target"],
        "--budget", f"{seconds:g}s", "--workers", "2", "--home", str(folder / "home"), "--json",
        "--seed", "1", *sys.argv[4:],
    ]  # fmt: skip
    if split["task"] == "regression":
        train += ["--task", "regression"]
    for column in split["nominal"]:
        train += ["--role", f"{column}=nominal"]
    finished = subprocess.run(train, capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(finished.stderr[-2000:])
    result = json.loads(finished.stdout)
    (folder / "automl-result.json").write_text(json.dumps(result))
    trained = time.monotonic() - STARTED
    out = folder / "automl-predictions.csv"
    predict = [*command, "predict", result["run_id"], str(folder / "test.csv"), "-o", str(out)]
    predict += ["--home", str(folder / "home")]
    if split["task"] != "regression":
        predict.append("--proba")
    subprocess.run(predict, check=True, capture_output=True)
    found = pd.read_csv(out)
    if split["task"] == "regression":
        return found["prediction"].to_numpy(float), trained
    return found.drop(columns="prediction").to_numpy(float), trained


def _predict(model, test, split):
    if split["task"] == "regression":
        return np.asarray(model.predict(test), float), time.monotonic() - STARTED
    order = np.argsort([str(label) for label in model.classes_], kind="stable")
    return model.predict_proba(test)[:, order], time.monotonic() - STARTED


def main() -> None:
    system, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    X, y, test, split = read(folder)
    prediction, trained = globals()[system](X, y, test, split, seconds)
    threshold = _automl_threshold(folder) if system == "automl" else 0.5
    np.savez(folder / f"{system}.npz", prediction=prediction, seconds=trained, threshold=threshold)


def _automl_threshold(folder: Path) -> float:
    result = json.loads((folder / "automl-result.json").read_text())
    final = folder / "home" / "runs" / result["run_id"] / "stages" / "final.json"
    return json.loads(final.read_text())["threshold"] or 0.5


if __name__ == "__main__":
    main()
