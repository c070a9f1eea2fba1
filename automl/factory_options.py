"""Options of named optimizers and allocators: what a factory takes by keyword, as a user writes it in settings.

A user gives them beside the name that they belong to::

    optimizer: {base: tpe, good_share: 0.2}
    allocator: {base: halving, n_first: 8}

Ranges are in the annotations of the factory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from automl.errors import SettingsError
from automl.lookup import entry_of

T = TypeVar("T")
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]
BASE = "base"
"""Key of the name that options belong to."""
_SCALARS = (bool, int, float, str)


def options_of(make: Callable[..., Any]) -> dict[str, Any]:
    """Options that a factory takes, with their defaults.

    An option is a parameter with a default that a settings file can hold.
    """
    hints = _hints(make)
    return {
        name: parameter.default
        for name, parameter in inspect.signature(make).parameters.items()
        if isinstance(parameter.default, _SCALARS)
        or (parameter.default is None and _holds_scalars(hints[name]))
    }


def with_options(make: Callable[..., T], given: Mapping[str, Any], where: str) -> Callable[..., T]:
    """A factory with options bound.

    Parameters
    ----------
    where
        The setting and the name that the options are given for, such as `optimizer tpe`.

    Raises
    ------
    SettingsError
        If an option is unknown (the nearest one is proposed), or a value is of another type or out of range.
    """
    setting = where.partition(" ")[0]
    options, hints = options_of(make), _hints(make)
    if given and not options:
        raise SettingsError(f"{where} has no options; got {', '.join(given)}", setting=setting)
    for name, value in given.items():
        entry_of(options, name, f"an option of {where}")
        try:
            TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as error:
            expected = error.errors()[0]["msg"].removeprefix("Input should be ")
            raise SettingsError(
                f"{where}: {name} must be {expected}; got {value!r}", setting=setting
            ) from None
    return partial(make, **given)


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(make, partial):
        make = make.func
    return get_type_hints(make.__init__ if inspect.isclass(make) else make, include_extras=True)


def _holds_scalars(hint: Any) -> bool:
    """Whether a hint is a scalar or None, such as ``int | None``."""
    kinds = [get_args(kind)[0] if get_args(kind) else kind for kind in get_args(hint)]
    return bool(kinds) and all(kind in (*_SCALARS, type(None)) for kind in kinds)
