"""Predictions for every file of a folder, each content once."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automl.content_digests import file_digest
from automl.durable import write_whole
from automl.errors import DataError, SettingsError
from automl_flows.prediction import SUFFIXES, Predictor, write_predictions
from automl_flows.services.drop_place import DropPlace

RECEIPTS = ".predicted"
SETTLED_SECONDS = 2.0
"""A file that cannot be read and is younger may still be written; it has its turn at the next call."""


@dataclass
class FilesPredicted:
    """Outcome of the files of a folder.

    Parameters
    ----------
    predicted
        Rows by file.
    known
        Files that have their predictions already.
    waiting
        Files that are still written.
    failed
        Sentence by file; these lie in the folder ``failed`` with it.
    """

    predicted: dict[str, int] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return dict(vars(self))


def predict_files(predictor: Predictor, folder: Path, output: Path) -> FilesPredicted:
    """Predict each table in a folder that has no predictions of this model yet.

    Predictions of ``NAME.csv`` are in ``OUTPUT/NAME.csv`` (other kinds: ``OUTPUT/NAME.KIND.csv``), whole or not at all.
    A receipt beside them holds the file's digest and the model: the same content is predicted once by a model, a
    file that was replaced again. A file that cannot be predicted is moved to ``FOLDER/failed``, with the reason in
    ``NAME.reason.txt``.

    Raises
    ------
    SettingsError
        If the folders are the same or not there.
    """
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a folder")
    if output.exists() and (not output.is_dir() or output.samefile(folder)):
        raise SettingsError(f"output {output} must be a different folder from {folder}")
    (output / RECEIPTS).mkdir(parents=True, exist_ok=True)
    outcome = FilesPredicted()
    place = DropPlace(str(folder.resolve()))
    for name, drop in sorted(place.listing()[0].items()):
        fault = f"{name} {drop.fault}" if drop.fault else ""
        if reason := fault or _predict(predictor, folder / name, output, outcome):
            outcome.failed[name] = reason
            place.set_aside(name, reason, version=drop.version, copy=None)
    return outcome


def _predict(predictor: Predictor, file: Path, output: Path, outcome: FilesPredicted) -> str:
    """Predict a file, unless it is known or still written; why it is to be set aside, or nothing."""
    target = output / (file.name if file.name.endswith(SUFFIXES) else f"{file.name}.csv")
    receipt = output / RECEIPTS / f"{file.name}.json"
    facts = {"digest": file_digest(file), "model": predictor.identity}
    if target.exists() and _content(receipt) == facts:
        outcome.known.append(file.name)
        return ""
    try:
        found = predictor.table(str(file))
    except DataError as error:
        if (
            time.time() - file.stat().st_mtime < SETTLED_SECONDS
            or file_digest(file) != facts["digest"]
        ):
            outcome.waiting.append(file.name)
            return ""
        return error.message
    if file_digest(file) != facts["digest"]:
        outcome.waiting.append(file.name)
        return ""
    write_predictions(found.frame, str(target))
    write_whole(receipt, [json.dumps(facts).encode()], "the receipt")
    predictor.remember(found)
    outcome.predicted[file.name] = len(found.frame)
    return ""


def _content(receipt: Path) -> Any:
    try:
        return json.loads(receipt.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
