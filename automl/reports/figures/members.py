"""The members of a model as a picture: how much each says, and what it adds."""

from __future__ import annotations

from collections.abc import Sequence

from automl.reports.figure import WIDTH, DataTable, Drawing, Figure, Scale, number
from automl.reports.members import MemberWorth

ROW = 26.0
"""Height of a bar with air around it: members are few."""
NAMES = 158.0
"""Room for a family and a trial, twenty-five letters."""
ADDS = 96.0
"""Room for what a member adds: the title above it has sixteen letters."""


def weights(members: Sequence[MemberWorth]) -> Figure:
    """Bars of the weights; beside each what the score of the blend loses without it."""
    drawing = Drawing(WIDTH, 26 + ROW * len(members))
    greatest = max((member.weight for member in members), default=1.0)
    scale = Scale(0.0, greatest or 1.0, NAMES + 8, WIDTH - ADDS - 34)
    drawing.text((scale.start, 13), "weight", "f-axis")
    has_adds = any(member.adds is not None for member in members)
    if has_adds:
        drawing.text((WIDTH - 4, 13), "adds to the score", "f-axis", "end")
    for i, member in enumerate(members):
        middle = 26 + ROW * (i + 0.5)
        drawing.text((NAMES, middle + 4), member.name, anchor="end", room=NAMES)
        size = (scale(member.weight) - scale.start, ROW - 12)
        drawing.rect((scale.start, middle - 7), size, "f-fill-blue f-soft")
        said = f"{member.weight:.2f}" if member.weight > 0 else "an input"
        drawing.text((scale.start + size[0] + 5, middle + 4), said, "f-side")
        if member.adds is not None:
            drawing.text(
                (WIDTH - 4, middle + 4), f"{member.adds:+.4f}".replace("-", "\u2212"), anchor="end"
            )
        row = (WIDTH - scale.start, ROW)
        drawing.rect((scale.start, middle - ROW / 2), row, "f-hit", _title(member))
    words = "The weights of the members' predictions, the heaviest first."
    if has_adds:
        words += (
            " Beside them: the score of the whole less that without the member, out of fold. Members that are "
            "alike replace each other, so that each adds little."
        )
    rows = tuple(
        (m.name, m.weight, m.alone, m.adds, ", ".join(name.rsplit("-", 1)[-1] for name in m.inputs))
        for m in members
    )
    columns = ("member", "weight", "score alone", "adds", "takes the predictions of")
    return drawing.finished("The members", words, DataTable("The members", columns, rows))


def _title(member: MemberWorth) -> str:
    adds = "" if member.adds is None else f", adds {member.adds:+.4f}".replace("-", "\u2212")
    return f"{member.name}: weight {member.weight:.3f}, alone {number(member.alone)}{adds}"
