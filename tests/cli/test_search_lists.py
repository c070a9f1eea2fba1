"""The lists of what searches: one line and a source each."""

from __future__ import annotations

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.ensembles.registry import ENSEMBLES
from automl.errors import SettingsError
from automl.metrics.registry import METRICS
from automl.optimizers.registry import OPTIMIZERS
from automl.records import Task
from automl.run.choices import check_names
from automl.settings import Settings
from automl.settings.sources import resolve_settings

ROWS = {
    kind: [(name, entry.summary, entry.source) for name, entry in entries.items()]
    for kind, entries in {
        "optimizer": OPTIMIZERS,
        "allocator": ALLOCATORS,
        "ensemble": {name: entry for name, entry in ENSEMBLES.items() if name != "single"},
    }.items()
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_entry_is_listed_with_one_line_and_its_source(automl, kind):
    outcome = automl(f"{kind}s")
    assert outcome.code == 0
    lines = outcome.out.splitlines()[1:]
    listed = [tuple(row.values()) for row in automl(f"{kind}s", "--json").json]
    assert [row[:3] for row in listed if row[0] not in ("auto", "none")] == ROWS[kind]
    for line, (name, summary, source, *options) in zip(lines, listed, strict=True):
        assert line.startswith(name)
        assert summary in line
        assert source in line
        assert all(option in line for option in (options[0] if options else ()))


@pytest.mark.parametrize("task", [None, *map(str, Task)])
def test_every_metric_is_listed_for_the_tasks_that_it_serves(automl, task):
    options = [] if task is None else ["--task", task]
    rows = automl("metrics", *options, "--json").json
    served = [metric for metric in METRICS.values() if task is None or task in metric.tasks]
    assert [row["metric"] for row in rows] == [metric.name for metric in served]
    assert [row["better"] == "greater" for row in rows] == [m.is_maximized for m in served]
    lines = automl("metrics", *options).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [metric.name for metric in served]


@pytest.mark.parametrize("kind", ["optimizer", "allocator"])
def test_every_entry_can_be_asked_for(kind):
    for name in {"optimizer": OPTIMIZERS, "allocator": ALLOCATORS}[kind]:
        given = {"optimizer": "gp_prior", kind: name}
        check_names(Settings(table="t", target="y", priors="learned", **given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"allocator": "auot"}, "did you mean 'auto'"),
        ({"allocator": "uniform_seconds", "trials": 5}, "cost_aware"),
        ({"optimizer": {"base": "smac", "acquisition": "ei_per_cost"}, "trials": 5}, "cost_aware"),
        ({"allocator": "cash_seconds", "optimizer": "tpe"}, "needs an optimizer with acquisition"),
        ({"allocator": "only:svm", "families": "lightgbm,knn"}, "svm"),
        ({"allocator": "only:svm", "exclude": "svm"}, "svm"),
    ],
)
def test_what_a_run_would_refuse_is_refused_before_it(given, said):
    with pytest.raises(SettingsError, match=said):
        check_names(resolve_settings({"table": "t", "target": "y", **given}, environment={}))


COMPOSITIONS = [
    ("{base: smaac}", "smac"),
    ("{base: smac, surogate: forest}", "surrogate"),
    ("{base: smac, surrogate: forrest}", "forest"),
    ("{base: smac, surrogate: {name: forest, n_tree: 30}}", "n_trees"),
    ("{base: smac, surrogate: {name: forest, n_trees: many}}", "n_trees"),
    ("{base: smac, surrogate: {n_trees: 30}}", "surrogate"),
    ("{base: smac, acquisition: {name: ei, margin: -1}}", "margin"),
    ("{base: smac, acquisition: {name: ucb, width: .nan}}", "width"),
    ("{base: smac, maximizer: [local_search]}", "maximizer"),
    ("{base: smac, interleaving: -1}", "interleaving"),
    ("{base: random, depth: 3}", "no options"),
    ("{base: tpe, n_startup: 0}", "n_startup"),
    ("{base: smac, name: floor}", "floor"),
    ("{base: smac, name: tpe}", "tpe"),
    ("{surrogate: forest}", "acquisition"),
    ("{}", "surrogate"),
    ("[smac]", "optimizer"),
    ("7", "optimizer"),
    ("smca", "smac"),
]


@pytest.mark.parametrize(("written", "named"), COMPOSITIONS)
def test_a_composition_that_is_not_usable_is_refused_in_one_sentence(
    automl, table, tmp_path, written, named
):
    config = tmp_path / "settings.yaml"
    config.write_text(f"optimizer: {written}\n")
    outcome = automl("train", table, "--target", "y", "--config", config, "--dry-run")
    line = outcome.err.strip()
    assert (outcome.code, outcome.out) == (2, "")
    assert line.startswith("error: ")
    assert "\n" not in line
    assert named in line
