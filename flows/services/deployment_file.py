"""``deployments.yaml``: the problems of one installation, and how each follows its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from automl.alternatives import AskedHow
from automl.data.collections import read_yaml_file
from automl.durations import parse_duration
from automl.errors import SettingsError
from automl.lookup import did_you_mean
from automl.settings.problems import reason_of
from automl_flows.services.service_plan import Plan
from automl_flows.services.watching import PATIENCE_SECONDS, Completeness


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Overrides(_Strict):
    """Settings of the retrainings that differ from those of the training."""

    budget: str | None = Field(None, description="wall time, such as 10m")
    trials: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)


class Problem(_Strict):
    """One problem, with the options of `automl serve`."""

    name: str = Field(description="problem, that is registered model")
    table: str | None = Field(None, description="table of the schedule, or what drops are added to")
    drops: str | None = Field(None, description="folder or prefix where new files arrive")
    schedule: str | None = Field(None, description='such as "0 3 * * *" or 12h')
    mode: str = Field("replace", description="replace, append, partition or window")
    window: str | None = Field(None, description="such as 90 days or 5000 rows")
    time: str | None = Field(None, description="column with the times of the rows")
    pattern: str | None = Field(None, description="of the names of new files")
    settle: str = Field("5s", description="a file is complete when unchanged so long")
    done_marker: bool = Field(default=False, description="FILE is complete when FILE.done is there")
    patience: str = Field(
        f"{PATIENCE_SECONDS:g}s", description="a file that is not complete by then is set aside"
    )
    keep: int | None = Field(None, ge=1, description="runs that are not deleted")
    how: AskedHow = Field("search", description="auto, search, warm or refit")
    overrides: Overrides = Overrides()

    def plan(self, folder: Path) -> Plan:
        """The service to run.

        Parameters
        ----------
        folder
            That addresses without a scheme are relative to.

        Raises
        ------
        SettingsError
            If a duration is not one.
        """
        is_cron = self.schedule is not None and len(self.schedule.split()) > 1
        budget = self.overrides.budget
        overrides = {
            "budget_seconds": None if budget is None else parse_duration(budget),
            "trials": self.overrides.trials,
            "seed": self.overrides.seed,
        }
        return Plan(
            name=self.name,
            table=_absolute(self.table, folder),
            cron=self.schedule if is_cron else None,
            interval_seconds=None
            if is_cron or self.schedule is None
            else parse_duration(self.schedule),
            drops=_absolute(self.drops, folder),
            pattern=self.pattern,
            completeness=Completeness(
                parse_duration(self.settle), self.done_marker, parse_duration(self.patience)
            ),
            mode=self.mode,
            window=self.window,
            time=self.time,
            keep=self.keep,
            how=self.how,
            overrides={key: value for key, value in overrides.items() if value is not None},
        )


class DeploymentFile(_Strict):
    """Content of ``deployments.yaml``."""

    pool: str = Field("automl", description="work pool of `automl deploy`")
    problems: tuple[Problem, ...] = Field(min_length=1)


def read_deployments(path: Path) -> tuple[str, list[Plan]]:
    """Work pool and plans of a file; addresses without a scheme are relative to its folder.

    Raises
    ------
    SettingsError
        If it cannot be read; the message names the entry, what was found, and the nearest known key.
    """
    content = read_yaml_file(path, "deployments file")
    if not isinstance(content, Mapping):
        raise SettingsError(f"{path} is no deployments file: it must hold the key problems")
    try:
        found = DeploymentFile.model_validate(content)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_told(error, content)}") from None
    names = [problem.name for problem in found.problems]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"{path}: the problem {twice!r} appears twice")
    plans = []
    for problem in found.problems:
        try:
            plans.append(problem.plan(path.resolve().parent))
        except SettingsError as error:
            raise SettingsError(f"{path}: problem {problem.name!r}: {error.message}") from None
    return found.pool, plans


def _told(error: ValidationError, content: Any) -> str:
    """The first thing that is wrong, in a sentence."""
    found = error.errors()[0]
    *place, key = found["loc"] or ("",)
    where = _where(place, content)
    if isinstance(key, int):
        return f"problem {key + 1} must hold keys and values; got {found['input']!r}"
    if found["type"] == "extra_forbidden":
        return f"{where}there is no key {key!r}{did_you_mean(key, _known(place))}"
    if found["type"] == "missing":
        return f"{where}the key {key!r} is missing"
    return f"{where}{key}: {reason_of(found)}; got {found['input']!r}"


def _known(place: list[int | str]) -> list[str]:
    if "overrides" in place:
        return list(Overrides.model_fields)
    return list((Problem if "problems" in place else DeploymentFile).model_fields)


def _where(place: list[int | str], content: Any) -> str:
    number = next((step for step in place if isinstance(step, int)), None)
    if number is None:
        return ""
    problem = content["problems"][number]
    name = problem.get("name") if isinstance(problem, Mapping) else None
    return f"problem {name!r}: " if name else f"problem {number + 1}: "


def _absolute(address: str | None, folder: Path) -> str | None:
    if address is None or ":" in address:
        return address
    return str((folder / Path(address).expanduser()).resolve())
