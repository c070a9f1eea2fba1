"""The table "Where is it?" of the architecture page names files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"


def rows():
    table = PAGE.read_text().split("## Where is it?")[1].split("\n## ")[0]
    return [
        line for line in table.splitlines() if line.startswith("| ") and "You look for" not in line
    ]


def places(row):
    """Files and what is said to be in each; a file without a folder lies beside the one before."""
    folder, file, found = ROOT, None, []
    for word in re.findall(r"`([^`]+)`", row.split("|")[2]):
        if "/" in word or word.endswith(".py"):
            path = (folder if "/" not in word else ROOT) / word
            folder, file = path.parent, path
            found.append((path, ""))
        elif file is not None and re.fullmatch(r"[A-Za-z_.]+", word):
            found.append((file, word))
    return found


def definitions(file):
    """Functions and classes of a module, methods with and without their class."""
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            names |= {f"{node.name}.{name}" for name in inner} | inner
    return names


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.split("|")[1].strip())
def test_a_row_names_what_is_there(row):
    named = places(row)
    assert named
    for file, name in named:
        assert file.exists(), file
        if name and file.is_file():
            assert name in definitions(file), f"{name} is not in {file}"
