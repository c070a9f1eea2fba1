"""Pictures as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from automl.errors import SettingsError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 110
"""A picture is then about as wide as a page of text on a screen."""


def save_picture(draw: Callable[[], Figure], file: Path) -> None:
    """Draw a picture and write it.

    Parameters
    ----------
    draw
        Not called where the file cannot be meant.
    file
        Its suffix gives the format.

    Raises
    ------
    SettingsError
        If the suffix is none of `FORMATS`, or the file cannot be written.
    """
    if file.suffix.lower() not in FORMATS:
        raise SettingsError(
            f"a picture must end in {', '.join(FORMATS)}; got {file.name!r}", file=str(file)
        )
    figure = draw()
    try:
        figure.savefig(file, dpi=DOTS_PER_INCH)
    except OSError as error:
        raise SettingsError(
            f"picture {file} cannot be written: {error.strerror}", file=str(file)
        ) from None
