"""Declaration of a setting: help, unit, option, presets, names, and when it has no effect.

A field of a section is declared by `setting`. Everything that lists settings (the command line,
the presets, the refusal of idle settings, the form, the reference) is read from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from automl.settings.names import Names

PresetName = Literal["thesis", "fast", "balanced", "best"]
DEFAULT_PRESET: PresetName = "balanced"
FormPlace = Literal["first", "section", "operator"]
"""Where a form asks for a setting: at its head, in its section, or nowhere.

What only the operator of an installation may decide (which code is run, which files may hold
pickles) is asked for nowhere.
"""


@dataclass(frozen=True)
class Option:
    """How `automl train` spells a setting.

    Parameters
    ----------
    flag
        Its name, such as ``--budget``; ``--on/--off`` where it can be switched off. Empty: the name
        of the setting.
    metavar
        Placeholder of the value in the help; empty for words, which are listed.
    kind
        Type of the text, where the setting's own does not say it.
    parse
        Value of the setting from what was typed, where validation does not do it.
    """

    flag: str = ""
    metavar: str = ""
    kind: Any = None
    parse: Callable[[Any], Any] | None = None

    def flag_of(self, name: str) -> str:
        """``--budget`` of `budget_seconds`; with ``/--no-…`` where it can be switched off."""
        return self.flag or f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Idle:
    """A condition under which a setting has no effect.

    Parameters
    ----------
    when
        Of all settings of a run.
    reason
        What is missing.
    """

    when: Callable[[Any], bool]
    reason: str


@dataclass(frozen=True)
class Setting:
    """A setting's account of itself.

    Parameters
    ----------
    help : one line
    more
        What the line cannot hold, for the reference and the form.
    unit
        Of a number.
    usual
        Words for what holds where nothing is given; empty: the value itself.
    option
        On the command line of `automl train`; None: it has none.
    presets
        Values by name of the preset.
    idle
        When it has no effect; the first condition that holds gives the reason.
    names
        The registry whose names it takes.
    form
        Where a form asks for it.
    """

    help: str
    more: str = ""
    unit: str = ""
    usual: str = ""
    option: Option | None = None
    presets: Mapping[PresetName, Any] = field(default_factory=dict)
    idle: tuple[Idle, ...] = ()
    names: Names | None = None
    form: FormPlace = "section"

    def __call__(self, schema: dict[str, Any]) -> None:
        """Add unit and list of names to the JSON schema of the field, which pydantic hands over."""
        if self.unit:
            schema["unit"] = self.unit
        if self.names is not None and self.names.command:
            schema["description"] = f"{self.description}; `{self.names.command}` lists them"

    @property
    def description(self) -> str:
        """Help and what it could not hold."""
        return f"{self.help}; {self.more}" if self.more else self.help


def setting(
    default: Any,
    *,
    help: str,  # noqa: A002  (the name that command lines have for it)
    more: str = "",
    unit: str = "",
    usual: str = "",
    option: Option | None = None,
    presets: Mapping[PresetName, Any] | None = None,
    idle: tuple[Idle, ...] = (),
    names: Names | None = None,
    form: FormPlace = "section",
    **constraints: Any,
) -> Any:
    """Declare a field of a section; parameters as of `Setting`.

    Parameters
    ----------
    default
        Where neither a source nor the preset says anything; ``...``: it must be given.
    constraints
        Of pydantic, such as `ge`.
    """
    account = Setting(help, more, unit, usual, option, presets or {}, idle, names, form)
    return Field(default, description=account.description, json_schema_extra=account, **constraints)


def account_of(info: FieldInfo) -> Setting:
    """Declaration of a field.

    Raises
    ------
    TypeError
        If it was not declared by `setting`.
    """
    if not isinstance(info.json_schema_extra, Setting):
        raise TypeError("a field of a section must be declared by `setting`")
    return info.json_schema_extra


class Section(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: ClassVar[str] = ""

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError(f"must be a number; got {value!r}")
        return value

    @field_validator("*")
    @classmethod
    def _registered(cls, value: Any, info: ValidationInfo) -> Any:
        names = account_of(cls.model_fields[str(info.field_name)]).names
        if names is not None:
            names.check(value)
        return value
