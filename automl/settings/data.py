"""Settings of the table: what is learned from, and what its columns are."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import field_validator

from automl.alternatives import ClassWeighting, ValueCounting
from automl.settings.fields import Option, Section, setting
from automl.settings.option_texts import absolute, parse_roles
from automl.settings.preprocessing import parse_preprocessing

WantedTask = Literal["auto", "classification", "binary", "multiclass", "regression"]


class Data(Section):
    """The table, its columns and its rows."""

    title: ClassVar[str] = "The table"

    table: str = setting(
        ...,
        help="Table to learn from",
        more="a file, a URI, sklearn:NAME or openml:NAME",
        min_length=1,
        form="first",
    )
    target: str = setting(
        ...,
        help="Column to predict",
        option=Option(metavar="COLUMN"),
        min_length=1,
        form="first",
    )
    task: WantedTask = setting("auto", help="Kind of target", option=Option(), form="first")
    roles: dict[str, str] = setting(
        {},
        help="Role of a column, instead of the detected one",
        option=Option("--role", metavar="COLUMN=ROLE", kind=list[str]),
    )
    strict: bool = setting(
        False,
        help="Refuse oddities in the table instead of accepting them with a note",
        more="odd values, names and small classes",
        option=Option(),
    )
    test: str | None = setting(
        None,
        help="Untouched rows for the test score",
        more="a table, as of `table`",
        option=Option(metavar="TABLE", parse=absolute),
        min_length=1,
    )
    test_share: float = setting(
        0.0,
        help="Share of rows set aside as test rows",
        unit="share of the rows",
        usual="none",
        option=Option(metavar="SHARE"),
        ge=0,
        lt=0.9,
        form="first",
    )
    groups: str | None = setting(
        None, help="Column whose groups stay together", option=Option(metavar="COLUMN")
    )
    time: str | None = setting(
        None, help="Column that orders the rows in time", option=Option(metavar="COLUMN")
    )
    weights: str | None = setting(
        None, help="Column of sample weights", option=Option(metavar="COLUMN")
    )
    class_weight: ClassWeighting = setting("none", help="Weights of the classes", option=Option())
    positive: str | None = setting(
        None, help="Positive class of a binary target", option=Option(metavar="LABEL")
    )
    preprocessing: dict[str, Any] = setting(
        {},
        help="Preprocessing of all families, by name",
        more="a value or a list to be searched, by numeric_imputer, nominal_imputer, variance, "
        "variance_raw, many_categories, reducer, reducer_share, text",
    )
    value_counts: ValueCounting = setting(
        "auto",
        help="Whether models see how many rows have the same number",
        more="a further column for each column of numbers that repeat; auto: where LightGBM scores better with "
        "them in each of five folds",
        presets={"thesis": "never"},
    )

    @field_validator("roles", mode="before")
    @classmethod
    def _roles_of_texts(cls, value: Any) -> Any:
        return parse_roles(value)

    @field_validator("preprocessing", mode="before")
    @classmethod
    def _known_preprocessing(cls, value: Any) -> Any:
        return parse_preprocessing(value)
