"""One experience as bytes: what a file of the store holds, and a part of an export.

An entry is two gzip members, so that ``zcat`` shows two lines of JSON: the head (identity, facts of
the data set, what the trials come to) and the trials, by columns. The head is read at once; the
trials are checked at once and decoded when somebody looks at them. An export is entries one
after another.
"""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from automl.content_digests import content_digest
from automl.errors import AutoMLWarning
from automl.experience.data_set import SCHEMA, DataSetFacts, Experience, KnownTrial
from automl.records import Configuration, Fidelity, Task, TrialStatus

FORMAT = "automl-experience"
MOST_BYTES = 2**28
"""Most bytes of one member, decompressed; what is larger is no entry."""

MIGRATIONS: dict[int, Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]] = {}
"""By schema: head and trials of an entry as the next schema has them."""

_CHUNK = 2**16
_FULL = Fidelity()
_SCALARS = frozenset({str, bool, int, float, type(None)})


class EntryError(ValueError):
    """Bytes that are no entry, or a damaged one; the message says which, without naming a file."""


class PackedTrials(Sequence[KnownTrial]):
    """Trials of an entry, decoded when they are first needed.

    Parameters
    ----------
    packed : gzip member
    digest : of the line in it
    length : number of trials as the head says
    name : what warnings call them by
    """

    def __init__(self, packed: bytes, digest: str, length: int, name: str = "") -> None:
        self.packed, self.digest = packed, digest
        self._length, self._name = length, name
        self._trials: tuple[KnownTrial, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> KnownTrial: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[KnownTrial, ...]: ...

    def __getitem__(self, index: int | slice) -> KnownTrial | tuple[KnownTrial, ...]:
        return self._decoded()[index]

    def __iter__(self) -> Iterator[KnownTrial]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return self._length if self._trials is None else len(self._trials)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self._decoded() == tuple(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedTrials, (self.packed, self.digest, self._length, self._name)

    def _decoded(self) -> tuple[KnownTrial, ...]:
        if self._trials is None:
            self._trials = _decode(_member(self.packed)[0])
            if len(self._trials) < self._length:
                warnings.warn(
                    f"{self._length - len(self._trials)} of {self._length} trials of {self._name or 'an experience'} "
                    "cannot be read and are left out",
                    AutoMLWarning,
                    stacklevel=3,
                )
        return self._trials


def pack(experience: Experience) -> bytes:
    """Bytes of an entry; equal for equal experiences."""
    trials = packed_trials(experience)
    head = {
        "format": FORMAT,
        "schema": SCHEMA,
        **{key: value for key, value in experience.__dict__.items() if key != "trials"},
        "data": experience.data.to_json(),
        "trials": len(trials),
        "trials_digest": trials.digest,
    }
    return _compressed(_line(head)) + trials.packed


def unpack(data: bytes, start: int = 0) -> tuple[Experience, int]:
    """The entry that begins at `start`, and where the next one begins.

    Raises
    ------
    EntryError
        If there is none, or it is damaged, or of a schema that is not known.
    """
    head_line, middle = _member(data, start)
    head = _parsed_head(head_line)
    body, end = _member(data, middle)
    digest = content_digest(body)
    if head.get("trials_digest") != digest:
        raise EntryError("it is damaged: its trials do not match its head")
    packed = data[middle:end]
    if head["schema"] != SCHEMA:
        head, body = _migrated(head, body)
        packed, digest = _compressed(body), content_digest(body)
    try:
        name = f"experience {head['id']} of {head['data']['name']}"
        return _experience(head, PackedTrials(packed, digest, _n_trials(head, body), name)), end
    except KeyError as error:
        raise EntryError(f"its head lacks {error}") from None
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise EntryError(f"its head cannot be read: {error}") from None


def digest_of(experience: Experience) -> str:
    """32 hexadecimal digits over all that can be learned from; id, origin and time are none of it."""
    content = {
        "data": experience.data.to_json(),
        "metric": experience.metric,
        "training_rows": experience.training_rows,
        "trials": packed_trials(experience).digest,
    }
    return content_digest(json.dumps(content, sort_keys=True).encode())


def packed_trials(experience: Experience) -> PackedTrials:
    """Trials of an experience as an entry holds them."""
    trials = experience.trials
    if isinstance(trials, PackedTrials):
        return trials
    body = _encode(trials)
    return PackedTrials(_compressed(body), content_digest(body), len(trials))


def _experience(head: Mapping[str, Any], trials: PackedTrials) -> Experience:
    texts = {key: head[key] for key in ("id", "metric", "origin", "created")}
    if not all(isinstance(text, str) for text in texts.values()) or not texts["id"]:
        raise TypeError("id, metric, origin and created must be strings")
    return Experience(
        data=_facts(head["data"]), trials=trials, training_rows=int(head["training_rows"]), **texts
    )


def _n_trials(head: Mapping[str, Any], body: bytes) -> int:
    """How many trials a head tells of; not more than fit into the body."""
    number = int(head["trials"])
    if not 0 <= number <= len(body):
        raise ValueError(f"there cannot be {number} trials in {len(body)} bytes")
    return number


def _facts(data: Mapping[str, Any]) -> DataSetFacts:
    name, digest, names = (data[key] for key in ("name", "fingerprint", "layout"))
    if not all(isinstance(text, str) for text in (name, digest, names)):
        raise TypeError("name, fingerprint and layout must be strings")
    rows, columns, classes = (int(data[key]) for key in ("rows", "columns", "classes"))
    if min(rows, columns, classes) < 0:
        raise ValueError("rows, columns and classes must not be negative")
    if data["task"] not in list(Task):
        raise ValueError(f"task must be one of {', '.join(Task)}; got {data['task']!r}")
    features = {str(key): float(value) for key, value in dict(data["meta_features"]).items()}
    matrix = {str(key): float(value) for key, value in dict(data.get("matrix", {})).items()}
    task = Task(data["task"])
    return DataSetFacts(name, digest, names, task, rows, columns, classes, features, matrix)


# --- trials by columns ------------------------------------------------------------------------


def _encode(trials: Sequence[KnownTrial]) -> bytes:
    """A line: ``kinds`` (family, path, names of the values) and a row for each trial.

    A row ends with its fold scores, if there are any.
    """
    kinds: dict[tuple[str, tuple[str, ...], tuple[str, ...]], int] = {}
    rows = []
    for trial in trials:
        configuration = trial.configuration
        kind = kinds.setdefault(
            (configuration.family, configuration.path, tuple(configuration.values)), len(kinds)
        )
        full = trial.fidelity == _FULL
        rows.append(
            [
                kind,
                list(configuration.values.values()),
                str(trial.status),
                trial.score,
                trial.seconds,
                trial.folds,
                None if full else list(trial.fidelity.__dict__.values()),
                *([list(trial.fold_scores)] if trial.fold_scores else []),
            ]
        )
    return _line({"kinds": list(kinds), "rows": rows})


def _decode(body: bytes) -> tuple[KnownTrial, ...]:
    """Trials of a line; rows that cannot be one are left out."""
    try:
        content = json.loads(body)
        kinds = [(str(f), tuple(map(str, p)), tuple(map(str, n))) for f, p, n in content["kinds"]]
        rows = list(content["rows"])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return ()
    trials = []
    for row in rows:
        try:
            trials.append(_trial(row, kinds))
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
            continue
    return tuple(trials)


_STATUSES = {str(status): status for status in TrialStatus}


def _trial(
    row: Sequence[Any], kinds: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]
) -> KnownTrial:
    kind, values, status, score, seconds, folds, fidelity, *fold_scores = row
    family, path, names = kinds[kind]
    if not _SCALARS.issuperset(map(type, values)):
        raise TypeError(
            "a value of a configuration must be a number, a string, true, false or null"
        )
    return KnownTrial(
        Configuration(family, dict(zip(names, values, strict=True)), path),
        _STATUSES[status],
        None if score is None else float(score),
        float(seconds),
        int(folds),
        _FULL if fidelity is None else _fidelity(*fidelity),
        tuple(map(float, fold_scores[0])) if fold_scores else (),
    )


def _fidelity(folds: int | None, row_share: float, iteration_share: float) -> Fidelity:
    return Fidelity(None if folds is None else int(folds), float(row_share), float(iteration_share))


# --- bytes ------------------------------------------------------------------------------------


def _parsed_head(line: bytes) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise EntryError("it is not experience of this program")
    if not isinstance(head.get("schema"), int):
        raise EntryError("it does not state its schema")
    if head["schema"] > SCHEMA:
        raise EntryError(
            f"it is from a newer version: schema {head['schema']}; this version reads {SCHEMA}"
        )
    return head


def _migrated(head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    while head["schema"] != SCHEMA:
        step = MIGRATIONS.get(head["schema"])
        if step is None:
            raise EntryError(
                f"it is from an old version: schema {head['schema']}; this version reads {SCHEMA}"
            )
        schema = head["schema"]
        try:
            head, body = step(head, body)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise EntryError(f"schema {schema} cannot be brought up to date: {error!r}") from None
        head["schema"] = schema + 1
    return head, body


def _member(data: bytes, start: int = 0) -> tuple[bytes, int]:
    """Content of the gzip member that begins at `start`, and where it ends."""
    reader = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    size = 0
    while not reader.eof:
        part = data[start : start + _CHUNK]
        if not part:
            raise EntryError("its end is missing")
        try:
            parts.append(reader.decompress(part))
        except zlib.error:
            raise EntryError("it is damaged, or not experience of this program") from None
        size += len(parts[-1])
        if size > MOST_BYTES:
            raise EntryError(f"it holds more than {MOST_BYTES >> 20} MiB")
        start += len(part)
    return b"".join(parts), start - len(reader.unused_data)


def _compressed(line: bytes) -> bytes:
    return gzip.compress(line, compresslevel=6, mtime=0)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"
