"""What a bad history costs a run: replays of whole searches on the shipped knowledge.

    python benchmarks/knowledge/guard.py [--knowledge FILE] [--seeds 20] [--ways portfolio ...] [--blend 20]

The knowledge holds the score of every configuration of a list on every data set. Each data set in turn is
searched among these, with what is known of all others as its history; nothing is fitted. A search begins
with the floors and goes on as runs do (`automl.search.opening`); when the opening is over it draws from the
rest of the list at random, in an order that depends on the seed alone. With --blend a meta-learner then has
its vote on which configuration of the drawn family it is, as runs with the setting `blend` have it. `cold`
begins with the hand-ordered portfolio. Histories:

- `true`: as it is;
- `inverted`: on each data set the best score becomes the worst;
- `shuffled`: on each data set scores change places;
- `half`: every other data set inverted;
- `praised`: the five worst configurations of each data set have its best score, all others its worst;
- `past`: the true history, and an inverted record of the data set itself;
- `scaled`: one data set, inverted, stands there fifty times under other names, with scores times a million.

Prints, for each history and number of trials, the mean loss: the score that a cold search has reached
less that of one with this history (0: the baseline, 1: perfect), with its 95 % interval over data sets.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from automl.experience.cleaning import cleaned, of_kind
from automl.experience.data_set import Experience, KnownTrial
from automl.experience.knowledge import read_knowledge, shipped
from automl.experience.past import past_best
from automl.families.family import Family
from automl.families.portfolio import portfolio
from automl.families.registry import families
from automl.origins import FLOOR, KNOWLEDGE, PAST, PORTFOLIO
from automl.randomness import Purpose, stream
from automl.recommendation.meta_learner import encoding_facts
from automl.recommendation.meta_vote import blended, vote_on
from automl.recommendation.methods import (
    ADAPTIVE,
    MOST,
    WAYS,
    Target,
    obstacle,
    recommended,
    similar_scores,
)
from automl.records import Configuration, FloatArray, Trial, TrialStatus
from automl.search.guide import Guide
from automl.search.opening import Opening
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

COLD = "cold"
MARKS = (10, 25, 50, 100)
LEAST_TRIALS = 60
N_BOOTSTRAPS = 2_000
History = list[Experience]


@dataclass(frozen=True)
class Vote:
    """Expected scores by configuration, of a family, and the trials that they count as much as."""

    expected: Callable[[str], dict[str, float]]
    weight: float


@dataclass(frozen=True)
class Problem:
    """A data set that is searched among the configurations that it has been tried with."""

    own: Experience
    others: tuple[Experience, ...]

    @cached_property
    def scores(self) -> dict[str, float]:
        """Score by configuration; a failed trial has none."""
        return {t.configuration.id: float(t.score) for t in self.own.trials if is_scored(t)}

    @cached_property
    def configurations(self) -> dict[str, Configuration]:
        """What can be tried, by id."""
        return {t.configuration.id: t.configuration for t in self.own.trials}

    @cached_property
    def families(self) -> dict[str, Family]:
        """Those that there are trials of."""
        names = {c.family for c in self.configurations.values()}
        return {name: one for name, one in families(self.own.data.task).items() if name in names}

    @cached_property
    def spaces(self) -> dict[str, SpaceTree]:
        """Their spaces."""
        data = self.own.data
        facts = encoding_facts(data)
        return {
            name: remembering(family.space(data.task).with_facts(**facts))
            for name, family in self.families.items()
        }

    @cached_property
    def written(self) -> list[Configuration]:
        """The hand-ordered portfolio for a table of this size."""
        data = self.own.data
        return portfolio(data.task, self.own.training_rows, data.columns)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Seconds of each trial, by configuration."""
        return {trial.configuration.id: trial.seconds for trial in self.own.trials}

    def opening(self, history: History | None, way: str, *, is_timed: bool = False) -> Opening:
        """How a search begins; without a history as a cold one does."""
        default = self.spaces["lightgbm"].default() if "lightgbm" in self.spaces else None
        floors = [(default, FLOOR)] if default is not None else []
        written = [(found, PORTFOLIO) for found in self.written]
        if history is None:
            return Opening([*floors, *written])
        past = past_best([cleaned(one, self.spaces) for one in history], self.own.data)
        given = [*floors, *((found, PAST) for found in past)]
        target = Target(self.own.data, self.spaces, {} if is_timed else None)
        if way == ADAPTIVE:
            known = similar_scores(history, target)
            if known is not None:
                return Opening(given, written, Guide.of(known, most=MOST, growth=target.growth))
        elif learned := recommended(history, target, way):
            return Opening([*given, *((found, KNOWLEDGE) for found in learned)], fallback=written)
        return Opening([*given, *written])

    def begin(self, opening: Opening, n_trials: int) -> list[Trial]:
        """Trials of the opening, whatever the seed is."""
        seen: list[Trial] = []
        tried: set[str] = set()
        while len(seen) < n_trials and (found := opening.pop(seen)) is not None:
            configuration, origin = found
            if configuration.id not in tried and configuration.id in self.configurations:
                tried.add(configuration.id)
                seen.append(self._trial(configuration, origin, len(seen)))
        return seen

    def vote(self, history: History, blend: float) -> Vote | None:
        """What a meta-learner of each family expects of its configurations; None: it is not asked."""
        if not blend or obstacle(history, self.own.data.task):
            return None
        known = [cleaned(one, self.spaces) for one in of_kind(history, self.own.data.task)]

        @cache
        def expected(family: str) -> dict[str, float]:
            encoder = ConfigurationEncoder(self.spaces[family]).fit()
            rng = stream(0, Purpose.META_LEARNER)
            vote = vote_on(self.own.data, known, encoder, k=blend, rng=rng)
            own = [c for c in self.configurations.values() if c.family == family]
            values = vote.expected(encoder.transform(own)) if vote else np.zeros(len(own))
            return {c.id: float(value) for c, value in zip(own, values, strict=True)}

        return Vote(expected, blend)

    def go_on(
        self, begun: Sequence[Trial], seed: int, n_trials: int, vote: Vote | None = None
    ) -> FloatArray:
        """(n_trials,) best score after each trial: those of the opening, then draws.

        With a vote each draw is of the same family, and the meta-learner has its say in which
        configuration of the family it is.
        """
        tried = {trial.configuration.id for trial in begun}
        rest = [key for key in self.configurations if key not in tried]
        drawn = [rest[i] for i in stream(seed, Purpose.SAMPLE).permutation(len(rest))]
        if vote is not None:
            drawn = self._voted(drawn, begun, n_trials - len(begun), vote)
        scores = [trial.score for trial in begun] + [self.scores.get(key) for key in drawn]
        best = np.maximum.accumulate([-np.inf if s is None else s for s in scores[:n_trials]])
        return np.pad(best, (0, n_trials - len(best)), mode="edge")

    def _voted(
        self, drawn: Sequence[str], begun: Sequence[Trial], n_trials: int, vote: Vote
    ) -> list[str]:
        """Ids in the order in which optimizers that draw would try them beside a vote."""
        family_of = {key: self.configurations[key].family for key in drawn}
        left: dict[str, list[str]] = {}
        for key in drawn:
            left.setdefault(family_of[key], []).append(key)
        n_complete = Counter(t.configuration.family for t in begun if t.score is not None)
        chosen = []
        for family in [family_of[key] for key in drawn[:n_trials]]:
            own, expected = left[family], vote.expected(family)
            votes = blended(
                np.array([expected[key] for key in own]),
                -np.arange(len(own)),
                n_complete[family],
                vote.weight,
            )
            chosen.append(own.pop(int(votes.argmax())))
            n_complete[family] += chosen[-1] in self.scores
        return chosen

    def _trial(self, configuration: Configuration, origin: str, index: int) -> Trial:
        score = self.scores.get(configuration.id)
        status = TrialStatus.FAILED if score is None else TrialStatus.COMPLETE
        return Trial("replay", index, configuration, status, score, origin=origin, seconds=1.0)


