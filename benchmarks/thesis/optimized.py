"""Preset `thesis` on the 31 tables of table 5.1 that are to be had, restricted to the thesis' 17 families.

    python benchmarks/thesis/optimized.py DATA_FOLDER OUT_FOLDER [--tables a,b] [--workers 2]
        [--seconds 300] [--set NAME=JSON]

A run goes through the stages of the program, without its orchestrator and its tracking store. Its budget is
300 s of wall clock for everything from the first line to the refitted model, 1,200 s for tables over 5,000
rows; ``--seconds`` gives another one for trying. ``--set`` changes a setting of the preset, such as
``--set allocator='"uniform_seconds"'``; give such runs a folder of their own.

Each table's record is one file: the champion, every candidate's scores on the fresh folds of half H, every
decision of the selection, what was given up, and a line for each trial, of the search and on fresh folds. Finished tables are not
repeated; one that was interrupted begins again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

from printed import FAMILIES, Source, sources

from automl.errors import AutoMLError, AutoMLWarning
from automl.evaluation.journal import read
from automl.home import Home, RunFolder
from automl.records import Trial
from automl.run.beginning import begin
from automl.run_records.champion import ChampionRecord
from automl.run_records.result import RunResult
from automl.settings.sources import resolve_settings
from automl.stages.line import Line, close_line, open_line


def run(source: Source, home: Home, given: dict[str, Any]) -> dict[str, Any]:
    """Record of one run."""
    settings = resolve_settings(
        {
            "table": str(source.file),
            "target": source.target,
            "preset": "thesis",
            "families": tuple(FAMILIES.values()),
            "budget_seconds": source.budget_seconds,
            **given,
        },
        environment={},
    )
    session = begin(settings, home, started=time.monotonic())
    try:
        line = open_line(session)
        try:
            line.finish_search()
            return record_of(line)
        finally:
            close_line(line)
    finally:
        session.close()
        session.release()


def record_of(line: Line) -> dict[str, Any]:
    """What is kept of a run."""
    session = line.session
    champion = line.record(ChampionRecord).champion
    try:
        result = line.record(RunResult).to_json()
    except AutoMLError as error:  # the table needs the selection alone
        result = {"failed": str(error)}
    names = session.records.names()
    stages = {name: session.records.read(name) for name in names}
    return {
        "champion": champion,
        "given_up": session.given_up,
        "settings": session.settings.model_dump(mode="json"),
        "data": session.folder.read_facts()["data"],
        "result": {key: value for key, value in result.items() if key != "leaderboard"},
        "stages": {key: value for key, value in stages.items() if key not in {"data", "result"}},
        "ledger": session.ledger.to_json(),
        "seconds": session.ledger.elapsed,
        "trials": [_line_of(trial) for trial in line.trials],
        "fresh": [
            _line_of(trial)
            for trial in map(Trial.from_json, _journaled(session.folder))
            if trial.stage == "candidates"
        ],
    }


def _journaled(folder: RunFolder) -> list[dict[str, Any]]:
    return [entry["trial"] for entry in read(folder.journal) if entry.get("type") == "trial"]


def _line_of(trial: Trial) -> dict[str, Any]:
    return {
        "id": trial.id,
        "family": trial.configuration.family,
        "values": dict(trial.configuration.values),
        "origin": trial.origin,
        "status": str(trial.status),
        "reason": trial.reason,
        "score": trial.score,
        "fold_scores": trial.fold_scores,
        "metrics": dict(trial.metrics),
        "seconds": trial.seconds,
    }


def _told(name: str, record: dict[str, Any]) -> str:
    families = {trial["id"]: trial["family"] for trial in record["trials"]}
    given_up = "; ".join(record["given_up"][:2]) + ("; …" if len(record["given_up"]) > 2 else "")
    return (
        f"{name}: {families[record['champion']]}, {len(families)} trials, "
        f"{len(record['stages']['selection']['candidates'])} candidates, "
        f"{record['seconds']:.0f} s{', given up: ' if given_up else ''}{given_up}"
        f"{', ' + record['result']['failed'] if 'failed' in record['result'] else ''}"
    )


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON")
    return parser.parse_args()


def main() -> None:
    options = options_of()
    given: dict[str, Any] = {"workers": options.workers}
    if options.seconds is not None:
        given["budget_seconds"] = options.seconds
    for text in options.set:
        name, _, value = text.partition("=")
        given[name] = json.loads(value)
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.simplefilter("ignore", AutoMLWarning)
    folder = options.out / "optimized"
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources(options.data, options.out, options.tables):
        file = folder / f"{source.name}.json"
        if file.exists():
            continue
        home = Home((options.out / "homes" / source.name).resolve())
        shutil.rmtree(home.path, ignore_errors=True)
        home.prepare()
        record = run(source, home, given)
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json.dumps(record))
        temporary.replace(file)
        shutil.rmtree(home.path, ignore_errors=True)
        print(_told(source.name, record), flush=True)


if __name__ == "__main__":
    main()
