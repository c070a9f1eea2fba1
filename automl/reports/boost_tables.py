"""What optimizing gained over the defaults, a row for each data set (B14, table 5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from automl.comparison.folder import CellRecord
from automl.errors import DataError
from automl.selection.defaults import BoostRow, boost_row


def boost_rows_of_cells(records: Iterable[CellRecord]) -> dict[str, list[BoostRow]]:
    """Rows of every method of a comparison, one for each data set, all by the folds of the search.

    With several seeds a score is the mean over those that have it, and the family the one that was
    chosen most often, of equals the first in the alphabet.

    Parameters
    ----------
    records
        Of cells; those that failed, and those that tell nothing of defaults, are left out.
    """
    cells_of: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        if record.facts.get("defaults") and record.facts.get("champion"):
            cells_of.setdefault((record.cell.method, record.cell.data_set), []).append(record.facts)
    rows: dict[str, list[BoostRow]] = {}
    for (method, data_set), facts in cells_of.items():
        names = dict.fromkeys(name for one in facts for name in one["defaults"])
        defaults = {name: _mean([one["defaults"].get(name) for one in facts]) for name in names}
        chosen = [one["champion"] for one in facts]
        families = [one["family"] for one in chosen]
        family = max(sorted(set(families)), key=families.count)
        score = _mean([one["score"] for one in chosen])
        row = boost_row(data_set, defaults, score=score, family=family)
        rows.setdefault(method, []).append(row)
    return rows


def boost_table(rows: Sequence[BoostRow]) -> list[dict[str, str]]:
    """Printed cells of table 5.1, in its columns; an empty cell where there is no value."""
    return [
        {
            "data set": row.name,
            "default worst": _score(row.worst),
            "worst default": row.worst_default,
            "default best": _score(row.best),
            "best default": row.best_default,
            "score": _score(row.score),
            "boost": "" if row.boost is None else f"{row.boost:.2%}",
            "family": row.family,
            "no default score": ", ".join(row.missing),
        }
        for row in rows
    ]


def markdown(cells: Sequence[Mapping[str, str]]) -> str:
    """Cells as a Markdown table; columns in the order of the first row.

    Raises
    ------
    DataError
        If there are no rows.
    """
    if not cells:
        raise DataError("a table needs at least one row")
    columns = list(cells[0])
    lines = [columns, ["---"] * len(columns), *([row[name] for name in columns] for row in cells)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
