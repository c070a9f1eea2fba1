"""Out-of-fold predictions of the complete trials, as memory-mapped files."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from automl.durable import save_array, storing
from automl.errors import AutoMLWarning
from automl.inference.calibration import Calibration, calibrated
from automl.inference.combining import Combine, combined
from automl.records import FloatArray

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SUFFIX = ".npy"
_MIB = 1 << 20
_HEADER_BYTES = 128
"""Bytes of an ``.npy`` file, as numpy writes it for these shapes."""
_MOST_UNCOUNTED = 100
"""Saves between two counts of the folder, each of which takes 0.1 s beside 10,000 files (``benchmarks/scale``)."""
_UNCOUNTED_SHARE = 1 / 16
"""Share of the room left, which one process fills between two counts: sixteen at once stay within the quota."""


class PredictionStore:
    """One float32 file per trial, up to a quota; several processes may use a folder at once.

    Parameters
    ----------
    folder
        Made with the first prediction.
    quota_mib : most disk space of all predictions together
    """

    def __init__(self, folder: str | Path, quota_mib: float = 4096.0) -> None:
        self._folder = Path(folder)
        self._quota_mib = quota_mib
        self._room_bytes = 0.0
        self._uncounted_bytes = self._n_uncounted = 0

    def save(self, trial_id: str, array: FloatArray) -> bool:
        """Keep a prediction, whole or not at all; replaces one of the same trial.

        Parameters
        ----------
        trial_id
            Letters, digits, ``_``, ``.`` and ``-``.
        array : (n_rows, n_classes) or (n_rows,)
            Stored as float32.

        Returns
        -------
            Whether it was kept. Over the quota it is not (AutoMLWarning); `remove` makes room.

        Raises
        ------
        StorageError
            If it cannot be written, for instance to a full disk.
        """
        path = self._path(trial_id)
        values = np.ascontiguousarray(array, dtype=np.float32)
        if not self._takes(path, values.nbytes):
            _warn(f"predictions of trial {trial_id} are not kept: over {self._quota_mib:g} MiB")
            return False
        with storing(path, "predictions"):
            self._folder.mkdir(parents=True, exist_ok=True)
            save_array(path, values)
        return True

    def _takes(self, path: Path, n_bytes: int) -> bool:
        """Whether a file stays within the quota; the folder is counted now and then, and before a refusal."""
        self._uncounted_bytes += n_bytes
        self._n_uncounted += 1
        is_close = self._uncounted_bytes > _UNCOUNTED_SHARE * self._room_bytes
        if is_close or self._n_uncounted >= _MOST_UNCOUNTED:
            others = sum(_size(each) for each in self._files() if each != path)
            self._room_bytes = self._quota_mib * _MIB - others - n_bytes
            self._uncounted_bytes = self._n_uncounted = 0
        return self._room_bytes >= 0

    def adopt(self, trial_id: str, content: bytes) -> bool:
        """Keep a prediction whose file another machine has written; see `save`.

        Raises
        ------
        ValueError
            If it is no array file.
        """
        return self.save(trial_id, np.load(BytesIO(content), allow_pickle=False))

    def load(self, trial_id: str) -> FloatArray:
        """Read-only memory map of a prediction.

        Raises
        ------
        KeyError
            If there is none that is whole.
        """
        path = self._path(trial_id)
        try:
            values: FloatArray = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise KeyError(f"no predictions of trial {trial_id}: {error}") from error
        return values

    def has(self, trial_id: str) -> bool:
        """Whether `load` gives a prediction."""
        try:
            self.load(trial_id)
        except KeyError:
            return False
        return True

    def blend(
        self,
        shares: Mapping[str, float],
        combine: Combine = "mean",
        calibration: Calibration | None = None,
    ) -> NDArray[np.float32] | None:
        """Predictions of a blend of trials; None if those of one were not kept.

        Parameters
        ----------
        shares
            Weight of each trial by its id.
        """
        if not all(map(self.has, shares)):
            return None
        predictions = [np.asarray(self.load(trial_id)) for trial_id in shares]
        blended = combined(predictions, np.array(list(shares.values())), combine)
        return calibrated(blended, calibration)

    def trial_ids(self) -> list[str]:
        """Trials whose predictions are kept, sorted."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self._files())

    def remove(self, trial_id: str) -> None:
        """Delete the predictions of a trial, if there are any; maps that are in use stay valid."""
        self._path(trial_id).unlink(missing_ok=True)

    def capacity(self, shape: tuple[int, ...]) -> int:
        """How many predictions of one shape the quota allows."""
        return int(self._quota_mib * _MIB / (_HEADER_BYTES + 4 * math.prod(shape)))

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [
            path
            for path in self._folder.iterdir()
            if path.name.endswith(_SUFFIX) and not path.name.startswith(".")
        ]

    def _path(self, trial_id: str) -> Path:
        if not _NAME.fullmatch(trial_id):
            raise ValueError(f"a trial id must be letters, digits, _ . -; got {trial_id!r}")
        return self._folder / f"{trial_id}{_SUFFIX}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pruned meanwhile
        return 0


def _warn(message: str) -> None:
    warnings.warn(message, AutoMLWarning, stacklevel=3)
