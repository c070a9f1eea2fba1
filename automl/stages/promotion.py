"""Whether a new model takes the alias ``champion`` from the model that holds it.

The rows to compare on, and the champion's predictions of them, were chosen before anything was
trained (`automl.run.challenge`). The rule is the setting `promotion`: proof that the new model is
better, proof that it is not worse by more than a margin, or none. Where no comparison is possible
the alias stays, the new version is the ``challenger``, and the record says why.

Records: ``promotion`` (scores and decision) and ``registration``, which the tracking mirror obeys:
also when it comes to it later, it moves the alias only if that is still where it was when the
models were compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from automl.data.table import Table
from automl.inference.bundle import load_bundle
from automl.installation import read_key
from automl.randomness import Purpose, stream
from automl.records import Trial
from automl.run.challenge import Challenge, read_answers, rows_folder
from automl.run.session import Session
from automl.run_records.final import FinalRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.registration import RegistrationRule
from automl.stages.model_comparison import Answers, Comparison, compare_models
from automl.statistics.block_jackknife import BlockComparison
from automl.statistics.spending import level_of_look
from automl.tracking.holders import CHAMPION, holders
from automl.tracking.looks import earlier_looks

MARGIN = 0.05
"""Share of the way from the constant to the ideal. Half of it keeps stale models where few rows come, twice of it lets in
more of what a broken drop has made; between them the cost hardly changes (`benchmarks/promotion`)."""


def decide_promotion(
    session: Session,
    trials: Sequence[Trial],  # noqa: ARG001 - what every stage is given
    final: FinalRecord,  # noqa: ARG001 - which must be there
) -> PromotionRecord:
    """Score both models on the rows for the comparison, and name the holder of the alias.

    The final model is read from its bundle.
    """
    challenge = Challenge.read(session.folder) or Challenge(reason="nothing was held back")
    record = PromotionRecord(
        challenge.promote,
        challenge.reason,
        challenge.champion,
        challenge.fresh_rows,
        challenge.rows,
        challenge.held_rows,
        rule=session.settings.promotion,
    )
    if challenge.rows:
        record = _duel(session, challenge, record)
    decides = challenge.champion and (record.promote or record.is_compared)
    if decides and (moved := _moved(session, challenge)):
        record = replace(record, promote=False, is_compared=False, reason=moved)
    RegistrationRule(
        promote=record.promote,
        reason=record.reason,
        compared_with=challenge.version,
        is_compared=record.is_compared,
        is_open=(record.difference or 0.0) > 0,
    ).write(session.records)
    return record


def _duel(session: Session, challenge: Challenge, record: PromotionRecord) -> PromotionRecord:
    """Scores of both models on the rows for the comparison, and the holder of the alias."""
    rows = Table.load(rows_folder(session.folder))
    model = load_bundle(session.folder.bundle, key=read_key(), run=session.run_id)
    prediction = model.raw_typed(rows.frame)
    found = compare_models(
        session.plan.index,
        rows,
        Answers(prediction, model.codes(prediction)),
        Answers(*read_answers(session.folder)),
        rng=stream(session.settings.seed, Purpose.BOOTSTRAP, len(rows)),
    )
    if found.evidence is None:
        return replace(record, reason=found.obstacle)
    return _judged(session, _measured(session, challenge, record, found, found.evidence))


def _measured(
    session: Session,
    challenge: Challenge,
    record: PromotionRecord,
    found: Comparison,
    evidence: BlockComparison,
) -> PromotionRecord:
    """The record with what the rule reads."""
    index, settings = session.plan.index, session.settings
    look = 1 + earlier_looks(session.home, challenge.champion, but=session.run_id)
    alpha, margin = settings.promotion_alpha, settings.promotion_margin
    margin = MARGIN / index.per_unit if margin is None else margin
    if settings.promotion == "superior":
        alpha, margin = level_of_look(alpha, look), 0.0
    low, high = evidence.interval()
    return replace(
        record,
        is_compared=True,
        score=found.new,
        champion_score=found.old,
        difference_standard_error=float(evidence.errors[0]),
        low=float(low[0]),
        high=float(high[0]),
        pvalue=float(evidence.pvalues(-margin * index.per_unit)[0]),
        level=alpha,
        look=look,
        margin=margin,
        unit=index.name if len(index.weights) == 1 else "index",
        difference_in_units=float(evidence.differences[0]) / index.per_unit,
    )


def _judged(session: Session, record: PromotionRecord) -> PromotionRecord:
    """The record with the rule's decision."""
    assert record.pvalue is not None
    assert record.level is not None
    if session.settings.promotion == "always":
        told = f"the newest model has the alias (promotion always); {_beside(record)}"
        return replace(record, promote=True, reason=told)
    promote = record.pvalue <= record.level
    allowed = f"p {record.pvalue:.2g}, at most {record.level:.2g} is allowed"
    if session.settings.promotion == "superior":
        verdict = "better than" if promote else "not proven better than"
        allowed += f" at look {record.look}"
    else:
        verdict = "not worse than" if promote else "perhaps worse than"
        allowed += f" for a margin of {record.margin:.3g} {record.unit}"
    return replace(record, promote=promote, reason=f"{verdict} {_beside(record)}; {allowed}")


def _beside(record: PromotionRecord) -> str:
    """Both scores and their difference in words."""
    interval = f"95 % interval {record.low:.4f} to {record.high:.4f}"
    if record.unit != "index":
        interval += f"; in {record.unit} {record.difference_in_units:.3g}"
    return (
        f"{record.champion} on {record.rows} rows new to both: {record.score:.4f} against "
        f"{record.champion_score:.4f}, difference {record.difference:.4f} ({interval})"
    )


def _moved(session: Session, challenge: Challenge) -> str:
    """Why the holder of the alias is not the model that was compared; empty if it is."""
    aliases = holders(session.settings.problem, session.home.path)
    if not aliases.is_current:
        return f"who holds the alias {CHAMPION} is not known now: the registry cannot be reached"
    holder = aliases.champion
    if holder == challenge.version:
        return ""
    return (
        f"the alias {CHAMPION} was moved from version {challenge.version} to {holder or 'none'} "
        "meanwhile"
    )
