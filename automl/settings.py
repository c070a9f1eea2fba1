"""Settings of a run."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from automl.addresses import public_address
from automl.errors import SettingsError
from automl.preprocessing_settings import parse_preprocessing
from automl.problem_names import name_problem, problem_name
from automl.significance import AlphaSplit, choose_split, parse_alpha, parse_top_n

PresetName = Literal["thesis", "fast", "balanced", "best"]
AUTO = "auto"
"""The allocator by expected gain that fits the budget."""
LEARNED = "learned"
"""Value of `priors`: those that experience teaches."""
DEFAULT_BUDGET_SECONDS = 600.0
MINIMUM_BUDGET_SECONDS = 10.0
FIRST_CANDIDATE_REPEATS = 2
"""Twice five folds make ten paired scores; further repeats come where they are cheap."""

_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?\s*$")
_UNIT_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


def parse_duration(text: str | float) -> float:
    """Seconds of a duration such as ``90``, ``90s``, ``10m``, ``5min``, ``1.5h``.

    Raises
    ------
    SettingsError
        If the text is not a positive number with an optional unit s, m or min, h or d.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        seconds = float(text)
    else:
        match = _DURATION.match(str(text))
        if match is None:
            raise SettingsError(
                f"a duration must look like 90s, 10m or 1.5h; got {text!r}", value=text
            )
        seconds = float(match.group(1)) * _UNIT_SECONDS[match.group(2)]
    if not 0 < seconds < float("inf"):
        raise SettingsError(f"a duration must be positive; got {text!r}", value=text)
    return seconds


