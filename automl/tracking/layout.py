"""Layout of a run and its trials in MLflow: names, tags, parameters and metrics.

One experiment per problem; parent run = training run; child run per family; grandchild per trial.
Tags are `automl.*`; metrics keep their natural sign, `score` is maximized (0 baseline, 1 ideal)
and present only where the trial is comparable with others, so that sorting by it is fair. Only
trials have it: the model of a run has `model_score` and `honest_score`, a family `best_score`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from pydantic_core import to_jsonable_python

from automl import problem_names
from automl.addresses import public_address
from automl.experience.data_set import SCORE_DECIMALS
from automl.records import Trial, TrialStatus, short_id
from automl.run_records.honest import HonestRecord
from automl.run_state import FAILED, FINISHED, RUNNING
from automl.settings import Settings
from automl.settings.presets import PRESETS

PARAM_CHARACTERS = 6000
"""MLflow's limit of a parameter."""
TAG_CHARACTERS = 8000
"""MLflow's limit of a tag."""
RUN_ID_TAG = "automl.run_id"
TRIAL_ID_TAG = "automl.trial_id"
TARGET_TAG = "automl.target"
DERIVED_TAG = "automl.derived_name"
KIND_TAG = "automl.kind"
DATA_TAG = "automl.data"
"""Tag of the parent: what must be known of its data for its trials to be experience, as JSON."""
META_FEATURES_TAG = "automl.meta_features"
"""Tag of parents that earlier versions wrote; since then the values are within `DATA_TAG`."""
REPORT, SETTINGS, RUN_FACTS = "report.html", "settings.json", "records/run.json"
"""Artifacts of the parent: its page, all settings, and what the run knows of itself."""
NOTE_TAG = "mlflow.note.content"
"""Tag that MLflow's pages show as the description, in Markdown."""
MODEL_SCORE = "model_score"
"""Metric of the parent: the validated score of the model that is deployed."""
ALWAYS_SHOWN = ("table", "target", "preset", "budget_seconds", "trials", "seed")
"""Settings that are parameters also where they are as usual: they say what was asked for."""
REPEATED_BY_TRIALS = ("target", "preset", "seed")
"""Settings that are tags of trials, for filters, and parameters of their training run."""
KEPT_ROUNDS_TAG = "automl.kept_rounds"
"""Tag of a trial whose fits were ended when their time was over; it did not have the time that it needs."""

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
    """The training run: parameters are the settings that somebody has chosen; the page repeats none as a tag."""
    params = {key: _param(value) for key, value in chosen_settings(facts).items()}
    repeated = {f"automl.{name}" for name in REPEATED_BY_TRIALS if name in params}
    own = {key: tag for key, tag in key_tags(facts).items() if key not in repeated}
    return RunContent(
        name=run_name(facts),
        tags={**own, **data_tag(facts, {}), KIND_TAG: "run"},
        params=params,
        started_ms=round(1000 * float(facts.get("started_at") or 0)),
    )


def run_name(facts: Mapping[str, Any], model: str = "") -> str:
    """Problem, time in UTC and model of a training run: ``beans-label · 2026-11-24 03:56 · lightgbm``."""
    began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(float(facts.get("started_at") or 0)))
    return " · ".join(filter(None, (problem_name(facts), began, model)))


def shown_settings(facts: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a run, addresses without what may be a secret."""
    settings: Mapping[str, Any] = facts["settings"]
    return {
        key: public_address(value) if isinstance(value, str) else value
        for key, value in settings.items()
    }


def chosen_settings(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are other than the preset in force makes them, and those that are always shown."""
    shown = shown_settings(facts)
    preset = str(shown.get("preset") or Settings.model_fields["preset"].default)
    return {
        key: value
        for key, value in shown.items()
        if (value is not None and key in ALWAYS_SHOWN) or not _is_usual(preset, key, value)
    }


def _is_usual(preset: str, name: str, value: Any) -> bool:
    """Whether a setting is as the preset makes it; one of an unknown name or preset is not."""
    if preset not in PRESETS or name not in Settings.model_fields:
        return False
    usual = to_jsonable_python(Settings.model_fields[name].get_default(call_default_factory=True))
    return bool(value == to_jsonable_python(PRESETS[preset].get(name, usual)))


def run_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a run beside its settings: data, versions of packages, attempts."""
    names = ("run_id", "started_at", "attempts", "versions", "seed", "experience", "data")
    return {name: facts[name] for name in names if name in facts}


def data_tag(facts: Mapping[str, Any], meta_features: Mapping[str, Any]) -> dict[str, str]:
    """What must be known of the data for the trials to be experience; `automl.tracking.team_history` reads it.

    Parameters
    ----------
    meta_features
        Their stage record; they are left out where the tag would be too long.
    """
    data = facts.get("data") or {}
    names = ("fingerprint", "layout", "rows", "columns", "training_rows", "metric", "matrix")
    values = {name: data[name] for name in names if data.get(name) not in (None, "")}
    if "classes" in data:
        values["classes"] = len(data["classes"] or ())
    if not values:
        return {}
    features = finite(
        {k: v for k, v in (meta_features.get("values") or {}).items() if v is not None}
    )
    short = {name: float(f"{value:.6g}") for name, value in features.items()}
    whole = json.dumps({**values, "meta_features": short}, separators=(",", ":"))
    if short and len(whole) <= TAG_CHARACTERS:
        return {DATA_TAG: whole}
    return {DATA_TAG: _tag(json.dumps(values, separators=(",", ":")))}


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
    """One trial; fold values are a tag, since a file each is slow."""
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
        tags["automl.reason"] = tags[NOTE_TAG] = _tag(trial.reason)
    started = round(1000 * trial.started_at)
    return RunContent(
        name=trial_name(trial),
        tags={key: value for key, value in tags.items() if value},
        params={key: _param(value) for key, value in trial.configuration.values.items()},
        metrics=trial_metrics(trial),
        status=_MLFLOW_STATUS.get(trial.status, "FAILED"),
        started_ms=started,
        ended_ms=started + round(1000 * trial.spent_seconds),
    )


def trial_name(trial: Trial) -> str:
    """Score, family and short id: ``0.9420 lightgbm · s00047``; ``ridge timed out · s00048`` without a fair score.

    MLflow's lists cut names on the right.
    """
    family = trial.configuration.family
    is_scored = trial.is_complete and trial.score is not None
    status = str(trial.status).replace("_", " ")
    found = f"{trial.score:.4f} {family}" if is_scored else f"{family} {status}"
    return f"{found} · {short_id(trial.id)}"


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
            round(f.score, SCORE_DECIMALS),
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


def _param(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:PARAM_CHARACTERS]


def _tag(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:TAG_CHARACTERS]
