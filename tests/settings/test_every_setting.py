"""No setting is taken and ignored: each is read by what does the work, and those of the data change the plan."""

import ast
import inspect
import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.run.preparation import prepare
from automl.settings import Settings
from automl.settings.presets import PRESETS
from automl.settings.sources import resolve_settings
from automl_flows.commands.train_options import given_settings, signature

ROOT = Path(__file__).parents[2]
DESCRIBING = {"automl/settings", "automl/run/choices.py"}
"""What says what settings are; being named there is no effect."""


@cache
def attributes_read():
    """Names read from something that is called settings, by what does the work."""
    found = set()
    for layer in ("automl", "tasks", "flows"):
        for path in (ROOT / layer).rglob("*.py"):
            if (
                not {path.relative_to(ROOT).as_posix(), path.parent.relative_to(ROOT).as_posix()}
                & DESCRIBING
            ):
                found |= {*names_in(path)}
    return found


def names_in(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = getattr(owner, "id", getattr(owner, "attr", ""))
            if name in {"settings", "_settings"}:
                yield node.attr


def fields_behind(name, seen=()):
    """Fields that a field or property of `Settings` comes from."""
    if name in Settings.model_fields:
        return {name}
    found = inspect.getattr_static(Settings, name, None)
    if not isinstance(found, property) or name in seen:
        return set()
    used = found.fget.__code__.co_names
    return {field for one in used for field in fields_behind(one, (*seen, name))}


@pytest.mark.parametrize("field", Settings.model_fields)
def test_every_setting_is_read_by_what_does_the_work(field):
    assert field in {one for name in attributes_read() for one in fields_behind(name)}


OPTIONS = {
    "target": ("y", {"target": "y"}),
    "task": ("binary", {"task": "binary"}),
    "role": (["zip=nominal"], {"roles": {"zip": "nominal"}}),
    "test_share": (0.2, {"test_share": 0.2}),
    "groups": ("g", {"groups": "g"}),
    "time": ("t", {"time": "t"}),
    "weights": ("w", {"weights": "w"}),
    "class_weight": ("balanced", {"class_weight": "balanced"}),
    "beta": (2.0, {"beta": 2.0}),
    "positive": ("yes", {"positive": "yes"}),
    "metric": ("auc=1,accuracy=2", {"metric": {"auc": 1.0, "accuracy": 2.0}}),
    "budget": ("2m", {"budget_seconds": 120.0}),
    "trials": (9, {"trials": 9}),
    "preset": ("fast", {"preset": "fast", "folds": 3}),
    "families": ("lda,knn", {"families": ("lda", "knn")}),
    "exclude": ("lda", {"exclude": ("lda",)}),
    "optimizer": ("tpe", {"optimizer": "tpe"}),
    "allocator": ("halving", {"allocator": "halving"}),
    "priors": ("learned", {"priors": "learned"}),
    "selection_test": ("mcb", {"selection_test": "mcb"}),
    "alpha": ("leaf=0.1", {"alpha": {"leaf": 0.1}}),
    "strict": (True, {"strict": True}),
    "alpha_split": ("level", {"alpha_split": "level"}),
    "top_n": ("2", {"top_n": 2}),
    "ensemble": ("stacking", {"ensemble": "stacking"}),
    "max_predict_ms": (0.5, {"max_predict_ms": 0.5}),
    "experience": (False, {"experience": False}),
    "exclude_experience": ("iris", {"exclude_experience": ("iris",)}),
    "workers": (2, {"workers": 2}),
    "keep_models": (True, {"keep_models": True}),
    "promotion": ("superior", {"promotion": "superior"}),
    "dask": ("tls://h:8786", {"cluster": "tls://h:8786"}),
    "register_after": (True, {"register_after": True}),
    "seed": (7, {"seed": 7}),
    "name": ("mine", {"name": "mine"}),
}
"""Options of `automl train` that need nothing else: a value, and the settings that it stands for."""
WITH_OTHERS = {"test", "cost_matrix", "trust", "normality", "rope"}
"""Those that need a file or another setting."""
NO_SETTINGS = {"table", "config", "home", "as_json", "dry_run"}


def given(**options):
    """What the command makes of options."""
    nothing = dict.fromkeys(signature().parameters)
    return given_settings({**nothing, "table": "sklearn:iris", "target": "target", **options})


def test_every_option_of_the_command_is_here():
    assert set(signature().parameters) == {*OPTIONS, *WITH_OTHERS, *NO_SETTINGS}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_becomes_the_setting(option):
    value, expected = OPTIONS[option]
    settings = resolve_settings(given(**{option: value}), environment={})
    assert {name: getattr(settings, name) for name in expected} == expected
    assert settings != resolve_settings(given(), environment={})


def test_options_that_need_others_become_settings(tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("0,1\n5,0\n")
    asked = given(cost_matrix=costs, test="sklearn:iris", normality="lilliefors", preset="thesis")
    settings = resolve_settings({**asked, "family_folder": "own", "trust": True}, environment={})
    assert settings.cost_matrix == [[0.0, 1.0], [5.0, 0.0]]
    assert (settings.test, settings.normality, settings.trust) == (
        "sklearn:iris",
        "lilliefors",
        True,
    )


def table():
    rng = np.random.default_rng(0)
    n = 160
    x, other = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "x": x,
            "zip": rng.integers(1, 9, n),
            "g": np.repeat(np.arange(n // 4), 4),
            "t": rng.permutation(n),
            "w": rng.uniform(0.2, 3, n),
            "two": np.where(x + other > 0, "yes", "no"),
            "three": pd.cut(x + other, 3, labels=list("abc")).astype(str),
            "number": x + other,
        }
    )


def planned(folder, target="two", **settings):
    """All that a run knows before its first trial."""
    folder.mkdir(parents=True)
    ignored = {
        name: "ignored" for name in ("two", "three", "number", "g", "t", "w") if name != target
    }
    used = {settings.get(kind) for kind in ("groups", "time", "weights")}
    roles = {name: role for name, role in ignored.items() if name not in used}
    roles |= settings.pop("roles", {})
    asked = resolve_settings(
        {"table": "t", "target": target, "roles": roles, **settings}, environment={}
    )
    facts = prepare(RunFolder(folder), asked, frame=table())
    plan = json.loads((folder / "plan.json").read_text())
    rows = {path.name: path.read_bytes() for path in sorted(folder.glob("**/*.np*"))}
    return json.dumps([facts, plan], sort_keys=True), rows


CHANGES = {
    "task": ({"target": "zip"}, {"task": "regression"}),
    "roles": ({}, {"roles": {"zip": "nominal"}}),
    "groups": ({}, {"groups": "g"}),
    "time": ({}, {"time": "t"}),
    "weights": ({}, {"weights": "w"}),
    "positive": ({}, {"positive": "no"}),
    "class_weight": ({}, {"class_weight": "balanced"}),
    "metric": ({}, {"metric": "log_loss"}),
    "beta": ({}, {"beta": 2.0}),
    "cost_matrix": ({}, {"cost_matrix": [[0, 1], [5, 0]]}),
    "decision": ({}, {"decision": "given"}),
    "test_share": ({}, {"test_share": 0.25}),
    "seed": ({}, {"seed": 1}),
    "folds": ({}, {"folds": 4}),
    "search_repeats": ({}, {"search_repeats": 2}),
    "candidate_repeats": ({}, {"candidate_repeats": 3}),
    "holdout_above_rows": ({}, {"holdout_above_rows": 100}),
    "target_bins": ({"target": "number"}, {"target_bins": 5}),
    "data_mode": ({"ensemble": "none"}, {"data_mode": "halves"}),
    "halves": ({"preset": "thesis"}, {"halves": "bootstrap"}),
    "search_share": ({"preset": "thesis"}, {"search_share": 0.6}),
    "threads": ({}, {"threads": 2}),
    "predictions_quota_mib": ({}, {"predictions_quota_mib": 10}),
    "family_folder": ({}, {"family_folder": "own"}),
    "trust": ({"family_folder": "own"}, {"trust": True}),
    "optimizer": ({}, {"optimizer": "esmbo"}),
    "preset": ({}, {"preset": "fast"}),
}
"""Settings of the data and of the plan: what stands beside them, and what is asked for."""


@pytest.mark.parametrize("setting", CHANGES)
def test_a_setting_of_the_data_changes_what_is_planned(setting, tmp_path):
    beside, asked = CHANGES[setting]
    before = planned(tmp_path / "runs" / "before", **beside)
    assert before == planned(tmp_path / "runs" / "again", **beside)
    assert before != planned(tmp_path / "runs" / "after", **{**beside, **asked})


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"target": "three", "decision": "given"}, "decision"),
        ({"target": "number", "decision": "given"}, "decision"),
        ({"decision": "given", "metric": "auc"}, "decision"),
        ({"target": "number", "class_weight": "balanced"}, "class_weight"),
        ({"target": "number", "beta": 2.0}, "beta"),
        ({"target": "three", "target_bins": 4}, "target_bins"),
        ({"target": "number", "ensemble_combine": "vote"}, "ensemble_combine"),
    ],
)
def test_a_setting_without_an_effect_on_this_target_is_refused(settings, name, tmp_path):
    with pytest.raises(SettingsError, match=f"^setting {name}: "):
        planned(tmp_path / "runs" / "one", **settings)


