"""`automl learn`: a real command through the orchestrator, and what is refused before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.experience.knowledge import read_knowledge
from automl_flows.commands.cli import run


def learn(folder: Path, *arguments: str, code: int = 0) -> tuple[dict, str]:
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.commands.cli", "learn", *arguments],
        cwd=folder,
        env={**os.environ, "AUTOML_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout or "{}") if "--json" in arguments else {}, done.stderr


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_with_server")
def test_a_folder_is_learned_once_and_written_as_knowledge(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame.assign(y=frame["a"] * frame["b"]).to_csv(tables / "numbers.csv", index=False)
    (tables / "bad.csv").write_text("x,y\n1,a\n2,a\n", encoding="utf-8")
    command = ("experience", "tables", "--draws", "0", "--table-limit", "1s", "--json")
    result, told = learn(tmp_path, *command, "--into", "known.jsonl.gz")
    found = {row["table"]: row for row in result["tables"]}
    assert found["bad"]["status"] == "failed"
    assert "one class only" in found["bad"]["reason"]
    assert found["numbers"]["status"] == "learned"
    assert found["numbers"]["new"] == found["numbers"]["trials"] > 0
    assert "numbers:" in told
    knowledge = read_knowledge(tmp_path / "known.jsonl.gz")
    assert knowledge.data_sets == ("numbers",)
    assert knowledge.command.startswith("automl learn experience tables --draws 0")
    assert len(knowledge.experiences[0].trials) == found["numbers"]["trials"]
    elsewhere, told = learn(tmp_path, *command, "--into", "known.jsonl.gz", "--home", "other")
    assert "known.jsonl.gz: its trials of numbers are not run again" in told
    (more,) = (row for row in elsewhere["tables"] if row["table"] == "numbers")
    assert more["trials"] == found["numbers"]["trials"] + more["new"]
    (grown,) = read_knowledge(tmp_path / "known.jsonl.gz").experiences
    assert grown.trials[: -more["new"] or None] == knowledge.experiences[0].trials
    again, _ = learn(tmp_path, *command)
    states = {row["table"]: row["status"] for row in again["tables"]}
    assert states == {"bad": "failed", "numbers": "known"}
    _, told = learn(tmp_path, *command, "--seed", "3", code=2)
    assert "measured with seed 0, now it is 3; use another --home" in told
    _, told = learn(tmp_path, "priors", "tables/bad.csv", code=3)
    assert told.count("error: ") == 1
    assert "one class only" in told
    _, told = learn(tmp_path, "facts")
    assert "numbers: described anew" in told


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["experience"], 2, "missing argument"),
        (["experience", "none.csv"], 3, "there is no file"),
        (["priors", "none.csv"], 3, "there is no file"),
        (["experience", ".", "--trial-limit", "soon"], 2, "a duration must look like"),
        (["experience", "list.yaml"], 2, "setting task"),
        (["facts"], 2, "no table has been learned"),
        (["facts", "other"], 2, "other is not learned"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOML_HOME", str(tmp_path / "home"))
    (tmp_path / "t.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("- {table: t.csv, task: guess}\n", encoding="utf-8")
    assert run(["learn", *arguments]) == code
    told = capsys.readouterr().err
    assert words in told.lower()
    assert "Traceback" not in told
    assert not (tmp_path / "home").exists()
