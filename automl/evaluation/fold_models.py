"""Fold models that a run keeps in its own folder, so that the final model need not fit them again.

They are pickles that only the run itself reads, from a folder that only its user may enter.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path

from automl.durable import storing
from automl.evaluation.best_trials import BestTrials
from automl.inference.model import FittedPipeline


def save_models(
    folder: Path, trial_id: str, pipelines: Mapping[tuple[int, int], FittedPipeline]
) -> None:
    """Keep the fold models of a trial in the run's folder, all or none.

    Raises
    ------
    StorageError
        If they cannot be written.
    """
    models, path = folder / "models", _file(folder, trial_id)
    draft = models / f"{trial_id}.tmp"
    with storing(path, draft, "fold models"):
        models.mkdir(mode=0o700, exist_ok=True)
        with draft.open("wb") as file:
            pickle.dump(dict(pipelines), file, protocol=pickle.HIGHEST_PROTOCOL)
        draft.replace(path)


def load_models(folder: Path, trial_id: str) -> dict[tuple[int, int], FittedPipeline] | None:
    """Fold models that this run kept, or None."""
    path = _file(folder, trial_id)
    if not path.exists():
        return None
    with path.open("rb") as file:
        pipelines: dict[tuple[int, int], FittedPipeline] = pickle.load(file)
    return pipelines


def models_mib(folder: Path, trial_id: str) -> float:
    """Size of the fold models that are kept of a trial; 0 if none are."""
    try:
        return _file(folder, trial_id).stat().st_size / 2**20
    except OSError:
        return 0.0


def remove_all_models(folder: Path) -> None:
    """Remove the fold models of a run whose final model is written."""
    shutil.rmtree(folder / "models", ignore_errors=True)


class BestModels(BestTrials):
    """Removes the fold models of trials that the final model is unlikely to need.

    Parameters
    ----------
    folder
        Of the run.
    n_kept : >= 1
        Number of complete trials whose models stay.
    """

    def __init__(self, folder: Path, n_kept: int) -> None:
        super().__init__(n_kept, lambda trial_id: _file(folder, trial_id).unlink(missing_ok=True))


def _file(folder: Path, trial_id: str) -> Path:
    return folder / "models" / f"{trial_id}.pickle"
