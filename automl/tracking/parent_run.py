"""What the parent run is given besides its trials: data set, records, summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from automl.addresses import public_address
from automl.experience.data_set import META_FEATURES
from automl.run_records.final import FinalRecord, UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import RunResult
from automl.run_state import read_stage
from automl.tracking import layout
from automl.tracking.promotion_facts import promotion_metrics
from automl.tracking.reading import (
    dispositions,
    finalists,
    records_mark,
    report_files,
    stage_files,
)
from automl.tracking.writer import RunWriter

_MOST_STEPS = 900
"""Of the search curve: the store takes 1,000 metrics in one call, and the newest count."""


class EvidenceWriter:
    """Writes evidence of a run that `RunWriter.begin` has begun; steps done are not repeated."""

    def __init__(self, writer: RunWriter) -> None:
        self.client = writer.client
        self.folder = writer.folder
        self.outbox = writer.outbox
        self.view = writer.view
        self.facts = writer.facts

    def write_inputs(self) -> None:
        """Data set with our own digest, and the digests of its rows."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        data = self.facts.get("data") or {}
        if "inputs" in self.outbox.done or not data.get("digest"):
            return
        source = public_address(str(self.facts["settings"].get("table", "")))
        dataset = Dataset(
            name=layout.problem_name(self.facts),
            digest=str(data["digest"])[:36],
            source_type="local",
            source=json.dumps({"uri": source}),
            profile=json.dumps({"num_rows": data.get("rows", 0)}),
        )
        tag = InputTag("mlflow.data.context", "training")
        self.client.log_inputs(self.outbox.parent, [DatasetInput(dataset, [tag])])
        rows = self.folder.table / "row_digests.npy"
        if rows.exists():
            self.client.log_artifact(self.outbox.parent, str(rows), "data")
        self._done("inputs")

    def write_records(self) -> None:
        """Stage records, the report and all fold values as artifacts of the parent, when they changed."""
        mark = records_mark(self.folder, len(self.view.trials))
        if self.outbox.done.get("records") == mark:
            return
        for file in stage_files(self.folder):
            self.client.log_artifact(self.outbox.parent, str(file), "records")
        for page in report_files(self.folder):
            self.client.log_artifact(self.outbox.parent, str(page))
        trials = [t.to_json() for t in self.view.trials.values()]
        self.client.log_dict(self.outbox.parent, {"trials": trials}, "records/trials.json")
        self._done("records", mark)

    def write_summary(self) -> None:
        """Metric steps of the finalists, dispositions, test and search curve, per-family best."""
        mark = records_mark(self.folder, len(self.view.trials))
        if self.outbox.done.get("summary") == mark:
            return
        moment = round(1000 * float(self.facts.get("started_at") or 0))
        self._finalist_steps()
        self._late_tags()
        curve = layout.incumbents(self.view.trials.values())
        self.client.log_batch(
            self.outbox.parent,
            metrics=[
                *_metrics(self._run_metrics(), moment),
                *_steps("best_score", curve[-_MOST_STEPS:], moment),
            ],
        )
        for family, run in self.outbox.families.items():
            self.client.log_batch(run, metrics=_metrics(self._family_metrics(family), moment))
        self._done("summary", mark)

    def _finalist_steps(self) -> None:
        for identity in finalists(self.folder):
            run, trial = self.outbox.trials.get(identity), self.view.trials.get(identity)
            if run is None or trial is None:
                continue
            moment = round(1000 * (trial.started_at + trial.spent_seconds))
            steps = _steps("fold_score", list(enumerate(trial.fold_scores)), moment)
            self.client.log_batch(run, metrics=steps)

    def _late_tags(self) -> None:
        from mlflow.entities import RunTag

        for identity, tags in dispositions(self.folder).items():
            run = self.outbox.trials.get(identity)
            if run is not None:
                self.client.log_batch(run, tags=[RunTag(k, v) for k, v in tags.items()])
        tags = layout.meta_features_tags(read_stage(self.folder, META_FEATURES))
        self.client.log_batch(self.outbox.parent, tags=[RunTag(k, v) for k, v in tags.items()])

    def _run_metrics(self) -> dict[str, float]:
        trials = sum(trial.stage == "search" for trial in self.view.trials.values())
        values: dict[str, float | None] = {"trials": trials}
        values |= layout.honest_metrics(HonestRecord.read(self.folder))
        values |= promotion_metrics(PromotionRecord.read(self.folder))
        if result := RunResult.read(self.folder):
            values |= result.metrics
            values |= {"score": result.score, "seconds": result.seconds}
        if final := FinalRecord.read(self.folder):
            values |= {"predict_milliseconds": final.predict_ms, "model_mib": final.size_mib}
            values |= _test_metrics(final.test)
        return layout.finite(values)

    def _family_metrics(self, family: str) -> dict[str, float]:
        # fresh folds are other rows, and a model of predictions says nothing about its family
        own = [
            t
            for t in self.view.trials.values()
            if t.configuration.family == family and t.stage == "search"
        ]
        scores = [t.score for t in own if t.is_complete and t.score is not None]
        values = {"trials": float(len(own)), "complete": float(len(scores))}
        return values | ({"score": max(scores)} if scores else {})

    def _done(self, event: str, value: str = "yes") -> None:
        self.outbox.done[event] = value
        self.outbox.save()


def _test_metrics(test: UntouchedScore | None) -> dict[str, float]:
    if test is None:
        return {}
    own = {f"test_{layout.metric_key(key)}": value for key, value in test.metrics.items()}
    return {"test_score": test.score, **own}


def _metrics(values: Mapping[str, float], moment: int) -> list[Any]:
    from mlflow.entities import Metric

    return [Metric(key, value, moment, 0) for key, value in values.items()]


def _steps(name: str, values: Iterable[tuple[int, float]], moment: int) -> list[Any]:
    from mlflow.entities import Metric

    return [Metric(name, value, moment, step) for step, value in values]
