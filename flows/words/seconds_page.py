"""The page of ``automl show RUN --seconds``: where the seconds of a run went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.reports.seconds import PARTS
from automl.run_state import read_stage
from automl_flows.words.rendering import emit, emit_facts, emit_table, seconds_text
from automl_flows.words.run_status import describe

Record = Mapping[str, Any]


@dataclass(frozen=True)
class PageTable:
    """A table of the page; its first column is words, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def page_of(folder: RunFolder) -> dict[str, Any]:
    """Where the seconds of a run went, in plain JSON form; of a running one so far."""
    from automl.evaluation.journal import Journal
    from automl.records import Trial
    from automl.reports.seconds import seconds_report

    records = Journal.read(folder.journal) if folder.journal.is_dir() else []
    records = [record for record in records if record.get("type") == "trial"]
    try:
        facts = folder.read_facts()
    except SettingsError:
        facts = {}
    report = seconds_report(
        [Trial.from_json(record["trial"]) for record in records],
        processes=facts.get("processes") or (),
        asking=sum((record.get("decision") or {}).get("ask_seconds", 0.0) for record in records),
    )
    status = describe(folder)
    return {
        "run_id": folder.run_id,
        "status": status.status,
        "wall_seconds": status.seconds,
        "ledger": read_stage(folder, "result").get("ledger") or {},
        **report.to_json(),
    }


def show_page(page: Record) -> None:
    """Print the page on stdout."""
    total = page["total"]
    emit_facts(
        {
            "run": page["run_id"],
            "status": page["status"],
            "took": seconds_text(page["wall_seconds"]),
            "search": f"{total['trials']} trials, {seconds_text(total['seconds'])} on slots",
            "slots": _slots_text(page["slots"]),
        }
    )
    for table in page_tables(page):
        emit("")
        emit(table.title)
        emit_table(table.columns, table.rows, right=table.columns[1:])
    if total["trials"] and not page["tells_preprocessing"]:
        emit("note: preprocessing is part of fitting here: the run did not tell it apart")


def page_tables(page: Record) -> Iterator[PageTable]:
    """The tables of the page that have rows."""
    searched = page["total"]["seconds"]
    for table in (
        _families(page["families"], searched),
        _folds(page["folds"]),
        _groups("search, by how trials ended", "ended", page["statuses"], searched),
        _groups("search, by what proposed the trials", "origin", page["origins"], searched),
        _stages(page["ledger"], page["stages"]),
    ):
        if table.rows:
            yield table


def _families(families: Sequence[Record], total: float) -> PageTable:
    counts = ("complete", "raced", "failed")
    columns = ["family", "trials", *counts, "seconds", "share", *PARTS, "other", "median", "best"]
    rows = [
        [
            entry["family"],
            entry["spent"]["trials"],
            *(entry[name] for name in counts),
            _seconds(entry["spent"]["seconds"]),
            _share(entry["spent"]["seconds"], total),
            *(_seconds(entry["spent"][name]) for name in (*PARTS, "other", "median_seconds")),
            entry["best_score"],
        ]
        for entry in families
    ]
    return PageTable("search, by family", columns, rows)


def _folds(folds: Sequence[Record]) -> PageTable:
    rows = [
        [
            f"{entry['fold'] + 1} of repeat {entry['repeat'] + 1}",
            entry["fits"],
            *(_seconds(entry[name]) for name in PARTS),
        ]
        for entry in folds
    ]
    return PageTable("search, by fold", ["fold", "fits", *PARTS], rows)


def _groups(title: str, column: str, groups: Sequence[Record], total: float) -> PageTable:
    rows = [
        [
            group["name"],
            group["trials"],
            _seconds(group["seconds"]),
            _share(group["seconds"], total),
        ]
        for group in groups
    ]
    return PageTable(title, [column, "trials", "seconds", "share"], rows)


def _stages(ledger: Record, groups: Sequence[Record]) -> PageTable:
    """Wall seconds of the stages that have ended, and what their trials spent on all slots."""
    spent = {group["name"]: group for group in groups}
    rows = []
    for name in dict.fromkeys((*ledger, *spent)):
        used = (ledger.get(name) or {}).get("used")
        group = spent.get(name) or {"trials": None, "seconds": None}
        if " " not in name and (used is not None or name in spent):
            rows.append([name, _seconds(used), group["trials"], _seconds(group["seconds"])])
    return PageTable("the run, by stage", ["stage", "wall", "trials", "seconds"], rows)


def _slots_text(slots: Record | None) -> str:
    if slots is None:
        return ""
    parts = (
        f"{_share(slots[name], slots['slot_seconds'])} {words}"
        for name, words in (
            ("busy", "in trials"),
            ("asking", "waiting for a proposal"),
            ("idle", "idle otherwise"),
        )
    )
    return f"{slots['slots']}: {', '.join(parts)}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.3f}"


def _share(seconds: float, total: float) -> str:
    return f"{seconds / total:.1%}" if total > 0 else ""
