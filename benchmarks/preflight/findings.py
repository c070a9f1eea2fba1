"""What the sentences of the checks say: kind, columns, number of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from defects import Case, Kind, quoted

PATTERNS: dict[Kind, str] = {  # a sentence on groups speaks of --time too
    "leak": r"equals the target|is the target under other names|alone almost determines|alone leaves",
    "id": r"\(id\)|no two rows share",
    "duplicates": r"repeat an earlier row|are also among the training rows|have the features of",
    "time": r"--time",
    "shift": r"distributed differently",
    "constant": r"never changes (after|before) row",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence of one of the six kinds.

    Parameters
    ----------
    n_rows
        The number that it begins with; 0 without one.
    """

    kind: Kind
    text: str
    columns: tuple[str, ...]
    n_rows: int

    @property
    def is_of_test(self) -> bool:
        """Whether it speaks of the test rows."""
        return "test rows" in self.text


def read_sentences(said: Iterable[str]) -> list[Sentence]:
    """Those of the six kinds."""
    found = []
    for text in said:
        for kind, pattern in PATTERNS.items():
            if re.search(pattern, text):
                number = re.match(r"(\d+) of", text)
                found.append(
                    Sentence(kind, text, tuple(quoted(text)), int(number[1]) if number else 0)
                )
                break
    return found


def is_found(kind: Kind, case: Case, now: Sequence[Sentence], usual: Sequence[Sentence]) -> bool:
    """Whether a sentence of the kind names the column, or counts the rows, that were spoilt."""
    said_as = "time" if kind == "groups" else kind
    of_kind = [sentence for sentence in now if sentence.kind == said_as]
    before = [sentence for sentence in usual if sentence.kind == said_as]
    if kind == "duplicates":
        gained = sum(s.n_rows for s in of_kind) - sum(s.n_rows for s in before)
        return gained >= 0.9 * case.n_added - 0.5 * sum(s.n_rows for s in before)
    known = {sentence.text for sentence in before}
    new = [sentence for sentence in of_kind if sentence.text not in known]
    if case.column is None:
        return bool(new)
    named_before = {(name, s.is_of_test) for s in before for name in s.columns}
    return any(
        case.column in s.columns and (case.column, s.is_of_test) not in named_before for s in new
    )
