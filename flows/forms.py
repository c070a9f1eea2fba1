"""The form that a Prefect page shows for a training run, made from the settings' own accounts.

The settings that most runs give come first, the others in their sections. A field that is left
empty is decided by the preset. What only the operator of an installation may decide is no field:
whoever may start a run must not thereby choose which code it executes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, create_model

from automl.errors import SettingsError
from automl.settings.all_settings import SECTIONS, Settings, accounts
from automl.settings.fields import Section
from automl.settings.names import Names
from automl.settings.reference import default_text
from automl.settings.sources import flat_settings, resolve_settings
from automl_flows.blocks import table_address

WHERE = "the form"
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def form_settings(form: BaseModel) -> Settings:
    """Settings of a form's answers; those of the environment come after them, as everywhere.

    A table that a block of Prefect holds is looked up.

    Parameters
    ----------
    form
        A `TrainingForm`; settings may be alone or in their section.

    Raises
    ------
    SettingsError
        If a setting is unknown, only the operator may decide it, or a value is not usable.
    """
    flat = answers(form)
    for name, value in flat.items():
        _refuse_operators(name, value)
    for name in {"table", "test"} & flat.keys():
        flat[name] = table_address(str(flat[name]))
    return resolve_settings(flat)


def answers(form: BaseModel) -> dict[str, Any]:
    """Filled-in values, by setting.

    Raises
    ------
    SettingsError
        If a setting is unknown or appears twice.
    """
    given = {name: _without_empty(value) for name, value in form}
    return flat_settings(_without_empty(given), WHERE)


def _without_empty(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: inner for name, inner in value.items() if inner not in _EMPTY}


def _refuse_operators(name: str, value: Any) -> None:
    if accounts()[name].form == "operator":
        raise SettingsError(
            f"{WHERE}: setting {name} is the operator's, since it decides which code is run; only the "
            "command line and the environment of the worker can give it",
            setting=name,
        )
    if name == "metric" and ":" in str(value):
        raise SettingsError(
            f"{WHERE}: metric {value!r} is a function in a file, which a run would execute; "
            "only the command line and the environment of the worker (AUTOML_METRIC) can give it",
            setting=name,
        )


class _Form(BaseModel):
    """Answers as they were given, a section as a mapping; `form_settings` says what they mean."""

    model_config = ConfigDict(extra="allow")


def _form() -> type[BaseModel]:
    fields: dict[str, Any] = {name: _field(name) for name in _names("first")}
    for section in SECTIONS:
        inner: Any = {name: _field(name) for name in _names("section", SECTIONS[section])}
        if inner:
            form = create_model(f"{section.title()}Form", __base__=_Form, **inner)
            title = SECTIONS[section].title
            fields[section] = (SkipValidation[form], Field(default_factory=dict, title=title))
    return create_model("TrainingForm", __base__=_Form, **fields)


def _names(place: Literal["first", "section"], within: type[Section] = Settings) -> Iterator[str]:
    names = (name for name, account in accounts().items() if account.form == place)
    return (name for name in names if name in within.model_fields)


def _field(name: str) -> tuple[Any, Any]:
    must = Settings.model_fields[name].is_required()
    return Any, Field(... if must else None, json_schema_extra=partial(_describe, name))


def _describe(name: str, schema: dict[str, Any]) -> None:
    """What the page needs of a setting: one type, help with the usual value, and choices."""
    schema.clear()
    schema.update(_own_schema(name))
    account = accounts()[name]
    if account.option is not None and account.option.kind is str:
        _take_texts(schema)
    if account.names is not None:
        _list_choices(schema, account.names)
    schema["title"] = name.replace("_", " ").removesuffix(" seconds")
    usual = default_text(name, account)
    is_required = Settings.model_fields[name].is_required()
    empty = "" if is_required else f" Empty: {usual}."
    schema["description"] = f"{account.description}.{empty}"


@cache
def _own_schemas() -> dict[str, dict[str, Any]]:
    """All of them at once: a run that is begun waits 1.5 s longer if each setting asks anew."""
    return dict(Settings.model_json_schema()["properties"])


def _own_schema(name: str) -> dict[str, Any]:
    """The setting's own schema without null, which an empty field means, and without a default."""
    own = deepcopy(_own_schemas()[name])
    own.pop("default", None)
    kinds = [kind for kind in own.pop("anyOf", []) if kind.get("type") != "null"]
    return (
        {**own, **kinds[0]} if len(kinds) == 1 else {**own, **({"anyOf": kinds} if kinds else {})}
    )


def _take_texts(schema: dict[str, Any]) -> None:
    """Let the field take the text of the command line, such as ``10m``."""
    text = {"type": "string"}
    if "anyOf" in schema:
        schema["anyOf"] = [*(kind for kind in schema["anyOf"] if kind != text), text]
    else:
        schema.pop("minimum", None)
        schema.update(text)


def _list_choices(schema: dict[str, Any], names: Names) -> None:
    """The names of the registry, and whatever else the setting takes."""
    others = [kind for kind in schema.pop("anyOf", []) if kind.get("type") != "string"]
    if names.takes_texts:
        others.insert(0, {"type": "string", "title": "another text"})
    schema.pop("type", None)
    by_name = {"type": "string", "enum": list(names.known()), "title": "by name"}
    schema.update({"anyOf": [by_name, *others]} if others else by_name)


if TYPE_CHECKING:
    TrainingForm = BaseModel
else:
    TrainingForm = _form()