def remembering(space: SpaceTree) -> SpaceTree:
    """The space, which looks at each configuration once: all histories have the same ones."""
    vars(space)["is_legal"] = cache(space.is_legal)  # in place of the method
    return space


def is_scored(trial: KnownTrial) -> bool:
    """Whether a trial has a score."""
    return trial.status is TrialStatus.COMPLETE and trial.score is not None


def with_scores(one: Experience, change: Callable[[FloatArray], FloatArray]) -> Experience:
    """The same with other scores."""
    scored = [trial for trial in one.trials if is_scored(trial)]
    changed = change(np.array([float(t.score or 0.0) for t in scored]))
    pairs = zip(scored, changed, strict=True)
    return replace(one, trials=tuple(replace(t, score=float(s)) for t, s in pairs))


def inverted(scores: FloatArray) -> FloatArray:
    """The best becomes the worst."""
    return scores.max() + scores.min() - scores


def praised(scores: FloatArray) -> FloatArray:
    """The five worst are the best."""
    found = np.full(len(scores), scores.min())
    found[np.argsort(scores, kind="stable")[:5]] = scores.max()
    return found


def shuffled(one: Experience) -> Experience:
    """Scores change places."""
    rng = stream(len(one.trials), Purpose.SAMPLE)
    return with_scores(one, rng.permutation)


