"""The rows on which a run that challenges a champion is compared with it, chosen before it trains.

Every run of a problem that has a champion compares with it (setting `challenge`), be it the first
training on a table, one more, or a retraining. It is done on rows that are, by digest, not among
the champion's training rows: first those of the run's own test rows, then rows that are held back
before anything is trained. The champion's predictions of them are made at once.

Records: ``challenge`` (what was held back, or why nothing could be) and ``registration``, which
the tracking mirror obeys.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.digests import used_row_digests
from automl.data.splits import split_test
from automl.data.table import Table
from automl.durable import save_array
from automl.errors import AutoMLError, SettingsError
from automl.home import RunFolder
from automl.inference.labels import label_text, missing_targets
from automl.inference.model import TableModel
from automl.inference.raw_table import Column
from automl.listing import first_few
from automl.record_files import StageRecords
from automl.records import BoolArray, IntArray
from automl.run_records.registration import RegistrationRule
from automl.settings import Settings
from automl.stage_record import StageRecord
from automl.tracking.holders import holders
from automl.tracking.model_registry import champion_bundle, row_digests_of, settle

SETTLING_SHARE = 0.1
"""Share of the budget, for what earlier runs have left unregistered."""
LEAST_ROWS = 30
"""On fewer rows a comparison says next to nothing (by judgement)."""
GOOD_ROWS = 100
"""On so many a difference of some percent shows: worth up to half of the fresh rows (by judgement)."""
FRESH_SHARE = 0.3
"""Share of the fresh rows: from the others the new model learns what the champion could not (by judgement)."""
GREATEST_TABLE_SHARE = 1 / 3
GREATEST_ROWS = 20_000
"""More make training poorer and the comparison no clearer (by judgement)."""
NO_ROWS: IntArray = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class Challenge(StageRecord):
    """Facts about the model that a run wants to replace.

    Parameters
    ----------
    champion : such as ``beans-label/3``; empty if no model holds the alias
    rows : rows for the comparison; 0 where none is possible
    held_rows : those of them that were held back from training; the others are test rows
    fresh_rows : rows that are not among the champion's training rows; None if unknown
    promote : what happens without a comparison
    reason : one sentence, why there is no comparison; empty if there is one
    """

    stage: ClassVar[str] = "challenge"

    champion: str = ""
    rows: int = 0
    held_rows: int = 0
    fresh_rows: int | None = None
    promote: bool = False
    reason: str = ""

    @property
    def version(self) -> str:
        """Version that holds the alias; empty if none does."""
        return self.champion.rpartition("/")[2]


def has_champion(settings: Settings, home: Path) -> bool:
    """Whether there is a model to compare with, as far as the registry or its record tells.

    What earlier runs of the name have promised is registered first, within a small share of the budget.
    """
    if not settings.challenge:
        return False
    settle(settings.problem, home, within=_settling_seconds(settings))
    return bool(holders(settings.problem, home).champion)


def _settling_seconds(settings: Settings) -> float | None:
    return None if settings.seconds is None else SETTLING_SHARE * settings.seconds


def hold_back(
    folder: RunFolder,
    settings: Settings,
    raw: pd.DataFrame | None,
    table: Table,
    test: IntArray = NO_ROWS,
) -> IntArray:
    """Positions of rows that must not be trained on, besides the test rows.

    They are written, with the rows and the champion's predictions for the comparison.

    Parameters
    ----------
    raw : (n_raw, n_columns)
        What `table` was made from; None if there is no champion.
    test : (n_test,)
        Positions of the run's own test rows.

    Returns
    -------
    (n_held,)
        Sorted; empty if nothing has to be held back.
    """
    records = StageRecords(folder.stages)
    if raw is None:
        reason = f"first model of {settings.problem!r}: there was none to compare with"
        Challenge(promote=True, reason=reason).write(records)
        RegistrationRule(reason=reason, compared_with="").write(records)
        return NO_ROWS
    # whoever publishes this run before its end must not move the alias
    RegistrationRule(promote=False, reason="the comparison was not finished").write(records)
    try:
        challenge, held = _compare_to_champion(folder, settings, raw, table, test)
    except AutoMLError as error:
        reason = f"the champion cannot be compared: {error.message}"
        challenge, held = _uncompared(folder, settings, reason), NO_ROWS
    challenge.write(records)
    return held


def _uncompared(folder: RunFolder, settings: Settings, reason: str) -> Challenge:
    """The challenge where the champion's model is not there: only `promotion: always` replaces it."""
    if settings.promotion != "always":
        return Challenge(reason=reason)
    version = holders(settings.problem, folder.path.parents[1]).champion
    label = f"{settings.problem}/{version}" if version else ""
    return Challenge(label, promote=bool(version), reason=reason)


