"""The journal: durable when acknowledged, whole after any crash."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from automl.errors import AutoMLWarning, ServiceError
from automl.evaluation import journal as module
from automl.evaluation.journal import Cursor, Journal, follow, read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def segment(folder: Path, number: int = 1) -> Path:
    return folder / f"segment-{number}.jsonl"


@given(records=st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_record_is_read_back_in_order(
    records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder) as journal:
        assert [journal.append(record) for record in records] == list(range(len(records)))
    assert read(folder) == records
    assert [record for _, record in follow(folder)] == records


def test_numpy_values_are_written_as_plain_numbers(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append({"score": np.float64(0.5), "n": np.int64(3), "scores": np.arange(2)})
        with pytest.raises(TypeError, match="cannot hold object"):
            journal.append({"x": object()})
    assert read(tmp_path) == [{"score": 0.5, "n": 3, "scores": [0, 1]}]


def test_each_process_writes_its_own_segment_and_reading_merges_them(tmp_path: Path) -> None:
    for number in range(11):
        with Journal(tmp_path) as journal:
            assert journal.append({"number": number}) == number
    assert segment(tmp_path, 11).exists()
    assert [record["number"] for record in read(tmp_path)] == list(range(11))


def test_a_journal_without_records_makes_no_segment(tmp_path: Path) -> None:
    Journal(tmp_path / "a").close()
    assert read(tmp_path / "a") == []
    assert read(tmp_path / "missing") == []
    assert list(follow(tmp_path / "missing")) == []


def test_a_tail_torn_at_any_byte_costs_the_last_record_only(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number in range(3):
            journal.append({"number": number, "text": "é\n"})
    whole = segment(tmp_path).read_bytes()
    start = len(b"\n".join(whole.split(b"\n")[:2])) + 1
    for end in range(start + 1, len(whole)):
        segment(tmp_path).write_bytes(whole[:end])
        with pytest.warns(AutoMLWarning, match="cut off"):
            records = read(tmp_path)
        assert [record["number"] for record in records] == [0, 1]
        assert len(list(follow(tmp_path))) == 2
    with Journal(tmp_path) as journal:  # goes on behind the torn segment, silently
        assert journal.append({"number": 2}) == 2
    with pytest.warns(AutoMLWarning, match="segment-1.jsonl: the end was cut off"):
        assert [record["number"] for record in read(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("garbage", [b"\0" * 50, b"\0" * 20 + b"\n" + b"\0" * 20 + b"\n"])
def test_a_tail_of_zeros_after_a_power_loss_is_dropped(tmp_path: Path, garbage: bytes) -> None:
    with Journal(tmp_path) as journal:
        journal.append({"number": 0})
    with segment(tmp_path).open("ab") as file:
        file.write(garbage)
    with pytest.warns(AutoMLWarning, match="cut off"):
        assert read(tmp_path) == [{"number": 0}]


def test_damage_in_the_middle_is_reported_with_its_line_and_skipped(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number in range(4):
            journal.append({"number": number})
    lines = segment(tmp_path).read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"1", b"7")
    segment(tmp_path).write_bytes(b"\n".join(lines))
    with pytest.warns(AutoMLWarning, match="line 2 is damaged; 1 such lines"):
        assert [record["number"] for record in read(tmp_path)] == [0, 2, 3]
    assert [record["number"] for _, record in follow(tmp_path)] == [0, 2, 3]


def test_threads_that_append_at_once_share_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = []

    def slow_sync(descriptor: int) -> None:
        syncs.append(descriptor)
        time.sleep(0.2)  # long enough for every other thread to append meanwhile

    monkeypatch.setattr(module.os, "fdatasync", slow_sync)
    journal = Journal(tmp_path)
    positions: list[tuple[int, int]] = []

    def work(number: int) -> None:
        positions.extend(
            (journal.append({"id": 10 * number + i}), 10 * number + i) for i in range(5)
        )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    records = read(tmp_path)
    assert len(records) == 40
    assert len(syncs) < 20
    assert all(records[position]["id"] == number for position, number in positions)


def test_follow_continues_from_its_cursor_over_segments(tmp_path: Path) -> None:
    cursor, seen = Cursor(), []

    def catch_up() -> Iterator[int]:
        nonlocal cursor
        for place, record in follow(tmp_path, cursor):
            cursor = place
            yield record["number"]

    for number in range(3):
        with Journal(tmp_path) as journal:
            journal.append({"number": 10 * number})
            seen += catch_up()
            journal.append({"number": 10 * number + 1})
            with segment(tmp_path, number + 1).open("ab") as file:
                file.write(b"01234567 {half of a rec")
            seen += catch_up()
            seen += catch_up()
    assert seen == [0, 1, 10, 11, 20, 21]


def test_a_full_disk_is_a_service_error_and_loses_nothing_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    journal.append({"number": 0})
    write = os.write

    def short_write(descriptor: int, data: Any) -> int:
        if len(data) < 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, bytes(data)[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "write", short_write)
        with pytest.raises(ServiceError, match="No space left"):
            journal.append({"number": 1, "text": "x" * 100})
    assert read(tmp_path) == [{"number": 0}]
    assert journal.append({"number": 2}) == 1
    journal.close()
    assert read(tmp_path) == [{"number": 0}, {"number": 2}]
    with pytest.raises(ServiceError, match="closed"):
        journal.append({})


def test_an_interrupted_append_leaves_a_journal_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    journal = Journal(tmp_path)
    journal.append({"number": 0})
    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fdatasync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            journal.append({"number": 1})
    journal.append({"number": 2})
    journal.close()
    assert [record["number"] for record in read(tmp_path)] == [0, 1, 2]


def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from automl.evaluation.journal import Journal\n"
        "journal = Journal(sys.argv[1])\n"
        "while True: print(journal.append({'x': 'y' * 1000}), flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        for _ in range(50):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in process.stdout.read().split(b"\n")[:-1] if line]
    assert len([record for _, record in follow(tmp_path)]) > max(acknowledged, default=49)
