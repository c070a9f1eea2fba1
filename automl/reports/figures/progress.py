"""What a search tried over time, and where its seconds went."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from automl.records import Trial, TrialStatus, short_id
from automl.reports.figure import (
    WIDTH,
    DataTable,
    Drawing,
    Figure,
    Plot,
    Scale,
    number,
    tick_text,
)
from automl.reports.seconds import FamilySeconds

MOST_TITLES = 6000
"""Trials whose marks say what they are: of more the page would be larger than a megabyte."""
LOWEST_QUANTILE = 10
"""Quantile of the scores, in percent, that the axis begins with: a few hopeless trials would flatten all others."""
ROW = 22.0
"""Height of a bar with its label, twice the height of the letters."""
STRIP = 18.0
"""Below the plot, for the marks of trials without a score."""
NAMES = 128.0
"""Room for the names of families: twenty-two letters, as many as the longest of ours has."""
USED_SIDE, PLANNED_SIDE = 62.0, 112.0
"""Room beside the longest bar: for its seconds, and for the trials that had a plan where some had none."""
FAMILY_PARTS = (
    ("preprocessing", "green"), ("fitting", "blue"), ("predicting", "orange"), ("rest", "muted"),
)  # fmt: skip
"""What a trial does on a slot, with its color."""
PLAN_WORDS = (
    "Planned is what the run expected of each trial as it decided on it, from the fits before. Trials that "
    "end early take less."
)


def trials_over_time(trials: Sequence[Trial], *, began: float) -> Figure:
    """A mark for every trial of a search, and the best score so far as a line.

    Parameters
    ----------
    trials : at least one
    began : unix seconds of the run's first line
    """
    ordered = sorted(trials, key=_ended)
    minutes = [max(_ended(trial) - began, 0.0) for trial in ordered]
    unit, divisor = _unit(max(minutes))
    moments = [seconds / divisor for seconds in minutes]
    complete = [trial.achieved for trial in ordered if trial.is_complete]
    chart = _chart(moments, complete)
    chart.x_axis(f"{unit} since the run began", below=STRIP)
    chart.y_axis("score (0: chance, 1: perfect)")
    best = _best_so_far(ordered, moments)
    if best:
        steps = [best[0]]
        for (_, before), (moment, score) in pairwise(best):
            steps += [(moment, before), (moment, score)]
        chart.curve([*steps, (max(moments), best[-1][1])], "f-blue")
    for trial, moment in zip(ordered, moments, strict=True):
        _mark(chart, trial, moment, has_title=len(ordered) <= MOST_TITLES)
    below = sum(score < chart.y.low for score in complete)
    n_open = len(ordered) - len(complete)
    description = f"Filled: {len(complete)} complete trials."
    if n_open:
        description += f" Open, at the bottom: {n_open} that ended early or failed."
    description += " The line is the best score so far."
    if below:
        description += f" {below} complete trials score less than the axis shows."
    return chart.drawing.finished("Trials over time", description, _best_table(ordered, best, unit))


def seconds_by_family(families: Sequence[FamilySeconds], *, unplanned: str = "") -> Figure:
    """Bars of the seconds of each family's trials on the slots: used by part, and planned below (open).

    Parameters
    ----------
    unplanned : why nothing was planned, a sentence; for runs without a forecast
    """
    shown = [entry for entry in families if entry.spent.trials]
    has_plan = any(entry.planned for entry in shown)
    step = 1.4 * ROW if has_plan else ROW
    drawing = Drawing(WIDTH, 30 + step * len(shown))
    values = [v for e in shown for v in (e.spent.seconds, e.planned_seconds or 0.0)]
    room = PLANNED_SIDE if has_plan else USED_SIDE
    scale = Scale(0.0, max(values, default=1.0) or 1.0, NAMES + 8, WIDTH - room)
    _legend(drawing, [*FAMILY_PARTS, *([("planned", "muted")] if has_plan else [])])
    for i, entry in enumerate(shown):
        top = 26 + step * i
        drawing.text((NAMES, top + 13), entry.family, anchor="end", room=NAMES)
        _used_bar(drawing, scale, entry, (top + 3, 9.0 if has_plan else ROW - 9))
        if entry.planned_seconds is not None:
            _planned_bar(drawing, scale, entry, top + 15)
    told = PLAN_WORDS if has_plan else unplanned
    return drawing.finished(
        "Where the search spent its time",
        f"Seconds of the trials of each family, the longest first. {told}".rstrip(),
        _family_table(shown, has_plan=has_plan),
    )


def _used_bar(
    drawing: Drawing, scale: Scale, entry: FamilySeconds, across: tuple[float, float]
) -> None:
    """What a family used, by what its trials did.

    Parameters
    ----------
    across : top and height
    """
    (top, height), left, used = across, scale.start, entry.spent.seconds
    spent = [getattr(entry.spent, name) for name, _ in FAMILY_PARTS[:-1]]
    for (name, color), seconds in zip(
        FAMILY_PARTS, [*spent, max(used - sum(spent), 0.0)], strict=True
    ):
        width = scale(seconds) - scale.start
        title = f"{entry.family}, {name}: {number(seconds, 3)} s of {number(used, 3)} s"
        drawing.rect((left, top), (width, height), f"f-fill-{color}", title)
        left += width
    look = "f-side f-small" if height < 10 else "f-side"
    drawing.text((left + 6, top + height / 2 + 4), f"{number(used, 3)} s", look)


def _planned_bar(drawing: Drawing, scale: Scale, entry: FamilySeconds, top: float) -> None:
    """What the trials of a family were expected to take."""
    assert entry.planned_seconds is not None
    width = scale(entry.planned_seconds) - scale.start
    is_whole = entry.planned == entry.spent.trials
    of = "" if is_whole else f", {entry.planned} of {entry.spent.trials} trials"
    said = f"{number(entry.planned_seconds, 3)} s{of}"
    drawing.rect((scale.start, top), (width, 9), "f-open-muted", f"{entry.family}, planned: {said}")
    drawing.text((scale.start + width + 6, top + 8), said, "f-side f-small")


def _family_table(families: Sequence[FamilySeconds], *, has_plan: bool) -> DataTable:
    columns = ["family", "trials", "complete", "raced", "failed"]
    columns += ["with a plan", "planned s", "used s"] if has_plan else ["used s"]
    rows = []
    for entry in families:
        planned = [entry.planned, entry.planned_seconds] if has_plan else []
        counts = [entry.spent.trials, entry.complete, entry.raced, entry.failed]
        rows.append((entry.family, *counts, *planned, entry.spent.seconds, entry.best_score))
    return DataTable("Trials and seconds of the families", (*columns, "best score"), tuple(rows))


def planned_and_used(ledger: Mapping[str, Mapping[str, float | None]]) -> Figure:
    """Bars of the wall seconds of each stage: planned (open) and used (filled).

    Parameters
    ----------
    ledger : planned and used seconds by stage; stages within others have a blank in their name
    """
    stages = {name: entry for name, entry in ledger.items() if " " not in name}
    values = [entry.get(key) or 0.0 for entry in stages.values() for key in ("planned", "used")]
    has_plan = any(entry.get("planned") is not None for entry in stages.values())
    step = 1.4 * ROW if has_plan else ROW
    drawing = Drawing(WIDTH, 30 + step * len(stages))
    scale = Scale(0.0, max([*values, 1e-9]), NAMES + 8, WIDTH - 62)
    looks = [("used", "blue"), *([("planned", "muted")] if has_plan else [])]
    _legend(drawing, looks)
    for i, (name, entry) in enumerate(stages.items()):
        top = 26 + step * i
        drawing.text((NAMES, top + 12), name, anchor="end", room=NAMES)
        for key, look, y in (
            ("used", "f-fill-blue", top + 3),
            ("planned", "f-open-muted", top + 15),
        ):
            seconds = entry.get(key)
            if seconds is None:
                continue
            width = scale(seconds) - scale.start
            drawing.rect(
                (scale.start, y), (width, 9), look, f"{name}, {key}: {number(seconds, 3)} s"
            )
            drawing.text(
                (scale.start + width + 6, y + 8), f"{number(seconds, 3)} s", "f-side f-small"
            )
    table = DataTable(
        "Wall seconds of the stages",
        ("stage", "planned s", "used s"),
        tuple((name, entry.get("planned"), entry.get("used")) for name, entry in stages.items()),
    )
    words = "What the stages took" if not has_plan else "The budget: planned and used"
    return drawing.finished(words, "Wall seconds of each stage, in their order.", table)


def _ended(trial: Trial) -> float:
    return trial.started_at + trial.spent_seconds


def _unit(seconds: float) -> tuple[str, float]:
    """What a time axis counts, and its seconds."""
    if seconds < 300:
        return "seconds", 1.0
    return ("minutes", 60.0) if seconds < 3 * 3600 else ("hours", 3600.0)


def _chart(moments: Sequence[float], scores: Sequence[float]) -> Plot:
    """Axes from the lowest scores that matter to the best; the marks of failures lie below."""
    shown = list(scores) or [0.0, 1.0]
    if len(shown) >= 20:
        shown = [
            max(score, statistics.quantiles(shown, n=100)[LOWEST_QUANTILE - 1]) for score in shown
        ]
    height = 280.0
    return Plot(
        Drawing(WIDTH, height),
        Scale(0.0, max(moments) * 1.02 or 1.0, 48.0, WIDTH - 12),
        Scale.over(shown, height - 38 - STRIP, 22, margin=0.08),
    )


def _mark(chart: Plot, trial: Trial, moment: float, *, has_title: bool) -> None:
    title = ""
    if has_title:
        score = "" if trial.score is None else f", score {number(trial.score)}"
        status = "" if trial.is_complete else f", {str(trial.status).replace('_', ' ')}"
        title = f"{short_id(trial.id)} {trial.configuration.family}{score}{status}"
    x = chart.x(moment)
    if trial.is_complete:
        chart.drawing.circle((x, chart.y(trial.achieved)), 2.4, "f-fill-blue f-soft", title)
        return
    color = "muted" if trial.status is TrialStatus.RACED else "orange"
    chart.drawing.circle((x, chart.y.start + STRIP / 2 + 2), 2.2, f"f-open-{color}", title)


def _best_so_far(ordered: Sequence[Trial], moments: Sequence[float]) -> list[tuple[float, float]]:
    """Moments of new best scores, with the scores."""
    scored = [
        (moment, trial.achieved)
        for trial, moment in zip(ordered, moments, strict=True)
        if trial.is_complete
    ]
    bests = accumulate((score for _, score in scored), max)
    found: list[tuple[float, float]] = []
    for (moment, _), best in zip(scored, bests, strict=True):
        if not found or best > found[-1][1]:
            found.append((moment, best))
    return found


def _best_table(
    ordered: Sequence[Trial], best: Sequence[tuple[float, float]], unit: str
) -> DataTable:
    by_score = {trial.achieved: trial for trial in reversed(ordered) if trial.is_complete}
    moments = [moment for moment, _ in best]
    return DataTable(
        "Trials that were the best so far",
        ("trial", "family", f"{unit} since the beginning", "score"),
        tuple(
            (
                short_id(by_score[score].id),
                by_score[score].configuration.family,
                tick_text(moment, moments),
                score,
            )
            for moment, score in best
        ),
    )


def _legend(drawing: Drawing, entries: Sequence[tuple[str, str]]) -> None:
    """What the colors mean, in a line above the bars."""
    x = 2.0
    for name, color in entries:
        look = "f-open-muted" if name == "planned" else f"f-fill-{color}"
        drawing.rect((x, 5), (9, 9), look)
        drawing.text((x + 13, 13), name, "f-side")
        x += 30 + 5.5 * len(name)
