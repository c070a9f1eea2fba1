"""Equal runs for any number of workers: ``reproducible.py TABLE TARGET OUT_FOLDER [--trials 150]``.

Trains with 1, 2 and 4 workers and once more with 2, killed with SIGKILL in the middle of the search
and resumed. Compares the trials (configuration, status, fold scores), the decisions of the
selection, the members of the ensemble, and the predictions of the table by the final models. Exit
code 0 if all are equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from automl.errors import AutoMLError
from automl.evaluation.journal import read

COMMAND = [sys.executable, "-m", "automl_flows.commands.cli"]
KILLED = "killed"


def train(arguments: argparse.Namespace, name: str) -> tuple[Path, float]:
    """Run folder and seconds."""
    home = arguments.out / name
    command = [
        *COMMAND, "train", arguments.table, "--target", arguments.target,
        "--trials", str(arguments.trials), "--seed", str(arguments.seed),
        "--workers", "2" if name == KILLED else name, "--home", str(home), "--json",
    ]  # fmt: skip
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if name == KILLED:
        _kill_in_the_middle(process, home, arguments.trials // 2)
        folder = next((home / "runs").iterdir())
        command = [*COMMAND, "resume", folder.name, "--home", str(home), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{name}: {errors.decode()[-1000:]}")
    return next((home / "runs").iterdir()), time.monotonic() - started


def _kill_in_the_middle(process: subprocess.Popen[bytes], home: Path, n_trials: int) -> None:
    while process.poll() is None:
        time.sleep(0.05)
        for folder in (home / "runs").glob("*"):
            if len(_trials(folder)) >= n_trials:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return
    sys.exit(f"the run ended before trial {n_trials}")


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
    parser.add_argument("--predict", default="--proba", help="options of `automl predict`")
    arguments = parser.parse_args()
    found = {}
    for name in ("1", "2", "4", KILLED):
        folder, seconds = train(arguments, name)
        found[name] = summary(arguments, folder)
        print(f"{name:>6}  {seconds:4.0f} s  {found[name]}", flush=True)
    sys.exit(any(other != found["1"] for other in found.values()))


if __name__ == "__main__":
    main()
