"""The honest score: a cross-validated score, corrected for the choice behind it.

It estimates the expected score on new rows of the one model that the run has chosen, given the data
and the choice. It does not estimate what the procedure would reach on other data, where it may choose
another model.

The best of many models owes part of its cross-validated score to chance. So does an ensemble whose
weights and threshold were learned from the rows that score it. Therefore the rows are drawn with
replacement, the whole choice is repeated on the drawn rows, and its result is scored on the rows
left out, which it has not seen (BBC-CV [1]_). The shortfall of a bootstrap is the distance to the
final choice on the same left-out rows:

    shortfall = S(final, left out) - S(chosen from the drawn, left out),
    score = naive - 0.75 * mean of luck * shortfall + gain.

The shortfall is exactly 0 where there is nothing to choose. The differences are paired, so neither the
number of left-out rows nor their selection shifts the estimate. The gain is that of the final model
over the models that were scored (`automl.selection.bag_gain`).

A shortfall shows how much worse the other choice is, whichever of the two was lucky. Only the luck of
the final choice's own score is optimism. The factor luck, in [0, 1], bounds its share
(`automl.selection.luck`): 1 between models that vary alike, as in BBC-CV, and near 0 for the shortfall
of a model that diverges.

Only 0.75 of the shortfall is subtracted, because a choice from fewer different rows is worse than the
final one (Efron's .632 estimator [2]_ takes 0.632 for the same reason). The whole shortfall would be
right for a choice among equally good models. For weights and thresholds fitted to n rows 3/2 of it
would be right, because the drawn rows add as much noise again. For one model that is clearly the best
nothing should be subtracted.

The interval is not that of the left-out scores: each of these has 37 % of the rows, and the interval
would be 1.65 times too wide. It is the bootstrap interval of the final choice, shifted by the
correction. It is widened a little, because a bootstrap of rows does not show the effect of other
training rows, and also by the uncertainty of the correction itself. If a few rows decide the score,
it means nothing (`automl.selection.tails`).

Every metric in natural units is corrected by the same formula. Its shortfalls are those of the same
choices on the same left-out rows, and its luck is that of its own values: a metric that the choice was
not made by was favored only as far as it goes along with the score. The areas under the curves of several
classes have the luck of the score.

References
----------
.. [1] Tsamardinos, Greasidou, Borboudakis (2018), Bootstrapping the out-of-sample predictions for
   efficient and accurate cross-validation, Machine Learning 107, algorithm 5.
.. [2] Efron (1983), Estimating the error rate of a prediction rule: improvement on
   cross-validation, Journal of the American Statistical Association 78, section 6.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.inference.decision import DecisionRule
from automl.records import FloatArray
from automl.selection.correction import HonestMetric, HonestScore, corrected, corrected_metric
from automl.selection.luck import luck_of
from automl.selection.natural_metrics import NaturalMetrics
from automl.selection.scored_rows import Choice, ScoredRows, draw

BLOCK = 10
"""Bootstraps that are made together, between two looks at the clock: 0.1 s on 1,000 rows, 0.4 s on 30,000."""
LUCK, INTERVAL, FIRST_BLOCK = range(3)
"""Children of the seed: for each kind of drawn rows one, and one for each block."""

LEAST_BOOTSTRAPS = 20
"""The mean of twenty shortfalls is known to a fifth of their deviation: better than no correction."""
N_INTERVAL = 400
"""Bootstraps of the interval, which need no choice."""

N_LUCK = 100
"""Drawn rows on which the final choice and the others are scored to tell whose luck a difference is."""
MANY_ROWS, LEAST_SHARE = 50_000, 0.25
"""From so many rows on the two numbers above fall in proportion, to a quarter: intervals of many rows are narrow, and
an error of their ends is a small part of a small number."""
SLOW_CELLS, LEAST_SLOW = 20_000_000, 40
"""Cells of probabilities in the drawings for the interval of a slow metric, which has so many drawings at
least: the areas of several classes take 160 ns a cell, so 3 s; 400 drawings of 20,000 rows and 26 classes take 33 s."""


Chooser = Callable[[FloatArray, np.random.Generator], Sequence[Mapping[str, Choice]]]
"""From (b, n) times that each row was drawn in each of b bootstraps, and randomness of these alone, what
is chosen in each, by kind; a kind may be left out of some bootstraps."""


@dataclass(frozen=True)
class Shortfall:
    """What the choice from one bootstrap loses beside the final one on the rows left out, as far as it is luck.

    Parameters
    ----------
    score
        Of the score.
    metrics : (M,)
        Of each metric, maximized; NaN where it is not defined.
    """

    score: float
    metrics: tuple[float, ...] = ()


Shortfalls = Mapping[str, Sequence[Shortfall]]
"""Shortfalls of the bootstraps of one block where those of the score are defined, by kind."""


@dataclass(frozen=True)
class Gain:
    """What a final model is worth more than the models that predicted the rows.

    Parameters
    ----------
    score
        Of the score.
    metrics : (M,)
        Of each metric, maximized; empty for nothing.
    """

    score: float = 0.0
    metrics: tuple[float, ...] = ()


class Repetition:
    """The whole choice, repeated on drawn rows in blocks that do not depend on each other.

    Parameters
    ----------
    rows
        Predictions of all models that could have been chosen.
    final
        What was chosen from all rows, by kind; other kinds that are chosen count for nothing.
    choose
        Repeats the whole choice on drawn rows. It must not look at the other rows.
    seed
        Every block draws from a child of its own, so that it finds the same wherever it is made.
    n_bootstraps : positive
    """

    def __init__(
        self,
        rows: ScoredRows,
        final: Mapping[str, Choice],
        choose: Chooser,
        *,
        seed: np.random.SeedSequence,
        n_bootstraps: int = 200,
    ) -> None:
        self._rows, self._choose, self._seed = rows, choose, seed
        self._n_bootstraps = n_bootstraps
        drawn = self._draw(self._fewer(N_LUCK), self._generator(LUCK))
        self._finals = {kind: _Final(rows, choice, drawn) for kind, choice in final.items()}

    @property
    def n_blocks(self) -> int:
        """Blocks of `BLOCK` bootstraps, the last of which may be smaller."""
        return -(-self._n_bootstraps // BLOCK)

    def block(self, number: int) -> Shortfalls:
        """Shortfalls of the bootstraps of one block, counted from 0."""
        rng = self._generator(FIRST_BLOCK + number)
        counts = self._draw(self._size(number), rng)
        found: dict[str, list[Shortfall]] = {kind: [] for kind in self._finals}
        for left_out, chosen in zip(counts == 0, self._choose(counts, rng), strict=True):
            for kind in chosen.keys() & found.keys():
                shortfall = self._finals[kind].shortfall(left_out.astype(np.float32), chosen[kind])
                found[kind] += [shortfall] if np.isfinite(shortfall.score) else []
        return found

    def whole(self, gains: Mapping[str, Gain] | None = None) -> dict[str, HonestScore]:
        """Scores from all blocks, made here one after another; see `scores`."""
        return self.scores([self.block(number) for number in range(self.n_blocks)], gains)

    def scores(
        self, blocks: Sequence[Shortfalls], gains: Mapping[str, Gain] | None = None
    ) -> dict[str, HonestScore]:
        """Corrected scores of what was chosen from all rows, by kind.

        Parameters
        ----------
        blocks
            The first ones, in their order; where there was no time for more, fewer than `n_blocks`.
        gains
            What the final models are worth more than those that predicted the rows, by kind.

        Returns
        -------
            Empty if there are not `LEAST_BOOTSTRAPS`. A kind is missing whose score is hardly ever
            defined on left-out rows.
        """
        n_done = sum(map(self._size, range(len(blocks))))
        if n_done < min(LEAST_BOOTSTRAPS, self._n_bootstraps):
            return {}
        resampled = self._draw(self._fewer(N_INTERVAL), self._generator(INTERVAL))
        by_kind = {kind: [s for block in blocks for s in block[kind]] for kind in self._finals}
        return {
            kind: self._finals[kind].corrected(resampled, found, (gains or {}).get(kind, Gain()))
            for kind, found in by_kind.items()
            if len(found) > 1
        }

    def _size(self, number: int) -> int:
        return min(BLOCK, self._n_bootstraps - BLOCK * number)

    def _fewer(self, n: int) -> int:
        """Drawn rows that are worth their time."""
        return round(n * min(max(MANY_ROWS / len(self._rows.y), LEAST_SHARE), 1.0))

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return draw(len(self._rows.y), n, rng=rng, groups=self._rows.groups)

    def _generator(self, child: int) -> np.random.Generator:
        key = (*self._seed.spawn_key, child)
        return np.random.default_rng(np.random.SeedSequence(self._seed.entropy, spawn_key=key))


class _Final:
    """The choice from all rows, and the shortfall of other choices.

    Parameters
    ----------
    rows
        Predictions of all models, and how they are scored.
    final
        What was chosen.
    drawn : (N, n)
        Drawn rows from which it is seen how much of a difference is luck.
    """

    def __init__(self, rows: ScoredRows, final: Choice, drawn: FloatArray) -> None:
        self._rows, self._rule, self._drawn = rows, final.rule, drawn
        self._blends = rows.blends(final)
        self._under_drawn = self._scores(self._blends, final.rule, drawn)
        self._luck: dict[tuple[bytes, DecisionRule | None], float] = {}
        self._metrics = None
        if rows.metrics is not None:
            self._metrics = _FinalMetrics(rows, rows.metrics, final, self._blends, drawn)

    def shortfall(self, left_out: FloatArray, choice: Choice) -> Shortfall:
        """What another choice loses on the rows left out, (n,) of 0 and 1, as far as it is luck; or NaN."""
        blends = self._rows.blends(choice)
        score = self._score_shortfall(left_out, choice, blends)
        if self._metrics is None or not np.isfinite(score):
            return Shortfall(score)
        luck = functools.partial(self._luck_of, choice, blends)
        return Shortfall(score, self._metrics.shortfall(left_out, choice, blends, luck))

    def corrected(
        self, resampled: FloatArray, shortfalls: Sequence[Shortfall], gain: Gain
    ) -> HonestScore:
        """Honest score and metrics, their intervals from (N, n) drawn rows."""
        everything = np.ones(len(self._rows.y), dtype=np.float32)
        naive = self._rows.score_under(self._blends, everything, self._rule)
        redrawn = self._scores(self._blends, self._rule, resampled)
        found = corrected(naive, redrawn, np.array([s.score for s in shortfalls]), gain.score)
        if self._metrics is None or self._rows.metrics is None:
            return found
        of_metrics = self._metrics.corrected(resampled, [s.metrics for s in shortfalls], gain)
        return replace(found, metrics={**of_metrics, **self._rows.metrics.of_score(found)})

    def _score_shortfall(
        self, left_out: FloatArray, choice: Choice, blends: Sequence[NDArray[Any]]
    ) -> float:
        best = self._rows.score_under(self._blends, left_out, self._rule)
        shortfall = best - self._rows.score_under(blends, left_out, choice.rule)
        if not shortfall or not np.isfinite(shortfall):
            return shortfall
        return shortfall * self._luck_of(choice, blends)

    def _luck_of(self, choice: Choice, blends: Sequence[NDArray[Any]]) -> float:
        key = _key(choice)
        if key not in self._luck:
            others = self._scores(blends, choice.rule, self._drawn)
            self._luck[key] = luck_of(self._under_drawn, others)
        return self._luck[key]

    def _scores(
        self, blends: Sequence[NDArray[Any]], rule: DecisionRule | None, counts: FloatArray
    ) -> FloatArray:
        return self._rows.scores_under(blends, counts, rule)


class _FinalMetrics:
    """As `_Final`, of every metric at once.

    Parameters
    ----------
    rows, final, drawn
        As of `_Final`.
    metrics
        Those of the rows.
    blends
        Predictions of the final choice.
    """

    def __init__(
        self,
        rows: ScoredRows,
        metrics: NaturalMetrics,
        final: Choice,
        blends: Sequence[NDArray[Any]],
        drawn: FloatArray,
    ) -> None:
        self._rows, self._metrics, self._drawn = rows, metrics, drawn
        self._final, self._blends = final, blends
        self._slow = metrics.index.slow
        self._under_drawn = rows.metrics_under(blends, drawn, final.rule, without=self._slow)
        self._luck: dict[Any, FloatArray] = {}

    def shortfall(
        self,
        left_out: FloatArray,
        choice: Choice,
        blends: Sequence[NDArray[Any]],
        luck_of_score: Callable[[], float],
    ) -> tuple[float, ...]:
        """(M,) what another choice loses on the rows left out, as far as it is luck.

        Slow metrics have the luck of the score: they are bounded, and their own would take most of the time.
        """
        key = _key(choice)
        if key == _key(self._final):
            return (0.0,) * len(self._metrics.names)
        best = self._rows.metrics_under(self._blends, left_out[None], self._final.rule)[:, 0]
        shortfalls = best - self._rows.metrics_under(blends, left_out[None], choice.rule)[:, 0]
        if key not in self._luck:
            others = self._rows.metrics_under(blends, self._drawn, choice.rule, without=self._slow)
            pairs = zip(self._metrics.names, self._under_drawn, others, strict=True)
            self._luck[key] = np.array(
                [luck_of_score() if name in self._slow else luck_of(*pair) for name, *pair in pairs]
            )
        return tuple((shortfalls * self._luck[key]).tolist())

    def corrected(
        self, resampled: FloatArray, shortfalls: Sequence[tuple[float, ...]], gain: Gain
    ) -> dict[str, HonestMetric]:
        """Those that are defined on all rows, on every drawing of them and on parts of them."""
        everything = np.ones((1, len(self._rows.y)), dtype=np.float32)
        naive = self._rows.metrics_under(self._blends, everything, self._final.rule)[:, 0]
        redrawn = self._redrawn(resampled)
        found = {}
        for i, name in enumerate(self._metrics.names):
            own = np.array([shortfall[i] for shortfall in shortfalls])
            own = own[np.isfinite(own)]
            if np.isfinite([naive[i], *redrawn[name]]).all() and len(own) > 1:
                gained = gain.metrics[i] if gain.metrics else 0.0
                bounds = self._metrics.index.bounds(name)
                found[name] = corrected_metric(
                    float(naive[i]), redrawn[name], own, gained, bounds=bounds
                )
        return found

    def _redrawn(self, resampled: FloatArray) -> dict[str, FloatArray]:
        """Values of each metric on the drawn rows; of slow ones on the first drawings."""
        names, rule = self._metrics.names, self._final.rule
        values = self._rows.metrics_under(self._blends, resampled, rule, without=self._slow)
        found = dict(zip(names, values, strict=True))
        slow = [name for name in names if name in self._slow]
        if slow:
            first = resampled[: max(LEAST_SLOW, SLOW_CELLS // self._blends[0].size)]
            quick = set(names).difference(slow)
            values = self._rows.metrics_under(self._blends, first, rule, without=quick)
            found |= {name: values[names.index(name)] for name in slow}
        return found


def _key(choice: Choice) -> tuple[Any, ...]:
    """Equal for choices that predict the same."""
    return choice.weights.tobytes(), choice.rule, choice.combine, choice.calibration
