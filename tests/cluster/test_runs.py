"""Training runs on a Dask cluster: equal to those of this machine, whoever comes and goes."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import closing

import numpy as np
import pytest

from automl.errors import ServiceError
from automl.evaluation.journal import read as read_journal
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.run.beginning import begin
from automl.run_records.champion import ChampionRecord
from automl.run_records.final import FinalRecord
from automl.settings import Settings
from automl.stages.line import Line
from automl_tasks.cluster import connection, watching
from automl_tasks.run_slots import run_slots

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

SETTINGS = Settings(
    table="sklearn:wine",
    target="target",
    trials=8,
    families=("decision_tree", "knn", "gaussian_nb"),
    folds=2,
    candidate_limit=2,
    portfolio=False,
    experience=False,
    final="bag",
    ensemble="greedy",
)


def made(folder, address=None, during=lambda session: None, **changes):
    """What a run finds: its trials, its champion, and the predictions of its model."""
    settings = SETTINGS.model_copy(update={"cluster": address, **changes})
    session = begin(settings, Home(folder), make_slots=run_slots)
    beside = threading.Thread(target=during, args=(session,))
    with closing(session):
        line = Line(session)
        beside.start()
        line.finish_search()
        champion = line.record(ChampionRecord).champion
        line.record(FinalRecord)
        trials = [
            (t.id.split("-")[-1], t.configuration.id, t.status, t.score, t.fold_scores)
            for t in line.trials
        ]
        fold_models = sorted(path.name.split("-")[-1] for path in models_of(session))
        frame = session.plan.table.frame
    beside.join()
    session.release()
    answers = load_bundle(session.folder.bundle).predict_proba(frame)
    return trials, champion.split("-")[-1], fold_models, answers


def models_of(session):
    return (session.folder.path / "models").glob("*.pickle")


def assert_equal(found, expected):
    assert found[:3] == expected[:3]
    np.testing.assert_array_equal(found[3], expected[3])


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return made(tmp_path_factory.mktemp("here") / "home", workers=2)


def test_two_workers_find_what_this_machine_finds(cluster, here, tmp_path):
    assert len(here[0]) == 8
    assert_equal(made(tmp_path / "home", cluster.address), here)


def can_hide_folders():
    return not subprocess.run(
        ["unshare", "-m", "true"], capture_output=True, check=False
    ).returncode


@pytest.mark.skipif(not can_hide_folders(), reason="needs mount namespaces")
def test_a_worker_of_another_installation_that_does_not_see_the_folder(
    empty_cluster, here, tmp_path
):
    cache = empty_cluster.folder / "cache"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    empty_cluster.worker(
        hides=home, AUTOML_CLUSTER_CACHE=str(cache), AUTOML_KEY_FILE=str(tmp_path / "other" / "key")
    )
    empty_cluster.wait_for_workers(1)
    assert_equal(made(home, empty_cluster.address), here)
    objects = [path for path in (cache / "objects").iterdir() if len(path.name) == 32]
    assert len(objects) >= 4  # the plan, its stages and the table
    assert not any((cache / "runs").iterdir())


def test_a_worker_that_is_killed_and_one_that_joins_change_nothing(empty_cluster, here, tmp_path):
    first = empty_cluster.worker()
    empty_cluster.wait_for_workers(1)
    killed = []

    def disturb(session):
        def n_trials():
            return sum(1 for _ in read_journal(session.folder.journal))

        until = time.monotonic() + 300
        while n_trials() < 2 and time.monotonic() < until:
            time.sleep(0.02)
        empty_cluster.stop(first)
        killed.append(n_trials())
        empty_cluster.worker(threads=2)

    assert_equal(made(tmp_path / "home", empty_cluster.address, disturb), here)
    assert killed[0] < 8, "the run was over before its worker was killed"


def test_nothing_is_left_of_a_run_on_a_cluster_without_workers(
    empty_cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(connection, "WAIT_SECONDS", 0.5)
    home = Home(tmp_path / "home")
    settings = SETTINGS.model_copy(update={"cluster": empty_cluster.address})
    with (
        pytest.warns(match="has no workers yet; waiting"),
        pytest.raises(ServiceError, match="start one with: dask worker tcp://"),
    ):
        begin(settings, home, make_slots=run_slots)
    assert home.run_folders() == []


def test_workers_of_other_versions_are_refused_by_name(cluster, tmp_path, monkeypatch):
    own = connection.get_versions(packages=connection.PACKAGES)
    other = {"packages": {**own["packages"], "scikit-learn": "9.9"}}
    monkeypatch.setattr(connection, "get_versions", lambda packages: other)
    settings = SETTINGS.model_copy(update={"cluster": cluster.address})
    with pytest.raises(ServiceError, match=r"has scikit-learn 1\.\S+ instead of 9\.9"):
        begin(settings, Home(tmp_path / "home"), make_slots=run_slots)


def test_a_cluster_that_is_lost_ends_the_run_in_one_sentence(empty_cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "SILENT_SECONDS", 1.0)
    empty_cluster.worker()
    empty_cluster.wait_for_workers(1)

    def disturb(session):
        session.pool.is_ready(300)
        empty_cluster.stop(empty_cluster.scheduler)

    with pytest.raises(ServiceError, match=r"lost.*automl resume continues the run"):
        made(tmp_path / "home", empty_cluster.address, disturb)
