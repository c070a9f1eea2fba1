"""From what is known of tables to a file of priors (B14, chapter 4)."""

import dataclasses
import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

from automl.errors import DataError, SettingsError
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.knowledge import Knowledge, write_knowledge
from automl.experience.store import write_export
from automl.families.registry import get_family
from automl.home import Home
from automl.priors.accepted_values import PriorSettings
from automl.priors.files import Priors
from automl.records import Task, TrialStatus
from automl.spaces.yaml_loader import read_yaml
from automl.table_studies.learned_folder import LearnedFolder
from automl.table_studies.prior_learning import gathered, make_priors
from automl_flows.commands.cli import run
from automl_flows.commands.learn_priors import priors


def data_set(i):
    rng, space = np.random.default_rng(i), get_family("knn").space("classification")
    trials = []
    for _ in range(10):
        configuration = space.sample(rng)
        score = 1.0 / float(configuration.values["n_neighbors"])
        trials.append(KnownTrial(configuration, TrialStatus.COMPLETE, score, 1.0, 5))
    facts = DataSetFacts(f"d{i}", f"f{i}", "l", Task.BINARY, 100, 3, 2)
    return Experience(f"r{i}", facts, "index", tuple(trials))


@pytest.fixture(scope="module")
def experiences():
    return [data_set(i) for i in range(5)]


def test_experience_comes_from_exports_and_from_files_of_knowledge(tmp_path, experiences):
    write_export(tmp_path / "a.jsonl.gz", experiences[:3])
    write_knowledge(
        tmp_path / "b.jsonl.gz", Knowledge("learn", "2026-01-01", tuple(experiences[2:]), {})
    )
    folder = LearnedFolder(Home(tmp_path))
    files = [tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"]
    assert [e.id for e in gathered(folder, ["unknown"], files)] == ["r0", "r1", "r2", "r3", "r4"]
    (tmp_path / "c.jsonl.gz").write_text("no")
    with pytest.raises(SettingsError, match=r"c\.jsonl\.gz is not a file of"):
        gathered(folder, [], [tmp_path / "c.jsonl.gz"])


def test_the_file_is_read_by_a_run_and_says_how_it_came_about(tmp_path, experiences):
    file = tmp_path / "new" / "priors.yaml"
    learned = make_priors(
        experiences, file, settings=PriorSettings(), families=("knn",), seed=3, command="automl x"
    )
    written = Priors.read(file)
    written.check()
    assert written.distributions == Priors.of(learned).distributions
    record = read_yaml(file)["learned"]
    assert (record["command"], record["seed"]) == ("automl x", 3)
    assert record["data_sets"] == [f"d{i}" for i in range(5)]
    assert record["settings"] == dataclasses.asdict(PriorSettings())
    before = file.read_bytes()
    make_priors(
        experiences, file, settings=PriorSettings(), families=("knn",), seed=3, command="automl x"
    )
    assert file.read_bytes() == before


def test_too_little_is_an_error_that_says_what_is_needed(tmp_path, experiences):
    with pytest.raises(DataError, match="3 complete trials on each of 3 data sets"):
        make_priors(experiences[:2], tmp_path / "p.yaml", settings=PriorSettings())
    assert not (tmp_path / "p.yaml").exists()


CONSTANTS = {
    "rivals": 9,
    "width": 0.1,
    "tolerance": 0.05,
    "threshold": 0.4,
    "settled": 0.05,
    "most_values": 64,
    "most_draws": 5000,
    "floor": 0.2,
    "doubt": 1.0,
    "least_trials": 2,
    "least_data_sets": 2,
}


@pytest.mark.integration
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("_with_server")
def test_the_command_takes_every_constant(tmp_path, experiences):
    write_export(tmp_path / "two.jsonl.gz", experiences[:2])
    options = [f"--{name.replace('_', '-')}={value}" for name, value in CONSTANTS.items()]
    command = ["learn", "priors", "two.jsonl.gz", "--families=knn", "--into=p.yaml", *options]
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.commands.cli", *command],
        cwd=tmp_path,
        env={**os.environ, "AUTOML_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert read_yaml(tmp_path / "p.yaml")["learned"]["settings"] == {
        "acceptance": "rivals",
        **CONSTANTS,
    }


def test_every_constant_is_an_option_whose_help_states_its_default():
    parameters = inspect.signature(priors, eval_str=True).parameters
    for field in dataclasses.fields(PriorSettings):
        parameter = parameters[field.name]
        if field.name == "acceptance":
            assert parameter.default == field.default
            continue
        (option,) = parameter.annotation.__metadata__
        assert option.help.endswith(f"[default: {field.default:g}]")
        assert parameter.default is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("--width=2", "width of priors must be in (0, 1]; got 2"),
        ("--floor=1", "floor of priors must be in (0, 1]; got 1"),
        ("--doubt=-1", "doubt of priors must not be negative"),
        ("--least-trials=0", "least_trials of priors must be positive"),
    ],
)
def test_a_constant_out_of_its_range_is_refused_before_anything_runs(
    tmp_path, capsys, given, words
):
    home = tmp_path / "home"
    assert run(["learn", "priors", "x.jsonl.gz", given, "--home", str(home)]) == 2
    assert words in capsys.readouterr().err
    assert not home.exists()
