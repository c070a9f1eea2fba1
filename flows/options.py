"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="State folder [default: AUTOML_HOME, else ./automl-home]"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")]
