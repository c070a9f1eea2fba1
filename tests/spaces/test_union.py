"""Several families as one space (X20, section II-D)."""

import pickle

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.families.registry import families, get_family
from automl.records import Configuration
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.distributions import Uniform
from automl.spaces.union import UnionTree

NAMES = ("svm", "nu_svm", "knn", "lightgbm")


@pytest.fixture(scope="module")
def union():
    return UnionTree.of([get_family(name).space("binary") for name in NAMES])


def test_draws_are_legal_configurations_of_equally_probable_families(union):
    rng = np.random.default_rng(0)
    drawn = [union.sample(rng) for _ in range(400)]
    for configuration in drawn:
        assert union.is_legal(configuration) is None
        assert union.part(configuration.family).is_legal(configuration) is None
    counts = [sum(c.family == name for c in drawn) for name in NAMES]
    assert min(counts) > 60


def test_signatures_are_those_of_the_families_with_the_family_in_front(union):
    signatures = union.signatures()
    assert sum(s.probability for s in signatures) == pytest.approx(1.0)
    assert len({s.name for s in signatures}) == len(signatures)
    for signature in signatures:
        assert union.signature(signature) is signature
        assert union.signature(signature.name) is signature
        assert union.signature((signature.family, *signature.path)) is signature
    assert union.size() == sum(part.size() for part in union.parts)


def test_the_unit_cube_goes_there_and_back_in_every_family(union):
    rng = np.random.default_rng(1)
    for _ in range(50):
        configuration = union.sample(rng)
        signature, unit = union.to_unit(configuration)
        nominals = {leaf.name: configuration.values[leaf.name] for leaf in signature.nominals}
        back = union.from_unit(signature, unit, nominals)
        assert (back.family, back.path) == (configuration.family, configuration.path)
        assert union.is_legal(back) is None
        assert union.to_unit(back)[1] == pytest.approx(unit)
        assert union.estimator_values(configuration) == union.part(
            configuration.family
        ).estimator_values(configuration)


def test_configurations_are_completed_in_the_family_that_is_named(union):
    assert union.complete({"family": "knn", "n_neighbors": 7}).values["n_neighbors"] == 7
    assert union.default().family == "svm"
    with pytest.raises(SettingsError, match="no family 'knm'"):
        union.complete({"family": "knm"})


def test_what_is_not_of_a_member_is_not_legal(union):
    stranger = Configuration("ridge", {})
    assert "ridge" in str(union.is_legal(stranger))
    broken = Configuration("svm", {"C": 1.0}, ("kernel=linear",))
    assert union.is_legal(broken) is not None


def test_an_encoder_sees_the_families_of_a_union(union):
    rng = np.random.default_rng(2)
    drawn = [union.sample(rng) for _ in range(40)]
    one = ConfigurationEncoder(union).fit()
    other = ConfigurationEncoder(union.parts).fit()
    assert one.feature_names == other.feature_names
    assert np.array_equal(one.transform(drawn), other.transform(drawn))


def test_a_union_of_all_families_pickles_and_keeps_facts_and_priors():
    union = UnionTree.of([family.space("binary") for family in families("binary").values()])
    facts = union.with_facts(n_rows=100, n_columns=4, n_classes=2)
    assert all(part.facts["n_rows"] == 100 for part in facts.parts)
    signature = next(s for s in facts.signatures() if s.numericals)
    leaf = signature.numericals[0]
    narrow = Uniform(leaf.distribution.low, leaf.distribution.high, leaf.distribution.integer)
    learned = facts.with_distribution(signature, leaf.name, narrow)
    copy = pickle.loads(pickle.dumps(learned))
    assert copy.signature(signature).leaf(leaf.name).distribution == narrow
    rng = np.random.default_rng(3)
    assert all(copy.is_legal(copy.sample(rng)) is None for _ in range(50))


def test_unions_need_different_families_and_are_not_narrowed(union):
    with pytest.raises(SettingsError, match="different families"):
        UnionTree.of([])
    with pytest.raises(SettingsError, match="different families"):
        UnionTree.of([union.parts[0], union.parts[0]])
    with pytest.raises(SettingsError, match="narrow the families"):
        union.narrow({"C": [1, 2]})
