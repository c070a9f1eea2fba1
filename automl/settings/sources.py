"""Where the settings of a run come from.

Precedence: command line or argument > environment (`AUTOML_*`) > settings file > preset > default.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from automl.errors import SettingsError, reason_of
from automl.lookup import did_you_mean, nearest_names
from automl.settings.all_settings import SECTIONS, Settings, accounts, section_of
from automl.settings.fields import DEFAULT_PRESET
from automl.settings.idle import idle_among
from automl.settings.presets import PRESETS
from automl.settings.problems import error_of, subject_of

_PREFIX = "AUTOML_"
_OTHER_VARIABLES = (
    "AUTOML_HOME",
    "AUTOML_KEY_FILE",
    "AUTOML_TRUST",
    "AUTOML_SLOTS",
    "AUTOML_TABLE_ADDRESSES",
)
"""Variables that are no settings: of the home, of the installation, of models, and of our own processes."""
_SPELLINGS = {"budget": "budget_seconds", "clusters": "candidates_per_signature"}
"""Other names of settings: what the option is called, and what earlier runs called them."""
_Values = Mapping[str, Any]


def resolve_settings(
    given: Mapping[str, Any],
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    called: Mapping[str, str] | None = None,
    allows_idle: bool = False,
) -> Settings:
    """Settings from every source, in their order of precedence.

    A value that has no effect beside the others is refused: any that is in `given`, and one of the
    file or the environment that differs from the preset's.

    Parameters
    ----------
    given
        Values of the command line or the call; None means not given. Settings may be in
        mappings by section (`SECTIONS`), or by their names alone.
    file
        YAML file with the same keys.
    environment
        Defaults to the process environment; `AUTOML_BUDGET=60s` sets `budget_seconds`.
    called
        What the caller calls a setting in `given`, such as ``--budget``, by the setting's name; for errors.
    allows_idle
        Whether values without an effect are let through.

    Raises
    ------
    SettingsError
        If a key is unknown (the nearest known name is proposed), is in the wrong section or
        twice, or a value is not usable or has no effect.
    """
    from_file = _read_file(Path(file)) if file else {}
    from_environment = _read_environment(os.environ if environment is None else environment)
    explicit = _without_none(flat_settings(_without_none(given), "settings"))
    merged = {**from_file, **from_environment, **explicit}
    preset = str(merged.get("preset", DEFAULT_PRESET))
    if preset not in PRESETS:
        raise SettingsError(
            f"preset must be one of {', '.join(PRESETS)}; got {preset!r}"
            f"{did_you_mean(preset, PRESETS)}",
            setting="preset",
        )
    defaults = {**_implied(merged), **PRESETS[preset]}
    places = {
        **dict.fromkeys(from_file, f"in {file}"),
        **dict.fromkeys(from_environment, "in the environment"),
    }
    unnamed = merged.keys() - explicit.keys()
    options = {name: text for name, text in (called or {}).items() if name not in unnamed}
    settings = validated_settings(
        {**defaults, **merged}, places={name: places[name] for name in unnamed}, called=options
    )
    if not allows_idle:
        usual = Settings.model_construct(**defaults)
        differing = {k for k in merged if getattr(settings, k) != getattr(usual, k, None)}
        asked = {k: v for k, v in merged.items() if k in {*explicit, *differing}}
        _refuse_idle(settings, asked, options)
    return settings


def _without_none(values: _Values) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _refuse_idle(settings: Settings, asked: Mapping[str, Any], called: Mapping[str, str]) -> None:
    if idle := idle_among(settings, asked):
        name, reason = idle
        raise SettingsError(
            f"{subject_of(name, called)}: {asked[name]!r} has no effect: {reason}", setting=name
        )


def _implied(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that follow from others, unless they or the preset say something else.

    The optimizer esmbo searches for the members of an agnostic Bayes ensemble (L14, Algorithm 2).
    """
    optimizer = given.get("optimizer")
    if isinstance(optimizer, Mapping):
        is_esmbo = bool(optimizer.get("n_histories", optimizer.get("base") == "esmbo"))
    else:
        is_esmbo = optimizer == "esmbo"
    return {"ensemble": "agnostic_bayes"} if is_esmbo else {}


