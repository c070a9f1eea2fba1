"""The limits of the families in `docs/limits.md` are those of their definitions."""

import re
from pathlib import Path

import pytest

from automl.families.registry import families

PAGE = (Path(__file__).parents[2] / "docs/limits.md").read_text(encoding="utf-8")


def limits_of_page(title: str) -> dict[str, int]:
    """Limit by family, of the table whose first column has this title."""
    table = PAGE.partition(f"| {title} |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([\d,]+) \| (.*) \|$", table, re.MULTILINE)
    return {
        name: int(most.replace(",", ""))
        for most, names in rows
        for name in re.findall(r"`(\w+)`", names)
    }


@pytest.mark.parametrize("what", ["rows", "columns"])
def test_the_page_has_the_limits_of_the_families(what: str) -> None:
    limits = {
        name: getattr(family.capabilities, f"max_{what}")
        for name, family in families().items()
        if getattr(family.capabilities, f"max_{what}") is not None
    }
    assert limits_of_page(f"most {what}") == limits
