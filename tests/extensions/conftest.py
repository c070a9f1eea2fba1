"""A third party's package, installed as pip would, without a network."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pytest

ACME = Path(__file__).with_name("acme")


def install(project: Path, target: Path) -> Path:
    """Modules of a project in a folder, with the metadata that its `pyproject.toml` says."""
    said = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    name, version = said["project"]["name"], said["project"]["version"]
    modules = [f"{module}.py" for module in said["tool"]["setuptools"]["py-modules"]]
    packages = said["tool"]["setuptools"]["packages"]
    information = target / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir(parents=True)
    for module in modules:
        shutil.copy(project / module, target)
    for package in packages:
        shutil.copytree(project / package, target / package)
    points = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in said["project"]["entry-points"].items()
    ]
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (information / "METADATA").write_text(metadata)
    (information / "entry_points.txt").write_text("\n".join(points))
    names = [module.removesuffix(".py") for module in modules]
    (information / "top_level.txt").write_text("\n".join([*names, *packages]))
    return target


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package of `acme`, to be put on the path."""
    return install(ACME, tmp_path_factory.mktemp("site") / "packages")


@pytest.fixture(scope="session")
def with_acme(site: Path) -> dict[str, str]:
    """Environment of processes in which it is installed."""
    return {**os.environ, "PYTHONPATH": str(site)}
