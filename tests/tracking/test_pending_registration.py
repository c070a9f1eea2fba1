"""A model whose registration was cut short is registered by whoever needs its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_records import TEST, final_of, result_of, write
from sklearn.linear_model import Ridge

from automl.errors import AutoMLWarning, SettingsError
from automl.home import RunFolder
from automl.inference.bundle import write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.installation import make_key
from automl.preprocessing import build_preprocessor
from automl.record_files import StageRecords
from automl.run_records.result import Baseline
from automl.tracking import synchronization
from automl.tracking.mirror import Mirror, complete
from automl.tracking.mirror_process import registration
from automl.tracking.model_registry import aliases, find_bundle, list_versions, rollback
from automl.tracking.new_champions import take_new_champions
from automl.tracking.outbox import Outbox
from automl.tracking.pending import pending_runs
from automl.tracking.publication import Publisher
from automl.tracking.store import open_store, store_address
from automl.tracking.synchronization import register_pending, sync
from automl.tracking.writer import RunWriter

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("warm_load"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def small_model() -> TableModel:
    frame = pd.DataFrame({"size": np.arange(20.0)})
    schema = TableSchema.fit(frame, {"size": "numeric"})
    typed, y = schema.transform(frame), np.arange(20.0)
    preprocessor = build_preprocessor({}, seed=1)
    estimator = Ridge().fit(preprocessor.fit_transform(typed, y), y)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "ridge")
    return TableModel(schema, [member], task="regression", target="label")


def finished(runs: Any, *, baseline: bool = False) -> RunFolder:
    """A run that ended well but for its registration."""
    folder: RunFolder = runs.make(3)
    write_bundle(small_model(), folder.bundle, extra={"run": folder.run_id}, key=make_key())
    runs.finish(folder, champion=0)
    constant = Baseline("c", 0.11, 0.11 if baseline else 0.5, is_constant=baseline)
    write(folder, final_of(kind="refit", test=TEST), result_of(baseline=constant))
    return folder


def test_predicting_by_alias_registers_the_model_first_and_says_so(home: Path, runs: Any) -> None:
    folder = finished(runs)
    StageRecords(folder.stages).write("promotion", {"promote": True, "reason": "better"})
    with pytest.warns(AutoMLWarning, match=r"it is beans-label/1@champion now$") as told:
        found = find_bundle("beans-label@champion", home)
    assert len(told) == 1
    (new,) = take_new_champions(home)
    assert (new.problem, new.model, new.run_id) == ("beans-label", "beans-label/1", folder.run_id)
    assert new.promotion["reason"] == "better"
    assert found.run_id == folder.run_id
    assert registration(folder).status == "done"
    assert find_bundle("beans-label", home).label == "beans-label/1"  # and says nothing again


def test_the_alias_leads_to_the_last_model_and_not_to_the_one_before(home: Path, runs: Any) -> None:
    assert complete(Mirror(finished(runs)), 60)
    later = finished(runs)
    with pytest.warns(AutoMLWarning, match="it is beans-label/2@champion now"):
        assert find_bundle("beans-label@champion", home).run_id == later.run_id


def test_rollback_and_the_list_of_versions_know_the_model_that_was_pending(
    home: Path, runs: Any
) -> None:
    assert complete(Mirror(finished(runs)), 60)
    finished(runs)
    with pytest.warns(AutoMLWarning, match="beans-label/2@champion"):
        assert rollback("beans-label", home) == ("2", "1")
    finished(runs)
    with pytest.warns(AutoMLWarning, match="beans-label/3"):
        assert [version.version for version in list_versions("beans-label", home)] == [
            "3",
            "2",
            "1",
        ]


def test_trials_are_left_to_sync_and_the_run_is_not_left_running(home: Path, runs: Any) -> None:
    folder = finished(runs)
    register_pending("beans-label", home)
    outbox = Outbox.load(folder.path / "outbox.json")
    assert outbox.trials == {}
    client = open_store(store_address(home))
    assert client.get_run(outbox.parent).info.status == "FINISHED"
    assert outbox.seconds["publishing"] > 0
    assert sync(home).trials == 3
    assert register_pending("beans-label", home) == []


def test_the_model_is_registered_before_any_trial_is_copied(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "write_trials", die)
    with pytest.raises(KeyboardInterrupt):
        Mirror(folder).finish(60)
    assert registration(folder).registered == "beans-label/1@champion"


def test_only_runs_with_a_result_that_nobody_drives_are_pending(home: Path, runs: Any) -> None:
    driven, unfinished, waiting = finished(runs), finished(runs), finished(runs)
    (unfinished.stages / "result.json").unlink()
    off = finished(runs)
    StageRecords(off.stages).write("registration", {"register": False})
    with driven.lock():
        assert [run.run_id for run in pending_runs("beans-label", home)] == [waiting.run_id]
    assert pending_runs("peas-label", home) == []


def test_a_refused_model_is_named_and_not_tried_again(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)
    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "_cold_load_problem", lambda _: "it does not load")
        assert register_pending("beans-label", home) == [
            f"the model of run {folder.run_id} is not registered yet: it does not load"
        ]
    with monkeypatch.context() as patch:
        patch.setattr(synchronization, "complete", lambda *_, **__: pytest.fail("tried again"))
        with (
            pytest.warns(AutoMLWarning, match="is not registered: it does not load"),
            pytest.raises(SettingsError, match="no such model"),
        ):
            find_bundle("beans-label@champion", home)
    assert sync(home).registered == ["beans-label/1@champion"]


def test_a_model_no_better_than_the_baseline_is_called_so_and_takes_no_alias_from_a_better(
    home: Path, runs: Any
) -> None:
    for is_baseline in (True, True, False, True):
        assert complete(Mirror(finished(runs, baseline=is_baseline)), 60)
    # the second baseline may replace the first, a model replaces both, and no baseline the model
    assert aliases("beans-label", home) == {"champion": "3", "previous": "2"}
    client = open_store(store_address(home))
    last = client.get_model_version("beans-label", "4")
    assert last.description.startswith("No better than the baseline: the model is the constant, ")
    assert "score of a constant | 0.11 |" in last.description
    assert "The alias champion stays with version 3" in last.description
    assert last.tags["automl.baseline"] == "not beaten"
    better = client.get_model_version("beans-label", "3")
    assert better.tags["automl.baseline"] == "beaten"
    assert "It predicts `label`" in better.description
    (late,) = [
        registration(folder).alias_stays
        for folder in synchronization.Home(home).run_folders()
        if registration(folder).registered == "beans-label/4"
    ]
    assert late == (
        "the alias champion stays with version 3: version 4 is no better than the baseline"
    )
