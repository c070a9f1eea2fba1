"""Whether an installation wrote a record itself: HMAC-SHA256 (RFC 2104) over the record in canonical JSON.

A digest proves that a file is the one that its manifest means, and whoever writes both can let it say anything.
A signature proves that the holder of the key wrote the manifest. One key signs records of several kinds, so
the kind is signed as well: a record of one kind is never taken for another.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

FIELD = "signature"
Proof = Literal["own", "foreign", "altered"]


def signed(content: Mapping[str, Any], key: bytes, kind: str) -> dict[str, Any]:
    """A record of plain JSON with its signature in the field `FIELD`; one that is there is replaced.

    Parameters
    ----------
    kind
        What the record is, such as ``bundle``.
    """
    return {**content, FIELD: {"key": key_name(key), "hmac": _code(content, key, kind)}}


def proof(content: Mapping[str, Any], key: bytes | None, kind: str) -> Proof:
    """Content of a record's signature.

    Parameters
    ----------
    key
        Of this installation; None if it has none.

    Returns
    -------
        ``own``: signed with this key as it is. ``altered``: it names this key, and is not what was signed.
        ``foreign``: not signed, or with another key.
    """
    signature = content.get(FIELD)
    if key is None or not isinstance(signature, Mapping) or signature.get("key") != key_name(key):
        return "foreign"
    claimed = str(signature.get("hmac")).encode("utf-8", "replace")
    return "own" if hmac.compare_digest(claimed, _code(content, key, kind).encode()) else "altered"


def key_name(key: bytes) -> str:
    """16 hexadecimal digits that tell keys apart and say nothing about them."""
    return hashlib.sha256(b"name of an automl key\0" + key).hexdigest()[:16]


def _code(content: Mapping[str, Any], key: bytes, kind: str) -> str:
    rest = {name: value for name, value in content.items() if name != FIELD}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()
