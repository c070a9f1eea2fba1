"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from automl.errors import SettingsError
from automl.extensions import Registry
from automl.factory_options import BASE, with_options
from automl.lookup import entry_of
from automl.optimizers.annealing import SimulatedAnnealing
from automl.optimizers.composition import (
    ESMBO,
    FM_TRANSFER,
    FMLP,
    GBQR,
    GP_EI,
    GP_PRIOR,
    GP_SAMPLED,
    MKL_GP,
    MLP_TRANSFER,
    NAMED,
    SCOT,
    SMAC,
    SMAC_TRANSFER,
    Composition,
    Encoding,
    parse_composition,
)
from automl.optimizers.esmbo import EnsembleOptimizer
from automl.optimizers.evolution import Evolution
from automl.optimizers.grid import GridSearch
from automl.optimizers.halving import BOHB, Hyperband, SuccessiveHalving
from automl.optimizers.hypercube import ShrinkingHypercube
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.parametric import ParametricDensity
from automl.optimizers.protocol import Optimizer
from automl.optimizers.random_search import RandomSearch
from automl.optimizers.tpe import TPE
from automl.origins import RESERVED
from automl.parts import Part


@dataclass(frozen=True)
class OptimizerEntry:
    """A named optimizer: how to make one for a space, a line about it and its source.

    Parameters
    ----------
    needs_priors
        Whether it is random search where no prior was learned.
    has_levels
        Whether `make` takes `levels`, a ladder of fidelities (`automl.optimizers.fidelities`).
    reads_clock
        Whether proposals depend on measured seconds; `make` then takes the `timings` that are known.
    n_bootstraps
        Bootstraps of the validation rows whose scores trials must bring (`bootstrap_scores`).
    uses_experience
        Whether `make` takes `sources`, trials on earlier data sets in the space's encoding.
    takes_vote
        Whether `make` takes `vote`, that of a meta-learner on the proposals.
    encoding
        How nominal hyperparameters are written in `sources`, and for the `vote`.
    """

    make: Callable[..., Optimizer]
    summary: str
    source: str
    needs_priors: bool = False
    has_levels: bool = False
    reads_clock: bool = False
    n_bootstraps: int = 0
    uses_experience: bool = False
    takes_vote: bool = False
    encoding: Encoding = "onehot"


IMPROVEMENT, PER_COST = "ei", "ei_per_cost"
COMPOSED = "composed"
"""Name of a composition that was given none."""


def _composed(composition: Composition, summary: str, source: str) -> OptimizerEntry:
    kind = EnsembleOptimizer if composition.n_histories else ModelBasedOptimizer
    return OptimizerEntry(
        partial(kind, composition=composition),
        summary,
        source,
        reads_clock=composition.new_acquisition().needs_seconds,
        n_bootstraps=composition.n_histories,
        uses_experience=composition.uses_experience,
        takes_vote=not composition.n_histories,
        encoding=composition.encoding,
    )


