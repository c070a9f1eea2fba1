"""Pictures of methods compared over many data sets (L14, figures 1 and 2; S15, figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.comparison.curves import Bands
from automl.comparison.results import Curves
from automl.errors import DataError
from automl.records import FloatArray, IntArray
from automl.reports.pictures import DOTS_PER_INCH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIGNIFICANT, HIGHLY = 0.8, 0.9
DASHES = ("-", "--", ":", "-.")
LINEAR_BELOW = 1e-3
"""Distances to the best known are drawn on a linear scale below this, on a logarithmic one above."""


@dataclass(frozen=True)
class TimePanel:
    """One row of `over_time`: methods in one search space, or on one collection of data sets.

    Parameters
    ----------
    title
        Of the row.
    methods : K names
    steps : (T,)
        Numbers of trials.
    ranks : (K, T)
        Expected ranks.
    probabilities : (T,) by the name of the pair
        Pr(first > second) of the Poisson-binomial test.
    """

    title: str
    methods: Sequence[str]
    steps: IntArray | FloatArray
    ranks: FloatArray
    probabilities: Mapping[str, FloatArray]


def panel_of(made: Curves, title: str) -> TimePanel:
    """Row of `over_time` with the method of the best rank at the end against each other one.

    Raises
    ------
    DataError
        If the curves have no Poisson-binomial probabilities.
    """
    if made.probability is None:
        raise DataError("a picture over time needs probabilities: curves on test rows")
    best = int(made.rank.mean[:, -1].argmin())
    pairs = {
        f"{made.methods[best]} > {name}": made.probability[best, k]
        for k, name in enumerate(made.methods)
        if k != best
    }
    return TimePanel(title, made.methods, made.steps, made.rank.mean, pairs)


def over_time(panels: Sequence[TimePanel]) -> Figure:
    """Poisson-binomial probability (left) and expected rank (right) over trials, a row each panel.

    Dotted lines are the levels ½, 0.8 (significant) and 0.9 (highly significant).

    Raises
    ------
    DataError
        If there are no panels.

    References
    ----------
    .. [1] L14, figures 1 and 2.
    """
    from matplotlib.figure import Figure

    if not panels:
        raise DataError("a picture over time needs at least one panel")
    figure = Figure(figsize=(11, 0.6 + 3.4 * len(panels)), layout="constrained")
    rows = figure.subplots(len(panels), 2, squeeze=False)
    for (left, right), panel in zip(rows, panels, strict=True):
        _draw_probabilities(left, panel)
        _draw_ranks(right, panel)
    return figure


def _draw_probabilities(axes: Axes, panel: TimePanel) -> None:
    for level in (0.5, SIGNIFICANT, HIGHLY):
        axes.axhline(level, linestyle=":", color="black", linewidth=0.8)
    for k, (pair, values) in enumerate(panel.probabilities.items()):
        axes.step(panel.steps, values, where="post", label=pair, **_style(k))
    axes.set(ylim=(-0.02, 1.02), xlabel="trials", ylabel="Pr(A > B), Poisson-binomial")
    axes.set_title(panel.title, loc="left")
    axes.legend(fontsize="small")


def _draw_ranks(axes: Axes, panel: TimePanel) -> None:
    for k, (method, values) in enumerate(zip(panel.methods, panel.ranks, strict=True)):
        axes.step(panel.steps, values, where="post", label=method, **_style(k))
    axes.set(xlabel="trials", ylabel="expected rank (1 is best)")
    axes.legend(fontsize="small")


def performance(made: Curves) -> Figure:
    """Average rank, distance to the best known, and average hyperparameter rank over trials or seconds.

    Areas are 95 % intervals of the means over data sets; of the distance they are drawn lighter
    from the first to the third quartile over data sets.

    References
    ----------
    .. [1] S15, section 4.3 and figures 3 and 4; H18, figures 5.4 and 5.8.
    """
    from matplotlib.figure import Figure

    bands: dict[str, Bands | None] = {
        "average rank (1 is best)": made.rank,
        "risk above the best known": made.to_best,
        "average hyperparameter rank": made.hyperparameter_rank,
    }
    shown = {title: of for title, of in bands.items() if of is not None}
    figure = Figure(figsize=(5.2 * len(shown), 4.4), layout="constrained")
    every = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, (title, of) in zip(every, shown.items(), strict=True):
        _draw_bands(axes, made, of, with_quartiles=of is made.to_best)
        axes.set(xlabel=made.unit, ylabel=title)
        if made.unit == "seconds":
            axes.set_xscale("log")
        if of is made.to_best:
            axes.set_yscale("symlog", linthresh=LINEAR_BELOW)
            axes.set_ylim(bottom=0.0)
    every[0].legend(fontsize="small")
    rows = "test rows" if made.source == "test" else "validated scores"
    figure.suptitle(f"Best model so far, by {rows}")
    return figure


def _draw_bands(axes: Axes, made: Curves, of: Bands, *, with_quartiles: bool) -> None:
    for k, method in enumerate(made.methods):
        style = _style(k)
        axes.step(made.steps, of.mean[k], where="post", label=method, **style)
        area: dict[str, Any] = {"step": "post", "color": style["color"], "linewidth": 0}
        axes.fill_between(made.steps, of.low[k], of.high[k], alpha=0.15, **area)
        if with_quartiles:
            axes.fill_between(made.steps, *of.quartiles[:, k], alpha=0.06, **area)


def _style(k: int) -> dict[str, Any]:
    return {"color": f"C{k % 10}", "linestyle": DASHES[k // 10 % len(DASHES)]}


def draw_comparison(folder: Path, every: Sequence[Curves]) -> list[Path]:
    """Draw what the curves allow into a folder as PNG files; their paths."""
    figures = {f"performance_{made.name}.png": performance(made) for made in every}
    panels = [panel_of(made, "") for made in every if made.probability is not None]
    if panels:
        figures["over_time.png"] = over_time(panels)
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("over_time.png", "performance_*.png"):
        for earlier in folder.glob(pattern):  # it may be of records that are gone
            earlier.unlink()
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=DOTS_PER_INCH)
    return [folder / name for name in figures]
