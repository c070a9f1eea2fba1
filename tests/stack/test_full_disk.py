"""A run whose home is full stops with one sentence, and goes on to the same end when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from full_stack import FullStack
from small_disk import make_room, small_disk
from stack_kills import Undisturbed, assert_ended_as, train_command

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of libraries below MLflow
]


@pytest.mark.parametrize(
    ("size", "on_cluster"),
    [("900k", False), ("1200k", True)],
    ids=["in the search, here", "at the bundle, on the cluster"],
)
def test_a_full_home_costs_no_trial(
    stack: FullStack,
    tables: dict[str, Path],
    undisturbed: Undisturbed,
    size: str,
    on_cluster: bool,
) -> None:
    name = f"full-{size}-{'far' if on_cluster else 'here'}"
    command = train_command(stack, tables["300"], name, on_cluster=on_cluster)
    with small_disk(stack.folder / "user" / name, size) as disk:
        home = {"AUTOML_HOME": str(disk / "home")}
        process = stack.begin(*command, **home)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 4, err
        (told,) = [line for line in err.splitlines() if line.startswith("error: ")]
        assert "No space left on device; free some space" in told
        assert "Traceback" not in err
        make_room(disk)
        (run,) = stack.automl("runs", **home)
        result = stack.automl("resume", run["run_id"], **home)
        assert_ended_as(stack, disk / "home", result, name, undisturbed)
