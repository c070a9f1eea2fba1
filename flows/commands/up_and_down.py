"""``automl up``, ``down``, ``ui``, ``sync`` and ``doctor``: services around the runs."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from automl.addresses import public_address
from automl.listing import counted
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(up)
    app.command()(down)
    app.command()(ui)
    app.command()(sync)
    app.command()(doctor)


def up(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Start a Prefect server and the MLflow page, and print their addresses."""
    _show_pages(_pages(open_home(home).path), as_json=as_json)


def down(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Stop what `automl up` started."""
    from automl_flows.services.standing import stop_services
    from automl_flows.words.rendering import emit_json

    stopped = stop_services(open_home(home).path)
    if as_json:
        emit_json({"stopped": [service.name for service in stopped]})
    elif stopped:
        say(f"stopped: {', '.join(service.name for service in stopped)}")
    else:
        say("nothing to stop")


def ui(
    open_pages: Annotated[
        bool, typer.Option("--open", help="Also open the pages in the browser")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the addresses of the Prefect and MLflow pages; start the servers if needed."""
    from automl.tracking.links import PAGE_OF_TRAINING_RUNS

    pages = _pages(open_home(home).path)
    pages["mlflow"] += f"/#/experiments{PAGE_OF_TRAINING_RUNS}"
    _show_pages(pages, as_json=as_json)
    if open_pages:
        import webbrowser

        for url in pages.values():
            webbrowser.open(url)


def sync(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Send MLflow and a running Prefect server what they have missed of all runs."""
    from automl.errors import ServiceError
    from automl.tracking.synchronization import sync as complete
    from automl_flows.services.local_server import settle
    from automl_flows.services.promotion_events import tell_new_champions
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    settle(state)
    summary = complete(state.path)
    tell_new_champions(state)
    if as_json:
        emit_json(summary.to_json())
    else:
        say(f"{counted(summary.runs, 'run')} looked at, {counted(summary.trials, 'trial')} written")
        for name in summary.registered:
            say(f"registered {name}")
        for reason in summary.alias_stays.values():
            say(reason)
        for run_id, reason in summary.skipped.items():
            say(f"left alone {run_id}: {reason}")
    if summary.pending:
        lines = "; ".join(f"{run}: {reason}" for run, reason in summary.pending.items())
        raise ServiceError(f"{len(summary.pending)} runs are still incomplete: {lines}")


def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check this machine and the home folder, and say how to fix what is wrong."""
    from automl_flows.commands.doctor import examine, exit_code, show_findings

    findings = examine(open_home(home))
    show_findings(findings, as_json=as_json)
    raise typer.Exit(exit_code(findings))


def _pages(home_path: os.PathLike[str]) -> dict[str, str]:
    """Pages by service: those that the environment names, else those that run or are started now."""
    from pathlib import Path

    from automl.home import Home
    from automl_flows.services.prefect_api import PrefectAPI
    from automl_flows.services.reconciliation import reconcile
    from automl_flows.services.standing import SERVICE_NAMES, start_services

    given = {
        "prefect": os.environ.get("PREFECT_API_URL", "").removesuffix("/").removesuffix("/api"),
        "mlflow": _http_only(os.environ.get("MLFLOW_TRACKING_URI", "")),
    }
    needed = tuple(name for name in SERVICE_NAMES if not given[name])
    if needed:
        Home(Path(home_path)).prepare()
    services = start_services(Path(home_path), needed) if needed else {}
    pages = {name: given[name] or services[name].url for name in SERVICE_NAMES}
    reconcile(Home(Path(home_path)), PrefectAPI(f"{pages['prefect']}/api"))
    return {name: public_address(page) for name, page in pages.items()}


def _http_only(uri: str) -> str:
    return uri if uri.startswith(("http://", "https://")) else ""


def _show_pages(pages: dict[str, str], *, as_json: bool) -> None:
    from automl_flows.words.rendering import emit_facts, emit_json

    if as_json:
        emit_json(pages)
    else:
        emit_facts(pages)
