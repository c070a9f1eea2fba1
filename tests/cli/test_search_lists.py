"""The lists of what searches: one line and a source each."""

from __future__ import annotations

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.optimizers.registry import OPTIMIZERS
from automl.settings import Settings
from automl_flows.given import check_names


@pytest.mark.parametrize(
    ("command", "kind", "entries"),
    [("optimizers", "optimizer", OPTIMIZERS), ("allocators", "allocator", ALLOCATORS)],
)
def test_every_entry_is_listed_with_one_line_and_its_source(automl, command, kind, entries):
    outcome = automl(command)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) == len(entries) + 1
    for line, (name, entry) in zip(lines[1:], entries.items(), strict=True):
        assert line.startswith(name)
        assert entry.summary in line
        assert line.rstrip().endswith(entry.source)
    rows = automl(command, "--json").json
    assert rows == [
        {kind: name, "summary": entry.summary, "source": entry.source}
        for name, entry in entries.items()
    ]


@pytest.mark.parametrize("kind", ["optimizer", "allocator"])
def test_every_entry_can_be_asked_for(kind):
    for name in {"optimizer": OPTIMIZERS, "allocator": ALLOCATORS}[kind]:
        check_names(Settings(table="t", target="y", **{kind: name}))


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
    ("{base: random}", "random"),
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
    (line,) = outcome.err.strip().splitlines()
    assert (outcome.code, outcome.out) == (2, "")
    assert line.startswith("error: ")
    assert named in line
