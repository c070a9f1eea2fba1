"""Settings of ours side by side at equal trials, so that other work on the machine does not count.

    python benchmarks/peers/by_trials.py DATA OUT FIRST.yaml SECOND.yaml [...]
        [--trials 60] [--tables ...] [--seeds 1] [--at-a-time 2]

Each settings file runs `automl train` with one worker on the splits of `peers.py`, to the end, and predicts the test rows.
What is known of the table under test is left out. Finished runs are not repeated. Prints the risk of the test rows (AMLB's
metrics), the difference to the first file with its standard error over redrawn test rows, and the geometric mean of the
ratios with its standard error over tables. Writes ``OUT/by_trials.csv``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from report import Test
from systems.ours import COMMAND, ENVIRONMENT, options_of, prediction_of
from systems.protocol import Job
from tables import SMALL, prepare

TRAINED = "result.json"
ANSWER = "answer.csv"


@dataclass(frozen=True)
class Run:
    """One settings file on one split.

    Parameters
    ----------
    split
        Folder of `tables.prepare`.
    """

    split: Path
    settings: Path
    trials: int
    seed: int

    @property
    def folder(self) -> Path:
        """Of its answer."""
        return self.split / f"{self.trials}-trials" / self.settings.stem

    @property
    def label(self) -> str:
        """Table, seed and settings."""
        return f"{self.split.parent.name} seed {self.seed} {self.settings.stem}"


def make(run: Run) -> str:
    """Train and predict; a line on how it went."""
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    job = Job(run.split, seconds=0.0, seed=run.seed, started=0.0)
    home = ["--home", str(run.folder / "home")]
    trained = _call(
        [
            *("train", str(run.split / "train.csv"), "--trials", str(run.trials), "--workers", "1"),
            *("--config", str(run.settings), *options_of(job), *home, "--json"),
        ]
    )
    if trained.returncode:
        return f"{run.label} failed: {trained.stderr[-300:]}"
    result = json.loads(trained.stdout)
    unfinished = run.folder / "unfinished.csv"
    predicted = _call([*prediction_of(job, result["run_id"], unfinished), *home])
    if predicted.returncode:
        return f"{run.label} failed: {predicted.stderr[-300:]}"
    (run.folder / TRAINED).write_text(trained.stdout)
    unfinished.rename(run.folder / ANSWER)
    shutil.rmtree(run.folder / "home")
    return f"{run.label}: {result['score']:.5g} by {result['complete_trials']} trials"


def _call(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"},
    )


def compare(runs: Sequence[Run]) -> pd.DataFrame:
    """A row of each run of a split that all settings have finished; prints a line of each split and the means."""
    rows = []
    for split in dict.fromkeys(run.split for run in runs):
        group = [run for run in runs if run.split == split]
        if all((run.folder / ANSWER).exists() for run in group):
            rows += _rows_of(split, group)
    if not rows:
        raise SystemExit("no split has answers of all settings")
    frame = pd.DataFrame(rows)
    for name in dict.fromkeys(frame["settings"]):
        logs = np.log(frame.loc[frame["settings"] == name, "ratio"])
        error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
        print(f"{name}: x {np.exp(logs.mean()):.4f} +- {error:.4f} on {len(logs)} splits")
    return frame


def _rows_of(split: Path, group: Sequence[Run]) -> list[dict[str, object]]:
    test = Test(split)
    answers = [test.answer(run.folder / ANSWER) for run in group]
    risks = [test.risk(answer) for answer in answers]
    redrawn = test.redrawn(answers)
    errors = (redrawn - redrawn[:, :1]).std(axis=0, ddof=1)
    rows = []
    for run, risk, error in zip(group, risks, errors, strict=True):
        result = json.loads((run.folder / TRAINED).read_text())
        difference = risk - risks[0]
        print(f"{run.label}: {risk:.5g} ({difference:+.2g} +- {error:.2g})")
        rows.append(
            {
                "table": split.parent.name,
                "seed": run.seed,
                "settings": run.settings.stem,
                "trials": run.trials,
                "score": result["score"],
                "risk": risk,
                "difference": difference,
                "standard_error": error,
                "ratio": risk / risks[0],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("settings", type=Path, nargs="+")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--tables", nargs="+", default=list(SMALL))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--at-a-time", type=int, default=2)
    arguments = parser.parse_args()
    if missing := [str(path) for path in arguments.settings if not path.is_file()]:
        parser.error(f"there is no file {', '.join(missing)}")
    names = [path.stem for path in arguments.settings]
    if len(set(names)) < len(names):
        parser.error(f"settings files must have different names; got {', '.join(names)}")
    runs = [
        Run(
            prepare(arguments.data, arguments.out, table, seed).resolve(),
            settings.resolve(),
            arguments.trials,
            seed,
        )
        for table, seed, settings in product(arguments.tables, arguments.seeds, arguments.settings)
    ]
    todo = [run for run in runs if not (run.folder / ANSWER).exists()]
    with ThreadPoolExecutor(arguments.at_a_time) as threads:
        for line in threads.map(make, todo):
            print(line, file=sys.stderr, flush=True)
    compare(runs).to_csv(arguments.out / "by_trials.csv", index=False)


if __name__ == "__main__":
    main()
