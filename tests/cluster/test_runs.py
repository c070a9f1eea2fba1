"""Training runs on a Dask cluster: equal to those of this machine, whoever comes and goes."""

from __future__ import annotations

import subprocess
import threading
from contextlib import closing

import numpy as np
import pytest
from waiting import until

from automl.errors import ServiceError
from automl.evaluation.journal import read as read_journal
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.run.beginning import Place, begin, reopen
from automl.run_records.champion import ChampionRecord
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.selection.honest import Repetition
from automl.settings import Settings
from automl.stages import honesty
from automl.stages.line import Line, close_line
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
    """What a new run finds; see `finished`."""
    settings = SETTINGS.model_copy(update={"cluster": address, **changes})
    return finished(begin(settings, Home(folder), make_slots=run_slots), during)


def finished(session, during=lambda session: None):
    """What a run finds: trials, champion, fold models, predictions of its model, honest score."""
    beside = threading.Thread(target=during, args=(session,))
    with closing(session):
        line = Line(session)
        beside.start()
        line.finish_search()
        champion = line.record(ChampionRecord).champion
        honest = line.record(HonestRecord)
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
    return trials, champion.split("-")[-1], fold_models, answers, honest


def stopped(folder, address):
    """Id of a run that is stopped after some of its trials."""
    settings = SETTINGS.model_copy(update={"cluster": address})
    session = begin(settings, Home(folder), make_slots=run_slots)
    line = Line(session)
    line.search.start()
    until(lambda: n_trials(session) >= 2, pause=0.02)
    close_line(line)
    session.release()
    assert n_trials(session) < SETTINGS.trials, "the run was over before it was stopped"
    return session.run_id


def n_trials(session):
    return sum(1 for _ in read_journal(session.folder.journal))


def models_of(session):
    return (session.folder.path / "models").glob("*.pickle")


def assert_equal(found, expected):
    assert found[:3] == expected[:3]
    np.testing.assert_array_equal(found[3], expected[3])
    assert found[4] == expected[4]
    assert found[4].of_model is not None


@pytest.fixture(scope="module", autouse=True)
def _honest_score_on_slots():
    """This process makes the first bootstraps alone; all others are those of slots."""
    made_here = Repetition.block

    def first(self, number):
        assert number == 0, "its job has failed"
        return made_here(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(honesty, "JOBS_SECONDS", 0.0)
        patch.setattr(Repetition, "block", first)
        yield


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
    key = str(tmp_path / "other" / "key")
    empty_cluster.worker(
        threads=2, hides=home, AUTOML_CLUSTER_CACHE=str(cache), AUTOML_KEY_FILE=key
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
        until(lambda: n_trials(session) >= 2, pause=0.02)
        empty_cluster.stop(first)
        killed.append(n_trials(session))
        empty_cluster.worker(threads=2)

    assert_equal(made(tmp_path / "home", empty_cluster.address, disturb), here)
    assert killed[0] < 8, "the run was over before its worker was killed"


@pytest.mark.parametrize("is_begun_here", [True, False], ids=["to the cluster", "from it"])
def test_a_run_that_goes_on_elsewhere_finds_the_same(cluster, here, tmp_path, is_begun_here):
    places = (None, cluster.address) if is_begun_here else (cluster.address, None)
    home = Home(tmp_path / "home")
    run_id = stopped(home.path, places[0])
    session = reopen(run_id, home, place=Place(places[1]), make_slots=run_slots)
    assert session.settings.cluster == places[1]
    assert_equal(finished(session), here)
    assert session.folder.read_facts()["settings"]["cluster"] == places[0]


def test_a_run_whose_cluster_is_gone_says_so_and_stays_as_it_was(cluster, tmp_path):
    home = Home(tmp_path / "home")
    run_id = stopped(home.path, cluster.address)
    facts = home.run(run_id).read_facts()
    with pytest.raises(ServiceError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1: "):
        reopen(run_id, home, place=Place("tcp://127.0.0.1:1"), make_slots=run_slots)
    assert home.run(run_id).read_facts() == facts
    assert not home.run(run_id).is_driven()


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
