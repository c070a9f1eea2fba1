"""Systems side by side on public tables, at equal time on equal cores.

    python benchmarks/peers/environments.py ENVIRONMENTS [SYSTEM ...]
    python benchmarks/peers/peers.py DATA ENVIRONMENTS OUT [--profile small|full] [--seconds 60]
        [--systems ours autogluon ...] [--tables ...] [--seeds 1 2] [--settings FILE]
    python benchmarks/peers/report.py OUT

A cell is a system on a table with a seed and a budget. Finished cells are not repeated; a cell that was interrupted
begins again. The budget counts from the start of the process to the fitted model. One cell runs at a time.
--settings is a settings file for ours, which otherwise runs as it comes; give it an OUT of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import psutil
from environments import interpreter
from tables import SMALL, TABLES, prepare

SYSTEMS = (
    "ours",
    "autogluon",
    "h2o",
    "lightautoml",
    "flaml",
    "mljar",
    "tpot",
    "gama",
    "autosklearn",
    "forest",
    "tuned_forest",
    "lightgbm",
    "constant",
)
ONE_FIT = Path(__file__).with_name("one_fit.py")
GRACE_SECONDS = 120.0
"""Beside twice the budget: AMLB, too, ends a system long after its time and counts that as a failure."""
POLL_SECONDS = 1.0
"""Between readings of memory: a reading of ten processes costs some milliseconds."""
KEPT = ("answer.csv", "answer.json", "log.txt", "cell.json", "ours-result.json")
"""Of a cell's folder; the others, models above all, take gigabytes."""


@dataclass(frozen=True)
class Cell:
    """One system on one split.

    Parameters
    ----------
    split
        Folder of `tables.prepare`.
    """

    split: Path
    system: str
    seconds: int
    seed: int

    @property
    def folder(self) -> Path:
        """Of its answer."""
        return self.split / f"{self.seconds}s" / self.system


@dataclass(frozen=True)
class CellRecord:
    """What is known beside the answer.

    Parameters
    ----------
    is_done
        Whether there is an answer.
    reason
        Last line of the log, if there is none.
    peak_mib
        Proportional memory of all its processes.
    load
        Average of the minute before it began. The cell before counts in it, so that a queue has about 2 on
        two cores; more means that other work ran beside.
    """

    is_done: bool
    reason: str
    process_seconds: float
    peak_mib: float
    load: float


def run(cell: Cell, python: str, settings: Path | None = None) -> CellRecord:
    """Run a system on a split in a session of its own; ours with a settings file, if there is one."""
    shutil.rmtree(cell.folder, ignore_errors=True)
    cell.folder.mkdir(parents=True)
    for name in ("train.csv", "test.csv", "split.json"):
        os.link(cell.split / name, cell.folder / name)
    if settings is not None:
        shutil.copy(settings, cell.folder / "settings.yaml")
    load, began = psutil.getloadavg()[0], time.monotonic()
    command = [
        python,
        str(ONE_FIT),
        cell.system,
        str(cell.folder),
        str(cell.seconds),
        str(cell.seed),
        str(began),
    ]
    with (cell.folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=cell.folder,
        )
        peak = _Peak(process.pid)
        try:
            process.wait(2 * cell.seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            log.write("ended: more than twice its budget\n")
        finally:
            peak.stop()
            _end(process)
    is_done = (cell.folder / "answer.json").exists()
    reason = "" if is_done else _last_line(cell.folder / "log.txt")
    record = CellRecord(is_done, reason, time.monotonic() - began, peak.mib, load)
    (cell.folder / "cell.json").write_text(json.dumps(asdict(record)))
    _keep_answers(cell.folder)
    return record


class _Peak:
    """Greatest proportional memory of a process and its children, read in a thread."""

    def __init__(self, pid: int) -> None:
        self.mib = 0.0
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.mib = max(self.mib, sum(self._sizes()) / 2**20)

    def _sizes(self) -> Iterator[int]:
        try:
            for process in [self._process, *self._process.children(recursive=True)]:
                try:
                    yield process.memory_full_info().pss
                except psutil.Error:
                    continue
        except psutil.Error:
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a session."""
    for child in _children(process.pid):
        child.kill()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _last_line(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no word"


def _keep_answers(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("environments", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", choices=("small", "full"), default="small")
    parser.add_argument("--seconds", type=int, nargs="+", default=[60])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--tables", nargs="+", help="instead of the profile's")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--settings", type=Path)
    arguments = parser.parse_args()
    if arguments.settings is not None and not arguments.settings.is_file():
        parser.error(f"--settings: there is no file {arguments.settings}")
    tables = arguments.tables or (SMALL if arguments.profile == "small" else TABLES)
    for seed, seconds, name, system in product(
        arguments.seeds, arguments.seconds, tables, arguments.systems
    ):
        cell = Cell(
            prepare(arguments.data, arguments.out, name, seed).resolve(), system, seconds, seed
        )
        python = interpreter(arguments.environments.resolve(), system)
        if (cell.folder / "cell.json").exists() or not Path(python).exists():
            continue
        record = run(cell, python, arguments.settings)
        told = (
            f"{record.process_seconds:.0f} s, {record.peak_mib:.0f} MiB"
            if record.is_done
            else record.reason
        )
        print(f"{name} seed {seed} {seconds} s {system}: {told}", flush=True)


if __name__ == "__main__":
    main()
