"""Writes one run into MLflow: parent, families and trials; every step idempotent.

Explicit run and parent ids everywhere, since MLflow's active run belongs to a thread. One trial
is one `create_run`, one `log_batch`, one `set_terminated`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.problem_names import origin
from automl.records import Trial
from automl.tracking import layout
from automl.tracking.descriptions import problem_description
from automl.tracking.layout import RunContent
from automl.tracking.outbox import Outbox
from automl.tracking.reading import Ending, JournalView, dispositions, ending, finalists
from automl.tracking.store import PAGE, StoreAddress, pages
from automl.tracking.views import view_tags

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

BATCH = 20
"""Trials copied between two looks at the driver's commands: half a second."""


class RunWriter:
    """One run in one open store.

    Parameters
    ----------
    client, address
        Open store.
    folder
        Run folder.
    outbox
        State of the run in this store.
    view
        Journal of the run.
    """

    def __init__(
        self,
        client: MlflowClient,
        address: StoreAddress,
        folder: RunFolder,
        outbox: Outbox,
        view: JournalView,
    ) -> None:
        self.client = client
        self.address = address
        self.folder = folder
        self.outbox = outbox
        self.view = view
        self.facts: Mapping[str, Any] = folder.read_facts()

    # -- beginning ---------------------------------------------------------------------------

    def begin(self) -> None:
        """Make sure that experiment and parent run exist and adopt what a former process wrote.

        Raises
        ------
        SettingsError
            If the experiment belongs to another target.
        """
        if self.outbox.store != self.address.shown:
            self.outbox.restart(self.address)
        self.outbox.has_secret = self.address.has_secret
        if not self.outbox.experiment:
            self.outbox.experiment = self._experiment()
        if self.outbox.is_new:
            self._adopt_everything()
        elif self.outbox.writing:
            self._adopt_trials(self.outbox.writing)
            self.outbox.writing = []
        content = layout.parent_content(self.facts)
        if not self.outbox.parent:
            self.outbox.parent = self._create(content)
        elif "ended" in self.outbox.done and ending(self.folder).goes_on:
            del self.outbox.done["ended"]
            self._reopen()
        if self.outbox.is_new:
            self._log(self.outbox.parent, content)
        self.outbox.is_new = False
        self.outbox.save()

    def _experiment(self) -> str:
        name, target = layout.problem_name(self.facts), self.facts["settings"]["target"]
        derived = origin(self.facts["settings"])
        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            return self._new_experiment(name, target, derived)
        self._check_target(experiment, target)
        self._check_origin(experiment, derived)
        for key, value in self._page_tags().items():
            if key not in experiment.tags:  # made by an earlier version
                self.client.set_experiment_tag(experiment.experiment_id, key, value)
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return str(experiment.experiment_id)

    def _new_experiment(self, name: str, target: str, derived: str) -> str:
        tags = {layout.TARGET_TAG: target, layout.KIND_TAG: "problem", **self._page_tags()}
        if derived:
            tags[layout.DERIVED_TAG] = derived
        root = self.address.artifact_root
        return str(
            self.client.create_experiment(
                name,
                artifact_location=f"{root}/{name}" if root else None,
                tags=tags,
            )
        )

    def _page_tags(self) -> dict[str, str]:
        """Description and saved views of the experiment."""
        task = str((self.facts.get("data") or {}).get("task", ""))
        return {layout.NOTE_TAG: problem_description(self.facts), **view_tags(task)}

    @staticmethod
    def _check_target(experiment: Experiment, target: str) -> None:
        other = experiment.tags.get(layout.TARGET_TAG)
        if other != target:
            difference = f"predicts {other!r}" if other else "was not made by this program"
            raise SettingsError(
                f"experiment {experiment.name!r} {difference}; give this problem another --name",
                name=experiment.name,
                target=target,
            )

    @staticmethod
    def _check_origin(experiment: Experiment, derived: str) -> None:
        other = experiment.tags.get(layout.DERIVED_TAG)
        if other and derived and other != derived:
            raise SettingsError(
                f"experiment {experiment.name!r} stands for {other!r}, not for {derived!r}; "
                "give this problem another --name",
                name=experiment.name,
            )

    def _adopt_everything(self) -> None:
        for run in self._own("run"):
            self.outbox.parent = run.info.run_id
        self._adopt_families()
        for run in self._own("trial"):
            self._adopt(run)

    def _adopt_trials(self, identities: Sequence[str]) -> None:
        self._adopt_families()
        for identity in identities:
            for run in self._search(f"tags.`{layout.TRIAL_ID_TAG}` = '{identity}'"):
                self._adopt(run)

    def _adopt_families(self) -> None:
        for run in self._own("family"):
            self.outbox.families[run.data.tags["automl.family"]] = run.info.run_id
            if run.info.status == "RUNNING" and "ended" in self.outbox.done:
                self._end(run.info.run_id, ending(self.folder))

    def _adopt(self, run: Run) -> None:
        """Take over a trial's run; complete it when its writer was killed in between."""
        identity = run.data.tags.get(layout.TRIAL_ID_TAG, "")
        trial = self.view.trials.get(identity)
        if trial is None:
            return
        if run.info.status == "RUNNING":
            self._fill(run.info.run_id, self._trial_content(trial, {}))
        self.outbox.trials[identity] = run.info.run_id

    def _own(self, kind: str) -> list[Run]:
        """Runs of one kind that this training run has in the store."""
        own = f"tags.`{layout.RUN_ID_TAG}` = '{self.facts['run_id']}'"
        return list(self._search(f"{own} and tags.`{layout.KIND_TAG}` = '{kind}'"))

    def _search(self, condition: str) -> Iterable[Run]:
        return pages(
            lambda token: self.client.search_runs(
                [self.outbox.experiment], condition, max_results=PAGE, page_token=token
            )
        )

    def _reopen(self) -> None:
        for run in (self.outbox.parent, *self.outbox.families.values()):
            self.client.update_run(run, status="RUNNING")

    def end(self) -> str:
        """Terminate parent and families; the status, `RUNNING` if the run continues.

        A driver asks for it when the result is written: the run is finished then.
        """
        ending_of_run = ending(self.folder)
        if not ending_of_run.goes_on and self.outbox.done.get("ended") != ending_of_run.status:
            for run in (*self.outbox.families.values(), self.outbox.parent):
                self._end(run, ending_of_run)
            self.outbox.done["ended"] = ending_of_run.status
            self.outbox.save()
        return ending_of_run.status

    def _end(self, run: str, found: Ending) -> None:
        self.client.set_terminated(run, found.status, end_time=found.at_ms)

    # -- trials ------------------------------------------------------------------------------

    def missing(self) -> list[Trial]:
        """Trials of the journal that are not in the store, those that matter most first."""
        written = self.outbox.trials
        order = [i for i in finalists(self.folder) if i in self.view.trials]
        order += [i for i, t in self.view.trials.items() if t.stage != "search"]
        order += list(self.view.trials)
        return [self.view.trials[i] for i in dict.fromkeys(order) if i not in written]

    def write_trials(self, trials: Sequence[Trial], until: float = math.inf) -> None:
        """Write a batch of trials that `missing` named; none is begun after monotonic time `until`."""
        if not trials:
            return
        self.outbox.writing = [trial.id for trial in trials]
        self.outbox.save()
        tags = dispositions(self.folder)
        for trial in trials:
            if time.monotonic() > until:
                break
            content = self._trial_content(trial, tags.get(trial.id, {}))
            self.outbox.trials[trial.id] = self._fill(self._create(content), content)
        self.outbox.writing = []
        self.outbox.save()

    def _open_family(self, family: str) -> None:
        if family not in self.outbox.families:
            content = layout.family_content(self.facts, family, self.outbox.parent)
            run = self.outbox.families[family] = self._create(content)
            if "ended" in self.outbox.done:
                self._end(run, ending(self.folder))

    def _trial_content(self, trial: Trial, extra_tags: Mapping[str, str]) -> RunContent:
        family = trial.configuration.family
        self._open_family(family)
        return layout.trial_content(
            self.facts,
            trial,
            decision=self.view.decisions.get(trial.id, {}),
            family_run=self.outbox.families[family],
            extra_tags=extra_tags,
        )

    def _create(self, content: RunContent) -> str:
        run = self.client.create_run(
            self.outbox.experiment,
            start_time=content.started_ms or _now(),
            tags=content.tags,
            run_name=content.name,
        )
        return str(run.info.run_id)

    def _fill(self, run_id: str, content: RunContent) -> str:
        self._log(run_id, content)
        self.client.set_terminated(run_id, content.status, end_time=content.ended_ms or _now())
        return run_id

    def _log(self, run_id: str, content: RunContent) -> None:
        from mlflow.entities import Metric, Param

        # the time stamp is part of a metric's key: a repeated write must not add a second value
        moment = content.ended_ms or content.started_ms
        metrics = [Metric(key, value, moment, 0) for key, value in content.metrics.items()]
        params = [Param(key, value) for key, value in content.params.items()]
        self.client.log_batch(run_id, metrics=metrics, params=params)


def _now() -> int:
    return round(1000 * time.time())
