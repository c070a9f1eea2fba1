"""Replays optimizers on published tables of scores, ours and outside ones side by side.

    python benchmarks/search/optimizers.py METADATA_FOLDER OUT_FOLDER [--profile small|full]
        [--half tuning|reported|both] [--sources svm flow_forest ...]
        [--optimizers smac gbqr ...] [--compositions FILE.json] [--known others|tuning|twin]
        [--reference-python PYTHON] [--workers 2]

Each (table, optimizer, seed) is a line of OUT_FOLDER/cells.jsonl, and each timed ask one of
OUT_FOLDER/asks.jsonl; finished ones are not repeated, so that the command can be interrupted or
killed. A line that was cut off is removed. Lines are not recognized as outdated when the code
changes: begin with an empty folder then. ``report.py OUT_FOLDER`` makes the tables and plots.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import replay
from tables import (
    KNOWN,
    SOURCES,
    TWIN,
    TWINS,
    ScoreTable,
    half_of,
    read_table,
    sources_for,
    table_names,
)

from automl.errors import SettingsError
from automl.optimizers.registry import get_optimizer

OURS = ("random", "hypercube", "tpe", "smac", "gbqr", "gp_ei", "gp_sampled", "gp_prior")
OUTSIDE = ("optuna_tpe", "optuna_gp", "smac3")
SLOW = {"hebo": 3}
"""Tables per source of optimizers that take too long for all."""
N_OBSERVATIONS = (50, 200, 1000)
UNTIMED = ("random", "hebo")
TIMED_SOURCE = "flow_forest"
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True)
class Profile:
    """How much is replayed."""

    n_tables: int
    seeds: int
    outside_seeds: int
    n_trials: int = 60


PROFILES = {
    "tiny": Profile(2, 1, 1),
    "small": Profile(4, 1, 1),
    "full": Profile(25, 5, 3),
}


@dataclass(frozen=True)
class Job:
    """An optimizer on a table with the seeds that are missing, or its timed asks."""

    metadata: Path
    source: str
    table: str
    name: str
    definition: replay.Definition
    python: str
    n_trials: int
    seeds: tuple[int, ...] = ()
    n_observations: int = 0
    known: str = ""
    n_initial: int = replay.N_INITIAL

    @property
    def label(self) -> dict[str, Any]:
        """What stands in front of every line."""
        learns = replay.learns_from_others(self.definition)
        return {
            **({"known": self.known, "n_initial": self.n_initial} if learns else {}),
            "source": self.source,
            "table": self.table,
            "half": half_of(self.table),
            "optimizer": self.name,
            "definition": self.definition,
        }


def run(job: Job) -> list[dict[str, Any]]:
    """Lines of a job."""
    table = read_table(job.metadata, job.source, job.table)
    if job.n_observations:
        timed = [{"n": job.n_observations, **row} for row in timed_asks(job, table)]
        return [{**job.label, **row} for row in timed]
    facts = {"n_trials": job.n_trials, "best": float(table.scores.max()), "scale": table.scale}
    return [
        {
            **job.label,
            **facts,
            **row,
            "scores": [float(table.scores[i]) for i in row["chosen"]],
            "ranks": [float(table.ranks[i]) for i in row["chosen"]],
        }
        for row in replays(job, table)
    ]


def replays(job: Job, table: ScoreTable) -> Iterator[replay.Row]:
    """Candidates chosen with each seed."""
    if job.definition in replay.REFERENCES:
        orders = {seed: replay.order_of(table, seed) for seed in job.seeds}
        work = {"orders": orders, "n_trials": job.n_trials}
        yield from replay.reference_rows(job.python, table, job.name, work)
        return
    sources, n_initial = None, replay.N_INITIAL
    if replay.learns_from_others(job.definition):
        sources = sources_for(job.metadata, job.source, job.table, job.known)
        n_initial = job.n_initial
    for seed in job.seeds:
        found = replay.replay(
            table, job.definition, seed, job.n_trials, sources=sources, n_initial=n_initial
        )
        yield {"seed": seed, **found}


def timed_asks(job: Job, table: ScoreTable) -> Iterator[replay.Row]:
    """Seconds of asks with a number of observations."""
    if job.definition not in replay.REFERENCES:
        yield replay.time_asks(table, job.definition, job.n_observations)
        return
    known = [(dict(c.values), s) for c, s in replay.observations(table, job.n_observations)]
    yield from replay.reference_rows(job.python, table, job.name, {"observations": known})


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Complete lines of a file; none if there is no file."""
    if not path.exists():
        return []
    *lines, _cut_off = path.read_text().split("\n")
    return [json.loads(line) for line in lines]


def mend(path: Path) -> None:
    """Remove what was cut off at the end of a file, so that the next line begins a new one."""
    if path.exists():
        content = path.read_bytes()
        os.truncate(path, content.rfind(b"\n") + 1)


def key_of(row: Mapping[str, Any]) -> str:
    """What tells lines apart."""
    names = (
        "source",
        "table",
        "optimizer",
        "definition",
        "known",
        "n_initial",
        "seed",
        "n_trials",
        "n",
    )
    return json.dumps([row.get(name) for name in names], sort_keys=True)


