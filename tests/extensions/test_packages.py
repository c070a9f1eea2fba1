"""A third party's package adds one of everything, and everything knows it: lists, settings, runs, tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parents[2]
ACME = Path(__file__).with_name("acme")
NAMES = {
    "families": "acme_prototypes",
    "optimizer": "acme_distinct",
    "allocator": "acme_rotation",
    "metric": "acme_worst_class",
    "ensemble": "acme_better_half",
}
OPTIONS = [word for setting, name in NAMES.items() for word in (f"--{setting}", name)]
CLI = ("-m", "automl_flows.commands.cli")


def run(python: str, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = load_breast_cancer(as_frame=True).frame.sample(200, random_state=0)
    path = tmp_path_factory.mktemp("table") / "tumors.csv"
    frame.iloc[:, -6:].to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("families", NAMES["families"]),
        ("optimizers", NAMES["optimizer"]),
        ("allocators", NAMES["allocator"]),
        ("ensembles", NAMES["ensemble"]),
        ("metrics", NAMES["metric"]),
    ],
)
def test_the_lists_show_it_where_it_is_installed(python_with_acme, command, name):
    listed = run(python_with_acme, *CLI, command).stdout
    others = run(sys.executable, *CLI, command).stdout
    assert [line for line in listed.splitlines() if line.startswith(f"{name} ")]
    assert "acme" not in others
    assert {line.split()[0] for line in others.splitlines()} < {
        line.split()[0] for line in listed.splitlines()
    }


def test_the_list_of_metrics_says_which_package_adds_one(python_with_acme):
    rows = json.loads(run(python_with_acme, *CLI, "metrics", "--json").stdout)
    packages = {row["metric"]: row["package"] for row in rows}
    assert packages.pop(NAMES["metric"]) == "acme-automl"
    assert set(packages.values()) == {"automl"}


@pytest.mark.parametrize(("setting", "name"), NAMES.items())
def test_a_setting_takes_its_name_and_proposes_it_for_a_near_miss(
    python_with_acme, table, setting, name
):
    asked = [*CLI, "train", table, "--target", "target", "--dry-run", f"--{setting}"]
    missed = run(python_with_acme, *asked, name[:-1])
    assert (missed.returncode, missed.stdout) == (2, "")
    assert f"did you mean '{name}'" in missed.stderr
    refused = run(sys.executable, *asked, name)
    assert refused.returncode == 2
    assert name in refused.stderr


def test_a_family_that_only_a_pickle_holds_takes_part_where_that_is_allowed(
    python_with_acme, table
):
    asked = [*CLI, "train", table, "--target", "target", "--dry-run", "--json"]
    rows = {}
    for leave in ((), ("--trust",)):
        plan = json.loads(run(python_with_acme, *asked, *leave).stdout)
        rows[leave] = {row["family"]: row for row in plan["families"]}[NAMES["families"]]
    assert "only as a pickle" in rows[()]["reason"]
    assert rows["--trust",]["reason"] == ""
    named = run(python_with_acme, *asked, "--families", f"{NAMES['families']},lda")
    assert named.returncode == 2
    assert "acme_automl.Prototypes can be stored only as a pickle" in named.stderr


def test_the_reference_of_the_settings_lists_the_names(python_with_acme, tmp_path):
    page = tmp_path / "settings.md"
    page.write_text((ROOT / "docs" / "settings.md").read_text(encoding="utf-8"), encoding="utf-8")
    assert "acme" not in page.read_text(encoding="utf-8")
    written = run(python_with_acme, "-m", "automl.settings.reference", page)
    assert written.returncode == 0, written.stderr
    found = set(re.findall(r"`(acme_\w+)`", page.read_text(encoding="utf-8")))
    assert found == {NAMES["metric"]}  # where a command lists the names it refers to that


def test_the_contract_tests_hold_for_what_it_adds(python_with_acme):
    contracts = (
        "tests/families/test_families_contract.py",
        "tests/optimizers/test_optimizers_contract.py",
        "tests/bandits/test_allocators.py",
        "tests/metrics/test_contract.py",
        "tests/ensembles/test_methods.py",
    )
    pytest_options = ("-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "acme")
    done = run(python_with_acme, *pytest_options, *contracts, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = [line for line in done.stdout.splitlines() if " PASSED" in line]
    for path, name in zip(contracts, NAMES.values(), strict=True):
        own = [line for line in passed if line.startswith(path) and name in line]
        assert len(own) >= 3, path


@pytest.fixture(scope="module")
def finished(python_with_acme, table, tmp_path_factory, prefect_url) -> Path:
    """Folder of a run that uses all five."""
    home = tmp_path_factory.mktemp("home")
    asked = [*CLI, "train", table, "--target", "target", *OPTIONS, "--trust", "--trials", 8]
    environment = {**os.environ, "AUTOML_PRESET": "fast", "PREFECT_API_URL": prefect_url}
    done = run(python_with_acme, *asked, "--home", home, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^registered +tumors-target/1@champion$", done.stdout, re.MULTILINE)
    (folder,) = (home / "runs").iterdir()
    return folder


@pytest.mark.integration
def test_a_run_uses_all_of_it_and_its_model_predicts(python_with_acme, finished, table, tmp_path):
    result = json.loads((finished / "stages" / "result.json").read_text())
    assert result["metric"] == NAMES["metric"]
    assert NAMES["metric"] in result["metrics"]
    assert result["champion"]["family"] == NAMES["families"]
    assert NAMES["optimizer"] in {row["origin"] for row in result["leaderboard"]}
    ensemble = json.loads((finished / "stages" / "ensemble.json").read_text())
    assert ensemble["method"] == NAMES["ensemble"]
    assert {round(member["weight"], 6) for member in ensemble["learned"]} == {
        round(1 / len(ensemble["learned"]), 6)
    }
    out = tmp_path / "out.csv"
    home = finished.parents[1]
    model = "tumors-target@champion"
    done = run(python_with_acme, *CLI, "predict", model, table, "-o", out, "--home", home)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(out)) == 200


@pytest.mark.integration
def test_a_model_says_which_package_it_needs(finished, table, tmp_path):
    asked = [*CLI, "predict", finished / "bundle", table, "-o", tmp_path / "out.csv"]
    done = run(sys.executable, *asked, "--trust")
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 3
    assert "needs the package acme_automl, which is not installed here" in line


def test_the_page_shows_the_files_of_the_package():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = re.findall(r"```(?:python|yaml|toml)\n# (\S+)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 3
    for name, text in shown:
        (file,) = ACME.rglob(name)
        assert text == file.read_text(encoding="utf-8"), name
