"""How long a fit may go on, for estimators that grow round by round and can stop after any of them.

Whoever fits says so with `fitting_within`; the estimators ask `current`. The allowance is no
argument of theirs: it is no part of what a model is, and wrappers around an estimator need not know
of it. Without one nothing here looks at a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FIRST_SHARE = 0.1
"""Share of the rounds that `fit_in_parts` grows before it knows how long a round takes."""
SAFETY = 0.8
"""Share of the time left that the next part may be expected to take; trees differ in size."""


class Allowance:
    """Time and rounds that a fit may take.

    Parameters
    ----------
    seconds : wall seconds from now on; None without a limit
    most_rounds
        Rounds that an earlier fit of the same recipe kept when its time ran out, or found to be
        best: whoever fits it again takes as many, without looking for the best number. None if
        there is no such fit.

    Attributes
    ----------
    kept : rounds that a fit kept when its time was over; None if none was cut short
    """

    def __init__(self, seconds: float | None = None, most_rounds: int | None = None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.most_rounds = most_rounds
        self.kept: int | None = None
        self._found: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit of time."""
        return self._deadline is not None

    @property
    def left(self) -> float:
        """Seconds; infinite without a limit."""
        return float("inf") if self._deadline is None else self._deadline - time.monotonic()

    def is_over(self) -> bool:
        """Whether the next round must not begin."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def rounds(self, wanted: int) -> int:
        """Rounds that may be grown, at most the wanted number."""
        return wanted if self.most_rounds is None else min(wanted, self.most_rounds)

    @property
    def found(self) -> int | None:
        """Best number of rounds by held-out rows; None if none was looked for, or time ended the fit."""
        return self._found if self.kept is None else None

    def cut(self, rounds: int) -> None:
        """Note that a fit ended with these rounds because its time was over."""
        self.kept = rounds

    def find(self, rounds: int) -> None:
        """Note that these rounds are best by held-out rows."""
        self._found = rounds


_UNLIMITED = Allowance()
_current: ContextVar[Allowance] = ContextVar("allowance", default=_UNLIMITED)


def current() -> Allowance:
    """Allowance of the fit under way."""
    return _current.get()


@contextmanager
def fitting_within(allowance: Allowance) -> Iterator[Allowance]:
    """Let the fits inside go by this allowance."""
    token = _current.set(allowance)
    try:
        yield allowance
    finally:
        _current.reset(token)


def fit_in_parts(estimator: Any, rounds: str, fit: Callable[..., Any]) -> Any:
    """Fit by warm starts; where time is limited, with the rounds that it suffices for.

    A warm start goes on where the fit before ended. Each begins anew with the bins of the columns,
    so that there are few parts.

    Parameters
    ----------
    rounds
        Name of the parameter that holds the number of rounds.
    fit
        The estimator's own, with the data filled in.
    """
    allowance, most = current(), int(getattr(estimator, rounds))
    estimator.set_params(warm_start=True)
    done, until = 0, max(1, round(FIRST_SHARE * most))
    while done < until:
        began = time.monotonic()
        estimator.set_params(**{rounds: until})
        fit()
        a_round = (time.monotonic() - began) / (until - done)
        more = int(SAFETY * max(allowance.left, 0.0) / max(a_round, 1e-9))
        done, until = until, min(until + more, most)
    if done < most:
        allowance.cut(done)
    return estimator.set_params(warm_start=False)


def fit_with_monitor(estimator: Any, rounds: str, fit: Callable[..., Any]) -> Any:
    """Fit with scikit-learn's monitor, which is asked after every round whether to stop."""
    allowance, most = current(), int(getattr(estimator, rounds))

    def is_over(done: int, *_: Any) -> bool:
        if not allowance.is_over() or done + 1 >= most:
            return False
        allowance.cut(done + 1)
        return True

    return fit(monitor=is_over)


STOPPERS: Mapping[str, Callable[[Any, str, Callable[..., Any]], Any]] = {
    "warm_start": fit_in_parts,
    "monitor": fit_with_monitor,
    "own": lambda _estimator, _rounds, fit: fit(),
}
"""Ways to end a fit after any round; `own`: the estimator asks for its allowance itself."""


def fit_as_allowed(stops: str, estimator: Any, rounds: str, fit: Callable[..., Any]) -> Any:
    """Fit with the rounds that the allowance has; a plain fit where there is no limit.

    Parameters
    ----------
    stops
        A key of `STOPPERS`.
    rounds, fit
        As in `fit_in_parts`.
    """
    allowance = current()
    if allowance.most_rounds is not None and stops != "own":
        most = min(allowance.most_rounds, int(getattr(estimator, rounds)))
        estimator.set_params(**{rounds: most})
    return STOPPERS[stops](estimator, rounds, fit) if allowance.is_limited else fit()
