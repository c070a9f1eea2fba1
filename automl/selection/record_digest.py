"""A digest of the record of a selection: measurements cannot be recomputed, only protected against changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from automl.content_digests import content_digest

DIGEST = "digest"
OF_THE_LINE = ("stage_given_up", "stage_warnings", "stage_reproducible")
"""Keys that the run adds to the records of all its stages; no part of the selection."""


def record_digest(record: Mapping[str, Any]) -> str:
    """32 hexadecimal digits over all of a record but its digest and what the run adds to it.

    Parameters
    ----------
    record
        In plain JSON form; the order of keys does not count.

    Raises
    ------
    ValueError
        If a number is not finite.
    TypeError
        If it holds anything that JSON has no form for.
    """
    content = {key: record[key] for key in record if key not in (DIGEST, *OF_THE_LINE)}
    text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return content_digest(text.encode())
