"""The result of a run on stdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automl.durations import seconds_text
from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.listing import counted, first_few
from automl.metrics.words import headline, words_of
from automl.records import short_id
from automl.reports.command_line import command
from automl.tracking.holders import CHAMPION
from automl_flows.words.metric_table import (
    SCORE,
    corrected_texts,
    show_result_metrics,
    tested_texts,
)
from automl_flows.words.rendering import emit, emit_facts, emit_json, emit_table, text_of

LEADERBOARD_ROWS = 15
"""Rows that fit on a screen with what is said above them."""
MOST_UNTRIED = 4
"""Families without a trial that are named; `--json` and the report have all."""
Commands = Callable[[Mapping[str, Any], Home], Mapping[str, str]]
"""Command lines by name, of the result of a run in a home."""
ENSEMBLE = "ensemble"
"""Stands where a trial has its id."""


@dataclass(frozen=True)
class Quality:
    """The metric that represents all, in natural units.

    Parameters
    ----------
    values : by trial id
    """

    label: str
    values: Mapping[str, float]


def quality_of(folder: RunFolder, result: Mapping[str, Any]) -> Quality | None:
    """Quality of a run's trials and of its ensemble; None if no trial has metrics."""
    from automl.reports.run_choices import choices_of

    metric = str(result.get("metric"))
    scored = {key: trial.metrics for key, trial in choices_of(folder).trials.items()}
    scored[ENSEMBLE] = result.get("metrics") or {}
    name = next(filter(None, (headline(metric, metrics) for metrics in scored.values())), "")
    if not name:
        return None
    values = {key: metrics[name] for key, metrics in scored.items() if name in metrics}
    return Quality(words_of(name).label, values)


def show_result(
    result: Mapping[str, Any],
    home: Home,
    *,
    as_json: bool,
    commands: Commands | None = None,
) -> None:
    """Print the record of a finished run; its notices follow, see `show_notices`.

    Parameters
    ----------
    commands : what to do next; default: `next_commands`
    """
    if as_json:
        emit_json(result)
        return
    folder = folder_of(result, home)
    data = data_facts(folder)
    emit("")
    show_leaderboard(
        result.get("leaderboard") or (),
        ensemble=ensemble_row(result),
        quality=quality_of(folder, result),
    )
    show_result_metrics(result, data.get("folds") or 0)
    emit("")
    emit_facts(result_facts(result, home))
    for warning in result.get("warnings") or ():
        emit(f"warning: {warning}")
    for given_up in result.get("given_up") or ():
        emit(f"given up: {given_up}")
    for note in (*untried_notes(result), *(data.get("notes") or ())):
        emit(f"note: {note}")
    show_next_commands(result, home, commands)


def show_next_commands(
    result: Mapping[str, Any], home: Home, commands: Commands | None = None
) -> None:
    """Print what to do with a result."""
    emit("")
    lines = (commands or next_commands)(result, home)
    width = max(map(len, lines)) + 1
    for name, line in lines.items():
        emit(f"{name + ':':<{width}} {line}")


def next_commands(result: Mapping[str, Any], home: Home) -> dict[str, str]:
    """What to do with a result, by name: commands that name its run, or its model where it has the alias."""
    run = str(result.get("run_id"))
    label, _, alias = str((result.get("model") or {}).get("registered") or "").partition("@")
    model = f"{label.rpartition('/')[0]}@{alias}" if alias == CHAMPION else run
    return {
        "why": command(home, "why", run),
        "report": command(home, "report", run),
        "predict": command(home, "predict", model, "TABLE", "-o", "OUT.csv"),
        "evaluate": command(home, "evaluate", model, "TABLE"),
    }


def show_notices(result: Mapping[str, Any], *, as_json: bool) -> None:
    """Print warnings as the last lines of a command; JSON holds them already."""
    for notice in () if as_json else result.get("notices") or ():
        emit(f"attention: {notice}")


