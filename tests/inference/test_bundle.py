"""Models as folders of plain files."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference import native, trees
from automl.inference.bundle import load_bundle, read_manifest, write_bundle
from automl.inference.forms import NumberForm
from automl.inference.model import FittedPipeline, Member, TableModel, label_array
from automl.inference.pyfunc import _load_pyfunc
from automl.inference.readings import Reading
from automl.preprocessing import build_preprocessor

TASKS = ("binary", "multiclass", "regression")


class Majority(ClassifierMixin, BaseEstimator):
    """An estimator that nobody has reviewed."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.winner_ = int(counts.argmax())
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.winner_])


@pytest.fixture
def unreviewed(schema, typed, targets):
    y = targets["binary"]
    preprocessor = build_preprocessor({}, seed=1)
    estimator = Majority().fit(preprocessor.fit_transform(typed, y), y)
    members = [Member(1.0, [FittedPipeline(preprocessor, estimator)], "majority")]
    return TableModel(schema, members, task="binary", target="label", classes=["no", "yes"])


@pytest.fixture
def bundle(model_of, tmp_path):
    folder = tmp_path / "model"
    write_bundle(model_of("binary", threshold=0.4), folder, extra={"run": "r1"})
    return folder


@pytest.mark.parametrize("task", TASKS)
def test_a_loaded_model_predicts_alike(task, model_of, raw, strange, tmp_path):
    model = model_of(task)
    write_bundle(model, tmp_path / "model")
    again = load_bundle(tmp_path / "model")
    for frame in (raw, strange):
        np.testing.assert_array_equal(again.raw(frame), model.raw(frame))
        assert again.predict(frame).tolist() == model.predict(frame).tolist()
    assert again.predict(raw).dtype == model.predict(raw).dtype
    assert repr(again) == repr(model)


def test_a_loaded_model_can_be_written_again(bundle, raw, tmp_path):
    write_bundle(load_bundle(bundle), tmp_path / "again")
    np.testing.assert_array_equal(
        load_bundle(tmp_path / "again").raw(raw), load_bundle(bundle).raw(raw)
    )


