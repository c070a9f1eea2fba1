"""Models that runs of this home made, found in their folders: no mlflow is loaded.

The registry is asked who holds an alias, by one query; the bundle is the one in the run folder, if it still is
the one that was registered.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from automl.errors import SettingsError
from automl.home import Home
from automl.inference.manifest import MANIFEST
from automl.installation import read_key
from automl.listing import first_few
from automl.lookup import did_you_mean
from automl.problem_names import clean_name
from automl.tracking.holders import CHAMPION, has_version, holders
from automl.tracking.outbox import Outbox
from automl.tracking.pending import pending_runs
from automl.tracking.store import store_address

if TYPE_CHECKING:
    from automl.inference.model import TableModel

BUNDLE_DIGEST = "bundle_digest"
"""Event of the outbox: digest of the bundle that was registered."""
_RUN_REFERENCE = re.compile(r"^\d{8}[0-9a-f-]*$")


@dataclass(frozen=True)
class FoundBundle:
    """Where a reference leads.

    Parameters
    ----------
    folder
        The bundle.
    label : such as ``beans-label/3`` or a run id
    run_id : our id of the run that made it; empty if unknown
    tracking_run : MLflow's id of that run; empty when MLflow was not asked
    """

    folder: Path
    label: str
    run_id: str = ""
    tracking_run: str = ""

    def load(self, *, trust: bool = False) -> TableModel:
        """The model; pickles that this installation wrote for its run are read in any case.

        Parameters
        ----------
        trust
            Whether pickles of others may be read.

        Raises
        ------
        DataError, SettingsError
            See `automl.inference.bundle.load_bundle`.
        """
        from automl.inference.bundle import load_bundle

        return load_bundle(self.folder, trust=trust, key=read_key(), run=self.run_id)


def is_run(reference: str) -> bool:
    """Whether a reference is a run id or the start of one."""
    return _RUN_REFERENCE.match(reference) is not None


def bundle_of_run(reference: str, home: Path) -> FoundBundle:
    """Bundle of a run id or the start of one.

    Raises
    ------
    SettingsError
        If there is no such run, or it has no model.
    """
    run = Home(home).run(reference)
    if not run.bundle.is_dir():
        raise SettingsError(f"run {run.run_id} has no model yet", run=run.run_id)
    return FoundBundle(run.bundle, run.run_id, run.run_id)


def own_bundle(text: str, home: Path) -> FoundBundle | None:
    """Bundle of ``name@alias``, ``name/version`` or ``name`` (its champion) if a run of this home made it.

    Returns
    -------
    None if MLflow has to be asked: the model is another home's, waits to be registered, or was changed.

    Raises
    ------
    SettingsError
        If the model has other aliases than this one.
    """
    name, _, alias = text.partition("@")
    name, _, version = name.partition("/")
    if pending_runs(name, home):
        return None
    if version:
        is_there = has_version(name, version, home)
        return bundle_made_here(name, version, home) if is_there else None
    found = holders(name, home)
    if not found.is_current or not found.versions:
        return None
    alias = alias or CHAMPION
    if alias not in found.versions:
        raise no_alias(name, alias, found.versions)
    return bundle_made_here(name, found.versions[alias], home)


def bundle_made_here(name: str, version: str, home: Path) -> FoundBundle | None:
    """Bundle of a version in the folder of the run that made it, if it is the one that was registered."""
    store = store_address(home).shown
    for folder in reversed(Home(home).run_folders()):
        outbox = Outbox.load(folder.path / "outbox.json")
        own = (outbox.store, outbox.done.get("registered_name"), outbox.done.get("version"))
        if own != (store, clean_name(name), version) or not (folder.bundle / MANIFEST).is_file():
            continue
        if outbox.done.get(BUNDLE_DIGEST) == bundle_digest(folder.bundle):
            label = f"{clean_name(name)}/{version}"
            return FoundBundle(folder.bundle, label, folder.run_id, outbox.parent)
    return None


def bundle_digest(bundle: Path) -> str:
    """SHA-256 of a bundle's manifest, which holds the digests of all its files."""
    return hashlib.sha256((bundle / MANIFEST).read_bytes()).hexdigest()


def no_alias(name: str, alias: str, versions: Mapping[str, str]) -> SettingsError:
    """Error about an alias that a model does not have."""
    held = ", ".join(f"{each} (version {version})" for each, version in sorted(versions.items()))
    known = f"its aliases are {held}" if held else "it has none"
    return SettingsError(
        f"model {name!r} has no alias {alias!r}; {known}", setting="model", name=name
    )


def no_version(name: str, version: str, versions: Iterable[str]) -> SettingsError:
    """Error about a version that a model does not have."""
    known = ", ".join(sorted(versions, key=int)) or "none"
    return SettingsError(f"model {name!r} has no version {version!r}; it has {known}", name=name)


def no_model(name: str, names: Iterable[str]) -> SettingsError:
    """Error about a name that is not registered."""
    known = sorted(names)
    listed = f"; the names are {first_few(known)}" if known else "; none is registered"
    hint = did_you_mean(name, known, listed)
    return SettingsError(f"no such model: {name!r} is not registered{hint}", name=name)
