"""The full stack, for those who ask for it: it needs PostgreSQL's programs and some minutes."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from full_stack import FullStack
from stack_kills import Undisturbed, home_of, train_command


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave this folder out unless it is asked for."""
    return None if config.getoption("--stack") else True


@pytest.fixture(autouse=True)
def _logs_of_a_failure(request: pytest.FixtureRequest, stack: FullStack) -> Iterator[None]:
    """What the services said, in the report of a test that fails."""
    failed_before = request.session.testsfailed
    yield
    if request.session.testsfailed > failed_before:
        print(stack.logs())  # noqa: T201 shown by pytest


@pytest.fixture(scope="session")
def stack() -> Iterator[FullStack]:
    folder = Path(tempfile.mkdtemp(prefix="automl-stack-"))
    folder.chmod(0o711)  # PostgreSQL's user must get to its own folder
    stack = FullStack(folder)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def tables(stack: FullStack) -> dict[str, Path]:
    """Versions of one table as it grows."""
    from sklearn.datasets import load_breast_cancer

    frame: pd.DataFrame = load_breast_cancer(as_frame=True).frame
    names = [name for name in frame.columns if name.startswith("mean ")]
    frame = frame[[*names, "target"]].sample(frac=1.0, random_state=0)
    frame["target"] = frame["target"].map({0: "malignant", 1: "benign"})
    files = {}
    for n_rows in (60, 300, 500, 569):
        files[str(n_rows)] = stack.folder / "user" / f"tumors-{n_rows}.csv"
        frame.iloc[:n_rows].to_csv(files[str(n_rows)], index=False)
    return files


@pytest.fixture(scope="session")
def undisturbed(stack: FullStack, tables: dict[str, Path]) -> Undisturbed:
    """What the runs are compared with that something disturbs."""
    started, name = time.monotonic(), "undisturbed"
    command = train_command(stack, tables["300"], name, on_cluster=False)
    result = stack.automl(*command, AUTOML_HOME=str(home_of(stack, name)))
    return Undisturbed(result, time.monotonic() - started)
