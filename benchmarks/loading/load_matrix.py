"""How many models of random configurations load without any trust, and predict alike.

    python benchmarks/loading/load_matrix.py OUT_FOLDER [--configurations 50] [--families a,b] [--blends 150] [--seed 0]
        [--iteration-share 1]

Families x tasks x random configurations are fitted on a small table, written as bundles, and loaded by
`fresh_loads.py`. Writes ``loading.csv``, one row per model, and prints one line per family and task. Rows that
are there already are not repeated.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fitted_models import Models, strange_rows

from automl.families.registry import families
from automl.inference.bundle import write_bundle
from automl.inference.model import TableModel
from automl.records import Task

COLUMNS = ("family", "task", "number", "outcome", "storage", "kib", "problem")
BLEND = "(blends)"


class FreshProcess:
    """The process of `fresh_loads.py`.

    Parameters
    ----------
    folder
        Scratch.
    frames
        What the models predict.
    """

    def __init__(self, folder: Path, frames: list[Any]) -> None:
        import pandas as pd

        rows = folder / "rows.pickle"
        pd.to_pickle(frames, rows)
        environment = {
            k: v for k, v in os.environ.items() if k not in ("AUTOML_TRUST", "PYTHONPATH")
        }
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-B",
                str(Path(__file__).with_name("fresh_loads.py")),
                str(rows),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**environment, "OMP_NUM_THREADS": "1"},
        )

    def ask(self, bundle: Path) -> dict[str, str]:
        """Answer about a bundle: `file` and `problem`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{bundle}\n")
        self._process.stdin.flush()
        answer: dict[str, str] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def outcome(
    model: TableModel, folder: Path, process: FreshProcess, frames: list[Any]
) -> dict[str, Any]:
    """Whether a model loads in a fresh process without any trust, and predicts the same to the last bit."""
    try:
        expected = [model.raw(frame) for frame in frames]
    except ValueError as error:  # of a model that a trial would have refused
        return {"outcome": "no model", "problem": str(error)}
    shutil.rmtree(folder, ignore_errors=True)
    manifest = write_bundle(model, folder)
    storage = "+".join(sorted({entry["storage"] for entry in manifest["estimators"]}))
    size = sum(path.stat().st_size for path in (folder / "estimators").iterdir()) / 1024
    facts = {"storage": storage, "kib": f"{size:.0f}"}
    answer = process.ask(folder)
    if answer["problem"]:
        return {**facts, "outcome": "refused", "problem": answer["problem"]}
    with np.load(answer["file"]) as found:
        is_equal = all(np.array_equal(found[f"arr_{i}"], each) for i, each in enumerate(expected))
    return {**facts, "outcome": "equal" if is_equal else "different", "problem": ""}


def cells(arguments: argparse.Namespace) -> Iterator[tuple[str, Task, int]]:
    """Family, task and number of every model."""
    wanted = set(arguments.families.split(",")) - {""}
    for task in arguments.tasks:
        for name, family in families(task).items():
            if family.unavailable is None and (not wanted or name in wanted):
                yield from ((name, task, number) for number in range(arguments.configurations))
        yield from ((BLEND, task, number) for number in range(arguments.blends // len(Task)))


def fitted(models: Models, name: str, task: Task, number: int, seed: int) -> TableModel:
    """Model of a cell."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {task}".encode()), number])
    if name == BLEND:
        return models.blend(task, rng)
    return models.single(families(task)[name], task, rng)


def measure(arguments: argparse.Namespace, file: Path) -> None:
    """Append what is missing to the file."""
    models = Models(iteration_share=arguments.iteration_share)
    frames = [models.raw, strange_rows(models.raw)]
    known = {tuple(row[key] for key in COLUMNS[:3]) for row in read(file)}
    scratch = arguments.out / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    process = FreshProcess(scratch, frames)
    with file.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if not known:
            writer.writeheader()
        for name, task, number in cells(arguments):
            if (name, str(task), str(number)) in known:
                continue
            row: dict[str, Any] = {"family": name, "task": str(task), "number": number}
            try:
                model = fitted(models, name, task, number, arguments.seed)
            except (ValueError, ArithmeticError) as error:  # a failed trial has no model
                row |= {"outcome": "no fit", "problem": str(error)[:200]}
            else:
                row |= outcome(model, scratch / "model", process, frames)
            writer.writerow(row)
            stream.flush()
    process.close()
    shutil.rmtree(scratch, ignore_errors=True)


def read(file: Path) -> list[dict[str, str]]:
    """Rows that are there."""
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def report(rows: list[dict[str, str]]) -> str:
    """One line per family and task: models, of these equal, pickled, refused, different; KiB."""
    lines = ["| family | task | models | equal | with pickle | refused | different | median KiB |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        if row["outcome"] not in ("no fit", "no model"):
            groups.setdefault((row["family"], row["task"]), []).append(row)
            groups.setdefault(("all", ""), []).append(row)
    for (family, task), group in sorted(groups.items()):
        kinds = [row["outcome"] for row in group]
        pickled = sum("cloudpickle" in row["storage"] for row in group)
        counts = [len(group), kinds.count("equal"), pickled]
        counts += [kinds.count("refused"), kinds.count("different")]
        size = np.median([float(row["kib"]) for row in group])
        lines.append(f"| {family} | {task} | {' | '.join(map(str, counts))} | {size:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--configurations", type=int, default=50)
    parser.add_argument("--blends", type=int, default=150)
    parser.add_argument("--families", default="")
    parser.add_argument("--tasks", type=Task, nargs="+", choices=list(Task), default=list(Task))
    parser.add_argument("--iteration-share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "loading.csv"
    started = time.monotonic()
    measure(arguments, file)
    print(report(read(file)))
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
