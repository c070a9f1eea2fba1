"""``automl doctor``: is this machine fit for a run, and if not, what helps."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from automl.addresses import public_address
from automl.home import Home
from automl.listing import counted

Level = Literal["ok", "warn", "fail"]
DISTRIBUTION = "automl-flows"
LEAST_FREE_MIB = 500
"""Below it a run may well fail (by judgement)."""
ADVISED_FREE_MIB = 5_000
"""Below it a few runs fill the disk (by judgement)."""
ADVISED_MEMORY_MIB = 2_000
"""For driver, server, mirror and a few workers (by judgement)."""


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Parameters
    ----------
    fix
        What to do; "" when all is well.
    is_service
        Whether an outside service is to blame.
    """

    check: str
    level: Level
    found: str
    fix: str = ""
    is_service: bool = False


def examine(home: Home) -> list[Finding]:
    """All findings; takes a few seconds at most and changes nothing."""
    findings: list[Finding] = []
    for check in _CHECKS:
        findings.extend(check(home))
    return findings


def exit_code(findings: Sequence[Finding]) -> int:
    """0 without a failure, 4 when only outside services failed, else 1."""
    failed = [finding for finding in findings if finding.level == "fail"]
    if not failed:
        return 0
    return 4 if all(finding.is_service for finding in failed) else 1


