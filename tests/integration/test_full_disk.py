"""A run whose disk is full stops with one sentence, and goes on to the same end when there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, decisions
from small_disk import make_room, small_disk

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]
TRAIN = [
    *("train", "sklearn:breast_cancer", "--target", "target", "--trials", "6", "--seed", "7"),
    *("--families", "decision_tree,gaussian_nb", "--preset", "fast"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three mebibytes."""
    with small_disk(tmp_path / "disk", "3m") as folder:
        yield folder


def test_a_run_on_a_full_disk_stops_cleanly_and_resumes(
    tmp_path: Path, disk: Path, prefect_url: str
) -> None:
    command, free = Command(disk / "home"), Command(tmp_path / "free")
    process = command.start(*TRAIN)
    _, err = process.communicate(timeout=170)
    assert process.returncode == 4, err
    (told,) = [line for line in err.splitlines() if "error: " in line]
    assert "cannot be written: No space left on device; free some space" in told
    make_room(disk)
    (line,) = command.json("runs")
    assert line["status"] in ("failed", "interrupted")
    resumed = command.json("resume", line["run_id"])
    undisturbed = free.json(*TRAIN, PREFECT_API_URL=prefect_url)
    assert decisions(resumed) == decisions(undisturbed)
    assert resumed["score"] == undisturbed["score"]
    assert resumed["reproducible"] is True
    assert predictions(command, resumed, tmp_path) == predictions(free, undisturbed, tmp_path)


def predictions(command: Any, result: dict[str, Any], folder: Path) -> bytes:
    out = folder / f"{result['run_id']}.csv"
    process = command.start("predict", result["run_id"], "sklearn:breast_cancer", "-o", str(out))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.read_bytes()
