"""What a rule of promotion costs on streams that drift: excess risk of whichever model is the champion.

    python benchmarks/promotion/staleness.py

A linear model of 20 columns is retrained on the last eight periods; three tenths of the rows are held back, as
the program does, and both models are compared on those held back since the champion was trained. The
figures are means of 200 streams of 36 periods, in points of R² that are lost against the true coefficients
of the next period.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray, IntArray
from automl.statistics.block_jackknife import BlockComparison
from automl.statistics.spending import level_of_look

STREAMS, PERIODS, WINDOW, COLUMNS = 200, 36, 8, 20
SIGNAL = 2.25
"""Variance of the target beside noise of variance 1."""
HELD = 0.3
CHUNKS = 6
"""Blocks of the rows that one period holds back."""
ALPHA = 0.05
SEED = 21


@dataclass(frozen=True)
class Rule:
    """A rule of promotion.

    Parameters
    ----------
    kind : superior, not_worse, better or always
    margin : of not_worse, in R²
    exponent : of superior, see `automl.statistics.spending`
    resets : whether looks are counted from the champion's promotion on
    """

    name: str
    kind: str
    margin: float = 0.0
    exponent: float = 1.5
    resets: bool = True

    def promotes(self, found: BlockComparison, looks: IntArray) -> FloatArray:
        """(m,) whether each new model takes the alias."""
        if self.kind == "always":
            return np.ones(len(looks), dtype=bool)
        if self.kind == "better":
            return found.differences > 0
        if self.kind == "not_worse":
            return found.pvalues(-self.margin) <= ALPHA
        levels = [level_of_look(ALPHA, look, self.exponent) for look in looks.tolist()]
        return found.pvalues() <= np.array(levels)


RULES = (
    Rule("always", "always"),
    Rule("better score", "better"),
    *(Rule(f"not_worse by {m:g}", "not_worse", m) for m in (0.01, 0.02, 0.05, 0.1, 0.2)),
    *(
        Rule(f"superior, s={s:g}, {'champion' if r else 'whole series'}", "superior", 0.0, s, r)
        for r in (True, False)
        for s in (1.5, 2.0)
    ),
)
DRIFTS = ("none", "slow", "sudden", "broken drops")


def truths(drift: str, rng: np.random.Generator) -> FloatArray:
    """(periods + 1, streams, columns) true coefficients."""
    scale = np.sqrt(SIGNAL / COLUMNS)
    found = [scale * rng.standard_normal((STREAMS, COLUMNS))]
    for period in range(PERIODS):
        kept = {"slow": 0.99, "sudden": 0.8 if period == PERIODS // 2 else 1.0}.get(drift, 1.0)
        fresh = scale * rng.standard_normal((STREAMS, COLUMNS))
        found.append(kept * found[-1] + np.sqrt(1 - kept**2) * fresh)
    return np.array(found)


def run(rule: Rule, drift: str, n_rows: int) -> tuple[float, float, float]:
    """Mean excess risk in points of R², promotions in a stream, and share of them to a worse model."""
    rng = np.random.default_rng([SEED, DRIFTS.index(drift), n_rows])
    truth = truths(drift, rng)
    n_held = round(HELD * n_rows) // CHUNKS * CHUNKS
    grams, moments, held = [], [], []
    champion, since = np.zeros((STREAMS, COLUMNS)), np.full(STREAMS, -1)
    looks = np.ones(STREAMS, dtype=int)
    lost, promotions, wrong = [], 0, 0
    for period in range(PERIODS):
        x = rng.standard_normal((STREAMS, n_rows, COLUMNS))
        y = np.einsum("snc,sc->sn", x, truth[period]) + rng.standard_normal((STREAMS, n_rows))
        held.append((x[:, :n_held], y[:, :n_held]))
        grams.append(np.einsum("snc,snd->scd", x[:, n_held:], x[:, n_held:]))
        moments.append(np.einsum("snc,sn->sc", x[:, n_held:], y[:, n_held:]))
        new = np.linalg.solve(
            sum(grams[-WINDOW:]) + np.eye(COLUMNS), sum(moments[-WINDOW:])[..., None]
        )[..., 0]
        if drift == "broken drops":
            is_broken = rng.random(STREAMS) < 0.1
            new[is_broken] *= rng.uniform(0.5, 1.0, (is_broken.sum(), 1))
        if period == 0:
            champion, since = new.copy(), np.zeros(STREAMS, dtype=int)
            continue
        takes = _decisions(rule, held, champion, new, np.minimum(period - since, WINDOW), looks)
        next_truth = truth[period + 1]
        wrong += int((takes & (_risk(new, next_truth) > _risk(champion, next_truth))).sum())
        promotions += int(takes.sum())
        champion[takes], since[takes] = new[takes], period
        looks = np.where(takes & rule.resets, 1, looks + 1)
        lost.append(_risk(champion, next_truth).mean())
    return 100 * float(np.mean(lost)), promotions / STREAMS, wrong / max(promotions, 1)


def _risk(model: FloatArray, truth: FloatArray) -> FloatArray:
    return np.asarray(((model - truth) ** 2).sum(axis=1) / (1 + SIGNAL))


def _decisions(rule, held, champion, new, ages, looks) -> FloatArray:  # type: ignore[no-untyped-def]
    """(streams,) whether the new model takes the alias; streams of one age of the champion at a time."""
    gains = [
        (
            (y - np.einsum("snc,sc->sn", x, champion)) ** 2
            - (y - np.einsum("snc,sc->sn", x, new)) ** 2
        )
        .reshape(STREAMS, CHUNKS, -1)
        .sum(axis=2)
        for x, y in held[-WINDOW:]
    ]
    takes = np.zeros(STREAMS, dtype=bool)
    for age in np.unique(ages):
        rows = np.flatnonzero(ages == age)
        parts = np.concatenate([gain[rows] for gain in gains[-age:]], axis=1)
        n_blocks = parts.shape[1]
        n_compared = age * held[0][1].shape[1]
        found = BlockComparison(
            parts / n_compared / (1 + SIGNAL), np.full(n_blocks, 1.0 / n_blocks)
        )
        takes[rows] = rule.promotes(found, looks[rows])
    return takes


if __name__ == "__main__":
    print("| rule | " + " | ".join(f"{d}, {n}" for n in (100, 300) for d in DRIFTS) + " |")
    print("|---" * 9 + "|")
    for rule in RULES:
        cells = [run(rule, drift, n_rows) for n_rows in (100, 300) for drift in DRIFTS]
        shown = " | ".join(f"{lost:.2f} ({n:.1f}, {100 * w:.0f} %)" for lost, n, w in cells)
        print(f"| {rule.name} | {shown} |", flush=True)