def test_decisions_and_labels_are_kept(model_of, bundle, tmp_path):
    assert load_bundle(bundle).threshold_ == 0.4
    costs = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    write_bundle(model_of("multiclass", cost_matrix=costs), tmp_path / "costs")
    assert load_bundle(tmp_path / "costs").cost_matrix_.tolist() == costs
    for labels in (
        [True, False],
        [1, 0],
        np.array([3, 2**64 - 1], dtype=np.uint64),
        [0.5, 1.5],
        ["a", None],
        ["ä", "b"],
    ):
        write_bundle(model_of("binary", classes=labels), tmp_path / "labels")
        found = load_bundle(tmp_path / "labels").classes_
        assert found.tolist() == list(labels)
        assert found.dtype == label_array(labels).dtype
    stamps = [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")]
    with pytest.raises(SettingsError, match="a class label must be text"):
        write_bundle(model_of("binary", classes=stamps), tmp_path / "stamps")


def test_the_reading_of_the_target_is_kept_and_earlier_bundles_have_none(model_of, raw, tmp_path):
    reading = Reading(NumberForm(",", ".", unit="kg"), words=("none",), marks_infinite=True)
    model = model_of("regression", target_reading=reading)
    manifest = write_bundle(model, tmp_path / "model")
    assert load_bundle(tmp_path / "model").target_reading == reading
    earlier = {key: value for key, value in manifest.items() if key != "target_reading"}
    (tmp_path / "model" / "manifest.json").write_text(json.dumps(earlier | {"format": 8}))
    again = load_bundle(tmp_path / "model")
    assert again.target_reading is None
    np.testing.assert_array_equal(again.raw(raw), model.raw(raw))


def test_the_manifest_says_what_is_in_it(bundle):
    manifest = read_manifest(bundle)
    assert manifest["extra"] == {"run": "r1"}
    assert [member["family"] for member in manifest["members"]] == ["random_forest", "linear"]
    assert not manifest["needs_trust"]
    names = {line.split("==")[0] for line in manifest["requirements"]}
    assert names == {"numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "skops"}
    assert (bundle / "requirements.txt").read_text().split() == manifest["requirements"]
    written = {p.relative_to(bundle).as_posix() for p in bundle.rglob("*") if p.is_file()}
    assert written == {*manifest["files"], "manifest.json"}


def test_a_changed_or_missing_file_is_refused(bundle):
    path = bundle / "estimators" / "000.skops"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DataError, match=r"000\.skops differs from what was written"):
        load_bundle(bundle)
    path.unlink()
    with pytest.raises(DataError, match=r"000\.skops is missing"):
        load_bundle(bundle)


def test_folders_that_are_no_bundles_are_refused(bundle, model_of, tmp_path):
    with pytest.raises(SettingsError, match="is not a model bundle"):
        load_bundle(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(SettingsError, match="not empty and not a bundle"):
        write_bundle(model_of("binary"), tmp_path / "full")
    manifest = read_manifest(bundle)
    for number, relation in ((99, "later"), (1, "earlier")):
        (bundle / "manifest.json").write_text(json.dumps(manifest | {"format": number}))
        with pytest.raises(SettingsError, match=f"format {number} is {relation} than"):
            load_bundle(bundle)


def test_a_failed_write_leaves_the_old_bundle_and_nothing_else(bundle, model_of):
    before = read_manifest(bundle)
    with pytest.raises(SettingsError):
        write_bundle(model_of("binary", classes=[pd.Timestamp(0), "x"]), bundle)
    assert read_manifest(bundle) == before
    assert [path.name for path in bundle.parent.iterdir()] == ["model"]
    write_bundle(model_of("regression"), bundle)
    assert load_bundle(bundle).task == "regression"


class Killed(BaseException):
    """The process ends here; nothing it still wants to do takes place."""


@pytest.mark.parametrize("n_steps", range(4))
def test_a_write_that_is_killed_leaves_one_of_the_two_bundles(
    bundle, model_of, monkeypatch, n_steps
):
    steps_left = n_steps

    def dying(step):
        def run(*args, **options):
            nonlocal steps_left
            if steps_left == 0:
                raise Killed
            steps_left -= 1
            return step(*args, **options)

        return run

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.rename", dying(Path.rename))
        patch.setattr("shutil.rmtree", dying(shutil.rmtree))
        with pytest.raises(Killed):
            write_bundle(model_of("regression"), bundle)
    assert load_bundle(bundle).task == ("regression" if n_steps == 3 else "binary")
    write_bundle(model_of("multiclass"), bundle)
    assert load_bundle(bundle).task == "multiclass"
    assert not (bundle.parent / ".model.old").exists()


def test_a_bundle_that_cannot_be_moved_leaves_the_old_one(bundle, model_of, monkeypatch):
    move = Path.rename

    def refuse(path, target):
        if Path(target) == bundle and not path.name.endswith(".old"):
            raise OSError("the disk is gone")
        return move(path, target)

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    with pytest.raises(OSError, match="disk is gone"):
        write_bundle(model_of("regression"), bundle)
    assert load_bundle(bundle).task == "binary"
    assert [path.name for path in bundle.parent.iterdir()] == ["model"]


def test_other_library_versions_are_warned_about(bundle):
    manifest = read_manifest(bundle)
    manifest["versions"]["scikit-learn"] = "1.2.3"
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    with pytest.warns(AutoMLWarning, match=r"written with scikit-learn 1\.2\.3"):
        load_bundle(bundle)


def test_a_pickle_is_tagged_and_loaded_only_on_trust(unreviewed, raw, tmp_path):
    manifest = write_bundle(unreviewed, tmp_path / "model")
    assert manifest["needs_trust"]
    assert manifest["estimators"][0]["storage"] == "cloudpickle"
    assert "cloudpickle" in "".join(manifest["requirements"])
    with pytest.raises(SettingsError, match="is a pickle, which can run any code"):
        load_bundle(tmp_path / "model")
    with pytest.raises(SettingsError, match="pickle"):
        _load_pyfunc(str(tmp_path / "model"))
    assert set(load_bundle(tmp_path / "model", trust=True).predict(raw)) <= {"no", "yes"}
    assert _load_pyfunc(str(tmp_path / "model"), {"trust": True}).predict(raw).shape == (len(raw),)


def test_a_type_outside_the_list_is_refused_even_if_the_manifest_praises_it(bundle):
    import hashlib

    import skops.io

    path = bundle / "estimators" / "000.skops"
    path.write_bytes(skops.io.dumps(Majority().fit(np.zeros((2, 1)), [0, 1])))
    manifest = read_manifest(bundle)
    manifest["files"]["estimators/000.skops"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest["estimators"][0] |= {"parts": [], "class": f"{Majority.__module__}.Majority"}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(SettingsError, match="Majority, which is not in the reviewed list"):
        load_bundle(bundle)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.digitize(np.nan_to_num(X[:, 0] + X[:, 1]), [-0.5, 0.5]), np.nan_to_num(X[:, 2])


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(15, random_state=1),
        RandomForestClassifier(8, max_leaf_nodes=7, class_weight="balanced", random_state=1),
        GradientBoostingClassifier(n_estimators=9, random_state=1),
        AdaBoostClassifier(n_estimators=9, random_state=1),
    ],
    ids=lambda e: f"{type(e).__name__}{e.n_estimators}",
)
def test_packed_trees_decide_exactly_alike(estimator, table, tmp_path):
    X, y, _ = table
    complete = X if isinstance(estimator, RandomForestClassifier) else np.nan_to_num(X)
    estimator.fit(complete, y)
    before = dict(vars(estimator))
    shell, parts = native.take_apart(estimator)
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is value for name, value in before.items())
    [(kind, path, value)] = parts
    native.write_part(kind, value, None, tmp_path / "trees.npz")
    again = native.put_together(shell, [(kind, path, tmp_path / "trees.npz")])
    rows = np.random.default_rng(4).normal(size=(2000, 5)).astype(np.float32)
    np.testing.assert_array_equal(again.predict_proba(rows), estimator.predict_proba(rows))
    np.testing.assert_array_equal(again.predict_proba(complete), estimator.predict_proba(complete))


