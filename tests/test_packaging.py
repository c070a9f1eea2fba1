"""What an installation holds, as against a checkout that is used in place."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OF_AN_EXTRA = {"extreme_boosting.py", "oblivious_boosting.py"}
"""Modules that are imported only for a family whose extra is installed."""

SOURCES = {"automl": "automl", "tasks": "automl_tasks", "flows": "automl_flows"}


def test_every_package_of_the_library_is_installed():
    settings = PROJECT["tool"]["setuptools"]
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "automl").rglob("__init__.py")
    }
    listed = settings["packages"]
    assert {name for name in listed if name.split(".")[0] == "automl"} == found
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("folder", SOURCES)
def test_what_is_imported_is_declared(folder: str):
    """What a module needs to be imported is a dependency; what a function imports may be of an extra."""
    always = distributions(PROJECT["project"]["dependencies"])
    extras = PROJECT["project"]["optional-dependencies"]
    sometimes = always | distributions(r for name in extras if name != "dev" for r in extras[name])
    providers = packages_distributions()
    undeclared = [
        f"{file.relative_to(ROOT)}: {module}"
        for file in (ROOT / folder).rglob("*.py")
        for module, is_needed in imported(ast.parse(file.read_text(encoding="utf-8")))
        if not (always if is_needed and file.name not in OF_AN_EXTRA else sometimes)
        & {canonicalize_name(name) for name in providers.get(module, [])}
    ]
    assert undeclared == []


def distributions(requirements) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def imported(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Packages of others in a module, and whether the module's own import needs them."""
    at_once = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        for package in {name.partition(".")[0] for name in names}:
            if package not in sys.stdlib_module_names and package not in SOURCES.values():
                yield package, id(node) in at_once
