"""Settings of the selection: candidates, tests, and the ranking of what no test drops."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import field_validator

from automl.settings.fields import Idle, Option, Section, setting
from automl.significance import (
    AlphaSplit,
    Normality,
    Procedure,
    WantedSplit,
    choose_split,
    parse_alpha,
    parse_top_n,
)

FIRST_CANDIDATE_REPEATS = 2
"""Twice five folds make ten paired scores; further repeats come where they are cheap."""


class Selection(Section):
    """How the champion is chosen."""

    title: ClassVar[str] = "The selection"

    candidates_per_signature: int = setting(
        10,
        help="Candidates per signature, by k-means",
        unit="candidates",
        ge=1,
    )
    candidate_limit: int = setting(
        10,
        help="Candidates that are scored on fresh folds",
        unit="candidates",
        presets={"fast": 4, "best": 20},
        idle=(
            Idle(
                lambda s: s.selection_test == "thesis",
                "selection_test thesis takes the best of every cluster; candidates_per_signature sets "
                "their number",
            ),
        ),
        ge=1,
    )
    candidate_repeats: int | None = setting(
        None,
        help="Repeats of the fresh folds on which candidates are compared",
        unit="repeats",
        usual="2, and more if the candidates are cheap",
        presets={"thesis": 3, "fast": 1},
        ge=1,
    )
    candidate_scores: int = setting(
        30,
        help="Maximum number of scores per candidate, with further repeats of the fresh folds",
        unit="scores",
        idle=(
            Idle(
                lambda s: (
                    s.candidate_repeats is not None or s.data_mode == "halves" or s.time is not None
                ),
                "the number of repeats is fixed by candidate_repeats, data_mode halves or the order "
                "in time",
            ),
        ),
        ge=1,
        le=100,
    )
    selection_test: Procedure = setting(
        "closed",
        help="Test that drops worse candidates",
        more="closed (who is among the best, corrected t), paired (corrected t, Holm over all "
        "pairs), mcb (Hsu's comparison with the best), bayesian (posterior of the difference to the "
        "best), friedman, or thesis (ANOVA or Kruskal-Wallis)",
        option=Option(),
        presets={"thesis": "thesis"},
    )
    rope: float = setting(
        0.01,
        help="Largest irrelevant difference of the index, for bayesian",
        more="a model is dropped if the best one is probably better by more than this",
        unit="score",
        option=Option(metavar="X"),
        idle=(
            Idle(
                lambda s: s.selection_test != "bayesian",
                "only selection_test bayesian has a region of practical equivalence",
            ),
        ),
        ge=0,
        lt=float("inf"),
    )
    normality: Normality = setting(
        "kolmogorov_smirnov",
        help="Normality test, for thesis",
        more="lilliefors corrects for the estimated mean and deviation",
        option=Option(),
        idle=(
            Idle(
                lambda s: s.selection_test != "thesis",
                "only selection_test thesis tests for normality",
            ),
        ),
    )
    alpha: float | dict[str, float] = setting(
        0.05,
        help="Significance level, or leaf=X,category=X,family=X,root=X",
        more="0.05 where none is given",
        option=Option(metavar="X", kind=str),
    )
    alpha_split: WantedSplit = setting(
        "auto",
        help="Whether each level or the whole tree keeps alpha",
        more="auto: the tree for closed, paired and mcb with one alpha",
        option=Option(),
    )
    top_n: int | dict[str, int] = setting(
        3,
        help="Models that each level promotes, or leaf=N,category=N,family=N,root=N",
        more="3 where none is given",
        unit="models",
        option=Option(metavar="N", kind=str),
    )
    criteria: dict[str, float] = setting(
        {
            "generalization": 1.0,
            "speed": 0.0,
            "stability": 0.0,
            "simplicity": 0.0,
            "interpretability": 0.0,
        },
        help="Weights of the ranking criteria among indistinguishable models",
        presets={
            "thesis": {
                "generalization": 0.8,
                "speed": 0.05,
                "stability": 0.05,
                "simplicity": 0.05,
                "interpretability": 0.05,
            }
        },
    )

    @field_validator("alpha", mode="before")
    @classmethod
    def _known_levels(cls, value: Any) -> Any:
        return parse_alpha(value)

    @field_validator("top_n", mode="before")
    @classmethod
    def _known_numbers(cls, value: Any) -> Any:
        return parse_top_n(value)

    @field_validator("criteria")
    @classmethod
    def _known_criteria(cls, value: dict[str, float]) -> dict[str, float]:
        from automl.selection.ranking import check_criteria  # slow, only where they are given

        check_criteria(value)
        return value

    @property
    def chosen_alpha_split(self) -> AlphaSplit:
        """`alpha_split`; for auto the tree where the test keeps one alpha over all of it."""
        return choose_split(self.alpha_split, self.selection_test, self.alpha)

    @property
    def first_candidate_repeats(self) -> int:
        """Repeats of the fresh folds that are planned whatever the candidates cost."""
        return FIRST_CANDIDATE_REPEATS if self.candidate_repeats is None else self.candidate_repeats