def show_findings(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings on stdout."""
    from automl_flows.words.rendering import emit_json, emit_table

    if as_json:
        emit_json([asdict(finding) for finding in findings])
        return
    emit_table(
        ["", "check", "found", "how to fix"],
        [(finding.level, finding.check, finding.found, finding.fix) for finding in findings],
    )


def _python(_: Home) -> Iterable[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        yield Finding("python", "ok", version)
    else:
        yield Finding("python", "fail", version, "use Python 3.11, 3.12 or 3.13")


def _dependencies(_: Home) -> Iterable[Finding]:
    """Installed versions against the ranges that our own metadata names."""
    from packaging.requirements import Requirement

    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding("package", "fail", f"{DISTRIBUTION} is not installed", "pip install .")
        return
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is None:
            yield _required(requirement.name, str(requirement.specifier))
        elif any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("xgboost", "catboost")
        ):
            yield _optional(requirement.name, str(requirement.specifier))


def _required(name: str, allowed: str) -> Finding:
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "fail", "not installed", f"pip install '{name}{allowed}'")
    if SpecifierSet(allowed).contains(version, prereleases=True):
        return Finding(name, "ok", version)
    return Finding(name, "fail", f"{version}, needs {allowed}", f"pip install '{name}{allowed}'")


def _optional(name: str, allowed: str) -> Finding:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        hint = f"pip install '{DISTRIBUTION}[{name}]' adds the family"
        return Finding(name, "ok", "not installed (optional)", hint)
    return _required(name, allowed)


def _home_folder(home: Home) -> Iterable[Finding]:
    folder = next(p for p in (home.path, *home.path.parents) if p.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            yield Finding("home", "ok", str(home.path))
    except OSError as error:
        yield Finding("home", "fail", f"{home.path}: {error}", "choose another one with --home")
    free = shutil.disk_usage(folder).free / 2**20
    level: Level = "ok"
    if free < ADVISED_FREE_MIB:
        level = "fail" if free < LEAST_FREE_MIB else "warn"
    fix = "" if level == "ok" else "free some space, for instance with: automl clean --keep 3"
    yield Finding("disk", level, f"{free / 1024:.1f} GiB free", fix)


def _machine(_: Home) -> Iterable[Finding]:
    import psutil

    from automl.evaluation.machine_limits import usable_cores

    yield Finding("cores", "ok", f"{usable_cores()} usable, load {os.getloadavg()[0]:.1f}")
    free = psutil.virtual_memory().available / 2**20
    if free >= ADVISED_MEMORY_MIB:
        yield Finding("memory", "ok", f"{free / 1024:.1f} GiB available")
    else:
        yield Finding("memory", "warn", f"{free / 1024:.1f} GiB available", "use fewer --workers")


def _clock(home: Home) -> Iterable[Finding]:
    """The clock must not be behind the newest file of the home folder."""
    newest = max((folder.path.stat().st_mtime for folder in home.run_folders()), default=0.0)
    if newest > time.time() + 60:
        yield Finding("clock", "warn", "behind the newest run", "set the system's clock")
    else:
        yield Finding("clock", "ok", time.strftime("%Y-%m-%d %H:%M:%S %z"))


def _runs(home: Home) -> Iterable[Finding]:
    from automl.reports.run_status import describe

    statuses = [describe(folder) for folder in home.run_folders()]
    count = {name: sum(s.status == name for s in statuses) for name in ("running", "interrupted")}
    pending = sum(status.registration == "pending" for status in statuses)
    found = f"{len(statuses)}, {count['running']} running, {count['interrupted']} interrupted"
    yield Finding("runs", "ok", found)
    if count["interrupted"]:
        yield Finding("resume", "warn", f"{count['interrupted']} interrupted", "automl resume RUN")
    if pending:
        yield Finding("registration", "warn", f"{counted(pending, 'model')} pending", "automl sync")


def _experience(home: Home) -> Iterable[Finding]:
    """Entries that no run can read."""
    from automl.experience.store import ExperienceStore

    reading = ExperienceStore(home.experience).read()
    counted = f"{len(reading.experiences)} data sets and runs remembered"
    if not reading.notes:
        yield Finding("experience", "ok", counted)
        return
    left = f"{counted}, {len(reading.notes)} left out: {reading.notes[0]}"
    fix = f"remove what is damaged from {home.experience}, or leave it: no run uses it"
    yield Finding("experience", "warn", left, fix)


def _tracking(home: Home) -> Iterable[Finding]:
    uri = os.environ.get("MLFLOW_TRACKING_URI", "")
    shown = public_address(uri)
    if uri.startswith(("http://", "https://")):
        yield _reachable("tracking", shown, f"{uri.rstrip('/')}/health", "MLFLOW_TRACKING_URI")
        return
    path = Path(uri.removeprefix("sqlite:///")) if uri else home.path / "mlflow.db"
    if uri and not uri.startswith("sqlite:///"):
        yield Finding("tracking", "ok", f"{shown} (not checked)")
    elif not path.exists():
        yield Finding("tracking", "ok", f"{path} will be created")
    else:
        yield _database("tracking", path)


def _orchestrator(home: Home) -> Iterable[Finding]:
    url = os.environ.get("PREFECT_API_URL", "")
    if url:
        yield _reachable(
            "prefect", public_address(url), f"{url.rstrip('/')}/health", "PREFECT_API_URL"
        )
        return
    path = home.path / "prefect" / "prefect.db"
    if path.exists():
        yield _database("prefect", path)
    else:
        yield Finding("prefect", "ok", f"{path} will be created")


def _services(home: Home) -> Iterable[Finding]:
    from automl_flows.services.prefect_api import answers
    from automl_flows.services.standing import read_services

    standing = read_services(home.path)
    if not standing:
        yield Finding("services", "ok", "none standing; automl up starts them")
    for service in standing.values():
        if answers(service.health_url, timeout=2.0):
            yield Finding(service.name, "ok", f"standing at {service.url}")
        else:
            yield Finding(
                service.name, "warn", f"{service.url} does not answer", "automl down; automl up"
            )


def _ports(_: Home) -> Iterable[Finding]:
    import socket

    try:
        with socket.create_server(("127.0.0.1", 0)):
            yield Finding("ports", "ok", "local ports can be opened")
    except OSError as error:
        yield Finding("ports", "fail", str(error), "allow programs to listen on 127.0.0.1")


def _reachable(check: str, shown: str, health: str, variable: str) -> Finding:
    from automl_flows.services.prefect_api import answers

    if answers(health, timeout=3.0):
        return Finding(check, "ok", f"{shown} answers")
    fix = f"start that server, or unset {variable}"
    return Finding(check, "fail", f"{shown} does not answer", fix, is_service=True)


def _database(check: str, path: Path) -> Finding:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        fix = f"move {path} away; automl sync writes the tracking store anew"
        return Finding(check, "fail", f"{path}: {error}", fix, is_service=True)
    return Finding(check, "ok", f"{path}")


_CHECKS: tuple[Callable[[Home], Iterable[Finding]], ...] = (
    _python,
    _dependencies,
    _machine,
    _home_folder,
    _clock,
    _ports,
    _runs,
    _experience,
    _tracking,
    _orchestrator,
    _services,
)
