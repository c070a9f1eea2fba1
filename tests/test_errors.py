"""Every error of the project survives the way between processes."""

import importlib
import pickle
import pkgutil

import pytest

import automl
from automl.errors import (
    AutoMLError,
    AutoMLWarning,
    DataError,
    InterruptedRunError,
    ServiceError,
    SettingsError,
)

LIGHT = ("errors", "spaces", "data", "home", "settings", "evaluation", "families")


def all_errors():
    """Every subclass of the root that the light packages define."""
    for package in LIGHT:
        module = importlib.import_module(f"automl.{package}")
        for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
            importlib.import_module(f"automl.{package}.{found.name}")
    found, queue = [], [AutoMLError]
    while queue:
        kind = queue.pop()
        found.append(kind)
        queue += kind.__subclasses__()
    return sorted(set(found), key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_an_error_is_pickled_with_its_message_and_fields(kind):
    error = kind("the file is empty", file="a.csv", row=3)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == copy.message == "the file is empty"
    assert (copy.file, copy.row) == ("a.csv", 3)
    assert copy.fields == error.fields
    assert copy.exit_code == kind.exit_code


def test_a_data_error_keeps_all_problems():
    error = DataError("two problems", problems=["first", "second"])
    assert pickle.loads(pickle.dumps(error)).problems == ("first", "second")
    assert DataError("only one").problems == ("only one",)


def test_the_message_of_a_data_error_holds_every_problem_once():
    error = DataError.of(["column a: empty", "column b: infinite"], source="t.csv")
    assert str(error) == "2 problems in t.csv: column a: empty; column b: infinite"
    assert error.problems == ("t.csv: column a: empty", "t.csv: column b: infinite")
    assert str(DataError.of(["column a: empty"], source="t.csv")) == "t.csv: column a: empty"
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


@pytest.mark.parametrize(
    ("kind", "code", "builtin"),
    [
        (AutoMLError, 1, Exception),
        (SettingsError, 2, ValueError),
        (DataError, 3, ValueError),
        (ServiceError, 4, RuntimeError),
        (InterruptedRunError, 130, RuntimeError),
    ],
)
def test_the_exit_codes_are_those_of_the_documentation(kind, code, builtin):
    assert kind.exit_code == code
    assert issubclass(kind, builtin)


def test_a_field_that_was_not_given_is_no_attribute():
    with pytest.raises(AttributeError):
        _ = SettingsError("wrong").setting


def test_the_public_names_of_the_errors_do_not_change():
    names = {name for name in vars(automl.errors) if name.endswith(("Error", "Warning"))}
    assert names == {
        "AutoMLError",
        "AutoMLWarning",
        "DataError",
        "InterruptedRunError",
        "ServiceError",
        "SettingsError",
        "StorageError",
        "StoreBusyError",
    }
    assert issubclass(AutoMLWarning, UserWarning)
