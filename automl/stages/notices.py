"""Warnings at the end of a run: a model that learned nothing, a name that is not registered.

A notice is one sentence. Commands print notices last, and `--json` holds them under ``notices``.
They are made again wherever a result is shown, since a registration may be completed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from automl.families.registry import CONSTANT
from automl.home import Home, RunFolder
from automl.metrics.index import PerformanceIndex
from automl.records import Trial
from automl.run_records.final import FinalRecord
from automl.run_records.result import Baseline
from automl.tracking.holders import CHAMPION
from automl.tracking.layout import problem_name
from automl.tracking.mirror_process import Registration, n_unwritten, registration
from automl.tracking.outbox import Outbox
from automl.tracking.pending import REFUSED
from automl.tracking.reading import JournalView

STORE_LACKS = "the tracking store lacks"
"""Beginning of the warning that a run ended before all its trials were in the store."""


def constant_trial(trials: Sequence[Trial]) -> Trial | None:
    """The complete trial of the constant; None if there is none."""
    constants = (t for t in trials if t.is_complete and t.configuration.family == CONSTANT)
    return next(constants, None)


def baseline_score(trials: Sequence[Trial]) -> float:
    """The score that a trial must exceed, both as means of their folds; see `Baseline`."""
    floor = constant_trial(trials)
    return 0.0 if floor is None or floor.score is None else floor.score


def baseline_of(index: PerformanceIndex, trials: Sequence[Trial], final: FinalRecord) -> Baseline:
    """Metrics of the model, and of the constant, on all rows.

    Parameters
    ----------
    trials
        Of the search.
    final
        What could be fitted in the end counts, not what was chosen.
    """
    floor = constant_trial(trials)
    families = {member.family for member in final.members if member.weight > 0}
    return Baseline(
        trial_id="" if floor is None else floor.id,
        score=0.0 if floor is None else index.of_metrics(floor.metrics),
        model_score=index.of_metrics(final.metrics),
        is_constant=families == {CONSTANT},
    )


def notices_of(result: Mapping[str, Any], folder: RunFolder) -> list[str]:
    """Notices about the result of a run, as things are now."""
    baseline = (result.get("baseline") or {}).get("notice", "")
    return [text for text in (baseline, registration_notice(folder)) if text]


def store_warning(folder: RunFolder, trials: Sequence[str]) -> str:
    """One sentence where the tracking store lacks trials; else empty.

    Parameters
    ----------
    trials : ids of all trials of the run
    """
    missing = n_unwritten(folder, trials)
    if not missing:
        return ""
    because = _because(registration(folder))
    return f"{STORE_LACKS} {missing} of {len(trials)} trials{because}; automl sync completes them"


def current_warnings(warnings: Sequence[str], folder: RunFolder) -> list[str]:
    """Warnings of a finished run as things are now: the store may have been completed since.

    Parameters
    ----------
    warnings : as the run ended
    """
    others = [text for text in warnings if not text.startswith(STORE_LACKS)]
    if len(others) == len(warnings):
        return others
    view = JournalView(folder)
    view.refresh()
    now = store_warning(folder, list(view.trials))
    return [*others, now] if now else others


def registration_notice(folder: RunFolder) -> str:
    """One sentence where a model was to be registered and is not; else empty."""
    registered = registration(folder)
    if registered.status != "pending":
        return ""
    name = problem_name(folder.read_facts())
    leads = "leads to another model" if _is_registered(name, folder) else "does not exist"
    if REFUSED in Outbox.load(folder.path / "outbox.json").done:
        return (
            f"the model is not registered, and {name}@{CHAMPION} {leads}: {registered.reason}; "
            "automl sync tries again"
        )
    return (
        f"the model is not registered yet{_because(registered)}, so {name}@{CHAMPION} {leads} until then; "
        "the next command that needs this name registers the model first, as does automl sync"
    )


def _because(found: Registration) -> str:
    return f" ({found.reason})" if found.reason else ""


def _is_registered(name: str, folder: RunFolder) -> bool:
    """Whether another run of this home has registered a model of this name."""
    return any(
        other.path != folder.path and _registered_name(other) == name
        for other in Home(folder.path.parents[1]).run_folders()
    )


def _registered_name(folder: RunFolder) -> str:
    done = Outbox.load(folder.path / "outbox.json").done
    return done.get("registered_name", "") if "version" in done else ""
