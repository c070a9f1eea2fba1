"""Settings of what a run may take: time, trials, cores, memory, disk, and its randomness."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pydantic import field_validator

from automl.addresses import public_address
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
ADDRESS = re.compile(r"[a-z]+://[^/@?#\s]+:\d+")
"""Pattern of the address of a Dask scheduler; nothing that could be a secret, so that it may be shown."""


class Resources(Section):
    """Resources of a run."""

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
        help="Number of trials of the search; makes the run reproducible",
        more="without budget_seconds nothing reads the clock",
        unit="trials",
        option=Option(metavar="N"),
        ge=1,
        form="first",
    )
    cost_aware: bool = setting(
        False,
        help="Let measured seconds influence decisions even with trials",
        idle=(
            Idle(
                lambda s: s.trials is None,
                "with a time budget alone, measured seconds always decide; give trials",
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
                "without a time budget there is no share to keep; give budget_seconds",
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
    cluster: str | None = setting(
        None,
        help="Run the trials on the workers of the Dask scheduler at this address, such as tcp://HOST:8786",
        more="the cluster runs this project's code and sees the table: trust its network, or use tls://",
        option=Option("--dask", metavar="ADDRESS"),
        form="operator",
    )
    threads: int = setting(1, help="Threads per trial", unit="threads", ge=1)
    trial_seconds: float | None = setting(
        None, help="Limit of one trial, such as 90s, 10m", unit="seconds", gt=0
    )
    memory_mib: float | None = setting(None, help="Memory limit of one trial", unit="MiB", gt=0)
    predictions_quota_mib: float = setting(
        2048.0, help="Disk space for the predictions that a run keeps", unit="MiB", gt=0
    )
    seed: int = setting(0, help="Root of all randomness", option=Option(metavar="N"), ge=0)

    @field_validator("budget_seconds", "trial_seconds", mode="before")
    @classmethod
    def _duration(cls, value: Any) -> Any:
        return value if value is None else parse_duration(value)

    @field_validator("cluster")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not ADDRESS.fullmatch(value):
            raise ValueError(
                "must be the address of a Dask scheduler like tcp://HOST:8786 or tls://HOST:8786, "
                f"without user or password; got {public_address(value)!r}"
            )
        return value

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
