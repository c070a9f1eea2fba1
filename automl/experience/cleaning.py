"""Which trials of an experience can be learned from, wherever it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from automl.experience.data_set import Experience, KnownTrial
from automl.families.family import kind_of
from automl.families.registry import families
from automl.records import Configuration, Task, TrialStatus
from automl.spaces.tree import SpaceTree

LARGEST = 1e100
"""Greatest absolute value that anybody could have measured."""


def of_kind(experiences: Iterable[Experience], task: Task | str) -> list[Experience]:
    """Experiences with the same kind of target, classes or numbers."""
    kind = kind_of(task)
    return [experience for experience in experiences if kind_of(experience.data.task) == kind]


def spaces_for(task: Task) -> dict[str, SpaceTree]:
    """Search space by family, of all families that there are for a task."""
    return {name: family.space(task) for name, family in families(task).items()}


def cleaned(experience: Experience, spaces: Mapping[str, SpaceTree]) -> Experience:
    """The experience without impossible measurements and illegal configurations.

    Left out are trials of families that are not in `spaces`; configurations that are not legal
    there any more; complete trials without a score, and scores, seconds and meta-features that
    nobody could have measured; negative seconds.
    """
    features = {k: v for k, v in experience.data.meta_features.items() if is_measurable(v)}
    return replace(
        experience,
        data=replace(experience.data, meta_features=features),
        trials=tuple(trial for trial in experience.trials if _is_usable(trial, spaces)),
    )


def _is_usable(trial: KnownTrial, spaces: Mapping[str, SpaceTree]) -> bool:
    if trial.status is TrialStatus.COMPLETE and not is_measurable(trial.score):
        return False
    if not is_measurable(trial.seconds) or trial.seconds < 0:
        return False
    return is_legal(trial.configuration, spaces)


def is_legal(configuration: Configuration, spaces: Mapping[str, SpaceTree]) -> bool:
    """Whether a configuration, whatever its values are, is one of these spaces, by family."""
    space = spaces.get(configuration.family)
    try:
        return space is not None and space.is_legal(configuration) is None
    except (ArithmeticError, TypeError, ValueError):  # values of another kind than the space's
        return False


def is_measurable(value: float | None) -> bool:
    """Whether a number can be a measurement: finite, with finite sums."""
    return value is not None and abs(value) <= LARGEST


def learnable(experiences: Sequence[Experience], task: Task) -> tuple[Experience, ...]:
    """Usable experience: data sets with this kind of target, and trials that are legal in the families.

    Looking at all trials takes time (6 µs each), so that it is done where something learns from them.
    """
    if not experiences:
        return ()
    spaces = spaces_for(task)
    return tuple(cleaned(experience, spaces) for experience in of_kind(experiences, task))
