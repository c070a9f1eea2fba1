"""Settings of the model's name, storage and registration."""

from __future__ import annotations

from typing import ClassVar

from pydantic import field_validator

from automl.alternatives import PromotionRule
from automl.problem_names import name_problem
from automl.settings.fields import Idle, Option, Section, setting
from automl.settings.names import packages_add_families


class Registration(Section):
    """How the model is named, stored and registered."""

    title: ClassVar[str] = "The registration"

    name: str = setting(
        "",
        help="Problem and model name",
        usual="table and target",
        option=Option(metavar="NAME"),
        form="first",
    )
    challenge: bool = setting(
        True,
        help="Compare the model with the champion on rows new to both before it takes the alias",
    )
    promotion: PromotionRule = setting(
        "not_worse",
        help="When a new model takes the alias champion",
        more="superior (it is proven better, at promotion_alpha for all models compared with one champion), "
        "not_worse (it is proven not to be worse by more than promotion_margin), or always",
        option=Option(),
        idle=(Idle(lambda s: not s.challenge, "challenge false compares no models"),),
    )
    promotion_margin: float | None = setting(
        None,
        help="How much worse than the champion a new model may be under not_worse",
        more="in units of the metric, of the index where several metrics are summed",
        usual="0.05 of the way from the constant's value to the ideal",
        idle=(
            Idle(lambda s: not s.challenge, "challenge false compares no models"),
            Idle(lambda s: s.promotion != "not_worse", "it belongs to promotion not_worse"),
        ),
        gt=0,
    )
    promotion_alpha: float = setting(
        0.05,
        help="Chance that a model takes the alias although the rule of promotion should refuse it",
        idle=(
            Idle(lambda s: not s.challenge, "challenge false compares no models"),
            Idle(lambda s: s.promotion == "always", "promotion always tests nothing"),
        ),
        gt=0,
        lt=0.5,
    )
    register_after: bool = setting(
        False,
        help="If the run has no time to register the model, register it afterwards",
        more="a separate process completes the tracking store, in ten minutes at most",
        option=Option(),
    )
    trust: bool = setting(
        False,
        help="Allow pickles for models of your own families",
        more="where nothing else can hold them",
        option=Option(),
        idle=(
            Idle(
                lambda s: s.family_folder is None and not packages_add_families(),
                "every family that is shipped is stored without a pickle; own ones come from "
                "family_folder or an installed package",
            ),
        ),
        form="operator",
    )

    @field_validator("name")
    @classmethod
    def _kept_name(cls, value: str) -> str:
        if problem := name_problem(value):
            raise ValueError(problem)
        return value
