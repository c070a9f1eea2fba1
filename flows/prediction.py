"""Predictions of a trained model for the rows of a table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.errors import DataError, SettingsError
from automl.evaluation.machine_limits import usable_cores
from automl.home import Home, RunFolder
from automl.inference.manifest import MANIFEST, parse_manifest
from automl.tracking.own_models import FoundBundle, bundle_digest, bundle_of_run, is_run, own_bundle

if TYPE_CHECKING:
    import pandas as pd

    from automl.inference.deviations import Deviations
    from automl.inference.model import TableModel
    from automl.records import Trial
    from automl.run.model_evaluation import ModelEvaluation

STDOUT = "-"
SUFFIXES = (".csv", ".csv.gz", ".parquet")
DIGEST_CHARACTERS = 16
"""Characters of a digest that tell models apart."""


@dataclass(frozen=True)
class Predicted:
    """Predictions of a table.

    Parameters
    ----------
    rows
        Raw, as they were read.
    frame
        Column ``prediction`` and, if asked for, one column per class.
    deviations
        What the table holds that the training table did not.
    """

    rows: pd.DataFrame
    frame: pd.DataFrame
    deviations: Deviations


@dataclass(frozen=True)
class Predictor:
    """A model that predicts tables.

    Parameters
    ----------
    identity
        Id of the trial or run that made the model, else the start of its digest.
    run_id
        Of the run that made it; empty if that is not known.
    trial
        That it is; None for the model of the run.
    proba
        Whether one column per class is wanted as well.
    log
        Folder in which rows and predictions are kept; None for none.
    """

    model: TableModel
    identity: str
    run_id: str = ""
    trial: Trial | None = None
    proba: bool = False
    log: Path | None = None

    @classmethod
    def open(
        cls,
        model: str,
        home: Home,
        *,
        proba: bool = False,
        trust: bool = False,
        strict: bool = False,
        log: bool = False,
    ) -> Predictor:
        """The model that `model` names.

        Parameters
        ----------
        model
            Our run id, a bundle folder, ``NAME@ALIAS`` or a model URI; with ``#TRIAL`` a trial of its run.
        trust
            Load a model that can only be unpickled.
        strict
            Refuse a table that lacks columns of the model.
        log
            Keep rows and predictions in the home.

        Raises
        ------
        SettingsError
            If nothing of this name has a model, it needs `trust`, or `proba` is asked of a regression model.
        DataError
            If the bundle's files differ from their digests.
        ServiceError
            If the model registry cannot be reached.
        """
        reference, trial = split_trial(model)
        found = find_model(reference, home)
        loaded = found.load(trust=trust)
        chosen = _trial_of(found, home, trial) if trial else None
        if chosen is not None:
            from automl.stages.trial_models import model_of_trial

            folder = RunFolder(home.runs / found.run_id)
            loaded = model_of_trial(folder, loaded, chosen, trust=trust)
        loaded.strict, loaded.n_jobs = strict, usable_cores()
        if proba and loaded.task == "regression":
            raise SettingsError("--proba needs a model of classes; this one predicts numbers")
        identity = found.run_id or bundle_digest(found.folder)[:DIGEST_CHARACTERS]
        identity = identity if chosen is None else chosen.id
        kept = log_folder(identity, home) if log else None
        return cls(loaded, identity, found.run_id, chosen, proba, kept)

    def table(self, source: str) -> Predicted:
        """Predictions for the rows of a table; see `automl.data.readers.read_table`.

        Raises
        ------
        DataError
            With the name of the table, if it cannot be read, has no rows, or the model cannot take them.
        """
        import pandas as pd

        from automl.data.readers import read_table, source_name

        rows = read_table(source)
        if rows.empty:
            raise DataError(f"{source_name(source)} has no rows to predict")
        try:
            typed = self.model.typed(rows)
        except DataError as error:
            raise DataError.of(error.problems, source=source_name(source)) from None
        raw = self.model.raw_typed(typed)
        frame = pd.DataFrame({"prediction": self.model.labels(raw)})
        if self.proba:
            for position, label in enumerate(self.model.classes_):
                frame[_class_column(label, frame)] = raw[:, position]
        return Predicted(rows, frame, self.model.deviations(rows, typed))

    def evaluate(self, source: str, home: Home, *, trust: bool = False) -> ModelEvaluation:
        """Score of the model on the labelled rows of a table, by the measure of its run.

        Raises
        ------
        DataError
            With the name of the table, as `automl.run.model_evaluation.evaluate_model`, or if it cannot be read.
        SettingsError
            If the measure names code that only `trust` allows.
        """
        from automl.data.readers import read_table, source_name
        from automl.run.model_evaluation import evaluate_model, labelled_rows, measure_of

        measure = measure_of(RunFolder(home.runs / self.run_id), trust=trust)
        rows = labelled_rows(self.model, read_table(source), measure, source=source_name(source))
        return evaluate_model(self.model, rows, measure)

    def validated(self, home: Home) -> tuple[str, Mapping[str, float]]:
        """How the run that made the model validated it, and what it found; no values where its folder is gone."""
        from automl.metrics.words import validated_words
        from automl.run_records.final import FinalRecord
        from automl_flows.words.result_display import data_facts

        folder = RunFolder(home.runs / self.run_id)
        words = validated_words(data_facts(folder).get("folds") or 0)
        if self.trial is not None:
            return words, {**self.trial.metrics, "score": self.trial.achieved}
        final = FinalRecord.read(folder) if self.run_id else None
        return words, {} if final is None else {**final.metrics, "score": final.score}

    def remember(self, found: Predicted) -> None:
        """Keep rows and predictions, where that is wanted; only columns that the model takes.

        Raises
        ------
        StorageError
            If the disk refuses.
        """
        if self.log is None:
            return
        from automl.monitoring.log import append

        known = [name for name in found.rows.columns if name in self.model.schema.names]
        append(self.log, found.rows[known], found.frame)


def split_trial(model: str) -> tuple[str, str]:
    """``RUN#TRIAL`` as the model and the trial; the trial is empty if the reference names none."""
    if "#" not in model or Path(model).expanduser().exists():
        return model, ""
    reference, _, trial = model.rpartition("#")
    return reference, trial


