"""A predictor of AutoGluon for each table; runs in the environment that AutoGluon is installed in.

``python train_autogluon.py FOLDER SECONDS``
"""

import sys
from pathlib import Path

import tables
from autogluon.tabular import TabularPredictor

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
for name in tables.TABLES:
    place = folder / name
    if not place.exists():
        TabularPredictor(label="target", path=str(place), verbosity=0).fit(
            tables.make(name), time_limit=seconds, num_cpus=2, num_gpus=0
        )