def test_packed_histogram_trees_decide_exactly_alike(table, tmp_path):
    X, _, target = table
    model = HistGradientBoostingRegressor(max_iter=12).fit(X, target)
    shell, [(kind, path, value)] = native.take_apart(model)
    native.write_part(kind, value, None, tmp_path / "trees.npz")
    again = native.put_together(shell, [(kind, path, tmp_path / "trees.npz")])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_threshold_rounded_down_decides_alike_for_float32():
    rng = np.random.default_rng(5)
    x = rng.normal(size=4000).astype(np.float32)
    neighbors = np.nextafter(x, np.float32(np.inf))
    thresholds = np.concatenate(
        [(x.astype(float) + neighbors) / 2, x.astype(float), rng.normal(size=4000)]
    )
    rounded = trees._rounded_down(thresholds)
    for values in (np.tile(x, 3), np.tile(neighbors, 3)):
        np.testing.assert_array_equal(values <= thresholds, values <= rounded)


def test_trees_that_point_outside_are_refused(table, tmp_path):
    X, y, _ = table
    forest = RandomForestClassifier(3, random_state=1).fit(X, y)
    arrays = trees.pack_trees(forest.estimators_)
    shared = trees.template(forest.estimators_[0])
    for name, value, message in [
        ("left", 10**6, "outside of it"),
        ("right", 0, "outside"),
        ("feature", 77, "column"),
    ]:
        broken = {**arrays, name: np.full_like(arrays[name], value, dtype=np.int32)}
        with pytest.raises(DataError, match=message):
            trees.unpack_trees(broken, shared)
    for name, message in [("right", "splits"), ("feature", "splits"), ("values", "leaves")]:
        with pytest.raises(DataError, match=message):
            trees.unpack_trees({**arrays, name: arrays[name][:-1]}, shared)


def test_a_bag_of_forests_is_small(model_of, bundle):
    size = sum(p.stat().st_size for p in (bundle / "estimators").iterdir())
    nodes = sum(
        tree.tree_.node_count
        for pipeline in model_of("binary").members[0].pipelines
        for tree in pipeline.estimator.estimators_
    )
    assert size < 150_000 + 20 * nodes


COLD = """
    import sys, warnings
    warnings.simplefilter("error")
    import numpy as np, pandas as pd
    from automl.inference.pyfunc import _load_pyfunc
    frame = pd.read_pickle(sys.argv[2])
    model = _load_pyfunc(sys.argv[1])
    proba = {"proba": True}
    np.save(sys.argv[3], np.asarray(model.predict(frame, proba)))
    assert model.predict(frame).tolist()
    code = sys.argv[1] + "/code/"
    ours = {name: module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "automl"}
    assert all(file.startswith(code) for file in ours.values()), ours
    packages = {name.split(".")[1] for name in ours if "." in name}
    assert packages <= {"errors", "listing", "preprocessing", "estimators", "inference"}, packages
    assert not {"mlflow", "pydantic", "prefect"} & set(sys.modules)
"""


def test_the_bundle_predicts_in_a_process_that_lacks_our_package(bundle, strange, tmp_path):
    strange.to_pickle(tmp_path / "rows.pkl")
    (tmp_path / "elsewhere").mkdir()
    paths = [str(bundle), str(tmp_path / "rows.pkl"), str(tmp_path / "out.npy")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(COLD), *paths],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(bundle / "code"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = load_bundle(bundle).predict_proba(strange)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_the_pyfunc_gives_labels_or_a_frame_of_probabilities(bundle, model_of, raw, tmp_path):
    loaded = _load_pyfunc(str(bundle))
    assert loaded.predict(raw).tolist() == load_bundle(bundle).predict(raw).tolist()
    shares = loaded.predict(raw, params={"proba": True})
    assert list(shares.columns) == ["no", "yes"]
    assert loaded.predict(raw.to_dict("list")).shape == (len(raw),)
    write_bundle(model_of("regression"), tmp_path / "regression")
    with pytest.raises(SettingsError, match="this one is a regression"):
        _load_pyfunc(str(tmp_path / "regression")).predict(raw, {"proba": True})
