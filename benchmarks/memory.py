"""Peak memory and wall time of a run: ``memory.py TABLE TARGET SECONDS OUT_FOLDER``.

TABLE is a file, or ``generated:ROWSxCOLUMNS`` for a table with numbers and four categories.
Samples the whole process tree (driver, supervisor, workers, mirror, Prefect server) four times a
second; shared pages are counted once (PSS where the system tells it, else resident memory).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil


def generate(rows: int, columns: int, path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns - 4))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(columns - 4)])
    for i in range(4):
        frame[f"c{i}"] = rng.integers(0, 3 + 5 * i, rows).astype(str)
    signal = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (frame["c1"].astype(int) % 3 == 0)
    frame["target"] = np.where(signal + rng.normal(size=rows) > 0.3, "yes", "no")
    frame.to_parquet(path)


def memory_mib(process: psutil.Process) -> float:
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except (psutil.Error, AttributeError):
            continue
    return total / 2**20


def main() -> None:
    table, target, seconds, out = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    out.mkdir(parents=True, exist_ok=True)
    if table.startswith("generated:"):
        rows, columns = map(int, table.removeprefix("generated:").split("x"))
        table = str(out / "generated.parquet")
        generate(rows, columns, Path(table))
    command = [
        sys.executable,
        "-m",
        "automl_flows.commands.cli",
        "train",
        table,
        "--target",
        target,
    ]
    command += ["--budget", f"{seconds}s", "--home", str(out / "home"), "--json"]
    started, peak = time.monotonic(), 0.0
    with (out / "result.json").open("w") as result, (out / "log.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=result, stderr=log)
        tree = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                peak = max(peak, memory_mib(tree))
            except psutil.Error:
                break
            time.sleep(0.25)
    found = json.loads((out / "result.json").read_text())
    print(f"exit {process.wait()}, process {time.monotonic() - started:.1f} s")
    print(f"result after {found['seconds']:.1f} s, {found['trials']} trials of {found['families']}")
    print(f"peak memory of the process tree {peak:.0f} MiB")
    print(f"score {found['score']:.4f}, model {found['model']['registration']}")
    print("given up:", "; ".join(found["given_up"]) or "nothing")


if __name__ == "__main__":
    main()
