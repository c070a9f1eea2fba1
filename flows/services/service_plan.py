"""Plan of `automl serve`, and its checks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from automl.addresses import public_address
from automl.alternatives import AskedHow
from automl.data.sources import check_mode
from automl.errors import DataError, SettingsError
from automl.home import Home
from automl.run.finished_runs import finished_runs
from automl.training_request import TrainingRequest
from automl_flows.retraining_ways import check_limits
from automl_flows.services.drop_place import DropPlace
from automl_flows.services.watching import Completeness

LEAST_INTERVAL_SECONDS = 10.0
"""As long as the shortest run."""


@dataclass(frozen=True)
class Plan:
    """Plan of a service.

    Parameters
    ----------
    table : of the scheduled retraining, or what new files are appended to
    cron, interval_seconds : at most one of them
    drops : folder or prefix where new files arrive
    pattern : of their names; None takes every kind of table
    completeness : when a new file is complete
    mode, window, time : how files become the table; see `automl.data.sources`
    keep : how many runs of the problem are not deleted; None keeps all
    how : how much of a training is done again; see `automl_flows.retraining.retrain`
    overrides : `budget_seconds`, `trials` and `seed` of the runs
    """

    name: str
    table: str | None = None
    cron: str | None = None
    interval_seconds: float | None = None
    drops: str | None = None
    pattern: str | None = None
    completeness: Completeness = field(default_factory=Completeness)
    mode: str = "replace"
    window: str | None = None
    time: str | None = None
    keep: int | None = None
    how: AskedHow = "search"
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_schedule(self) -> bool:
        """Whether something is to be done at certain times."""
        return self.cron is not None or self.interval_seconds is not None

    def next_date(self, now: datetime) -> datetime | None:
        """When the schedule that begins now comes for the first time; None without one.

        Parameters
        ----------
        now : with a time zone
        """
        if self.interval_seconds is not None:
            return now + timedelta(seconds=self.interval_seconds)
        return None if self.cron is None else _next_of_cron(self.cron, now)

    def check(self, home: Home) -> None:
        """Refuse what cannot be served.

        Raises
        ------
        SettingsError
            With the option that is missing or wrong.
        """
        if not self.has_schedule and self.drops is None:
            raise SettingsError(
                "nothing to serve: give --watch PLACE, or --table with --cron or --interval"
            )
        if self.cron is not None and self.interval_seconds is not None:
            raise SettingsError("--cron and --interval cannot be combined; give one of them")
        if self.has_schedule and self.table is None:
            raise SettingsError("a schedule needs both --table and one of --cron and --interval")
        if self.has_schedule and self._appends:
            raise SettingsError(
                f"mode {self.mode} adds the files of --watch to --table as they arrive; leave out "
                "--cron and --interval"
            )
        if self.table is not None and not self.has_schedule and not self._appends:
            raise SettingsError("--table needs --cron or --interval, or a mode that appends to it")
        if self.interval_seconds is not None and self.interval_seconds < LEAST_INTERVAL_SECONDS:
            raise SettingsError(f"--interval must be at least {LEAST_INTERVAL_SECONDS:g} s")
        if self.cron is not None:
            _check_cron(self.cron)
        check_mode(self.mode, self.window, self.time)
        check_limits(self.how, self.overrides)
        if self.drops is not None:
            self._check_drops(self.drops)
        self._check_overrides(home)

    def _check_overrides(self, home: Home) -> None:
        """Refuse what the first retraining would refuse, and blame its file for."""
        runs = finished_runs(home, self.name)
        if not runs:
            raise SettingsError(
                f"there is no finished run of problem {self.name!r} in {home.path}; train it first"
            )
        if self.overrides:
            request = TrainingRequest.of(runs[-1])
            request.with_overrides(self.overrides).settings_for(request.settings["table"])

    @property
    def _appends(self) -> bool:
        return self.drops is not None and self.mode in ("append", "window")

    def _check_drops(self, drops: str) -> None:
        if self.mode == "partition":
            raise SettingsError(
                "mode partition is for --table, whose folder is the table; files of --watch replace "
                "the table or are appended to it"
            )
        try:
            DropPlace(drops).check()
        except DataError as error:
            raise SettingsError(f"--watch: {error.message}") from None

    @property
    def described(self) -> str:
        """The plan in words."""
        parts = []
        table = public_address(self.table or "")
        if self.cron is not None:
            parts.append(f"retrained on {table} at {self.cron!r}")
        if self.interval_seconds is not None:
            parts.append(f"retrained on {table} every {self.interval_seconds:g} s")
        if self.drops is not None:
            parts.append(f"new files in {public_address(self.drops)}")
        return " and ".join(parts)

    @property
    def run_parameters(self) -> dict[str, Any]:
        """Parameters of the flows, in their own words."""
        seconds = self.overrides.get("budget_seconds")
        return {
            "budget": "" if seconds is None else f"{seconds:.15g}s",
            "trials": self.overrides.get("trials"),
            "seed": self.overrides.get("seed"),
            "mode": self.mode,
            "window": self.window,
            "time": self.time,
            "keep": self.keep,
            "how": self.how,
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
    if _next_of_cron(text, datetime.now(UTC)) is None:
        raise SettingsError(f"--cron must name a day that comes; got {text!r}")


def _next_of_cron(text: str, now: datetime) -> datetime | None:
    """The first date after now; None if there is none, such as for the 30th of February."""
    from prefect.server.schemas.schedules import CronSchedule

    asked = CronSchedule(cron=text).get_dates(1, start=now)
    with ThreadPoolExecutor(1) as thread:  # a notebook's own event loop may run in this one
        try:
            dates = thread.submit(asyncio.run, asked).result()
        except ValueError:
            return None
    return next((date for date in dates if date > now), None)
