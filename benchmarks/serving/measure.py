"""Latency of one row and rows per second in batch of one model, alone in this process.

``python measure.py ours|autogluon MODEL TABLE``; prints JSON. `compare.py` runs it for both, in turn.
"""

import json
import sys
import time
import warnings

import numpy as np
import tables

warnings.simplefilter("ignore")
N_SINGLE, N_BATCH = 200, 20_000


def predict_of(library: str, model: str):
    """Function that predicts a frame."""
    if library == "ours":
        from automl.inference.bundle import load_bundle

        return load_bundle(model).predict
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor.load(model, verbosity=0)
    predictor.persist()
    return predictor.predict


library, model, name = sys.argv[1:]
started = time.perf_counter()
predict = predict_of(library, model)
rows = tables.make(name, N_BATCH, seed=21).drop(columns="target")
predict(rows.head(1))
ready = time.perf_counter() - started
single = []
for position in range(N_SINGLE):
    row = rows.iloc[[position]]
    started = time.perf_counter()
    predict(row)
    single.append(1000 * (time.perf_counter() - started))
started = time.perf_counter()
predict(rows)
batch = time.perf_counter() - started
p50, p99 = np.percentile(single, [50, 99])
print(json.dumps({"ready": ready, "p50": p50, "p99": p99, "rows_per_second": N_BATCH / batch}))
