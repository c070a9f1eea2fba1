"""Predictions of a trained model for the rows of a table."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.errors import DataError, SettingsError
from automl.home import Home

if TYPE_CHECKING:
    import pandas as pd

    from automl.inference.deviations import Deviations
    from automl.inference.model import TableModel
    from automl.tracking.own_models import FoundBundle

STDOUT = "-"
SUFFIXES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Predicted:
    """Predictions of a table.

    Parameters
    ----------
    frame
        Column ``prediction`` and, if asked for, one column per class.
    deviations
        What the table holds that the training table did not.
    """

    frame: pd.DataFrame
    deviations: Deviations


def predict_table(
    model: str,
    table: str | Path,
    *,
    home: Home,
    proba: bool = False,
    trust: bool = False,
    strict: bool = False,
) -> Predicted:
    """Predictions for the rows of a table.

    Parameters
    ----------
    model
        Our run id, a bundle folder, ``NAME@ALIAS`` or a model URI.
    table
        See `automl.data.readers.read_table`.
    trust
        Load a model that can only be unpickled.
    strict
        Refuse a table that lacks columns of the model.

    Raises
    ------
    SettingsError
        If there is no such model, or `proba` is asked of a regression model.
    DataError
        If the table cannot be read or lacks all columns of the model.
    ServiceError
        If the model registry cannot be reached.
    """
    from automl.data.readers import read_table

    loaded = load_model(model, home, trust=trust)
    loaded.strict = strict
    check_probabilities(loaded, proba=proba)
    return predict_frame(loaded, read_table(table), str(table), proba=proba)


def check_probabilities(model: TableModel, *, proba: bool) -> None:
    """Refuse to ask probabilities of a regression.

    Raises
    ------
    SettingsError
        If they are asked.
    """
    if proba and model.task == "regression":
        raise SettingsError("--proba needs a model of classes; this one predicts numbers")


def predict_frame(
    model: TableModel, frame: pd.DataFrame, source: str, *, proba: bool = False
) -> Predicted:
    """Predictions for raw rows of the table `source`.

    Raises
    ------
    DataError
        With the name of the table, if it has no rows or the model cannot take them.
    """
    import pandas as pd

    from automl.data.readers import source_name

    if frame.empty:
        raise DataError(f"{source_name(source)} has no rows to predict")
    try:
        typed = model.typed(frame)
    except DataError as error:
        raise DataError.of(error.problems, source=source_name(source)) from None
    raw = model.raw_typed(typed)
    predicted = pd.DataFrame({"prediction": model.labels(raw)})
    if proba:
        for position, label in enumerate(model.classes_):
            predicted[_class_column(label, predicted)] = raw[:, position]
    return Predicted(predicted, model.deviations(frame, typed))


def load_model(model: str, home: Home, *, trust: bool = False) -> TableModel:
    """The model that `model` names; see `predict_table`.

    Raises
    ------
    SettingsError
        If nothing of this name has a model, or it needs `trust`.
    DataError
        If the bundle's files differ from their digests.
    ServiceError
        If the model registry cannot be reached.
    """
    folder = Path(model).expanduser()
    if not model or folder.is_file():
        named = f"the file {model}" if model else "nothing"
        raise SettingsError(
            f"a model is a run id, NAME@ALIAS, a model URI or a bundle folder; got {named}"
        )
    if folder.is_dir():
        from automl.inference.bundle import load_bundle
        from automl.installation import read_key

        return load_bundle(folder, trust=trust, key=read_key())
    if not any(mark in model for mark in "@:/"):
        try:
            home.run(model)
        except SettingsError as error:
            if model[:1].isdigit():  # a run id, mistyped
                raise
            hint = f"a registered model is NAME@ALIAS, such as {model}@champion"
            raise SettingsError(f"{error.message}; {hint}") from None
    return _found(model, home).load(trust=trust)


def _found(model: str, home: Home) -> FoundBundle:
    """Bundle of a run id, name or URI; MLflow is loaded only where the bundle is not a run's of this home."""
    from automl.tracking.own_models import bundle_of_run, is_run, own_bundle

    if is_run(model):
        return bundle_of_run(model, home.path)
    text = model.removeprefix("models:/")
    own = None
    if not model.startswith("runs:/") and not text.startswith("m-"):
        own = own_bundle(text, home.path)
    if own is not None:
        return own
    from automl.tracking.model_registry import find_bundle

    return find_bundle(model, home.path)


def check_output(output: str, *, table: str, as_json: bool) -> None:
    """Refuse an output file that cannot or must not be written, before any work.

    Raises
    ------
    SettingsError
        If its suffix is unknown, its folder is missing, it is the table that is to be predicted,
        or stdout is asked for twice.
    """
    if output == STDOUT:
        if as_json:
            raise SettingsError("-o - and --json both need stdout; give one of them")
        return
    path = Path(output)
    if not output.endswith(SUFFIXES):
        raise SettingsError(f"output file {path} must end with one of {', '.join(SUFFIXES)}")
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else f"is in {path.parent}, which does not exist"
        raise SettingsError(f"output file {path} {reason}")
    if not os.access(path.parent, os.W_OK):
        raise SettingsError(f"output file {path} is in a folder that cannot be written")
    if path.exists() and Path(table).exists() and path.samefile(table):
        raise SettingsError(f"output file {path} is the table itself; give another -o")


def write_predictions(frame: pd.DataFrame, output: str) -> None:
    """Write csv or parquet, by suffix; a file appears whole or not at all.

    Raises
    ------
    SettingsError
        If the file cannot be written.
    """
    if output == STDOUT:
        _write_stdout(frame)
        return
    path = Path(output)
    suffix = next(suffix for suffix in reversed(SUFFIXES) if output.endswith(suffix))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        if suffix == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise SettingsError(f"output file {path} cannot be written: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _write_stdout(frame: pd.DataFrame) -> None:
    from automl_flows.words.rendering import emit

    emit(frame.to_csv(index=False).rstrip("\n"))


def _class_column(label: Any, frame: pd.DataFrame) -> str:
    """The label as text; ``proba_`` before it where that name is taken."""
    text = str(label)
    return f"proba_{text}" if text in frame.columns else text


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
