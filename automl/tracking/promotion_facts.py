"""A comparison with the champion in the tracking store: tags, metrics, and text of the version."""

from __future__ import annotations

from automl.run_records.promotion import PromotionRecord
from automl.tracking.layout import finite
from automl.tracking.looks import COMPARED_TAG

DECISION_TAG = "automl.promotion.decision"
PROMOTED, KEPT = "promoted", "kept"
"""The new model has the alias; the champion before it keeps it."""
_TAGS = ("rule", "rows", "level", "look", "margin", "unit")


def promotion_tags(record: PromotionRecord | None) -> dict[str, str]:
    """Rule, error spent and evidence of a comparison; none without one."""
    if record is None or not record.is_compared:
        return {}
    values = {f"automl.promotion.{name}": getattr(record, name) for name in _TAGS}
    values |= {f"automl.{name}": value for name, value in promotion_metrics(record).items()}
    return {COMPARED_TAG: record.champion_version, **{k: _text(v) for k, v in values.items()}}


def promotion_metrics(record: PromotionRecord | None) -> dict[str, float]:
    """Difference to the champion, its interval and p-value; none without a comparison."""
    if record is None or not record.is_compared:
        return {}
    return finite(
        {
            "promotion.difference": record.difference,
            "promotion.low": record.low,
            "promotion.high": record.high,
            "promotion.pvalue": record.pvalue,
            "promotion.level": record.level,
            "promotion.look": None if record.look is None else float(record.look),
        }
    )


def promotion_lines(record: PromotionRecord | None) -> list[str]:
    """Why the model takes the alias or not, in a sentence."""
    if record is None or not record.reason:
        return []
    if record.promote:
        decision = "Takes the alias champion"
    elif record.champion:
        decision = f"{record.champion} stays champion"
    else:
        decision = "Does not take the alias champion"
    return [f"{decision}: {record.reason}."]


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
