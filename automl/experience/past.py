"""A data set's own past: what was best when earlier versions of it were searched."""

from __future__ import annotations

from collections.abc import Sequence

from automl.experience.data_set import DataSetFacts, Experience
from automl.records import Configuration

MOST = 6
"""Configurations of the past that a run begins with."""


def is_past_of(one: DataSetFacts, data: DataSetFacts) -> bool:
    """Whether a data set is the same one, or a version of it under the same name and columns."""
    if one.task is not data.task:
        return False
    is_same_content = bool(data.fingerprint) and one.fingerprint == data.fingerprint
    is_version = bool(data.layout) and one.layout == data.layout and one.name == data.name
    return is_same_content or is_version


def past_best(
    experiences: Sequence[Experience], data: DataSetFacts, *, most: int = MOST
) -> list[Configuration]:
    """The best configuration of each family in the newest earlier run, the best family first.

    Where that run has fewer families than `most`, the runs before it add theirs. A family comes
    once from each run, and no configuration twice.

    Parameters
    ----------
    experiences
        Without what cannot be used (`automl.experience.cleaning`).
    data
        The data set that is searched now.
    """
    past = [one for one in experiences if is_past_of(one.data, data)]
    past.sort(key=lambda one: (one.created, one.id), reverse=True)
    chosen: dict[str, Configuration] = {}
    for one in past:
        for configuration in _best_by_family(one):
            chosen.setdefault(configuration.id, configuration)
    return list(chosen.values())[:most]


def _best_by_family(one: Experience) -> list[Configuration]:
    families = {trial.configuration.family for trial in one.trials}
    best: dict[str, Configuration] = {}
    for configuration, _ in sorted(one.scored(families), key=lambda found: -found[1]):
        best.setdefault(configuration.family, configuration)
    return list(best.values())
