"""Fold models that a run keeps in its own folder, so that the final model need not fit them again.

They are pickles in a folder that only the run's user may enter. After each comes its HMAC-SHA256 with the key of
this installation, for this run and trial: one that is not right, as in the home of somebody else, is not read, and
the models are fitted again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from automl.durable import storing
from automl.inference.model import FittedPipeline
from automl.installation import make_key, read_key

_CODE_BYTES = hashlib.sha256().digest_size
_READ_BYTES = 2**20


def save_models(
    folder: Path, trial_id: str, pipelines: Mapping[tuple[int, int], FittedPipeline]
) -> None:
    """Keep the fold models of a trial in the run's folder, all or none.

    Raises
    ------
    SettingsError
        If this installation has no key and cannot make one.
    StorageError
        If they cannot be written.
    """
    content = dict(pipelines)
    _write(
        folder,
        trial_id,
        lambda file: pickle.dump(content, file, protocol=pickle.HIGHEST_PROTOCOL),
    )


def read_unsigned(folder: Path, trial_id: str) -> bytes | None:
    """Fold models that a worker has kept, without the signature; None if there are none."""
    try:
        return _file(folder, trial_id).read_bytes()[:-_CODE_BYTES]
    except FileNotFoundError:
        return None


def adopt_models(folder: Path, trial_id: str, content: bytes) -> None:
    """Keep fold models that a trusted worker has sent, signed by this installation; raises as `save_models`.

    Parameters
    ----------
    content
        From `read_unsigned`.
    """
    _write(folder, trial_id, lambda file: file.write(content))


def _write(folder: Path, trial_id: str, dump: Callable[[BinaryIO], object]) -> None:
    models, path, key = folder / "models", _file(folder, trial_id), make_key()
    draft = models / f"{trial_id}.tmp"
    with storing(path, "fold models", draft):
        models.mkdir(mode=0o700, exist_ok=True)
        with draft.open("w+b") as file:
            dump(file)
            size = file.tell()
            file.seek(0)
            code = _code(file, size, key, folder, trial_id)
            file.seek(size)
            file.write(code)
        draft.replace(path)


def load_models(folder: Path, trial_id: str) -> dict[tuple[int, int], FittedPipeline] | None:
    """Fold models that this installation kept for this run and trial, or None.

    Raises
    ------
    SettingsError
        If the key of this installation is not usable.
    """
    path, key = _file(folder, trial_id), read_key()
    if key is None or not path.exists():
        return None
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size - _CODE_BYTES
        code = _code(file, size, key, folder, trial_id)
        if not hmac.compare_digest(file.read(), code):
            return None
        file.seek(0)
        pipelines: dict[tuple[int, int], FittedPipeline] = pickle.load(file)
    return pipelines


def models_mib(folder: Path, trial_id: str) -> float:
    """Size of the fold models that are kept of a trial; 0 if none are."""
    try:
        return _file(folder, trial_id).stat().st_size / 2**20
    except OSError:
        return 0.0


def remove_models(folder: Path, trial_id: str) -> None:
    """Remove the fold models of a trial, if there are any."""
    _file(folder, trial_id).unlink(missing_ok=True)


def remove_all_models(folder: Path) -> None:
    """Remove the fold models of a run whose final model is written."""
    shutil.rmtree(folder / "models", ignore_errors=True)


def _file(folder: Path, trial_id: str) -> Path:
    return folder / "models" / f"{trial_id}.pickle"


def _code(file: BinaryIO, size: int, key: bytes, folder: Path, trial_id: str) -> bytes:
    """HMAC of the next `size` bytes of a file, as the fold models of a trial of this run."""
    code = hmac.new(key, f"fold models\0{folder.name}\0{trial_id}\0".encode(), hashlib.sha256)
    while size > 0 and (part := file.read(min(size, _READ_BYTES))):
        code.update(part)
        size -= len(part)
    return code.digest()
