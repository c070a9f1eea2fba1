"""What a run and its trials look like in MLflow: names, tags, parameters and metrics.

One experiment per problem; parent run = training run; child run per family; grandchild per trial.
Tags are `automl.*`; metrics keep their natural sign, `score` is maximized (0 baseline, 1 ideal)
and present only where the trial is comparable with others, so that sorting by it is fair.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from automl import problem_names
from automl.addresses import public_address
from automl.records import Trial, TrialStatus
from automl.run_records.honest import HonestRecord
from automl.run_state import FAILED, FINISHED, RUNNING

PARAM_CHARACTERS = 6000
"""MLflow's limit of a parameter."""
TAG_CHARACTERS = 8000
"""MLflow's limit of a tag."""
RUN_ID_TAG = "automl.run_id"
TRIAL_ID_TAG = "automl.trial_id"
TARGET_TAG = "automl.target"
DERIVED_TAG = "automl.derived_name"
KIND_TAG = "automl.kind"
META_FEATURES_TAG = "automl.meta_features"
KEPT_ROUNDS_TAG = "automl.kept_rounds"
"""Of a trial whose fits were ended when their time was over; it did not have the time that it needs."""

_MLFLOW_STATUS = {
    TrialStatus.COMPLETE: "FINISHED",
    TrialStatus.PARTIAL: "FINISHED",
    TrialStatus.RACED: "KILLED",
}
_RUN_STATUS = {FINISHED: "FINISHED", FAILED: "FAILED", RUNNING: "RUNNING"}


@dataclass(frozen=True)
class RunContent:
    """Everything one MLflow run is created with."""

    name: str
    tags: dict[str, str]
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    status: str = "FINISHED"
    started_ms: int = 0
    ended_ms: int = 0


def problem_name(facts: Mapping[str, Any]) -> str:
    """Name of the experiment and of the registered model."""
    return problem_names.problem_name(facts["settings"])


def key_tags(facts: Mapping[str, Any]) -> dict[str, str]:
    """Tags of the parent that every child repeats, since MLflow filters do not follow parents."""
    data, settings = facts.get("data") or {}, facts["settings"]
    values = {
        RUN_ID_TAG: facts["run_id"],
        "automl.problem": problem_name(facts),
        TARGET_TAG: settings["target"],
        "automl.task": data.get("task"),
        "automl.preset": settings.get("preset"),
        "automl.data_digest": data.get("digest"),
        "automl.seed": facts.get("seed", settings.get("seed")),
        "mlflow.source.name": "automl",
        "mlflow.source.type": "LOCAL",
    }
    return {key: _tag(value) for key, value in values.items() if value not in (None, "")}


def parent_content(facts: Mapping[str, Any]) -> RunContent:
    """The training run: all settings as parameters."""
    settings: Mapping[str, Any] = facts["settings"]
    params = {
        key: _param(public_address(value) if isinstance(value, str) else value)
        for key, value in settings.items()
    }
    params |= {f"data.{k}": _param(v) for k, v in _plain_facts(facts.get("data") or {})}
    tags = {**key_tags(facts), **experience_tags(facts), KIND_TAG: "run"}
    for name, version in (facts.get("versions") or {}).items():
        tags[f"automl.version.{name}"] = _tag(version)
    return RunContent(
        name=f"{problem_name(facts)} {facts['run_id']}",
        tags=tags,
        params=params,
        started_ms=round(1000 * float(facts.get("started_at") or 0)),
    )


def experience_tags(facts: Mapping[str, Any]) -> dict[str, str]:
    """What must be known of the data for the trials to be experience, and what the run knew itself.

    `automl.tracking.team_history` reads the first part back.
    """
    data = facts.get("data") or {}
    names = ("fingerprint", "layout", "rows", "columns", "training_rows", "metric")
    values = {name: data.get(name) for name in names}
    values["classes"] = len(data["classes"] or ()) if "classes" in data else None
    values["matrix"] = json.dumps(data["matrix"]) if data.get("matrix") else None
    values["experience"] = facts.get("experience")
    return {f"automl.{key}": _tag(v) for key, v in values.items() if v not in (None, "")}


def meta_features_tags(record: Mapping[str, Any]) -> dict[str, str]:
    """Tag of the meta-features that a stage record holds, to six digits; none where there are none."""
    values = finite({k: v for k, v in (record.get("values") or {}).items() if v is not None})
    text = json.dumps({k: float(f"{v:.6g}") for k, v in values.items()}, separators=(",", ":"))
    return {META_FEATURES_TAG: text} if values and len(text) <= TAG_CHARACTERS else {}


def family_content(facts: Mapping[str, Any], family: str, parent: str) -> RunContent:
    """The run that groups the trials of one family."""
    return RunContent(
        name=family,
        tags={
            **key_tags(facts),
            KIND_TAG: "family",
            "automl.family": family,
            "mlflow.parentRunId": parent,
        },
        started_ms=round(1000 * float(facts.get("started_at") or 0)),
    )


