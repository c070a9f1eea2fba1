"""Settings of a retraining, content that is known already, and what is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from automl.data.digests import digest_frame
from automl.errors import DataError, SettingsError
from automl.home import Home, RunFolder
from automl.run.finished_runs import MOST_ATTEMPTS, finished_runs
from automl.run.foreign_runs import signed_facts
from automl.settings import Settings
from automl.training_request import KEY as REQUEST
from automl.training_request import TrainingRequest
from automl_flows import retraining
from automl_flows.retraining import retrain
from automl_flows.services.service_plan import Plan


class Runs:
    """Finished runs of a home, without models; `_train` only notes what it was given."""

    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.trained: list[Settings] = []
        self.promotion: dict[str, Any] = {"promote": True, "reason": "better"}
        self.registered: str | None = "beans/2@champion"
        monkeypatch.setattr(retraining, "_train", self._train)

    def add(self, digest: str = "d", status: str = "finished", **settings: Any) -> RunFolder:
        folder = self.home.create_run()
        given = Settings(**{"table": "old.csv", "target": "target", "name": "beans", **settings})
        data = {"digest": "part", "table_digest": digest, "task": settings.get("task", "binary")}
        facts = {"settings": given.model_dump(mode="json"), "data": data, "status": status}
        facts["started_at"] = float(len(self.home.run_folders()))
        folder.write_facts({**facts, "run_id": folder.run_id})
        return folder

    def _train(
        self, settings: Settings, frame: pd.DataFrame, *, request: TrainingRequest, **_: Any
    ) -> dict[str, Any]:
        self.trained.append(settings)
        kept = self.add(digest_frame(frame), **settings.model_dump(mode="json"))
        kept.write_facts({**kept.read_facts(), REQUEST: request.to_json()})
        model = {"registered": self.registered}
        return {"run_id": "new", "promotion": self.promotion, "model": model}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(Home(tmp_path / "home"), monkeypatch)


def test_the_settings_of_the_last_finished_run_are_used(
    runs: Runs, versions: dict[str, Path]
) -> None:
    runs.add(seed=1, preset="fast", trials=7)
    runs.add(seed=2, preset="fast", trials=8, families=("ridge", "lightgbm"))
    runs.add(seed=3, status="failed")
    outcome = retrain("beans", str(versions["second"]), home=runs.home)
    settings = runs.trained[0]
    assert (settings.seed, settings.trials) == (2, 8)
    assert settings.families == ("ridge", "lightgbm")
    assert settings.challenge
    assert settings.table == str(versions["second"])
    assert (outcome.status, outcome.promoted, outcome.run_id) == ("trained", True, "new")


def retraining_settings(folder: RunFolder, table: str, overrides: dict[str, Any]) -> Settings:
    return TrainingRequest.of(folder).with_overrides(overrides).settings_for(table)


def test_overrides_are_of_one_retraining_alone(runs: Runs, versions: dict[str, Path]) -> None:
    asked = runs.add(seed=2, trials=8, families=("ridge",))
    said: list[str] = []
    overrides = {"budget_seconds": 30.0, "trials": None, "seed": 5}
    retrain("beans", str(versions["first"]), home=runs.home, overrides=overrides, say=said.append)
    retrain("beans", str(versions["second"]), home=runs.home, say=said.append)
    first, second = runs.trained
    assert (first.trials, first.budget_seconds, first.seed) == (None, 30.0, 5)
    assert (second.trials, second.budget_seconds, second.seed) == (8, None, 2)
    assert second.families == ("ridge",)
    kept = [run.read_facts()[REQUEST] for run in finished_runs(runs.home, "beans")[1:]]
    assert [record["run_id"] for record in kept] == [asked.run_id] * 2
    assert [record["overrides"] for record in kept] == [{"budget_seconds": 30.0, "seed": 5}, {}]
    assert "for this run alone budget_seconds=30.0, seed=5" in said[0]
    assert said[1].endswith(f"with the settings of run {asked.run_id}")


def test_a_new_training_of_the_name_is_the_new_request(
    runs: Runs, versions: dict[str, Path]
) -> None:
    runs.add(trials=8)
    retrain("beans", str(versions["first"]), home=runs.home, overrides={"trials": 3})
    runs.add(trials=5)
    retrain("beans", str(versions["second"]), home=runs.home)
    assert [settings.trials for settings in runs.trained] == [3, 5]


def test_a_budget_replaces_the_trials_and_a_seed_the_seed(runs: Runs) -> None:
    settings = retraining_settings(runs.add(trials=7), "t.csv", {"budget_seconds": 60.0, "seed": 5})
    assert (settings.budget_seconds, settings.trials, settings.seed) == (60.0, None, 5)


def test_settings_that_were_none_stay_none(runs: Runs) -> None:
    folder = runs.add(preset="fast", holdout_above_rows=None, trials=3)
    assert retraining_settings(folder, "t.csv", {}).holdout_above_rows is None


def test_a_regression_stays_one(runs: Runs) -> None:
    assert retraining_settings(runs.add(task="regression"), "t.csv", {}).task == "regression"


def test_a_setting_that_is_no_longer_usable_is_named(runs: Runs) -> None:
    folder = runs.add()
    facts = folder.read_facts()
    for name, value in (("folds", 1), ("optimizer", "of_a_package_that_is_gone")):
        settings = {**facts["settings"], name: value}
        folder.write_facts({**facts, "settings": settings})
        with pytest.raises(SettingsError, match=f"^setting {name} of run .*; got .?{value}"):
            retraining_settings(folder, "t.csv", {})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"metric": "/tmp/mine.py:profit"}, "metric=/tmp/mine.py:profit"),
        ({"metric": {"auc": 1.0, "mine:profit": 1.0}}, "metric=mine:profit"),
        ({"family_folder": "/tmp"}, "family_folder=/tmp"),
        ({"trust": True, "family_folder": "/tmp"}, "family_folder=/tmp"),
    ],
)
def test_code_that_a_run_names_runs_only_where_this_installation_began_it(
    runs: Runs, versions: dict[str, Path], settings: dict[str, Any], named: str
) -> None:
    folder = runs.add(**settings)
    with pytest.raises(SettingsError, match=f"nothing proves.*name code.*{named}"):
        retrain("beans", str(versions["second"]), home=runs.home)
    folder.write_facts(signed_facts(folder.read_facts()))
    runs.add(seed=5)  # an old run, unsigned, of plain settings
    retrain("beans", str(versions["second"]), home=runs.home)
    assert runs.trained[0].seed == 5


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_known_content_changes_nothing_whatever_file_holds_it(
    runs: Runs, tumors: pd.DataFrame, tmp_path: Path, kind: str
) -> None:
    known = runs.add(digest_frame(tumors))
    runs.add("another")
    file = tmp_path / f"copy.{kind}"
    tumors.to_csv(file, index=False) if kind == "csv" else tumors.to_parquet(file)
    outcome = retrain("beans", str(file), home=runs.home)
    assert (outcome.status, outcome.run_id, runs.trained) == ("unchanged", known.run_id, [])
    assert "nothing to do" in outcome.reason
    assert retrain("beans", str(file), home=runs.home, force=True).status == "trained"


@pytest.mark.parametrize(
    ("trials", "attempts", "known", "force", "goes_on"),
    [
        (3, 1, True, False, True),
        (4, 1, True, False, False),
        (3, MOST_ATTEMPTS, True, False, False),
        (3, 1, False, False, False),
        (3, 1, True, True, False),
    ],
)
def test_a_run_that_was_killed_on_the_same_content_with_the_same_settings_goes_on(
    runs: Runs,
    tumors: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trials: int,
    attempts: int,
    known: bool,
    force: bool,
    goes_on: bool,
) -> None:
    request = TrainingRequest.of(runs.add()).with_overrides({"trials": 3})
    killed = runs.add(digest_frame(tumors) if known else "another", status="running")
    tries = [{"began": 1.0, "ended": 2.0, "status": "killed"}] * attempts
    killed.write_facts({**killed.read_facts(), REQUEST: request.to_json(), "attempts": tries})
    tumors.to_csv(tmp_path / "t.csv", index=False)

    def go_on(folder: RunFolder, *_: Any) -> dict[str, Any]:
        return {"run_id": folder.run_id, "promotion": runs.promotion, "model": {}}

    monkeypatch.setattr(retraining, "_go_on", go_on)
    table, overrides = str(tmp_path / "t.csv"), {"trials": trials}
    outcome = retrain("beans", table, home=runs.home, overrides=overrides, force=force)
    assert outcome.run_id == (killed.run_id if goes_on else "new")
    assert bool(runs.trained) is not goes_on


def test_a_pending_registration_is_no_promotion(runs: Runs, versions: dict[str, Path]) -> None:
    runs.add()
    runs.registered = None
    outcome = retrain("beans", str(versions["second"]), home=runs.home)
    assert not outcome.promoted
    assert "automl sync" in outcome.reason


def test_a_model_that_waits_for_registration_is_registered_before_anything_else(
    runs: Runs, tumors: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.add(digest_frame(tumors))
    order: list[str] = []

    def register(name: str, home: Path) -> list[str]:
        order.append(f"register {name}")
        return ["the model of run r was not registered yet; it is beans/1@champion now"]

    monkeypatch.setattr(retraining, "register_pending", register)
    tumors.to_csv(tmp_path / "same.csv", index=False)
    outcome = retrain("beans", str(tmp_path / "same.csv"), home=runs.home, say=order.append)
    assert order == [
        "register beans",
        "the model of run r was not registered yet; it is beans/1@champion now",
    ]
    assert outcome.reason.endswith("it is beans/1@champion now")


def test_an_unknown_problem_is_refused_with_the_nearest_name(
    runs: Runs, versions: dict[str, Path]
) -> None:
    runs.add()
    with pytest.raises(SettingsError, match="did you mean 'beans'"):
        retrain("bean", str(versions["second"]), home=runs.home)
    assert finished_runs(runs.home, "bean") == []


def test_a_table_that_cannot_be_read_is_refused_by_name(runs: Runs, tmp_path: Path) -> None:
    runs.add()
    with pytest.raises(DataError, match=r"there is no file .*gone\.csv"):
        retrain("beans", str(tmp_path / "gone.csv"), home=runs.home)


def test_messages_about_a_bad_table_name_its_file(versions: dict[str, Path]) -> None:
    from automl.data.table import prepare_table

    frame, _ = retraining._read(str(versions["first"]))
    with pytest.raises(DataError, match=r"first\.csv: there is no target column 'gone'"):
        prepare_table(frame, target="gone")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({}, "nothing to serve"),
        ({"table": "t.csv"}, "nothing to serve"),
        ({"cron": "0 3 * * *"}, "needs both --table"),
        ({"table": "t.csv", "cron": "0 3 * * *", "interval_seconds": 60.0}, "cannot be combined"),
        ({"table": "t.csv", "cron": "at three"}, "--cron must look like"),
        ({"table": "t.csv", "cron": "0 0 30 2 *"}, "--cron must name a day that comes"),
        ({"table": "t.csv", "interval_seconds": 1.0}, "at least 10 s"),
        ({"drops": "/no/such/folder"}, "--watch: there is no folder /no/such/folder"),
        ({"drops": "/tmp", "mode": "partition"}, "mode partition is for --table"),
        ({"drops": "/tmp", "mode": "apend"}, "did you mean 'append'"),
        ({"drops": "/tmp", "how": "refit", "overrides": {"trials": 3}}, "trials has no effect"),
        ({"drops": "/tmp", "table": "t.csv"}, "or a mode that appends to it"),
        (
            {"drops": "/tmp", "table": "t.csv", "mode": "append", "interval_seconds": 60.0},
            "leave out --cron and --interval",
        ),
        ({"table": "t.csv", "interval_seconds": 60.0}, "no finished run of problem 'other'"),
    ],
)
def test_a_service_that_cannot_work_is_refused(
    runs: Runs, plan: dict[str, Any], message: str
) -> None:
    runs.add()
    with pytest.raises(SettingsError, match=message):
        Plan("other", **plan).check(runs.home)


def test_limits_that_no_retraining_would_take_are_refused_before_a_file_is_blamed(
    runs: Runs,
) -> None:
    name = runs.add().read_facts()["settings"]["name"]
    with pytest.raises(SettingsError, match="budget_seconds"):
        Plan(name, drops="/tmp", overrides={"budget_seconds": 5.0}).check(runs.home)
    plan = Plan(name, drops="/tmp", overrides={"budget_seconds": 1_209_600.0})
    plan.check(runs.home)
    assert plan.run_parameters["budget"] == "1209600s"
