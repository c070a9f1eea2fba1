"""The tree of hyperparameters as text and drawn (B14, figure 3.3)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from automl.errors import SettingsError
from automl.families.registry import families, get_family
from automl.reports.space_tree import Kind, save_space_tree, space_tree, tree_lines, tree_text
from automl_flows.commands.cli import run

DOCUMENT = Path(__file__).parents[2] / "docs" / "families.md"
SPACES = [
    pytest.param(family.space(kind), id=f"{name}-{kind}")
    for name, family in families().items()
    for kind in family.kinds
]


@pytest.mark.parametrize("space", SPACES)
def test_every_hyperparameter_of_every_signature_is_on_its_path(space):
    lines = tree_lines(space)
    paths = {}
    for i, line in enumerate(lines):
        above = paths.get(line.parent, ())
        assert line.depth == (0 if line.parent < 0 else lines[line.parent].depth + 1)
        assert line.parent < i
        paths[i] = (*above, line)
    leaves = {Kind.NUMBER, Kind.CHOICE}
    found = set()
    for path in paths.values():
        if path[-1].kind in leaves:
            branches = [
                f"{a.text.split(' ')[0]}={b.text}"
                for a, b in pairwise(path)
                if a.kind is Kind.CATEGORY
            ]
            found.add((path[-1].text.split(" ")[0], frozenset(branches)))
    for signature in space.signatures():
        names = {name for name, branches in found if branches <= set(signature.path)}
        assert {leaf.name for leaf in signature.leaves} == names
        branching = {line.text.split(" ")[0] for line in lines if line.kind is Kind.CATEGORY}
        assert set(signature.branches) <= branching


def test_the_text_is_the_one_in_the_documents():
    text = tree_text(get_family("decision_tree").space("classification"))
    assert text in DOCUMENT.read_text(encoding="utf-8")
    lengths = {len(line) - len(line.lstrip("│├└─ ")) for line in text.splitlines()}
    assert lengths == {0, 3, 6, 9}


def test_the_picture_boxes_what_branches_and_names_everything():
    space = get_family("svm").space("classification")
    figure = space_tree(space)
    (axes,) = figure.axes
    lines = tree_lines(space)
    texts = axes.texts
    assert len(texts) == len(lines)
    assert len(axes.lines) == len(lines) - 1
    boxed = [t.get_text() for t in texts if t.get_bbox_patch().get_edgecolor()[3] > 0]
    assert boxed == [line.text for line in lines if line.kind in {Kind.FAMILY, Kind.CATEGORY}]
    assert any("loguniform(low=0.01, high=1000)" in t.get_text() for t in texts)


def test_the_command_prints_draws_and_refuses(tmp_path, capsys):
    assert run(["families", "svm"]) == 0
    assert capsys.readouterr().out == tree_text(get_family("svm").space("classification"))
    assert run(["families", "svm", "--task", "regression", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "epsilon" in {line["text"] for line in found}
    for suffix in ("svg", "png"):
        file = tmp_path / f"svm.{suffix}"
        assert run(["families", "svm", "--tree", str(file)]) == 0
        assert file.stat().st_size > 3000
    assert run(["families", "svn"]) == 2
    assert "did you mean 'svm'" in capsys.readouterr().err
    assert run(["families", "--tree", str(tmp_path / "a.svg")]) == 2
    assert "--tree needs the NAME of a family" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="a picture must end in"):
        save_space_tree(get_family("svm").space("regression"), tmp_path / "tree.txt")
