"""Tables that come with scikit-learn, and tables from openml.org."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

import pandas as pd

from automl.errors import DataError, ServiceError
from automl.lookup import did_you_mean

BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")
_TIMEOUT_SECONDS = 30.0
"""A server that is silent for half a minute is down (by judgement)."""


def read_bundled(name: str) -> pd.DataFrame:
    """Frame of a bundled table; its target is the column ``target``.

    Raises
    ------
    DataError
        If scikit-learn bundles no such table.
    """
    if name not in BUNDLED:
        raise DataError(
            f"sklearn:{name} must be one of {', '.join(BUNDLED)}{did_you_mean(name, BUNDLED)}"
        )
    from sklearn import datasets  # slow to import

    frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame


def read_openml(name: str) -> pd.DataFrame:
    """Frame of a table on openml.org, target included.

    Parameters
    ----------
    name
        ``NAME`` for the active version or ``NAME@VERSION``.

    Raises
    ------
    DataError
        If openml.org has no such table.
    ServiceError
        If openml.org cannot be reached.
    """
    match = re.fullmatch(r"(?P<name>[^@]+)(@(?P<version>\d+))?", name.strip())
    if match is None:
        raise DataError(f"openml:{name} must look like openml:NAME or openml:NAME@VERSION")
    from sklearn.datasets import fetch_openml  # slow to import
    from sklearn.datasets._openml import OpenMLError

    version = int(match["version"]) if match["version"] else "active"
    try:
        with _socket_timeout(_TIMEOUT_SECONDS):
            data = fetch_openml(
                match["name"], version=version, as_frame=True, parser="auto", n_retries=1, delay=0.5
            )
    except (OpenMLError, ValueError) as error:
        raise DataError(f"openml:{name} cannot be read: {_one_line(error)}") from None
    except (OSError, HTTPException) as error:
        raise ServiceError(
            f"openml.org cannot be reached for openml:{name}: {_one_line(error)}"
        ) from None
    frame: pd.DataFrame = data.frame
    return frame


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _socket_timeout(seconds: float) -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
