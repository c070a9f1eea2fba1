"""A registered champion for each table. ``python train_ours.py HOME TRIALS``."""

import subprocess
import sys
from pathlib import Path

import tables

FAMILIES = "lightgbm,random_forest,logistic_regression,ridge"

home, trials = Path(sys.argv[1]), sys.argv[2]
home.mkdir(parents=True, exist_ok=True)
for name in tables.TABLES:
    source = home / f"{name}.csv"
    if not source.exists():
        tables.make(name).to_csv(source, index=False)
        options = ["--name", name, "--home", str(home), "--trials", trials, "--families", FAMILIES]
        subprocess.run(
            ["automl", "train", str(source), "--target", "target", *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )
