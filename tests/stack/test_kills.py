"""A part of the stack is killed in the middle of a run: the run ends with its model, and every page says so.

The short profile kills each part once; ``.ci/stack --stack-kills 50`` kills fifty times.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from full_stack import FullStack
from stack_deployments import deploy
from stack_kills import Kill, Undisturbed, assert_ended_as, disturbed, home_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of libraries below MLflow
]


@pytest.fixture(scope="module")
def deployed(stack: FullStack) -> None:
    """The deployment that trains."""
    deploy(stack, "kills", {"active: true": "active: false"}, "--name", "train")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kill" in metafunc.fixturenames:
        kills = [Kill.drawn(n) for n in range(metafunc.config.getoption("--stack-kills"))]
        names = [f"{kill.number}: {kill}" for kill in kills]
        metafunc.parametrize("kill", kills, ids=names)


@pytest.mark.usefixtures("deployed")
def test_a_kill_costs_no_model_and_no_trial(
    stack: FullStack, tables: dict[str, Path], undisturbed: Undisturbed, kill: Kill
) -> None:
    result = disturbed(stack, tables["300"], kill, undisturbed.seconds)
    for service in stack.services.values():
        service.wait_ready()
    assert_ended_as(stack, home_of(stack, kill.name), result, kill.name, undisturbed)
