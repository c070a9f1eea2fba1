"""The final model in MLflow: cold load, logged model, registered version, alias.

The bundle in the run folder is the model; MLflow gets a copy as a `pyfunc` model that carries its
own loading code. A version is registered only after the bundle predicted its input example in a
clean process that had nothing but the bundle's own code.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.errors import AutoMLError
from automl.home import RunFolder
from automl.inference.provenance import has_own_code
from automl.installation import read_key
from automl.privacy import make_private_folder
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.registration import RegistrationRule
from automl.run_records.result import Baseline, RunResult
from automl.tracking import layout
from automl.tracking.cold_load import ColdLoad
from automl.tracking.data_sets import data_set
from automl.tracking.descriptions import (
    Described,
    model_params,
    problem_description,
    version_description,
)
from automl.tracking.holders import CHAMPION, remember_aliases
from automl.tracking.model_card import CARD, model_card
from automl.tracking.new_champions import NewChampion, note_champion
from automl.tracking.outbox import Outbox
from automl.tracking.own_models import BUNDLE_DIGEST, bundle_digest
from automl.tracking.packaging import read_manifest, save_pyfunc
from automl.tracking.pending import REFUSED
from automl.tracking.promotion_facts import (
    DECISION_TAG,
    KEPT,
    PROMOTED,
    promotion_tags,
)
from automl.tracking.reading import champion
from automl.tracking.run_metrics import model_metrics
from automl.tracking.writer import RunWriter

if TYPE_CHECKING:
    from mlflow import MlflowClient

MODEL_NAME = "model"
CHALLENGER = "challenger"
PREVIOUS = "previous"
ALIAS_TAG = "automl.alias_reason"
BUNDLE_DIGEST_TAG = "automl.bundle_digest"
BASELINE_TAG = "automl.baseline"
BEATEN, NOT_BEATEN = "beaten", "not beaten"
MODEL_ID_TAG = "automl.model_id"
MODEL_VERSIONS_TAG = "mlflow.modelVersions"
"""Tag of a logged model: its registered versions, which MLflow's page of the model shows."""


