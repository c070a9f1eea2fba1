"""All results of a comparison at once: records in, tables and pictures out."""

from __future__ import annotations

from typing import Any

from automl.comparison.folder import CellRecord, ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl.comparison.results import compare, curves
from automl.comparison.tables import frequency_rows, to_json, write_tables
from automl.reports.comparison import draw_comparison


def read_records(folder: ComparisonFolder, plan: ComparisonPlan) -> dict[Cell, CellRecord]:
    """Records of the plan's cells that are there, in the plan's order."""
    found = {cell: folder.read(cell) for cell in plan.cells()}
    return {cell: record for cell, record in found.items() if record is not None}


def make_report(folder: ComparisonFolder, plan: ComparisonPlan) -> dict[str, Any]:
    """Write tables and pictures from the records that are there; returns what they say.

    Raises
    ------
    DataError
        If there is no data set that at least two methods have finished.
    """
    records = read_records(folder, plan)
    found = compare(folder, records)
    every = curves(folder, records, found)
    write_tables(folder.tables, found, records, every)
    pictures = draw_comparison(folder.pictures, every)
    return {
        **to_json(found, every),
        "frequencies": frequency_rows(found),
        "pictures": [str(path) for path in pictures],
        "missing": sum(1 for _ in plan.cells()) - len(records),
    }
