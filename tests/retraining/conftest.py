"""Tables of real data in versions, and homes without anybody else's environment."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "AUTOML_HOME",
        "MLFLOW_REGISTRY_URI",
        "MLFLOW_TRACKING_URI",
        "PREFECT_API_URL",
        "_MLFLOW_SERVER_ARTIFACT_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def tumors() -> pd.DataFrame:
    """Breast cancer, ten columns and a target of texts, 569 rows in a fixed order."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "malignant", 1: "benign"})
    names = [name for name in frame.columns if name.startswith("mean ")]
    return frame[[*names, "target"]].sample(frac=1.0, random_state=0).reset_index(drop=True)


@pytest.fixture
def versions(tumors: pd.DataFrame, tmp_path: Path) -> dict[str, Path]:
    """Files of the table as it grows: 60, 300, 310 and 500 rows."""
    files = {}
    for name, n_rows in {"first": 60, "second": 300, "more": 310, "third": 500}.items():
        files[name] = tmp_path / f"{name}.csv"
        tumors.iloc[:n_rows].to_csv(files[name], index=False)
    return files
