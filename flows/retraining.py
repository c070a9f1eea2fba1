"""Retrain a problem on a new version of its table, with the settings that it was trained with.

The new model is registered beside the old one and takes the alias ``champion`` only if it scores
better on rows of the new table that neither model was trained on (`automl.run.challenge`). A
table whose content was trained on before changes nothing; a run that was interrupted on this
content goes on from its journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from filelock import Timeout

from automl.addresses import public_address
from automl.alternatives import AskedHow
from automl.errors import DataError, SettingsError
from automl.home import Home, RunFolder
from automl.lookup import did_you_mean
from automl.monitoring.drift_report import DriftReport
from automl.problem_names import clean_name
from automl.progress import Progress
from automl.record_files import StageRecords
from automl.run.choices import check_names
from automl.run.drift_reports import report_drift
from automl.run.finished_runs import (
    finished_facts,
    finished_runs,
    interrupted_run,
    table_digest,
)
from automl.run.foreign_runs import refuse_foreign_code
from automl.run_records.recipe import Recipe
from automl.tracking.layout import problem_name
from automl.tracking.synchronization import register_pending
from automl.training_request import TrainingRequest
from automl_flows.retraining_ways import asked_for
from automl_flows.services.promotion_events import tell_new_champions

if TYPE_CHECKING:
    import pandas as pd

    from automl.settings import Settings

LONGEST_WAIT_SECONDS = 24 * 3600.0

OnProgress = Callable[[Progress], None]
Say = Callable[[str], None]
ReadFrame = Callable[[], "pd.DataFrame"]


@dataclass(frozen=True)
class Retraining:
    """Outcome of a retraining.

    Parameters
    ----------
    status
        `trained`; `unchanged` where a run with this table's content is there already; `kept` where a drift
        report asked for nothing.
    digest : of the table's content
    run_id : the new run, or the one that is there already, or that of the champion kept
    promoted : whether the new model has the alias `champion`
    reason : one sentence about `status` or `promoted`
    result : the new run's result
    drift : the report that decided how; None unless `how` was `auto`, see `DriftReport`
    """

    status: Literal["trained", "unchanged", "kept"]
    name: str
    table: str
    digest: str
    run_id: str
    promoted: bool
    reason: str
    registered: str | None = None
    result: Mapping[str, Any] | None = None
    drift: Mapping[str, Any] | None = None

    @property
    def decision(self) -> str:
        """``quick/2 is registered; quick/1 stays champion``; empty where no version is registered."""
        if self.registered is None:
            return ""
        version = self.registered.partition("@")[0]
        if self.promoted:
            return f"{version} is the champion now"
        champion = ((self.result or {}).get("promotion") or {}).get("champion")
        stays = f"; {champion} stays champion" if champion else ""
        return f"{version} is registered{stays}"

    @property
    def words(self) -> str:
        """The decision, and why."""
        return ": ".join(filter(None, (self.decision, self.reason)))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)

    def summary(self) -> dict[str, Any]:
        """The same without the run's result."""
        return {key: value for key, value in self.to_json().items() if key != "result"}


def retrain(
    name: str,
    table: str,
    *,
    home: Home,
    read: ReadFrame | None = None,
    overrides: Mapping[str, Any] | None = None,
    how: AskedHow = "search",
    force: bool = False,
    started: float | None = None,
    on_progress: OnProgress | None = None,
    say: Say | None = None,
) -> Retraining:
    """Train the problem `name` again, on `table`.

    One retraining of a problem runs at a time in a home; another one waits for it.

    Parameters
    ----------
    name
        Problem, that is registered model.
    table
        File or URI; see `automl.data.readers.read_table`.
    read
        Makes the table, once it is this retraining's turn; `table` is then only what the run calls it.
    overrides
        Settings that differ in this run alone: `budget_seconds`, `trials`, `seed`; see
        `automl.training_request`.
    how
        `search`; `warm`: a short search that begins with the champion's configurations; `refit`: these and
        their weights alone, in a fraction of the time; `auto`: one of these or nothing, by what has drifted.
    force
        Train even if the content was trained on before.
    started
        `time.monotonic()` of the command's first line.
    say
        Told what is going on, one sentence at a time.

    Raises
    ------
    SettingsError
        If no finished run of this problem is in the home, the home cannot be written, or the settings of
        that run name code and this installation did not begin it.
    DataError
        If the table cannot be used, such as without the target column.
    ServiceError
        If the orchestrator cannot be started, or `how` is `auto` and the registry is needed and away.
    """
    tell = say or (lambda _: None)
    home.check()
    with _only_one(home, name, tell) as has_waited:
        runs = finished_runs(home, name)
        if not runs:
            raise SettingsError(_unknown_problem(home, name), name=name)
        settled = register_pending(name, home.path)
        for sentence in settled:
            tell(sentence)
        tell_new_champions(home)
        frame, digest = _read(table, read)
        runs = [run for run in runs if run.path.is_dir()]  # another process may delete old ones
        same = next((run for run in reversed(runs) if digest == table_digest(run)), None)
        if same is not None and not force:
            done = "; ".join(settled) or "nothing to do"
            reason = f"run {same.run_id} was trained on this content; {done}"
            return Retraining(
                "unchanged", name, public_address(table), digest, same.run_id, False, reason
            )
        refuse_foreign_code(runs[-1])
        whole = TrainingRequest.of(runs[-1])
        trust = bool(whole.settings.get("trust"))
        way = report_drift(name, frame, home, trust=trust) if how == "auto" else how
        if isinstance(way, DriftReport) and way.rung == "keep":
            return _kept(whole.settings["name"], public_address(table), digest, way)
        request, recipe, report = asked_for(whole, way, name, home, overrides or {})
        if report is not None:
            tell(report.reason)
        settings = request.settings_for(table)
        check_names(settings)
        before = None if force else interrupted_run(home, name, digest, request)
        if before is not None and (result := _go_on(before, home, on_progress, tell)):
            _keep(report, home, result)
            return _outcome(settings.problem, public_address(table), digest, result, report)
        tell(
            f"retraining {settings.problem} with the settings of run {request.run_id}"
            f"{request.remark}"
        )
        result = _train(
            settings,
            frame,
            request=request,
            recipe=recipe,
            home=home,
            started=None if has_waited or settled else started,
            on_progress=on_progress,
        )
        _keep(report, home, result)
    return _outcome(settings.problem, public_address(table), digest, result, report)


