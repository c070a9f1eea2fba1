"""The list of all meta-features as text, for ``docs/meta-features.md``.

``python -m automl.meta_features.documentation docs/meta-features.md`` writes it anew
between its two marks.
"""

from __future__ import annotations

from automl.generated_lists import renew_page
from automl.meta_features.feature import Group, MetaFeature, Target
from automl.meta_features.registry import META_FEATURES

_TITLES = {
    Group.SIMPLE: "Simple",
    Group.STATISTICAL: "Statistical",
    Group.INFORMATION: "Information-theoretic",
    Group.MODEL: "Model-based",
    Group.LANDMARK: "Landmarkers",
}
_TARGETS = {Target.ANY: "any", Target.CLASSES: "classes", Target.NUMBERS: "numeric"}


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


if __name__ == "__main__":
    renew_page(feature_tables)
