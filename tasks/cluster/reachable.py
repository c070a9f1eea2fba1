"""Whether anything answers at the address of a scheduler, before anything slow is begun."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from automl.errors import ServiceError

PROBE_SECONDS = 3.0
"""A host in the same network answers, or refuses, within milliseconds."""


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