def validated_settings(
    values: _Values,
    *,
    of: str = "",
    places: Mapping[str, str] | None = None,
    called: Mapping[str, str] | None = None,
) -> Settings:
    """Settings of plain values alone.

    Parameters
    ----------
    of
        Whose they are, for the error, such as ``run 20260101-000000-aaaa``.
    places
        Where a setting was given, by its name, for the error.
    called
        What the caller calls a setting, such as ``--budget``, by its name, for the error.

    Raises
    ------
    SettingsError
        With each setting that cannot be used, the reason and the value.
    """
    try:
        return Settings(**{_SPELLINGS.get(name, name): value for name, value in values.items()})
    except ValidationError as error:
        raise error_of(error, of=of, places=places or {}, called=called or {}) from None


def _read_file(path: Path) -> dict[str, Any]:
    from automl.spaces.yaml_loader import parse_yaml  # slow, only where there is a file

    try:
        content = parse_yaml(path.read_text(encoding="utf-8"), f"settings file {path}")
    except FileNotFoundError:
        raise SettingsError(f"settings file {path} does not exist", file=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {path} cannot be read: {reason_of(error)}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingsError(f"settings file {path} must hold keys and values", file=str(path))
    return flat_settings(content, f"settings file {path}")


def flat_settings(values: _Values, where: str) -> dict[str, Any]:
    """Values by the names of the settings, in sections or not.

    Parameters
    ----------
    where
        What holds them, for the error.

    Raises
    ------
    SettingsError
        If a name is unknown, appears twice, or is in the wrong section.
    """
    flat: dict[str, Any] = {}
    places: dict[str, str] = {}
    for section, name, value in _entries(values, where):
        setting = _SPELLINGS.get(name, name)
        _refuse_unknown(setting, where, section)
        place = f"{section}.{name}" if section else name
        if setting in flat:
            raise SettingsError(
                f"{where}: {places[setting]} and {place} are one setting; give one of them",
                setting=setting,
            )
        flat[setting], places[setting] = value, place
    return flat


def _entries(values: _Values, where: str) -> Iterator[tuple[str, str, Any]]:
    """Section, name and value of each; the section is empty for a setting outside of sections."""
    for key, value in values.items():
        if key in SECTIONS and key not in Settings.model_fields and not isinstance(value, Mapping):
            raise SettingsError(
                f"{where}: section {key} must hold names and values of settings; got {value!r}",
                setting=str(key),
            )
        if key in SECTIONS and isinstance(value, Mapping):
            yield from ((key, str(name), inner) for name, inner in value.items())
        else:
            yield "", str(key), value


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = (*Settings.model_fields, *_SPELLINGS)
    fields = {f"{_PREFIX}{name.upper()}": name for name in names}
    readable = {name: field for name, field in fields.items() if name not in _OTHER_VARIABLES}
    for name, text in environment.items():
        if text and name.startswith(_PREFIX) and name not in {*readable, *_OTHER_VARIABLES}:
            raise SettingsError(
                f"environment variable {name} names no setting{did_you_mean(name, readable)}",
                setting=name,
            )
    values: dict[str, Any] = {}
    for name, field in readable.items():
        text = environment.get(name, "")
        if text[:1] in ("[", "{"):
            from automl.spaces.yaml_loader import parse_yaml  # slow, only where there is one

            values[field] = parse_yaml(text, name)
        elif text:
            values[field] = text
    return flat_settings(values, "environment")


def _refuse_unknown(name: str, where: str, section: str) -> None:
    if name not in Settings.model_fields:
        within = f"section {section}: " if section else ""
        raise SettingsError(
            f"{where}: {within}unknown setting {name!r}{_hint(name, section)}", setting=name
        )
    if section and section != (own := section_of(name)):
        raise SettingsError(
            f"{where}: setting {name} belongs to section {own}, not {section}", setting=name
        )


def _hint(name: str, section: str) -> str:
    """The name that is nearest: of a setting, another spelling of one, an option, or a section."""
    fields = SECTIONS[section].model_fields if section else Settings.model_fields
    names = {field: field for field in fields}
    options = {field: account.option for field, account in accounts().items() if field in fields}
    for field, option in options.items():
        if option is not None:
            flag = option.flag_of(field).partition("/")[0].removeprefix("--").replace("-", "_")
            names.setdefault(flag, field)
    names |= {text: text for text, field in _SPELLINGS.items() if field in fields}
    names |= {} if section else {text: text for text in SECTIONS}
    near = nearest_names(name, names)
    return f"; did you mean {names[near[0]]!r}?" if near else ""
