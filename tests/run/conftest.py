"""Runs that are killed while they begin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from automl.home import RunFolder
from automl.run import beginning


@pytest.fixture
def killed_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunFolder]:
    """Function that begins the first run of a home and kills it where it calls something by this name; its folder."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def begun(place: str, settings, home, **given) -> RunFolder:
        with monkeypatch.context() as patched:
            patched.setattr(beginning, place, killed)
            patched.setattr(beginning, "_remove", lambda _: None)
            with pytest.raises(KeyboardInterrupt):
                beginning.begin(settings, home, **given)
        (folder,) = home.run_folders()
        return folder

    return begun