def _unknown_problem(home: Home, name: str) -> str:
    problems = {problem_name(facts) for facts in map(finished_facts, home.run_folders()) if facts}
    hint = did_you_mean(clean_name(name), problems, "; train it first with `automl train`")
    return f"there is no finished run of problem {name!r} in {home.path}{hint}"


def _read(table: str, read: ReadFrame | None = None) -> tuple[pd.DataFrame, str]:
    from automl.data.digests import digest_frame
    from automl.data.readers import read_table

    frame = read_table(table) if read is None else read()
    frame.attrs["source"] = table
    return frame, digest_frame(frame)


@contextmanager
def _only_one(home: Home, name: str, tell: Say) -> Iterator[bool]:
    """Hold the problem's lock; yields whether this had to wait."""
    lock, has_waited = home.lock(f"retrain-{clean_name(name)}"), False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(f"another retraining of {name} is running; waiting for its end")
        has_waited = True
        lock.acquire(timeout=LONGEST_WAIT_SECONDS, poll_interval=0.5)
    try:
        yield has_waited
    finally:
        lock.release()


def _train(
    settings: Settings,
    frame: pd.DataFrame,
    *,
    request: TrainingRequest,
    recipe: Recipe | None,
    home: Home,
    started: float | None,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    from automl.run.ledger import has_time
    from automl_flows.services.local_server import local_server, running

    began = time.monotonic() if started is None else started
    server = local_server(home.path, has_time=has_time(settings, began))
    with running(server, home):
        from automl_flows.driver import train  # slow: imports Prefect beside the server

        return train(
            settings,
            home=home,
            server=server,
            frame=frame,
            request=request,
            recipe=recipe,
            started=began,
            on_progress=on_progress,
        )


def _go_on(
    folder: RunFolder, home: Home, on_progress: OnProgress | None, tell: Say
) -> dict[str, Any]:
    """Result of an interrupted run, continued from its journal; empty if that cannot be."""
    from automl_flows.services.local_server import local_server, running

    tell(f"continuing run {folder.run_id}, which was interrupted on this content")
    server = local_server(home.path, has_time=True)
    try:
        with running(server, home):
            from automl_flows.driver import resume  # slow: imports Prefect beside the server

            return resume(folder.run_id, home=home, server=server, on_progress=on_progress)
    except (SettingsError, DataError) as error:
        tell(
            f"run {folder.run_id} cannot go on: {error.message}; it starts again from the beginning"
        )
        return {}


def _kept(name: str, table: str, digest: str, report: DriftReport) -> Retraining:
    drift = report.to_json()
    return Retraining("kept", name, table, digest, report.run_id, False, report.reason, drift=drift)


def _keep(report: DriftReport | None, home: Home, result: dict[str, Any]) -> None:
    """Write the report into the folder of the run that it has led to."""
    if report is not None:
        report.write(StageRecords(home.run(result["run_id"]).stages))


def _outcome(
    name: str,
    table: str,
    digest: str,
    result: dict[str, Any],
    report: DriftReport | None,
) -> Retraining:
    promotion, model = result.get("promotion") or {}, result["model"]
    registered = model.get("registered")
    promoted = bool(promotion.get("promote")) and registered is not None
    reason = str(promotion.get("reason", ""))
    if registered is None:
        reason = (
            "the registration is pending; the next command that needs this name completes it, as "
            f"does automl sync; {reason}"
        )
    drift = None if report is None else report.to_json()
    return Retraining(
        "trained",
        name,
        table,
        digest,
        result["run_id"],
        promoted,
        reason,
        registered,
        result,
        drift,
    )


def absolute_source(table: str) -> str:
    """A local file's absolute path; URIs and collections stay as they are."""
    path = Path(table).expanduser()
    return table if ":" in table and not path.exists() else str(path.resolve())