@pytest.mark.parametrize("target", ["three", "number"])
@pytest.mark.parametrize("asked", [{"positive": "yes"}, {"cost_matrix": [[0, 1], [5, 0]]}])
def test_what_two_classes_need_is_refused_for_others(target, asked, tmp_path):
    with pytest.raises((SettingsError, ValueError), match=r"positive|cost matrix|class"):
        planned(tmp_path / "runs" / "one", target, **asked)


def test_a_scorer_that_takes_no_weights_says_so(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def score(y, prediction):\n    return float((y == prediction.argmax(1)).mean())\n"
    )
    facts, _ = planned(tmp_path / "runs" / "one", weights="w", metric=f"{file}:score")
    assert "takes none: scores count all rows alike" in facts


SCALARS = {
    (name, value)
    for values in ({n: f.default for n, f in Settings.model_fields.items()}, *PRESETS.values())
    for name, value in values.items()
    if isinstance(value, bool | int | float | str)
}


@pytest.mark.parametrize(("name", "value"), sorted(SCALARS, key=str))
def test_the_environment_gives_a_value_as_text(name, value):
    text = str(value).lower() if isinstance(value, bool) else str(value)
    asked = {"table": "t", "target": "y"}
    needed = {"AUTOML_ENSEMBLE": "none"} if value == "halves" else {}
    settings = resolve_settings(
        asked, environment={**needed, f"AUTOML_{name.upper()}": text}, allows_idle=True
    )
    assert getattr(settings, name) == value
