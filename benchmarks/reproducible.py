"""Equal runs for any number of workers: ``reproducible.py TABLE TARGET OUT_FOLDER [--trials 150]``.

Trains with 1, 2 and 4 workers and once more with 2, killed with SIGKILL in the middle of the search
and resumed. With ``--dask`` it also trains on clusters of 1, 2 and 4 workers, and once more on two of
which one is killed in the middle while another joins. Compares the trials (configuration, status, fold scores), the decisions of the
selection, the members of the ensemble, and the predictions of the table by the final models. Exit
code 0 if all are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client

from automl.errors import AutoMLError
from automl.evaluation.journal import read

COMMAND = [sys.executable, "-m", "automl_flows.commands.cli"]
KILLED = "killed"
DASK_KILLED = "dask-killed"
DASK = ("dask-1", "dask-2", "dask-4", DASK_KILLED)


def train(arguments: argparse.Namespace, name: str) -> tuple[Path, float]:
    """Run folder and seconds."""
    home = arguments.out / name
    with contextlib.ExitStack() as stack:
        cluster = Cluster(stack, _n_workers(name)) if name.startswith("dask") else None
        command = [
            *COMMAND, "train", arguments.table, "--target", arguments.target,
            "--trials", str(arguments.trials), "--seed", str(arguments.seed),
            *(["--dask", cluster.address] if cluster else ["--workers", str(_n_workers(name))]),
            "--home", str(home), "--json",
        ]  # fmt: skip
        started = time.monotonic()
        process = _quiet(command, stderr=subprocess.PIPE)
        if name == KILLED:
            _wait_for_trials(process, home, arguments.trials // 2)
            process.kill()
            process.wait()
            folder = next((home / "runs").iterdir())
            command = [*COMMAND, "resume", folder.name, "--home", str(home), "--json"]
            process = _quiet(command, stderr=subprocess.PIPE)
        if name == DASK_KILLED:
            _wait_for_trials(process, home, arguments.trials // 2)
            cluster.replace_a_worker()
        _, errors = process.communicate()
        if process.returncode:
            sys.exit(f"{name}: {errors.decode()[-1000:]}")
    return next((home / "runs").iterdir()), time.monotonic() - started


def _n_workers(name: str) -> int:
    return 2 if name in (KILLED, DASK_KILLED) else int(name.rpartition("-")[2])


def _quiet(command: list[str], stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)


class Cluster:
    """A scheduler and workers of one thread on this machine, ended with ``stack``."""

    def __init__(self, stack: contextlib.ExitStack, n_workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.stack = stack
        self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.workers = [self._worker() for _ in range(n_workers)]
        with Client(self.address) as client:
            client.wait_for_workers(n_workers, timeout=60)

    def replace_a_worker(self) -> None:
        """Kill one and start another."""
        self.workers[0].kill()
        self._worker()

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"
        )

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = _quiet([sys.executable, "-m", "dask", *arguments])
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process


def _wait_for_trials(process: subprocess.Popen[bytes], home: Path, n_trials: int) -> None:
    while process.poll() is None:
        time.sleep(0.05)
        if any(len(_trials(folder)) >= n_trials for folder in (home / "runs").glob("*")):
            return
    sys.exit(f"the run ended before trial {n_trials}")


def search_seconds(folder: Path) -> float:
    """From the search's first trial to its last."""
    trials = [t for t in _trials(folder) if t["stage"] == "search"]
    starts = [t["started_at"] for t in trials]
    ends = [start + t["seconds"] for start, t in zip(starts, trials, strict=True)]
    return max(ends) - min(starts)


def _trials(folder: Path) -> list[dict]:
    try:
        records = list(read(folder / "journal"))
    except (OSError, AutoMLError):
        return []
    return [r["trial"] for r in records if r["type"] == "trial"]


def summary(arguments: argparse.Namespace, folder: Path) -> dict[str, str]:
    """Digests of what must be equal."""
    trials = sorted((t["stage"], t["index"], *_content(t)) for t in _trials(folder))
    decisions = _plain(json.loads((folder / "stages" / "selection.json").read_text()), folder)
    ensemble = json.loads((folder / "stages" / "ensemble.json").read_text())
    out = folder / "predictions-of-the-table.csv"
    command = [*COMMAND, "predict", folder.name, arguments.table, "-o", str(out)]
    command += ["--home", str(folder.parent.parent)]
    subprocess.run([*command, *arguments.predict.split()], check=True, capture_output=True)
    return {
        f"{len(trials)} trials": _digest(trials),
        "decisions": _digest(decisions),
        "ensemble": _digest(_plain(ensemble["members"], folder)),
        "predictions": hashlib.sha256(out.read_bytes()).hexdigest()[:12],
    }


def _content(trial: dict) -> tuple:
    folds = [fold["score"] for fold in trial["folds"]]
    return json.dumps(trial["configuration"], sort_keys=True), trial["status"], folds


def _plain(record: object, folder: Path) -> str:
    """Text of a record without the run's own id, the seconds and the digest of both."""
    text = json.dumps(_without_seconds(record), sort_keys=True)
    return text.replace(folder.name, "RUN")


def _without_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {
            k: _without_seconds(v) for k, v in value.items() if "second" not in k and k != "digest"
        }
    if isinstance(value, list):
        return [_without_seconds(v) for v in value]
    return value


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table")
    parser.add_argument("target")
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--dask", action="store_true", help="clusters of Dask too")
    parser.add_argument("--predict", default="--proba", help="options of `automl predict`")
    arguments = parser.parse_args()
    found = {}
    for name in ("1", "2", "4", KILLED, *(DASK if arguments.dask else ())):
        folder, seconds = train(arguments, name)
        found[name] = summary(arguments, folder)
        search = search_seconds(folder)
        print(f"{name:>11}  {seconds:4.0f} s, search {search:4.0f} s  {found[name]}", flush=True)
    sys.exit(any(other != found["1"] for other in found.values()))


if __name__ == "__main__":
    main()
