"""The page of a comparison: which method is best, how sure that is, and how it comes about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from automl.comparison.results import Comparison, Curves
from automl.comparison.tables import Row, frequency_rows, score_rows
from automl.reports.figure import DataTable, Figure, number
from automl.reports.figures.curves import Interval, curves, intervals
from automl.reports.page import Figures, Items, Page, Paragraph, Part, Section, Tabular

MARKS = (
    "A row beats a column in this share of the data sets. Marks are of the Poisson-binomial and of the "
    "sign test: + significant (0.8, or p < 0.1), ++ highly significant (0.9, or p < 0.05)."
)
SOURCES = {"validation": "validated scores", "test": "scores on test rows"}


def comparison_page(
    comparison: Comparison, every: Sequence[Curves], boosts: Mapping[str, Sequence[Mapping[str, str]]]
) -> Page:  # fmt: skip
    """What a comparison says.

    Parameters
    ----------
    every : curves, as `automl.comparison.results.curves` makes them
    boosts : rows of Table 5.1 by method
    """
    sections = [
        Section("answer", "The answer", tuple(_answer(comparison))),
        Section("scores", "Scores", (_table("Mean score on test rows", score_rows(comparison)),)),
    ]
    if every:
        pictures = tuple(rank_curves_of(made) for made in every)
        sections.append(Section("curves", "While they search", (Figures(pictures),)))
    if boosts:
        tables = tuple(
            _table(f"{name}: gain over the defaults", rows) for name, rows in boosts.items()
        )
        sections.append(Section("defaults", "Against the defaults", tables))
    if comparison.failures or comparison.left_out:
        sections.append(Section("missing", "What is missing", tuple(_missing(comparison))))
    subtitle = (
        f"{len(comparison.methods)} methods on {len(comparison.data_set_names)} data sets, "
        f"{number(len(comparison.places))} places (data set and seed)"
    )
    return Page("Comparison of methods", subtitle, tuple(sections))


def expected_ranks(comparison: Comparison) -> Figure:
    """Expected ranks of the methods, the best first."""
    ranks = comparison.ranks.expected
    entries = [
        Interval(comparison.methods[k], float(ranks[k]), is_marked=k == comparison.order[0])
        for k in comparison.order
    ]
    words = "Mean rank of each method over the data sets; 1 is the best."
    return intervals(
        entries, title="Expected ranks", description=words, label="expected rank", first="method"
    )


def rank_curves_of(made: Curves) -> Figure:
    """Expected ranks over trials or seconds."""
    values = {name: made.rank.mean[k].tolist() for k, name in enumerate(made.methods)}
    source = SOURCES.get(made.source, made.source)
    return curves(
        made.steps.tolist(),
        values,
        title=f"Rank over {made.unit}, {source}",
        description="Mean rank over the data sets of the best so far; 1 is the best.",
        labels=(made.unit, "rank"),
    )


def _answer(comparison: Comparison) -> Iterator[Part]:
    best = comparison.order[0]
    name, rank = comparison.methods[best], float(comparison.ranks.expected[best])
    yield Paragraph(
        f"{name} has the best expected rank, {number(rank, 3)} of {len(comparison.methods)}."
    )
    yield Figures((expected_ranks(comparison),))
    yield _table("Winning frequencies", frequency_rows(comparison))
    yield Paragraph(MARKS, "note")


def _missing(comparison: Comparison) -> Iterator[Part]:
    if comparison.failures:
        yield Paragraph("Runs that failed count as the worst:")
        yield Items(tuple(f"{failed.cell}: {failed.reason}" for failed in comparison.failures))
    if comparison.left_out:
        yield Paragraph("Places that some method has not finished are left out:")
        yield Items(tuple(f"{name}, seed {seed}" for name, seed in comparison.left_out))


def _table(caption: str, rows: Sequence[Row] | Sequence[Mapping[str, str]]) -> Tabular:
    columns = tuple(rows[0])
    head = tuple((column or "method").replace("_", " ") for column in columns)
    cells = tuple(tuple(_cell(row[column]) for column in columns) for row in rows)
    return Tabular(DataTable(caption, head, cells))


def _cell(value: object) -> str | float | None:
    if value is None or isinstance(value, str):
        return value
    return float(np.asarray(value))
