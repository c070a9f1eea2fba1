"""Options of every optimizer and allocator, as settings give them."""

import pytest

from automl.bandits.registry import ALLOCATORS, get_allocator
from automl.errors import SettingsError
from automl.factory_options import options_of, with_options
from automl.families.registry import get_family
from automl.optimizers.composition import NAMED
from automl.optimizers.registry import OPTIMIZERS, get_optimizer
from automl.records import Task
from automl.run.choices import check_choices
from automl.settings import Settings
from automl.settings.sources import resolve_settings

OTHER = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value * 0.9,
}
OPTIMIZER_OPTIONS = [
    (name, option, default)
    for name, entry in OPTIMIZERS.items()
    if name not in NAMED
    for option, default in options_of(entry.make).items()
]
ALLOCATOR_OPTIONS = [
    (name, option, default)
    for name, entry in ALLOCATORS.items()
    for option, default in options_of(entry.make).items()
]


def another(default):
    """A legal value that is not the default."""
    return OTHER.get(type(default), lambda _: 5)(default)


@pytest.mark.parametrize(("name", "option", "default"), OPTIMIZER_OPTIONS)
def test_every_option_of_an_optimizer_reaches_it(name, option, default):
    if isinstance(default, str):
        pytest.skip("a choice")
    value = another(default)
    entry = get_optimizer({"base": name, option: value})
    assert options_of(entry.make)[option] == value
    entry.make(get_family("gaussian_nb").space(Task.BINARY))


@pytest.mark.parametrize(("name", "option", "default"), ALLOCATOR_OPTIONS)
def test_every_option_of_an_allocator_reaches_it(name, option, default):
    value = "svm" if isinstance(default, str) else another(default)
    entry = get_allocator({"base": name, option: value})
    assert options_of(entry.make)[option] == value
    entry.make()


@pytest.mark.parametrize(("name", "option", "default"), OPTIMIZER_OPTIONS + ALLOCATOR_OPTIONS)
def test_every_option_refuses_another_type(name, option, default):
    get = get_optimizer if name in OPTIMIZERS else get_allocator
    with pytest.raises(SettingsError, match=option):
        get({"base": name, option: [1]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"optimizer": {"base": "tpe", "good_share": 1.0}},
            "optimizer tpe: good_share must be less than 1; got 1.0",
        ),
        ({"optimizer": {"base": "tpe", "good_shar": 0.2}}, "did you mean 'good_share'"),
        ({"optimizer": {"base": "tpe", "draw": "bad"}}, "draw must be 'good' or 'random'"),
        ({"optimizer": {"base": "hypercub"}}, "did you mean 'hypercube'"),
        (
            {"optimizer": {"base": "random", "depth": 3}},
            "optimizer random has no options; got depth",
        ),
        (
            {"optimizer": {"base": "hyperband", "eta": 1}},
            "eta must be greater than or equal to 2; got 1",
        ),
        ({"optimizer": {"base": "grid", "points": 2.5}}, "points must be a valid integer; got 2.5"),
        (
            {"allocator": {"base": "halving", "n_first": 0}},
            "allocator halving: n_first must be greater",
        ),
        ({"allocator": {"base": "halvin", "n_first": 8}}, "did you mean 'halving'"),
        ({"allocator": {"n_first": 8}}, "allocator must be a name, or a mapping with `base`"),
        (
            {"allocator": {"base": "only:svm"}, "exclude": ("svm",)},
            "family 'svm' does not take part",
        ),
        ({"optimizer": "parametric"}, "set priors to a file"),
        (
            {"optimizer": "parametric", "spaces": {"knn": {"n_neighbors": {"low": 1, "high": 9}}}},
            "set priors to a file",
        ),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(given, said):
    with pytest.raises(SettingsError) as refused:
        check_choices(resolve_settings({"table": "t.csv", "target": "y", **given}, environment={}))
    assert said in str(refused.value)


def test_priors_may_come_with_a_range():
    bell = {"type": "lognormal", "mean": 2.0, "sd": 0.5, "low": 1, "high": 50, "integer": True}
    given = {"optimizer": "parametric", "spaces": {"knn": {"n_neighbors": bell}}}
    check_choices(resolve_settings({"table": "t.csv", "target": "y", **given}, environment={}))


def test_an_option_is_a_value_that_a_file_can_hold():
    def make(space, *, number=1, levels=(), part: int | None = None): ...

    assert options_of(make) == {"number": 1, "part": None}


def test_options_are_bound_above_those_of_the_entry():
    make = OPTIMIZERS["tpe_random"].make
    assert options_of(make)["draw"] == "random"
    assert options_of(with_options(make, {"draw": "good"}, "optimizer x"))["draw"] == "good"


def test_settings_hold_the_options():
    settings = Settings(table="t", target="y", allocator={"base": "halving", "n_first": 8})
    assert settings.chosen_allocator == {"base": "halving", "n_first": 8}
