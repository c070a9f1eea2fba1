"""How groups of candidates are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, get_args

from automl.errors import SettingsError
from automl.significance import AlphaSplit, Normality, Procedure


@dataclass(frozen=True)
class ComparisonSettings:
    """How groups are compared.

    Parameters
    ----------
    procedure
        `thesis`: ANOVA with Tukey if neither normality nor equal variances is rejected, else
        Kruskal-Wallis with Nemenyi. `closed`: closed test of who is among the best, by corrected t.
        `paired`: corrected t over all pairs with Holm. `friedman`: Friedman with Nemenyi. `mcb`:
        Hsu's comparison with the best, by corrected t. `bayesian`: posterior of the difference to
        the best, with a region of practical equivalence.
    normality
        `kolmogorov_smirnov` as in the thesis, or `lilliefors`, which corrects for the estimated
        parameters.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold, for `closed`, `paired`, `mcb` and `bayesian`.
    alpha_split
        `level`: every level of the tree keeps the alpha stated for it; `tree`: the whole tree
        keeps alpha. What each guarantees says `automl.selection.multiplicity`.
    rope : non-negative
        Greatest difference that means nothing in practice, in units of the scores, for `bayesian`.
    """

    procedure: Procedure = "thesis"
    normality: Normality = "kolmogorov_smirnov"
    test_train_ratio: float = 1.0 / 9.0
    alpha_split: AlphaSplit = "level"
    rope: float = 0.01

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("test", self.procedure, get_args(Procedure)),
            ("normality", self.normality, get_args(Normality)),
            ("alpha_split", self.alpha_split, get_args(AlphaSplit)),
        ):
            if value not in allowed:
                raise SettingsError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
        for name, number in (("test_train_ratio", self.test_train_ratio), ("rope", self.rope)):
            if not number >= 0:
                raise SettingsError(f"{name} must be >= 0; got {number}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return dict(self.__dict__)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**data)
