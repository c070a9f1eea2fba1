"""The final model in the store: logged, registered, found again, loaded where nothing is known."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_records import TEST, final_of, result_of, write
from sklearn.linear_model import LogisticRegression

from automl.data.table import prepare_table
from automl.errors import DataError, SettingsError
from automl.home import Home, RunFolder
from automl.inference.bundle import load_bundle, write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.provenance import KIND
from automl.inference.signature import signed
from automl.installation import make_key
from automl.preprocessing import build_preprocessor
from automl.record_files import StageRecords
from automl.run_records.promotion import PromotionRecord
from automl.run_records.result import Baseline
from automl.tracking import model_registry
from automl.tracking.holders import holders
from automl.tracking.looks import earlier_looks
from automl.tracking.mirror import Mirror, complete
from automl.tracking.mirror_process import registration
from automl.tracking.model_registry import (
    aliases,
    find_bundle,
    list_versions,
    resolve_model,
    rollback,
    row_digests_of,
)
from automl.tracking.new_champions import take_new_champions
from automl.tracking.publication import Publisher
from automl.tracking.store import open_store, store_address
from automl.tracking.synchronization import sync
from automl_flows import prediction

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CLEAN_PROCESS = """
import sys, json, warnings
import pandas as pd, mlflow
warnings.simplefilter("ignore")
model = mlflow.pyfunc.load_model(sys.argv[1])
rows = pd.DataFrame({"color": ["red", None], "width": [3.0, 10.0]})
print(json.dumps([list(model.predict(rows)), model.predict(rows, params={"proba": True}).shape]))
import automl
print(automl.__file__)
"""


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    width = rng.normal(size=60) * 4
    color = np.where(rng.random(60) < 0.5, "red", "blue")
    label = np.where(width + rng.normal(size=60) > 0, "ripe", "raw")
    return pd.DataFrame({"width": width, "color": color, "label": label})


@pytest.fixture(scope="module")
def prepared(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a table and a bundle, copied into run folders."""
    folder = tmp_path_factory.mktemp("prepared_model")
    table = prepare_table(frame, target="label")
    table.write(folder / "table")
    preprocessor = build_preprocessor({"prep.encoder": "onehot"}, seed=0)
    matrix = preprocessor.fit(table.frame, table.y).transform(table.frame)
    estimator = LogisticRegression().fit(matrix, table.y)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "logistic_regression", "t")
    model = TableModel(
        table.schema,
        [member],
        task=str(table.task),
        target="label",
        classes=list(table.class_labels),
    )
    write_bundle(model, folder / "bundle")
    return folder


def sign(bundle: Path, run_id: str) -> None:
    """Let a bundle be one that this installation wrote for a run."""
    path = bundle / "manifest.json"
    content = {**json.loads(path.read_text()), "extra": {"run": run_id}}
    path.write_text(json.dumps(signed(content, make_key(), KIND)))


