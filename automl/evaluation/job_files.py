"""The files of a run that a job reads and leaves behind, for workers that do not see the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from automl.evaluation.fold_models import adopt_models, read_unsigned
from automl.evaluation.predictions import PredictionStore

PLAN = "plan.json"


def inputs_of(folder: Path, payload: Mapping[str, Any]) -> list[str]:
    """Paths, relative to the run folder, of the files that a job reads and that are there.

    They are the table, the plan and its stages, and the predictions of the trials that the job goes on from.
    """
    table = (path for path in (folder / "table").rglob("*") if path.is_file())
    predictions = (folder / _predictions(name) for name in _earlier_trials(payload))
    wanted = [folder / PLAN, *folder.glob("*.npz"), *table, *predictions]
    return sorted(str(path.relative_to(folder)) for path in wanted if path.is_file())


def _earlier_trials(payload: Mapping[str, Any]) -> Iterator[str]:
    yield from payload.get("base", ())
    if earlier := payload.get("earlier"):
        yield earlier["trial"]


def outputs_of(folder: Path, payload: Mapping[str, Any]) -> dict[str, bytes]:
    """Files of a job, by path relative to the run folder; fold models without their signature."""
    trial_id = payload.get("save_as")
    if trial_id is None:
        return {}
    found = {}
    if (predictions := folder / _predictions(trial_id)).exists():
        found[_predictions(trial_id)] = predictions.read_bytes()
    if (models := read_unsigned(folder, trial_id)) is not None:
        found[_models(trial_id)] = models
    return found


def remove_outputs(folder: Path, payload: Mapping[str, Any]) -> None:
    """Remove what a job has left, once it is elsewhere."""
    if (trial_id := payload.get("save_as")) is not None:
        for name in (_predictions(trial_id), _models(trial_id)):
            (folder / name).unlink(missing_ok=True)


def adopt_outputs(
    folder: Path,
    payload: Mapping[str, Any],
    outputs: Mapping[str, bytes],
    store: PredictionStore,
) -> None:
    """Write what a job has left elsewhere as if it had run here; fold models are signed here.

    Parameters
    ----------
    outputs
        From `outputs_of`, over a connection that is trusted as the jobs are.
    store
        Of the run's predictions.

    Raises
    ------
    StorageError
        If they cannot be written.
    """
    trial_id = payload.get("save_as")
    if (predictions := outputs.get(_predictions(str(trial_id)))) is not None:
        store.adopt(str(trial_id), predictions)
    if (models := outputs.get(_models(str(trial_id)))) is not None:
        adopt_models(folder, str(trial_id), models)


def _predictions(trial_id: str) -> str:
    return f"predictions/{trial_id}.npy"


def _models(trial_id: str) -> str:
    return f"models/{trial_id}.pickle"
