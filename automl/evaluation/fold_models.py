"""Fold models that a run keeps in its own folder, so that the final model need not fit them again.

They are pickles that only the run itself reads, from a folder that only its user may enter.
"""

from __future__ import annotations

import heapq
import pickle
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

from automl.inference.model import FittedPipeline
from automl.records import Trial


def save_models(
    folder: Path, trial_id: str, pipelines: Mapping[tuple[int, int], FittedPipeline]
) -> None:
    """Keep the fold models of a trial in the run's folder, all or none."""
    models = folder / "models"
    models.mkdir(mode=0o700, exist_ok=True)
    temporary = models / f"{trial_id}.tmp"
    with temporary.open("wb") as file:
        pickle.dump(dict(pipelines), file, protocol=pickle.HIGHEST_PROTOCOL)
    temporary.replace(_file(folder, trial_id))


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


class BestModels:
    """Removes the fold models of trials that are no longer among the best.

    Parameters
    ----------
    folder
        Of the run.
    n_kept
        Number of complete trials whose models stay.
    """

    def __init__(self, folder: Path, n_kept: int) -> None:
        self._folder, self._n_kept = folder, n_kept
        self._best: list[tuple[float, str]] = []
        self._lock = threading.Lock()

    def add(self, trial: Trial) -> None:
        """Take a trial; the models of the one that it displaces are removed."""
        if not trial.is_complete or trial.score is None:
            return
        with self._lock:
            heapq.heappush(self._best, (trial.score, trial.id))
            if len(self._best) > self._n_kept:
                _, displaced = heapq.heappop(self._best)
                _file(self._folder, displaced).unlink(missing_ok=True)


def _file(folder: Path, trial_id: str) -> Path:
    return folder / "models" / f"{trial_id}.pickle"
