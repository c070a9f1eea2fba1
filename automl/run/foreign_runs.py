"""Whether this installation began a run: its settings and its plan can name code, such as a metric in a file.

What says what the run does is signed when it begins: settings, the request of a retraining, and the digest of the
plan. What the run finds later is plain data, which nothing runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from automl.errors import DataError, SettingsError
from automl.home import RunFolder
from automl.inference.signature import FIELD, Proof, proof, signed
from automl.installation import make_key, read_key
from automl.metrics.custom import is_scorer_name
from automl.training_request import KEY as REQUEST

KIND = "run"
PLAN = "plan"
_SIGNED = ("run_id", "settings", REQUEST, PLAN)


def signed_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a run that begins, with the signature of those that say what it does.

    Raises
    ------
    SettingsError
        If this installation has no key and cannot make one.
    """
    signature = signed(_said(facts), make_key(), KIND)[FIELD]
    return {**facts, FIELD: signature}


def plan_digest(folder: RunFolder) -> str:
    """SHA-256 of `plan.json`; empty if there is none."""
    path = folder.path / "plan.json"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def refuse_foreign(folder: RunFolder, facts: Mapping[str, Any]) -> None:
    """Refuse a run that this installation did not begin.

    Raises
    ------
    SettingsError
        If nothing proves that it did.
    DataError
        If settings or plan were changed since.
    """
    verdict = _proof(folder, facts)
    if verdict == "foreign":
        raise SettingsError(
            f"nothing proves that this installation began run {folder.run_id}, and its settings can name "
            "code that runs; give --trust only if you trust who wrote it",
            run=folder.run_id,
        )
    if verdict == "altered" or (PLAN in facts and facts[PLAN] != plan_digest(folder)):
        raise DataError(
            f"the settings or the plan of run {folder.run_id} were changed since this installation wrote "
            f"them; restore {folder.facts_file.name} and plan.json, or train again",
            run=folder.run_id,
        )


def refuse_foreign_code(folder: RunFolder) -> None:
    """Refuse the settings of a run that name code, or allow pickles, where this installation did not begin it.

    Raises
    ------
    SettingsError, DataError
        As `refuse_foreign`.
    """
    facts = folder.read_facts()
    named = _code_named(facts["settings"]) or _code_named(
        facts.get(REQUEST, {}).get("settings", {})
    )
    verdict = _proof(folder, facts)
    if named and verdict != "own":
        raise SettingsError(
            f"nothing proves that this installation began run {folder.run_id}, whose settings name code to "
            f"run ({named}); train with your own settings once, by automl train",
            run=folder.run_id,
        )


def _proof(folder: RunFolder, facts: Mapping[str, Any]) -> Proof:
    if facts.get("run_id") != folder.run_id:
        return "foreign"
    return proof({**_said(facts), FIELD: facts.get(FIELD)}, read_key(), KIND)


def _said(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in _SIGNED if name in facts}


def _code_named(settings: Mapping[str, Any]) -> str:
    """The first setting that names code or lets code run; empty if none does."""
    metric = settings.get("metric") or "index"
    for name in metric if isinstance(metric, Mapping) else [metric]:
        if is_scorer_name(str(name)):
            return f"metric={name}"
    if settings.get("family_folder"):
        return f"family_folder={settings['family_folder']}"
    return "trust=True" if settings.get("trust") else ""