class Publisher:
    """Logs and registers the bundle of one run; steps done are not repeated.

    Attributes
    ----------
    reason : one sentence, why a model is not registered; empty if it is or none is wanted
    """

    def __init__(self, folder: RunFolder, outbox: Outbox) -> None:
        self.folder = folder
        self.outbox = outbox
        self.reason = ""
        self._cold = ColdLoad()

    @property
    def is_wanted(self) -> bool:
        """Whether there is a final model that is not registered yet."""
        if "published" in self.outbox.done or FinalRecord.read(self.folder) is None:
            return False
        return RegistrationRule.of(self.folder).register

    def prepare(self) -> None:
        """Start the clean process that will load the bundle, before there is one."""
        if RegistrationRule.of(self.folder).register and "version" not in self.outbox.done:
            self._cold.start()

    def start_cold_load(self) -> None:
        """Begin to load the bundle in a clean process, while other things are written."""
        self.reason = ""
        if self.is_wanted and "version" not in self.outbox.done and not self._problem():
            self._cold.ask(self.folder.bundle, trust=self._trust)

    @property
    def is_loading(self) -> bool:
        """Whether the clean process has not answered yet."""
        return self._cold.is_running

    def close(self) -> None:
        """End the clean process if it still runs."""
        self._cold.close()

    def log_model(self, writer: RunWriter) -> None:
        """Copy the bundle into the store as a logged model of the parent run."""
        if not self.is_wanted or "model" in self.outbox.done or self._problem():
            return
        from mlflow.entities import LoggedModelOutput

        parent = self.outbox.parent
        model_id = self._ready_model(writer.client) or self._new_model(writer)
        outputs = writer.client.get_run(parent).outputs
        if model_id not in [o.model_id for o in (outputs.model_outputs if outputs else [])]:
            writer.client.log_outputs(parent, [LoggedModelOutput(model_id, step=0)])
        self._log_metrics(writer, model_id)
        self._done("model", model_id)

    def _log_metrics(self, writer: RunWriter, model_id: str) -> None:
        """Metrics of the logged model, linked to the data set; a repeated write has the same time stamp."""
        from mlflow.entities import Metric

        data = data_set(self.folder, writer.facts)
        linked = {} if data is None else {"dataset_name": data.name, "dataset_digest": data.digest}
        moment = round(1000 * float(writer.facts.get("started_at") or 0))
        metrics = [
            Metric(name, value, moment, 0, model_id=model_id, **linked)
            for name, value in model_metrics(self.folder).items()
        ]
        writer.client.log_batch(self.outbox.parent, metrics=metrics)

    def _ready_model(self, client: MlflowClient) -> str | None:
        """Logged model of this run that is whole; those a killed process left are deleted."""
        condition = f"source_run_id = '{self.outbox.parent}'"
        ready = None
        for model in client.search_logged_models([self.outbox.experiment], condition):
            if str(model.status) == "READY":
                ready = str(model.model_id)
            else:
                client.delete_logged_model(model.model_id)
        return ready

    def _new_model(self, writer: RunWriter) -> str:
        client, run = writer.client, Described.of(self.folder, writer.facts)
        model = client.create_logged_model(
            self.outbox.experiment,
            name=MODEL_NAME,
            source_run_id=self.outbox.parent,
            tags={
                **layout.key_tags(writer.facts),
                BUNDLE_DIGEST_TAG: bundle_digest(self.folder.bundle),
                layout.NOTE_TAG: version_description(run),
            },
            params=model_params(run),
            model_type="table",
        )
        make_private_folder(self.folder.mirror)
        with tempfile.TemporaryDirectory(dir=self.folder.mirror) as temporary:
            local = Path(temporary) / "model"
            save_pyfunc(
                self.folder.bundle,
                local,
                model_id=model.model_id,
                location=model.artifact_location,
                run=self.outbox.parent,
                metadata={"run_id": writer.facts["run_id"], "text": version_description(run)},
            )
            card = model_card(self.folder, writer.facts)
            (local / CARD).write_text(card, encoding="utf-8")
            client.log_model_artifacts(model.model_id, str(local))
            client.log_text(self.outbox.parent, card, CARD)
        client.finalize_logged_model(model.model_id, "READY")
        return str(model.model_id)

    def register(self, writer: RunWriter) -> None:
        """Register the logged model under the problem's name and move the alias to it."""
        if not self.is_wanted:
            return
        self.reason = "" if "version" in self.outbox.done else self._cold_load_problem()
        if self.reason:
            writer.client.set_tag(self.outbox.parent, "automl.not_registered", self.reason)
            self._done(REFUSED, self.reason)
            return
        self.outbox.done.pop(REFUSED, None)
        name = layout.problem_name(writer.facts)
        version = self.outbox.done.get("version") or self._version(writer, name)
        self.outbox.done["registered_name"] = name
        self.outbox.done[BUNDLE_DIGEST] = bundle_digest(self.folder.bundle)
        self._done("version", version)
        self._give_alias(writer, name, version)
        self._done("published")

    def _give_alias(self, writer: RunWriter, name: str, version: str) -> None:
        """Give the version the alias that it may have, and write down which and why."""
        client = writer.client
        alias, reason = self._alias(client, name, version)
        if alias:
            move_alias(client, name, alias, version)
            if alias == CHAMPION and self.outbox.done.get("alias") != CHAMPION:
                self._note_champion(writer.address.home, name, version, reason)
            self.outbox.done["alias"] = alias
        if reason:
            self.outbox.done["alias_reason"] = reason
        if (alias == CHAMPION) != RegistrationRule.of(self.folder).promote:
            self.outbox.save()  # the description was written by the rule, and reads what was decided
            text = version_description(Described.of(self.folder, writer.facts))
            client.update_model_version(name, version, text)
        decision = PROMOTED if alias == CHAMPION else KEPT
        client.set_model_version_tag(name, version, DECISION_TAG, decision)
        if reason:
            client.set_model_version_tag(name, version, ALIAS_TAG, reason)
        remember_aliases(name, writer.address.home, versions_by_alias(client, name))

    def _note_champion(self, home: Path, name: str, version: str, reason: str) -> None:
        record = PromotionRecord.read(self.folder)
        promotion = (
            {} if record is None else asdict(replace(record, reason=reason or record.reason))
        )
        new = NewChampion(name, f"{name}/{version}", self.folder.run_id, promotion)
        note_champion(home, new)

    def _alias(self, client: MlflowClient, name: str, version: str) -> tuple[str, str]:
        """Alias of the version, empty for none, and why; the one place that decides it.

        What was compared has the alias that its rule gives it. What scored better without proof, or could not
        be compared, is the `challenger`: whether it is better is open, and somebody may decide it. Only from a champion
        that is no better than the baseline it takes the alias unseen, and a model that is itself
        no better than that is no challenger.
        """
        rule = RegistrationRule.of(self.folder)
        reason = rule.reason
        holder = versions_by_alias(client, name).get(CHAMPION, "")
        if holder == version:
            return CHAMPION, reason
        if rule.is_compared and not rule.promote:
            return (CHALLENGER if rule.is_open else ""), reason
        tags = client.get_model_version(name, holder).tags if holder else {}
        if rule.promote:
            stays = self._why_alias_stays(client, name, version, holder, tags)
            if not stays:
                return CHAMPION, reason
            self.outbox.done["alias_stays"] = reason = stays
        elif tags.get(BASELINE_TAG) == NOT_BEATEN and self._beats_baseline:
            return CHAMPION, f"version {holder} is no better than the baseline, and this one is"
        return (CHALLENGER if self._beats_baseline else ""), reason

    def _why_alias_stays(
        self, client: MlflowClient, name: str, version: str, holder: str, tags: Mapping[str, str]
    ) -> str:
        """Why the alias may not move after all from `holder` with these tags; empty if it may.

        A registration may be completed long after the model was made. A model that was compared
        takes the alias only from the version that it was compared with, any other only from a
        version that is older than itself. One that is no better than the baseline takes it from
        none that is.
        """
        compared = RegistrationRule.of(self.folder).compared_with
        if compared is not None:
            if holder == compared:
                return ""
            moved = f"it was moved from version {compared} after version {version} was compared with that"
            given = f"no version had it when the model of version {version} was made"
            return (
                f"the alias {CHAMPION} stays with version {holder or 'none'}: "
                f"{moved if compared else given}"
            )
        if holder and not self._beats_baseline and tags.get(BASELINE_TAG) != NOT_BEATEN:
            return (
                f"the alias {CHAMPION} stays with version {holder}: version {version} is no better "
                "than the baseline"
            )
        made_ms = 1000 * (self.folder.stages / "final.json").stat().st_mtime
        if holder and client.get_model_version(name, holder).creation_timestamp > made_ms:
            return (
                f"the alias {CHAMPION} stays with version {holder}: it was registered after the "
                f"model of version {version} was made"
            )
        return ""

    def _version(self, writer: RunWriter, name: str) -> str:
        """Number of the version of this run; made if it is not there."""
        client, facts = writer.client, writer.facts
        if not client.search_registered_models(f"name = '{name}'"):
            client.create_registered_model(
                name,
                tags={layout.TARGET_TAG: str(facts["settings"]["target"])},
                description=problem_description(facts),
            )
        versions = client.search_model_versions(
            f"name = '{name}' and run_id = '{self.outbox.parent}'"
        )
        if versions:
            return str(versions[0].version)
        model_id = self.outbox.done["model"]
        with _as_global_store(writer.address.uri):
            version = client.create_model_version(
                name,
                source=f"models:/{model_id}",
                run_id=self.outbox.parent,
                tags={**self._version_tags(facts), MODEL_ID_TAG: model_id},
                description=version_description(Described.of(self.folder, facts)),
                model_id=model_id,
            )
        named = [{"name": name, "version": str(version.version)}]
        client.set_logged_model_tags(model_id, {MODEL_VERSIONS_TAG: json.dumps(named)})
        return str(version.version)

    def _version_tags(self, facts: Mapping[str, Any]) -> dict[str, str]:
        result, final = RunResult.read(self.folder), FinalRecord.read(self.folder)
        honest = layout.honest_metrics(HonestRecord.read(self.folder))
        test = None if final is None else final.test
        tags = {
            **layout.key_tags(facts),
            **promotion_tags(PromotionRecord.read(self.folder)),
            BASELINE_TAG: BEATEN if self._beats_baseline else NOT_BEATEN,
            BUNDLE_DIGEST_TAG: bundle_digest(self.folder.bundle),
            "automl.score": None if result is None else result.score,
            "automl.honest_score": honest.get("honest_score"),
            "automl.test_score": None if test is None else test.score,
            "automl.champion_trial": champion(self.folder),
            "automl.trust": "needed"
            if read_manifest(self.folder.bundle).get("needs_trust")
            else "not needed",
        }
        return {key: str(value) for key, value in tags.items() if value not in (None, "")}

    @property
    def _baseline(self) -> Baseline | None:
        """What the result says of the model beside the constant; None in records without it."""
        result = RunResult.read(self.folder)
        return None if result is None else result.baseline

    @property
    def _beats_baseline(self) -> bool:
        return self._baseline is None or self._baseline.is_beaten

    def _cold_load_problem(self) -> str:
        """Why the bundle does not load in a clean process; empty if it does."""
        if problem := self._problem():
            return problem
        if not self._cold.is_asked:
            self._cold.ask(self.folder.bundle, trust=self._trust)
        return self._cold.problem()

    @property
    def _trust(self) -> bool:
        """Whether the user allowed pickles."""
        return bool(self.folder.read_facts()["settings"].get("trust", False))

    def _problem(self) -> str:
        """Why the bundle must not be loaded in the clean process, which runs code of the bundle; empty if it may."""
        run = self.folder.run_id
        try:
            if has_own_code(self.folder.bundle, read_key(), run):
                return self._pickle_problem()
        except AutoMLError as error:
            return error.message
        return (
            f"nothing proves that this installation wrote the model of run {run}, and registering it would "
            "run the code that came with it; train again, or register it where it was made"
        )

    def _pickle_problem(self) -> str:
        """Why the bundle cannot be loaded without trust; empty if it can, or if the user allowed it."""
        manifest = read_manifest(self.folder.bundle)
        if not manifest.get("needs_trust") or self._trust:
            return ""
        names = {e["class"] for e in manifest["estimators"] if e["storage"] == "cloudpickle"}
        return (
            f"the model holds {', '.join(sorted(names))} as a pickle, which is never loaded without "
            "trust; train with --trust to register it so"
        )

    def _done(self, event: str, value: str = "yes") -> None:
        self.outbox.done[event] = value
        self.outbox.save()


