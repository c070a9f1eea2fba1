"""Small runs of each kind of target, as far as their report; none of them touches a tracking store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from automl.home import Home, RunFolder
from automl.run.beginning import begin
from automl.run.stage_table import stages_of
from automl.settings import Settings
from automl.stages.line import close_line, open_line

USUAL: dict[str, Any] = {
    "target": "y",
    "trials": 8,
    "workers": 1,
    "families": ("lda", "gaussian_nb"),
    "experience": False,
    "challenge": False,
}


def run_of(home: Path, frame: pd.DataFrame, *, is_whole: bool = True, **changes: Any) -> RunFolder:
    """A run with all its stages, or with its search alone."""
    file = home / f"{len(list(home.iterdir()))}.csv"
    frame.to_csv(file, index=False)
    session = begin(Settings(**{**USUAL, "table": str(file), **changes}), Home(home / "home"))
    line = open_line(session)
    try:
        line.finish_search()
        for stage in stages_of(session.settings) if is_whole else ():
            line.record(stage.record)
    finally:
        close_line(line)
        session.release()
    return session.folder


def frame_of(n_classes: int, n_rows: int = 160) -> pd.DataFrame:
    """Two numbers with gaps, a category, a date and a target; numbers for no classes."""
    rng = np.random.default_rng(n_classes)
    x, kind = rng.normal(size=n_rows), rng.choice(["red", "green <b>", "blue"], n_rows)
    signal = x + (kind == "blue") + 0.5 * rng.normal(size=n_rows)
    target: Any = signal
    if n_classes:
        cuts = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
        target = [f"class {code}" for code in np.searchsorted(cuts, signal)]
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 400, n_rows), unit="D")
    gaps = np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows))
    return pd.DataFrame({"x": x, "kind": kind, "day": days, "gaps": gaps, "y": target})


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunFolder]:
    home = tmp_path_factory.mktemp("reports")
    return lambda frame, **changes: run_of(home, frame, **changes)


@pytest.fixture(scope="session")
def binary(make: Callable[..., RunFolder]) -> RunFolder:
    """Two classes, with test rows and a column of texts with gaps."""
    frame, rng = frame_of(2), np.random.default_rng(3)
    words = rng.choice(
        ["old", "new", "shiny", "rusty", "heavy", "light", "broken", "solid"], (len(frame), 5)
    )
    frame["note"] = [f"{' '.join(row)} {number}" for number, row in enumerate(words)]
    frame.loc[::20, "note"] = None
    return make(frame, test_share=0.25)


@pytest.fixture(scope="session")
def multiclass(make: Callable[..., RunFolder]) -> RunFolder:
    """As many classes as letters, without test rows."""
    return make(frame_of(26, 780))


@pytest.fixture(scope="session")
def regression(make: Callable[..., RunFolder]) -> RunFolder:
    """Numbers, 200 columns, and no ensemble."""
    noise = np.random.default_rng(1).normal(size=(160, 196))
    wide = pd.DataFrame(noise, columns=[f"noise {i}" for i in range(196)])
    frame = pd.concat([wide, frame_of(0)], axis=1)
    return make(frame, families=("ridge", "knn"), ensemble="none")


@pytest.fixture(scope="session")
def interrupted(make: Callable[..., RunFolder]) -> RunFolder:
    """The search alone."""
    return make(frame_of(2), is_whole=False)


@pytest.fixture(scope="session")
def constant(make: Callable[..., RunFolder]) -> RunFolder:
    """A target that has nothing to do with the columns, and one class in ten rows."""
    frame, rng = frame_of(2), np.random.default_rng(7)
    frame["y"] = rng.permutation(["rare"] * 16 + ["often"] * (len(frame) - 16))
    return make(frame, families=("gaussian_nb",), trials=4)
