"""Addresses of tables without what may be a secret, and where the whole ones are until they are needed."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request

from automl.errors import SettingsError

ENVIRONMENT = "AUTOML_TABLE_ADDRESSES"
"""Variable with the whole addresses that this process and those it starts know, by public address."""

_USER = re.compile(r"(?<=://)[^/\s]*@")
_DATABASE_USER = re.compile(
    r"^((?:postgresql|postgres|mysql|mariadb|mssql|oracle)(?:\+\w+)?://)\S*@", re.IGNORECASE
)
_QUERY = re.compile(r"[?#].*?(?=::|$)")
_URI = re.compile(r"[^\s'\"]+://[^\s'\"]+")


def public_address(source: str) -> str:
    """A URI without user, password, query and fragment; anything else as it is.

    A password in the address of a database may hold slashes.
    """
    if "://" not in source:
        return source
    return _QUERY.sub("", _USER.sub("", _DATABASE_USER.sub(r"\1", source)))


def public_text(text: str) -> str:
    """A text with the public form of every URI in it."""
    return _URI.sub(lambda found: public_address(found[0]), text)


def entrust(source: str) -> str:
    """The public form of an address, whose whole form this process and its children keep knowing."""
    public = public_address(source)
    if public != source:
        os.environ[ENVIRONMENT] = json.dumps({**_entrusted(), public: source})
    return public


def check_told_apart(sources: Iterable[str]) -> None:
    """Refuse tables of one process whose addresses differ in nothing but what may be a secret.

    Raises
    ------
    SettingsError
        With the public form of the two.
    """
    known: dict[str, str] = {}
    for source in sources:
        if known.setdefault(public_address(source), source) != source:
            raise SettingsError(
                f"two tables have the address {public_address(source)} and differ only in user, password or "
                "query, which are not kept: use one process for each, or a path that tells them apart"
            )


def whole_address(source: str) -> str:
    """The address that was entrusted to this process, or to one that started it, else `source`."""
    return _entrusted().get(source, source)


def _entrusted() -> dict[str, str]:
    entrusted: dict[str, str] = json.loads(os.environ.get(ENVIRONMENT) or "{}")
    return entrusted


def request_to(url: str) -> Request:
    """Request with user and password of the address as a header, where it names any."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    request = Request(urlunsplit(parts._replace(netloc=host)))  # noqa: S310 http only
    if user:
        request.add_header("Authorization", basic(unquote(user)))
    return request


def basic(user: str) -> str:
    """Header value that says who asks.

    Parameters
    ----------
    user : ``name:password``
    """
    return f"Basic {b64encode(user.encode()).decode()}"
