"""A default booster that is too slow for its limit, on a real slot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.slots import Job
from automl.evaluation.worker_pool import WorkerPool
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.optimizers.protocol import Proposal
from automl.origins import DEFAULT
from automl.records import Trial, TrialStatus
from automl.run.preparation import prepare
from automl.search.runner import TrialRunner
from automl.search.turns import Turn
from automl.settings import Settings

LIMIT_SECONDS = 8.0
"""All rounds of the three folds take several times as long on any machine."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> EvaluationPlan:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(4000, 20)), columns=[f"x{i}" for i in range(20)])
    frame["y"] = np.digitize(frame.sum(axis=1) + rng.normal(size=4000), [-4, -2, 0, 2, 4])
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    prepare(folder, Settings(table="t", target="y", folds=3), frame=frame)
    return EvaluationPlan(folder.path)


def run(plan: EvaluationPlan, origin: str, limit_seconds: float) -> Trial:
    values = {"learning_rate": 0.005, "num_leaves": 256, "min_child_samples": 1}
    configuration = get_family("lightgbm").space(plan.table.task).complete(values)
    turn = Turn(0, Proposal(configuration), origin, 0, None, -np.inf)
    with WorkerPool(1, context=str(plan.folder)) as pool:
        pool.run(0, Job("builtins:max", {"a": 1}), limit_seconds=None)  # the libraries are loaded
        stage = plan.stage("search")
        runner = TrialRunner(
            pool,
            "run",
            "search",
            stage,
            plan.index.aggregate,
            stoppable=frozenset({"lightgbm"}),
        )
        return runner.run_turn(turn, limit_seconds=limit_seconds)


@pytest.mark.integration
def test_a_default_keeps_its_rounds_within_its_limit(plan: EvaluationPlan) -> None:
    trial = run(plan, DEFAULT, LIMIT_SECONDS)
    assert trial.status is TrialStatus.COMPLETE, trial.reason
    assert trial.seconds < LIMIT_SECONDS
    assert "fits ended early" in trial.reason
    assert trial.most_rounds is not None
    store = PredictionStore(plan.folder / "predictions", plan.settings.predictions_quota_mib)
    assert np.isfinite(store.load(trial.id)).all()


@pytest.mark.integration
def test_what_an_optimizer_proposed_is_killed_at_its_limit(plan: EvaluationPlan) -> None:
    trial = run(plan, "gp_sampled", 1.0)
    assert (trial.status, trial.score) == (TrialStatus.TIMED_OUT, None)
