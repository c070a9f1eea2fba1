"""The key of this installation: what it signs, it has written itself, and its pickles may be read.

A random key of 256 bits in ``$XDG_STATE_HOME/automl/key`` (``~/.local/state/automl/key``), or in the file that
`KEY_VARIABLE` names. It lies outside every home, so that who copies or writes a home does not have it. Whoever
can read it can sign, so a file that others may read is refused.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from automl.errors import SettingsError

KEY_VARIABLE = "AUTOML_KEY_FILE"
KEY_BYTES = 32
"""Length of the digest of its signatures (SHA-256)."""
_TEXT = re.compile(rb"[0-9a-f]{64}\n?")


def key_file() -> Path:
    """Where the key is, or will be.

    Raises
    ------
    SettingsError
        If there is neither the variable nor a home directory of the user.
    """
    if named := os.environ.get(KEY_VARIABLE):
        return Path(named).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "automl" / "key"
    try:
        return Path.home() / ".local" / "state" / "automl" / "key"
    except RuntimeError:
        raise SettingsError(
            f"the key of this installation has no place, since the user has no home directory; "
            f"name a file for it with {KEY_VARIABLE}"
        ) from None


def read_key() -> bytes | None:
    """The key; None if nothing was ever signed here.

    Raises
    ------
    SettingsError
        If the file cannot be read, may be read by others, or holds no key.
    """
    path = key_file()
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read(2 * KEY_BYTES + 2)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{_named(path)} cannot be read: {error.strerror}; {_ADVICE}") from None
    if mode & 0o077:
        raise SettingsError(
            f"{_named(path)} must be readable by its user alone (mode 0600), and its mode is "
            f"{mode:04o}; if nobody else has read it: chmod 600 {path}, else remove it"
        )
    if not _TEXT.fullmatch(text):
        raise SettingsError(f"{_named(path)} must hold 64 hexadecimal digits; {_ADVICE}")
    return bytes.fromhex(text.decode())


def make_key() -> bytes:
    """The key; made if there is none yet, by exactly one of several processes.

    Raises
    ------
    SettingsError
        As `read_key`, or if it cannot be written.
    """
    key = read_key()
    if key is not None:
        return key
    path = key_file()
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(draft)
        with suppress(FileExistsError):  # another process was first: its key counts
            path.hardlink_to(draft)
    except OSError as error:
        raise SettingsError(
            f"{_named(path)} cannot be written: {error.strerror}; {_ADVICE}"
        ) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    made = read_key()
    if made is None:
        raise SettingsError(f"{_named(path)} is gone again; {_ADVICE}")
    return made


_ADVICE = f"another file can be named with {KEY_VARIABLE}"


def _named(path: Path) -> str:
    return f"the key of this installation, {path},"


def _write(path: Path) -> None:
    """Write a new key to a file that does not exist, durable when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, f"{secrets.token_hex(KEY_BYTES)}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
