"""Trials of earlier data sets for a surrogate, as arrays.

Notation
--------
t, n : earlier data sets; their trials
d : columns of the encoding of a configuration
p : meta-features
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from automl.records import Configuration, FloatArray, IntArray
from automl.surrogates.protocol import Surrogate


@dataclass(frozen=True)
class SourceFit:
    """What a process with a prior from earlier data sets has learned from these beforehand.

    Parameters
    ----------
    theta : (d + 2,)
        Natural logarithms of the sources' length scales, signal and noise variance.
    following : (4,)
        How far data sets follow each other: means of the logarithms of the target's noise, a, b and r, see
        `automl.surrogates.informed_learning`.
    """

    theta: FloatArray
    following: FloatArray


@dataclass(frozen=True)
class Sources:
    """Trials on earlier data sets, and what describes these and the target.

    Parameters
    ----------
    X : (n, d)
        Encoded configurations, in the encoding of the space that is searched.
    y : (n,)
        Scores, maximized, standardized per data set.
    task : (n,), in [0, t)
        Position of the data set of each trial.
    meta : (t, p), in [0, 1]
        Meta-features, missing ones filled.
    target_meta : (p,), in [0, 1]
        Those of the data set that is searched for; outside of [0, 1] where it is unlike all others.
    fit
        What the package has learned from these trials, or from many of them; None: it is learned anew.
    configurations
        Those that X encodes, one per trial, or none: then no point of the space is looked at because
        it was good elsewhere.

    Raises
    ------
    ValueError
        If shapes disagree, a position names no data set, or a number is not finite.
    """

    X: FloatArray
    y: FloatArray
    task: IntArray
    meta: FloatArray
    target_meta: FloatArray
    fit: SourceFit | None = None
    configurations: Sequence[Configuration] = ()

    def __post_init__(self) -> None:
        n, p = len(self.y), len(self.target_meta)
        if self.X.ndim != 2 or len(self.X) != n or self.task.shape != (n,) or self.y.ndim != 1:
            raise ValueError(
                f"X, y and task must have one row per trial; got {self.X.shape}, {self.y.shape}"
                f" and {self.task.shape}"
            )
        if len(self.configurations) not in (0, n):
            raise ValueError(
                f"there must be {n} configurations or none; got {len(self.configurations)}"
            )
        if self.meta.ndim != 2 or self.meta.shape[1] != p:
            raise ValueError(f"meta must have {p} columns; got the shape {self.meta.shape}")
        if n and not (self.task.min() >= 0 and self.task.max() < len(self.meta)):
            raise ValueError(f"task must be in [0, {len(self.meta)})")
        for name in ("X", "y", "meta", "target_meta"):
            if not np.all(np.isfinite(getattr(self, name))):
                raise ValueError(f"{name} must be finite")

    @property
    def n_tasks(self) -> int:
        """Earlier data sets."""
        return len(self.meta)

    @classmethod
    def none(cls, n_columns: int) -> Sources:
        """No earlier data set and no meta-features, for configurations of `n_columns`."""
        nothing = np.zeros(0)
        return cls(
            np.zeros((0, n_columns)), nothing, nothing.astype(int), np.zeros((0, 0)), nothing
        )

    def subset(self, rows: IntArray) -> Sources:
        """The same data sets with some of their trials."""
        kept = [self.configurations[row] for row in rows] if self.configurations else ()
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            task=self.task[rows],
            fit=None,
            configurations=kept,
        )

    def best_of_each(self, n: int) -> list[Configuration]:
        """The n best configurations of each data set, best first; each of them once."""
        if not self.configurations:
            return []
        best = [self.configurations[row] for row in self._best_rows(n)]
        return list({configuration.id: configuration for configuration in best}.values())

    def _best_rows(self, n: int) -> Iterator[int]:
        for task in range(self.n_tasks):
            own = np.flatnonzero(self.task == task)
            yield from own[np.argsort(-self.y[own], kind="stable")[:n]]


@runtime_checkable
class TransferSurrogate(Surrogate, Protocol):
    """A surrogate that learns from earlier data sets as well; without any, from the target alone.

    `fit` is given the target's own trials; `predict` predicts for the target.
    """

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets, before the first `fit`."""
        ...


@runtime_checkable
class ExpectingSurrogate(TransferSurrogate, Protocol):
    """A surrogate that knows what earlier data sets expect before a trial of the target is known."""

    def expect(self, X: FloatArray, waiting: FloatArray, *, rng: np.random.Generator) -> FloatArray:
        """Best of a point and of those under way, as the mean over the earlier data sets.

        Parameters
        ----------
        X : (m, d)
        waiting : (k, d), k at least 0
            Configurations under way.

        Returns
        -------
        (m,)
        """
        ...


def descriptors(sources: Sources) -> FloatArray:
    """(t + 1, p) meta-features of the earlier data sets and, last, of the target."""
    return np.concatenate([sources.meta, sources.target_meta[None]])


def design_matrix(X: FloatArray, task: IntArray, meta: FloatArray) -> FloatArray:
    """(n, d + t + 1 + p) rows x = (encoded configuration, data-set indicator, meta-features).

    Parameters
    ----------
    X : (n, d)
    task : (n,), in [0, t]
        t is the target.
    meta : (t + 1, p)

    References
    ----------
    .. [1] Schilling et al. (2015), equations 3 and 4.
    """
    indicator = np.eye(len(meta))[task]
    return np.concatenate([X, indicator, meta[task]], axis=1)


def described(X: FloatArray, task: IntArray, meta: FloatArray) -> FloatArray:
    """(n, d + p) rows of encoded configuration and meta-features, without the indicator."""
    return np.concatenate([X, meta[task]], axis=1)


def target_rows(sources: Sources | None, X: FloatArray) -> FloatArray:
    """(m, d + p) the target's rows X (m, d) with its meta-features; X itself without sources."""
    if sources is None:
        return X
    return described(X, np.full(len(X), sources.n_tasks), descriptors(sources))
