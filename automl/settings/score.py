"""Settings of the score: the metric, the decision rule, and the folds it is measured on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from automl.alternatives import Decision
from automl.settings.fields import Idle, Option, Section, setting
from automl.settings.names import METRIC_NAMES, found_elsewhere
from automl.settings.option_texts import parse_metric, read_cost_matrix


class Score(Section):
    """The score, and the rows that it is measured on."""

    title: ClassVar[str] = "The score and its folds"

    metric: str | dict[str, float] = setting(
        "index",
        help="What is maximized: index, a metric's name, NAME=WEIGHT,NAME=WEIGHT or FILE.py:NAME",
        option=Option(metavar="NAME"),
        names=METRIC_NAMES,
        form="first",
    )
    beta: float = setting(
        1.0,
        help="Weight of recall against precision in F-beta",
        more="also as part of index",
        option=Option(metavar="X"),
        idle=(
            Idle(
                lambda s: s.beta != 1.0 and s.task == "regression", "F-beta is a metric of classes"
            ),
        ),
        gt=0,
        le=1000,
    )
    cost_matrix: list[list[float]] | None = setting(
        None,
        help="Cost of predicting column j for true class i",
        more="rows of numbers; the option takes a csv or YAML file of them",
        option=Option(metavar="FILE", kind=Path, parse=read_cost_matrix),
    )
    decision: Decision = setting(
        "learned",
        help="Threshold of two classes",
        more="learned from out-of-fold predictions where the metric depends on labels, or given by "
        "the costs alone (one half without costs)",
        presets={"thesis": "given"},
        idle=(
            Idle(
                lambda s: s.task in {"multiclass", "regression"},
                "only two classes have a threshold",
            ),
        ),
    )
    folds: int = setting(
        5,
        help="Folds of the search and of the candidates",
        unit="folds",
        presets={"thesis": 10, "fast": 3, "best": 8},
        ge=2,
        le=50,
    )
    search_repeats: int = setting(
        1,
        help="Repeats of the folds in the search",
        more="a trial's score is the mean over all of them; the first one's predictions and fold "
        "models are kept",
        unit="repeats",
        ge=1,
        le=20,
    )
    target_bins: int = setting(
        0,
        help="Stratify the folds of a numeric target by this many quantile bins",
        more="0: plain folds",
        unit="bins",
        idle=(
            Idle(
                lambda s: (
                    s.target_bins > 0
                    and (s.time is not None or s.task in {"classification", "binary", "multiclass"})
                ),
                "folds of classes are stratified by class, and folds in time order follow the time "
                "alone",
            ),
        ),
        ge=0,
        le=100,
    )
    adapt_folds: bool = setting(
        True,
        help="Fewer folds, or one holdout, if the table is large for the budget",
        presets={"thesis": False},
        idle=(
            Idle(
                lambda s: s.trials is not None,
                "with a number of trials nothing adapts to time; give budget_seconds alone",
            ),
        ),
    )
    holdout_above_rows: int | None = setting(
        50_000,
        help="Above this many rows one holdout replaces the folds",
        unit="rows",
        presets={"thesis": None, "fast": 10_000, "best": None},
        ge=0,
    )
    data_mode: Literal["all", "halves"] = setting(
        "all",
        help="Search on all training rows, or on half S with tests on half H",
        presets={"thesis": "halves"},
    )
    halves: Literal["disjoint", "bootstrap", "all"] = setting(
        "disjoint",
        help="How the halves S and H share the rows",
        idle=(
            Idle(lambda s: s.data_mode == "all", "the search uses all rows; give data_mode halves"),
        ),
    )
    search_share: float = setting(
        0.5,
        help="Share of the rows in half S",
        unit="share of the rows",
        idle=(
            Idle(lambda s: s.data_mode == "all", "the search uses all rows; give data_mode halves"),
            Idle(
                lambda s: s.halves != "disjoint",
                "only disjoint halves have a share; give halves disjoint",
            ),
        ),
        gt=0,
        lt=1,
    )

    @field_validator("metric", mode="before")
    @classmethod
    def _weights_of_text(cls, value: Any) -> Any:
        return parse_metric(value)

    @field_validator("metric")
    @classmethod
    def _found_elsewhere(cls, value: str | dict[str, float]) -> str | dict[str, float]:
        return found_elsewhere(value)

    @field_validator("target_bins")
    @classmethod
    def _two_bins(cls, value: int) -> int:
        if value == 1:
            raise ValueError("must be 0 (plain folds) or at least 2; got 1")
        return value
