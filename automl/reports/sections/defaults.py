"""Default against optimized: what the search gained over the families as they come."""

from __future__ import annotations

from collections.abc import Iterator

from automl.reports.boxplots import rows_of_run
from automl.reports.figure import number
from automl.reports.figures.boxes import default_against_optimized
from automl.reports.page import Figures, Items, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices
from automl.selection.defaults import BoostRow, boost_row_of_run

KEY, TITLE = "defaults", "Default against optimized"


def defaults(choices: RunChoices) -> Section:
    """Each family's best candidate beside its default."""
    return Section(KEY, TITLE, tuple(_parts(choices)))


def _parts(choices: RunChoices) -> Iterator[Part]:
    selection = choices.selection
    if selection is None or choices.root is None:
        yield Paragraph("Nothing is known of it before the candidates are compared.")
        return
    known = {} if choices.search is None else choices.search.defaults
    champion = choices.trials.get(selection.winner)
    if known and champion is not None:
        row = boost_row_of_run("", known, champion)
        if row.best is not None and row.score is not None:
            gain, side = "" if row.boost is None else f" ({row.boost:+.2%})", "above"
            if row.score < row.best:
                side = "below"
            yield Paragraph(
                f"On the folds of the search {_scores_of(row)}. The champion, {row.family}, has "
                f"{number(row.score)}: {abs(row.score - row.best):.4f} {side} the best default{gain}."
            )
        else:
            yield Paragraph("No family's default has a score.")
    rows = rows_of_run(selection.selection, choices.searched, known)
    yield Figures((default_against_optimized(rows, alpha=choices.root.alpha),))
    missing = {family: found.reason for family, found in known.items() if found.score is None}
    if missing:
        yield Paragraph("Defaults without a score:")
        yield Items(
            tuple(f"{family}: {reason or 'unknown'}." for family, reason in missing.items())
        )


def _scores_of(row: BoostRow) -> str:
    """The best and the worst default, or the only one with a score."""
    if row.n_defaults == 1:
        return f"{row.best_default} alone has a default with a score, {number(row.best)}"
    return (
        f"the best default of {row.n_defaults} families is {row.best_default} with a score of "
        f"{number(row.best)}, the worst {row.worst_default} with {number(row.worst)}"
    )
