"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def home_folder(text: str) -> Path:
    """Folder that an option names; an empty text would be the current one.

    Raises
    ------
    typer.BadParameter
        If the text is blank.
    """
    if not text.strip():
        raise typer.BadParameter("it must name a folder; got nothing")
    return Path(text)


HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        parser=home_folder,
        metavar="DIR",
        help="State folder [default: AUTOML_HOME, else ./automl-home]",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")]
