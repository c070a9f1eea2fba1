"""Past runs of a tracking store: a team's history as experience."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.errors import SettingsError
from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.entries import pack, unpack
from automl.records import Configuration, Fidelity, JsonScalar, Task, TrialStatus
from automl.tracking import layout
from automl.tracking.store import PAGE, open_store, pages, service_errors, store_address

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FOREIGN = "experiments that this program has not made"
OWN = "runs of this home, which it remembers itself"
UNFINISHED = "runs that still go on"
NAMELESS = "runs without a fingerprint of their data, by an earlier version"
ILLEGIBLE = "runs whose tags cannot be understood"
EMPTY = "runs without a trial"
ILLEGIBLE_TRIALS = "trials that cannot be understood"

MOST_TEXTS = 3
"""Values of a configuration that are texts and look like something else."""
_RUN_ID = re.compile(r"[\w.-]+")
_DEFAULT_EXPERIMENT = "0"
_BAD = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
_FOLDS, _ROWS, _ITERATIONS = (
    re.compile(text) for text in (r"(\d+) folds?", r"(\d+)% of the rows", r"(\d+)% of the iter")
)


@dataclass(frozen=True)
class History:
    """Experience in a tracking store.

    Parameters
    ----------
    skipped : how many of what were left out
    """

    experiences: tuple[Experience, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


def read_history(uri: str, home: Path, *, besides: Collection[str] = ()) -> History:
    """Experience of every run that this program has written into a tracking store.

    Parameters
    ----------
    uri
        Tracking URI; nothing is written there.
    home
        Where the lock of a store without a server of its own is.
    besides
        Ids of runs that are not read.

    Raises
    ------
    ServiceError
        If the store is away, or fails.
    SettingsError
        If a SQLite file does not exist.
    """
    address = store_address(home, uri=uri)
    if "://" not in address.uri:
        raise SettingsError(
            f"a tracking store must be an address such as sqlite:///PATH or http://HOST:PORT; got {uri}"
        )
    if address.sqlite_file is not None and not address.sqlite_file.is_file():
        raise SettingsError(f"there is no tracking store {address.sqlite_file}", uri=uri)
    client = open_store(address)
    with service_errors(address):
        return _History(client, besides).read()


class _History:
    """Reads one open store and counts what it leaves out."""

    def __init__(self, client: MlflowClient, besides: Collection[str]) -> None:
        self._client, self._besides = client, frozenset(besides)
        self._skipped: Counter[str] = Counter()

    def read(self) -> History:
        experiments = self._experiments()
        by_id: dict[str, Experience] = {}
        for run in self._search(experiments, _kind("run")) if experiments else ():
            if run.data.tags.get(layout.RUN_ID_TAG) in self._besides:
                self._skipped[OWN] += 1
                continue
            read = self._experience(run)
            if isinstance(read, Experience):
                by_id[read.id] = read
            else:
                self._skipped[read] += 1
        return History(tuple(by_id[identity] for identity in sorted(by_id)), dict(self._skipped))

    def _experiments(self) -> list[str]:
        ids = []
        for experiment in pages(
            lambda token: self._client.search_experiments(max_results=PAGE, page_token=token)
        ):
            if experiment.tags.get(layout.KIND_TAG) == "problem":
                ids.append(str(experiment.experiment_id))
            elif experiment.experiment_id != _DEFAULT_EXPERIMENT:
                self._skipped[FOREIGN] += 1
        return ids

    def _search(self, experiments: Sequence[str], condition: str) -> Iterator[Run]:
        yield from pages(
            lambda token: self._client.search_runs(
                list(experiments), condition, max_results=PAGE, page_token=token
            )
        )

    def _experience(self, parent: Run) -> Experience | str:
        """Experience of a training run, or what kind of run it is that has none."""
        if parent.info.status == "RUNNING":
            return UNFINISHED
        try:
            if "fingerprint" not in data_facts(parent.data.tags):
                return NAMELESS
            empty = experience_of_parent(parent.data.tags, parent.info.start_time)
            trials = self._trials(parent)
            return unpack(pack(replace(empty, trials=trials)))[0] if trials else EMPTY
        except _BAD:
            return ILLEGIBLE

    def _trials(self, parent: Run) -> tuple[KnownTrial, ...]:
        own = f"tags.`{layout.RUN_ID_TAG}` = '{parent.data.tags[layout.RUN_ID_TAG]}'"
        searched = f"{own} and {_kind('trial')} and tags.`automl.stage` = 'search'"
        trials: dict[int, KnownTrial] = {}
        for run in self._search([parent.info.experiment_id], searched):
            try:
                index = int(run.data.tags["automl.decision"])
                trial = trial_of(run.data.tags, run.data.params, run.data.metrics)
            except _BAD:
                self._skipped[ILLEGIBLE_TRIALS] += 1
                continue
            trials.setdefault(index, trial)
        return tuple(trials[index] for index in sorted(trials))


def experience_of_parent(tags: Mapping[str, str], started_ms: int | None) -> Experience:
    """What the tags of a training run say of its data; without trials.

    Raises
    ------
    KeyError, ValueError
        If a tag is missing, or not what `automl.tracking.layout` writes.
    """
    if not _RUN_ID.fullmatch(tags[layout.RUN_ID_TAG]):
        raise ValueError(f"no run is called {tags[layout.RUN_ID_TAG]!r}")
    data = data_facts(tags)
    facts = DataSetFacts(
        name=tags["automl.problem"],
        fingerprint=str(data["fingerprint"]),
        layout=str(data["layout"]),
        task=Task(tags["automl.task"]),
        rows=int(data["rows"]),
        columns=int(data["columns"]),
        classes=int(data["classes"]),
        meta_features={str(n): float(value) for n, value in data["meta_features"].items()},
        matrix=data["matrix"],
    )
    started = datetime.fromtimestamp((started_ms or 0) / 1000, UTC)
    return Experience(
        id=tags[layout.RUN_ID_TAG],
        data=facts,
        metric=str(data["metric"]),
        trials=(),
        origin="mlflow",
        created=started.isoformat(timespec="seconds"),
        training_rows=int(data.get("training_rows", 0)),
    )


def data_facts(tags: Mapping[str, str]) -> dict[str, Any]:
    """What the tags of a training run say of its data: one of JSON, or one for each fact by earlier versions.

    Raises
    ------
    ValueError
        If a tag that should be JSON is not.
    """
    if layout.DATA_TAG in tags:
        facts = dict(json.loads(tags[layout.DATA_TAG]))
        return {"matrix": {}, "meta_features": {}, **facts}
    names = ("fingerprint", "layout", "rows", "columns", "training_rows", "metric", "classes")
    facts = {name: tags[f"automl.{name}"] for name in names if f"automl.{name}" in tags}
    features = json.loads(tags.get(layout.META_FEATURES_TAG, "{}"))
    return {
        **facts,
        "matrix": json.loads(tags.get("automl.matrix", "{}")),
        "meta_features": features,
    }


def trial_of(
    tags: Mapping[str, str], params: Mapping[str, str], metrics: Mapping[str, float]
) -> KnownTrial:
    """A trial as `automl.tracking.layout.trial_content` has written it, and `KnownTrial.of` remembers it.

    Raises
    ------
    KeyError, ValueError
        If something is missing, or the parameters are not those of the configuration whose digest
        is among the tags.
    """
    is_cut = layout.KEPT_ROUNDS_TAG in tags
    status = TrialStatus.TIMED_OUT if is_cut else TrialStatus(tags["automl.status"])
    is_complete = status is TrialStatus.COMPLETE
    folds = json.loads(tags.get("automl.folds", "[]"))
    return KnownTrial(
        configuration=_configuration(tags, params),
        status=status,
        score=float(metrics["score"]) if is_complete else None,
        seconds=float(metrics["seconds"]),
        folds=len(folds),
        fidelity=_fidelity(tags.get("automl.fidelity", "")),
        fold_scores=tuple(float(score) for _, _, score, *_ in folds),
    )


def _configuration(tags: Mapping[str, str], params: Mapping[str, str]) -> Configuration:
    family, *parts = tags["automl.signature"].split("/")
    path: list[str] = []
    for part in parts:
        if part.partition("=")[0] in params:
            path.append(part)
        else:  # a value that holds a slash
            path[-1] += f"/{part}"
    for values in _readings(params):
        configuration = Configuration(family, values, tuple(path))
        if configuration.id == tags["automl.configuration"]:
            return configuration
    raise ValueError(f"the parameters are not those of {tags['automl.configuration']}")


def _readings(params: Mapping[str, str]) -> Iterator[dict[str, JsonScalar]]:
    """What the values may have been: a text such as ``256`` is written as the number is."""
    values = {name: _value(text) for name, text in params.items()}
    doubtful = [name for name, value in values.items() if not isinstance(value, str)]
    for n_texts in range(min(len(doubtful), MOST_TEXTS) + 1):
        for names in combinations(doubtful, n_texts):
            yield {**values, **{name: params[name] for name in names}}


def _value(text: str) -> JsonScalar:
    """A value of its text; texts are written as they are, all else as JSON."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def _fidelity(text: str) -> Fidelity:
    """Inverse of `Fidelity.text`, to a percent."""
    folds, rows, iterations = (pattern.search(text) for pattern in (_FOLDS, _ROWS, _ITERATIONS))
    return Fidelity(
        int(folds[1]) if folds else None,
        int(rows[1]) / 100 if rows else 1.0,
        int(iterations[1]) / 100 if iterations else 1.0,
    )


def _kind(name: str) -> str:
    return f"tags.`{layout.KIND_TAG}` = '{name}'"
