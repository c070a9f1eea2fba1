"""Whether the likelihood of the first scores could tell a wrong history from a true one.

    python benchmarks/knowledge/trust.py [--knowledge FILE]

Searches begin as in `guard.py`, but never give up what they have learned. After each trial the scores of the
known configurations have two likelihoods: as a draw of the score model (`automl.recommendation.score_model`),
and as independent scores of which nothing is known, with the mean and the spread that the model expects. Prints
quantiles of the logarithm of their ratio over the data sets, and the share of data sets where it is positive.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from guard import Problem, histories, problems
from scipy.stats import multivariate_normal, norm

from automl.experience.knowledge import read_knowledge, shipped
from automl.recommendation.agreement import LEAST_SCORE
from automl.recommendation.methods import ADAPTIVE, Target, similar_scores
from automl.recommendation.score_model import NOISE, ScoreModel
from automl.records import FloatArray
from automl.search import opening
from automl.search.guide import WORST
from automl.surrogates.scale import spread_expected

HISTORIES = ("true", "inverted", "praised")
MARKS = (4, 6, 10, 14, 25)
QUANTILES = (0.1, 0.5, 0.9)


def log_ratio(model: ScoreModel, scores: dict[int, float]) -> float:
    """Logarithm of the likelihood by the model over that by nothing; 0 with fewer than two scores."""
    seen, values = list(scores), np.array(list(scores.values()))
    if len(seen) < 2:
        return 0.0
    common = model.scale(seen, values).to_common(values)
    common = np.maximum(np.nan_to_num(common, nan=LEAST_SCORE), LEAST_SCORE)
    expected = model.mean[seen]
    roots = model.roots[:, seen]
    covariance = roots.T @ roots + (model.own + NOISE) * np.eye(len(seen))
    learned = multivariate_normal(expected, covariance).logpdf(common)
    plain = norm(expected.mean(), spread_expected(expected)).logpdf(common).sum()
    return float(learned - plain)


def ratios(problem: Problem, history: str) -> Iterator[float]:
    """Log ratio after each trial of a search that begins with this history."""
    past = histories(problem)[history]
    known = similar_scores(past, Target(problem.own.data, problem.spaces))
    if known is None:
        return
    model = ScoreModel.of(known)
    scores: dict[int, float] = {}
    for trial in problem.begin(problem.opening(past, ADAPTIVE), MARKS[-1]):
        if (position := model.positions.get(trial.configuration.id)) is not None:
            scores[position] = np.nan if trial.score is None else max(trial.score, WORST)
        yield log_ratio(model, scores)


def row(history: str, values: FloatArray) -> str:
    """Quantiles and share above 0 of (data sets,) at a number of trials."""
    quantiles = " / ".join(f"{q:+.1f}" for q in np.quantile(values, QUANTILES))
    return f"| {history} | {quantiles} | {np.mean(values > 0):.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--knowledge", type=Path)
    options = parser.parse_args()
    known = read_knowledge(options.knowledge).experiences if options.knowledge else shipped()
    opening.is_misled = lambda *_: False
    searched = list(problems(known))
    found = {name: [list(ratios(problem, name)) for problem in searched] for name in HISTORIES}
    for mark in MARKS:
        print(
            f"\nafter {mark} trials\n\n| history | 10 %, median, 90 % | positive |\n|---|---|---|"
        )
        for name, curves in found.items():
            print(row(name, np.array([one[mark - 1] for one in curves if len(one) >= mark])))


if __name__ == "__main__":
    main()