def definitions_of(options: argparse.Namespace) -> dict[str, replay.Definition]:
    """What is replayed, by name.

    Raises
    ------
    SystemExit
        If a name is neither an optimizer of ours, nor an outside one that the interpreter has, nor
        in the file of compositions.
    """
    there = available(options.reference_python)
    names = options.optimizers or [*OURS, *(name for name in OUTSIDE if name in there)]
    compositions = json.loads(options.compositions.read_text()) if options.compositions else {}
    for name in names:
        if name in replay.REFERENCES and name not in there:
            raise SystemExit(f"{options.reference_python} lacks the library of {name}")
        if name not in {replay.RANDOM, *replay.REFERENCES}:
            try:
                get_optimizer(compositions.get(name, name))
            except SettingsError as error:
                raise SystemExit(f"optimizer {name}: {error}") from None
    return {name: compositions.get(name, name) for name in names}


def available(python: str) -> list[str]:
    """Outside optimizers whose libraries an interpreter has."""
    command = [python, str(Path(replay.__file__).with_name("references.py")), "--available"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(listed.stdout)
    return found


def jobs(
    options: argparse.Namespace, definitions: Mapping[str, replay.Definition], done: set[str]
) -> Iterator[Job]:
    """Missing jobs; the first table of every source comes first."""
    profile: Profile = PROFILES[options.profile]
    names = [table_names(options.metadata, s, profile.n_tables) for s in options.sources]
    for rank, row in enumerate(zip_longest(*names)):
        for source, table in zip(options.sources, row, strict=True):
            if table is None or options.half not in {"both", half_of(table)}:
                continue
            for name, definition in definitions.items():
                if rank >= SLOW.get(name, profile.n_tables) or not is_known(
                    source, definition, options
                ):
                    continue
                job = Job(
                    options.metadata,
                    source,
                    table,
                    name,
                    definition,
                    options.reference_python,
                    profile.n_trials,
                    known=options.known,
                    n_initial=options.initial,
                )
                is_outside = name in replay.REFERENCES
                n_seeds = profile.outside_seeds if is_outside else profile.seeds
                n_seeds = min(n_seeds, options.seeds)
                facts = {**job.label, "n_trials": profile.n_trials}
                seeds = [s for s in range(n_seeds) if key_of({**facts, "seed": s}) not in done]
                if seeds:
                    yield replace(job, seeds=tuple(seeds))


def is_known(source: str, definition: replay.Definition, options: argparse.Namespace) -> bool:
    """Whether there are tables to learn from, for an optimizer that does."""
    learns = replay.learns_from_others(definition)
    return not learns or options.known != TWIN or source in TWINS


def timing_jobs(
    options: argparse.Namespace, definitions: Mapping[str, replay.Definition], done: set[str]
) -> Iterator[Job]:
    """Missing timed asks."""
    table = table_names(options.metadata, TIMED_SOURCE)[0]
    for n in N_OBSERVATIONS:
        for name, definition in definitions.items():
            job = Job(
                options.metadata,
                TIMED_SOURCE,
                table,
                name,
                definition,
                options.reference_python,
                n_trials=0,
                n_observations=n,
            )
            if name not in UNTIMED and key_of({**job.label, "n": n}) not in done:
                yield job


def begin_worker() -> None:
    """Leave interrupts to the main process, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def work_off(todo: Sequence[Job], path: Path, n_workers: int) -> None:
    """Run jobs in processes and append their lines; a job that fails is told and left out."""
    started = time.monotonic()
    mend(path)
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(n_workers, mp_context=context, initializer=begin_worker) as pool,
        path.open("ab", buffering=0) as file,
    ):
        try:
            futures = {pool.submit(run, job): job for job in todo}
            for count, future in enumerate(as_completed(futures), 1):
                job = futures[future]
                error = future.exception()
                if error is not None:
                    print(
                        f"{job.name} on {job.source}/{job.table} failed: {error}", file=sys.stderr
                    )
                    continue
                file.write("".join(json.dumps(row) + "\n" for row in future.result()).encode())
                minutes = (time.monotonic() - started) / 60
                label = f"{count}/{len(todo)} {job.name} {job.source}/{job.table}"
                print(f"{label} {minutes:.1f} min", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", choices=PROFILES, default="small")
    parser.add_argument("--half", choices=["tuning", "reported", "both"], default="reported")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--optimizers", nargs="+", default=[])
    parser.add_argument(
        "--known",
        choices=KNOWN,
        default="others",
        help="tables that optimizers learn from which use earlier data sets",
    )
    parser.add_argument(
        "--initial",
        type=int,
        default=replay.N_INITIAL,
        help="random candidates told first to optimizers that learn from other tables",
    )
    parser.add_argument("--compositions", type=Path, help="JSON: composition by name")
    parser.add_argument(
        "--reference-python", default=sys.executable, help="interpreter with the outside ones"
    )
    parser.add_argument("--seeds", type=int, default=5, help="at most so many")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-asks", action="store_true", help="leave out the timed asks")
    options = parser.parse_args()
    missing = [
        name for name in options.sources if not (options.metadata / SOURCES[name].file).exists()
    ]
    if missing:
        parser.error(f"{options.metadata} lacks {SOURCES[missing[0]].file}")
    os.environ.update(ONE_CORE)
    definitions = definitions_of(options)
    options.out.mkdir(parents=True, exist_ok=True)
    cells, asks = options.out / "cells.jsonl", options.out / "asks.jsonl"
    done = {key_of(row) for row in read_lines(cells)}
    work_off(list(jobs(options, definitions, done)), cells, options.workers)
    if not options.no_asks:
        done = {key_of(row) for row in read_lines(asks)}
        work_off(list(timing_jobs(options, definitions, done)), asks, 1)


if __name__ == "__main__":
    main()
