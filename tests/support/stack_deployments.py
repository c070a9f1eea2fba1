"""The deployments of `deployments/prefect.yaml` on the full stack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from full_stack import FullStack

FILE = Path(__file__).parents[2] / "deployments" / "prefect.yaml"


def deploy(stack: FullStack, name: str, changes: Mapping[str, str], *which: str) -> None:
    """Put deployments of the file on the server.

    Parameters
    ----------
    name
        Of the changed file.
    changes
        What an operator fills in, by what stands there; the state folder is the stack's.
    which
        Options that choose among the deployments.
    """
    text = FILE.read_text(encoding="utf-8")
    for old, new in {**changes, "/srv/automl": str(stack.home)}.items():
        assert old in text
        text = text.replace(old, new)
    file = stack.folder / "user" / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    stack.run("-m", "prefect", "--no-prompt", "deploy", "--prefect-file", str(file), *which)
