"""Stopping and deleting runs."""

from __future__ import annotations

import calendar
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psutil
import typer

from automl.errors import AutoMLError, SettingsError
from automl.home import Home, RunFolder
from automl.reports.run_status import describe
from automl.run_state import HOST
from automl_flows.retention import reason_to_keep

CLOCK_SECONDS = 2.0
"""By which the kernel's and the run's clocks may differ."""


def stop_run(folder: RunFolder, *, timeout: float) -> None:
    """Ask the driver of a run to end and wait until it did.

    Raises
    ------
    SettingsError
        If no process drives the run.
    AutoMLError
        If it has not ended after `timeout` seconds, or may not be signaled.
    """
    if not folder.is_driven():
        status = describe(folder).status
        raise SettingsError(f"run {folder.run_id} is not running; its status is {status}")
    facts = folder.read_facts()
    pid, host = facts.get("pid"), facts.get(HOST, socket.gethostname())
    if not isinstance(pid, int) or pid <= 1 or pid == os.getpid():
        raise AutoMLError(f"run {folder.run_id} does not say which process drives it")
    if host != socket.gethostname():
        raise AutoMLError(
            f"run {folder.run_id} is driven by process {pid} of {host}: stop it there"
        )
    if _began_after(pid, facts):
        raise AutoMLError(
            f"run {folder.run_id} does not say yet which process drives it now; try again in a second"
        )
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        raise AutoMLError(
            f"run {folder.run_id} is driven by process {pid}, which is not on this machine"
        ) from None
    except PermissionError:
        raise AutoMLError(
            f"run {folder.run_id} is driven by process {pid} of another user"
        ) from None
    deadline = time.monotonic() + timeout
    while folder.is_driven():
        if time.monotonic() >= deadline:
            raise AutoMLError(f"run {folder.run_id} has not stopped within {timeout:g} s")
        time.sleep(0.05)


def _began_after(pid: int, facts: Mapping[str, Any]) -> bool:
    """Whether a process is younger than the driver that is written down: its number was given once more."""
    driven_since = [process["started_at"] for process in facts.get("processes", ())][-1:]
    try:
        return any(
            psutil.Process(pid).create_time() > since + CLOCK_SECONDS for since in driven_since
        )
    except psutil.Error:
        return False


def choose_runs(
    home: Home, *, runs: Sequence[str], older_than: str | None, keep: int | None
) -> tuple[list[RunFolder], dict[str, str]]:
    """Runs to delete, and why runs that match are kept.

    Raises
    ------
    SettingsError
        If nothing says which runs are meant, or a named run does not exist.
    """
    if not runs and older_than is None and keep is None:
        raise SettingsError("say which runs to delete: RUN..., --older-than TIME or --keep N")
    folders = home.run_folders()
    chosen = [home.run(run) for run in runs] if runs else folders
    if keep is not None:
        newest = {folder.run_id for folder in folders[max(0, len(folders) - keep) :]}
        chosen = [folder for folder in chosen if folder.run_id not in newest]
    if older_than is not None:
        from automl.durations import parse_duration

        limit = time.time() - parse_duration(older_than)
        chosen = [folder for folder in chosen if _began(folder) < limit]
    deletable: list[RunFolder] = []
    spared: dict[str, str] = {}
    for folder in dict.fromkeys(chosen):
        reason = reason_to_keep(describe(folder))
        if reason:
            spared[folder.run_id] = reason
        else:
            deletable.append(folder)
    return deletable, spared


def confirm_deletion(names: Sequence[str], *, yes: bool, what: str = "runs") -> None:
    """Ask on the terminal.

    Parameters
    ----------
    names : of what is to be deleted, shown with the question
    what : they are

    Raises
    ------
    SettingsError
        If there is no terminal to ask on and `yes` was not given.
    typer.Abort
        If the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(f"deleting {len(names)} {what} needs --yes without a terminal")
    typer.echo("\n".join(names), err=True)
    typer.confirm(f"Delete {len(names)} {what}?", abort=True, err=True)


def _began(folder: RunFolder) -> float:
    """Unix seconds from the run id, which always exists and is in UTC."""
    return float(calendar.timegm(time.strptime(folder.run_id[:15], "%Y%m%d-%H%M%S")))
