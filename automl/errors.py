"""Errors and warnings of the project.

::

    AutoMLError                 exit code 1: our fault
    ├── SettingsError           exit code 2: usage or settings   (ValueError)
    ├── DataError               exit code 3: the data            (ValueError)
    ├── ServiceError            exit code 4: an outside service  (RuntimeError)
    │   ├── StorageError        exit code 4: a file cannot be written
    │   └── StoreBusyError      exit code 4: another process keeps the tracking store
    └── InterruptedRunError     exit code 130 or 143             (RuntimeError)
    AutoMLWarning               something was changed, dropped or given up

Every message is one sentence: what was found, where, and what was expected.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any, Self, TypeGuard


class AutoMLError(Exception):
    """Root of all errors raised on purpose.

    Keyword fields are kept as attributes and survive pickling.
    """

    exit_code: int = 1

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.fields)


class SettingsError(AutoMLError, ValueError):
    """A setting, option or argument is not usable."""

    exit_code = 2


class DataError(AutoMLError, ValueError):
    """The table cannot be used; `problems` lists every problem found, one sentence each."""

    exit_code = 3

    def __init__(self, message: str, *, problems: Sequence[str] = (), **fields: Any) -> None:
        super().__init__(message, problems=tuple(problems) or (message,), **fields)

    @classmethod
    def of(cls, problems: Sequence[str], *, source: str = "") -> DataError:
        """Error about at least one problem: its message holds each of them once.

        Parameters
        ----------
        problems
            One sentence each, without the name of the table.
        source
            The table's name: a file, a URI or "the frame"; part of every entry of `problems`.
        """
        named = [f"{source}: {problem}" if source else problem for problem in problems]
        if len(named) == 1:
            return cls(named[0], problems=named)
        headline = f"{len(named)} problems in {source or 'the table'}"
        return cls(f"{headline}: {'; '.join(problems)}", problems=named, source=source)


class ServiceError(AutoMLError, RuntimeError):
    """A service outside this process (tracking server, orchestrator, remote file) failed."""

    exit_code = 4


class StorageError(ServiceError):
    """A file cannot be written, most often because the disk is full."""

    @classmethod
    def of(cls, error: OSError, what: str) -> Self:
        """Error about what could not be written.

        Parameters
        ----------
        what
            The file and what it is for; the file alone where no more is known.
        """
        hint = "; free some space, then `automl resume`" if is_full(error) else ""
        return cls(f"{what} cannot be written: {reason_of(error)}{hint}")


class StoreBusyError(ServiceError):
    """Another process keeps the tracking store locked: the same may succeed a moment later."""


def reason_of(error: Exception) -> str:
    """What went wrong with a file, in the words of the system without its number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def is_full(error: BaseException) -> TypeGuard[OSError]:
    """Whether an error says that no space is left on a disk."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class InterruptedRunError(AutoMLError, RuntimeError):
    """The run was stopped by a signal and can be resumed."""

    exit_code = 130


class AutoMLWarning(UserWarning):
    """Something was dropped, changed or given up; the message says what and why."""


def _rebuild(kind: type[AutoMLError], message: str, fields: dict[str, Any]) -> AutoMLError:
    return kind(message, **fields)
