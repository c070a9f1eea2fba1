"""Whether a new model takes the alias ``champion`` from the model that holds it.

A run with the setting `challenge` holds back some rows of its table before anything is trained:
rows that are, by digest, not among the champion's training rows. The champion's predictions of
them are made at once, the new model's when it is finished; the better score has the alias. Where
no such comparison is possible the alias stays, and the record says why.

Records: ``challenge`` (what was held back, or why nothing could be), ``promotion`` (scores and
decision) and ``registration``, which the tracking mirror obeys: also when it comes to it later, it
moves the alias only if that is still where it was when the models were compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.digests import used_row_digests
from automl.data.splits import split_test
from automl.data.table import Table
from automl.data.target import label_text, missing_targets
from automl.errors import AutoMLError, ServiceError, SettingsError
from automl.evaluation.stage_records import StageRecords
from automl.home import RunFolder
from automl.inference.bundle import load_bundle
from automl.inference.model import TableModel
from automl.randomness import Purpose, stream
from automl.records import BoolArray, IntArray
from automl.settings import Settings
from automl.tracking.publication import CHAMPION
from automl.tracking.registry import aliases, find_bundle, settle, training_row_digests

if TYPE_CHECKING:
    from automl.stages.session import Session

LEAST_ROWS = 30
GOOD_ROWS = 100
FRESH_SHARE = 0.3
GREATEST_TABLE_SHARE = 1 / 3
GREATEST_ROWS = 20_000
BOOTSTRAPS = 200


@dataclass(frozen=True)
class Challenge:
    """What a run found of the model it wants to replace.

    Parameters
    ----------
    champion : such as ``beans-label/3``; empty if no model holds the alias
    rows : rows held back for the comparison; 0 where none is possible
    fresh_rows : rows that are not among the champion's training rows; None if unknown
    threshold
        The champion's, for two classes.
    promote : what happens without a comparison
    reason : one sentence, why there is no comparison; empty if there is one
    """

    champion: str = ""
    rows: int = 0
    fresh_rows: int | None = None
    threshold: float = 0.5
    promote: bool = False
    reason: str = ""

    @property
    def version(self) -> str:
        """Version that holds the alias; empty if none does."""
        return self.champion.rpartition("/")[2]


def hold_back(folder: RunFolder, settings: Settings, raw: pd.DataFrame, table: Table) -> Table:
    """Training rows that are left; those held back and the champion's predictions are written.

    Parameters
    ----------
    raw : (n_raw, n_columns)
        What `table` was made from.
    """
    records = StageRecords(folder.stages)
    # whoever publishes this run before its end must not move the alias
    _write_registration(records, promote=False, reason="the comparison was not finished")
    try:
        challenge, held = _compare_to_champion(folder, settings, raw, table)
    except AutoMLError as error:
        reason = f"the champion cannot be compared: {error.message}"
        challenge, held = Challenge(reason=reason), np.array([], dtype=np.int64)
    records.write("challenge", asdict(challenge))
    return table.subset(np.setdiff1d(np.arange(len(table)), held)) if len(held) else table


def decide_promotion(session: Session) -> dict[str, Any]:
    """Score both models on the rows held back, and say who has the alias.

    Returns
    -------
        Record with `promote`, `reason`, `champion`, `rows`, `score`, `champion_score` and the
        standard error of their difference, by a paired bootstrap over the rows.
    """
    challenge = Challenge(
        **(session.records.read("challenge") or {"reason": "nothing was held back"})
    )
    record: dict[str, Any] = {
        "promote": challenge.promote,
        "reason": challenge.reason,
        "champion": challenge.champion,
        "fresh_rows": challenge.fresh_rows,
        "rows": challenge.rows,
    }
    if challenge.rows:
        record |= _duel(session, challenge)
    _write_registration(
        session.records,
        promote=record["promote"],
        reason=record["reason"],
        compared_with=challenge.version,
    )
    return record


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


def choose_rows(table: Table, fresh: BoolArray, *, seed: int) -> IntArray:
    """Positions of the rows to hold back; the same for the same table and seed.

    Groups stay whole, in time order it is the last rows, classes keep their shares, and no row is
    chosen that is equal to a training row or the last of its class.

    Parameters
    ----------
    fresh : (n_rows,)
        Rows that the champion was not trained on.

    Returns
    -------
    (n_held,)
        Sorted; empty where fewer than `LEAST_ROWS` can be held back.
    """
    none: IntArray = np.array([], dtype=np.int64)
    if table.groups is not None:
        fresh = fresh & ~np.isin(table.groups, table.groups[~fresh])
    positions = np.flatnonzero(fresh)
    n_held = n_held_back(len(positions), len(table))
    if not n_held:
        return none
    held: IntArray = positions
    if n_held < len(positions):
        _, test = split_test(
            table.y[positions],
            table.task,
            share=n_held / len(positions),
            seed=seed,
            groups=None if table.groups is None else table.groups[positions],
            time=None if table.time is None else table.time[positions],
        )
        held = positions[test]
    held = _without_training_rows(table, held)
    return held if len(held) >= LEAST_ROWS else none


def _compare_to_champion(
    folder: RunFolder, settings: Settings, raw: pd.DataFrame, table: Table
) -> tuple[Challenge, IntArray]:
    """Challenge and positions of the rows held back."""
    home = folder.path.parents[1]
    none: IntArray = np.array([], dtype=np.int64)
    settle(settings.problem, home)
    if not _holder(settings.problem, home):
        reason = f"no model of {settings.problem!r} holds the alias {CHAMPION} yet"
        return Challenge(promote=True, reason=reason), none
    reference = f"{settings.problem}@{CHAMPION}"
    found = find_bundle(reference, home)
    try:
        model = load_bundle(found.folder, trust=found.is_own)
    except SettingsError as error:
        return Challenge(
            found.label, reason=f"{found.label} cannot be loaded: {error.message}"
        ), none
    kept = raw[~missing_targets(raw[table.target])]
    obstacle = _obstacle(found.label, model, kept, table)
    digests = training_row_digests(reference, home)
    if digests is None:
        obstacle = obstacle or f"the rows that {found.label} was trained on are not known"
    if obstacle or digests is None:
        return Challenge(found.label, reason=obstacle), none
    fresh = _fresh_rows(model, kept, table, digests)
    n_fresh = int(fresh.sum())
    held = choose_rows(table, fresh, seed=settings.seed)
    if not len(held):
        reason = (
            f"too few fresh rows: {n_fresh} of {len(table)} rows are new to {found.label}, of which "
            f"at least {LEAST_ROWS} must be held back from training"
        )
        return Challenge(found.label, fresh_rows=n_fresh, reason=reason), none
    _write_rows(folder, table, held, _predictions(model, kept.iloc[held], table))
    threshold = float(getattr(model, "threshold_", 0.5))
    return Challenge(found.label, len(held), n_fresh, threshold), held


def _holder(name: str, home: Path) -> str:
    """Version that holds the alias; empty if there is none."""
    try:
        return aliases(name, home).get(CHAMPION, "")
    except SettingsError:
        return ""


def _obstacle(label: str, model: TableModel, raw: pd.DataFrame, table: Table) -> str:
    """Why the champion cannot predict these rows; empty if it can."""
    if len(raw) != len(table):
        return "the rows of the table could not be matched to those that were read"
    if (model.task == "regression") == table.task.is_classification:
        return f"{label} is a model for {model.task}; the new table asks for {table.task}"
    missing = [name for name in model.schema.names if name not in raw.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5]))
        return f"{label} needs columns that the new table lacks: {shown}"
    known = set(table.classes or ())
    lost = [text for text in _class_texts(model) if text not in known]
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


def _without_training_rows(table: Table, held: IntArray) -> IntArray:
    """Leave out rows that are equal to a training row, and classes that training would lose."""
    is_training = np.ones(len(table), dtype=bool)
    is_training[held] = False
    held = held[~np.isin(table.row_digests[held], table.row_digests[is_training])]
    if table.task.is_classification:
        is_training[held] = False
        counts = np.bincount(table.y[is_training], minlength=table.n_classes)
        held = held[counts[table.y[held]] > 0]
    return held


def _predictions(model: TableModel, raw: pd.DataFrame, table: Table) -> NDArray[np.float32]:
    """The champion's predictions, with a column for each class of the new table."""
    predicted = model.raw(raw)
    if table.classes is None:
        return predicted
    columns = {text: code for code, text in enumerate(table.classes)}
    aligned = np.zeros((len(raw), len(columns)), dtype=np.float32)
    aligned[:, [columns[text] for text in _class_texts(model)]] = predicted
    return aligned


