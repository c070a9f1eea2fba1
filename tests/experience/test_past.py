"""What earlier runs on a data set found."""

from dataclasses import replace

import pytest

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.past import is_past_of, past_best
from automl.records import Configuration, Task, TrialStatus

DATA = DataSetFacts("sales", "content", "columns", Task.BINARY, 100, 3, 2)


def run(name, found, *, data=DATA, created="2026-01-01T00:00:00+00:00"):
    trials = [
        KnownTrial(Configuration(family, {"x": x}), TrialStatus.COMPLETE, score, 1.0, 5)
        for family, x, score in found
    ]
    return Experience(name, data, "index", trials, created=created)


@pytest.mark.parametrize(
    ("differing", "expected"),
    [
        ({}, True),
        ({"fingerprint": "other"}, True),
        ({"name": "other"}, True),
        ({"name": "other", "layout": "other"}, True),
        ({"fingerprint": "other", "name": "other"}, False),
        ({"fingerprint": "other", "layout": "other"}, False),
        ({"task": Task.MULTICLASS}, False),
    ],
)
def test_content_or_name_and_columns_make_a_past(differing, expected):
    assert is_past_of(replace(DATA, **differing), DATA) == expected


def test_data_without_digests_has_no_past():
    unknown = replace(DATA, fingerprint="", layout="")
    assert not is_past_of(unknown, unknown)


def test_the_newest_run_comes_first_with_the_best_of_each_family():
    old = run("old", [("forest", 1, 0.9), ("svm", 1, 0.8), ("knn", 1, 0.7)])
    new = run(
        "new",
        [("svm", 2, 0.3), ("forest", 2, 0.5), ("forest", 3, 0.6)],
        created="2026-02-01T00:00:00+00:00",
    )
    other = run("other", [("lda", 1, 1.0)], data=replace(DATA, fingerprint="f", name="n"))
    found = past_best([old, other, new], DATA, most=4)
    assert [(c.family, c.values["x"]) for c in found] == [
        ("forest", 3),
        ("svm", 2),
        ("forest", 1),
        ("svm", 1),
    ]


def test_no_configuration_comes_twice():
    again = [("forest", 1, 0.9)]
    assert len(past_best([run("a", again), run("b", again)], DATA)) == 1
