"""One experiment per problem: a name belongs to one target. Loads no mlflow."""

from __future__ import annotations

from pathlib import Path

from automl.errors import SettingsError
from automl.home import Home
from automl.tracking.layout import problem_name


def check_problem(home: Path, problem: str, target: str) -> None:
    """Refuse a problem name that earlier runs of this home used for another target.

    The mirror checks the same against the store, where runs of other homes count too; it then
    records the refusal and the run stays untracked.

    Raises
    ------
    SettingsError
        If the name is taken.
    """
    wanted = problem_name({"settings": {"name": problem}})
    for folder in reversed(Home(home).run_folders()):
        try:
            facts = folder.read_facts()
        except SettingsError:
            continue
        if "settings" not in facts or problem_name(facts) != wanted:
            continue
        other = facts["settings"]["target"]
        if other == target:
            return
        raise SettingsError(
            f"problem {problem!r} predicts {other!r} in run {folder.run_id}; got target "
            f"{target!r}; give this problem another --name",
            setting="name",
            run=folder.run_id,
        )
