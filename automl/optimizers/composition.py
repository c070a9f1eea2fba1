"""Compositions: model-based optimizers as data: surrogate, acquisition, maximizer and more.

A user writes one in settings::

    optimizer:
      base: smac                            # begin with a named one; everything below is optional
      name: my_forest
      surrogate: {name: forest, n_trees: 30}
      acquisition: {name: ei_margin, margin: 0.05}
      maximizer: {name: local_search, n_candidates: 2000}
      initial_design: {name: sobol, n_points: 8}
      interleaving: 4
      target: log_gap
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from automl.acquisition.functions import Acquisition
from automl.acquisition.maximizers import Maximizer
from automl.acquisition.registry import ACQUISITIONS, MAXIMIZERS
from automl.errors import SettingsError
from automl.lookup import entry_of
from automl.optimizers.initial_design import INITIAL_DESIGNS, InitialDesign
from automl.parts import Kind, Part, build
from automl.surrogates.earlier_data import TransferSurrogate
from automl.surrogates.protocol import BelievingSurrogate, Surrogate
from automl.surrogates.registry import SURROGATES
from automl.surrogates.score_targets import TARGETS

Pending = Literal["believer", "median", "worst", "best"]
Encoding = Literal["onehot", "index"]

_KINDS: dict[str, Mapping[str, Kind[Any]]] = {
    "surrogate": SURROGATES,
    "acquisition": ACQUISITIONS,
    "maximizer": MAXIMIZERS,
    "initial_design": INITIAL_DESIGNS,
    "runtime": SURROGATES,
}
_INITIAL_DESIGN = Part("default_and_random")
_RUNTIME = Part("log_seconds_boosting")


def _check_name(names: Iterable[str], given: Any, setting: str) -> None:
    """Refuse unknown names; a settings file may hold anything."""
    entry_of(dict.fromkeys(names), given if isinstance(given, str) else repr(given), setting)


@dataclass(frozen=True)
class Composition:
    """The parts of a model-based optimizer.

    Parameters
    ----------
    surrogate, acquisition, maximizer, initial_design
        Parts by name; see their registries.
    runtime
        Surrogate of the logarithm of seconds, for acquisitions per cost.
    interleaving : at least 0
        Every so manieth proposal after the initial design is a random draw; 0: none.
    encoding
        How nominal hyperparameters are written.
    target
        How scores become targets.
    pending
        What configurations under way count as: `believer` believes the surrogate's own mean;
        `median`, `worst` and `best` are constant liars with this one of the scores seen.
    n_histories : at least 0
        0: one model, of the trials' scores. Else one for each of so many bootstraps of the
        validation rows, asked in turn (`automl.optimizers.esmbo`).

    Raises
    ------
    SettingsError
        If a name or an option is unknown, a value is not usable, or the surrogate cannot believe.
    """

    surrogate: Part
    acquisition: Part
    maximizer: Part
    initial_design: Part = _INITIAL_DESIGN
    runtime: Part = _RUNTIME
    interleaving: int = 0
    encoding: Encoding = "onehot"
    target: str = "standard"
    pending: Pending = "median"
    n_histories: int = 0

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            build(kinds, getattr(self, name), name)
        for name in ("interleaving", "n_histories"):
            number = getattr(self, name)
            if type(number) is not int or number < 0:
                raise SettingsError(
                    f"{name} must be a whole number of at least 0; got {number!r}", setting=name
                )
        _check_name(get_args(Encoding), self.encoding, "encoding")
        _check_name(TARGETS, self.target, "target")
        _check_name(get_args(Pending), self.pending, "pending")
        if self.pending == "believer" and not isinstance(self.new_surrogate(), BelievingSurrogate):
            raise SettingsError(
                f"pending believer, also of the base, needs a Gaussian process; got {self.surrogate.name!r},"
                " for which pending may be median, worst or best",
                setting="pending",
            )

        if self.n_histories and self.uses_experience:
            raise SettingsError(
                f"n_histories cannot be combined with surrogate {self.surrogate.name!r}, which"
                " learns from earlier data sets",
                setting="n_histories",
            )

    def new_surrogate(self) -> Surrogate:
        """New surrogate of the score."""
        return build(SURROGATES, self.surrogate, "surrogate")

    def new_runtime(self) -> Surrogate:
        """New surrogate of the logarithm of seconds."""
        return build(SURROGATES, self.runtime, "runtime")

    def new_acquisition(self) -> Acquisition:
        """New acquisition function."""
        return build(ACQUISITIONS, self.acquisition, "acquisition")

    def new_maximizer(self) -> Maximizer:
        """New maximizer."""
        return build(MAXIMIZERS, self.maximizer, "maximizer")

    def new_initial_design(self) -> InitialDesign:
        """New initial design."""
        return build(INITIAL_DESIGNS, self.initial_design, "initial_design")

    @property
    def uses_experience(self) -> bool:
        """Whether the surrogate learns from earlier data sets."""
        return isinstance(self.new_surrogate(), TransferSurrogate)

    @property
    def summary(self) -> str:
        """One line: the names of the main parts."""
        parts = (self.surrogate, self.acquisition, self.maximizer, self.initial_design)
        return ", ".join(part.name for part in parts)


SMAC = Composition(
    Part("forest"), Part("ei"), Part("local_search"), Part("default_and_random"), interleaving=2
)
GP_EI = Composition(
    Part("gaussian_process"),
    Part("ei"),
    Part("sobol"),
    Part("sobol"),
    target="winsorized",
    pending="believer",
)
GP_SAMPLED = replace(GP_EI, surrogate=Part("gaussian_process", (("n_samples", 8),)))
GP_PRIOR = replace(GP_EI, surrogate=Part("gp_sources"))
ESMBO = replace(GP_EI, n_histories=50)
GBQR = Composition(
    Part("quantile_boosting"), Part("ucb"), Part("random"), Part("default_and_random")
)
_SEARCH = Part("local_search", (("n_candidates", 2000), ("n_starts", 5)))
FMLP = Composition(
    Part("factorized_perceptron"), Part("ei"), _SEARCH, _INITIAL_DESIGN, target="winsorized"
)
MLP_TRANSFER = replace(FMLP, surrogate=Part("transfer_perceptron"))
FM_TRANSFER = replace(FMLP, surrogate=Part("factorization_machine"))
SMAC_TRANSFER = replace(FMLP, surrogate=Part("transfer_forest"))
SCOT = replace(FMLP, surrogate=Part("ranking_process"))
MKL_GP = replace(FMLP, surrogate=Part("mixed_kernel_process"))
NAMED: dict[str, Composition] = {
    "smac": SMAC,
    "gp_ei": GP_EI,
    "gp_sampled": GP_SAMPLED,
    "gp_prior": GP_PRIOR,
    "esmbo": ESMBO,
    "gbqr": GBQR,
    "fmlp": FMLP,
    "mlp_transfer": MLP_TRANSFER,
    "fm_transfer": FM_TRANSFER,
    "smac_transfer": SMAC_TRANSFER,
    "scot": SCOT,
    "mkl_gp": MKL_GP,
}
"""Compositions that `base` can begin with, and that are optimizers by name."""


def parse_composition(given: Mapping[str, Any]) -> Composition:
    """Composition from a mapping of settings; see the module.

    Raises
    ------
    SettingsError
        If a key, name or option is unknown, a value is not usable, or a part is missing.
    """
    names = [entry.name for entry in fields(Composition)]
    for key in given:
        _check_name(["base", "name", *names], key, "a key of optimizer")
    parts: dict[str, Any] = {
        key: Part.parse(value, f"optimizer.{key}") if key in _KINDS else value
        for key, value in given.items()
        if key in names
    }
    if "base" in given:
        _check_name(NAMED, given["base"], "optimizer.base")
        return replace(NAMED[given["base"]], **parts)
    missing = [key for key in ("surrogate", "acquisition", "maximizer") if key not in parts]
    if missing:
        for key in _KINDS:
            if key in parts:
                _check_name(_KINDS[key], parts[key].name, f"optimizer.{key}")
        raise SettingsError(
            f"optimizer must give {', '.join(missing)}, or a base to begin with"
            f" (one of {', '.join(NAMED)})",
            setting="optimizer",
        )
    return Composition(**parts)
