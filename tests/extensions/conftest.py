"""A third party's package, installed as pip would, without a network."""

from __future__ import annotations

import shutil
import sys
import tomllib
import venv
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
def python_with_acme(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment that has all that this one has, and the package of `acme`."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    (site_packages,) = folder.glob("lib/python3*/site-packages")
    ours = dict.fromkeys(path for path in sys.path if path.endswith("-packages"))
    lines = [f"import site; site.addsitedir({path!r})" for path in ours]  # the first one counts
    (site_packages / "ours.pth").write_text("\n".join(lines))
    install(ACME, site_packages)
    return str(python)