@pytest.fixture
def warm_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare tests about something else the clean process."""
    monkeypatch.setattr(Publisher, "_cold_load_problem", lambda _: "")
    monkeypatch.setattr(Publisher, "start_cold_load", lambda _: None)


def finished(runs: Any, prepared: Path, **registration_rule: bool | str) -> RunFolder:
    folder: RunFolder = runs.make(5)
    shutil.copytree(prepared / "bundle", folder.bundle)
    sign(folder.bundle, folder.run_id)
    shutil.copytree(prepared / "table", folder.table)
    runs.finish(folder)
    write(folder, final_of(kind="refit", test=TEST))
    if registration_rule:
        StageRecords(folder.stages).write("registration", registration_rule)
    return folder


def test_finished_run_is_registered_as_champion_and_loads_by_every_reference(
    home: Path,
    runs: Any,
    prepared: Path,
    frame: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    folder = finished(runs, prepared)
    mirror = Mirror(folder)
    assert complete(mirror, 60), mirror.outbox.reason
    state = registration(folder)
    assert (state.status, state.registered) == ("done", "beans-label/1@champion")
    references = [
        folder.run_id,
        "beans-label",
        "beans-label@champion",
        "beans-label/1",
        "beans-label/1@champion",
        "models:/beans-label@champion",
        f"models:/{mirror.outbox.done['model']}",
        f"runs:/{mirror.outbox.parent}/model",
    ]
    expected = resolve_model(references[0], home).predict(frame)
    for reference in references[1:]:
        assert (resolve_model(reference, home).predict(frame) == expected).all()
    (version,) = list_versions("beans-label", home)
    assert version.aliases == ("champion",)
    assert version.run_id == folder.run_id
    assert version.metrics["test_score"] == 0.45
    described = open_store(store_address(home)).get_model_version("beans-label", "1")
    assert described.tags["automl.test_score"] == "0.45"
    assert "| 30 test rows |" in described.description
    client = open_store(store_address(home))
    assert client.get_registered_model("beans-label").description.startswith("Predicts `label`")
    model = client.get_logged_model(mirror.outbox.done["model"])
    assert (model.params["model"], model.params["target"]) == ("ridge", "label")
    named = json.loads(model.tags["mlflow.modelVersions"])
    assert named == [{"name": "beans-label", "version": "1"}]
    for event in ("model", "published"):  # as a process leaves it that was killed in between
        del mirror.outbox.done[event]
    mirror.outbox.save()
    assert complete(Mirror(folder), 60)
    assert len(client.get_logged_model(model.model_id).metrics) == len(model.metrics)
    measured = {metric.key: metric for metric in model.metrics}
    assert measured["test_score"].value == 0.45
    assert (measured["test_score"].dataset_name, measured["test_score"].dataset_digest) == (
        "beans-label",
        "abc123",
    )
    (used,) = client.get_run(mirror.outbox.parent).inputs.dataset_inputs
    assert json.loads(used.dataset.source) == {"uri": "data/beans.csv"}
    columns = [column["name"] for column in json.loads(used.dataset.schema)["mlflow_colspec"]]
    assert columns == ["width", "color", "label"]
    assert not version.needs_trust
    assert list(elsewhere.iterdir()) == []
    digests = row_digests_of(find_bundle("beans-label", home), home)
    assert digests is not None
    assert len(digests) == 60
    shutil.rmtree(folder.table)
    stored = row_digests_of(find_bundle("beans-label", home), home)
    assert stored is not None
    assert (stored == digests).all()


@pytest.mark.usefixtures("warm_load")
def test_logged_model_predicts_in_a_clean_process_with_its_own_code(
    home: Path, runs: Any, prepared: Path, tmp_path: Path
) -> None:
    folder = finished(runs, prepared)
    assert complete(Mirror(folder), 60)
    location = find_bundle("beans-label", home).folder.parents[1]
    ran = subprocess.run(
        [sys.executable, "-I", "-c", CLEAN_PROCESS, str(location)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"},
    )
    labels, shape = json.loads(ran.stdout.splitlines()[-2])
    assert set(labels) <= {"ripe", "raw"}
    assert shape == [2, 2]
    assert ran.stdout.splitlines()[-1].startswith(str(location))


@pytest.mark.usefixtures("warm_load")
def test_champion_moves_only_where_the_rule_says_so_and_rolls_back(
    home: Path, runs: Any, prepared: Path
) -> None:
    made = []
    for rule in ({}, {"promote": False, "is_compared": True}, {"promote": True}):
        made.append(finished(runs, prepared, **rule))
        assert complete(Mirror(made[-1]), 60)
        expected = "1" if rule != {"promote": True} else "3"
        assert aliases("beans-label", home)["champion"] == expected
    assert aliases("beans-label", home)["previous"] == "1"
    assert rollback("beans-label", home) == ("3", "1")
    assert aliases("beans-label", home) == {"champion": "1", "previous": "3"}
    for before in "12":  # the second time nothing moves
        assert rollback("beans-label", home, version="2") == (before, "2")
    assert aliases("beans-label", home) == {"champion": "2", "previous": "1"}
    noted = take_new_champions(home)
    assert [new.model.partition("/")[2] for new in noted] == ["1", "3", "1", "2"]
    assert [new.run_id for new in noted] == [made[n].run_id for n in (0, 2, 0, 1)]
    assert noted[-1].promotion["champion"] == "beans-label/1"
    known = holders("beans-label", home)
    assert (known.versions, known.is_current) == ({"champion": "2", "previous": "1"}, True)
    assert set(known.champions) == {"1", "2", "3"}
    assert [known.was_champion(version) for version in "123"] == [True, False, True]
    (home / "mlflow.db").unlink()
    away = holders("beans-label", home)
    assert away == dataclasses.replace(known, is_current=False)


@pytest.mark.usefixtures("warm_load")
def test_a_version_whose_run_is_gone_has_no_metrics_and_may_be_the_champion(
    home: Path, runs: Any, prepared: Path
) -> None:
    for _ in range(2):
        assert complete(Mirror(finished(runs, prepared)), 60)
    run = open_store(store_address(home)).get_model_version("beans-label", "1").run_id
    with closing(sqlite3.connect(home / "mlflow.db")) as connection, connection:
        connection.execute("delete from runs where run_uuid = ?", (run,))
    assert rollback("beans-label", home) == ("2", "1")
    found = {each.version: bool(each.metrics) for each in list_versions("beans-label", home)}
    assert found == {"1": False, "2": True}


@pytest.mark.usefixtures("warm_load")
def test_a_version_that_could_not_be_compared_is_the_challenger_until_it_is_the_champion(
    home: Path, runs: Any, prepared: Path
) -> None:
    assert complete(Mirror(finished(runs, prepared)), 60)
    undecided = finished(runs, prepared, promote=False, reason="too few fresh rows")
    assert complete(Mirror(undecided), 60)
    assert registration(undecided).registered == "beans-label/2@challenger"
    assert aliases("beans-label", home) == {"champion": "1", "challenger": "2"}
    version = open_store(store_address(home)).get_model_version("beans-label", "2")
    assert version.tags["automl.alias_reason"] == "too few fresh rows"
    assert rollback("beans-label", home, version="2") == ("1", "2")
    assert aliases("beans-label", home) == {"champion": "2", "previous": "1"}


@pytest.mark.usefixtures("warm_load")
@pytest.mark.parametrize(("is_open", "label"), [(True, "@challenger"), (False, "")])
def test_evidence_and_decision_are_told_by_the_version(
    home: Path, runs: Any, prepared: Path, *, is_open: bool, label: str
) -> None:
    assert complete(Mirror(finished(runs, prepared, promote=True, compared_with="")), 60)
    rule = {"promote": False, "compared_with": "1", "is_compared": True, "is_open": is_open}
    folder = finished(runs, prepared, reason="not proven better", **rule)
    name = "beans-label/1"
    write(
        folder,
        PromotionRecord(
            False, "not proven better", name, 90, 30, 30, True, "superior", 0.5, 0.4, 0.1,
            low=-0.1, high=0.3, pvalue=0.2, level=0.02, look=1, margin=0.0, unit="accuracy",
        ),
    )  # fmt: skip
    assert complete(Mirror(folder), 60)
    assert registration(folder).registered == f"beans-label/2{label}"
    client = open_store(store_address(home))
    version = client.get_model_version("beans-label", "2")
    assert {key: version.tags[f"automl.promotion.{key}"] for key in ("decision", "rule", "look")} == {
        "decision": "kept", "rule": "superior", "look": "1",
    }  # fmt: skip
    assert version.tags["automl.promotion.compared_with"] == "1"
    assert version.tags["automl.promotion.difference"] == "0.1"
    assert "beans-label/1 stays champion: not proven better." in version.description
    metrics = client.get_run(version.run_id).data.metrics
    assert (metrics["promotion.pvalue"], metrics["promotion.level"]) == (0.2, 0.02)
    assert earlier_looks(Home(home), name) == 1
    shutil.rmtree(folder.path)
    assert earlier_looks(Home(home), name) == 1
    assert earlier_looks(Home(home), "beans-label/2") == 0


@pytest.mark.usefixtures("warm_load")
@pytest.mark.parametrize(("is_beaten", "alias"), [(True, "champion"), (False, "")])
def test_only_from_a_baseline_a_model_that_is_none_takes_the_alias_unseen(
    home: Path, runs: Any, prepared: Path, *, is_beaten: bool, alias: str
) -> None:
    first = {"promote": True, "compared_with": ""}
    second = {"promote": False, "compared_with": "1", "reason": "too few fresh rows"}
    for rule, beaten in ((first, False), (second, is_beaten)):
        folder = finished(runs, prepared, **rule)
        baseline = Baseline("c", 0.3, 0.5, is_constant=not beaten)
        write(folder, result_of(baseline=baseline))
        if rule is second:
            write(folder, PromotionRecord(False, "too few fresh rows", "beans-label/1"))
        assert complete(Mirror(folder), 60)
    assert registration(folder).registered == "beans-label/2" + (f"@{alias}" if alias else "")
    assert aliases("beans-label", home)["champion"] == ("2" if is_beaten else "1")
    version = open_store(store_address(home)).get_model_version("beans-label", "2")
    stays = "beans-label/1 stays champion: too few fresh rows."
    takes = "Version 1 is no better than the baseline, and this one is."
    assert (stays in version.description, takes in version.description) == (
        not is_beaten,
        is_beaten,
    )


@pytest.mark.usefixtures("warm_load")
def test_a_promotion_applied_later_moves_the_alias_only_from_the_version_compared(
    home: Path, runs: Any, prepared: Path
) -> None:
    assert complete(Mirror(finished(runs, prepared, promote=True, compared_with="")), 60)
    assert aliases("beans-label", home) == {"champion": "1"}
    pending = sorted((finished(runs, prepared) for _ in range(3)), key=lambda run: run.run_id)
    for folder, version in zip(pending, ("1", "1", ""), strict=True):
        rule = {"promote": True, "compared_with": version}
        StageRecords(folder.stages).write("registration", rule)
    summary = sync(home)
    assert summary.registered == [
        "beans-label/2@champion",
        "beans-label/3@challenger",
        "beans-label/4@challenger",
    ]
    found = {"champion": "2", "previous": "1", "challenger": "4"}
    assert aliases("beans-label", home) == found
    assert list(summary.alias_stays) == [folder.run_id for folder in pending[1:]]
    assert (
        "stays with version 2: it was moved from version 1" in registration(pending[1]).alias_stays
    )
    assert "no version had it when the model of version 4" in registration(pending[2]).alias_stays
    assert registration(pending[2]).status == "done"


@pytest.mark.usefixtures("warm_load")
def test_a_model_registered_later_does_not_take_the_alias_from_a_newer_one(
    home: Path, runs: Any, prepared: Path
) -> None:
    late = finished(runs, prepared)
    made = (late.stages / "final.json").stat().st_mtime - 60
    os.utime(late.stages / "final.json", (made, made))
    assert complete(Mirror(finished(runs, prepared)), 60)
    summary = sync(home)
    assert summary.registered == ["beans-label/2@challenger"]
    assert aliases("beans-label", home) == {"champion": "1", "challenger": "2"}
    assert "registered after the model of version 2 was made" in summary.alias_stays[late.run_id]


def test_a_bundle_that_does_not_load_is_not_registered_and_the_reason_is_kept(
    home: Path, runs: Any, prepared: Path
) -> None:
    folder = finished(runs, prepared)
    (folder.bundle / "estimators" / "000.skops").write_bytes(b"broken")
    assert not complete(Mirror(folder), 60)
    state = registration(folder)
    assert state.status == "pending"
    assert state.registered is None
    assert "clean process" in state.reason
    shutil.rmtree(folder.bundle)
    shutil.copytree(prepared / "bundle", folder.bundle)
    sign(folder.bundle, folder.run_id)
    assert sync(home).registered == ["beans-label/1@champion"]


class Foreign(LogisticRegression):
    """Somebody's own class, which only a pickle can hold."""


