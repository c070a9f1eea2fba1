"""Records as plain JSON, and back by the types of their fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from automl.home import RunFolder
from automl.run_state import read_stage

if TYPE_CHECKING:
    from automl.record_files import StageRecords


@dataclass(frozen=True)
class StageRecord:
    """Result of one stage of a run; its fields are the content of a JSON file.

    Attributes
    ----------
    stage : name of the stage, and of the file
    """

    stage: ClassVar[str]

    @property
    def sentence(self) -> str:
        """The record in one sentence, for a log."""
        return ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return _fields_of(self)

    @classmethod
    def read(cls, folder: RunFolder) -> Self | None:
        """The record in a run folder; None while the stage is not finished, or where it is damaged."""
        content = read_stage(folder, cls.stage)
        try:
            return cls.from_json(content) if content else None
        except ValueError:
            return None

    def write(self, records: StageRecords) -> None:
        """Write or replace the record of a run; durable when this returns.

        Raises
        ------
        ServiceError
            If it cannot be written; an earlier record stays.
        """
        records.write(self.stage, self.to_json())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`; names that are no fields are passed over.

        Raises
        ------
        ValueError
            If a field is missing, or its value cannot be what its type says.
        """
        try:
            return typing.cast("Self", _read_fields(cls, data))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no {cls.__name__}: {error}") from error


def _fields_of(record: Any) -> dict[str, Any]:
    return {
        entry.name: plain_json(getattr(record, entry.name)) for entry in dataclasses.fields(record)
    }


def plain_json(value: Any) -> Any:
    """Plain JSON form of a record, or of a collection of them."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value):
        return _fields_of(value)
    if isinstance(value, Mapping):
        return {name: plain_json(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(entry) for entry in value]
    return value


def _read_fields(kind: type, data: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    for entry in dataclasses.fields(kind):
        if entry.name not in data and _is_required(entry):
            raise KeyError(entry.name)
    return kind(**{name: _read(hints[name], data[name]) for name in hints if name in data})


def _is_required(entry: dataclasses.Field[Any]) -> bool:
    return entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {entry.name: hints[entry.name] for entry in dataclasses.fields(kind)}


def _read(hint: Any, value: Any) -> Any:
    """A value as its type says: records and collections of them; numbers and texts as they are."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kind = next(part for part in parts if part is not types.NoneType)
        return None if value is None else _read(kind, value)
    if origin is tuple:
        return tuple(_read(parts[0], entry) for entry in value)
    if origin is Mapping:
        return {name: _read(parts[1], entry) for name, entry in value.items()}
    if hasattr(hint, "from_json"):
        return hint.from_json(value)
    if dataclasses.is_dataclass(hint):
        return _read_fields(typing.cast("type", hint), value)
    return float(value) if hint is float else value