def n_held_back(n_fresh: int, n_rows: int) -> int:
    """Rows to hold back: 30 % of the fresh ones, but 100 where that is at most half of them.

    Parameters
    ----------
    n_fresh : rows that are not among the champion's training rows
    n_rows : rows of the whole table, of which at most a third is held back

    Returns
    -------
        0 where fewer than `LEAST_ROWS` could be held back.
    """
    wanted = max(LEAST_ROWS, min(n_fresh // 2, GOOD_ROWS), round(FRESH_SHARE * n_fresh))
    allowed = min(wanted, n_fresh, int(GREATEST_TABLE_SHARE * n_rows), GREATEST_ROWS)
    return allowed if allowed >= LEAST_ROWS else 0


def choose_rows(
    table: Table, fresh: BoolArray, *, seed: int, test: IntArray = NO_ROWS, holds: bool = True
) -> tuple[IntArray, IntArray]:
    """Positions of the rows to compare on, and which of them are to be held back from training.

    The fresh test rows count first; what is wanted beyond them is held back. The same for the same
    table and seed. Groups stay whole, in time order it is the last rows, classes keep their shares,
    and no row is chosen that is equal to a training row or the last of its class.

    Parameters
    ----------
    fresh : (n_rows,)
        Rows that the champion was not trained on.
    test : (n_test,)
        Positions of test rows, which are not trained on in any case.
    holds
        Whether rows may be held back where the test rows are not enough.

    Returns
    -------
    (n_compared,), (n_held,)
        Sorted; both empty if there are not `LEAST_ROWS` to compare on.
    """
    if table.groups is not None:
        fresh = fresh & ~np.isin(table.groups, table.groups[~fresh])
    own_test = np.zeros(len(table), dtype=bool)
    own_test[test] = True
    n_wanted = n_held_back(int(fresh.sum()), len(table)) - int((fresh & own_test).sum())
    n_wanted = n_wanted if holds else 0
    held = _split_off(table, np.flatnonzero(fresh & ~own_test), n_wanted, seed)
    held, tested = _without_training_rows(table, held, test, np.flatnonzero(fresh & own_test))
    compared = np.union1d(held, tested)
    return (compared, held) if len(compared) >= LEAST_ROWS else (NO_ROWS, NO_ROWS)


def _split_off(table: Table, positions: IntArray, n_wanted: int, seed: int) -> IntArray:
    """About `n_wanted` of these rows, chosen as test rows are."""
    if n_wanted <= 0 or n_wanted >= len(positions):
        return positions if n_wanted > 0 else NO_ROWS
    _, chosen = split_test(
        table.y[positions],
        table.task,
        share=n_wanted / len(positions),
        seed=seed,
        groups=None if table.groups is None else table.groups[positions],
        time=None if table.time is None else table.time[positions],
    )
    return positions[chosen]


def _compare_to_champion(
    folder: RunFolder, settings: Settings, raw: pd.DataFrame, table: Table, test: IntArray
) -> tuple[Challenge, IntArray]:
    """Challenge and positions of the rows held back."""
    home = folder.path.parents[1]
    champion = champion_bundle(settings.problem, home)
    is_open = settings.promotion == "always"
    try:
        model = champion.load(trust=settings.trust)
    except SettingsError as error:
        reason = f"{champion.label} cannot be loaded: {error.message}"
        return Challenge(champion.label, promote=is_open, reason=reason), NO_ROWS
    kept = raw[~missing_targets(Column(raw[table.target]))]
    obstacle = _obstacle(champion.label, model, kept, table)
    digests = row_digests_of(champion, home)
    if digests is None:
        obstacle = obstacle or f"the rows that {champion.label} was trained on are not known"
    if obstacle or digests is None:
        return Challenge(champion.label, promote=is_open, reason=obstacle), NO_ROWS
    fresh = _fresh_rows(model, kept, table, digests)
    n_fresh = int(fresh.sum())
    compared, held = choose_rows(table, fresh, seed=settings.seed, test=test, holds=not is_open)
    if not len(compared):
        reason = (
            f"too few fresh rows: {n_fresh} of {len(table)} rows are new to {champion.label}, of which "
            f"at least {LEAST_ROWS} must be kept from training"
        )
        return Challenge(champion.label, 0, 0, n_fresh, is_open, reason), NO_ROWS
    _write_rows(folder, table, compared, *_predictions(model, kept.iloc[compared], table))
    return Challenge(champion.label, len(compared), len(held), n_fresh, is_open), held


def _obstacle(label: str, model: TableModel, raw: pd.DataFrame, table: Table) -> str:
    """Why the champion cannot predict these rows; empty if it can."""
    if len(raw) != len(table):
        return "the rows of the table could not be matched to those that were read"
    if (model.task == "regression") == table.task.is_classification:
        return f"{label} is a model for {model.task}; the new table asks for {table.task}"
    missing = [name for name in model.schema.names if name not in raw.columns]
    if missing:
        return f"{label} needs columns that the new table lacks: {first_few(map(repr, missing))}"
    classes = set(table.classes or ())
    lost = [text for text in _class_texts(model) if text not in classes]
    if lost:
        return f"{label} knows class {lost[0]!r}, which the new table lacks"
    return ""


def _fresh_rows(
    model: TableModel, raw: pd.DataFrame, table: Table, digests: NDArray[np.uint64]
) -> BoolArray:
    """Rows that are not among the champion's training rows, as its own schema reads them."""
    labels: NDArray[Any] = table.y
    if table.classes is not None:
        labels = np.take(np.array(table.classes, dtype=object), table.y)
    return ~np.isin(used_row_digests(raw, model.schema, labels), digests)


def _without_training_rows(
    table: Table, held: IntArray, test: IntArray, tested: IntArray
) -> tuple[IntArray, IntArray]:
    """Leave out rows that are equal to a training row, and classes that training would lose.

    Parameters
    ----------
    held, test : positions of rows that are not trained on
    tested : those of `test` that are fresh
    """
    is_training = np.ones(len(table), dtype=bool)
    is_training[held] = is_training[test] = False
    digests = table.row_digests[is_training]
    held, tested = (rows[~np.isin(table.row_digests[rows], digests)] for rows in (held, tested))
    if table.task.is_classification:
        is_training[held] = False
        counts = np.bincount(table.y[is_training], minlength=table.n_classes)
        held = held[counts[table.y[held]] > 0]
    return held, tested


def _predictions(
    model: TableModel, raw: pd.DataFrame, table: Table
) -> tuple[NDArray[np.float32], IntArray | None]:
    """The champion's predictions, a column for each class of the new table, and the codes it decides on."""
    predicted = model.raw(raw)
    codes = model.codes(predicted)
    if table.classes is None or codes is None:
        return predicted, None
    columns = {text: code for code, text in enumerate(table.classes)}
    places = np.array([columns[text] for text in _class_texts(model)])
    aligned = np.zeros((len(raw), len(columns)), dtype=np.float32)
    aligned[:, places] = predicted
    return aligned, places[codes]


def _class_texts(model: TableModel) -> list[str]:
    return [label_text(label) for label in getattr(model, "classes_", ())]


def rows_folder(folder: RunFolder) -> Path:
    """Where the rows for the comparison are, with the champion's predictions of them."""
    return folder.path / "challenge"


def _write_rows(
    folder: RunFolder,
    table: Table,
    held: IntArray,
    predictions: NDArray[np.float32],
    codes: IntArray | None,
) -> None:
    table.subset(held).write(rows_folder(folder))
    save_array(rows_folder(folder) / "champion_predictions.npy", predictions)
    if codes is not None:
        save_array(rows_folder(folder) / "champion_codes.npy", codes)


def read_answers(folder: RunFolder) -> tuple[NDArray[np.float32], IntArray | None]:
    """The champion's predictions and codes for the rows held back."""
    codes = rows_folder(folder) / "champion_codes.npy"
    predictions = np.load(rows_folder(folder) / "champion_predictions.npy", allow_pickle=False)
    return predictions, np.load(codes, allow_pickle=False) if codes.exists() else None