def _class_texts(model: TableModel) -> list[str]:
    return [label_text(label) for label in getattr(model, "classes_", ())]


def _rows_folder(folder: RunFolder) -> Path:
    return folder.path / "challenge"


def _write_rows(
    folder: RunFolder, table: Table, held: IntArray, predictions: NDArray[np.float32]
) -> None:
    table.subset(held).write(_rows_folder(folder))
    np.save(_rows_folder(folder) / "champion_predictions.npy", predictions)


def _duel(session: Session, challenge: Challenge) -> dict[str, Any]:
    """Scores of both models on the rows held back, and who has the alias."""
    rows = Table.load(_rows_folder(session.folder))
    model = load_bundle(session.folder.bundle, trust=True)
    ours = model.raw_typed(rows.frame), float(getattr(model, "threshold_", 0.5))
    theirs = (
        np.load(_rows_folder(session.folder) / "champion_predictions.npy"),
        challenge.threshold,
    )
    everything = np.arange(len(rows))
    new, old = (_score(session, rows, everything, *each) for each in (ours, theirs))
    if not np.isfinite(new - old):
        return {"reason": f"the score is not defined on the {len(rows)} rows held back"}
    rng = stream(session.settings.seed, Purpose.BOOTSTRAP, len(rows))
    error = np.nanstd(
        [
            _score(session, rows, drawn, *ours) - _score(session, rows, drawn, *theirs)
            for drawn in rng.integers(len(rows), size=(BOOTSTRAPS, len(rows)))
        ]
    )
    moved = _moved(session, challenge)
    better = "better" if new > old else "not better"
    reason = moved or (
        f"{better} than {challenge.champion} on {len(rows)} rows new to both: "
        f"{new:.4f} against {old:.4f}, difference {new - old:.4f} with standard error {error:.4f}"
    )
    return {
        "promote": new > old and not moved,
        "reason": reason,
        "score": new,
        "champion_score": old,
        "difference_standard_error": float(error),
    }


def _score(
    session: Session,
    rows: Table,
    drawn: IntArray,
    prediction: NDArray[np.float32],
    threshold: float,
) -> float:
    """Performance index of some rows; NaN where it is not defined, as without any positive row."""
    weights = None if rows.weights is None else np.asarray(rows.weights)[drawn]
    try:
        return session.plan.index.score(
            np.asarray(rows.y)[drawn], prediction[drawn], weights, threshold=threshold
        )
    except ValueError:
        return float("nan")


def _moved(session: Session, challenge: Challenge) -> str:
    """Why the holder of the alias is not the model that was compared; empty if it is."""
    try:
        holder = _holder(session.settings.problem, session.home.path)
    except ServiceError as error:
        return f"who holds the alias {CHAMPION} is not known now: {error.message}"
    if holder == challenge.version:
        return ""
    return (
        f"the alias {CHAMPION} was moved from version {challenge.version} to {holder or 'none'} "
        "meanwhile"
    )


def _write_registration(records: StageRecords, **rule: Any) -> None:
    records.write("registration", rule)
