"""What goes wrong before anything starts: the exit code, and one sentence that names the culprit."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from automl.settings.sources import resolve_settings
from automl_flows.commands import train as train_commands

USAGE = [
    (["trian"], "train"),
    (["train"], "TABLE"),
    (["train", "TABLE", "--traget", "y"], "--target"),
    (["train", "TABLE", "--target", "y", "--dask", "me:secret@host:1"], "option --dask: must be"),
    (["train", "TABLE"], "error: option --target is missing"),
    (["train", "TABLE", "--target", "y", "--home", "TABLE"], "is not a folder"),
    (["up", "--home", "TABLE"], "home folder"),
    (["train", "TABLE", "--target", "y", "--preset", "bets"], "bets"),
    (["train", "TABLE", "--target", "y", "--task", "ranking"], "ranking"),
    (["train", "TABLE", "--target", "y", "--budget", "soon"], "soon"),
    (["train", "TABLE", "--target", "y", "--budget", "1s"], "error: option --budget: must be at least"),
    (["train", "TABLE", "--target", "y", "--budget", "-5m"], "duration"),
    (["train", "TABLE", "--target", "y", "--trials", "0"], "trials"),
    (["train", "TABLE", "--target", "y", "--trials", "many"], "'--trials': must be a whole number; got 'many'"),
    (["train", "TABLE", "--target", "y", "--alpha", "1.5"], "alpha"),
    (["train", "TABLE", "--target", "y", "--alpha", "twig=0.1"], "no level 'twig'"),
    (["train", "TABLE", "--target", "y", "--alpha", "leaf=0.1", "--alpha-split", "tree"], "one alpha"),
    (["train", "TABLE", "--target", "y", "--selection-test", "coin"], "coin"),
    (["train", "TABLE", "--target", "y", "--normality", "coin"], "coin"),
    (["train", "TABLE", "--target", "y", "--test", "closed"], "--selection-test closed"),
    (["train", "TABLE", "--target", "y", "--seed", "-1"], "seed"),
    (["train", "TABLE", "--target", "y", "--workers", "-2"], "workers"),
    (["train", "TABLE", "--target", "y", "--test-share", "0.95"], "option --test-share: must be"),
    (["train", "TABLE", "--target", "y", "--test", "TABLE", "--test-share", "0.2"], "test"),
    (["train", "TABLE", "--target", "y", "--groups", "x", "--time", "kind"], "groups"),
    (["train", "TABLE", "--target", "y", "--max-predict-ms", "0"], "option --max-predict-ms: must be"),
    (["train", "TABLE", "--target", "y", "--role", "x"], "COLUMN=ROLE"),
    (["train", "TABLE", "--target", "y", "--role", "x=id", "--role", "x=text"], "twice"),
    (["train", "TABLE", "--target", "y", "--role", "x=nominl", "--dry-run"], "nominl"),
    (["train", "TABLE", "--target", "y", "--role", "z=nominal", "--dry-run"], "z"),
    (["train", "TABLE", "--target", "y", "--metric", "auc=much"], "auc=much"),
    (["train", "TABLE", "--target", "y", "--metric", "acuracy", "--dry-run"], "acuracy"),
    (["train", "TABLE", "--target", "y", "--config", "none.yaml"], "none.yaml"),
    (["train", "TABLE", "--target", "y", "--cost-matrix", "none.csv"], "none.csv"),
    (["train", "TABLE", "--target", "y", "--families", "lightgmb"], "lightgbm"),
    (["train", "TABLE", "--target", "y", "--exclude", "rigde"], "ridge"),
    (["train", "TABLE", "--target", "y", "--optimizer", "hypercub"], "hypercube"),
    (["train", "TABLE", "--target", "y", "--allocator", "unifrom"], "uniform"),
    (["train", "TABLE", "--target", "y", "--ensemble", "staking"], "stacking"),
    (["train", "TABLE", "--target", "y", "--workers", "999", "--dry-run"], "workers"),
    (["train", "TABLE", "--target", "y", "--name", "a/b"], "name"),
    (["train", "TABLE", "--target", "y", "--role", "y=nominal", "--dry-run"], "target column 'y'"),
    (["train", "TABLE", "--target", "y", "--home", "TABLE", "--dry-run"], "is not a folder"),
    (["train", "TABLE", "--target", "y", "--home", "TABLE/x", "--dry-run"], "is not a folder"),
    (["train", "TABLE", "--target", "x", "--class-weight", "balanced", "--dry-run"], "class_weight"),
    (["demo", "--budget", "1s"], "error: option --budget: must be at least"),
    (["serve", "all.yaml", "--keep", "3"], "--keep has no effect beside all.yaml"),
    (["serve", "all.yaml", "--how", "auto"], "--how has no effect beside all.yaml"),
    (["serve", "all.yaml"], "all.yaml"),
    (["retrain", "beans", "TABLE", "--seed", "-1"], "--seed"),
    (["predict", "20260101-000000-aaaa", "TABLE"], "output"),
    (["predict", "20260101-000000-aaaa", "TABLE", "-o", "out.xlsx"], "out.xlsx"),
    (["predict", "20260101-000000-aaaa", "TABLE", "-o", "missing/out.csv"], "missing"),
    (["predict", "20260101-000000-aaaa", "TABLE", "-o", "-", "--json"], "stdout"),
    (["predict", "20260101-000000-aaaa", "TABLE", "-o", "out.csv"], "20260101-000000-aaaa"),
    (["predict", "credit", "TABLE", "-o", "out.csv"], "credit@champion"),
    (["predict", "TABLE", "TABLE", "-o", "out.csv"], "got the file"),
    (["predict", "", "TABLE", "-o", "out.csv"], "got nothing"),
    (["resume", "2026"], "2026"),
    (["resume", ""], "got nothing"),
    (["resume", "2026", "--dask", "here"], "an address like tcp://HOST:8786; got 'here'"),
    (["resume", "2026", "--dask", "tcp://host:1", "--local"], "contradict each other"),
    (["clean", "", "--yes"], "got nothing"),
    (["show", "nothing"], "nothing"),
    (["stop", "nothing"], "nothing"),
    (["clean"], "--older-than"),
    (["clean", "--older-than", "old"], "old"),
    (["families", "--task", "clustering"], "clustering"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), USAGE, ids=lambda value: str(value)[:60])
def test_usage_errors_exit_with_2_and_one_sentence(automl, table, arguments, named):
    outcome = automl(*(a.replace("TABLE", str(table)) for a in arguments))
    lines = outcome.err.strip().splitlines()
    assert (outcome.code, outcome.out) == (2, "")
    assert lines[-1].startswith("error: ")
    assert named in lines[-1]
    assert not lines[-1].endswith(".")
    assert sum(line.startswith("error: ") for line in lines) == 1
    assert "Traceback" not in outcome.err
    assert "Value error" not in outcome.err


DATA = [
    (["train", "none.csv", "--target", "y", "--dry-run"], "none.csv"),
    (["train", "TABLE", "--target", "z", "--dry-run"], "z"),
    (["train", "sklearn:irs", "--target", "target", "--dry-run"], "iris"),
    (["train", "TABLE", "--target", "y", "--weights", "w", "--dry-run"], "w"),
    (["train", "TABLE", "--target", "y", "--positive", "maybe", "--dry-run"], "maybe"),
]


@pytest.mark.parametrize(("arguments", "named"), DATA, ids=lambda value: str(value)[:60])
def test_bad_data_exits_with_3_or_2_and_names_the_culprit(automl, table, arguments, named):
    outcome = automl(*(a.replace("TABLE", str(table)) for a in arguments))
    assert outcome.code in (2, 3)
    assert outcome.err.startswith("error: ")
    assert named in outcome.err


def test_every_problem_of_a_table_is_listed(automl, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("x,x,y\n" + "\n".join("1,inf,a" for _ in range(20)))
    outcome = automl("train", path, "--target", "y", "--dry-run")
    assert outcome.code == 3
    assert "duplicate" in outcome.err or "x" in outcome.err
    assert len(outcome.err.strip().splitlines()) > 1


def test_no_arguments_show_the_help(automl):
    outcome = automl()
    assert outcome.code == 0
    assert "train" in outcome.out


@pytest.mark.parametrize("command", ["train", "predict", "clean", "demo", "doctor"])
def test_every_command_has_help(automl, command):
    outcome = automl(command, "--help")
    assert outcome.code == 0
    assert "--home" in outcome.out


def test_a_refused_command_leaves_no_home_behind(automl, own_home, table):
    automl("train", table, "--target", "y", "--families", "nothing")
    automl("train", table, "--target", "z", "--dry-run")
    assert not own_home.path.exists()


def test_the_version_is_that_of_the_package(automl):
    outcome = automl("--version")
    assert (outcome.code, outcome.out) == (0, f"automl-flows {version('automl-flows')}\n")


@pytest.mark.parametrize("command", [["runs"], ["train", "t.csv"], ["predict", "m", "t.csv"]])
def test_an_empty_home_is_not_the_current_folder(automl, command, tmp_path):
    extra = ["-o", "o.csv"] if command[0] == "predict" else []
    outcome = automl(*command, *extra, "--home", "")
    assert outcome.code == 2
    assert "'--home': it must name a folder; got nothing" in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", [["train", "t.csv", "--target", "y"], ["demo"], ["retrain", "a", "t.csv"], ["ui"]]
)
def test_a_home_that_cannot_be_written_is_refused_in_a_sentence(automl, command):
    outcome = automl(*command, "--home", "/proc")
    assert outcome.code == 2
    assert outcome.err == "error: home folder /proc cannot be used: it is not writable\n"


def test_excluded_experience_that_is_none_is_told_when_a_run_begins(automl, table, monkeypatch):
    monkeypatch.setattr(train_commands, "_drive", lambda *_, **__: {})
    outcome = automl("train", table, "--target", "y", "--exclude-experience", "nothing,shipped")
    assert outcome.code == 0, outcome.err
    assert "warning: setting exclude_experience" in outcome.err
    assert "no data set or run 'nothing'" in outcome.err
    assert "'shipped'" not in outcome.err


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"trials": 5}, "allocator=auto (expected_gain)"),
        ({"budget_seconds": 60}, "allocator=auto (expected_gain_seconds)"),
        ({"trials": 5, "allocator": "leaders"}, "allocator=leaders"),
    ],
)
def test_the_first_line_of_a_run_names_what_auto_stands_for(given, shown):
    settings = resolve_settings(
        {"table": "sklearn:iris", "target": "target", **given}, environment={}
    )
    assert f", {shown}, " in train_commands._changed(settings) + ", "
