"""Checks that the record of an ensemble adds up, and that the deployed model is the compared one.

The test is computed again from the scores of the folds, the verdict from the test and from the
scores on all rows, and the members from the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from automl.selection.checker import near
from automl.statistics.paired import corrected_t

Record = Mapping[str, Any]


def check_ensemble(record: Record, champion: str, final: Record) -> list[str]:
    """Problems of the records of a run's ensemble and of its final model, one sentence each.

    Parameters
    ----------
    record
        As `automl.stages.ensembling.build_ensemble` makes it, in plain JSON form.
    champion
        Trial id of the winner of the selection.
    final
        Record of the final model; empty before there is one.
    """
    try:
        decided = _followed(record) if record.get("recipe") else _decided(record, champion)
        return [*decided, *_deployed(record, final)]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return [f"the record of the ensemble cannot be read: {type(error).__name__} {error}"]


def _decided(record: Record, champion: str) -> Iterator[str]:
    """Whether the members follow from the evidence."""
    evidence, learned = record["evidence"], _shares(record["learned"])
    alone, is_replaced = {champion: 1.0}, False
    if evidence is not None:
        missing = [key for key in ("learned_score", "replaced_score") if key not in evidence]
        if missing:
            yield f"ensemble: no {' and '.join(missing)}, the scores of both on the same rows"
            return
        yield from _tested(evidence)
        is_replaced = evidence["is_replaced"] and not _equal(learned, alone)
    if record["replaced_champion"] is not is_replaced:
        yield f"ensemble: replaced_champion is {record['replaced_champion']}; it is {is_replaced}"
    expected = learned if is_replaced else alone
    for name, shares in (("members", _shares(record["members"])), ("learned", learned)):
        yield from _weighted(name, shares)
    if not _equal(_shares(record["members"]), expected):
        yield "ensemble: the members do not follow from the decision"
    if evidence is not None:
        score = evidence["learned_score" if is_replaced else "replaced_score"]
        if not near(record["score"], score):
            yield f"ensemble: score {record['score']}; the chosen model has {score} on all rows"


def _followed(record: Record) -> Iterator[str]:
    """Whether members and weights are such as another run can have had; nothing was decided here."""
    members = _shares(record["members"])
    if record["replaced_champion"] is not (len(members) > 1):
        yield (
            f"ensemble: replaced_champion is {record['replaced_champion']} with {len(members)} members "
            f"of run {record['recipe']}"
        )
    yield from _weighted("members", members)


def _weighted(name: str, shares: Mapping[str, float]) -> Iterator[str]:
    """Whether weights are positive with sum 1."""
    if shares and (min(shares.values()) <= 0 or not near(sum(shares.values()), 1.0)):
        yield f"ensemble: the weights of the {name} are not positive with sum 1"


def _tested(evidence: Record) -> Iterator[str]:
    """The test, and whether the ensemble takes the champion's place."""
    ensemble, champion = (np.array(evidence[f"{who}_scores"]) for who in ("ensemble", "champion"))
    again = corrected_t(
        ensemble,
        champion,
        test_train_ratio=evidence["test_train_ratio"],
        alternative="greater",
    )
    numbers = {
        "difference": float(ensemble.mean() - champion.mean()),
        "statistic": again.statistic,
        "pvalue": again.pvalue,
    }
    for name, number in numbers.items():
        if not near(float(evidence[name]), number):
            yield f"ensemble: {name} is {evidence[name]}; the scores of the folds give {number}"
    learned, replaced = evidence["learned_score"], evidence["replaced_score"]
    is_proven = again.pvalue < evidence["alpha"] and not np.array_equal(ensemble, champion)
    if evidence["is_replaced"] is not bool(is_proven and learned >= replaced):
        yield (
            f"ensemble: is_replaced is {evidence['is_replaced']} with p = {again.pvalue:.3g}, alpha "
            f"{evidence['alpha']:g}, {learned:.4g} on all rows and {replaced:.4g} of the champion"
        )


def _deployed(record: Record, final: Record) -> Iterator[str]:
    """Whether the final model has the members that were decided on."""
    if not final:
        return
    weighted = [member for member in final["members"] if member["weight"] > 0]
    deployed, decided = _shares(weighted), _shares(record["members"])
    if not _equal(deployed, decided):
        lacking = ", ".join(sorted(decided.keys() - deployed.keys()))
        yield "the members of the final model do not follow from the decision" + (
            f"; it lacks {lacking}" if lacking else ""
        )


def _shares(members: Sequence[Record]) -> dict[str, float]:
    return {member["trial_id"]: float(member["weight"]) for member in members}


def _equal(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether two blends are the same up to rounding and a common factor of their weights."""
    sums = [sum(shares.values()) or 1.0 for shares in (first, second)]
    return first.keys() == second.keys() and all(
        near(first[key] / sums[0], second[key] / sums[1]) for key in first
    )
