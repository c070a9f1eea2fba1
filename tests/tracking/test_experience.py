"""Past runs of a tracking store are experience: what was written is read back, the rest is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.experience.data_set import KnownTrial
from automl.experience.entries import digest_of
from automl.experience.harvest import harvest
from automl.families.registry import families
from automl.home import RunFolder
from automl.record_files import StageRecords
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.tracking import layout
from automl.tracking import team_history as module
from automl.tracking.mirror import Mirror, complete
from automl.tracking.store import open_store, store_address
from automl.tracking.team_history import experience_of_parent, read_history, trial_of

DATA = {
    "digest": "abc123",
    "fingerprint": "f" * 32,
    "layout": "e" * 32,
    "rows": 90,
    "training_rows": 60,
    "matrix": {"n_encoded": 7.0, "variance": 0.3478260875777672},
    "columns": 4,
    "task": "binary",
    "classes": ["no", "yes"],
    "target": "label",
    "metric": "accuracy*0.5 + mcc*0.5",
}


def read_back(trial: Trial, **facts: Any) -> Any:
    """The trial after a way through texts, as a store keeps them."""
    facts = {"run_id": "r", "settings": {"table": "t.csv", "target": "y"}, **facts}
    content = layout.trial_content(facts, trial, decision={}, family_run="f", extra_tags={})
    return trial_of(content.tags, dict(sorted(content.params.items())), content.metrics)


@pytest.mark.parametrize(
    ("configuration", "status", "fidelity"),
    [
        (Configuration("ridge", {"alpha": 0.1, "n": 3, "on": True, "no": None}), "complete", None),
        (Configuration("svm", {"kernel": "rbf", "C": 1e-17}, ("kernel=rbf",)), "raced", None),
        (Configuration("svm", {"kernel": "a/b", "d": 2.0}, ("kernel=a/b",)), "failed", None),
        (Configuration("constant", {}), "timed_out", None),
        (Configuration("knn", {"k": 5}), "partial", Fidelity(1, 0.25, 0.5)),
        (Configuration("knn", {"k": 5}), "partial", Fidelity(2)),
    ],
)
def test_a_trial_is_read_as_it_was(configuration, status, fidelity):
    folds = (FoldResult(0, 0, 0.123456789, 30, 0.1, 0.01),)
    trial = Trial(
        "r", 3, configuration, TrialStatus(status), 0.5, folds, fidelity or Fidelity(), seconds=0.25
    )
    found = read_back(trial)
    assert found.configuration == configuration
    assert found.configuration.path == configuration.path
    assert (found.status, found.seconds, found.folds) == (status, 0.25, 1)
    assert found.fold_scores == (0.123457,)
    assert found.score == (0.5 if status == "complete" else None)
    assert found.fidelity == trial.fidelity
    assert found == KnownTrial.of(trial)


def test_a_trial_that_was_cut_short_is_remembered_alike_from_here_and_from_a_store():
    folds = (FoldResult(0, 0, 0.5, 30, 0.1, 0.01), FoldResult(0, 1, 0.6, 30, 0.1, 0.01, rounds=7))
    trial = Trial("r", 3, Configuration("knn", {"k": 5}), TrialStatus.COMPLETE, 0.55, folds)
    found = read_back(trial)
    assert found == KnownTrial.of(trial)
    assert (found.status, found.score) == (TrialStatus.TIMED_OUT, None)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_configurations_of_every_family_are_read_as_they_were(task):
    for family in families(task).values():
        space = family.space(task)
        for i in range(20):
            configuration = space.sample(np.random.default_rng(i))
            trial = Trial("r", 0, configuration, TrialStatus.COMPLETE, 0.5)
            assert read_back(trial).configuration == configuration


def test_texts_that_look_like_numbers_are_told_from_numbers():
    values = {"layers": "256", "n": 256, "on": "true", "off": False, "no": "null"}
    trial = Trial("r", 0, Configuration("mlp", values), TrialStatus.COMPLETE, 0.5)
    assert read_back(trial).configuration.values == values


def test_parameters_that_are_not_the_configuration_s_are_no_trial():
    trial = Trial("r", 0, Configuration("knn", {"k": 5}), TrialStatus.COMPLETE, 0.5)
    content = layout.trial_content(
        {"run_id": "r", "settings": {"table": "t.csv", "target": "y"}},
        trial,
        decision={},
        family_run="f",
        extra_tags={},
    )
    with pytest.raises(ValueError, match="are not those of"):
        trial_of(content.tags, {"k": "6"}, content.metrics)


def test_meta_features_are_within_the_tag_of_the_data_where_they_fit():
    facts = {"data": {"rows": 3}}
    values = {"rows_log": 4.499809670330265, "skew": None, "nan": float("nan")}
    assert layout.data_tag(facts, {"values": values}) == {
        "automl.data": '{"rows":3,"meta_features":{"rows_log":4.49981}}'
    }
    assert layout.data_tag({}, {}) == {}
    many = {f"a_long_name_of_a_feature_{i}": 0.1 for i in range(1000)}
    assert layout.data_tag(facts, {"values": many}) == {"automl.data": '{"rows":3}'}


def test_a_store_of_an_earlier_version_is_read():
    data = {"fingerprint": "a" * 32, "layout": "b" * 32, "rows": 90, "columns": 4, "classes": 2}
    data |= {"metric": "accuracy", "training_rows": 60}
    common = {"automl.run_id": "20261120-1", "automl.problem": "beans", "automl.task": "binary"}
    old = {f"automl.{name}": str(value) for name, value in data.items()}
    old |= {"automl.matrix": '{"n_encoded":4.0}', "automl.meta_features": '{"log_rows":4.5}'}
    whole = data | {"matrix": {"n_encoded": 4.0}, "meta_features": {"log_rows": 4.5}}
    before = experience_of_parent(common | old, 1000)
    assert before == experience_of_parent(common | {"automl.data": json.dumps(whole)}, 1000)
    assert (before.data.rows, before.data.meta_features) == (90, {"log_rows": 4.5})


def test_an_address_that_is_none_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"such as sqlite:///PATH.*got mlflow\.db"):
        read_history("mlflow.db", tmp_path)


def test_an_address_with_a_wrong_port_is_refused_without_its_password(tmp_path):
    with pytest.raises(SettingsError, match=r"http://there:PORT: .*PORT") as caught:
        read_history("http://ann:secret@there:PORT", tmp_path)
    assert "secret" not in str(caught.value)


def test_a_store_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"no tracking store .*none\.db"):
        read_history(f"sqlite:///{tmp_path / 'none.db'}", tmp_path)


def mirrored(folder: RunFolder) -> RunFolder:
    assert complete(Mirror(folder), 60)
    return folder


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_team_s_history_is_its_experience(home: Path, runs: Any, tmp_path: Path) -> None:
    first = runs.make(8, data=DATA)
    StageRecords(first.stages).write("meta_features", {"values": {"rows": 4.5}})
    runs.finish(first)
    second = runs.make(3, target="other", data={**DATA, "fingerprint": "a" * 32})
    runs.append(second, range(3, 5), stage="candidates")
    runs.finish(second)
    earlier = runs.make(2)  # without a fingerprint
    runs.finish(earlier)
    empty = runs.make(0, data=DATA)
    runs.finish(empty)
    for folder in (first, second, earlier, empty):
        mirrored(folder)
    client = open_store(store_address(home))
    foreign = client.create_experiment("another team", artifact_location=str(home / "artifacts"))
    client.create_run(foreign, tags={layout.KIND_TAG: "run"})
    known = client.get_experiment_by_name("beans-label").experiment_id
    client.create_run(known)
    bad = {
        **_tags(client, known, first.run_id),
        layout.RUN_ID_TAG: "bad",
        "automl.data": _with_rows("many"),
    }
    client.set_terminated(client.create_run(known, tags=bad).info.run_id)
    going = {**bad, layout.RUN_ID_TAG: "going", "automl.data": _with_rows(90)}
    client.create_run(known, tags=going)

    uri = store_address(home).uri
    history = read_history(uri, tmp_path / "other")
    found = {experience.id: experience for experience in history.experiences}
    assert set(found) == {first.run_id, second.run_id}
    for folder in (first, second):
        expected = harvest(folder)
        assert expected is not None
        assert digest_of(found[folder.run_id]) == digest_of(expected)
        assert found[folder.run_id].origin == "mlflow"
        assert found[folder.run_id].created == expected.created
    assert history.skipped == {
        module.FOREIGN: 1,
        module.NAMELESS: 1,
        module.EMPTY: 1,
        module.ILLEGIBLE: 1,
        module.UNFINISHED: 1,
    }
    fewer = read_history(uri, tmp_path / "other", besides=[first.run_id])
    assert [experience.id for experience in fewer.experiences] == [second.run_id]


def _with_rows(rows: object) -> str:
    (text,) = layout.data_tag({"data": DATA}, {}).values()
    return json.dumps({**json.loads(text), "rows": rows})


def _tags(client: Any, experiment: str, run_id: str) -> dict[str, str]:
    condition = f"tags.`automl.run_id` = '{run_id}' and tags.`automl.kind` = 'run'"
    (run,) = client.search_runs([experiment], condition)
    return {k: v for k, v in run.data.tags.items() if not k.startswith("mlflow.")}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("automl.run_id", "o'brien"),
        ("automl.data", '{"fingerprint": "a", "rows": -3}'),
        ("automl.task", "odd"),
    ],
)
def test_one_odd_run_is_counted_and_the_others_are_read(
    home: Path, runs: Any, tag: str, value: str
) -> None:
    odd, good = runs.make(2, data=DATA), runs.make(2, data=DATA)
    for folder in (odd, good):
        runs.finish(folder)
        mirrored(folder)
    client = open_store(store_address(home))
    parent = json.loads((odd.path / "outbox.json").read_text())["parent"]
    client.set_tag(parent, tag, value)
    history = read_history(store_address(home).uri, home)
    assert [experience.id for experience in history.experiences] == [good.run_id]
    assert history.skipped == {module.ILLEGIBLE: 1}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_trial_that_was_changed_by_hand_is_counted(home: Path, runs: Any) -> None:
    folder = runs.make(4, data=DATA)
    runs.finish(folder)
    mirrored(folder)
    client = open_store(store_address(home))
    outbox = json.loads((folder.path / "outbox.json").read_text())
    changed = outbox["trials"][runs.trial(folder.run_id, 1).id]
    client.set_tag(changed, "automl.configuration", "0" * 16)
    client.set_tag(outbox["trials"][runs.trial(folder.run_id, 2).id], "automl.status", "great")
    history = read_history(store_address(home).uri, home)
    (experience,) = history.experiences
    assert len(experience.trials) == 2
    assert history.skipped == {module.ILLEGIBLE_TRIALS: 2}
