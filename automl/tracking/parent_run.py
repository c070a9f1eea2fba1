"""Content of the parent run besides its trials: data set, records, summary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from automl.experience.data_set import META_FEATURES
from automl.run_state import read_stage
from automl.tracking import layout
from automl.tracking.data_sets import data_set
from automl.tracking.descriptions import Described, run_description
from automl.tracking.late_report import tell_registration
from automl.tracking.reading import (
    dispositions,
    finalists,
    records_mark,
    report_mark,
    stage_files,
)
from automl.tracking.run_metrics import run_metrics
from automl.tracking.writer import RunWriter

_MOST_STEPS = 900
"""Most steps of the search curve: the store takes 1,000 metrics in one call, and the newest count."""


class EvidenceWriter:
    """Writes evidence of a run that `RunWriter.begin` has begun; steps done are not repeated."""

    def __init__(self, writer: RunWriter) -> None:
        self.client = writer.client
        self.folder = writer.folder
        self.outbox = writer.outbox
        self.view = writer.view
        self.facts = writer.facts

    def write_inputs(self) -> None:
        """Data set with our own digest, the digests of its rows, and all settings."""
        from mlflow.entities import DatasetInput, InputTag

        if "inputs" in self.outbox.done:
            return
        shown = layout.shown_settings(self.facts)
        self.client.log_dict(self.outbox.parent, shown, layout.SETTINGS)
        dataset = data_set(self.folder, self.facts)
        if dataset is None:
            return
        tag = InputTag("mlflow.data.context", "training")
        self.client.log_inputs(self.outbox.parent, [DatasetInput(dataset, [tag])])
        rows = self.folder.table / "row_digests.npy"
        if rows.exists():
            self.client.log_artifact(self.outbox.parent, str(rows), "data")
        self._done("inputs")

    def write_records(self) -> None:
        """Stage records, what the run knows of itself and all fold values, when they changed."""
        mark = records_mark(self.folder, len(self.view.trials))
        if self.outbox.done.get("records") == mark:
            return
        for file in stage_files(self.folder):
            self.client.log_artifact(self.outbox.parent, str(file), "records")
        facts = layout.run_facts(self.folder.read_facts())
        self.client.log_dict(self.outbox.parent, facts, layout.RUN_FACTS)
        trials = [t.to_json() for t in self.view.trials.values()]
        self.client.log_dict(self.outbox.parent, {"trials": trials}, "records/trials.json")
        self._done("records", mark)

    def write_page(self) -> None:
        """The report, and name and description of the parent, when they changed."""
        tell_registration(self.folder)
        self._write_report()
        run = Described.of(self.folder, self.folder.read_facts())
        name, text = run.name, run_description(run)
        mark = hashlib.sha256(f"{name} {text}".encode()).hexdigest()
        if self.outbox.done.get("description") != mark:
            self.client.update_run(self.outbox.parent, name=name)
            self.client.set_tag(self.outbox.parent, layout.NOTE_TAG, text)
            self._done("description", mark)

    def _write_report(self) -> None:
        mark = report_mark(self.folder)
        if mark and self.outbox.done.get("report") != mark:
            self.client.log_artifact(self.outbox.parent, str(self.folder.report))
            self._done("report", mark)

    def write_summary(self) -> None:
        """Metric steps of the finalists, dispositions, test and search curve, per-family best."""
        mark = records_mark(self.folder, len(self.view.trials))
        if self.outbox.done.get("summary") == mark:
            return
        moment = round(1000 * float(self.facts.get("started_at") or 0))
        self._finalist_steps()
        self._late_tags()
        n_trials = sum(trial.stage == "search" for trial in self.view.trials.values())
        curve = layout.incumbents(self.view.trials.values())
        self.client.log_batch(
            self.outbox.parent,
            metrics=[
                *_metrics(run_metrics(self.folder, n_trials), moment),
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
        tags = layout.data_tag(self.facts, read_stage(self.folder, META_FEATURES))
        self.client.log_batch(self.outbox.parent, tags=[RunTag(k, v) for k, v in tags.items()])

    def _family_metrics(self, family: str) -> dict[str, float]:
        # fresh folds are other rows, and a model of predictions says nothing about its family
        own = [
            t
            for t in self.view.trials.values()
            if t.configuration.family == family and t.stage == "search"
        ]
        scores = [t.score for t in own if t.is_complete and t.score is not None]
        values = {"trials": float(len(own)), "complete": float(len(scores))}
        return values | ({"best_score": max(scores)} if scores else {})

    def _done(self, event: str, value: str = "yes") -> None:
        self.outbox.done[event] = value
        self.outbox.save()


def _metrics(values: Mapping[str, float], moment: int) -> list[Any]:
    from mlflow.entities import Metric

    return [Metric(key, value, moment, 0) for key, value in values.items()]


def _steps(name: str, values: Iterable[tuple[int, float]], moment: int) -> list[Any]:
    from mlflow.entities import Metric

    return [Metric(name, value, moment, step) for step, value in values]
