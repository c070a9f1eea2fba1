"""Settings of what becomes of the model: its name, and how it is stored and registered."""

from __future__ import annotations

from typing import ClassVar

from pydantic import field_validator

from automl.problem_names import name_problem
from automl.settings.fields import Idle, Option, Section, setting
from automl.settings.names import packages_add_families


class Registration(Section):
    """What becomes of the model."""

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
        help="Take the alias champion from a model only by a better score on rows new to both",
    )
    register_after: bool = setting(
        False,
        help="Where there was no time to register the model, do it after the run",
        more="a process of its own completes what the tracking store lacks, for ten minutes at most",
        option=Option(),
    )
    trust: bool = setting(
        False,
        help="Store models of your own families as pickles if need be",
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