class Settings(BaseModel):
    """Everything that decides the outcome of a run; shown as a form in the Prefect UI."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str = Field(
        description="Table to learn from: a file, a URI, sklearn:NAME or openml:NAME", min_length=1
    )
    target: str = Field(description="Column to predict", min_length=1)
    task: Literal["auto", "binary", "multiclass", "regression"] = "auto"
    name: str = Field(default="", description="Problem name; default: table name and target")
    preset: PresetName = "balanced"
    budget_seconds: float | None = Field(
        default=None,
        description="Wall-clock seconds for the whole run; 600 unless trials is given",
        ge=MINIMUM_BUDGET_SECONDS,
    )
    trials: int | None = Field(
        default=None, description="Number of search trials instead of a time budget", ge=1
    )
    metric: str | dict[str, float] = Field(
        default="index", description="index, a metric's name, weights by name, or FILE.py:FUNCTION"
    )
    beta: float = Field(
        default=1.0,
        description="How much more the recall counts than the precision in F-beta, a part of index",
        gt=0,
        le=1000,
    )
    positive: str | None = Field(default=None, description="Positive class of a binary target")
    cost_matrix: list[list[float]] | None = Field(
        default=None, description="Cost of predicting column j for true class i"
    )
    decision: Literal["learned", "given"] = Field(
        default="learned",
        description="Threshold of two classes: learned from out-of-fold predictions where the metric "
        "depends on labels, or given by the costs alone (one half without costs)",
    )
    families: tuple[str, ...] = Field(default=(), description="Only these families")
    exclude: tuple[str, ...] = Field(default=(), description="Families left out")
    family_folder: str | None = Field(default=None, description="Folder with own family files")
    trust: bool = Field(
        default=False,
        description="Store models of own families as pickles where nothing else can hold them",
    )
    spaces: dict[str, dict[str, Any]] = Field(
        default={}, description="Other ranges or choices, by family and hyperparameter"
    )
    preprocessing: dict[str, Any] = Field(
        default={},
        description="Preprocessing of all families, a value or a list to be searched by name: "
        "numeric_imputer, nominal_imputer, variance, variance_raw, many_categories, reducer_share, text",
    )
    priors: str | None = Field(
        default=None,
        description="Priors that take the place of the families' plain ranges: a file that `automl "
        "learn priors` has written, or learned, from what earlier runs have tried",
        min_length=1,
    )
    roles: dict[str, str] = Field(default={}, description="Column roles that override detection")
    strict: bool = Field(
        default=False,
        description="Refuse odd values, names and small classes, instead of taking them with a note",
    )
    optimizer: str | dict[str, Any] = Field(
        default="hypercube",
        description="Optimizer inside each family: a name, or the parts of a composition",
    )
    allocator: str = Field(
        default="uniform",
        description="How turns are given to families: a name, or auto for expected_gain_seconds, "
        "and expected_gain where trials are counted",
    )
    fidelity: Literal["auto", "folds", "rows", "iterations"] = Field(
        default="auto",
        description="What halving, hyperband and bohb save on: folds, training rows, or trees and "
        "rounds; auto takes folds where there are three",
    )
    portfolio: bool = Field(
        default=True,
        description="Begin with the best of earlier runs on the data set, and with a portfolio",
    )
    warm_start: Literal["adaptive", "portfolio", "nearest", "best", "delta", "order"] = Field(
        default="adaptive",
        description="What is taken over from other data sets to begin with: adaptive (what is "
        "expected to be best after each score here), portfolio (good on many), nearest (best on the "
        "most similar), best or delta (three by the meta-learner), order (all known ones in its "
        "order)",
    )
    blend: float = Field(
        default=0.0,
        description="Trials of a family that the meta-learner's vote on proposals counts as much "
        "as; 0: no vote",
        ge=0,
        le=10_000,
    )
    experience: bool = Field(default=True, description="Use what earlier runs have tried")
    exclude_experience: tuple[str, ...] = Field(
        default=(),
        description="Data sets of which nothing is used that earlier runs have tried: names, run "
        "ids, origins (shipped, imported), or the first digits of a fingerprint or layout",
    )
    lookback: int = Field(
        default=4, description="Decision i sees the results of decisions up to i - lookback", ge=1
    )
    racing: bool = Field(default=True, description="End hopeless trials before their last fold")
    data_mode: Literal["all", "halves"] = Field(
        default="all", description="Search on all training rows, or on half S with tests on half H"
    )
    halves: Literal["disjoint", "bootstrap", "all"] = Field(
        default="disjoint", description="How the halves S and H share the rows"
    )
    search_share: float = Field(default=0.5, description="Share of the rows in half S", gt=0, lt=1)
    folds: int = Field(default=5, ge=2, le=50)
    search_repeats: int = Field(
        default=1,
        description="Repeats of the folds in the search: a trial's score is the mean over all of "
        "them; predictions and fold models are kept of the first",
        ge=1,
        le=20,
    )
    target_bins: int = Field(
        default=0,
        description="Folds of a numeric target hold equal shares of so many quantile bins of it; "
        "0: plain folds",
        ge=0,
        le=100,
    )
    adapt_folds: bool = Field(
        default=True,
        description="Fewer folds, or one holdout, where the table is large for the budget",
    )
    holdout_above_rows: int | None = Field(
        default=50_000, description="Above this many rows one holdout replaces the folds", ge=0
    )
    candidate_limit: int = Field(default=10, ge=1)
    candidate_repeats: int | None = Field(
        default=None,
        description="Repeats of the fresh folds on which candidates are compared; default: 2, and "
        "more where the candidates are cheap",
        ge=1,
    )
    candidate_scores: int = Field(
        default=30,
        description="Most scores that further repeats of the fresh folds may give each candidate",
        ge=1,
        le=100,
    )
    selection_test: Literal["thesis", "closed", "paired", "friedman", "mcb", "bayesian"] = Field(
        default="closed",
        description="Test that drops worse candidates: closed (who is among the best, corrected t), "
        "paired (corrected t, Holm over all pairs), mcb (Hsu's comparison with the best), bayesian "
        "(posterior of the difference to the best), friedman, or thesis (ANOVA or Kruskal-Wallis)",
    )
    rope: float = Field(
        default=0.01,
        description="Difference of the index that means nothing in practice, for selection_test "
        "bayesian: a model is dropped when the best one is probably better by more",
        ge=0,
        lt=float("inf"),
    )
    normality: Literal["kolmogorov_smirnov", "lilliefors"] = Field(
        default="kolmogorov_smirnov",
        description="Test of normal scores in selection_test thesis; lilliefors corrects for the "
        "estimated mean and deviation",
    )
    clusters: int = Field(default=10, description="Candidates per signature, by k-means", ge=1)
    top_n: int | dict[str, int] = Field(
        default=3,
        description="Models promoted per level of the tree: one number, or numbers by level: leaf, "
        "category, family, root (3 where none is given)",
    )
    alpha: float | dict[str, float] = Field(
        default=0.05,
        description="Significance level of the selection: one value, or values by level: leaf, "
        "category, family, root (0.05 where none is given)",
    )
    alpha_split: Literal["auto", "level", "tree"] = Field(
        default="auto",
        description="Each level of the tree keeps the alpha stated for it, or the whole tree does; "
        "auto: the tree for closed, paired and mcb with one alpha",
    )
    criteria: dict[str, float] = Field(
        default={
            "generalization": 1.0,
            "speed": 0.0,
            "stability": 0.0,
            "simplicity": 0.0,
            "interpretability": 0.0,
        },
        description="Weights of the ranking criteria among indistinguishable models",
    )
    ensemble: Literal["greedy", "agnostic_bayes", "stacking", "none"] = Field(
        default="greedy",
        description="How the blend of models is weighted; stacking: models of a second layer alone",
    )
    ensemble_combine: Literal["mean", "median", "vote"] = Field(
        default="mean",
        description="How members' predictions become one: mean of probabilities or values, median "
        "of values, vote of classes",
    )
    ensemble_alpha: float = Field(
        default=0.5,
        description="The ensemble replaces the champion if the paired test's p-value is below this; "
        "one half takes it when its mean is better, less asks for more evidence",
        gt=0,
        le=0.5,
    )
    ensemble_members: int | None = Field(
        default=None,
        description="Most members of the ensemble, the inputs of others included; default: 12, and "
        "as many as there are bootstraps for agnostic_bayes",
        ge=1,
    )
    layers: Literal[1, 2] = Field(
        default=1, description="2: models that learn from the first layer's predictions may join"
    )
    stack_features: bool = Field(
        default=False, description="The second layer sees the columns of the table as well"
    )
    final: Literal["bag", "refit"] = "bag"
    bag_up_to_rows: int = Field(default=20_000, ge=0)
    max_predict_ms: float | None = Field(
        default=None, description="Upper limit of milliseconds to predict one row", gt=0
    )
    reserve: float = Field(
        default=0.2,
        description="Greatest share of the budget for candidates on fresh folds and for refits",
        ge=0,
    )
    test: str | None = Field(default=None, description="Table of untouched test rows", min_length=1)
    test_share: float = Field(
        default=0.0, description="Share of rows set aside as test rows", ge=0, lt=0.9
    )
    groups: str | None = Field(default=None, description="Column whose groups stay together")
    time: str | None = Field(default=None, description="Column that orders the rows in time")
    weights: str | None = Field(default=None, description="Column of sample weights")
    class_weight: Literal["none", "balanced"] = "none"
    workers: int = Field(default=0, description="Trials at a time; 0: one per core", ge=0)
    threads: int = Field(default=1, description="Threads per trial", ge=1)
    trial_seconds: float | None = Field(default=None, description="Limit of one trial", gt=0)
    memory_mib: float | None = Field(default=None, description="Memory limit of one trial", gt=0)
    predictions_quota_mib: float = Field(
        default=2048.0, description="Disk space of the predictions that a run keeps", gt=0
    )
    seed: int = Field(default=0, ge=0)
    challenge: bool = Field(
        default=True,
        description="Take the alias champion from a model only by a better score on rows new to both",
    )
    register_after: bool = Field(
        default=False,
        description="Let a process of its own complete after the run what the tracking store lacks "
        "where there was no time for it, for ten minutes at most",
    )
    cost_aware: bool = Field(
        default=False, description="Let measured seconds influence decisions under a trial budget"
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError(f"must be a number; got {value!r}")
        return value

    @field_validator("budget_seconds", "trial_seconds", mode="before")
    @classmethod
    def _duration(cls, value: Any) -> Any:
        return value if value is None else parse_duration(value)

    @field_validator("name")
    @classmethod
    def _kept_name(cls, value: str) -> str:
        if problem := name_problem(value):
            raise ValueError(problem)
        return value

    @field_validator("families", "exclude", "exclude_experience", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            names = tuple(part.strip() for part in value.split(",") if part.strip())
            if not names:
                kind = "data sets" if info.field_name == "exclude_experience" else "families"
                raise ValueError(f"must name {kind}; got {value!r}")
            return names
        return value

    @field_validator("alpha", mode="before")
    @classmethod
    def _known_levels(cls, value: Any) -> Any:
        return parse_alpha(value)

    @field_validator("preprocessing", mode="before")
    @classmethod
    def _known_preprocessing(cls, value: Any) -> Any:
        return parse_preprocessing(value)

    @field_validator("top_n", mode="before")
    @classmethod
    def _known_numbers(cls, value: Any) -> Any:
        return parse_top_n(value)

    @field_validator("target_bins")
    @classmethod
    def _two_bins(cls, value: int) -> int:
        if value == 1:
            raise ValueError("must be 0 (plain folds) or at least 2; got 1")
        return value

    @field_validator("criteria")
    @classmethod
    def _known_criteria(cls, value: dict[str, float]) -> dict[str, float]:
        from automl.selection.ranking import check_criteria  # slow, only where they are given

        check_criteria(value)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if left_out := [name for name in self.spaces if not self.takes_part(name)]:
            raise ValueError(f"spaces names family {left_out[0]!r}, which does not take part")
        if self.groups and self.time:
            raise ValueError("groups and time cannot be combined; give one of them")
        if self.test and self.test_share:
            raise ValueError("test and test_share cannot be combined; give one of them")
        if self.data_mode == "halves" and self.ensemble != "none":
            raise ValueError("an ensemble needs data_mode all; with halves give ensemble none")
        choose_split(self.alpha_split, self.selection_test, self.alpha)
        return self

    def takes_part(self, family: str) -> bool:
        """Whether `families` and `exclude` admit a family."""
        return family not in self.exclude and (not self.families or family in self.families)

    @property
    def has_second_layer(self) -> bool:
        """Whether models that learn from other models' predictions may join the ensemble."""
        return self.ensemble == "stacking" or (self.layers == 2 and self.ensemble != "none")

    @property
    def seconds(self) -> float | None:
        """Budget of the whole run; None when only the number of trials limits it."""
        if self.budget_seconds is None and self.trials is None:
            return DEFAULT_BUDGET_SECONDS
        return self.budget_seconds

    @property
    def chosen_allocator(self) -> str:
        """`allocator`; for auto the one by expected gain per second, or per turn under trials."""
        if self.allocator != AUTO:
            return self.allocator
        return "expected_gain_seconds" if self.may_read_clock else "expected_gain"

    @property
    def chosen_alpha_split(self) -> AlphaSplit:
        """`alpha_split`; for auto the tree where the test keeps one alpha over all of it."""
        return choose_split(self.alpha_split, self.selection_test, self.alpha)

    @property
    def first_candidate_repeats(self) -> int:
        """Repeats of the fresh folds that are planned whatever the candidates cost."""
        return FIRST_CANDIDATE_REPEATS if self.candidate_repeats is None else self.candidate_repeats

    @property
    def may_read_clock(self) -> bool:
        """Whether measured seconds may influence decisions."""
        return self.trials is None or self.cost_aware

    @property
    def public(self) -> Settings:
        """The same without what may be a secret in the addresses of the tables."""
        known = {name: getattr(self, name) for name in ("table", "test")}
        return self.model_copy(
            update={name: public_address(value) for name, value in known.items() if value}
        )

    @property
    def problem(self) -> str:
        """Name of the experiment: `name`, else table stem and target."""
        return problem_name({"name": self.name, "table": self.table, "target": self.target})
