"""What the checks of a table found: problems that refuse it, notes that a user should read.

Rows are counted from 1, without the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from automl.errors import DataError
from automl.inference.columns import short
from automl.listing import MOST_LISTED, first_few
from automl.lookup import did_you_mean


@dataclass
class Findings:
    """Collected problems and notes, one sentence each.

    Parameters
    ----------
    source
        The table's name in messages: a file, a URI or "the frame".
    strict
        Whether what is odd is refused instead of taken with a note.
    """

    source: str
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    strict: bool = False

    def take(self, note: str, refusal: str) -> None:
        """Note what was made of something odd; with `strict` it is a problem instead."""
        if self.strict:
            self.problems.append(refusal)
        else:
            self.notes.append(note)

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
    return did_you_mean(name, names, f"; there are {listed(names)}" if names else "")


def listed(values: Iterable[object], limit: int = MOST_LISTED) -> str:
    """The first values, quoted, and how many more there are."""
    return first_few(map(short, values), limit)


@dataclass(frozen=True)
class Oddity:
    """Something odd that a reader found: what was made of it, and the problem that it is with `strict`."""

    note: str
    refusal: str


def odd_names(names: Sequence[str], unique: Sequence[str]) -> list[Oddity]:
    """What was made of names that occur more than once or are empty.

    Parameters
    ----------
    names
        As in the source.
    unique
        As the columns are called now, in the same order.
    """
    places: dict[str, list[str]] = {}
    for name, now in zip(names, unique, strict=True):
        places.setdefault(name.strip(), []).append(now)
    oddities = []
    for name, called in places.items():
        if not name:
            note = (
                f"{len(called)} columns without a name"
                if len(called) > 1
                else "a column without a name"
            )
            oddities.append(
                Oddity(f"{note}: called {listed(called)}", f"{note}; name every column")
            )
        elif len(called) > 1:
            note = f"column name {name!r} occurs {len(called)} times"
            oddities.append(
                Oddity(
                    f"{note}; the others are called {listed(called[1:])}",
                    f"{note}; rename the others",
                )
            )
    return oddities
