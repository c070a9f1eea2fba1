"""Replays optimizers on published tables of scores, ours and outside ones side by side.

    python benchmarks/search/optimizers.py METADATA_FOLDER OUT_FOLDER [--profile small|full]
        [--half tuning|reported|both] [--optimizers smac gbqr ...] [--compositions FILE.json]
        [--reference-python PYTHON] [--workers 2]

Each (table, optimizer, seed) is a line of OUT_FOLDER/cells.jsonl, and each timed ask one of
OUT_FOLDER/asks.jsonl; finished ones are not repeated, so that the command can be interrupted.
Only an incomplete last line is lost. Lines are not recognized as outdated when the code changes:
begin with an empty folder then. ``report.py OUT_FOLDER`` makes the tables and plots.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import replay
from tables import SOURCES, half_of, read_table, table_names
from threadpoolctl import threadpool_limits

from automl.optimizers.registry import OPTIMIZERS

OURS = ("random", "hypercube", "tpe", "smac", "gbqr", "gp_ei")
OUTSIDE = ("optuna_tpe", "optuna_gp", "smac3", "hebo")
SLOW = {"hebo": 5}
"""Tables per source of optimizers that take too long for all."""
N_OBSERVATIONS = (50, 200, 1000)
UNTIMED = ("random", "hebo")
TIMED_SOURCE = "flow_forest"


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
    definition: str | Mapping[str, Any]
    python: str
    n_trials: int
    seeds: tuple[int, ...] = ()
    n_observations: int = 0

    @property
    def label(self) -> dict[str, Any]:
        """What stands in front of every line."""
        return {
            "source": self.source,
            "table": self.table,
            "half": half_of(self.table),
            "optimizer": self.name,
            "definition": self.definition,
        }


def run(job: Job) -> list[dict[str, Any]]:
    """Lines of a job."""
    table = read_table(job.metadata, job.source, job.table)
    is_outside = job.definition in replay.REFERENCES
    with threadpool_limits(1):
        if job.n_observations:
            if is_outside:
                known = [
                    (dict(c.values), s) for c, s in replay.observations(table, job.n_observations)
                ]
                work: dict[str, Any] = {"observations": known}
                rows = list(replay.reference_rows(job.python, table, job.name, work))
            else:
                rows = [replay.time_asks(table, job.definition, job.n_observations)]
            return [{**job.label, "n": job.n_observations, **row} for row in rows]
        if is_outside:
            orders = {seed: replay.order_of(table, seed) for seed in job.seeds}
            work = {"orders": orders, "n_trials": job.n_trials}
            rows = list(replay.reference_rows(job.python, table, job.name, work))
        else:
            rows = [
                {"seed": seed, **replay.replay(table, job.definition, seed, job.n_trials)}
                for seed in job.seeds
            ]
    facts = {"n_trials": job.n_trials, "best": float(table.scores.max()), "scale": table.scale}
    return [
        {
            **job.label,
            **facts,
            **row,
            "scores": [float(table.scores[i]) for i in row["chosen"]],
            "ranks": [float(table.ranks[i]) for i in row["chosen"]],
        }
        for row in rows
    ]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Complete lines of a file; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def key_of(row: Mapping[str, Any]) -> str:
    """What tells lines apart."""
    names = ("source", "table", "optimizer", "definition", "seed", "n_trials", "n")
    return json.dumps([row.get(name) for name in names], sort_keys=True)


def jobs(options: argparse.Namespace, done: set[str]) -> Iterator[Job]:
    """Missing jobs; the first table of every source comes first."""
    profile: Profile = PROFILES[options.profile]
    compositions = json.loads(options.compositions.read_text()) if options.compositions else {}
    definitions = {name: compositions.get(name, name) for name in options.optimizers}
    names = [table_names(options.metadata, source, profile.n_tables) for source in SOURCES]
    for rank, row in enumerate(zip_longest(*names)):
        for source, table in zip(SOURCES, row, strict=True):
            if table is None or options.half not in {"both", half_of(table)}:
                continue
            for name, definition in definitions.items():
                if rank >= SLOW.get(name, profile.n_tables):
                    continue
                job = Job(
                    options.metadata,
                    source,
                    table,
                    name,
                    definition,
                    options.reference_python,
                    profile.n_trials,
                )
                is_outside = name in replay.REFERENCES
                n_seeds = profile.outside_seeds if is_outside else profile.seeds
                facts = {**job.label, "n_trials": profile.n_trials}
                seeds = [s for s in range(n_seeds) if key_of({**facts, "seed": s}) not in done]
                if seeds:
                    yield Job(**{**job.__dict__, "seeds": tuple(seeds)})


def timing_jobs(options: argparse.Namespace, done: set[str]) -> Iterator[Job]:
    """Missing timed asks of the optimizers that have a name."""
    table = table_names(options.metadata, TIMED_SOURCE)[0]
    for n in N_OBSERVATIONS:
        for name in options.optimizers:
            job = Job(
                options.metadata,
                TIMED_SOURCE,
                table,
                name,
                name,
                options.reference_python,
                0,
                n_observations=n,
            )
            is_known = name in OPTIMIZERS or name in replay.REFERENCES
            if is_known and name not in UNTIMED and key_of({**job.label, "n": n}) not in done:
                yield job


def work_off(todo: list[Job], path: Path, n_workers: int) -> None:
    """Run jobs in processes and append their lines; a job that fails is told and left out."""
    started = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, mp_context=context) as pool, path.open("a") as file:
        futures = {pool.submit(run, job): job for job in todo}
        for count, future in enumerate(as_completed(futures), 1):
            job = futures[future]
            error = future.exception()
            if error is not None:
                print(f"{job.name} on {job.source}/{job.table} failed: {error}", file=sys.stderr)
                continue
            for row in future.result():
                file.write(json.dumps(row) + "\n")
            file.flush()
            minutes = (time.monotonic() - started) / 60
            print(f"{count}/{len(todo)} {job.name} {job.source}/{job.table} {minutes:.1f} min")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", choices=PROFILES, default="small")
    parser.add_argument("--half", choices=["tuning", "reported", "both"], default="reported")
    parser.add_argument("--optimizers", nargs="+", default=None)
    parser.add_argument("--compositions", type=Path, help="JSON: composition by name")
    parser.add_argument("--reference-python", default="", help="interpreter with the outside ones")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-asks", action="store_true", help="leave out the timed asks")
    options = parser.parse_args()
    if options.optimizers is None:
        options.optimizers = [*OURS, *(OUTSIDE if options.reference_python else ())]
    options.out.mkdir(parents=True, exist_ok=True)
    cells, asks = options.out / "cells.jsonl", options.out / "asks.jsonl"
    work_off(list(jobs(options, {key_of(r) for r in read_lines(cells)})), cells, options.workers)
    if not options.no_asks:
        done = {key_of(row) for row in read_lines(asks)}
        work_off(list(timing_jobs(options, done)), asks, 1)


if __name__ == "__main__":
    main()
