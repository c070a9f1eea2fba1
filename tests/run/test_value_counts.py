"""The decision whether numbers are counted: where it helps, without error everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from automl.data_facts import has_value_counts
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import fit_fold
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family
from automl.home import Home, RunFolder
from automl.run import value_counts
from automl.run.preparation import prepare
from automl.settings import Settings
from automl.settings.sources import resolve_settings

N_ROWS = 600


def table(*, seed: int = 0, n_rows: int = N_ROWS) -> pd.DataFrame:
    """Numbers of which one value in two is everywhere repeated: the class says which, the size does not."""
    rng = np.random.default_rng(seed)
    is_common = rng.random(n_rows) < 0.5
    often, rarely = rng.permutation(1000)[:40], 1000 + rng.permutation(4000)[:n_rows]
    shuffled = rng.permutation(5000)
    size = shuffled[np.where(is_common, rng.choice(often, n_rows), rarely)]
    return pd.DataFrame(
        {"size": size, "other": rng.normal(size=n_rows), "kind": is_common.astype(int)}
    )


def without_relation(**options: Any) -> pd.DataFrame:
    frame = table(**options)
    return frame.assign(kind=np.random.default_rng(9).permutation(frame["kind"]))


def prepared(path: Path, frame: pd.DataFrame, **options: Any) -> tuple[RunFolder, dict[str, Any]]:
    folder = Home(path).create_run()
    given = {"table": "frame", "target": "kind", "trials": 5, "seed": 1, **options}
    return folder, prepare(folder, Settings(**given), frame=frame)


def counts_of(path: Path, frame: pd.DataFrame, **options: Any) -> bool:
    folder, facts = prepared(path, frame, **options)
    is_counted = EvaluationPlan(folder.path).settings.value_counts
    assert has_value_counts(facts) == is_counted
    return is_counted


def test_numbers_are_counted_where_that_helps_and_the_run_says_so(tmp_path: Path) -> None:
    folder, facts = prepared(tmp_path, table())
    plan = EvaluationPlan(folder.path)
    assert plan.settings.value_counts
    (note,) = [note for note in facts["notes"] if "setting value_counts" in note]
    assert "for each of size: " in note
    assert "better in all 5 folds" in note
    configuration = get_family("lightgbm").space(plan.table.task).default()
    pipeline, _ = fit_fold(plan, FoldCache(0), configuration, stage="search", repeat=0, fold=0)
    assert "size.count" in list(pipeline.preprocessor.get_feature_names_out())


def test_numbers_are_not_counted_where_that_does_not_help(tmp_path: Path) -> None:
    folder, facts = prepared(tmp_path, without_relation())
    assert not EvaluationPlan(folder.path).settings.value_counts
    assert not any("value_counts" in note for note in facts["notes"])


def test_a_number_as_target_is_decided_too(tmp_path: Path) -> None:
    frame = table()
    noise = np.random.default_rng(2).normal(scale=0.1, size=len(frame))
    assert counts_of(tmp_path, frame.assign(kind=frame["kind"] * 3.0 + noise))


def test_the_setting_decides_where_it_says_so(tmp_path: Path) -> None:
    assert not counts_of(tmp_path, table(), value_counts="never")
    assert counts_of(tmp_path, without_relation(), value_counts="always")
    thesis = {"table": "t.csv", "target": "y", "preset": "thesis"}
    assert resolve_settings(thesis, environment={}).value_counts == "never"


@pytest.mark.parametrize(
    "options",
    [
        {"families": ("ridge",)},
        {"exclude": ("lightgbm",)},
        {"trials": None, "budget_seconds": value_counts.LEAST_SECONDS - 1},
    ],
)
def test_nothing_is_tried_that_cannot_be_used(tmp_path: Path, options: dict[str, Any]) -> None:
    assert not counts_of(tmp_path, table(), **options)


def test_wide_tables_are_left_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    further = pd.DataFrame(rng.normal(size=(N_ROWS, value_counts.MOST_COLUMNS))).add_prefix("n")
    assert not counts_of(tmp_path, pd.concat([table(), further], axis=1))


def test_rows_in_time_order_and_weighted_rows_are_decided_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table()
    frame["day"] = pd.date_range("2026-01-01", periods=len(frame)).astype(str)
    frame["mass"] = np.random.default_rng(3).integers(0, 3, len(frame)) + 0.5
    compare, is_earlier = value_counts._Check._compare, []

    def noted(self: Any, training: Any, validation: Any, fold: int) -> tuple[float, float]:
        time = self.table.time
        is_earlier.append(time[training].max() < time[validation].min())
        return compare(self, training, validation, fold)

    monkeypatch.setattr(value_counts._Check, "_compare", noted)
    assert counts_of(tmp_path, frame, time="day", weights="mass")
    assert all(is_earlier)


def test_too_few_groups_for_folds_leave_a_table_as_it_is(tmp_path: Path) -> None:
    frame = table().assign(plant=np.arange(N_ROWS) % 3)
    assert not counts_of(tmp_path, frame, groups="plant", folds=3)


def test_a_class_that_begins_late_is_no_error(tmp_path: Path) -> None:
    frame = table().sort_values("kind", ignore_index=True)
    frame["day"] = np.arange(len(frame))
    counts_of(tmp_path, frame, time="day")


def test_many_rows_are_decided_by_some_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_counts, "MOST_ROWS", 1500)
    monkeypatch.setattr(value_counts, "MOST_LEARNED", 700)
    sizes = []
    score = value_counts._Check._score

    def noted(self: Any, learned: Any, judged: Any, seed: int) -> float:
        sizes.append((*learned[0].shape, *judged[0].shape))
        np.testing.assert_array_equal(
            learned[0].iloc[:, 0], self.table.frame["size"].iloc[learned[1]]
        )
        return score(self, learned, judged, seed)

    monkeypatch.setattr(value_counts._Check, "_score", noted)
    assert counts_of(tmp_path, table(n_rows=3000))
    assert set(sizes) == {(700, 2, 300, 2), (700, 3, 300, 3)}


def test_what_a_metric_of_a_user_raises_is_noted_and_left_to_the_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> float:
        raise ZeroDivisionError("no rows")

    monkeypatch.setattr(value_counts._Check, "_score", broken)
    folder, facts = prepared(tmp_path, table())
    assert not EvaluationPlan(folder.path).settings.value_counts
    said = "setting value_counts: numbers are not counted, since the check failed: ZeroDivisionError: no rows"
    assert said in facts["notes"]


def test_the_first_fold_without_gain_ends_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.5, 0.6, 0.5, 0.5])
    monkeypatch.setattr(value_counts._Check, "_score", lambda *_: next(scores))
    assert not counts_of(tmp_path, table())
    assert next(scores, None) is None
