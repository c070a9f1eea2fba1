"""Numbers of things in sentences, and lists: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterable

MOST_LISTED = 5
"""Number of items that a reader takes in at a glance (by judgement)."""


def counted(n: int, one: str, many: str = "") -> str:
    """``1 row`` or ``12 rows``; `many` is the plural where it takes more than an s."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def first_few(things: Iterable[object], most: int = MOST_LISTED) -> str:
    """``a, b``, or ``a, b and 3 more`` where there are more than `most`."""
    texts = [str(thing) for thing in things]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
