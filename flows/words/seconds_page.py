"""The page of ``automl show RUN --seconds``: where the seconds of a run went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automl.durations import seconds_text
from automl.errors import SettingsError
from automl.home import RunFolder
from automl.reports.run_status import describe
from automl.reports.seconds import (
    PARTS,
    FamilySeconds,
    FoldSeconds,
    GroupSeconds,
    SecondsReport,
    SlotUse,
)
from automl.run_records.result import RunResult
from automl.run_state import state_of
from automl_flows.words.rendering import emit, emit_facts, emit_table


@dataclass(frozen=True)
class PageTable:
    """A table of the page; its first column is words, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class SecondsPage:
    """Where the seconds of a run went; of a running one so far.

    Parameters
    ----------
    wall_seconds : in which the run was driven
    attempts : processes that drove it, one after the other
    down_seconds : between them, which nothing else here counts
    ledger : planned and used seconds by stage; empty before the end
    """

    run_id: str
    status: str
    wall_seconds: float | None
    attempts: int
    down_seconds: float
    ledger: Mapping[str, Mapping[str, float | None]]
    report: SecondsReport

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form, the report's fields among the others."""
        own = {name: value for name, value in self.__dict__.items() if name != "report"}
        return {**own, **self.report.to_json()}


def page_of(folder: RunFolder) -> SecondsPage:
    """Where the seconds of a run went, from its journal and its result."""
    from automl.evaluation.journal import Journal
    from automl.records import Trial
    from automl.reports.seconds import seconds_report

    records = Journal.read(folder.journal) if folder.journal.is_dir() else []
    records = [record for record in records if record.get("type") == "trial"]
    try:
        facts = folder.read_facts()
        state = state_of(folder, facts)
        attempts, down = len(state.attempts), state.down_seconds
    except SettingsError:
        facts, attempts, down = {}, 0, 0.0
    report = seconds_report(
        [Trial.from_json(record["trial"]) for record in records],
        processes=facts.get("processes") or (),
        asking=sum((record.get("decision") or {}).get("ask_seconds", 0.0) for record in records),
    )
    status, result = describe(folder), RunResult.read(folder)
    ledger = {} if result is None else result.ledger
    return SecondsPage(folder.run_id, status.status, status.seconds, attempts, down, ledger, report)


def show_page(page: SecondsPage) -> None:
    """Print the page on stdout."""
    total = page.report.total
    emit_facts(
        {
            "run": page.run_id,
            "status": page.status,
            "took": seconds_text(page.wall_seconds),
            "down": _down_text(page),
            "search": f"{total.trials} trials, {seconds_text(total.seconds)} on slots",
            "slots": _slots_text(page.report.slots),
        }
    )
    for table in page_tables(page):
        emit("")
        emit(table.title)
        emit_table(table.columns, table.rows, right=table.columns[1:])
    if total.trials and not page.report.tells_preprocessing:
        emit("note: fitting includes preprocessing here, which the run did not measure separately")


def page_tables(page: SecondsPage) -> Iterator[PageTable]:
    """The tables of the page that have rows."""
    report = page.report
    searched = report.total.seconds
    for table in (
        _families(report.families, searched),
        _folds(report.folds),
        _groups("search, by how trials ended", "ended", report.statuses, searched),
        _groups("search, by what proposed the trials", "origin", report.origins, searched),
        _stages(page.ledger, report.stages),
    ):
        if table.rows:
            yield table


def _families(families: Sequence[FamilySeconds], total: float) -> PageTable:
    counts = ("complete", "raced", "failed")
    has_plan = any(entry.planned for entry in families)
    planned = ["planned"] if has_plan else []
    spent = ["seconds", "share", *PARTS, "other", "median", "best"]
    columns = ["family", "trials", *counts, *planned, *spent]
    rows = [
        [
            entry.family,
            entry.spent.trials,
            *(getattr(entry, name) for name in counts),
            *([_seconds(entry.planned_seconds)] if has_plan else []),
            _seconds(entry.spent.seconds),
            _share(entry.spent.seconds, total),
            *(_seconds(getattr(entry.spent, name)) for name in (*PARTS, "other", "median_seconds")),
            entry.best_score,
        ]
        for entry in families
    ]
    return PageTable("search, by family", columns, rows)


def _folds(folds: Sequence[FoldSeconds]) -> PageTable:
    rows = [
        [
            f"{entry.fold + 1} of repeat {entry.repeat + 1}",
            entry.fits,
            *(_seconds(getattr(entry, name)) for name in PARTS),
        ]
        for entry in folds
    ]
    return PageTable("search, by fold", ["fold", "fits", *PARTS], rows)


def _groups(title: str, column: str, groups: Sequence[GroupSeconds], total: float) -> PageTable:
    rows = [
        [group.name, group.trials, _seconds(group.seconds), _share(group.seconds, total)]
        for group in groups
    ]
    return PageTable(title, [column, "trials", "seconds", "share"], rows)


def _stages(
    ledger: Mapping[str, Mapping[str, float | None]], groups: Sequence[GroupSeconds]
) -> PageTable:
    """Wall seconds of the stages that have ended, and what their trials spent on all slots."""
    spent = {group.name: group for group in groups}
    rows = []
    for name in dict.fromkeys((*ledger, *spent)):
        used, group = ledger.get(name, {}).get("used"), spent.get(name)
        if " " not in name and (used is not None or group is not None):
            own = (None, None) if group is None else (group.trials, group.seconds)
            rows.append([name, _seconds(used), own[0], _seconds(own[1])])
    return PageTable("the run, by stage", ["stage", "wall", "trials", "seconds"], rows)


def _down_text(page: SecondsPage) -> str:
    if page.attempts < 2:
        return ""
    return f"{seconds_text(page.down_seconds)} between {page.attempts} attempts, in no share below"


def _slots_text(slots: SlotUse | None) -> str:
    if slots is None:
        return ""
    parts = (
        f"{_share(seconds, slots.slot_seconds)} {words}"
        for seconds, words in (
            (slots.busy, "in trials"),
            (slots.asking, "waiting for a proposal"),
            (slots.idle, "idle otherwise"),
        )
    )
    return f"{slots.slots}: {', '.join(parts)}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.3f}"


def _share(seconds: float, total: float) -> str:
    return f"{seconds / total:.1%}" if total > 0 else ""
