"""Ladders of fidelities, from the cheapest to a complete trial (H18, section 8.2).

A ladder is a tuple whose last entry is the full fidelity; each step is `eta` times the one before.
"""

from __future__ import annotations

from automl.alternatives import Resource
from automl.records import Fidelity

ETA = 3
"""Factor between two steps of a ladder; Li et al. (2018), Hyperband, advise 3 or 4."""
LEAST_ROWS = 200
"""Training rows of a step: scores of fewer rank configurations by chance (by judgement)."""
N_STEPS = 3
"""Steps of a ladder of rows or iterations: it begins with a ninth of them (by judgement)."""

Levels = tuple[Fidelity, ...]
FULL = Fidelity()


def fold_levels(n_folds: int, *, eta: int = ETA) -> Levels:
    """1, eta, eta² … folds, then all of `n_folds`; a step is at most two thirds of all."""
    levels, folds = [], 1
    while 3 * folds <= 2 * n_folds:
        levels.append(Fidelity(folds=folds))
        folds *= eta
    return (*levels, FULL)


def row_levels(n_rows: int, *, eta: int = ETA, n_steps: int = N_STEPS) -> Levels:
    """Shares of the training rows, at most `n_steps` and none with fewer than `LEAST_ROWS`.

    Parameters
    ----------
    n_rows : training rows of a fold
    """
    shares = [eta**-step for step in range(n_steps - 1, 0, -1)]
    return (*(Fidelity(row_share=s) for s in shares if s * n_rows >= LEAST_ROWS), FULL)


def iteration_levels(*, eta: int = ETA, n_steps: int = N_STEPS) -> Levels:
    """Shares of the trees, rounds or epochs."""
    shares = [eta**-step for step in range(n_steps - 1, 0, -1)]
    return (*(Fidelity(iteration_share=share) for share in shares), FULL)


def levels_for(
    resource: Resource, *, n_folds: int, n_rows: int, has_iterations: bool, eta: int = ETA
) -> Levels:
    """Ladder of a resource, or of the nearest one that there is.

    Parameters
    ----------
    resource
        `auto` takes folds where there are at least three, else rows. Families without iterations
        take rows in their place, and a single holdout takes rows in place of folds.
    n_folds : of a complete trial
    n_rows : training rows of a fold
    """
    if resource == "iterations" and has_iterations:
        return iteration_levels(eta=eta)
    least = 3 if resource == "auto" else 2
    if resource in {"auto", "folds"} and n_folds >= least:
        return fold_levels(n_folds, eta=eta)
    return row_levels(n_rows, eta=eta)
