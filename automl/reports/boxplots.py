"""Box plots of families, with their defaults and optimized (B14, figures 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from automl.errors import DataError
from automl.records import Trial, TrialStatus
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import compare_with_best
from automl.selection.defaults import DefaultTrial
from automl.selection.dispositions import chance_text
from automl.selection.selection_records import SelectionRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EQUAL_COLOR = "tab:blue"
WORSE_COLOR = "dimgray"
OPTIMIZED_WIDTH, DEFAULT_WIDTH = 0.36, 0.14
OPTIMIZED_OFFSET, DEFAULT_OFFSET = -0.12, 0.24
ROW_INCHES, MARGIN_INCHES, WIDTH_INCHES = 0.38, 1.3, 8.0


@dataclass(frozen=True)
class FamilyScores:
    """Scores of one family, as a row of the picture.

    Parameters
    ----------
    family
        What the row is called.
    default : (n,), maximized, or empty, or None
        Fold scores of the default configuration; empty if it does not work, None if it is not known.
    optimized : (n,), maximized, or empty
        Fold scores of the family's best candidate; empty if there is none.
    pvalue : in [0, 1], or None
        Of the test against the best candidate; None for itself, and if no pairwise test was needed.
    is_equal : whether the candidate is not significantly different from the best one
    probability : in [0, 1], or None
        That it is worse than the best candidate, in place of a p-value, by the test `bayesian`.
    """

    family: str
    default: tuple[float, ...] | None
    optimized: tuple[float, ...]
    pvalue: float | None = None
    is_equal: bool = False
    probability: float | None = None


def family_rows(
    record: SelectionRecord, defaults: Mapping[str, Sequence[float]]
) -> list[FamilyScores]:
    """One row for each family of a selection, the best first, then those without a candidate.

    A family stands for its candidate with the highest mean score at the root. These candidates, one of each
    family, are compared by the tests of the selection at the root's alpha.

    Parameters
    ----------
    record
        Of a run.
    defaults
        Fold scores of each family's default configuration, empty where it does not work; families whose
        default is not known are left out.
    """
    candidates = {candidate.trial_id: candidate for candidate in record.candidates}
    decision = record.decisions[-1]
    leaders: dict[str, str] = {}
    for member in sorted(decision.members, key=lambda m: (-m.mean_score, m.trial_id)):
        leaders.setdefault(candidates[member.trial_id].configuration.family, member.trial_id)
    scores = {family: candidates[trial_id].scores for family, trial_id in leaders.items()}
    return compared_rows(
        scores, defaults, alpha=decision.alpha, settings=record.settings.comparison
    )


def rows_of_run(
    record: SelectionRecord, trials: Sequence[Trial], defaults: Mapping[str, DefaultTrial]
) -> list[FamilyScores]:
    """The same with the search's trials of the default configurations, which are on other folds.

    Parameters
    ----------
    trials
        Of the search.
    defaults
        By family; of those whose default was not tried, or ended early, nothing is known.
    """
    by_id = {trial.id: trial for trial in trials}
    tried = {family: by_id[d.trial_id] for family, d in defaults.items() if d.trial_id is not None}
    scores = {
        family: trial.fold_scores if trial.is_complete else ()
        for family, trial in tried.items()
        if trial.is_complete or trial.status is TrialStatus.FAILED
    }
    return family_rows(record, scores)


def compared_rows(
    optimized: Mapping[str, Sequence[float]],
    defaults: Mapping[str, Sequence[float]],
    *,
    alpha: float,
    settings: ComparisonSettings | None = None,
) -> list[FamilyScores]:
    """Rows of families whose optimized scores are compared with the best of them.

    Parameters
    ----------
    optimized, defaults : (n,) by family
        Fold scores; those of `optimized` on the same folds. Families may be in either of them.
    alpha : in (0, 1)
        Significance level.
    settings
        Tests; default: the thesis'.

    Raises
    ------
    DataError
        If `optimized` is empty.
    """
    if not optimized:
        raise DataError("no family has optimized scores to compare")
    order = sorted(optimized, key=lambda family: -float(np.mean(optimized[family])))
    groups = [np.asarray(optimized[family], dtype=np.float64) for family in order]
    result = compare_with_best(groups, alpha, settings or ComparisonSettings())
    pvalues = result.pvalues or (None,) * len(order)
    chances = [p.greater for p in result.posteriors or ()] or (None,) * len(order)
    rows = [
        FamilyScores(
            family,
            tuple(map(float, defaults[family])) if family in defaults else None,
            tuple(map(float, optimized[family])),
            None if i == result.best else pvalues[i],
            result.kept[i],
            None if i == result.best else chances[i],
        )
        for i, family in enumerate(order)
    ]
    others = sorted(
        set(defaults) - set(optimized),
        key=lambda family: (-float(np.mean(defaults[family] or (0.0,))), family),
    )
    return rows + [FamilyScores(f, tuple(map(float, defaults[f])), ()) for f in others]


def default_and_optimized(
    rows: Sequence[FamilyScores], *, title: str, alpha: float, baseline: float = 0.0
) -> Figure:
    """Box plots of default (thin) and optimized scores (thick) of each family, the first on top.

    Those that the test cannot tell from the best one are blue, p-values stand at the right side, the
    baseline is a dotted line, and a family that does not work is a single point on it.

    Parameters
    ----------
    rows
        For example of `family_rows`.
    alpha : in (0, 1)
        Significance level behind the rows, for the title.

    Raises
    ------
    DataError
        If there are no rows.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 5.1 and figure 5.1.
    """
    from matplotlib.figure import Figure

    if not rows:
        raise DataError("a picture of families needs at least one")
    figure = Figure(
        figsize=(WIDTH_INCHES, MARGIN_INCHES + ROW_INCHES * len(rows)), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.axvline(baseline, linestyle=":", color="black", linewidth=1.0)
    places = range(len(rows) - 1, -1, -1)
    for place, row in zip(places, rows, strict=True):
        _draw_row(axes, row, place, baseline)
    axes.set_yticks(list(places), [row.family for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("performance index (0: baseline, 1: ideal)")
    axes.set_title(f"{title} (alpha = {alpha:g})")
    best = max((float(np.mean(row.optimized)) for row in rows if row.optimized), default=np.inf)
    sides = axes.twinx()
    sides.set_ylim(axes.get_ylim())
    sides.set_yticks(list(places), [_side_text(row, best) for row in rows])
    sides.tick_params(length=0)
    return figure


def _draw_row(axes: Axes, row: FamilyScores, place: int, baseline: float) -> None:
    color = EQUAL_COLOR if row.is_equal else WORSE_COLOR
    if row.default:
        _draw_box(axes, row.default, place + DEFAULT_OFFSET, DEFAULT_WIDTH, WORSE_COLOR)
    elif row.default is not None:
        axes.plot([baseline], [place + DEFAULT_OFFSET], ".", color=WORSE_COLOR, markersize=5)
    if row.optimized:
        _draw_box(axes, row.optimized, place + OPTIMIZED_OFFSET, OPTIMIZED_WIDTH, color)
    elif not row.default:
        axes.plot([baseline], [place + OPTIMIZED_OFFSET], ".", color=WORSE_COLOR, markersize=9)


def _draw_box(axes: Axes, scores: Sequence[float], place: float, width: float, color: str) -> None:
    is_thick = width == OPTIMIZED_WIDTH
    line = {"color": color, "linewidth": 1.4 if is_thick else 0.7}
    axes.boxplot(
        [list(scores)],
        positions=[place],
        widths=width,
        orientation="horizontal",
        manage_ticks=False,
        patch_artist=True,
        boxprops={
            "facecolor": color if is_thick else "white",
            "edgecolor": color,
            "linewidth": line["linewidth"],
            "alpha": 0.55 if is_thick else 1.0,
        },
        medianprops={**line, "color": "black"},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": color},
    )


def _side_text(row: FamilyScores, best: float) -> str:
    if not row.optimized:
        return "" if row.default else "does not work"
    if row.pvalue is not None or row.probability is not None:
        return chance_text(row.pvalue, row.probability)
    return "best" if float(np.mean(row.optimized)) == best else ""
