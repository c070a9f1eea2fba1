"""The progress of a run on Prefect's page, on a server of its own, and without one."""

from __future__ import annotations

import time

from prefect import flow, get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.settings import PREFECT_API_URL, temporary_settings
from waiting import PATIENCE_SECONDS, until

from automl.progress import Best, Progress
from automl_flows import progress_artifact
from automl_flows.progress_artifact import ProgressArtifact

AWAY = "http://127.0.0.1:9/api"
"""The port of the discard service, where nobody listens."""
STATE = Progress("search", 15.0, 60.0, 5, best=Best(0.7, "svm", "accuracy", 0.8, (0.5, 0.7)))


def told(key: str) -> list[float]:
    wanted = ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
    with get_client(sync_client=True) as client:
        return [artifact.data for artifact in client.read_artifacts(artifact_filter=wanted)]


def test_the_page_follows_and_ends_at_the_whole(prefect_url, monkeypatch):
    monkeypatch.setattr(progress_artifact, "UPDATE_SECONDS", 0.2)
    monkeypatch.setattr(progress_artifact, "END_SECONDS", PATIENCE_SECONDS)
    seen = []

    @flow(name="watched")
    def watched() -> None:
        with ProgressArtifact("progress-beans", lambda: STATE):
            seen.extend(until(lambda: told("progress-beans")))

    with temporary_settings({PREFECT_API_URL: prefect_url}):
        watched()
        assert seen == [25.0]
        assert told("progress-beans") == [100.0]


def test_a_server_that_is_away_holds_nobody_up():
    began = time.monotonic()
    with (
        temporary_settings({PREFECT_API_URL: AWAY}),
        ProgressArtifact("progress-beans", lambda: STATE),
    ):
        pass
    assert time.monotonic() - began < progress_artifact.END_SECONDS + 2.0
