"""The key of an installation: made once, by one process, for its user alone."""

from __future__ import annotations

import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.inference.signature import key_name, proof, signed
from automl.installation import KEY_VARIABLE, key_file, make_key, read_key

PLAIN = st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans()))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "state" / "key"))
    return tmp_path / "state" / "key"


def test_the_key_lies_in_the_users_state_folder_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert key_file() == tmp_path / ".local/state/automl/key"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert key_file() == tmp_path / "elsewhere/automl/key"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # the specification says: ignore it
    assert key_file() == tmp_path / ".local/state/automl/key"


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_a_key_is_made_once_for_its_user_alone_whatever_the_umask(place: Path, mask: int) -> None:
    place.parent.mkdir()
    assert read_key() is None
    before = os.umask(mask)
    try:
        key = make_key()
    finally:
        os.umask(before)
    assert len(key) == 32
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert make_key() == read_key() == key
    assert [path.name for path in place.parent.iterdir()] == ["key"]


def test_several_at_once_make_one_key(place: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: make_key(), range(32)))
    assert keys == {read_key()}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_may_read_is_refused(place: Path, mode: int) -> None:
    make_key()
    place.chmod(mode)
    for ask in (read_key, make_key):
        with pytest.raises(SettingsError, match=f"mode 0600.*its mode is {mode:04o}.*chmod 600"):
            ask()


@pytest.mark.parametrize("text", [b"", b"secret", b"0" * 63, b"g" * 64, b"0" * 64 + b"\n\n"])
def test_a_file_that_is_no_key_is_refused(place: Path, text: bytes) -> None:
    make_key()
    place.write_bytes(text)
    with pytest.raises(SettingsError, match=re.escape(str(place)) + ".*64 hexadecimal digits"):
        read_key()


@pytest.mark.parametrize("name", ["file/key", ""])
def test_a_place_that_cannot_hold_a_key_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / name) if name else "/proc/automl-key")
    with pytest.raises(SettingsError, match=f"key of this installation.*{KEY_VARIABLE}"):
        make_key()


@given(PLAIN, st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_signature_holds_for_its_content_its_key_and_its_kind(
    content: dict[str, object], key: bytes, other: bytes
) -> None:
    content.pop("signature", None)
    whole = signed(content, key, "bundle")
    assert proof(dict(reversed(whole.items())), key, "bundle") == "own"
    assert proof(whole, None, "bundle") == proof(content, key, "bundle") == "foreign"
    assert proof(whole, key, "run") == "altered"
    assert proof({**whole, "more": 1, "fewer": 2}, key, "bundle") == "altered"
    if other != key:
        assert proof(whole, other, "bundle") == "foreign"
        assert key_name(key) != key_name(other)


@pytest.mark.parametrize("found", [None, "x", [], {"key": "x"}, {"hmac": "\ud800"}])
def test_what_is_no_signature_proves_nothing(found: object) -> None:
    assert proof({"a": 1, "signature": found}, b"k" * 32, "run") == "foreign"
    named = {"key": key_name(b"k" * 32), "hmac": found}
    assert proof({"a": 1, "signature": named}, b"k" * 32, "run") == "altered"
