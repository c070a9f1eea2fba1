"""Document S15's experiments on the folder of published scores.

    python benchmarks/transfer/experiments.py METADATA OUT --profile tiny|small|full [--workers 2]
        [--parts surface tuning uncertainty] [--tables svm adaboost] [--meta all|document]

Every cell (table, target, model or strategy) is one file of OUT; what is there is not run again,
so that the command can be killed and started again. Cheap cells come first.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import surface
import tuning
from tables import TABLES, chosen, read_table


@dataclass(frozen=True)
class Profile:
    """How much is run."""

    n_surface_targets: int
    n_members: int
    n_probes: int
    n_steps: int
    n_targets: int
    n_repetitions: int
    n_trials: int


PROFILES = {
    "tiny": Profile(2, 3, 2, 20, 2, 1, 4),
    "small": Profile(4, 20, 5, 1500, 3, 2, 25),
    "full": Profile(50, 100, 5, 1500, 12, 10, 40),
}


@dataclass(frozen=True)
class Cell:
    """One piece of work; all that its result depends on stands in its name."""

    part: str
    table: str
    target: int
    subject: str
    meta: str
    profile: str

    def path(self, out: Path, target: str) -> Path:
        """File of the result."""
        name = f"{self.table}-{target}-{self.subject}-{self.meta}.json"
        return out / self.profile / self.part / name


def cells_of(args: argparse.Namespace) -> list[Cell]:
    """All cells, the models and strategies in turn."""
    profile = PROFILES[args.profile]
    found = []
    for table in args.tables:
        names = read_table(args.metadata, table).names
        subjects = {
            "surface": (surface.MODELS, profile.n_surface_targets),
            "tuning": (tuning.METHODS, profile.n_targets),
            "uncertainty": (tuning.UNCERTAINTY, profile.n_targets),
        }
        for part in args.parts:
            which, n = subjects[part]
            found += [
                Cell(part, table, target, subject, args.meta, args.profile)
                for target in chosen(names, min(n, len(names)))
                for subject in which
            ]
    return found


def run(cell: Cell, metadata: Path, out: Path) -> str:
    """Run a cell and keep its result; the file appears complete or not at all."""
    profile = PROFILES[cell.profile]
    table = read_table(metadata, cell.table, cell.meta)
    path = cell.path(out, table.names[cell.target])
    if path.exists():
        return f"{path.stem}: known"
    found: dict[str, Any]
    if cell.part == "surface":
        found = surface.run_cell(
            table,
            cell.target,
            cell.subject,
            n_members=profile.n_members,
            n_probes=profile.n_probes,
            n_steps=profile.n_steps,
        )
    else:
        effort = tuning.Effort(profile.n_members, profile.n_trials)
        found = tuning.run_cell(
            table, cell.target, cell.subject, n_repetitions=profile.n_repetitions, effort=effort
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps({**asdict(cell), **found, "meta": cell.meta}))
    part.replace(path)
    return f"{path.stem}: {found['seconds']:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", choices=PROFILES, default="small")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parts = ("surface", "tuning", "uncertainty")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--meta", choices=("all", "document"), default="all")
    args = parser.parse_args()
    cells = cells_of(args)
    with ProcessPoolExecutor(args.workers) as pool:
        waiting = [pool.submit(run, cell, args.metadata, args.out) for cell in cells]
        for i, done in enumerate(as_completed(waiting), start=1):
            print(f"{i}/{len(cells)} {done.result()}", flush=True)


if __name__ == "__main__":
    main()