def trial_content(
    facts: Mapping[str, Any],
    trial: Trial,
    *,
    decision: Mapping[str, Any],
    family_run: str,
    extra_tags: Mapping[str, str],
) -> RunContent:
    """One trial, for example `lightgbm 0017`; fold values are a tag, since a file each is slow."""
    stage = "" if trial.stage == "search" else f"{trial.stage.removesuffix('s')} "
    tags = {
        **key_tags(facts),
        KIND_TAG: "trial",
        TRIAL_ID_TAG: trial.id,
        "automl.family": trial.configuration.family,
        "automl.signature": _tag(trial.configuration.signature),
        "automl.configuration": trial.configuration.id,
        "automl.decision": str(trial.index),
        "automl.stage": trial.stage,
        "automl.status": str(trial.status),
        "automl.origin": trial.origin,
        "automl.fidelity": trial.fidelity.text,
        "automl.folds": _tag(fold_text(trial)),
        "mlflow.parentRunId": family_run,
        **{f"automl.{key}": _tag(value) for key, value in decision.items()},
        **extra_tags,
    }
    if trial.most_rounds is not None:
        tags[KEPT_ROUNDS_TAG] = str(trial.most_rounds)
    if trial.reason:
        tags["automl.reason"] = tags["mlflow.note.content"] = _tag(trial.reason)
    started = round(1000 * trial.started_at)
    return RunContent(
        name=f"{trial.configuration.family} {stage}{trial.index:04d}",
        tags={key: value for key, value in tags.items() if value},
        params={key: _param(value) for key, value in trial.configuration.values.items()},
        metrics=trial_metrics(trial),
        status=_MLFLOW_STATUS.get(trial.status, "FAILED"),
        started_ms=started,
        ended_ms=started + round(1000 * trial.spent_seconds),
    )


def trial_metrics(trial: Trial) -> dict[str, float]:
    """Metrics of a trial by name; those that are not finite are left out."""
    values: dict[str, float | None] = {
        **trial.metrics,
        "score" if trial.is_complete else "partial_score": trial.score,
        "fit_seconds": trial.fit_seconds,
        "predict_milliseconds": trial.predict_milliseconds,
        "peak_memory_mib": trial.peak_memory_mib,
        "seconds": trial.seconds,
        "reused_seconds": trial.reused_seconds or None,
    }
    return finite(values)


def honest_metrics(honest: HonestRecord | None) -> dict[str, float]:
    """Honest score of the model with its interval, and those of champion and ensemble; none without any."""
    if honest is None:
        return {}
    values: dict[str, float | None] = {}
    if model := honest.of_model:
        for name in ("score", "low", "high", "bias", "gain"):
            values[f"honest_{name}"] = getattr(model, name)
    for kind, score in (("single", honest.single), ("ensemble", honest.ensemble)):
        values[f"honest_score_{kind}"] = None if score is None else score.score
    return finite(values)


def finite(values: Mapping[str, float | None]) -> dict[str, float]:
    """Entries that are finite numbers, under names that a store takes."""
    return {
        metric_key(name): float(value)
        for name, value in values.items()
        if value is not None and math.isfinite(value)
    }


def metric_key(name: str) -> str:
    """Name of a metric in the store: a user's ``/path/to/file.py:function`` is `file.function`.

    A store treats names as paths and refuses absolute ones, and the whole batch with them.
    """
    place, _, function = name.rpartition(":")
    if not place:
        return name
    stem = PurePath(place).stem if place.endswith(".py") else place
    return "".join(c if c.isalnum() or c in "_-. " else "-" for c in f"{stem}.{function}")


def fold_text(trial: Trial) -> str:
    """Compact JSON of the folds: repeat, fold, score, rows, fit and predict seconds."""
    rows = [
        [
            f.repeat,
            f.fold,
            round(f.score, 6),
            f.rows,
            round(f.fit_seconds, 4),
            round(f.predict_seconds, 5),
        ]
        for f in trial.folds
    ]
    return json.dumps(rows, separators=(",", ":")) if rows else ""


def incumbents(trials: Iterable[Trial]) -> list[tuple[int, float]]:
    """Decision number and score of each complete search trial better than all before it."""
    curve: list[tuple[int, float]] = []
    for trial in sorted(trials, key=lambda t: t.index):
        if trial.stage != "search" or not trial.is_complete or trial.score is None:
            continue
        if not curve or trial.score > curve[-1][1]:
            curve.append((trial.index, trial.score))
    return curve


def run_status(status: str) -> str:
    """MLflow status of the parent; see `automl.run_state`."""
    return _RUN_STATUS.get(status, "KILLED")


def _plain_facts(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(k, v) for k, v in data.items() if isinstance(v, bool | int | float | str)]


def _param(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:PARAM_CHARACTERS]


def _tag(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:TAG_CHARACTERS]
