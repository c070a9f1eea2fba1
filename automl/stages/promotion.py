"""Whether a new model takes the alias ``champion`` from the model that holds it.

The rows to compare on, and the champion's predictions of them, were chosen before anything was
trained (`automl.run.challenge`). The better score has the alias. Where no such comparison is
possible the alias stays, the new version is the ``challenger``, and the record says why.

Records: ``promotion`` (scores and decision) and ``registration``, which the tracking mirror obeys:
also when it comes to it later, it moves the alias only if that is still where it was when the
models were compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from automl.data.table import Table
from automl.inference.bundle import load_bundle
from automl.installation import read_key
from automl.randomness import Purpose, stream
from automl.records import IntArray, Trial
from automl.run.challenge import Challenge, read_answers, rows_folder
from automl.run.session import Session
from automl.run_records.final import FinalRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.registration import RegistrationRule
from automl.tracking.holders import CHAMPION, holders

BOOTSTRAPS = 200
"""Of the rows: the share that the new model wins is known to 0.035."""


def decide_promotion(
    session: Session,
    trials: Sequence[Trial],  # noqa: ARG001 - what every stage is given
    final: FinalRecord,  # noqa: ARG001 - which must be there
) -> PromotionRecord:
    """Score both models on the rows for the comparison, and say who has the alias.

    The final model is read from its bundle. The standard error of the difference is that of a paired
    bootstrap over the rows.
    """
    challenge = Challenge.read(session.folder) or Challenge(reason="nothing was held back")
    record = PromotionRecord(
        challenge.promote,
        challenge.reason,
        challenge.champion,
        challenge.fresh_rows,
        challenge.rows,
        challenge.held_rows,
    )
    if challenge.rows:
        record = _duel(session, challenge, record)
    RegistrationRule(
        promote=record.promote,
        reason=record.reason,
        compared_with=challenge.version,
        is_compared=record.is_compared,
    ).write(session.records)
    return record


def _duel(session: Session, challenge: Challenge, record: PromotionRecord) -> PromotionRecord:
    """Scores of both models on the rows held back, and who has the alias."""
    rows = Table.load(rows_folder(session.folder))
    model = load_bundle(session.folder.bundle, key=read_key(), run=session.run_id)
    prediction = model.raw_typed(rows.frame)
    ours, theirs = (prediction, model.codes(prediction)), read_answers(session.folder)
    everything = np.arange(len(rows))
    new, old = (_score(session, rows, everything, *each) for each in (ours, theirs))
    if not np.isfinite(new - old):
        reason = f"the score is not defined on the {len(rows)} rows new to both"
        return replace(record, reason=reason)
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
    return replace(
        record,
        promote=new > old and not moved,
        is_compared=not moved,
        reason=reason,
        score=new,
        champion_score=old,
        difference_standard_error=float(error),
    )


def _score(
    session: Session,
    rows: Table,
    drawn: IntArray,
    prediction: NDArray[np.float32],
    codes: IntArray | None,
) -> float:
    """Performance index of some rows; NaN where it is not defined, as without any positive row."""
    weights = None if rows.weights is None else np.asarray(rows.weights)[drawn]
    try:
        return session.plan.index.score(
            np.asarray(rows.y)[drawn],
            prediction[drawn],
            weights,
            labels=None if codes is None else codes[drawn],
        )
    except ValueError:
        return float("nan")


def _moved(session: Session, challenge: Challenge) -> str:
    """Why the holder of the alias is not the model that was compared; empty if it is."""
    aliases = holders(session.settings.problem, session.home.path)
    if not aliases.is_current:
        return f"who holds the alias {CHAMPION} is not known now: the registry is away"
    holder = aliases.champion
    if holder == challenge.version:
        return ""
    return (
        f"the alias {CHAMPION} was moved from version {challenge.version} to {holder or 'none'} "
        "meanwhile"
    )
