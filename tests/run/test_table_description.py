"""The meta-features of a run's table."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.meta_features import MetaFeatures
from automl.record_files import StageRecords
from automl.run import table_description as description
from automl.run.preparation import prepare, versions
from automl.run.table_description import describe_table
from automl.settings.sources import resolve_settings


def frame(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return pd.DataFrame(x, columns=list("abc")).assign(y=np.where(x[:, 0] > 0.0, "yes", "no"))


class Session(SimpleNamespace):
    """What `describe_table` needs of a session."""

    def record(self, kind, make):
        found = self.records.read(kind.stage)
        if found is None:
            self.records.write(kind.stage, make().to_json())
            return self.record(kind, make)
        return kind.from_json(found)


def session(tmp_path, **given) -> Session:
    settings = resolve_settings({"table": "frame", "target": "y", **given}, environment={})
    folder = RunFolder(tmp_path)
    prepare(folder, settings, frame=frame())
    return Session(
        settings=settings,
        plan=EvaluationPlan(tmp_path),
        records=StageRecords(folder.stages),
        is_timed=settings.trials is None,
        is_late=False,
        is_reproducible=True,
    )


def test_the_record_holds_values_seconds_and_reasons(tmp_path):
    run = session(tmp_path, trials=5)
    made = describe_table(run)
    assert made.values["n_rows"] == 120.0
    assert made.missing["target_skewness"] == "it needs numbers as the target"
    assert set(made.seconds) == {"simple", "statistical", "information", "model", "landmark"}
    assert run.records.read("meta_features") == made.to_json()
    assert describe_table(run) == made
    assert run.is_reproducible


def test_equal_tables_have_equal_meta_features_whatever_the_seed(tmp_path):
    values = [
        describe_table(session(tmp_path / str(seed), trials=5, seed=seed)).values for seed in (1, 2)
    ]
    assert values[0] == values[1]


def test_only_rows_of_the_search_are_described(tmp_path):
    run = session(tmp_path, preset="thesis", trials=5)
    assert describe_table(run).values["n_rows"] == len(run.plan.stage("search").rows) == 60


@pytest.mark.parametrize("given", [{"trials": 5}, {"budget_seconds": 600}])
def test_a_limit_that_acts_makes_a_run_not_reproducible(tmp_path, monkeypatch, given):
    limits = []

    def late(_table, *, rng, seconds):
        limits.append(seconds)
        return MetaFeatures({}, {}, {"n_rows": "it ran out of time"}, ("n_rows",))

    monkeypatch.setattr(description, "describe", late)
    run = session(tmp_path, **given)
    describe_table(run)
    assert not run.is_reproducible
    assert limits == [None if "trials" in given else 12.0]


def test_a_run_notes_the_versions_of_all_libraries_that_fit_models():
    assert {"automl-flows", "python", "lightgbm", "scikit-learn"} <= versions().keys()


def test_the_facts_count_the_columns_that_a_person_sees(tmp_path):
    table = frame().assign(day=pd.date_range("2024-01-01", periods=120).astype(str))
    settings = resolve_settings({"table": "frame", "target": "y", "trials": 5}, environment={})
    facts = prepare(RunFolder(tmp_path), settings, frame=table)
    assert facts["learned_columns"] == 4
    assert facts["columns"] > 4  # a date becomes several