_OURS: dict[str, OptimizerEntry] = {
    "grid": OptimizerEntry(GridSearch, "every combination of the axes' values", "X20 III"),
    "random": OptimizerEntry(RandomSearch, "independent draws from the prior", "B14 3.4.1, X20 IV"),
    "hypercube": OptimizerEntry(
        ShrinkingHypercube, "shrinking hypercubes around the best points", "B14 Algorithm 1"
    ),
    "parametric": OptimizerEntry(
        ParametricDensity,
        "learned priors while the scores agree with them",
        "B14 3.4.3, 4.2",
        needs_priors=True,
    ),
    "annealing": OptimizerEntry(SimulatedAnnealing, "simulated annealing", "B14 6.1"),
    "evolution": OptimizerEntry(
        Evolution, "evolution strategy CatCMA, library cmaes", "B14 6.1, Hamano et al. 2025"
    ),
    "tpe": OptimizerEntry(
        TPE,
        "tree-structured Parzen estimator of whole configurations",
        "X20 VII, interactions ours",
    ),
    "tpe_independent": OptimizerEntry(
        partial(TPE, joint=False), "tree-structured Parzen estimator, each node alone", "X20 VII"
    ),
    "tpe_random": OptimizerEntry(
        partial(TPE, joint=False, draw="random"),
        "as tpe_independent, among candidates drawn at random",
        "X20 VII",
    ),
    "successive_halving": OptimizerEntry(
        SuccessiveHalving,
        "many at low fidelity, the best third goes on",
        "H18 8.2",
        has_levels=True,
    ),
    "hyperband": OptimizerEntry(
        Hyperband, "successive halving begun at several fidelities", "H18 8.2.2", has_levels=True
    ),
    "bohb": OptimizerEntry(
        BOHB, "Hyperband with proposals of tpe", "H18 8.2.2, Falkner et al. 2018", has_levels=True
    ),
    "smac": _composed(
        SMAC, "random forest, expected improvement, local search", "H18 2.5.2, X20 VI"
    ),
    "gp_ei": _composed(GP_EI, "Gaussian process, expected improvement, Sobol points", "L14 2"),
    "gp_sampled": _composed(
        GP_SAMPLED,
        "as gp_ei, averaged over sampled hyperparameters of the process",
        "Snoek et al. (2012)",
    ),
    "gp_prior": _composed(
        GP_PRIOR,
        "gp_sampled with a prior from earlier data sets, trusted as far as the scores bear it out",
        "Wang et al. 2021, Tighineanu et al. 2022",
    ),
    "esmbo": _composed(
        ESMBO, "as gp_ei, one process per bootstrap of the validation rows", "L14 Algorithm 2"
    ),
    "gbqr": _composed(GBQR, "boosted trees for an upper quantile, random draws", "H18 5.3"),
    "fmlp": _composed(
        FMLP, "factorized perceptrons that learn from earlier data sets", "S15 3.3, 3.4"
    ),
    "mlp_transfer": _composed(
        MLP_TRANSFER, "perceptrons that learn from earlier data sets", "S15 3.3"
    ),
    "fm_transfer": _composed(
        FM_TRANSFER, "factorization machines that learn from earlier data sets", "S15 3.3"
    ),
    "smac_transfer": _composed(
        SMAC_TRANSFER, "SMAC++: random forest over all data sets, with meta-features", "S15 4.4"
    ),
    "scot": _composed(
        SCOT, "one ranking for all data sets, a Gaussian process on it", "S15 4.4, Bardenet 2013"
    ),
    "mkl_gp": _composed(
        MKL_GP,
        "Gaussian process over all data sets and their distances",
        "S15 4.4, Yogatama and Mann 2014",
    ),
}
OPTIMIZERS = Registry("automl.optimizers", OptimizerEntry, _OURS, reserved=(*RESERVED, COMPOSED))
"""All optimizers by name, those of installed packages among them."""


def get_optimizer(given: str | Mapping[str, Any]) -> OptimizerEntry:
    """Entry of a named optimizer, of one with options, or of one that is composed in settings.

    Raises
    ------
    SettingsError
        If there is none of this name (the nearest one is proposed), or the composition is not
        usable.
    """
    if isinstance(given, str):
        return entry_of(OPTIMIZERS, given, "optimizer")
    base = given.get(BASE)
    return compose(given) if base is None or base in NAMED else _with_options(given)


def _with_options(given: Mapping[str, Any]) -> OptimizerEntry:
    """Entry of a base that is no composition, with options."""
    base = str(given[BASE])
    entry = entry_of(OPTIMIZERS, base, "optimizer.base")
    _check_own_name(given)
    options = {key: value for key, value in given.items() if key not in (BASE, "name")}
    return replace(entry, make=with_options(entry.make, options, f"optimizer {base}"))


def compose(given: Mapping[str, Any]) -> OptimizerEntry:
    """Entry of a composition; the keys are in `automl.optimizers.composition`.

    Raises
    ------
    SettingsError
        If a key, name or option is unknown, a value is not usable, or a part is missing, or the
        composition is called as something else is.
    """
    composition = parse_composition(given)
    _check_own_name(given)
    return _composed(composition, composition.summary, "settings")


def _check_own_name(given: Mapping[str, Any]) -> None:
    name = given.get("name", COMPOSED)
    if not isinstance(name, str) or name in {"", *RESERVED, *OPTIMIZERS}:
        raise SettingsError(
            f"optimizer.name must be a name of your own; got {name!r}", setting="optimizer"
        )


def per_cost(given: str | Mapping[str, Any]) -> OptimizerEntry | None:
    """Entry of an optimizer with its expected improvement divided by the cost of a trial.

    None if it has no acquisition, or another one.
    """
    entry = get_optimizer(given)
    composition = NAMED.get(given) if isinstance(given, str) else _composition(given)
    if composition is None or composition.acquisition.name != IMPROVEMENT:
        return None
    acquisition = Part(PER_COST, composition.acquisition.options)
    return _composed(replace(composition, acquisition=acquisition), entry.summary, entry.source)


def _composition(given: Mapping[str, Any]) -> Composition | None:
    base = given.get(BASE)
    return parse_composition(given) if base is None or base in NAMED else None


def optimizer_name(given: str | Mapping[str, Any]) -> str:
    """What an optimizer is called in records: its name, `composed` for one without."""
    return given if isinstance(given, str) else str(given.get("name", COMPOSED))
