"""Registered models: which one a reference means, where its bundle is, and what aliases point to.

A run whose time was over may have left its model unregistered. Whatever looks up a name here
registers such models of the name first (`settle`), so that ``name@champion`` is what the last
finished run has promised.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from automl.addresses import public_text
from automl.errors import AutoMLWarning, DataError, ServiceError, SettingsError
from automl.home import Home
from automl.problem_names import clean_name
from automl.run_records.promotion import PromotionRecord
from automl.tracking.holders import CHAMPION, holders, remember_aliases
from automl.tracking.layout import MODEL_SCORE, RUN_ID_TAG
from automl.tracking.mirror_process import registration
from automl.tracking.new_champions import NewChampion, note_champion
from automl.tracking.own_models import (
    FoundBundle,
    bundle_digest,
    bundle_made_here,
    bundle_of_run,
    is_run,
    no_alias,
    no_model,
    no_version,
)
from automl.tracking.pending import is_refused, pending_runs
from automl.tracking.publication import (
    BUNDLE_DIGEST_TAG,
    MODEL_ID_TAG,
    PREVIOUS,
    move_alias,
    versions_by_alias,
)
from automl.tracking.store import StoreAddress, open_store, service_errors, store_address
from automl.tracking.synchronization import register_pending, register_within

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

    from automl.inference.model import TableModel

ROLLED_BACK = "somebody chose this version with automl rollback"
"""Reason of a promotion."""
_MODEL_ID = re.compile(r"m-[0-9A-Za-z]+")
"""Also names a folder of downloads."""
_MISSING = {"RESOURCE_DOES_NOT_EXIST", "NOT_FOUND"}
_USER_ERRORS = {*_MISSING, "INVALID_PARAMETER_VALUE"}


@dataclass(frozen=True)
class RegisteredVersion:
    """One version of a registered model, with the metrics of its run."""

    name: str
    version: str
    aliases: tuple[str, ...]
    run_id: str
    created_at: float
    data_digest: str
    needs_trust: bool
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float | None:
        """Validated score of the model; earlier versions stored it as `score`."""
        return self.metrics.get(MODEL_SCORE, self.metrics.get("score"))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "aliases": list(self.aliases)}


def resolve_model(reference: str, home: Path, *, trust: bool = False) -> TableModel:
    """Load the model that a reference means; see `find_bundle`.

    Parameters
    ----------
    trust
        Whether pickles of others may be read. Those that this installation wrote are read in any case.

    Raises
    ------
    DataError
        If a file of the bundle differs from its digest.
    SettingsError
        If nothing has this reference, or it needs `trust`.
    ServiceError
        If the tracking store is needed and away.
    """
    return find_bundle(reference, home).load(trust=trust)


def find_bundle(reference: str, home: Path) -> FoundBundle:
    """Bundle of a reference.

    Parameters
    ----------
    reference
        Our run id or the start of one (MLflow is not asked), ``name@alias``, ``name/version``
        (an ``@alias`` after it is not looked at), ``name`` (its champion), ``models:/…`` or ``runs:/MLFLOW_RUN_ID/…``.
    home
        Home folder.

    Raises
    ------
    DataError
        If the bundle is not the one that was registered.
    SettingsError
        If nothing has this reference, or it is no model of this program.
    ServiceError
        If the tracking store is needed and away.
    """
    if is_run(reference):
        return bundle_of_run(reference, home)
    text = reference.removeprefix("models:/")
    is_name = not reference.startswith("runs:/") and not text.startswith("m-")
    if is_name and "/" not in text:
        return _bundle_of_name(text, home)
    with _registry(home) as (client, address):
        if reference.startswith("runs:/"):
            return _bundle_of_run(client, address, reference)
        if text.startswith("m-"):
            return _bundle_of_logged_model(client, address, text)
        return _bundle_of_version(client, address, _version(client, text))


def _bundle_of_name(text: str, home: Path) -> FoundBundle:
    """Bundle of ``name@alias`` or ``name``, which a run may have promised that is not registered yet."""
    name = text.partition("@")[0]
    settle(name, home)
    try:
        with _registry(home) as (client, address):
            return _bundle_of_version(client, address, _version(client, text))
    except SettingsError as error:
        waiting = [folder for folder in pending_runs(name, home) if not is_refused(folder)]
        if not waiting:
            raise
        raise ServiceError(
            f"{text} is not registered yet: {registration(waiting[-1]).reason or error.message}; "
            f"its model is that of run {waiting[-1].run_id}, which needs no registration"
        ) from None


def settle(name: str, home: Path, *, within: float | None = None) -> None:
    """Register the models of a name whose registration was cut short; warns about each.

    Parameters
    ----------
    within : most seconds that this may take; None for as many as it usually needs at most
    """
    registered = (
        register_pending(name, home) if within is None else register_within(name, home, within)
    )
    for sentence in registered:
        warnings.warn(sentence, AutoMLWarning, stacklevel=3)


def champion_bundle(name: str, home: Path) -> FoundBundle:
    """Bundle of the champion: of the home's own run that made it, else out of the registry.

    Whether the registry is asked matters at the beginning of a run: loading MLflow takes seconds.

    Raises
    ------
    SettingsError, ServiceError, DataError
        As `find_bundle`.
    """
    version = holders(name, home).champion
    own = bundle_made_here(name, version, home)
    return own or find_bundle(f"{name}/{version}" if version else f"{name}@{CHAMPION}", home)


def aliases(name: str, home: Path) -> dict[str, str]:
    """Version by alias, as the registry has them now."""
    with _registry(home) as (client, _):
        return versions_by_alias(client, clean_name(name))


def rollback(name: str, home: Path, *, version: str = "") -> tuple[str, str]:
    """Make the previous champion, or another version, the champion.

    Returns
    -------
        The version that was the champion (empty if none was) and the one that is now.

    Raises
    ------
    SettingsError
        If there is no such model or version, or no previous champion.
    """
    settle(name, home)
    with _registry(home) as (client, address), address.lock():
        _check_name(client, name)
        versions = versions_by_alias(client, clean_name(name))
        champion, target = versions.get(CHAMPION, ""), version or versions.get(PREVIOUS, "")
        if not target:
            raise SettingsError(
                f"model {name!r} has no previous champion to go back to; name a version", name=name
            )
        run_id = _version_by_number(client, name, target).tags.get(RUN_ID_TAG, "")
        move_alias(client, clean_name(name), CHAMPION, target)
        if target != champion:
            note_champion(home, _rolled_back(clean_name(name), target, run_id, champion))
        remember_aliases(name, home, versions_by_alias(client, clean_name(name)))
    return champion, target


def _rolled_back(name: str, version: str, run_id: str, before: str) -> NewChampion:
    champion = f"{name}/{before}" if before else ""
    record = PromotionRecord(promote=True, reason=ROLLED_BACK, champion=champion)
    return NewChampion(name, f"{name}/{version}", run_id, asdict(record))


def list_versions(name: str, home: Path) -> list[RegisteredVersion]:
    """All versions of a registered model, newest first."""
    settle(name, home)
    with _registry(home) as (client, _):
        held = versions_by_alias(client, clean_name(name))
        versions = client.search_model_versions(f"name = '{clean_name(name)}'")
        by_version: dict[str, list[str]] = {}
        for alias, version in held.items():
            by_version.setdefault(version, []).append(alias)
        return [
            RegisteredVersion(
                name=version.name,
                version=str(version.version),
                aliases=tuple(sorted(by_version.get(str(version.version), []))),
                run_id=version.tags.get(RUN_ID_TAG, ""),
                created_at=version.creation_timestamp / 1000.0,
                data_digest=version.tags.get("automl.data_digest", ""),
                needs_trust=version.tags.get("automl.trust") == "needed",
                metrics=_metrics_of(client, version.run_id),
            )
            for version in sorted(versions, key=lambda v: -int(v.version))
        ]


def _metrics_of(client: MlflowClient, run: str | None) -> dict[str, float]:
    """Metrics of a run in MLflow; none if it is no longer there."""
    from mlflow.exceptions import MlflowException

    try:
        return dict(client.get_run(run).data.metrics) if run else {}
    except MlflowException as error:
        if error.error_code not in _MISSING:
            raise
        return {}


def row_digests_of(found: FoundBundle, home: Path) -> NDArray[np.uint64] | None:
    """Digests of the rows a model was trained on (n_rows,); None if they are not known.

    Retraining compares the old and the new model on rows that are in neither's training table.

    Raises
    ------
    ServiceError
        If the registry cannot be reached and they are not kept in this home.
    """
    local = Home(home).runs / found.run_id / "table" / "row_digests.npy"
    if found.run_id and local.exists():
        return np.asarray(np.load(local), dtype=np.uint64)
    if not found.tracking_run:
        return None
    with _registry(home) as (client, _), tempfile.TemporaryDirectory() as folder:
        names = [item.path for item in client.list_artifacts(found.tracking_run, "data")]
        if "data/row_digests.npy" not in names:
            return None
        path = client.download_artifacts(found.tracking_run, "data/row_digests.npy", folder)
        return np.asarray(np.load(path), dtype=np.uint64)


@contextmanager
def _registry(home: Path) -> Iterator[tuple[MlflowClient, StoreAddress]]:
    """Open store; what MLflow does not find is an error of the reference, not of the service."""
    address = store_address(home)
    if address.sqlite_file and not address.sqlite_file.exists():
        raise SettingsError(f"no such model: {address.shown} does not exist")
    client = open_store(address)
    from mlflow.exceptions import MlflowException

    with service_errors(address):
        try:
            yield client, address
        except MlflowException as error:
            if error.error_code not in _USER_ERRORS:
                raise
            reason = public_text(str(error.message)).rstrip(".")
            raise SettingsError(f"no such model in {address.shown}: {reason}") from None


def _version(client: MlflowClient, text: str) -> ModelVersion:
    """Version meant by ``name@alias``, ``name/version`` (whatever alias follows) or ``name``."""
    name, _, alias = text.partition("@")
    name, _, number = name.rpartition("/") if "/" in name else (name, "", "")
    _check_name(client, name)
    if number:
        return _version_by_number(client, name, number)
    held = versions_by_alias(client, clean_name(name))
    if (alias or CHAMPION) not in held:
        raise no_alias(name, alias or CHAMPION, held)
    return client.get_model_version(clean_name(name), held[alias or CHAMPION])


def _check_name(client: MlflowClient, name: str) -> None:
    """Refuse a name that is not registered, with the nearest one."""
    if not client.search_registered_models(f"name = '{clean_name(name)}'"):
        raise no_model(name, (model.name for model in client.search_registered_models()))


def _version_by_number(client: MlflowClient, name: str, number: str) -> ModelVersion:
    found = client.search_model_versions(f"name = '{clean_name(name)}'")
    by_number = {str(version.version): version for version in found}
    if number not in by_number:
        raise no_version(name, number, by_number)
    return by_number[number]


def _bundle_of_version(
    client: MlflowClient, address: StoreAddress, version: ModelVersion
) -> FoundBundle:
    label = f"{version.name}/{version.version}"
    model_id = str(version.tags.get(MODEL_ID_TAG) or version.source).removeprefix("models:/")
    if not model_id.startswith("m-"):
        raise SettingsError(f"model {label} was not made by this program", model=label)
    bundle = _bundle_of_logged_model(client, address, model_id)
    _check_digest(bundle.folder, label, version.tags)
    return FoundBundle(bundle.folder, label, bundle.run_id, bundle.tracking_run)


def _check_digest(folder: Path, label: str, tags: Mapping[str, str]) -> None:
    """Refuse a bundle whose manifest is another than the one that was registered."""
    if tags.get(BUNDLE_DIGEST_TAG, "") not in ("", bundle_digest(folder)):
        raise DataError(f"the bundle of model {label} in {folder} is not the one registered")


def _bundle_of_run(client: MlflowClient, address: StoreAddress, reference: str) -> FoundBundle:
    run = client.get_run(reference.removeprefix("runs:/").partition("/")[0])
    outputs = run.outputs.model_outputs if run.outputs else []
    if not outputs:
        raise SettingsError(f"{reference} has no logged model", model=reference)
    return _bundle_of_logged_model(client, address, outputs[-1].model_id)


def _bundle_of_logged_model(
    client: MlflowClient, address: StoreAddress, model_id: str
) -> FoundBundle:
    if not _MODEL_ID.fullmatch(model_id):
        raise SettingsError(f"a model's id is m- and letters or digits; got {model_id[:80]!r}")
    model = client.get_logged_model(model_id)
    folder = _local_copy(address, model_id, str(model.artifact_location)) / "data" / "bundle"
    if not (folder / "manifest.json").is_file():
        raise SettingsError(f"models:/{model_id} is not a model of this program", model=model_id)
    _check_digest(folder, f"models:/{model_id}", model.tags)
    run_id = model.tags.get(RUN_ID_TAG, "")
    return FoundBundle(folder, f"models:/{model_id}", run_id, model.source_run_id or "")


def _local_copy(address: StoreAddress, model_id: str, location: str) -> Path:
    """Folder of a logged model; from a server it is downloaded once, since it never changes."""
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return Path(unquote(parts.path) if parts.scheme else location)
    target = address.home / "downloads" / model_id
    if not target.is_dir():
        from mlflow.artifacts import download_artifacts

        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=target.parent))
        try:
            source = download_artifacts(
                artifact_uri=location, dst_path=str(partial), tracking_uri=address.uri
            )
            try:
                Path(source).replace(target)
            except OSError:
                if not target.is_dir():  # else another process had the same
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target
