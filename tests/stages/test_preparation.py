"""Preparation of a run: settings that the machine limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.experience.harvest import data_set_facts
from automl.home import Home
from automl.recommendation.meta_learner import encoding_facts
from automl.run.preparation import prepare
from automl.run.workers import check_workers, n_slots
from automl.settings import Settings


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("automl.run.workers.usable_cores", lambda: 2)


def test_rules_and_encodings_know_the_table_and_its_matrix(session_of):
    session = session_of()
    facts = {"n_rows": 200, "n_columns": 1, "n_classes": 2, "n_encoded": 1.0}
    assert session.plan.facts == {**facts, "variance": pytest.approx(1.0)}
    assert encoding_facts(data_set_facts(session.folder)) == session.plan.facts


def test_a_fold_without_any_weight_is_refused_by_the_name_of_the_column(tmp_path):
    n, rng = 60, np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "day": pd.date_range("2026-01-01", periods=n),
            "w": (np.arange(n) < 45).astype(float),
            "y": [0, 1] * (n // 2),
        }
    )
    settings = Settings(table="t.csv", target="y", time="day", weights="w", folds=3)
    folder = Home(tmp_path).create_run()
    with pytest.raises(
        DataError, match=r"weights column 'w': all 15 rows of fold 3 of 3 have the weight 0"
    ):
        prepare(folder, settings, frame=frame)
    settings = settings.model_copy(update={"time": None})
    assert prepare(Home(tmp_path).create_run(), settings, frame=frame)


def with_workers(n_workers, n_threads=1):
    return Settings(table="t.csv", target="y", workers=n_workers, threads=n_threads)


def test_there_is_a_slot_for_each_core_unless_told_otherwise():
    assert [n_slots(with_workers(n)) for n in (0, 1, 2, 5)] == [2, 1, 2, 5]


@pytest.mark.parametrize("n_workers", [0, 1, 2])
def test_up_to_one_worker_per_core_is_taken_as_it_is(n_workers):
    check_workers(with_workers(n_workers))


@pytest.mark.parametrize("n_workers", [3, 8])
def test_more_workers_than_cores_are_a_warning(n_workers):
    with pytest.warns(AutoMLWarning, match=f"{n_workers} workers share the 2 cores"):
        check_workers(with_workers(n_workers))


def test_more_than_four_workers_per_core_are_refused():
    with pytest.raises(SettingsError, match=r"workers: at most 8 can share the 2 cores .* got 9"):
        check_workers(with_workers(9))


def test_a_run_resumed_on_a_smaller_machine_has_fewer_slots():
    assert n_slots(with_workers(64)) == 8


def test_threads_count_like_workers():
    assert [n_slots(with_workers(0, n)) for n in (1, 2, 3)] == [2, 1, 1]
    check_workers(with_workers(0, 2))
    with pytest.warns(AutoMLWarning, match="2 workers with 2 threads each share the 2 cores"):
        check_workers(with_workers(2, 2))
    with pytest.raises(SettingsError, match="threads: at most 8"):
        check_workers(with_workers(1, 9))
