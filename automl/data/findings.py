"""What the checks of a table found: problems that refuse it, notes that a user should read.

Rows are counted from 1, without the header.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from automl.errors import DataError


@dataclass
class Findings:
    """Collected problems and notes, one sentence each.

    Parameters
    ----------
    source
        The table's name in messages: a file, a URI or "the frame".
    """

    source: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def raise_problems(self) -> None:
        """Refuse the table if any problem was found.

        Raises
        ------
        DataError
            With every problem.
        """
        if self.problems:
            raise DataError.of(self.problems, source=self.source)


def nearest(name: str, known: Iterable[object]) -> str:
    """``; did you mean 'x'?`` for the known name most like `name`, else the first known names."""
    names = [str(value) for value in known]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:
        folded = {value.casefold(): value for value in names}
        close = [folded[name.casefold()]] if name.casefold() in folded else []
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {listed(names)}" if names else ""


def listed(values: Iterable[object], limit: int = 5) -> str:
    """The first values, quoted, and how many more there are."""
    shown = [repr(value) for value in values]
    more = f" and {len(shown) - limit} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


def repeated_names(names: Iterable[str]) -> list[str]:
    """A problem for each column name that occurs more than once."""
    return [
        f"column name {name!r} occurs {count} times; rename the others"
        for name, count in Counter(names).items()
        if count > 1
    ]
