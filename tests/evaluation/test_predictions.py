"""The store of predictions: float32 maps under a quota."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from automl.errors import AutoMLWarning, StorageError
from automl.evaluation import predictions as module
from automl.evaluation.predictions import PredictionStore
from automl.records import Configuration, Trial, TrialStatus


@pytest.mark.parametrize("shape", [(100, 3), (100,)])
def test_predictions_come_back_as_read_only_float32_maps(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    store = PredictionStore(tmp_path / "p", 1.0)
    values = np.asfortranarray(np.random.default_rng(0).random(shape))
    assert not store.has("run-s00001")
    assert store.save("run-s00001", values)
    loaded = store.load("run-s00001")
    assert isinstance(loaded, np.memmap)
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, values.astype(np.float32))
    with pytest.raises(ValueError, match="read-only"):
        loaded[0] = 0.0
    assert store.has("run-s00001")


def test_the_quota_is_kept_and_removing_makes_room(tmp_path: Path) -> None:
    store = PredictionStore(tmp_path, 1.0)
    array = np.zeros(100_000)
    assert store.save("a", array)
    assert store.save("b", array)
    with pytest.warns(AutoMLWarning, match="trial c are not kept: over 1 MiB"):
        assert not store.save("c", array)
    assert store.save("b", array + 1.0)  # replacing needs no more room
    mapped = store.load("a")
    store.remove("a")
    store.remove("unknown")
    assert mapped.sum() == 0.0
    assert store.save("c", array)
    assert store.trial_ids() == ["b", "c"]


def trial_of(index: int, score: float | None, family: str = "svm") -> Trial:
    status = TrialStatus.FAILED if score is None else TrialStatus.COMPLETE
    return Trial("run", index, Configuration(family), status, score)


def test_the_capacity_is_what_the_quota_takes(tmp_path: Path) -> None:
    store = PredictionStore(tmp_path, 0.1)
    n_fitting = store.capacity((1000, 3))
    assert all(store.save(str(i), np.zeros((1000, 3))) for i in range(n_fitting))
    with pytest.warns(AutoMLWarning, match="not kept"):
        assert not store.save("more", np.zeros((1000, 3)))


def test_processes_that_do_not_count_each_save_stay_within_the_quota_together(
    tmp_path: Path,
) -> None:
    stores = [PredictionStore(tmp_path, 0.2) for _ in range(4)]
    array = np.zeros(100)
    with pytest.warns(AutoMLWarning, match="not kept"):
        kept = [stores[i % 4].save(str(i), array) for i in range(500)]
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert sum(kept) == len(stores[0].trial_ids())
    assert 0.95 < size / (0.2 * 2**20) <= 1.0


def test_a_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    store = PredictionStore(tmp_path, 1.0)
    store.save("a", np.zeros(1000))
    whole = (tmp_path / "a.npy").read_bytes()
    for end in (0, 10, 200, len(whole) - 1):
        (tmp_path / "a.npy").write_bytes(whole[:end])
        assert not store.has("a")
        with pytest.raises(KeyError, match="trial a"):
            store.load("a")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_is_an_error_and_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(file: Any, *_: Any, **__: Any) -> None:
        file.write(b"half")
        raise OSError(code, os.strerror(code))

    store = PredictionStore(tmp_path, 1.0)
    monkeypatch.setattr(module.np, "save", fail)
    with pytest.raises(StorageError, match=r"a\.npy: predictions cannot be written") as caught:
        store.save("a", np.zeros(10))
    assert os.strerror(code) in caught.value.message
    assert ("free some space" in caught.value.message) == (code == errno.ENOSPC)
    assert list(tmp_path.iterdir()) == []


def test_trial_ids_that_are_not_file_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="trial id"):
        PredictionStore(tmp_path, 1.0).save("../a", np.zeros(1))
