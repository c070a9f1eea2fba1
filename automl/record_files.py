"""Small files that say which stage of a run is finished, and with what result."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from automl.durable import write_whole
from automl.errors import AutoMLWarning
from automl.evaluation.journal import plain

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SUFFIX = ".json"


class StageRecords:
    """One JSON file per finished stage; a record is there whole or not at all.

    Parameters
    ----------
    folder
        Made with the first record.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def write(self, name: str, data: Mapping[str, Any]) -> None:
        """Write or replace a record; durable when this returns.

        Parameters
        ----------
        name
            Letters, digits, ``_``, ``.`` and ``-``.
        data
            JSON data; numpy numbers and arrays are converted.

        Raises
        ------
        ValueError
            If the name has other characters.
        ServiceError
            If it cannot be written; an earlier record of that name stays.
        """
        path = self._path(name)
        text = json.dumps(dict(data), default=plain, indent=1)
        write_whole(path, [text.encode()], "the stage record", makes_folder=True)

    def read(self, name: str) -> dict[str, Any] | None:
        """The record, or None if there is none (or a damaged one: AutoMLWarning)."""
        path = self._path(name)
        try:
            data: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            warnings.warn(
                f"{path}: the stage record is damaged and ignored: {error}",
                AutoMLWarning,
                stacklevel=2,
            )
            return None
        return data

    def remove(self, name: str) -> None:
        """Delete a record, if it is there."""
        self._path(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Names of all records, sorted."""
        if not self._folder.is_dir():
            return []
        names = (path.name for path in self._folder.iterdir())
        return sorted(
            name.removesuffix(_SUFFIX)
            for name in names
            if name.endswith(_SUFFIX) and not name.startswith(".")
        )

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"a stage record's name must be letters, digits, _ . -; got {name!r}")
        return self._folder / f"{name}{_SUFFIX}"
