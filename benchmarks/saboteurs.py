"""Runs with families that hang, crash, leak and lie: every one must end in time with a model.

    python benchmarks/saboteurs.py OUT_FOLDER [--runs 20] [--seconds 30] [--trials 24] [--trial-seconds 2.5]

Writes eight family files and the module with their estimators into OUT_FOLDER, trains on
`sklearn:breast_cancer` with them and three honest families, and checks for each run: exit code 0 in
time, a registered model, every saboteur a recorded trial with the expected status, no process left.
With ``--trials`` the runs end after so many trials, and nothing is said about their seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from automl.evaluation.journal import read

ESTIMATORS = """
import ctypes, os, signal, subprocess, sys, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class _Saboteur(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.act()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def act(self):
        raise NotImplementedError


class Hang(_Saboteur):
    def act(self):
        time.sleep(10_000)


class IgnoreTerm(_Saboteur):
    def act(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)


class Allocate(_Saboteur):
    def act(self):
        kept = []
        while True:
            kept.append(np.ones(2**24))


class Segfault(_Saboteur):
    def act(self):
        ctypes.string_at(0)


class Exit(_Saboteur):
    def act(self):
        os._exit(0)


class Raise(_Saboteur):
    def act(self):
        raise RuntimeError("sabotage")


class NaN(_Saboteur):
    def act(self):
        pass

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


class Fork(_Saboteur):
    def act(self):
        marker = os.environ["SABOTEUR_MARKER"]
        code = "import time; time.sleep(10_000)"
        for _ in range(3):
            subprocess.Popen([sys.executable, "-c", code, marker], start_new_session=True)
        time.sleep(10_000)
"""
EXPECTED = {
    "hang": "timed_out",
    "ignore_term": "timed_out",
    "allocate": "out_of_memory",
    "segfault": "crashed",
    "exit": "crashed",
    "raise": "failed",
    "nan": "failed",
    "fork": "timed_out",
}
CLASSES = ("Hang", "IgnoreTerm", "Allocate", "Segfault", "Exit", "Raise", "NaN", "Fork")
FAMILY = """
name: sabotage_{name}
title: Saboteur that does {name}
source: test
estimators: {{classification: "saboteur_estimators:{cls}"}}
capabilities: {{}}
cost: {{order: 1, relative: 0.01, exponent: 1}}
simplicity: 0.5
interpretability: 0.5
prep: {{prep.encoder: [onehot]}}
tree: {{}}
"""


def write_families(folder: Path) -> Path:
    families = folder / "families"
    families.mkdir(parents=True, exist_ok=True)
    (folder / "saboteur_estimators.py").write_text(ESTIMATORS)
    for name, cls in zip(EXPECTED, CLASSES, strict=True):
        (families / f"{name}.yaml").write_text(FAMILY.format(name=name, cls=cls))
    return families


def run_once(folder: Path, number: int, options: argparse.Namespace) -> list[str]:
    """Everything that was wrong with one run."""
    seconds = math.inf if options.trials else options.seconds
    home, marker = folder / f"home{number}", f"saboteur-{os.getpid()}-{number}"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        "AUTOML_FAMILY_FOLDER": str(folder / "families"),
        "AUTOML_TRIAL_SECONDS": f"{options.trial_seconds:g}",
        "AUTOML_MEMORY_MIB": "400",
        "SABOTEUR_MARKER": marker,
    }
    names = ",".join(["lightgbm", "logistic_regression", *(f"sabotage_{n}" for n in EXPECTED)])
    command = [sys.executable, "-m", "automl_flows.commands.cli", "train", "sklearn:breast_cancer"]
    limit = ["--trials", str(options.trials)] if options.trials else ["--budget", f"{seconds:g}s"]
    command += ["--target", "target", *limit, "--families", names]
    command += ["--home", str(home), "--json", "--workers", "2", "--seed", str(number), "--trust"]
    started = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    took = time.monotonic() - started
    if finished.returncode:
        return [f"exit {finished.returncode}: {finished.stderr[-500:]}"]
    result, wrong = json.loads(finished.stdout), []
    if result["seconds"] > seconds + max(5, 0.05 * seconds):
        wrong.append(f"result after {result['seconds']:.1f} s")
    if took > seconds + 20:
        wrong.append(f"process ended after {took:.1f} s")
    if not result["model"]["registered"]:
        wrong.append("no registered model")
    wrong += [f"process left: {text}" for text in left_processes(marker, str(home))]
    wrong += wrong_statuses(home / "runs" / result["run_id"] / "journal")
    print(f"run {number}: {took:.1f} s, {result['trials']} trials, {wrong or 'ok'}", flush=True)
    return wrong


def left_processes(*texts: str) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "status", "pid"]):
        line = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(text in line for text in texts):
            found.append(line)
    return [line for line in found if "saboteurs.py" not in line]


def wrong_statuses(journal: Path) -> list[str]:
    seen: dict[str, str] = {}
    for record in read(journal):
        if record["type"] == "trial" and record["trial"]["stage"] == "search":
            family = record["trial"]["configuration"]["family"]
            seen.setdefault(family, record["trial"]["status"])
    return [
        f"{name} is {seen.get(f'sabotage_{name}', 'missing')}, expected {status}"
        for name, status in EXPECTED.items()
        if seen.get(f"sabotage_{name}") != status
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--trials", type=int, help="in place of the seconds")
    parser.add_argument("--trial-seconds", type=float, default=2.5, help="limit of each trial")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    write_families(out)
    failures = [run_once(out, number, arguments) for number in range(arguments.runs)]
    n_good = sum(not wrong for wrong in failures)
    print(f"{n_good} of {arguments.runs} runs ended as they must")
    for number, wrong in enumerate(failures):
        for text in wrong:
            print(f"run {number}: {text}")
    return int(n_good < arguments.runs)


if __name__ == "__main__":
    sys.exit(main())
