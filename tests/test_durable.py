"""Files that are there whole or not at all, and why one is not."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from automl.durable import save_array

LIMIT = 5_000
"""Bytes of a file here: the header of an array and a part of its numbers."""


@pytest.fixture
def _small_files() -> Iterator[None]:
    """No file may be longer; like a full disk, this stops a write in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("_small_files")
def test_an_array_that_does_not_fit_says_why_and_where(tmp_path: Path) -> None:
    path = tmp_path / "numbers.npy"
    with pytest.raises(OSError, match="File too large") as caught:
        save_array(path, np.zeros((300, 10)))
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(300, 10), (0, 3), (7,)])
def test_the_file_is_that_of_numpy(tmp_path: Path, shape: tuple[int, ...], order: str) -> None:
    array = np.asarray(np.random.default_rng(0).random(shape), order=order)  # type: ignore[call-overload]
    save_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "theirs.npy", array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_an_array_is_replaced_while_its_memory_map_is_written(tmp_path: Path) -> None:
    path = tmp_path / "numbers.npy"
    numbers = np.arange(100_000.0)
    save_array(path, numbers)
    save_array(path, np.load(path, mmap_mode="r"))
    assert np.array_equal(np.load(path), numbers)
    assert [each.name for each in tmp_path.iterdir()] == ["numbers.npy"]
