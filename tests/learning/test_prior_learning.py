"""From what is known of tables to a file of priors (SPEC O2)."""

import dataclasses

import numpy as np
import pytest

from automl.errors import DataError, SettingsError
from automl.families.registry import get_family
from automl.home import Home
from automl.learning.folder import LearnedFolder
from automl.learning.prior_learning import gathered, make_priors
from automl.metalearning.accepted_values import PriorSettings
from automl.metalearning.experience import DataSetFacts, Experience, KnownTrial
from automl.metalearning.knowledge import Knowledge, write_knowledge
from automl.metalearning.prior_files import Priors
from automl.metalearning.store import write_export
from automl.records import Task, TrialStatus
from automl.spaces.yaml_loader import read_yaml


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
    with pytest.raises(SettingsError, match=r"c\.jsonl\.gz is no experience"):
        gathered(folder, [], [tmp_path / "c.jsonl.gz"])


def test_the_file_is_read_by_a_run_and_says_how_it_came_about(tmp_path, experiences):
    file = tmp_path / "new" / "priors.yaml"
    learned = make_priors(
        experiences, file, settings=PriorSettings(), families=("knn",), seed=3, command="automl x"
    )
    priors = Priors.read(file)
    priors.check()
    assert priors.distributions == Priors.of(learned).distributions
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