def with_a_pickle(folder: RunFolder, frame: pd.DataFrame, **settings: Any) -> RunFolder:
    """The run with a model of a class that nobody reviewed, and with other settings."""
    table = prepare_table(frame, target="label")
    preprocessor = build_preprocessor({}, seed=0)
    estimator = Foreign().fit(preprocessor.fit(table.frame).transform(table.frame), table.y)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "foreign", "t")
    labels = list(table.class_labels)
    model = TableModel(table.schema, [member], task="binary", target="label", classes=labels)
    shutil.rmtree(folder.bundle)
    write_bundle(model, folder.bundle, extra={"run": folder.run_id}, key=make_key())
    facts = folder.read_facts()
    folder.write_facts({**facts, "settings": {**facts["settings"], **settings}})
    return folder


def test_a_model_that_only_a_pickle_holds_is_registered_only_where_the_user_said_so(
    home: Path,
    runs: Any,
    prepared: Path,
    frame: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AUTOML_TRUST", "1")  # of who loads models, not of who registers them
    refused = with_a_pickle(finished(runs, prepared), frame)
    assert not complete(Mirror(refused), 60)
    reason = registration(refused).reason
    assert "Foreign as a pickle" in reason
    assert "--trust" in reason
    shutil.rmtree(refused.path)
    monkeypatch.delenv("AUTOML_TRUST")
    allowed = with_a_pickle(finished(runs, prepared), frame, trust=True)
    mirror = Mirror(allowed)
    assert complete(mirror, 60), mirror.outbox.reason
    (version,) = list_versions("beans-label", home)
    assert version.needs_trust
    with pytest.raises(SettingsError, match="is a pickle"):
        load_bundle(find_bundle("beans-label", home).folder)
    assert resolve_model("beans-label", home).task == "binary", "this installation wrote it"


@pytest.mark.usefixtures("warm_load")
@pytest.mark.parametrize(
    "call",
    [
        "create_logged_model",
        "log_model_artifacts",
        "finalize_logged_model",
        "create_registered_model",
        "create_model_version",
        "set_registered_model_alias",
    ],
)
def test_a_death_during_registration_leaves_one_version(
    home: Path, runs: Any, prepared: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    from mlflow import MlflowClient

    folder = finished(runs, prepared)
    original = getattr(MlflowClient, call)

    def dying(*arguments: Any, **keywords: Any) -> Any:
        original(*arguments, **keywords)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, call, dying)
        with pytest.raises(KeyboardInterrupt):
            Mirror(folder).finish(60)
    assert complete(Mirror(folder), 60)
    (folder.path / "outbox.json").unlink()
    assert complete(Mirror(folder), 60)
    (version,) = list_versions("beans-label", home)
    assert version.aliases == ("champion",)
    assert resolve_model("beans-label", home).task == "binary"


@pytest.mark.usefixtures("warm_load")
def test_a_changed_bundle_in_the_store_is_refused(home: Path, runs: Any, prepared: Path) -> None:
    mirror = Mirror(finished(runs, prepared))
    assert complete(mirror, 60)
    manifest = find_bundle("beans-label", home).folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"t"', '"u"'))
    done = mirror.outbox.done["model"]
    for reference in ("beans-label", f"models:/{done}", f"runs:/{mirror.outbox.parent}/model"):
        with pytest.raises(DataError, match="not the one registered"):
            resolve_model(reference, home)


@pytest.mark.parametrize("reference", ["models:/m-../../x", "m-a/../b", "models:/m-"])
def test_the_id_of_a_model_is_no_path(home: Path, reference: str) -> None:
    with pytest.raises(SettingsError, match="a model's id is"):
        resolve_model(reference, home)


@pytest.mark.parametrize("where", ["home", "code"])
def test_code_that_came_with_a_foreign_run_is_not_run_to_register_it(
    home: Path,
    runs: Any,
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    folder = finished(runs, prepared)
    code = folder.bundle / "code"
    mark = tmp_path / "code-ran"
    if where == "home":
        monkeypatch.setenv("AUTOML_KEY_FILE", str(tmp_path / "another"))
        path = code / "automl" / "__init__.py"
        path.write_text(f"import os; os.makedirs({str(mark)!r})\n" + path.read_text())
        manifest = json.loads((folder.bundle / "manifest.json").read_text())
        manifest["files"]["code/automl/__init__.py"] = sha256(path.read_bytes()).hexdigest()
        (folder.bundle / "manifest.json").write_text(json.dumps(manifest))
    else:
        (code / "warnings.py").write_text(f"import os; os.makedirs({str(mark)!r})\n")
        (code / "numpy.py").write_text(f"import os; os.makedirs({str(mark)!r})\n")
    assert not complete(Mirror(folder), 60)
    words = "nothing proves that this" if where == "home" else "its manifest does not list it"
    assert words in registration(folder).reason
    assert not mark.exists()


@pytest.mark.parametrize("reference", ["nothing", "nothing/1", "nothing@champion", "runs:/abc/x"])
def test_what_does_not_exist_is_an_error_of_the_reference(home: Path, reference: str) -> None:
    with pytest.raises(SettingsError):
        resolve_model(reference, home)


def test_a_model_in_a_folder_with_blanks_is_found_by_its_uri(tmp_path):
    folder = tmp_path / "my home" / "model"
    address = SimpleNamespace(home=tmp_path, uri="")
    assert model_registry._local_copy(address, "m-1", folder.as_uri()) == folder
    assert model_registry._local_copy(address, "m-1", str(folder)) == folder


def test_who_downloads_a_model_second_takes_what_the_first_left(tmp_path, monkeypatch):
    target = tmp_path / "downloads" / "m-1"

    def downloaded(*, dst_path, **_):
        source = Path(dst_path) / "model"
        for folder in (source, target):  # another process was quicker
            folder.mkdir(parents=True)
            (folder / "MLmodel").write_text("flavors: {}")
        return str(source)

    monkeypatch.setattr("mlflow.artifacts.download_artifacts", downloaded)
    address = SimpleNamespace(home=tmp_path, uri="http://host")
    assert model_registry._local_copy(address, "m-1", "mlflow-artifacts:/1/m-1") == target
    assert [path.name for path in target.parent.iterdir()] == ["m-1"]


@pytest.mark.parametrize(
    ("run", "kept"),
    [("../evil", ""), ("/tmp/evil", ""), ("20260101-000000-abcd", "20260101-000000-abcd")],
)
def test_the_run_that_a_foreign_bundle_names_is_a_run_or_nothing(tmp_path, monkeypatch, run, kept):
    manifest = SimpleNamespace(extra={"run": run})
    monkeypatch.setattr(prediction, "parse_manifest", lambda _: (None, manifest))
    assert prediction.find_model(str(tmp_path), Home(tmp_path)).run_id == kept
