"""Bundles that somebody else wrote, well or badly: no code of theirs runs, and each refusal is a sentence."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier

from automl.errors import AutoMLError, DataError, SettingsError
from automl.inference import trees
from automl.inference.bundle import load_bundle, write_bundle
from automl.inference.manifest import MOST_BYTES
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.provenance import KIND
from automl.inference.readings import Reading
from automl.inference.signature import key_name, signed
from automl.installation import make_key
from automl.preprocessing import build_preprocessor

PICKLE = "estimators/canary.pickle"
OWN = b"k" * 32
THEIRS = b"t" * 32


class Canary(BaseEstimator):
    """Makes a folder where it is unpickled."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.makedirs, (self.folder,)


def pickled(folder: Path) -> bytes:
    import pickle

    return pickle.dumps(Canary(str(folder)))


@pytest.fixture(scope="module")
def template(model_of, schema, typed, targets, tmp_path_factory):
    """A bundle of forests, a linear model and histogram trees, with a pickle beside them that would run code."""
    folder = tmp_path_factory.mktemp("foreign") / "model"
    model = model_of("binary", threshold=0.4)
    preprocessor = build_preprocessor({"prep.encoder": "ordinal"}, seed=3)
    matrix = preprocessor.fit_transform(typed, targets["binary"])
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(matrix, targets["binary"])
    members = [*model.members, Member(1.0, [FittedPipeline(preprocessor, boosted)], "boosted")]
    labels = list(model.classes_)
    whole = TableModel(schema, members, task="binary", target="label", classes=labels)
    write_bundle(whole, folder, extra={"run": "r1"})
    return folder


@pytest.fixture
def foreign(template, tmp_path):
    """Copy of the bundle; the pickle makes `tmp_path / "canary"`."""
    folder = tmp_path / "model"
    shutil.copytree(template, folder)
    (folder / PICKLE).write_bytes(pickled(tmp_path / "canary"))
    reseal(folder, manifest_of(folder))
    return folder


