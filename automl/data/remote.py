"""Files behind a URI, through fsspec."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from automl.addresses import public_address, public_text
from automl.data.memory_limit import check_size, most_bytes
from automl.data.partitions import PARQUET, is_part
from automl.errors import AutoMLError, DataError, ServiceError, SettingsError

# roots of the errors of file systems' own client libraries, which do not derive from OSError
_CLIENT_ERRORS = {
    "aiohttp": ("ClientError",),
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "gcsfs.retry": ("HttpError",),
    "azure.core.exceptions": ("AzureError",),
    "requests.exceptions": ("RequestException",),
}


def fetch(uri: str) -> bytes:
    """Content of the file behind a URI.

    Raises
    ------
    DataError
        If there is no such file, or it is too large for this machine.
    SettingsError
        If the scheme is unknown or needs a package that is not installed.
    ServiceError
        If the service cannot be reached or refuses.
    """
    shown = public_address(uri)
    with reaching(uri) as (system, path), system.open(path, mode="rb") as stream:
        content = bytes(stream.read(most_bytes() + 1))
    check_size(len(content), shown)
    return content


def folder_parts(uri: str) -> dict[str, str] | None:
    """Files of a folder behind a URI by their paths from there, in order; None if it is no folder.

    Only addresses without the extension of another kind of table are asked, as that costs a request.

    Raises
    ------
    SettingsError, ServiceError
        As `fetch`.
    """
    place, _, query = uri.partition("?")
    is_file = PurePosixPath(place).suffix.lower() not in ("", PARQUET)
    if query or uri.startswith(("http://", "https://")) or "::" in uri or is_file:
        return None
    with reaching(uri) as (system, path):
        if not system.isdir(path):
            return None
        root = path.rstrip("/") + "/"
        found = {
            name.removeprefix(root): system.unstrip_protocol(name) for name in system.find(path)
        }
    return {name: address for name, address in sorted(found.items()) if is_part(name)}


@contextmanager
def reaching(uri: str) -> Iterator[tuple[Any, str]]:
    """File system behind a URI, and the path there; its errors become ours.

    Raises
    ------
    DataError, SettingsError, ServiceError
        As `fetch`.
    """
    from fsspec.core import url_to_fs  # only for URIs

    scheme, shown = uri.split("://", maxsplit=1)[0], public_address(uri)
    _check_scheme(scheme, shown)
    try:
        yield url_to_fs(uri)  # not fsspec.open, which takes the ? of a query for a pattern
    except ImportError as error:
        raise SettingsError(f"{shown} needs a package that is not installed: {error}") from None
    except FileNotFoundError as error:
        if _is_unreachable(error.__cause__):
            raise ServiceError(
                f"{shown} cannot be read: {public_text(str(error.__cause__))}"
            ) from None
        raise DataError(f"there is no file {shown}") from None
    except IsADirectoryError:
        raise DataError(f"{shown} is a directory; a table file is expected") from None
    except AutoMLError:
        raise
    except _service_errors() as error:
        reason = public_text(" ".join(str(error).split())) or type(error).__name__
        raise ServiceError(f"{shown} cannot be read: {reason}") from None


def _check_scheme(scheme: str, shown: str) -> None:
    from fsspec.registry import known_implementations, registry

    first = scheme.split("::")[0]
    if first not in known_implementations and first not in registry:
        raise SettingsError(f"{shown}: the scheme {first!r} is unknown to fsspec")


def _service_errors() -> tuple[type[Exception], ...]:
    clients: list[type[Exception]] = [
        getattr(sys.modules[module], name)
        for module, names in _CLIENT_ERRORS.items()
        if module in sys.modules
        for name in names
    ]
    return (OSError, RuntimeError, ValueError, *clients)


def _is_unreachable(cause: BaseException | None) -> bool:
    """Whether fsspec called a file missing because its host did not answer."""
    return isinstance(cause, OSError | TimeoutError) and not isinstance(cause, FileNotFoundError)
