"""How much of the slots' time in the search was fit and predict: ``hot_path.py RUN_FOLDER``.

Reads the journal of a finished run. A slot's gap is the time from the end of one trial to the
start of the next: the driver's cost of journal, tell, decide, ask and channel.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from automl.evaluation.journal import read
from automl.records import Trial


def main() -> None:
    folder = Path(sys.argv[1])
    settings = json.loads((folder / "run.json").read_text())["settings"]
    n_slots = settings["workers"] or 2
    trials = [
        Trial.from_json(record["trial"])
        for record in read(folder / "journal")
        if record["type"] == "trial" and record["trial"]["stage"] == "search"
    ]
    trials.sort(key=lambda trial: trial.started_at)
    ends = [0.0] * n_slots
    gaps = []
    for trial in trials:
        slot = int(np.argmin(ends))
        if ends[slot]:
            gaps.append(trial.started_at - ends[slot])
        ends[slot] = trial.started_at + trial.seconds
    wall = max(ends) - trials[0].started_at
    inside = sum(f.fit_seconds + f.predict_seconds for trial in trials for f in trial.folds)
    on_slot = sum(trial.seconds for trial in trials)
    print(f"trials                     {len(trials)}")
    print(f"median trial               {1000 * np.median([t.seconds for t in trials]):.0f} ms")
    print(f"slots' time in trials      {100 * on_slot / (wall * n_slots):.1f} %")
    print(f"slots' time in fit/predict {100 * inside / (wall * n_slots):.1f} %")
    print(f"gap between trials, median {1000 * np.median(gaps):.1f} ms")
    print(f"gap between trials, p95    {1000 * np.quantile(gaps, 0.95):.1f} ms")


if __name__ == "__main__":
    main()
