"""The one table of stages: what it names is there and fits, and one line more is one stage more."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, ClassVar

import pytest

from automl.errors import InterruptedRunError, SettingsError
from automl.home import Home
from automl.records import Trial
from automl.reports.run_progress import progress_of
from automl.run import stage_table
from automl.run.beginning import begin
from automl.run.session import Session
from automl.run.stage_table import REGISTRATION, STAGES, Stage, unknown_tail
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.result import RunResult
from automl.run_records.search import SearchRecord
from automl.settings import Settings
from automl.stage_record import StageRecord
from automl.stages import line as line_module
from automl.stages.line import RunReference, close_line, open_line

MADE_BY_A_FUNCTION = [stage for stage in STAGES if stage.function]
SETTINGS = Settings(
    table="sklearn:iris",
    target="target",
    trials=4,
    workers=1,
    families=("lda", "gaussian_nb"),
    experience=False,
    challenge=False,
)


@dataclass(frozen=True)
class Calibration(StageRecord):
    """A stage that this test adds."""

    stage: ClassVar[str] = "calibration"

    members: int
    best: str


def calibrate(session: Session, trials: Sequence[Trial], ensemble: EnsembleRecord) -> Calibration:
    session.warnings.append("calibrated")
    return Calibration(len(ensemble.members), max(trials, key=lambda t: t.score or 0.0).id)


@pytest.mark.parametrize("stage", MADE_BY_A_FUNCTION, ids=lambda stage: stage.name)
def test_the_function_of_a_stage_takes_its_inputs_and_gives_its_record(stage: Stage) -> None:
    function = stage.load()
    hints = typing.get_type_hints(function)
    first, second, *inputs = inspect.signature(function).parameters
    assert hints[first] is Session
    assert hints[second] == Sequence[Trial]
    assert {name: _record(hints[name]) for name in inputs} == {
        needed.stage: needed for needed in stage.inputs
    }
    assert hints["return"] is stage.record


def _record(hint: Any) -> Any:
    return hint.__args__[0] if isinstance(hint, UnionType) else hint


def test_a_stage_needs_what_comes_before_it() -> None:
    before: list[type[StageRecord]] = []
    for stage in STAGES:
        assert set(stage.inputs) <= set(before)
        before.append(stage.record)
    assert len({stage.name for stage in STAGES}) == len(STAGES)


def test_the_tail_is_claimed_in_the_order_of_the_stages() -> None:
    names = [stage.name for stage in STAGES if stage.tail_seconds is not None]
    assert list(unknown_tail()) == [*names, REGISTRATION]


@pytest.fixture
def with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table with one line more."""
    module = ModuleType("calibrating")
    module.calibrate = calibrate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "calibrating", module)
    line = Stage(Calibration, "calibrating:calibrate", "calibrate", (EnsembleRecord,))
    place = next(i for i, stage in enumerate(STAGES) if stage.record is EnsembleRecord) + 1
    monkeypatch.setattr(stage_table, "STAGES", (*STAGES[:place], line, *STAGES[place:]))


def names_of(session: Session) -> list[str]:
    return [stage.name for stage in stage_table.stages_of(session.settings)]


def test_one_line_more_in_the_table_is_one_stage_more(with_another: None, tmp_path: Path) -> None:
    session = begin(SETTINGS, Home(tmp_path))
    line = open_line(session)
    try:
        line.finish_search()
        line.record(EnsembleRecord)
        assert session.current_stage == "calibration"
        progress = progress_of(line)
        assert progress.stage == "calibrate"
        assert progress.stages_done == names_of(session).index("calibration")
        assert progress.stages_planned == len(names_of(session)) + 1
        made = line.run()
    finally:
        close_line(line)
        session.release()
    kept = Calibration.read(session.folder)
    assert kept is not None
    assert kept.members >= 1
    assert kept.best in {row.trial_id for row in made.leaderboard}
    assert "calibrated" in made.warnings
    assert "calibration" in made.ledger


def test_a_reference_opens_the_run_that_is_driven_here(tmp_path: Path) -> None:
    session = begin(SETTINGS, Home(tmp_path))
    reference = RunReference(f"{session.folder.path}/")
    line = open_line(session)
    with reference.opened() as opened:
        assert opened is line
    close_line(line)
    n_attempts = len(session.folder.read_facts()["attempts"])
    session.release()
    with pytest.raises(InterruptedRunError, match="stopped here"), reference.opened():
        pytest.fail("a task that comes late began another attempt")
    assert len(session.folder.read_facts()["attempts"]) == n_attempts


def test_a_reference_reopens_a_run_that_no_process_drives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begin(SETTINGS, Home(tmp_path))
    line = open_line(session)
    line.finish_search()
    close_line(line)
    monkeypatch.setattr(line_module, "_closed_here", set())  # as in another process
    reference = RunReference(str(session.folder.path))
    with pytest.raises(SettingsError, match="driv"), reference.opened():
        pytest.fail("its lock is held")
    session.release()
    found = SearchRecord.read(session.folder)
    with reference.opened() as again:
        assert again.record(SearchRecord) == found
        champion = again.record(RunResult).champion
    assert RunResult.read(session.folder).champion == champion  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["/nowhere", "zzz"])
def test_a_reference_to_no_run_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="no folder of a run"), RunReference(text).opened():
        pytest.fail("there is no run")


def test_a_damaged_record_is_made_again(tmp_path: Path) -> None:
    session = begin(SETTINGS, Home(tmp_path))
    try:
        session.records.write("calibration", {"members": 3})
        with pytest.warns(match="damaged and ignored: no Calibration"):
            made = session.record(Calibration, lambda: Calibration(1, "t"))
        assert made == Calibration.read(session.folder) == Calibration(1, "t")
    finally:
        session.close()
        session.release()
