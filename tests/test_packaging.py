"""What an installation holds, as against a checkout that is used in place."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_of_the_library_is_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "automl").rglob("__init__.py")
    }
    listed = settings["packages"]
    assert {name for name in listed if name.split(".")[0] == "automl"} == found
    assert len(set(listed)) == len(listed)
