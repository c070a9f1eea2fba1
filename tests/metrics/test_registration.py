"""One call registers a metric of a third party, and it works wherever metrics have names."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import ENSEMBLES
from automl.errors import SettingsError
from automl.metrics import registry
from automl.metrics.bootstraps import bootstrap_scores
from automl.metrics.building import build_index
from automl.metrics.custom import load_place
from automl.metrics.index import PerformanceIndex
from automl.metrics.metric import Metric
from automl.metrics.registry import METRICS, get_metric, register_metric
from automl.metrics.thresholds import THRESHOLDS
from automl.records import Task
from automl.settings import Settings

BINARY, REGRESSION = frozenset({Task.BINARY}), frozenset({Task.REGRESSION})


def recall(confusion):
    """(B,) share of class 1 that is found, less a quarter of the false alarms' share of class 0."""
    counts = confusion.counts
    sizes = np.maximum(counts.sum(axis=2), 1e-9)
    return counts[:, 1, 1] / sizes[:, 1] - 0.25 * counts[:, 0, 1] / sizes[:, 0]


def margin(batch):
    """(B,) mean probability of the true class."""
    return batch.mean(np.take_along_axis(batch.predictions, batch.y[None, :, None], 2)[..., 0])


def quartic(batch):
    """(B,) mean fourth power of the errors."""
    return batch.mean(batch.error**4)


OWN = {
    "recall": Metric(
        name="recall",
        tasks=BINARY,
        needs="labels",
        bounds=(-0.25, 1.0),
        is_maximized=True,
        kernel=recall,
        aliases=("found",),
    ),
    "margin": Metric(
        name="margin",
        tasks=BINARY,
        needs="probabilities",
        bounds=(0.0, 1.0),
        is_maximized=True,
        kernel=margin,
    ),
    "quartic": Metric(
        name="quartic",
        tasks=REGRESSION,
        needs="values",
        bounds=(0.0, np.inf),
        is_maximized=False,
        kernel=quartic,
        row_losses=lambda batch: batch.error**4,
    ),
}
EVERY = pytest.mark.parametrize("name", OWN)


@pytest.fixture(autouse=True)
def clean():
    """Registrations end with the test."""
    kept = [(mapping, dict(mapping)) for mapping in (METRICS.entries, registry._PLACES)]
    yield
    for mapping, before in kept:
        mapping.clear()
        mapping.update(before)


def rows(name, n_rows=200, m=6):
    """True values and predictions: of a rare class 1, or of numbers."""
    rng = np.random.default_rng(1)
    if Task.REGRESSION in OWN[name].tasks:
        y = rng.normal(size=n_rows)
        return y, list(y + rng.normal(size=(m, n_rows)))
    y = (rng.random(n_rows) < 0.15).astype(int)
    one = 1 / (1 + np.exp(-(3 * y - 3 + rng.normal(size=(m, n_rows)))))
    return y, list(np.stack([1 - one, one], axis=2).astype(np.float32))


def index_of(name, y, spec=None):
    register_metric(OWN[name])
    task = next(iter(OWN[name].tasks))
    return build_index(spec or name, task=task, y_all=y)


@EVERY
def test_it_is_an_index_whose_baseline_is_the_kernels_and_is_reported_with_ours(name):
    y, predictions = rows(name)
    ours = "mae" if name == "quartic" else "brier"
    index = index_of(name, y, {name: 1.0, ours: 3.0})
    assert index.name == f"{name}*0.25 + {ours}*0.75"
    share = y.mean()
    blind = {
        "recall": share - 0.25 * share,
        "margin": share**2 + (1 - share) ** 2,
        "quartic": ((y - y.mean()) ** 4).mean(),
    }
    assert index.baselines[name] == pytest.approx(blind[name])
    found = index.metrics(y, predictions[0])
    assert set(found) == set(index.baselines) >= {name, ours}
    ideal = OWN[name].ideal
    own, other = (
        (found[key] - index.baselines[key]) / (best - index.baselines[key])
        for key, best in ((name, ideal), (ours, 0.0))
    )
    assert index.score(y, predictions[0]) == pytest.approx(0.25 * own + 0.75 * other)
    assert index.of_metrics(found) == pytest.approx(index.score(y, predictions[0]))


@EVERY
@pytest.mark.parametrize("method", ENSEMBLES)
def test_ensembles_learn_by_it(name, method):
    y, predictions = rows(name)
    index = index_of(name, y)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    problem = EnsembleProblem(predictions, y, index, np.random.default_rng(3), sample_weight=weight)
    weights = ENSEMBLES[method].weights(problem)
    assert weights.sum() == pytest.approx(1.0)
    scores = problem.scores(np.stack(predictions))
    blend = np.tensordot(weights, np.stack(predictions), 1).astype(np.float32)
    assert problem.scores(blend[None])[0] >= np.median(scores)


@EVERY
def test_bootstraps_of_it_are_scores_of_the_rows_drawn(name):
    y, predictions = rows(name)
    index, rng = index_of(name, y), np.random.default_rng(4)
    found = bootstrap_scores(index, y, predictions[0], n_bootstraps=5, rng=rng)
    rng = np.random.default_rng(4)
    drawn = [np.sort(rng.integers(0, len(y), len(y))) for _ in range(5)]
    expected = [index.learned_score(y[some], predictions[0][some]) for some in drawn]
    assert_allclose(found, expected, rtol=1e-5)


