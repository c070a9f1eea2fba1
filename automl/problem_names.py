"""The name of a problem: of its experiment, its registered model and the files of both.

A name that the user gives is kept as it is or refused. A name that is derived from table and target
is cleaned; that two derived names become the same is found where a run begins
(`automl.tracking.problem_experiment`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from automl.addresses import public_address

MOST_CHARACTERS = 100
"""With an ending and a digest a file name stays far below the 255 bytes of file systems (by judgement)."""
MOST_BYTES = 200
"""Of a name in UTF-8, for the same reason: 100 characters may be 400 bytes."""
_FORBIDDEN = frozenset("/\\:.%@#?\"'")
_RUN_ID_START = re.compile(r"\d{8}[0-9a-f-]*")


def problem_name(settings: Mapping[str, Any]) -> str:
    """Name of the problem of a run with these settings."""
    return clean_name(settings.get("name") or derived_name(settings["table"], settings["target"]))


def derived_name(table: str, target: str) -> str:
    """Stem of the table and target, not cleaned: such as ``beans-label`` of ``data/beans.csv``."""
    stem = re.split(r"[/\\:]", public_address(str(table)).rstrip("/"))[-1].split(".")[0]
    return f"{stem}-{target}"


def origin(settings: Mapping[str, Any]) -> str:
    """The derived name before it is cleaned; empty if the user gave the name."""
    return "" if settings.get("name") else derived_name(settings["table"], settings["target"])


def has_other_origin(settings: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both names are derived, and from other tables or targets."""
    return bool(origin(settings) and origin(other) and origin(settings) != origin(other))


def clean_name(name: str) -> str:
    """Name without the characters that a registered model, a reference to it or a file may not have.

    A longer name than `MOST_CHARACTERS` or `MOST_BYTES` ends in a digest of the whole.
    """
    cleaned = "".join("-" if _is_forbidden(c) else c for c in name.strip()) or "model"
    if _is_short(cleaned):
        return cleaned
    digest = hashlib.blake2b(cleaned.encode("utf-8", "replace"), digest_size=4).hexdigest()
    start = cleaned[: MOST_CHARACTERS - 9].encode("utf-8", "replace")[: MOST_BYTES - 9]
    return f"{start.decode('utf-8', 'ignore')}-{digest}"


def name_problem(name: str) -> str:
    """The reason why a user's name cannot be kept; empty if it can."""
    forbidden = dict.fromkeys(c for c in name if _is_forbidden(c))
    if forbidden:
        shown = ", ".join("white space" if c.isspace() else repr(c) for c in forbidden)
        return f"a name must not contain {shown}; got {name!r}"
    if len(name) > MOST_CHARACTERS:
        return f"a name must have at most {MOST_CHARACTERS} characters; got {len(name)}"
    if not _is_short(name):
        size = len(name.encode("utf-8", "replace"))
        return f"a name must have at most {MOST_BYTES} bytes in UTF-8; got {size}"
    if _RUN_ID_START.fullmatch(name):
        return f"a name must not look like a run id; got {name!r}"
    return ""


def _is_short(name: str) -> bool:
    return len(name) <= MOST_CHARACTERS and len(name.encode("utf-8", "replace")) <= MOST_BYTES


def _is_forbidden(character: str) -> bool:
    return character in _FORBIDDEN or character.isspace() or not character.isprintable()
