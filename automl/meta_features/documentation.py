"""The list of all meta-features as text, for ``docs/meta-features.md``.

``python -m automl.meta_features.documentation docs/meta-features.md`` writes it anew
between its two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from automl.meta_features.feature import Group, MetaFeature, Target
from automl.meta_features.registry import META_FEATURES

PAGE_START = "<!-- the list begins -->"
PAGE_END = "<!-- the list ends -->"
_TITLES = {
    Group.SIMPLE: "Simple",
    Group.STATISTICAL: "Statistical",
    Group.INFORMATION: "Information-theoretic",
    Group.MODEL: "Model-based",
    Group.LANDMARK: "Landmarkers",
}
_TARGETS = {Target.ANY: "any", Target.CLASSES: "classes", Target.NUMBERS: "numbers"}


def feature_tables() -> str:
    """A Markdown table for each group."""
    parts = []
    for group, title in _TITLES.items():
        rows = [_row(feature) for feature in META_FEATURES.values() if feature.group is group]
        head = "| name | target | what it is | source | at OpenML |\n|---|---|---|---|---|"
        parts.append("\n".join([f"### {title}", "", head, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(feature: MetaFeature) -> str:
    openml = f"`{feature.openml}`" if feature.openml else ""
    cells = (
        f"`{feature.name}`",
        _TARGETS[feature.target],
        feature.definition,
        feature.source,
        openml,
    )
    return f"| {' | '.join(cells)} |"


def renewed(text: str) -> str:
    """The page with the list as it is now.

    Raises
    ------
    ValueError
        If the page lacks a mark.
    """
    before, start, rest = text.partition(PAGE_START)
    _, end, after = rest.partition(PAGE_END)
    if not start or not end:
        raise ValueError(f"the page must have the marks {PAGE_START} and {PAGE_END}")
    return f"{before}{start}\n\n{feature_tables()}\n{end}{after}"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
