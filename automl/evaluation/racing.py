"""When a configuration is so far behind the best one that more of it is not worth its time.

Notation
--------
gap : mean difference of the paired fold scores to the incumbent's
error : standard error of the gap
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

HOPELESS_ERRORS = 3.0
"""Standard errors of the gap: more than two, since an error from a few folds is unsure itself."""
HOPELESS_SHARE = 0.1
"""Share of the incumbent's score: with a smaller gap a trial may still serve an ensemble (by judgement)."""
FAMILY_SHARE = 0.05
"""The same for a family, which only waits for its second try (by judgement)."""
FIRST_FOLD_SHARE = 0.15
"""The same after a single fold, of which there is no error of its own; see ``benchmarks/seconds``."""


def why_raced(scores: Sequence[float], incumbent: Sequence[float] | None, n_jobs: int) -> str:
    """Why the remaining folds are not worth running, or an empty text.

    The gap is more than three errors and more than a tenth of the incumbent's distance to the
    baseline. Since the deviation of two or three differences is itself uncertain, the incumbent's
    deviation over all its folds is used where it is greater. After the first fold there is only
    that one, and the gap must be more than `FIRST_FOLD_SHARE` of the distance.

    Parameters
    ----------
    scores : of the folds so far
    incumbent : scores of the best complete trial on the same folds, or None
    n_jobs : folds of a complete trial
    """
    n = len(scores)
    if incumbent is None or n == 0 or n >= n_jobs:
        return ""
    gap, error = _gap(scores, incumbent)
    share = FIRST_FOLD_SHARE if n == 1 else HOPELESS_SHARE
    if gap <= max(HOPELESS_ERRORS * error, share * abs(float(np.mean(incumbent)))):
        return ""
    return f"behind the incumbent by {gap:.4f} after {n} of {n_jobs} folds"


def is_far_behind(scores: Sequence[float], incumbent: Sequence[float]) -> bool:
    """Whether a family whose best complete trial has these scores needs no second try early.

    The gap is more than three errors and more than a twentieth of the incumbent's distance to
    the baseline; with a single holdout only the latter counts.
    """
    gap, error = _gap(scores, incumbent)
    return gap > max(HOPELESS_ERRORS * error, FAMILY_SHARE * abs(float(np.mean(incumbent))))


def _gap(scores: Sequence[float], incumbent: Sequence[float]) -> tuple[float, float]:
    n = len(scores)
    differences = np.asarray(incumbent[:n]) - np.asarray(scores)
    deviations = [float(np.std(each, ddof=1)) for each in (differences, incumbent) if len(each) > 1]
    return float(differences.mean()), max(deviations, default=0.0) / np.sqrt(n)
