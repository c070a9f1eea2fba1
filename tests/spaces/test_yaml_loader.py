"""Family files: what is read, and what is refused with file, key and reason."""

from __future__ import annotations

import copy
import pickle
import re
import textwrap
import time
from pathlib import Path

import pytest
import yaml

from automl.errors import SettingsError
from automl.spaces.tree import SpaceTree
from automl.spaces.yaml_loader import load_family_text, read_yaml

GOOD = """
name: svm
title: Support vector machine
source: "B14 app. A"
estimators: {classification: "sklearn.svm:SVC", regression: "sklearn.svm:SVR"}
fixed: {cache_size: 200}
capabilities: {sample_weight: true, max_rows: 20000, max_columns: null}
cost: {order: 9, relative: 3.0, exponent: 2}
simplicity: 0.4
interpretability: 0.3
prep:
  prep.encoder: [onehot]
tree:
  C: {type: loguniform, low: 1e-3, high: 1e3, default: 1.0}
  kernel:
    type: categorical
    choices:
      linear: {weight: 1}
      rbf:
        tree:
          gamma: {type: loguniform, low: 1e-5, high: 10}
rules: ["C * gamma < 5000"]
"""

NO_TREES = ("name:", "spaces:", "preprocessing:")


@pytest.fixture
def load(tmp_path):
    def load_text(text: str):
        path = tmp_path / "svm.yaml"
        path.write_text(text, encoding="utf-8")
        return load_family_text(path)

    return load_text


def test_a_good_file_gives_every_key(load) -> None:
    text = load(GOOD)
    assert text.name == "svm"
    assert text.kinds == ("classification", "regression")
    assert text.fixed == {"classification": {"cache_size": 200}, "regression": {"cache_size": 200}}
    assert text.capabilities.sample_weight
    assert text.capabilities.max_rows == 20000
    assert text.capabilities.max_columns is None
    assert (text.cost.order, text.cost.relative, text.cost.exponent) == (9, 3.0, 2.0)
    space = text.space("classification")
    assert isinstance(space, SpaceTree)
    assert [s.name for s in space.signatures()] == ["svm/kernel=linear", "svm/kernel=rbf"]
    assert pickle.loads(pickle.dumps(text)) == text


def test_only_limits_a_family_to_one_kind(load) -> None:
    text = load(GOOD + "only: regression\n")
    assert text.kinds == ("regression",)
    with pytest.raises(SettingsError, match="no estimator for classification"):
        text.space("classification")


def test_fixed_arguments_may_differ_by_kind(load) -> None:
    text = load(GOOD.replace("{cache_size: 200}", "{regression: {epsilon: 0.1}}"))
    assert text.fixed == {"classification": {}, "regression": {"epsilon": 0.1}}


def test_a_fixed_argument_may_be_computed_from_the_size_of_the_training_part(load) -> None:
    text = load(GOOD.replace("200}", '{from: "max(40, n_rows // 40)"}}'))
    expression = text.fixed["regression"]["cache_size"]
    assert expression({"n_rows": 4000, "n_columns": 3, "n_classes": 0}) == 100
    assert pickle.loads(pickle.dumps(text)) == text


def test_scalars_follow_yaml_1_2(tmp_path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "a: [on, off, yes, no, true, False, 1e-5, 1E3, .5, 010, 0x1F, 1:30, 2020-01-01, null, ~,"
        " -.inf, 1_000, '1', 12e03, -7]\nb:\n"
    )
    found = read_yaml(path)
    assert found["a"][:6] == ["on", "off", "yes", "no", True, False]
    assert found["a"][6:11] == [1e-5, 1000.0, 0.5, 10, 31]
    assert found["a"][11:15] == ["1:30", "2020-01-01", None, None]
    assert found["a"][15:] == [float("-inf"), "1_000", "1", 12000.0, -7]
    assert found["b"] is None


def test_quoted_numbers_are_numbers_where_a_number_must_be(load) -> None:
    text = load(GOOD.replace("low: 1e-3", 'low: "1e-3"').replace("weight: 1", 'weight: "2"'))
    leaf = text.space("classification").signatures()[0].leaf("C")
    assert leaf.distribution.low == 0.001


