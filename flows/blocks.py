"""Addresses of tables that Prefect's blocks hold, so that no parameter shows a secret."""

from __future__ import annotations

from typing import cast

from automl.errors import SettingsError

SECRET, STORAGE = "secret:", "storage:"


def table_address(address: str) -> str:
    """Whole address of a table; one that names no block stays as it is.

    Parameters
    ----------
    address
        ``secret:NAME``: the value of the Secret block NAME is the address. ``storage:NAME/PATH``: the
        file PATH below the base path of the RemoteFileSystem block NAME, whose settings fsspec then
        has for every address of that scheme in this process.

    Raises
    ------
    SettingsError
        If there is no such block.
    """
    if address.startswith(SECRET):
        return _secret(address.removeprefix(SECRET))
    if address.startswith(STORAGE):
        name, _, path = address.removeprefix(STORAGE).partition("/")
        return _stored(name, path)
    return address


def _secret(name: str) -> str:
    from prefect.blocks.system import Secret

    try:
        return str(cast("Secret[str]", Secret.load(name)).get())
    except ValueError:
        raise _missing("secret", name) from None


def _stored(name: str, path: str) -> str:
    import fsspec
    from prefect.filesystems import RemoteFileSystem

    try:
        block = cast("RemoteFileSystem", RemoteFileSystem.load(name))
    except ValueError:
        raise _missing("remote-file-system", name) from None
    scheme = block.basepath.partition("://")[0]
    fsspec.config.conf.setdefault(scheme, {}).update(block.settings)
    return f"{block.basepath.rstrip('/')}/{path}"


def _missing(kind: str, name: str) -> SettingsError:
    return SettingsError(
        f"table: there is no Prefect block {kind}/{name}; `prefect block ls` lists them",
        setting="table",
    )
