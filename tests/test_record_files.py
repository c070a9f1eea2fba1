"""Stage records: whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from automl.errors import AutoMLWarning, ServiceError
from automl.record_files import StageRecords


def test_records_are_written_replaced_read_and_listed(tmp_path: Path) -> None:
    records = StageRecords(tmp_path / "stages")
    assert records.names() == []
    assert records.read("search") is None
    records.write("search", {"best": np.float64(0.5), "é": [1, None]})
    records.write("search.svm", {})
    records.write("search", {"best": 0.75})
    assert records.read("search") == {"best": 0.75}
    assert StageRecords(tmp_path / "stages").names() == ["search", "search.svm"]


def test_a_failed_write_keeps_the_earlier_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    records = StageRecords(tmp_path)
    records.write("search", {"n": 1})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(ServiceError, match="No space left"):
            records.write("search", {"n": 2})
    assert records.read("search") == {"n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["search.json"]


def test_a_damaged_record_counts_as_missing_with_a_warning(tmp_path: Path) -> None:
    records = StageRecords(tmp_path)
    for damage in (b'{"n": ', b"\xff\xfe", b"[1]"):
        (tmp_path / "search.json").write_bytes(damage)
        with pytest.warns(AutoMLWarning, match="damaged"):
            assert records.read("search") is None


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".hidden"])
def test_names_that_are_not_file_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        StageRecords(tmp_path).write(name, {})
