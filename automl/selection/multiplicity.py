"""How often a test may err: which comparisons share one significance level.

The members of a node are those that the nodes below promoted, by the same scores. Their best is
therefore the best of *all* candidates below the node, and a test that counts only the members drops
an equal model too often. So all but `thesis` and `bayesian` count every candidate below.

What is guaranteed where all candidates are equally good and the tests' assumptions hold:

- `closed`, ``alpha_split: level``: with probability 1 - alpha no candidate is dropped by a test at
  any node of a level at which it is among the best of all candidates below the node (Holm over all
  candidates of all nodes of the level).
- `closed`, ``alpha_split: tree``: with probability 1 - alpha no candidate that is among the best of
  all is dropped in the whole tree (Holm over all candidates). Both hold whatever the others are.
- `paired`, ``alpha_split: level``: with probability 1 - alpha no candidate is dropped by a test at
  any node of a level (Holm over all pairs of candidates that share a node of the level).
- `paired`, ``alpha_split: tree``: with probability 1 - alpha none is dropped in the whole tree
  (Holm over all pairs of candidates). Both also hold for the equal ones among unequal candidates.
- `mcb`: the same for one given candidate that is among the best, at its node of the level, or on its
  way through the tree; that any of several equals is dropped is more probable.
- `friedman`, ``level``: each decision keeps its alpha, were the folds independent (they are not);
  ``tree``: alpha is divided by the number of decisions.
- `thesis` as the document has it, each test at its alpha (``tree``: divided by the number of
  decisions); neither independence nor the picking of members is accounted for.
- `bayesian`: no rate of errors. Each member is judged by the posterior of its difference to the best
  member, and a rope of practical equivalence is what keeps equal ones (``tree``: alpha is divided
  by the number of decisions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import Rest
from automl.selection.selection_records import Level
from automl.significance import KEEPS_THE_TREE
from automl.statistics.multiple_comparison import not_best_pvalues
from automl.statistics.paired import corrected_t_of_pairs

Place = tuple[str, ...]


@dataclass(frozen=True)
class Multiplicity:
    """Comparisons at the nodes of one tree.

    Parameters
    ----------
    nodes
        Candidates below each node that decides, by its place: family and choices on the way.
    kinds
        Level of each of them.
    settings
        How groups are compared.
    """

    nodes: Mapping[Place, tuple[Candidate, ...]]
    kinds: Mapping[Place, Level]
    settings: ComparisonSettings

    @classmethod
    def of(cls, candidates: Sequence[Candidate], settings: ComparisonSettings) -> Multiplicity:
        """Nodes of the tree of these candidates."""
        nodes: dict[Place, tuple[Candidate, ...]] = {}
        kinds: dict[Place, Level] = {}
        _collect((), tuple(candidates), nodes, kinds)
        return cls(nodes, kinds, settings)

    def alpha(self, alpha: float) -> float:
        """Level of the tests of one decision."""
        if self.settings.alpha_split == "level" or self.settings.procedure in KEEPS_THE_TREE:
            return alpha
        return alpha / max(sum(len(below) > 1 for below in self.nodes.values()), 1)

    def rest(self, place: Place, members: Sequence[Candidate]) -> Rest:
        """Other tests that share the level at a node."""
        if self.settings.procedure in ("thesis", "bayesian"):
            return Rest()
        is_tree = self.settings.alpha_split == "tree" and self.settings.procedure != "friedman"
        present = {member.trial_id for member in members}
        beside = [c for c in self.nodes[() if is_tree else place] if c.trial_id not in present]
        further: list[float] = []
        if self.settings.procedure in ("closed", "paired") and not is_tree:
            for other, below in self.nodes.items():
                if other != place and self.kinds[other] == self.kinds[place]:
                    further += self._pvalues(below)
        return Rest(tuple(_scores(candidate) for candidate in beside), tuple(further))

    def _pvalues(self, candidates: Sequence[Candidate]) -> list[float]:
        """Of all pairs, or of all candidates; none if no test is possible."""
        if len(candidates) < 2 or len(candidates[0].scores) < 2:
            return []
        test = corrected_t_of_pairs if self.settings.procedure == "paired" else not_best_pvalues
        _, pvalues = test(
            [_scores(candidate) for candidate in candidates],
            test_train_ratio=self.settings.test_train_ratio,
        )
        return [float(pvalue) for pvalue in pvalues]


def split_at(
    place: Place, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], dict[str, list[Candidate]]]:
    """Candidates that sit at a node themselves, and those of each branch below it."""
    members: list[Candidate] = []
    branches: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        steps = (candidate.configuration.family, *candidate.configuration.path)
        if len(steps) == len(place):
            members.append(candidate)
        else:
            branches.setdefault(steps[len(place)], []).append(candidate)
    return members, branches


def decides(place: Place, members: Sequence[Candidate], n_branches: int) -> bool:
    """Whether a node makes a decision; one with a single branch would repeat the one below it."""
    return not place or bool(members) or n_branches > 1


def level_of(place: Place, *, has_branches: bool) -> Level:
    """Kind of a node."""
    if not place:
        return Level.ROOT
    if not has_branches:
        return Level.LEAF
    return Level.FAMILY if len(place) == 1 else Level.CATEGORY


def _collect(
    place: Place,
    candidates: tuple[Candidate, ...],
    nodes: dict[Place, tuple[Candidate, ...]],
    kinds: dict[Place, Level],
) -> None:
    members, branches = split_at(place, candidates)
    for branch, inside in branches.items():
        _collect((*place, branch), tuple(inside), nodes, kinds)
    if decides(place, members, len(branches)):
        nodes[place] = candidates
        kinds[place] = level_of(place, has_branches=bool(branches))


def _scores(candidate: Candidate) -> FloatArray:
    return np.asarray(candidate.scores)