def _trial_of(found: FoundBundle, home: Home, name: str) -> Trial:
    """Trial of the run that made a model: by id, short id or number, or the best one of a family.

    Raises
    ------
    SettingsError
        If the run is not in the home, or has no such trial.
    """
    from automl.reports.run_choices import choices_of

    if not found.run_id:
        raise SettingsError(
            f"the run that made {found.label} is not known, so it has no trial {name!r}"
        )
    choices = choices_of(home.run(found.run_id))
    of_family = (trial for trial in choices.complete if trial.configuration.family == name)
    return next(of_family, None) or choices.trial(name)


def log_folder(identity: str, home: Home) -> Path:
    """Where rows and predictions of a model are kept."""
    return home.path / "monitoring" / identity


def find_model(model: str, home: Home) -> FoundBundle:
    """Bundle that `model` names; MLflow is loaded only where it is none that a run of this home made.

    Raises
    ------
    SettingsError, DataError, ServiceError
        As `Predictor.open`.
    """
    folder = Path(model).expanduser()
    if not model or folder.is_file():
        named = f"the file {model}" if model else "nothing"
        raise SettingsError(
            f"a model is a run id, NAME@ALIAS, a model URI or a bundle folder; got {named}"
        )
    if folder.is_dir():
        run = str(parse_manifest(folder / MANIFEST)[1].extra.get("run", ""))
        return FoundBundle(folder, model, run if is_run(run) else "")
    _check_run(model, home)
    if is_run(model):
        return bundle_of_run(model, home.path)
    text = model.removeprefix("models:/")
    own = None
    if not model.startswith("runs:/") and not text.startswith("m-"):
        own = own_bundle(text, home.path)
    if own is not None:
        return own
    from automl.tracking.model_registry import find_bundle
    from automl_flows.services.promotion_events import tell_new_champions

    found = find_bundle(model, home.path)
    tell_new_champions(home)  # a model whose registration was late may be one
    return found


def _check_run(model: str, home: Home) -> None:
    """Refuse a text without marks that is no run of the home, with a hint at names."""
    if any(mark in model for mark in "@:/"):
        return
    try:
        home.run(model)
    except SettingsError as error:
        if model[:1].isdigit():  # a run id, mistyped
            raise
        hint = f"a registered model is NAME@ALIAS, such as {model}@champion"
        raise SettingsError(f"{error.message}; {hint}") from None


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
    temporary = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=suffix)
        os.close(handle)
        temporary = Path(name)
        if suffix == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise SettingsError(f"output file {path} cannot be written: {error}") from None
    finally:
        if temporary is not None:
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