def move_alias(client: MlflowClient, name: str, alias: str, version: str) -> None:
    """Point an alias to a version.

    Whom the new champion follows is `previous`; a challenger that became the champion is none.
    """
    held = versions_by_alias(client, name)
    before = held.get(alias)
    if before == version:
        return
    if before is not None and alias == CHAMPION:
        client.set_registered_model_alias(name, PREVIOUS, before)
    client.set_registered_model_alias(name, alias, version)
    if alias == CHAMPION and held.get(CHALLENGER) == version:
        client.delete_registered_model_alias(name, CHALLENGER)


def versions_by_alias(client: MlflowClient, name: str) -> dict[str, str]:
    """Version that each alias of a model points to."""
    aliases = client.get_registered_model(name).aliases
    return {alias: str(version) for alias, version in aliases.items()}


@contextmanager
def _as_global_store(uri: str) -> Iterator[None]:
    """Name the store to MLflow's own code, which looks up `models:/` sources in the global one."""
    before = os.environ.get("MLFLOW_TRACKING_URI")
    os.environ["MLFLOW_TRACKING_URI"] = uri
    try:
        yield
    finally:
        if before is None:
            del os.environ["MLFLOW_TRACKING_URI"]
        else:
            os.environ["MLFLOW_TRACKING_URI"] = before