def test_thresholds_are_learned_for_one_of_labels():
    y, predictions = rows("recall")
    index = index_of("recall", y)
    rule = index.learn_rule(y, predictions[0])
    assert index.learns_threshold
    assert rule.threshold < 0.4
    by_rule = index.score(y, predictions[0], labels=rule.codes(predictions[0]))
    assert by_rule > index.score(y, predictions[0]) + 0.1
    assert rule.threshold in THRESHOLDS


def test_row_losses_of_it_are_told():
    y, predictions = rows("quartic")
    index = index_of("quartic", y)
    assert index.is_unbounded
    expected = (y - predictions[0]) ** 4 / ((y - y.mean()) ** 4).mean()
    assert_allclose(index.row_losses(y, predictions[0]), expected)


def test_lists_and_other_names_hold_it():
    register_metric(OWN["recall"])
    assert METRICS["recall"] is get_metric("found", Task.BINARY) is OWN["recall"]
    with pytest.raises(SettingsError, match=r"one of accuracy, .*, recall, or file.py:function"):
        get_metric("nothing", Task.BINARY)
    with pytest.raises(SettingsError, match="did you mean 'recall'"):
        get_metric("recal", Task.BINARY)
    with pytest.raises(SettingsError, match="does not serve a multiclass target"):
        get_metric("recall", Task.MULTICLASS)


@pytest.mark.parametrize("name", ["", "index", "a b", "mine.py:f", "a=1", "accuracy", "auc"])
def test_names_that_are_taken_or_mean_something_else_are_refused(name):
    metric = Metric(
        name=name, tasks=BINARY, needs="labels", bounds=(0, 1), is_maximized=True, kernel=recall
    )
    with pytest.raises(SettingsError, match=r"cannot be named|is already that of metric"):
        register_metric(metric)
    assert name not in registry._PLACES


def test_the_same_module_may_register_it_again():
    for _ in range(2):
        register_metric(OWN["recall"])
    assert METRICS["recall"] is OWN["recall"]


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (lambda _: 1.0, "one value for each prediction.* returned shape \\(\\)"),
        (lambda batch: np.full(batch.size, np.nan), "it returned nan"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_one_that_cannot_score_the_table_is_refused_by_name(kernel, reason):
    register_metric(
        Metric(
            name="mine",
            tasks=BINARY,
            needs="labels",
            bounds=(0.0, 1.0),
            is_maximized=True,
            kernel=kernel,
        )
    )
    with pytest.raises(SettingsError, match=f"'mine' cannot score this table: .*{reason}"):
        build_index("mine", task=Task.BINARY, y_all=np.array([0, 1, 1]))


MODULE = """
from automl.metrics.metric import Metric
from automl.metrics.registry import register_metric
from automl.records import Task

def kernel(confusion):
    return confusion.counts[:, 1, 1] / confusion.counts.sum(axis=(1, 2))

register_metric(Metric(name="hits", tasks=frozenset({Task.BINARY}), needs="labels",
                       bounds=(0.0, 1.0), is_maximized=True, kernel=kernel))
"""

OTHER_PROCESS = """
import json, sys
import numpy as np
from automl.metrics.custom import load_place
from automl.metrics.index import PerformanceIndex
index = PerformanceIndex.from_json(json.load(sys.stdin))
y = np.array([0, 1, 1, 0])
print(index.metrics(y, np.array([0, 1, 1, 1]))["hits"])
"""


def test_another_process_imports_what_the_index_names(tmp_path, monkeypatch):
    (tmp_path / "own_hits.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("own_hits")
    index = build_index("accuracy", task=Task.BINARY, y_all=np.array([0, 1, 1]))
    assert index.places == {"hits": str(tmp_path / "own_hits.py")}
    text = json.dumps(index.to_json())
    command = [sys.executable, "-c", OTHER_PROCESS]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert float(found.stdout) == 0.5
    assert PerformanceIndex.from_json(json.loads(text)) == index


@pytest.mark.parametrize("name", ["{file}:hits", "own_hits:hits"])
def test_the_file_that_registers_it_can_be_named(tmp_path, monkeypatch, name):
    file = tmp_path / "own_hits.py"
    file.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_hits", raising=False)
    load_place.cache_clear()
    y = np.array([0, 1, 1])
    index = build_index(name.format(file=file), task=Task.BINARY, y_all=y)
    assert index.name == "hits"
    assert index.baselines["hits"] == pytest.approx(4 / 9)
    assert index.learns_threshold
    assert index.places == {"hits": str(file)}
    with pytest.raises(SettingsError, match="has no function 'miss'"):
        build_index(f"{file}:miss", task=Task.BINARY, y_all=y)


def test_settings_name_the_module_that_other_processes_import():
    register_metric(OWN["recall"])
    for given in ("recall", "found", f"{__name__}:recall"):
        assert Settings(table="t", target="y", metric=given).metric == f"{__name__}:recall"
    weights = Settings(table="t", target="y", metric={"found": 2.0, "auc": 1.0}).metric
    assert weights == {f"{__name__}:recall": 2.0, "auc": 1.0}
    index = build_index(weights, task=Task.BINARY, y_all=np.array([0, 1, 1]))
    assert index.name == "recall*0.667 + roc_auc*0.333"


def test_a_script_cannot_register_what_no_other_process_could_import():
    command = [sys.executable, "-c", MODULE]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "metric hits: register_metric must be called in a module" in found.stderr


def test_the_plan_of_usual_metrics_names_no_place():
    index = build_index(task=Task.BINARY, y_all=np.array([0, 1, 1]))
    assert "places" not in index.to_json()
    assert_array_equal(list(index.baselines), [n for n in METRICS if n in index.baselines])
