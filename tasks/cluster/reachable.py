"""Whether an address is that of a scheduler and anything answers there, before anything slow is begun."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from automl.addresses import public_address
from automl.errors import ServiceError, SettingsError
from automl.settings.resources import ADDRESS

PROBE_SECONDS = 3.0
"""A host in the same network answers, or refuses, within milliseconds."""


def named(address: str) -> str:
    """How sentences name a cluster."""
    return f"the Dask scheduler at {address}"


def check_address(address: str) -> None:
    """Refuse what an option names that is no address of a scheduler.

    Raises
    ------
    SettingsError
        If it is none.
    """
    if not ADDRESS.fullmatch(address):
        raise SettingsError(
            f"--dask must be an address like tcp://HOST:8786; got {public_address(address)!r}"
        )


def check_reachable(address: str) -> None:
    """Look whether a connection to an address can be made.

    Parameters
    ----------
    address
        Such as ``tcp://HOST:8786``.

    Raises
    ------
    ServiceError
        If it cannot.
    """
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname, parts.port), PROBE_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ServiceError(f"no Dask scheduler answers at {address}: {error}") from None
