"""How long does a table of a million rows wait for its first trial?

Writes a table of 30 columns (20 of decimal numbers, 4 of whole numbers, 4 of categories, a date and an identifier)
and a target of two classes, as CSV and as Parquet, where DATA_FOLDER lacks them. Then, each in a process of its own:
seconds to read it, to prepare it (read, check, type, digest), and the most memory that took; with ``--runs`` also
the seconds from the command ``automl train`` to the start of its first trial, whose home is made in OUT_FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

FORMATS = ("csv", "parquet")
POLL_SECONDS = 0.2


def main() -> None:
    arguments = _arguments()
    if arguments.measure:
        print(json.dumps(prepare_seconds(Path(arguments.measure))))
        return
    data, out = Path(arguments.data_folder), Path(arguments.out_folder)
    for kind in FORMATS:
        path = written(data, arguments.rows, kind)
        facts = json.loads(
            subprocess.run(
                [sys.executable, __file__, str(data), str(out), "--measure", str(path)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        if arguments.runs:
            facts |= first_trial(path, out)
        print(kind, json.dumps({name: round(value, 2) for name, value in facts.items()}))


def large_frame(n_rows: int) -> pd.DataFrame:
    """Features and target `y`, the same for the same number of rows."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {}
    score = np.zeros(n_rows)
    for i in range(20):
        values = rng.normal(size=n_rows) * 10.0 ** (i % 4)
        score += values / 10.0 ** (i % 4) if i < 5 else 0.0
        if i % 5 == 0:
            values[rng.random(n_rows) < 0.05] = np.nan
        columns[f"number_{i}"] = np.round(values, 6)
    for i in range(4):
        columns[f"count_{i}"] = rng.poisson(10.0 ** (i + 1), size=n_rows)
    for i in range(4):
        names = np.array([f"kind {j}" for j in range(5 * 4**i)], dtype=object)
        columns[f"category_{i}"] = names[rng.integers(len(names), size=n_rows)]
    days = np.datetime64("2015-01-01") + rng.integers(3650, size=n_rows)
    columns["day"] = np.datetime_as_string(days, unit="D").astype(object)
    columns["record_id"] = rng.permutation(n_rows) + 10_000_000
    noisy = score + rng.normal(size=n_rows)
    columns["y"] = np.where(noisy > 0, "yes", "no").astype(object)
    return pd.DataFrame(columns)


def written(folder: Path, n_rows: int, kind: str) -> Path:
    """File of the table in a format, written where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"large_{n_rows}.{kind}"
    if not path.exists():
        frame = large_frame(n_rows)
        if kind == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
    return path


def prepare_seconds(path: Path) -> dict[str, float]:
    """Seconds and most memory of this process to read, check and type a table."""
    from automl.data.readers import load_source
    from automl.data.table import prepare_table

    before = time.monotonic()
    load_source(path)
    read = time.monotonic() - before
    read_mib = _peak_mib()
    before, cpu = time.monotonic(), time.process_time()
    prepare_table(path, target="y")
    return {
        "read_seconds": read,
        "prepare_seconds": time.monotonic() - before,
        "prepare_cpu_seconds": time.process_time() - cpu,
        "read_peak_mib": read_mib,
        "prepare_peak_mib": _peak_mib(),
    }


def first_trial(path: Path, out: Path) -> dict[str, float]:
    """Seconds from the command's start to that of its first trial, and its own processor seconds; the run is ended then."""
    from automl.evaluation.journal import read

    out.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=out))
    command = [Path(sys.executable).with_name("automl"), "train", path, "--target", "y"]
    began = time.time()
    process = subprocess.Popen(
        [*map(str, command), "--budget", "10m", "--home", str(home)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            for journal in home.glob("runs/*/journal"):
                starts = [r["trial"]["started_at"] for r in read(journal) if r["type"] == "trial"]
                if starts:
                    times = psutil.Process(process.pid).cpu_times()
                    return {
                        "first_trial_seconds": float(min(starts)) - began,
                        "first_trial_cpu_seconds": times.user + times.system,
                    }
            time.sleep(POLL_SECONDS)
        raise RuntimeError(f"the run of {path} ended without a trial")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data_folder")
    parser.add_argument("out_folder")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