BAD = {
    "unknown top key": (lambda f: f.update(titel="x"), "titel", "did you mean 'title'"),
    "missing key": (lambda f: f.pop("title"), "title", "missing"),
    "bad name": (lambda f: f.update(name="SVM 1"), "name", "lower-case"),
    "no estimator": (lambda f: f.update(estimators={}), "estimators", "must name"),
    "bad estimator": (
        lambda f: f["estimators"].update(regression="sklearn.svm.SVR"),
        "estimators.regression",
        "of the form",
    ),
    "bad estimator kind": (
        lambda f: f["estimators"].update(regresion="a:B"),
        "estimators.regresion",
        "did you mean 'regression'",
    ),
    "fixed no mapping": (lambda f: f.update(fixed=3), "fixed", "mapping"),
    "fixed mixed": (
        lambda f: f.update(fixed={"regression": {}, "a": 1}),
        "fixed.regression",
        "must not be combined with other arguments",
    ),
    "fixed from what is unknown": (
        lambda f: f.update(fixed={"a": {"from": "n_encoded + C"}}),
        "fixed.a.from",
        "may read n_rows, n_columns, n_classes; got C, n_encoded",
    ),
    "fixed from what does not parse": (
        lambda f: f.update(fixed={"regression": {"a": {"from": "n_rows **"}}}),
        "fixed.regression.a.from",
        "form",
    ),
    "capability": (
        lambda f: f["capabilities"].update(sample_weights=True),
        "capabilities.sample_weights",
        "did you mean 'sample_weight'",
    ),
    "capability flag": (
        lambda f: f["capabilities"].update(sample_weight=1),
        "capabilities.sample_weight",
        "true or false",
    ),
    "capability limit": (
        lambda f: f["capabilities"].update(max_rows=-1),
        "capabilities.max_rows",
        "number",
    ),
    "cost": (lambda f: f["cost"].update(relative="fast"), "cost.relative", "number"),
    "simplicity": (lambda f: f.update(simplicity=2), "simplicity", r"\[0, 1\]"),
    "only": (lambda f: f.update(only="both"), "only", "classification or regression"),
    "prep name": (lambda f: f["prep"].update(scaler=["a"]), "prep.scaler", "begin with"),
    "prep empty": (lambda f: f["prep"].update({"prep.x": []}), "prep.prep.x.choices", "none"),
    "prep branch": (
        lambda f: f["prep"].update({"prep.x": {"choices": ["a"], "branch": True}}),
        "prep.prep.x.branch",
        "not allowed",
    ),
    "tree no mapping": (lambda f: f.update(tree=[1]), "tree", "mapping"),
    "name": (lambda f: f["tree"].update({"a b": {}}), "tree.a b", "identifier"),
    "node no mapping": (lambda f: f["tree"].update(a=3), "tree.a", "mapping"),
    "type": (
        lambda f: f["tree"]["C"].update(type="log_uniform"),
        "tree.C.type",
        "did you mean 'loguniform'",
    ),
    "bound": (lambda f: f["tree"]["C"].update(low="x"), "tree.C.low", "number"),
    "bounds": (lambda f: f["tree"]["C"].update(low=2000), "tree.C.low", "smaller"),
    "parameter": (lambda f: f["tree"]["C"].update(hihg=1), "tree.C.hihg", "did you mean 'high'"),
    "missing parameter": (lambda f: f["tree"]["C"].pop("high"), "tree.C.high", "missing"),
    "default": (lambda f: f["tree"]["C"].update(default=1e9), "tree.C.default", "number in"),
    "default list": (lambda f: f["tree"]["C"].update(default=[1]), "tree.C.default", "one value"),
    "default kind": (
        lambda f: f["tree"]["C"].update(default={"both": 1}),
        "tree.C.default.both",
        "known",
    ),
    "node only": (lambda f: f["tree"]["C"].update(only="x"), "tree.C.only", "classification"),
    "virtual argument": (
        lambda f: f["tree"]["C"].update(virtual=True, argument="c"),
        "tree.C.argument",
        "virtual",
    ),
    "deep bound": (
        lambda f: f["tree"]["kernel"]["choices"]["rbf"]["tree"]["gamma"].update(low=0),
        "tree.kernel.choices.rbf.tree.gamma.low",
        "positive",
    ),
    "no choices": (lambda f: f["tree"]["kernel"].update(choices={}), "tree.kernel.choices", "none"),
    "choice key": (
        lambda f: f["tree"]["kernel"]["choices"]["rbf"].update(wieght=1),
        "tree.kernel.choices.rbf.wieght",
        "did you mean 'weight'",
    ),
    "weight": (
        lambda f: f["tree"]["kernel"]["choices"]["rbf"].update(weight=0),
        "tree.kernel.choices.rbf.weight",
        "positive",
    ),
    "same value": (
        lambda f: f["tree"]["kernel"]["choices"].update(other={"value": "rbf"}),
        "tree.kernel.choices.other",
        "same value",
    ),
    "value": (
        lambda f: f["tree"]["kernel"]["choices"]["rbf"].update(value=[1]),
        "tree.kernel.choices.rbf.value",
        "plain value",
    ),
    "categorical default": (
        lambda f: f["tree"]["kernel"].update(default="poly"),
        "tree.kernel.default",
        "one of linear, rbf",
    ),
    "leaf with tree": (
        lambda f: f["tree"]["kernel"].update(branch=False),
        "tree.kernel.branch",
        "tree",
    ),
    "branch": (
        lambda f: f["tree"]["kernel"].update(branch=1),
        "tree.kernel.branch",
        "true or false",
    ),
    "no choice for a kind": (
        lambda f: [c.update(only="regression") for c in f["tree"]["kernel"]["choices"].values()],
        "tree.kernel.choices",
        "leave a choice",
    ),
    "twice active": (
        lambda f: f["tree"].update(gamma={"type": "uniform", "low": 0, "high": 1}),
        "tree.gamma",
        "active twice",
    ),
    "own name inside": (
        lambda f: f["tree"]["kernel"]["choices"]["rbf"]["tree"].update(
            kernel={"type": "uniform", "low": 0, "high": 1}
        ),
        "tree.kernel",
        "further in",
    ),
    "argument twice": (
        lambda f: f["tree"].update(D={"type": "uniform", "low": 0, "high": 1, "argument": "C"}),
        "tree.D",
        "set twice",
    ),
    "one line": (lambda f: f["tree"].update(C="uniform(low=1)"), "tree.C.high", "missing"),
    "one line form": (lambda f: f["tree"].update(C="uniform"), "tree.C", "of the form"),
    "one line categorical": (
        lambda f: f["tree"].update(C="categorical(values=[1])"),
        "tree.C",
        "choices",
    ),
    "encode": (
        lambda f: f["tree"]["C"].update(encode="value / n_row"),
        "tree.C.encode",
        "did you mean 'n_rows'",
    ),
    "rules no list": (lambda f: f.update(rules="a < 1"), "rules", "list"),
    "rule syntax": (lambda f: f.update(rules=["C <"]), "rules.0", "of the form"),
    "rule code": (lambda f: f.update(rules=["open('x')"]), "rules.0", "may call"),
    "rule name": (lambda f: f.update(rules=["C < gama"]), "rules.0", "did you mean 'gamma'"),
    "rule no text": (lambda f: f.update(rules=[{"C": 1}]), "rules.0", "expression"),
    "rule against default": (lambda f: f.update(rules=["C > 2"]), "rules", "default"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_named_by_file_key_and_reason(load, case) -> None:
    change, key, reason = BAD[case]
    family = copy.deepcopy(yaml.safe_load(GOOD.replace("1e-", "1.0e-").replace("1e3", "1000")))
    change(family)
    with pytest.raises(SettingsError, match=reason) as caught:
        load(yaml.safe_dump(family, sort_keys=False))
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.file == "svm.yaml"
    assert error.key == key
    assert str(error).startswith(f"svm.yaml: {key}: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [", "YAML"),
        ("a: 1\na: 2\n", "key 'a' twice in line 2"),
        ("x: {b: 1, b: 2}", "twice"),
        ("? [1]\n: 2\n", "plain value"),
        ("!!python/object:os.system {}", "YAML"),
        ("a: !!int x", "YAML"),
        ("- 1", "mapping"),
        ("a: *b", "YAML"),
        ("&a {x: *a}", "YAML"),
        ("a: \x01", "YAML"),
        ("", "missing"),
    ],
)
def test_text_that_is_no_family_is_refused(load, text, reason) -> None:
    with pytest.raises(SettingsError, match=reason):
        load(text)


def test_files_that_cannot_be_read_are_refused(tmp_path) -> None:
    with pytest.raises(SettingsError, match="readable"):
        load_family_text(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    with pytest.raises(SettingsError, match="UTF-8"):
        load_family_text(tmp_path / "latin.yaml")


def test_the_documented_examples_load(load) -> None:
    document = (Path(__file__).parents[2] / "docs" / "families.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", document, re.DOTALL)
    (family,) = (text for text in examples if text.startswith("name:"))
    trees = [text for text in examples if not text.startswith(NO_TREES)]
    assert len(load(family).space("regression").signatures()) == 3
    assert trees
    head = GOOD[: GOOD.index("prep:")]
    for tree in trees:
        load(head + "tree:\n" + textwrap.indent(tree, "  "))


def test_thirty_files_load_in_less_than_a_hundred_and_fifty_milliseconds(load) -> None:
    load(GOOD)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(30):
            load(GOOD)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.15
