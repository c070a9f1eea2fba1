"""What `automl serve` is asked to do, and whether it can be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automl.addresses import public_address
from automl.errors import SettingsError
from automl.home import Home
from automl.run.finished_runs import finished_runs

LEAST_INTERVAL_SECONDS = 10.0
"""As long as the shortest run."""


@dataclass(frozen=True)
class Plan:
    """What is served.

    Parameters
    ----------
    table : of the scheduled retraining
    cron, interval_seconds : at most one of them
    folder : where new files arrive
    pattern : of their names; None takes every kind of table
    overrides : `budget_seconds` and `trials` of the runs
    """

    name: str
    table: str | None = None
    cron: str | None = None
    interval_seconds: float | None = None
    folder: Path | None = None
    pattern: str | None = None
    settle_seconds: float = 5.0
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_schedule(self) -> bool:
        """Whether something is to be done at certain times."""
        return self.cron is not None or self.interval_seconds is not None

    def check(self, home: Home) -> None:
        """Refuse what cannot be served.

        Raises
        ------
        SettingsError
            With the option that is missing or wrong.
        """
        if not self.has_schedule and self.folder is None:
            raise SettingsError(
                "nothing to serve: give --watch DIR, or --table with --cron or --interval"
            )
        if self.cron is not None and self.interval_seconds is not None:
            raise SettingsError("--cron and --interval cannot be combined; give one of them")
        if self.has_schedule != (self.table is not None):
            raise SettingsError("a schedule needs both --table and one of --cron and --interval")
        if self.interval_seconds is not None and self.interval_seconds < LEAST_INTERVAL_SECONDS:
            raise SettingsError(f"--interval must be at least {LEAST_INTERVAL_SECONDS:g} s")
        if self.cron is not None:
            _check_cron(self.cron)
        if self.folder is not None and not self.folder.is_dir():
            raise SettingsError(f"--watch: there is no folder {self.folder}")
        if not finished_runs(home, self.name):
            raise SettingsError(
                f"there is no finished run of problem {self.name!r} in {home.path}; train it first"
            )

    @property
    def described(self) -> str:
        """What is served, in words."""
        parts = []
        table = public_address(self.table or "")
        if self.cron is not None:
            parts.append(f"retrained on {table} at {self.cron!r}")
        if self.interval_seconds is not None:
            parts.append(f"retrained on {table} every {self.interval_seconds:g} s")
        if self.folder is not None:
            parts.append(f"new files in {self.folder}")
        return " and ".join(parts)

    @property
    def run_parameters(self) -> dict[str, Any]:
        """Parameters of the flows, in their own words."""
        seconds = self.overrides.get("budget_seconds")
        return {
            "budget": "" if seconds is None else f"{seconds:g}s",
            "trials": self.overrides.get("trials"),
        }


def _check_cron(text: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        CronSchedule(cron=text)
    except ValidationError:
        raise SettingsError(
            f'--cron must look like "0 3 * * *" (minute hour day month weekday); got {text!r}'
        ) from None
