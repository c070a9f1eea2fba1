"""What the package has learned from its knowledge: it fits this knowledge, and leaves out what a run leaves out."""

import json
from dataclasses import replace

import numpy as np
import pytest

from automl.experience.cleaning import learnable
from automl.experience.knowledge import shipped
from automl.families.registry import families
from automl.optimizers.registry import get_optimizer
from automl.recommendation import source_fits
from automl.recommendation.source_fits import FILE, PARTS, KeptFit, kept_fit, parts_of
from automl.recommendation.transfer_sources import sources_of, used_of
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.informed_process import InformedProcess
from automl.table_studies import shipped_fits
from automl.table_studies.shipped_fits import KINDS, OPTIMIZER, fits_of

FAMILY, KIND = "ridge", "regression"
"""One that is learned quickly."""
KEPT = json.loads(FILE.read_text())


def encoder_of(family, kind, **facts):
    space = families(KINDS[kind])[family].space(KINDS[kind]).with_facts(**facts)
    return ConfigurationEncoder(space, form=get_optimizer(OPTIMIZER).encoding).fit()


def known(kind):
    return learnable(shipped(), KINDS[kind])


def taken(experiences, encoder):
    return sources_of(experiences, encoder, experiences[0].data).fit


def kept(part, family=FAMILY, kind=KIND):
    (found,) = (one for one in KEPT[kind][family] if one["part"] == part)
    return KeptFit.from_json(found).fit


def same(fit, other):
    return fit is not None and np.array_equal(fit.theta, other.theta)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kept_fit_is_of_the_knowledge_that_is_shipped(kind):
    experiences = known(kind)
    for family in KEPT[kind]:
        encoder = encoder_of(family, kind, n_rows=77.0, n_columns=5.0, n_encoded=6.0, n_classes=2.0)
        fit = taken(experiences, encoder)
        reason = f"{family}: run python -m automl.table_studies.shipped_fits"
        assert same(fit, kept("all", family, kind)), reason


@pytest.mark.parametrize("kind", KINDS)
def test_families_of_many_trials_have_a_fit(kind):
    experiences = known(kind)
    n_scored = {
        family: sum(len(one.scored((family,))) for one in experiences)
        for family in families(KINDS[kind])
    }
    many = {family for family, n in n_scored.items() if n >= shipped_fits.FEWEST}
    assert many == KEPT[kind].keys()


def test_learning_again_gives_what_is_kept():
    found = {again.part: again.fit for again in fits_of(FAMILY, KINDS[KIND])}
    assert found.keys() == set(PARTS)
    for part, again in found.items():
        np.testing.assert_allclose(again.theta, kept(part).theta, atol=0.05)
        np.testing.assert_allclose(again.following, kept(part).following, atol=0.05)


@pytest.mark.parametrize("damage", ["", "[]", "{", "\udcff", "part", "theta", "short", "nan"])
def test_a_damaged_file_is_as_none(damage, monkeypatch, tmp_path):
    content = json.loads(FILE.read_text())
    for one in content[KIND][FAMILY]:
        one.update(
            {
                "part": {"part": "third"},
                "theta": {"theta": None},
                "short": {"theta": one["theta"][1:]},
                "nan": {"theta": [float("nan"), *one["theta"][1:]]},
            }.get(damage, {})
        )
    file = tmp_path / "fits.json"
    is_text = damage in {"", "[]", "{", "\udcff"}
    text = damage if is_text else json.dumps(content)
    file.write_bytes(text.encode(errors="surrogateescape"))
    monkeypatch.setattr(source_fits, "FILE", file)
    assert taken(known(KIND), encoder_of(FAMILY, KIND)) is None
    if damage == "{":
        assert [again.part for again in fits_of(FAMILY, KINDS[KIND])] == list(PARTS)


def test_a_table_that_is_left_out_has_taught_nothing():
    encoder, experiences = encoder_of(FAMILY, KIND), known(KIND)
    of_half = {}
    for one in used_of(experiences, encoder):
        rest = [other for other in experiences if other is not one]
        fit = taken(rest, encoder)
        part = next(name for name in PARTS if same(fit, kept(name)))
        of_half.setdefault(part, one)
    assert of_half.keys() == {"half", "other_half"}
    neither = [one for one in experiences if all(one is not out for out in of_half.values())]
    assert taken(neither, encoder) is None


def test_tables_of_ones_own_change_nothing_about_it():
    encoder, experiences = encoder_of(FAMILY, KIND), known(KIND)
    own = replace(experiences[3], id="own", origin="run")
    assert same(taken([own, *experiences], encoder), kept("all"))


def test_another_space_or_encoding_has_none():
    experiences, task = known(KIND), KINDS[KIND]
    space = families(task)[FAMILY].space(task)
    narrow = space.narrow({"alpha": {"low": 0.1, "high": 1.0}})
    for encoder in (
        ConfigurationEncoder(narrow, form="onehot"),
        ConfigurationEncoder(space, form="index"),
        ConfigurationEncoder([space, families(task)["lightgbm"].space(task)], form="onehot"),
    ):
        assert taken(experiences, encoder.fit()) is None


def test_without_the_file_a_process_learns_the_same_by_itself(monkeypatch, tmp_path):
    encoder, experiences = encoder_of(FAMILY, KIND), known(KIND)
    sources = sources_of(experiences, encoder, experiences[0].data)
    monkeypatch.setattr(source_fits, "FILE", tmp_path / "none.json")
    assert kept_fit(used_of(experiences, encoder), sources, encoder) is None
    X = sources.X[:40]
    expected = []
    for fit in (sources.fit, None):
        process = InformedProcess()
        process.learn_from(replace(sources, fit=fit))
        expected.append(process.expect(X, X[:0], rng=np.random.default_rng(0)))
    np.testing.assert_allclose(*expected, atol=0.02)


def test_the_parts_are_all_that_is_shipped_and_two_halves_of_it():
    encoder, experiences = encoder_of(FAMILY, KIND), known(KIND)
    own = [replace(one, origin="run") for one in experiences[:5]]
    sources = sources_of([*own, *experiences], encoder, experiences[0].data)
    parts = dict(parts_of(used_of([*own, *experiences], encoder), sources))
    n_own = sum(len(one.scored((FAMILY,))) for one in own)
    assert parts["all"].sum() == len(sources.y) - n_own
    assert not (parts["half"] & parts["other_half"]).any()
    assert np.array_equal(parts["half"] | parts["other_half"], parts["all"])
    assert min(parts["half"].sum(), parts["other_half"].sum()) > len(sources.y) / 4
