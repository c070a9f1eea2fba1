"""One system on one split, in the interpreter of its environment: ``one_fit.py SYSTEM FOLDER SECONDS SEED STARTED``.

Writes ``answer.csv`` (the column `prediction`, or a probability by label) and ``answer.json`` (seconds from the
start of the process to the fitted model, and of the prediction) into FOLDER. Runs on Python 3.8 and later.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("DO_NOT_TRACK", "true")
HERE = Path(__file__).resolve().parent


def main() -> None:
    system, folder, seconds, seed, started = sys.argv[1:]
    sys.path[0] = str(HERE)
    from systems.protocol import Job

    job = Job(Path(folder), float(seconds), int(seed), float(started))
    predict = importlib.import_module(f"systems.{system}").fit(job)
    fitted = time.monotonic()
    predict().to_csv(job.folder / "answer.csv", index=False)
    times = {"fit_seconds": fitted - job.started, "predict_seconds": time.monotonic() - fitted}
    (job.folder / "answer.json").write_text(json.dumps(times))


if __name__ == "__main__":
    main()
