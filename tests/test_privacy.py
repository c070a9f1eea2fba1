"""What a home holds is for its user alone."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from automl.durable import write_whole
from automl.errors import AutoMLWarning, SettingsError
from automl.home import Home
from automl.privacy import make_private_file, make_private_folder, tighten


@pytest.fixture(params=[0, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_what_is_made_is_private_whatever_the_umask(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "home")
    home.prepare()
    folder = home.create_run()
    assert [mode(path) for path in (home.path, home.runs, folder.path)] == [0o700] * 3
    make_private_folder(home.experience)
    write_whole(home.experience / "x.json.gz", [b"x"], "the experience")
    assert mode(home.experience) == 0o700
    assert mode(home.experience / "x.json.gz") == 0o600
    make_private_file(home.path / "mlflow.db")
    (home.path / "mlflow.db.lock").touch()
    home.prepare()  # and has nothing to say: warnings are errors
    with closing(sqlite3.connect(home.path / "mlflow.db")) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table t (x)")
        names = ("mlflow.db", "mlflow.db-wal", "mlflow.db-shm")
        assert [mode(home.path / name) for name in names] == [0o600] * 3


@pytest.fixture
def old(tmp_path: Path) -> Home:
    """A home as it was made before."""
    home = tmp_path / "home"
    for name in ("artifacts", "experience", "prefect", "runs", "aliases"):
        (home / name).mkdir(parents=True)
    for name in ("mlflow.db", "mlflow.db-wal", "prefect/prefect.db", "experience/a.json.gz"):
        (home / name).write_text("")
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Home(home)


def test_a_home_that_was_open_is_closed_with_a_note_once(old: Home) -> None:
    with pytest.warns(AutoMLWarning, match=r"was open to other users \(it and 8 more\).* closed"):
        old.prepare()
    closed = [old.path, *(old.path / n for n in ("artifacts", "experience", "prefect", "runs"))]
    assert {mode(path) for path in closed} == {0o700}
    files = ("mlflow.db", "mlflow.db-wal", "prefect/prefect.db", "experience/a.json.gz")
    assert {mode(old.path / name) for name in files} == {0o600}
    old.prepare()  # and says nothing again: warnings are errors


def test_a_folder_that_holds_other_things_stays_open_itself(old: Home) -> None:
    (old.path / "thesis.tex").write_text("")
    assert "(artifacts and 7 more)" in tighten(old.path)
    assert mode(old.path) == 0o755
    assert mode(old.path / "runs") == 0o700
    assert mode(old.path / "thesis.tex") & 0o444


def test_what_a_link_leads_to_is_left_alone(old: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (old.path / "artifacts").rename(elsewhere)
    (old.path / "artifacts").symlink_to(elsewhere)
    tighten(old.path)
    assert mode(elsewhere) == 0o755


@pytest.mark.parametrize("place", ["/proc", "/proc/home", "/sys/home", "/dev/null/home"])
def test_a_place_that_cannot_be_written_is_refused_at_once(place: str) -> None:
    for ask in (Home(Path(place)).check, Home(Path(place)).prepare):
        with pytest.raises(SettingsError, match=f"home folder {place} cannot be used: "):
            ask()
