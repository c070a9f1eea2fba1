"""All results of a comparison at once: records in, tables and pictures out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.comparison.folder import CellRecord, ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl.comparison.results import compare, curves
from automl.comparison.tables import frequency_rows, to_json, write_csv, write_tables
from automl.durable import write_whole
from automl.reports.boost_tables import boost_rows_of_cells, boost_table, markdown
from automl.reports.comparison import draw_comparison
from automl.reports.comparison_page import comparison_page
from automl.reports.page import render


def read_records(folder: ComparisonFolder, plan: ComparisonPlan) -> dict[Cell, CellRecord]:
    """Records of the plan's cells that are there, in the plan's order."""
    records = {cell: folder.read(cell) for cell in plan.cells()}
    return {cell: record for cell, record in records.items() if record is not None}


def make_report(folder: ComparisonFolder, plan: ComparisonPlan) -> dict[str, Any]:
    """Write tables, pictures and a page from the records that are there; returns what they say.

    Raises
    ------
    DataError
        If there is no data set that at least two methods have finished.
    """
    records = read_records(folder, plan)
    comparison = compare(folder, records)
    every = curves(folder, records, comparison)
    write_tables(folder.tables, comparison, records, every)
    boosts = _write_boosts(folder, records)
    pictures = draw_comparison(folder.pictures, every)
    text = render(comparison_page(comparison, every, boosts))
    write_whole(folder.page, [text.encode()], "the page of the comparison")
    return {
        **to_json(comparison, every),
        "frequencies": frequency_rows(comparison),
        "boosts": boosts,
        "page": str(folder.page),
        "pictures": [str(path) for path in pictures],
        "missing": sum(1 for _ in plan.cells()) - len(records),
    }


def _write_boosts(
    folder: ComparisonFolder, records: Mapping[Cell, CellRecord]
) -> dict[str, list[dict[str, str]]]:
    """Table 5.1 of each method, as Markdown and CSV; earlier ones go, they may be of other records."""
    for earlier in folder.tables.glob("boost_*"):
        earlier.unlink()
    rows = boost_rows_of_cells(records.values())
    tables = {method: boost_table(own) for method, own in rows.items()}
    for method, cells in tables.items():
        (folder.tables / f"boost_{method}.md").write_text(markdown(cells), encoding="utf-8")
        write_csv(folder.tables / f"boost_{method}.csv", cells)
    return tables