def histories(problem: Problem) -> dict[str, History]:
    """Histories by name."""
    others = list(problem.others)
    upside_down = [with_scores(one, inverted) for one in others]
    loud = with_scores(others[0], lambda scores: 1e6 * inverted(scores))
    copies = [
        replace(loud, id=f"copy-{i}", data=replace(loud.data, name=f"copy-{i}", fingerprint=f"{i}"))
        for i in range(50)
    ]
    return {
        "true": others,
        "inverted": upside_down,
        "shuffled": [shuffled(one) for one in others],
        "half": [one if i % 2 else upside_down[i] for i, one in enumerate(others)],
        "praised": [with_scores(one, praised) for one in others],
        "past": [*others, with_scores(problem.own, inverted)],
        "scaled": [*others, *copies],
    }


def only(one: Experience, ids: set[str]) -> Experience:
    """The same with the trials of some configurations: what else is known cannot be replayed."""
    return replace(one, trials=tuple(t for t in one.trials if t.configuration.id in ids))


def problems(known: Sequence[Experience]) -> Iterator[Problem]:
    """Data sets with enough trials, each with all others as its past."""
    for one in known:
        if sum(map(is_scored, one.trials)) >= LEAST_TRIALS:
            rest = (
                other
                for other in known
                if other.data.fingerprint != one.data.fingerprint
                and other.data.name != one.data.name
                and other.data.layout != one.data.layout
            )
            ids = {trial.configuration.id for trial in one.trials}
            yield Problem(one, tuple(only(other, ids) for other in rest))


def curves(
    problem: Problem, way: str, n_seeds: int, *, blend: float = 0.0
) -> dict[str, FloatArray]:
    """(n_seeds, marks) scores reached, by history; `cold` without any."""
    found = {}
    for name, history in {COLD: None, **histories(problem)}.items():
        opening = problem.opening(history, way)
        begun = problem.begin(opening, MARKS[-1])
        vote = None
        if history is not None and not opening.is_misled:
            vote = problem.vote(history, blend)
        rows = [problem.go_on(begun, seed, MARKS[-1], vote) for seed in range(n_seeds)]
        found[name] = np.array(rows)[:, np.array(MARKS) - 1]
    return found


def interval(values: FloatArray) -> tuple[float, float]:
    """95 % interval of the mean over data sets, by bootstrap."""
    rng = stream(0, Purpose.BOOTSTRAP)
    draws = rng.integers(len(values), size=(N_BOOTSTRAPS, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def losses(found: Sequence[dict[str, FloatArray]], name: str) -> FloatArray:
    """(data sets, marks) what a history costs, mean over seeds."""
    return np.array([(one[COLD] - one[name]).mean(axis=0) for one in found])


def report(way: str, found: Sequence[dict[str, FloatArray]]) -> None:
    """Table of the losses."""
    print(f"\n{way}, {len(found)} data sets\n")
    print("| history | " + " | ".join(f"{mark} trials" for mark in MARKS) + " |")
    print("|---" * (len(MARKS) + 1) + "|")
    for name in found[0]:
        if name == COLD:
            continue
        cells = []
        for of_mark in losses(found, name).T:
            low, high = interval(of_mark)
            cells.append(f"{of_mark.mean():+.4f} [{low:+.4f}, {high:+.4f}]")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--knowledge", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--ways", nargs="+", default=[ADAPTIVE], choices=WAYS)
    parser.add_argument("--blend", type=float, default=0.0)
    options = parser.parse_args()
    known = read_knowledge(options.knowledge).experiences if options.knowledge else shipped()
    found = list(problems(known))
    if not found:
        parser.error("the knowledge holds no data set with enough trials")
    for way in options.ways:
        report(way, [curves(one, way, options.seeds, blend=options.blend) for one in found])


if __name__ == "__main__":
    main()
