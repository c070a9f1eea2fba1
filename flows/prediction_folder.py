"""Predictions for every file of a folder, each content once."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automl.content_digests import file_digest
from automl.durable import write_whole
from automl.errors import DataError, SettingsError
from automl_flows.prediction import STDOUT, SUFFIXES, Predictor, write_predictions
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
    A receipt beside them holds the file's digest, the model and whether probabilities were wanted: the same content
    is predicted once by a model, a file that was replaced again. A file that cannot be predicted is moved to
    ``FOLDER/failed``, with the reason in ``NAME.reason.txt``.

    Raises
    ------
    SettingsError
        If the folders are the same or not there, or the one of the predictions cannot be written.
    """
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a folder")
    if str(output) == STDOUT:
        raise SettingsError("the predictions of a folder need a folder; got -, which is stdout")
    if output.exists() and (not output.is_dir() or output.samefile(folder)):
        raise SettingsError(f"output {output} must be a different folder from {folder}")
    _make(output)
    outcome = FilesPredicted()
    place = DropPlace(str(folder.resolve()))
    for name, drop in sorted(place.listing()[0].items()):
        fault = f"{name} {drop.fault}" if drop.fault else ""
        if reason := fault or _predict(predictor, folder / name, output, outcome):
            outcome.failed[name] = reason
            place.set_aside(name, reason, version=drop.version, copy=None)
    return outcome


def _make(output: Path) -> None:
    """Make the folder of the predictions, with that of the receipts.

    Raises
    ------
    SettingsError
        If it cannot be made or written.
    """
    try:
        (output / RECEIPTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"output folder {output} cannot be made: {error.strerror or error}"
        ) from None
    if not all(os.access(each, os.W_OK | os.X_OK) for each in (output, output / RECEIPTS)):
        raise SettingsError(f"output folder {output} cannot be written")


def _predict(predictor: Predictor, file: Path, output: Path, outcome: FilesPredicted) -> str:
    """Predict a file, unless it is known or still written; why it is to be set aside, or nothing."""
    target = output / (file.name if file.name.endswith(SUFFIXES) else f"{file.name}.csv")
    receipt = output / RECEIPTS / f"{file.name}.json"
    digest = ""
    try:
        digest = _digest(file)
        facts = {"digest": digest, "model": predictor.identity, "proba": predictor.proba}
        if target.exists() and _content(receipt) == facts:
            outcome.known.append(file.name)
            return ""
        found = predictor.table(str(file))
        has_changed = _digest(file) != digest
    except DataError as error:
        if not _is_unfinished(file, digest):
            return error.message
        has_changed = True
    if has_changed:
        outcome.waiting.append(file.name)
        return ""
    write_predictions(found.frame, str(target))
    write_whole(receipt, [json.dumps(facts).encode()], "the receipt")
    predictor.remember(found)
    outcome.predicted[file.name] = len(found.frame)
    return ""


def _digest(file: Path) -> str:
    try:
        return file_digest(file)
    except OSError as error:
        raise DataError(f"{file.name} cannot be read: {error.strerror or error}") from None


def _is_unfinished(file: Path, digest: str) -> bool:
    """Whether a file that could not be predicted may still be written; one that is gone is not."""
    try:
        is_young = time.time() - file.stat().st_mtime < SETTLED_SECONDS
        return is_young or bool(digest and file_digest(file) != digest)
    except OSError:
        return False


def _content(receipt: Path) -> Any:
    """Facts of a receipt; those of earlier versions do not say `proba`, which was not looked at."""
    try:
        return {"proba": False, **json.loads(receipt.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError):
        return None