def show_leaderboard(
    rows: Sequence[Mapping[str, Any]],
    limit: int = LEADERBOARD_ROWS,
    *,
    ensemble: Mapping[str, Any] | None = None,
    quality: Quality | None = None,
) -> None:
    """Print the best rows of a leaderboard, above them the ensemble where it is the model.

    Parameters
    ----------
    quality : in natural units; None leaves it out
    """
    told = quality or Quality("", {})
    columns = ["rank", "trial", "family", *([told.label] if told.values else []), "score"]
    columns += ["honest", "std", "fit s", "predict ms/row"]
    keys = ["score", "honest", "std", "fit_seconds", "predict_ms", "status"]
    shown = [*([] if ensemble is None else [ensemble]), *rows[:limit]]
    emit_table(
        [*columns, "status"],
        [
            [
                row.get("rank"),
                short_id(str(row.get("trial_id"))),
                row.get("family"),
                *([told.values.get(str(row.get("trial_id")))] if told.values else []),
                *map(row.get, keys),
            ]
            for row in shown
        ],
        right=["rank", *columns[3:]],
    )
    if len(rows) > limit:
        emit(f"... and {len(rows) - limit} more (--json shows all)")


def ensemble_row(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The ensemble as a row of the leaderboard; None if the champion alone is the model."""
    honest = result.get("honest") or {}
    if honest.get("chosen") != "ensemble":
        return None
    model = result.get("model") or {}
    n_members = sum(member.get("weight", 0) > 0 for member in model.get("members") or ())
    return {
        "trial_id": ENSEMBLE,
        "family": f"{n_members} members",
        "score": result.get("score"),
        "honest": (honest.get("ensemble") or {}).get("score"),
        "predict_ms": model.get("predict_ms"),
        "status": "the model",
    }


def headline_fact(result: Mapping[str, Any]) -> dict[str, str]:
    """``0.953 [0.931, 0.972] (cross-validated 0.958)`` of the metric that represents all; nothing without an interval."""
    name = headline(str(result.get("metric")), result.get("metrics") or {})
    corrected = corrected_texts(result)
    if name not in corrected:
        return {}
    validated = text_of(result["metrics"][name])
    return {words_of(name).label: f"{corrected[name]} (cross-validated {validated})"}


def honest_text(result: Mapping[str, Any]) -> str | None:
    """``0.812 [0.781, 0.840] (uncorrected 0.829)``, or why there is none."""
    honest = result.get("honest")
    if not honest:
        return None
    score = honest.get(honest["chosen"])
    if not score:
        return f"none: {honest['reason']}" if honest["reason"] else None
    return (
        f"{score['score']:.3f} [{score['low']:.3f}, {score['high']:.3f}] "
        f"(uncorrected {score['naive']:.3f})"
    )


def defaults_text(found: Mapping[str, Any] | None) -> str | None:
    """``worst .12 (stump), best .71 (svm) of 20; chosen .75 (svm), boost 5.6 %``."""
    if not found or not found["n"]:
        return None
    score, family = {}, {}
    for key in ("worst", "best", "chosen"):
        score[key], family[key] = f"{found[key]['score']:.4f}", found[key]["family"]
    boost = "" if found["boost"] is None else f", boost {found['boost']:.2%}"
    every = found["n"] + len(found["missing"])
    return (
        f"worst {score['worst']} ({family['worst']}), best {score['best']} ({family['best']}) of "
        f"{found['n']} of {every} families; chosen {score['chosen']} ({family['chosen']}){boost}"
    )


def untried_notes(result: Mapping[str, Any]) -> list[str]:
    """One sentence about all families that take part and got no trial; none without such families."""
    by_reason: dict[str, list[str]] = {}
    for family, reason in (result.get("untried") or {}).items():
        by_reason.setdefault(reason, []).append(family)
    if not by_reason:
        return []
    if len(by_reason) == 1:
        ((reason, names),) = by_reason.items()
        return [
            f"{counted(len(names), 'family', 'families')} got no trial ({first_few(names, MOST_UNTRIED)}): {reason}"
        ]
    parts = (f"{first_few(names, MOST_UNTRIED)}: {why}" for why, names in by_reason.items())
    return [
        f"{counted(sum(map(len, by_reason.values())), 'family', 'families')} got no trial; {'; '.join(parts)}"
    ]


def data_facts(folder: RunFolder) -> Mapping[str, Any]:
    """A run's facts about its table; empty before it is read."""
    try:
        return folder.read_facts().get("data") or {}
    except SettingsError:
        return {}


def show_ledger(ledger: Mapping[str, Mapping[str, Any]]) -> None:
    """Print planned against used seconds of every stage."""
    rows = [
        (stage, seconds_text(entry.get("planned")), seconds_text(entry.get("used")))
        for stage, entry in ledger.items()
        if " " not in stage  # families searched side by side: parts of `search`
    ]
    emit_table(["stage", "planned", "used"], rows, right=["planned", "used"])


def result_facts(result: Mapping[str, Any], home: Home) -> dict[str, Any]:
    """The lines below a leaderboard."""
    model = result.get("model") or {}
    test = result.get("test") or {}
    champion = result.get("champion") or {}
    baseline = result.get("baseline") or {}
    registered = model.get("registered") or ""
    if model.get("registration") == "pending":
        registered = f"pending; complete it with: {command(home, 'sync')}"
    return {
        "run": result.get("run_id"),
        "problem": result.get("problem"),
        "champion": champion.get("family") or champion.get("trial_id"),
        **headline_fact(result),
        "score": result.get("score"),
        "constant's score": baseline.get("score") if baseline.get("trial_id") else None,
        "honest score": honest_text(result),
        "test score": tested_texts(result).get(SCORE) or test.get("score"),
        "defaults": defaults_text(result.get("defaults")),
        "trials": f"{result.get('trials')} of {result.get('families')} families",
        "seconds": seconds_text(result.get("seconds")),
        "reproducible": _reproducible(result.get("reproducible")),
        "model": model.get("bundle"),
        "registered": registered,
        "alias": alias_text(result, home),
        **page_facts(folder_of(result, home), result, home),
    }


def folder_of(result: Mapping[str, Any], home: Home) -> RunFolder:
    """Folder of the run of a result."""
    return RunFolder(home.runs / str(result.get("run_id")))


def page_facts(folder: RunFolder, result: Mapping[str, Any], home: Home) -> dict[str, str]:
    """Addresses to click on: of the report, of Prefect's and MLflow's pages if they run, or else how to open them."""
    links = current_links(folder, result)
    pages = {f"link {key}": link for key, link in links.items() if link.startswith("http")}
    if folder.report.is_file():
        pages = {"link report": folder.report.resolve().as_uri(), **pages}
    way = f"open them with: {command(home, 'ui')}"
    if not any(link.startswith("http") for key, link in links.items() if key != "prefect"):
        return {**pages, "pages": way}
    has_flow_run_alone = "prefect" in links and "link prefect" not in pages
    return {**pages, "link prefect": way.replace("them", "it")} if has_flow_run_alone else pages


def current_links(folder: RunFolder, result: Mapping[str, Any]) -> dict[str, str]:
    """Links of the tracking store as it is now, and those of the result; pages if they run."""
    from automl.tracking.links import links
    from automl_flows.services.reconciliation import prefect_link
    from automl_flows.services.standing import read_services

    page = read_services(folder.path.parent.parent).get("mlflow")
    addresses = links(folder, server=page.url if page else None)
    if "prefect" in addresses:
        addresses["prefect"] = prefect_link(folder)
    return {**(result.get("links") or {}), **addresses}


def alias_text(result: Mapping[str, Any], home: Home) -> str | None:
    """Whether the new version has taken the alias `champion`, why, and what to do where that is open."""
    promotion = result.get("promotion") or {}
    label, _, alias = str((result.get("model") or {}).get("registered") or "").partition("@")
    if not promotion or not label:
        return None
    if promotion["promote"]:
        is_held = alias.startswith(CHAMPION)
        return f"{'champion' if is_held else 'was champion'}: {promotion['reason']}"
    told = f"not champion: {promotion['reason']}"
    if promotion.get("is_compared"):
        return told
    name, _, version = label.rpartition("/")
    way = command(home, "rollback", name, "--to", version)
    return f"{f'{alias}, ' if alias else ''}{told}; to make it the champion anyway: {way}"


def _reproducible(found: bool | None) -> bool | str | None:
    """Equal settings need not give an equal run where a budget, a limit or a criterion is of seconds."""
    return "no: measured time decided something" if found is False else found
