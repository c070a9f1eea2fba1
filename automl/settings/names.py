"""Names that settings take from registries: what is registered is allowed, whoever registered it.

A registry is imported when a name is looked up in it, so that settings themselves load quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from automl.bandits.special_names import AUTO, ONLY
from automl.lookup import did_you_mean

if TYPE_CHECKING:
    from automl.optimizers.registry import OptimizerEntry

NO_ENSEMBLE = "none"
INDEX = "index"


def _whole(value: Any) -> Iterable[str]:
    return [value] if isinstance(value, str) else []


@dataclass(frozen=True)
class Names:
    """The names that a setting may hold.

    Parameters
    ----------
    known
        Looks them up.
    within
        Those in a value that must be known; of a composition none, it is checked where it is read.
    command
        Which lists them with a line about each.
    takes_texts
        Whether a text that is no name of the registry may do as well.
    """

    known: Callable[[], Sequence[str]]
    within: Callable[[Any], Iterable[str]] = _whole
    command: str = ""
    takes_texts: bool = False

    def check(self, value: Any) -> None:
        """Refuse a value with a name that is not registered.

        Raises
        ------
        ValueError
            With all names, and the nearest one.
        """
        for name in self.within(value):
            legal = self.known()
            if name not in legal:
                raise ValueError(
                    f"must be one of {', '.join(legal)}; got {name!r}{did_you_mean(name, legal)}"
                )


def _optimizers() -> Sequence[str]:
    from automl.optimizers.registry import OPTIMIZERS

    return tuple(OPTIMIZERS)


def _allocators() -> Sequence[str]:
    from automl.bandits.registry import ALLOCATORS

    return (AUTO, *ALLOCATORS)


def _allocator_within(value: Any) -> Iterable[str]:
    if not isinstance(value, str):
        return []
    kind, _, family = value.partition(":")
    return [kind if kind == ONLY and family else value]


def _ensembles() -> Sequence[str]:
    from automl.ensembles.registry import ENSEMBLES

    return (*(name for name in ENSEMBLES if name != "single"), NO_ENSEMBLE)


def _metrics() -> Sequence[str]:
    from automl.metrics.registry import metric_names

    return (INDEX, *metric_names())


def found_elsewhere(metric: str | dict[str, float]) -> str | dict[str, float]:
    """A metric, or weights, by names that any other process finds.

    A run's settings are read by workers, and by commands that resume or retrain it.
    """
    from automl.metrics.registry import qualified

    if isinstance(metric, str):
        return qualified(metric)
    return {qualified(name): weight for name, weight in metric.items()}


def _metrics_within(value: Any) -> Iterable[str]:
    """Names of metrics; a user's own function is none."""
    names = value if isinstance(value, Mapping) else [value]
    return [name for name in names if ":" not in name]


def _warm_starts() -> Sequence[str]:
    from automl.recommendation.methods import WAYS

    return WAYS


OPTIMIZER_NAMES = Names(_optimizers, command="automl optimizers")
ALLOCATOR_NAMES = Names(
    _allocators, _allocator_within, command="automl allocators", takes_texts=True
)
ENSEMBLE_NAMES = Names(_ensembles, command="automl ensembles")
METRIC_NAMES = Names(_metrics, _metrics_within, takes_texts=True)
WARM_STARTS = Names(_warm_starts)


def optimizer_entry(given: str | Mapping[str, Any]) -> OptimizerEntry:
    """Entry of an optimizer, by name or composed.

    Raises
    ------
    SettingsError
        If there is none, or the composition is not usable.
    """
    from automl.optimizers.registry import get_optimizer

    return get_optimizer(given)


def is_second_layer(ensemble: str) -> bool:
    """Whether an ensemble method weights models of a second layer alone."""
    if ensemble == NO_ENSEMBLE:
        return False
    from automl.ensembles.registry import get_ensemble

    return get_ensemble(ensemble).is_second_layer


def packages_add_families() -> bool:
    """Whether an installed package adds families."""
    from automl.families.registry import families_of_packages

    return bool(families_of_packages())


def check_families(names: Iterable[str]) -> None:
    """Refuse a family that is not registered.

    Raises
    ------
    SettingsError
        With the nearest one.
    """
    from automl.families.registry import get_family

    for name in names:
        get_family(name)
