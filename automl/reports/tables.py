"""What optimizing gained over the defaults, a row for each data set (B14, table 5.1; SPEC P4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automl.errors import DataError
from automl.selection.defaults import BoostRow


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


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
