"""One experiment per problem: a name belongs to one target. Loads no mlflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from automl.errors import SettingsError
from automl.home import Home
from automl.problem_names import has_other_origin, origin
from automl.settings import Settings
from automl.tracking.layout import problem_name


def check_problem(home: Path, settings: Settings) -> None:
    """Refuse a problem name that earlier runs of this home used for another problem.

    That is one with another target, or one whose table's name is another one and only became the
    same by cleaning. The mirror checks the same against the store, where runs of other homes count
    too; it then records the refusal and the run stays untracked.

    Raises
    ------
    SettingsError
        If the name is taken.
    """
    for folder in reversed(Home(home).run_folders()):
        try:
            facts = folder.read_facts()
        except SettingsError:
            continue
        if "settings" in facts and problem_name(facts) == settings.problem:
            _refuse_other(folder.run_id, facts["settings"], settings)


def _refuse_other(run_id: str, other: Mapping[str, Any], settings: Settings) -> None:
    if other["target"] != settings.target:
        difference = f"predicts {other['target']!r} in run {run_id}; got target {settings.target!r}"
    elif has_other_origin(settings.model_dump(), other):
        difference = (
            f"stands for {origin(other)!r} in run {run_id}; got {origin(settings.model_dump())!r}, "
            "which differs only in characters that no name may have"
        )
    else:
        return
    raise SettingsError(
        f"problem {settings.problem!r} {difference}; give this problem another --name",
        setting="name",
        run=run_id,
    )
