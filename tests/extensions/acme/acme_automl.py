from collections import Counter

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from automl.bandits.registry import AllocatorEntry
from automl.ensembles.registry import EnsembleMethod
from automl.metrics.metric import Metric
from automl.optimizers.protocol import Proposal
from automl.optimizers.registry import OptimizerEntry
from automl.records import Task, TrialStatus


class Prototypes(ClassifierMixin, BaseEstimator):
    """Of the family: scikit-learn's contract."""

    def __init__(self, sharpness=1.0):
        self.sharpness = sharpness

    def fit(self, X, y):
        X = np.asarray(X, dtype=float)
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == one].mean(axis=0) for one in self.classes_])
        return self

    def predict_proba(self, X):
        gaps = np.asarray(X, dtype=float)[:, None] - self.means_
        return softmax(-self.sharpness * (gaps**2).mean(axis=2), axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Distinct:
    """Optimizer: the default, then draws that were not tried yet."""

    def __init__(self, space):
        self.space, self.told = space, set()

    def ask(self, *, pending, rng):
        taken = self.told | {configuration.id for configuration in pending}
        proposed = self.space.default()
        for _ in range(100):
            if proposed.id not in taken:
                break
            proposed = self.space.sample(rng)
        return Proposal(proposed)

    def tell(self, trial):
        if trial.status is not TrialStatus.PARTIAL:  # its score is not known
            self.told.add(trial.configuration.id)


class Rotation:
    """Allocator: the family that has had the fewest turns."""

    def __init__(self):
        self.turns = Counter()

    def choose(self, arms, *, pending, rng):
        waiting = Counter(pending)
        return min(arms, key=lambda arm: self.turns[arm] + waiting[arm])

    def update(self, trial):
        self.turns[trial.configuration.family] += 1


def worst_class(confusion):
    """Metric, (B,): the share that is found of the class that is found least."""
    sizes = confusion.counts.sum(axis=2)
    found = confusion.counts.diagonal(axis1=1, axis2=2)
    return np.where(sizes > 0, found / np.where(sizes > 0, sizes, 1.0), 1.0).min(axis=1)


def better_half(problem):
    """Ensemble: equal weights of the better half of the members."""
    scores = [problem.scores(problem.taken(one)[None])[0] for one in problem.predictions]
    chosen = np.argsort(scores)[::-1][: (len(scores) + 1) // 2]
    weights = np.zeros(len(scores))
    weights[chosen] = 1 / len(chosen)
    return weights


DISTINCT = OptimizerEntry(Distinct, "random draws, none of them twice", "Acme")
ROTATION = AllocatorEntry(Rotation, "the families take turns", "Acme")
BETTER_HALF = EnsembleMethod(better_half, "equal weights of the better half", "Acme")
WORST_CLASS = Metric(
    name="acme_worst_class",
    tasks=frozenset({Task.BINARY, Task.MULTICLASS}),
    needs="labels",
    bounds=(0.0, 1.0),
    is_maximized=True,
    kernel=worst_class,
)
