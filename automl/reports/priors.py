"""Pictures of learned priors (B14, figure 5.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from automl.errors import DataError, ServiceError
from automl.priors.general import LearnedPrior
from automl.reports.pictures import DOTS_PER_INCH
from automl.spaces.distributions import Numerical
from automl.spaces.ranges import plain_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
"""Panels beside each other on a page."""
PANEL_INCHES = (3.6, 2.3)
POINTS = 400
"""Points of a density's curve: more than a panel has dots."""
MOST_MARKS = 600
"""Accepted values that are drawn; of more, every so manieth."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def pictures_folder(file: Path) -> Path:
    """Folder of the pictures of a file of priors, beside it."""
    return file.with_suffix("") if file.suffix else file.with_name(f"{file.name}-pictures")


def page_file(file: Path) -> Path:
    """Page of a file of priors, beside it."""
    return file.with_name(f"{file.stem or file.name}.html")


def save_prior_pictures(priors: Sequence[LearnedPrior], folder: Path) -> list[Path]:
    """One picture of each hyperparameter of each family: ``KIND-FAMILY-NAME.png``.

    Returns
    -------
    The files, in the order of the priors.

    Raises
    ------
    ServiceError
        If one cannot be written.
    """
    groups: dict[str, list[LearnedPrior]] = {}
    for prior in priors:
        family = prior.signature.split("/", 1)[0]
        groups.setdefault(f"{prior.kind}-{family}-{prior.name}", []).append(prior)
    files = []
    for name, members in groups.items():
        file = folder / f"{_UNSAFE.sub('_', name)}.png"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            prior_picture(members).savefig(file, dpi=DOTS_PER_INCH)
        except OSError as error:
            raise ServiceError(f"picture {file} cannot be written: {error.strerror}") from None
        files.append(file)
    return files


def prior_picture(priors: Sequence[LearnedPrior]) -> Figure:
    """Densities of one hyperparameter, a panel for each signature.

    The density is relative to that of the plain range, which is 1 everywhere; small marks are
    accepted values.

    Raises
    ------
    DataError
        If there are no priors.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 5.3 and figure 5.3.
    """
    from matplotlib.figure import Figure

    if not priors:
        raise DataError("a picture of priors needs at least one")
    columns = min(COLUMNS, len(priors))
    rows = -(-len(priors) // columns)
    figure = Figure(
        figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows + 0.5), layout="constrained"
    )
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    top = max(_draw(panel, prior) for panel, prior in zip(panels, priors, strict=False))
    panels[0].set_ylim(0.0, 1.05 * max(top, 1.0))
    for panel in panels[len(priors) :]:
        panel.set_axis_off()
    family = priors[0].signature.partition("/")[0]
    figure.suptitle(f"{family}: {priors[0].name} ({priors[0].kind})")
    figure.supylabel("density, 1: the plain range", fontsize="small")
    return figure


def _draw(panel: Axes, prior: LearnedPrior) -> float:
    """Fill a panel; the greatest density."""
    number = plain_range(prior.original)
    assert number is not None
    x = _grid(number)
    density = np.exp(prior.distribution.log_density(x) - number.log_density(x))
    panel.plot(x, density, color="tab:blue", drawstyle="steps-mid" if number.integer else "default")
    panel.fill_between(
        x, density, color="tab:blue", alpha=0.15, step="mid" if number.integer else None
    )
    panel.axhline(1.0, linestyle=":", color="black", linewidth=1.0)
    marks = prior.values[:: max(len(prior.values) // MOST_MARKS, 1)]
    transform = panel.get_xaxis_transform()
    panel.plot(
        marks,
        np.full(len(marks), 0.03),
        "|",
        color="dimgray",
        alpha=0.25,
        markersize=7,
        transform=transform,
    )
    if number.is_log:
        panel.set_xscale("log")
    elif number.integer:
        panel.locator_params(axis="x", integer=True)
    context = prior.signature.partition("/")[2].replace("/", "\n") or "whole family"
    panel.set_title(f"{context}\n{prior.data_sets} data sets", fontsize="small")
    return float(density.max())


def _grid(number: Numerical) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Values to draw at: all whole numbers where there are few, else evenly spread ones."""
    return np.unique(number.ppf((np.arange(POINTS) + 0.5) / POINTS))
