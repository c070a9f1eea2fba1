"""The decisions of a selection as a table: every member of every node with the evidence on it."""

from __future__ import annotations

from collections.abc import Iterator

from automl.records import short_id
from automl.selection.dispositions import number_text
from automl.selection.selection_records import LevelDecision, Member, SelectionRecord

NOTHING = "-"


def chance_name(selection: SelectionRecord) -> str:
    """What the numbers beside the tests are: p-values, or probabilities of being worse."""
    members = [member for decision in selection.decisions for member in decision.members]
    return "P(worse)" if any(member.posterior is not None for member in members) else "p-value"


def decision_rows(selection: SelectionRecord) -> Iterator[tuple[str, ...]]:
    """Cells of every member of every decision, from the leaves to the root.

    Node (at its first member), trial, mean score, test, its p-value or the probability of being
    worse, and what became of the member there. No cell beside the node's is empty: the best member
    and one that is alone say so, and where no test was possible the reason stands.
    """
    for decision in selection.decisions:
        for position, member in enumerate(decision.members):
            test, chance = _evidence(decision, member, selection)
            yield (
                "" if position else decision.node,
                short_id(member.trial_id),
                f"{member.mean_score:.4f}",
                test,
                chance,
                str(member.verdict),
            )


def _evidence(
    decision: LevelDecision, member: Member, selection: SelectionRecord
) -> tuple[str, str]:
    """Test and chance of one member."""
    if len(decision.members) == 1:
        return "none: alone here", NOTHING
    if not decision.post_hoc and not decision.tests:
        return f"none: {untested(decision, selection)}", NOTHING
    if not decision.post_hoc:
        last = decision.tests[-1]
        return f"{last.name} of all", number_text(last.pvalue)
    if member.trial_id == decision.best:
        return "the best here, the others are compared with it", NOTHING
    if member.posterior is not None:
        return decision.post_hoc, number_text(member.posterior.greater)
    return decision.post_hoc, number_text(member.pvalue)


def untested(decision: LevelDecision, selection: SelectionRecord) -> str:
    """Why no test was possible among the members of a node."""
    scores = {candidate.trial_id: candidate.scores for candidate in selection.candidates}
    if any(len(scores[member.trial_id]) < 2 for member in decision.members):
        return "one score each admits no test"
    return "all scores are equal"
