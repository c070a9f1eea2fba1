"""From an address to a Dask cluster that can run trials, or to a sentence that says why not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

from distributed import Client
from distributed.comm.core import CommClosedError
from distributed.versions import VersionMismatchWarning, get_versions

from automl.errors import AutoMLWarning, ServiceError
from automl_tasks.cluster.encryption import check_encryption
from automl_tasks.cluster.reachable import named

CONNECT_SECONDS = 5.0
"""A scheduler in the same network answers within milliseconds."""
WAIT_SECONDS = 20.0
"""For the first worker: the start of one takes 2 to 10 s."""
POLL_SECONDS = 0.3
"""Between two looks for the first worker; a question to the scheduler takes a millisecond or two."""
PACKAGES = ("automl-flows", "lightgbm", "numpy", "pandas", "scikit-learn", "scipy")
"""Packages whose versions influence a trial; `python` counts by its minor version."""


def connect(address: str) -> Client:
    """Client of the scheduler at an address, with TLS as the configuration of distributed says.

    Raises
    ------
    ServiceError
        If no scheduler answers there, or the certificates do not fit.
    """
    check_encryption(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # told by `unfit`, in words
        try:
            return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ServiceError(
                f"{named(address)} does not answer: {_reason(address, error)}"
            ) from None


def _reason(address: str, error: BaseException) -> str:
    scheme, _, place = address.partition("://")
    if scheme == "tcp" and isinstance(error, CommClosedError):
        return f"it closed the connection; if it uses TLS, name it tls://{place}"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def await_workers(client: Client, address: str) -> None:
    """Wait until a worker is there whose versions are those of this process.

    Raises
    ------
    ServiceError
        If none comes within `WAIT_SECONDS`, or all that are there have other versions.
    """
    until = time.monotonic() + WAIT_SECONDS
    if not client.nthreads():
        text = f"{named(address)} has no workers yet; waiting up to {WAIT_SECONDS:g} s for one"
        warnings.warn(text, AutoMLWarning, stacklevel=2)
    while not (workers := list(client.nthreads())):
        if time.monotonic() > until:
            raise ServiceError(
                f"{named(address)} has no workers; start one with: dask worker {address}"
            )
        time.sleep(POLL_SECONDS)
    reasons = unfit(client, workers)
    if len(reasons) == len(workers):
        worker, reason = next(iter(reasons.items()))
        more = f", like all {len(workers)} workers" if len(workers) > 1 else ""
        raise ServiceError(f"{named(address)} has no worker to use: {worker}{more} {reason}")


def unfit(client: Client, workers: list[str]) -> dict[str, str]:
    """Why workers cannot be used, by address: they have other versions, or do not say which."""
    packages = list(PACKAGES)
    found: Mapping[str, Any] = client.sync(
        client.scheduler.broadcast,
        msg={"op": "versions", "packages": packages},
        workers=workers,
        on_error="ignore",
    )
    own = get_versions(packages=packages)["packages"]
    reasons = {worker: _difference(found.get(worker), own) for worker in workers}
    return {worker: reason for worker, reason in reasons.items() if reason}


def _difference(found: Mapping[str, Any] | None, own: Mapping[str, str | None]) -> str:
    """What a worker has in other versions, in words; empty if it has the same."""
    if found is None:
        return "does not answer"
    theirs = found["packages"]
    pairs: list[tuple[str, str | None, str | None]]
    pairs = [("Python", _minor(theirs["python"]), _minor(own["python"]))]
    pairs += [(name, theirs.get(name), own.get(name)) for name in PACKAGES]
    told = [
        f"{name} {other or 'missing'} instead of {mine}"
        for name, other, mine in pairs
        if other != mine
    ]
    return f"has {', '.join(told)}" if told else ""


def _minor(version: str | None) -> str:
    """``3.11`` of ``3.11.2.final.0``."""
    return ".".join((version or "").split(".")[:2])