def manifest_of(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


def reseal(folder: Path, manifest: dict) -> None:
    """Write a manifest whose digests fit, as anybody can."""
    for path in (folder / "estimators").iterdir():
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(folder).as_posix()
            manifest["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edited(**changes):
    """Kind of bundle: the manifest with other values, ``a__0__b`` being the path to one."""

    def edit(folder: Path) -> None:
        manifest = manifest_of(folder)
        for path, value in changes.items():
            *way, last = [int(p) if p.isdigit() else p for p in path.split("__")]
            place = manifest
            for part in way:
                place = place[part]
            place[last] = value
        reseal(folder, manifest)

    return edit


def without(*path):
    def edit(folder: Path) -> None:
        manifest = manifest_of(folder)
        place = manifest
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return edit


def content(data: bytes):
    return lambda folder: (folder / "manifest.json").write_bytes(data)


def replaced(name: str, data: bytes):
    """Kind of bundle: another file, with the digest that fits."""

    def edit(folder: Path) -> None:
        (folder / name).write_bytes(data)
        reseal(folder, manifest_of(folder))

    return edit


def as_fifo(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


def as_folder(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()


def too_large(folder: Path) -> None:
    os.truncate(folder / "manifest.json", MOST_BYTES + 1)


def linked_out(folder: Path) -> None:
    outside = folder.parent / "outside.skops"
    (folder / "estimators/000.skops").rename(outside)
    (folder / "estimators/000.skops").symlink_to(outside)


def edited_files_list(folder: Path) -> None:
    content(json.dumps({**manifest_of(folder), "files": []}).encode())(folder)


def changed_file(folder: Path) -> None:
    (folder / "estimators/000.skops").write_bytes(b"x")


def missing_file(folder: Path) -> None:
    (folder / "estimators/000.skops").unlink()


def as_pickle(**changes):
    """Kind of bundle: the first estimator is the pickle."""
    entry = {"class": "os.Canary", "storage": "cloudpickle", "file": PICKLE, "parts": []}
    return edited(estimators__0={**entry, **changes}, needs_trust=changes.get("needs_trust", True))


def unknown_type(folder: Path) -> None:
    class Unknown(BaseEstimator):
        pass

    replaced("estimators/000.skops", skops.io.dumps(Unknown()))(folder)


def objects_in_arrays(folder: Path) -> None:
    [part] = manifest_of(folder)["estimators"][0]["parts"]
    cell = np.empty(1, dtype=object)
    cell[0] = Canary(str(folder.parent / "canary"))
    np.savez(folder / part["file"], node_counts=cell)
    reseal(folder, manifest_of(folder))


def bomb(folder: Path) -> None:
    path = folder / "estimators/000.skops"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("schema.json", "w", force_zip64=True) as file,
    ):
        for _ in range(1100):
            file.write(bytes(2**20))
    reseal(folder, manifest_of(folder))


def boosted_part(folder: Path) -> tuple[dict, str]:
    manifest = manifest_of(folder)
    [part] = [
        p for e in manifest["estimators"] for p in e["parts"] if p["kind"] == "histogram_trees"
    ]
    return manifest, part["file"]


def loop_in_a_tree(folder: Path) -> None:
    manifest, name = boosted_part(folder)
    arrays = trees.read_arrays(folder / name)
    arrays["nodes"]["left"] = 0
    trees.write_arrays(folder / name, arrays)
    reseal(folder, manifest)


def column_outside_of_a_tree(folder: Path) -> None:
    manifest, name = boosted_part(folder)
    arrays = trees.read_arrays(folder / name)
    arrays["nodes"]["feature_idx"] = 10**6
    trees.write_arrays(folder / name, arrays)
    reseal(folder, manifest)


def forest_for_more_columns(folder: Path) -> None:
    [part] = manifest_of(folder)["estimators"][0]["parts"]
    arrays = trees.read_arrays(folder / part["file"])
    arrays["n_features"] = arrays["n_features"] + 1000
    arrays["feature"] = np.full(len(arrays["feature"]), 900)
    trees.write_arrays(folder / part["file"], arrays)
    reseal(folder, manifest_of(folder))


def forged_signature(folder: Path) -> None:
    manifest = manifest_of(folder) | {"signature": {"key": key_name(OWN), "hmac": "0" * 64}}
    reseal(folder, manifest)


def part_of(kind: str):
    def edit(folder: Path) -> None:
        (folder / "estimators/garbage").write_bytes(b"garbage\n" * 9)
        part = {"kind": kind, "path": ["estimators_"], "file": "estimators/garbage"}
        edited(estimators__0__parts=[part])(folder)

    return edit


STACK = {"center": [0.0], "scale": [0.0]}
COLUMN = "schema__columns__0__"
KINDS = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "not a model bundle"),
    "manifest is a folder": (as_folder, "not a model bundle"),
    "manifest is a pipe": (as_fifo, "not a model bundle"),
    "manifest is no JSON": (content(b"{"), "not a model bundle"),
    "manifest is a list": (content(b"[]"), "holds no JSON object"),
    "manifest is nested deep": (content(b'{"a":' * 100_000), "not a model bundle"),
    "manifest is no text": (content(b"\xff\xfe\x00"), "not a model bundle"),
    "manifest is too large": (too_large, "more than"),
    "manifest is one number too long": (content(b'{"format":' + b"9" * 9999), "not a model bundle"),
    "format is missing": (without("format"), "format must be one of"),
    "format is text": (edited(format="4"), "format must be one of"),
    "format is later": (edited(format=99), "format 99 is later"),
    "files are missing": (without("files"), "files must be there"),
    "files are a list": (edited_files_list, "files must be"),
    "unknown field": (edited(hook="os.system"), "hook must be absent"),
    "path goes up": (edited(preprocessors=["../model/preprocessors/000.skops"]), "relative path"),
    "path is absolute": (edited(estimators__0__file="/etc/passwd"), "relative path"),
    "path has a null": (edited(estimators__0__file="a\0b"), "relative path"),
    "listed path goes up": (edited(**{"files__../../x": "0" * 64}), "relative path"),
    "path without digest": (edited(estimators__0__file="code/none.skops"), "files has a digest of"),
    "link out of the bundle": (linked_out, "link out of the bundle"),
    "changed file": (changed_file, "differs from what was written"),
    "missing file": (missing_file, "is missing from the bundle"),
    "digest is no digest": (edited(**{"files__requirements.txt": "md5"}), "hexadecimal"),
    "storage unknown": (edited(estimators__0__storage="joblib"), "must be one of native"),
    "pickle": (as_pickle(), "is a pickle, which can run any code"),
    "pickle that denies it": (as_pickle(needs_trust=False), "must be absent"),
    "pickle and no need of trust": (
        lambda f: (as_pickle()(f), edited(needs_trust=False)(f)),
        "needs_trust must be True",
    ),
    "pickle as skops": (edited(estimators__0__file=PICKLE), "cannot be read"),
    "pickle as preprocessor": (edited(preprocessors__0=PICKLE), "cannot be read"),
    "pickle as trees": (edited(estimators__0__parts__0__file=PICKLE), "cannot be read"),
    "objects in arrays": (objects_in_arrays, "cannot be read"),
    "type that nobody reviewed": (unknown_type, "not in the reviewed list"),
    "skops is cut": (replaced("estimators/000.skops", b"PK\x03\x04 and no more"), "cannot be read"),
    "archive is a bomb": (bomb, "expands to"),
    "part is no lightgbm": (part_of("lightgbm"), "cannot be read"),
    "part is no xgboost": (part_of("xgboost"), "cannot be read"),
    "part is no catboost": (part_of("catboost"), "cannot be read"),
    "part is no tree": (part_of("trees"), "cannot be read"),
    "part is of no kind": (part_of("dill"), "must be one of lightgbm"),
    "part is of a class": (edited(estimators__0__parts__0__path=["__class__"]), "has no place"),
    "part is of code": (edited(estimators__0__parts__0__path=["a.b()"]), "names of attributes"),
    "tree is a loop": (loop_in_a_tree, "child outside"),
    "tree splits on no column": (column_outside_of_a_tree, "column that does not exist"),
    "forest has more columns": (forest_for_more_columns, "columns"),
    "estimator as preprocessor": (
        edited(preprocessors__0="estimators/000.skops"),
        "TablePreprocessor",
    ),
    "position too large": (edited(members__0__pipelines__0__estimator=99), "below"),
    "position negative": (edited(members__0__pipelines__0__preprocessor=-1), "at least 0"),
    "position is true": (edited(members__0__pipelines__0__estimator=True), "whole number"),
    "no members": (edited(members=[]), "members must be a list of at least one"),
    "no pipelines": (edited(members__0__pipelines=[]), "pipelines must be a list of at least one"),
    "weights sum to nothing": (
        edited(members__0__weight=0, members__1__weight=0, members__2__weight=0),
        "weights of members",
    ),
    "weight is no number": (edited(members__0__weight=float("nan")), "finite number"),
    "inputs in a circle": (edited(members__0__inputs=[0]), "first layer"),
    "scale of zero": (edited(members__0__pipelines__0__stack=STACK), "without zeros"),
    "classes for a regression": (edited(task="regression"), "do not fit the task"),
    "labels of another type": (edited(classes_dtype="datetime64[ns]"), "classes_dtype must be"),
    "labels that are no numbers": (edited(classes_dtype="int64"), "classes"),
    "costs of another shape": (edited(cost_matrix=[[0, 1], [1]]), "cost_matrix"),
    "threshold too large": (edited(threshold=7), "threshold must be"),
    "median of classes": (edited(combine="median"), "combine"),
    "power of zero": (edited(calibration={"power": 0, "biases": []}), "power must be above 0"),
    "biases of other classes": (
        edited(calibration={"power": 1.0, "biases": [0.0] * 9}),
        "biases must be one for each class",
    ),
    "reading of a target of classes": (
        edited(target_reading=Reading().to_json()),
        "target_reading must be null for the task",
    ),
    "column twice": (edited(schema__columns__1__name="size"), "names must be distinct"),
    "category twice": (
        edited(schema__columns__3__categories=["a", "a"]),
        "categories must be distinct",
    ),
    "role unknown": (edited(**{f"{COLUMN}role": "code"}), "role must be one of"),
    "form unknown": (edited(**{f"{COLUMN}reading__form__kind": "code"}), "reading.form"),
    "column renamed": (edited(**{f"{COLUMN}outputs": ["other"]}), "cannot predict rows"),
    "no columns": (edited(schema={"columns": [], "ignored": []}), "cannot predict rows"),
    "surrogate in a name": (edited(target="\ud800"), "UTF-8"),
    "version missing": (without("versions", "numpy"), "numpy"),
    "signature forged": (forged_signature, "was changed since this installation signed it"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_malformed_bundle_is_refused_in_a_sentence_and_runs_nothing(kind, foreign):
    spoil, words = KINDS[kind]
    spoil(foreign)
    with pytest.raises(AutoMLError) as caught:
        load_bundle(foreign, key=OWN)
    assert isinstance(caught.value, (DataError, SettingsError))
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 700
    assert not (foreign.parent / "canary").exists()


def test_the_bundle_that_the_others_are_made_of_loads(foreign, raw):
    assert load_bundle(foreign, key=OWN).predict(raw).shape == (len(raw),)


def test_the_canary_sings(foreign):
    as_pickle()(foreign)
    with pytest.raises(DataError, match="cannot predict rows"):
        load_bundle(foreign, trust=True)
    assert (foreign.parent / "canary").is_dir()


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 9),
        st.sampled_from([2**70, -1, 10**9]),
        st.floats(),
        st.text(max_size=4),
        st.sampled_from(
            [PICKLE, "cloudpickle", "skops", "native", "trees", "/etc/passwd", "../manifest.json",
             "estimators/000.skops", "preprocessors/000.skops", "date", "nominal", "numeric", "%Q",
             "regression", "multiclass", "median", "vote", "object", "float64", "<unseen>"]
        ),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=4,
)  # fmt: skip


def places(value, path=()):
    """Paths to everything in plain JSON, without the long lists of digests and versions."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, entry in inner:
        if path[:1] not in (("files",), ("versions",)):
            yield from places(entry, (*path, name))


@st.composite
def edits(draw):
    """One edit: which place (by a share of all), and what becomes of it."""
    return draw(st.floats(0, 1, exclude_max=True)), draw(
        st.one_of(
            st.tuples(st.just("set"), VALUES),
            st.tuples(st.sampled_from(["drop", "repeat"]), st.none()),
        )
    )


def apply(manifest, edit):
    share, (verb, value) = edit
    found = list(places(manifest))
    path = found[int(share * len(found))]
    if not path:
        return value if verb == "set" else manifest
    owner = manifest
    for part in path[:-1]:
        owner = owner[part]
    if verb == "set":
        owner[path[-1]] = value
    elif verb == "drop":
        del owner[path[-1]]
    elif isinstance(owner, list):
        owner.append(copy.deepcopy(owner[path[-1]]))
    return manifest


@given(st.lists(edits(), min_size=1, max_size=3))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore")  # unknown columns and other versions are told, as they should
def test_whatever_a_manifest_says_no_code_runs_and_nothing_fails_inside(foreign, raw, edit_list):
    original = (foreign / "manifest.json").read_bytes()
    manifest = json.loads(original)
    for edit in edit_list:
        manifest = apply(manifest, edit)
    (foreign / "manifest.json").write_text(json.dumps(manifest))
    try:
        load_bundle(foreign, key=OWN).predict(raw)
    except (DataError, SettingsError):
        pass
    finally:
        (foreign / "manifest.json").write_bytes(original)
    assert not (foreign.parent / "canary").exists()


@pytest.mark.parametrize(
    ("key", "run", "is_loaded"),
    [
        (OWN, "r1", True),
        (OWN, "", True),
        (OWN, "r2", False),
        (THEIRS, "r1", False),
        (None, "r1", False),
    ],
)
def test_a_pickle_runs_only_where_its_manifest_is_signed_for_the_run(foreign, key, run, is_loaded):
    as_pickle()(foreign)
    manifest = signed(manifest_of(foreign), OWN, KIND)
    (foreign / "manifest.json").write_text(json.dumps(manifest))
    if is_loaded:
        load_bundle(foreign, key=key, run=run)
    else:
        with pytest.raises(SettingsError, match="nothing proves that this installation wrote it"):
            load_bundle(foreign, key=key, run=run)
    assert (foreign.parent / "canary").exists() == is_loaded


def test_a_signature_of_another_kind_of_record_proves_nothing(foreign):
    as_pickle()(foreign)
    (foreign / "manifest.json").write_text(json.dumps(signed(manifest_of(foreign), OWN, "run")))
    with pytest.raises(DataError, match="was changed since"):
        load_bundle(foreign, key=OWN)


def test_one_byte_of_a_signed_manifest_changed_is_seen(model_of, tmp_path):
    write_bundle(model_of("binary"), tmp_path / "model", extra={"run": "r"}, key=make_key())
    path = tmp_path / "model" / "manifest.json"
    path.write_text(path.read_text().replace('"weight": 3.0', '"weight": 2.0'))
    with pytest.raises(DataError, match="was changed since this installation signed it"):
        load_bundle(tmp_path / "model", key=make_key())
