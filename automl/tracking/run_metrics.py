"""Metrics of the parent run and of its model, from the records of the run."""

from __future__ import annotations

from automl.home import RunFolder
from automl.run_records.final import FinalRecord, UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import RunResult
from automl.tracking import layout
from automl.tracking.promotion_facts import promotion_metrics


def model_metrics(folder: RunFolder) -> dict[str, float]:
    """How good the deployed model is, validated, corrected and tested, and what it costs."""
    values: dict[str, float | None] = {**layout.honest_metrics(HonestRecord.read(folder))}
    if result := RunResult.read(folder):
        values |= {**result.metrics, layout.MODEL_SCORE: result.score}
    if final := FinalRecord.read(folder):
        values |= {"predict_milliseconds": final.predict_ms, "model_mib": final.size_mib}
        values |= _test_metrics(final.test)
    return layout.finite(values)


def run_metrics(folder: RunFolder, trials: int) -> dict[str, float]:
    """Metrics of the parent run.

    Parameters
    ----------
    trials : number of the search's
    """
    values: dict[str, float | None] = {"trials": trials, **model_metrics(folder)}
    values |= promotion_metrics(PromotionRecord.read(folder))
    if result := RunResult.read(folder):
        values["seconds"] = result.seconds
    return layout.finite(values)


def _test_metrics(test: UntouchedScore | None) -> dict[str, float]:
    if test is None:
        return {}
    own = {f"test_{layout.metric_key(key)}": value for key, value in test.metrics.items()}
    return {"test_score": test.score, **own}
