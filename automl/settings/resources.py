"""Settings of what a run may take: time, trials, cores, memory, disk, and its randomness."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import field_validator

from automl.durations import parse_duration
from automl.settings.fields import (
    DEFAULT_PRESET,
    Idle,
    Option,
    PresetName,
    Section,
    setting,
)

DEFAULT_BUDGET_SECONDS = 600.0
"""Long enough for a search on a small table, short enough to wait for (by judgement)."""
MINIMUM_BUDGET_SECONDS = 10.0
"""In less, start, floors and bundle leave nothing to search with."""


class Resources(Section):
    """What a run may take."""

    title: ClassVar[str] = "What the run may take"

    preset: PresetName = setting(
        DEFAULT_PRESET, help="Defaults of all settings", option=Option(), form="first"
    )
    budget_seconds: float | None = setting(
        None,
        help="Wall time of the whole run, such as 90s, 10m",
        unit="seconds",
        usual="10m, none with trials",
        option=Option("--budget", metavar="TIME", kind=str),
        ge=MINIMUM_BUDGET_SECONDS,
        form="first",
    )
    trials: int | None = setting(
        None,
        help="Number of trials of the search, a reproducible run",
        more="without budget_seconds nothing reads the clock",
        unit="trials",
        option=Option(metavar="N"),
        ge=1,
        form="first",
    )
    cost_aware: bool = setting(
        False,
        help="Let measured seconds influence decisions beside a number of trials",
        idle=(
            Idle(
                lambda s: s.trials is None,
                "with a time budget alone measured seconds decide in any case; give trials",
            ),
        ),
    )
    reserve: float = setting(
        0.2,
        help="Greatest share of the budget for candidates on fresh folds and for refits",
        unit="share of the budget",
        presets={"thesis": 0.4, "fast": 0.15, "best": 0.25},
        idle=(
            Idle(
                lambda s: s.seconds is None,
                "there is no time budget of which a share could be kept; give budget_seconds",
            ),
        ),
        ge=0,
    )
    workers: int = setting(
        0,
        help="Trials at a time",
        more="0: one per core",
        unit="trials",
        usual="one per core",
        option=Option(metavar="N"),
        ge=0,
    )
    threads: int = setting(1, help="Threads per trial", unit="threads", ge=1)
    trial_seconds: float | None = setting(
        None, help="Limit of one trial, such as 90s, 10m", unit="seconds", gt=0
    )
    memory_mib: float | None = setting(None, help="Memory limit of one trial", unit="MiB", gt=0)
    predictions_quota_mib: float = setting(
        2048.0, help="Disk space of the predictions that a run keeps", unit="MiB", gt=0
    )
    seed: int = setting(0, help="Root of all randomness", option=Option(metavar="N"), ge=0)

    @field_validator("budget_seconds", "trial_seconds", mode="before")
    @classmethod
    def _duration(cls, value: Any) -> Any:
        return value if value is None else parse_duration(value)

    @property
    def seconds(self) -> float | None:
        """Budget of the whole run; None when only the number of trials limits it."""
        if self.budget_seconds is None and self.trials is None:
            return DEFAULT_BUDGET_SECONDS
        return self.budget_seconds

    @property
    def may_read_clock(self) -> bool:
        """Whether measured seconds may influence decisions."""
        return self.trials is None or self.cost_aware
