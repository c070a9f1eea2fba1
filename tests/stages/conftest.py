"""A session without processes: a prepared run folder, its plan and a ledger."""

import time
from dataclasses import replace
from types import MethodType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.home import RunFolder
from automl.record_files import StageRecords
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.run.ledger import Ledger
from automl.run.preparation import prepare
from automl.run.session import Session
from automl.settings import Settings
from automl.stages import ensembling


@pytest.fixture
def session_of(tmp_path):
    """Function that makes a session on 200 rows; settings may be given."""

    def make(**given):
        settings = Settings(**{"table": "t", "target": "y", "budget_seconds": 100.0, **given})
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"x": rng.normal(size=200), "y": rng.integers(0, 2, 200)})
        folder = RunFolder(tmp_path)
        data = prepare(folder, settings, frame=frame)
        folder.write_facts({"settings": settings.model_dump(mode="json"), "data": data})
        made = SimpleNamespace(
            settings=settings,
            plan=EvaluationPlan(tmp_path),
            folder=folder,
            records=StageRecords(folder.stages),
            ledger=Ledger(settings.seconds, settings.reserve, time.monotonic()),
            pool=SimpleNamespace(n_slots=2),
            is_timed=settings.trials is None,
            is_late=False,
            is_reproducible=settings.trials is not None,
            given_up=[],
            experience=(),
        )
        made.cut_short = MethodType(Session.cut_short, made)
        return made

    return make


@pytest.fixture
def trial_of():
    """Function that makes a complete trial of five folds."""

    def make(index, seconds=1.0, score=None):
        folds = tuple(FoldResult(0, fold, 0.5, 40, seconds / 5, 0.0004) for fold in range(5))
        return Trial(
            "run",
            index,
            Configuration("ridge", {"alpha": float(index)}),
            TrialStatus.COMPLETE,
            1.0 / (1 + index) if score is None else score,
            folds=folds,
            seconds=seconds,
        )

    return make


@pytest.fixture
def run_of(session_of, trial_of, monkeypatch):
    """Function that makes a session with trials whose predictions have a given noise."""

    def make(noises, *, stack_noises=(), **given):
        session = session_of(trials=99, budget_seconds=None, **given)
        session.warnings = []
        store = PredictionStore(session.folder.predictions)
        rng = np.random.default_rng(0)

        def kept(trial, noise):
            y = session.plan.table.y
            logit = 1.5 * (2 * y - 1) + noise * rng.normal(size=len(y))
            one = 1 / (1 + np.exp(-logit))
            prediction = np.column_stack([1 - one, one]).astype(np.float32)
            store.save(trial.id, prediction)
            return replace(trial, score=session.plan.index.score(y, prediction))

        trials = [kept(trial_of(i), noise) for i, noise in enumerate(noises)]
        stack = [
            kept(replace(trial_of(i), stage="stack"), noise) for i, noise in enumerate(stack_noises)
        ]
        monkeypatch.setattr(ensembling, "stack_trials", lambda _, base: stack if base else [])
        champion = max(trials, key=lambda trial: trial.score)
        session.store = store
        return session, [*trials], champion

    return make
