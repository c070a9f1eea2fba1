"""Sections: every field says all of itself, and files may follow the sections."""

import ast
import inspect
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from pydantic import Field

from automl.comparison.plan import ADDRESSES, CELL_SETTINGS
from automl.data.collections import DATA_SETTINGS
from automl.errors import SettingsError
from automl.generated_lists import renewed
from automl.settings import SECTIONS, Settings
from automl.settings.all_settings import accounts
from automl.settings.fields import PresetName, Section, account_of, setting
from automl.settings.presets import PRESETS, usual_value
from automl.settings.reference import section_tables
from automl.settings.sources import resolve_settings
from automl.training_request import LIMITS
from automl_flows import AutoML
from automl_flows.commands.train_options import options, signature

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "settings.md"
TABLE = {"table": "t.csv", "target": "y"}


def read(tmp_path, text, **given):
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return resolve_settings({**TABLE, **given}, file=file, environment={})


def test_every_setting_stands_in_one_section_in_the_order_of_the_sections():
    listed = [name for section in SECTIONS.values() for name in section.model_fields]
    assert listed == list(Settings.model_fields)
    assert len(set(listed)) == len(listed)
    assert not set(SECTIONS) - {"ensemble"} & set(listed)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_has_a_line_of_help_that_ends_as_part_of_a_sentence(name):
    account = accounts()[name]
    assert account.help
    assert "\n" not in account.help
    assert not account.description.endswith((".", ";", ":"))
    assert Settings.model_fields[name].description == account.description


def test_a_field_that_says_nothing_of_itself_is_no_setting():
    class Bare(Section):
        number: int = Field(default=1)

    with pytest.raises(TypeError, match="declared by `setting`"):
        account_of(Bare.model_fields["number"])


def test_the_form_shows_help_and_unit():
    schema = Settings.model_json_schema()["properties"]
    assert schema["memory_mib"]["unit"] == "MiB"
    assert schema["memory_mib"]["description"] == "Memory limit of one trial"
    assert "unit" not in schema["strict"]
    assert schema["ensemble"]["description"].endswith("; `automl ensembles` lists them")


def test_sections_and_single_names_mean_the_same(tmp_path):
    nested = read(
        tmp_path,
        "seed: 3\nsearch:\n  optimizer: tpe\n  exclude: [svm]\nselection: {alpha: {leaf: 0.1}}\n"
        "ensemble: {ensemble: stacking}\nresources: {budget: 2m}\n",
    )
    flat = read(
        tmp_path,
        "seed: 3\noptimizer: tpe\nexclude: [svm]\nalpha: {leaf: 0.1}\nensemble: stacking\n"
        "budget_seconds: 120\n",
    )
    assert nested == flat


def test_sections_can_be_given_in_a_call():
    given = {**TABLE, "score": {"folds": 4, "beta": None}, "seed": 1}
    assert resolve_settings(given, environment={}) == resolve_settings(
        {**TABLE, "folds": 4, "seed": 1}, environment={}
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "optimizer: tpe\nsearch: {optimizer: smac}\n",
            "optimizer and search.optimizer are one setting; give one of them",
        ),
        ("search: {folds: 3}\n", "setting folds belongs to section score, not search"),
        (
            "score: {fodls: 3}\n",
            "section score: unknown setting 'fodls'; did you mean 'folds'",
        ),
        ("bugdet: 60s\n", "unknown setting 'bugdet'; did you mean 'budget'"),
        ("resources: {bugdet: 60s}\n", "unknown setting 'bugdet'; did you mean 'budget'"),
        ("dsk: tcp://host:1\n", "unknown setting 'dsk'; did you mean 'cluster'"),
        ("serch: {optimizer: tpe}\n", "unknown setting 'serch'; did you mean 'search'"),
        ("search: tpe\n", "section search must hold names and values of settings; got 'tpe'"),
        ("search:\n", "section search must hold names and values of settings; got None"),
        (
            "resources: {budget: 1m, budget_seconds: 60}\n",
            "resources.budget and resources.budget_seconds are one setting",
        ),
    ],
)
def test_a_name_that_stands_twice_or_elsewhere_is_refused(tmp_path, text, words):
    with pytest.raises(SettingsError, match=words) as caught:
        read(tmp_path, text)
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize("preset", get_args(PresetName))
def test_presets_are_what_the_fields_say(preset):
    settings = resolve_settings({**TABLE, "preset": preset}, environment={})
    said = {n: a.presets[preset] for n, a in accounts().items() if preset in a.presets}
    assert said == PRESETS[preset]
    assert {name: getattr(settings, name) for name in said} == said
    assert usual_value(preset, "folds") == settings.folds


def test_the_reference_is_up_to_date():
    text = DOCS.read_text(encoding="utf-8")
    assert text == renewed(text, section_tables()), (
        "python -m automl.settings.reference docs/settings.md"
    )
    assert all(f"| `{name}` |" in text for name in Settings.model_fields)
    with pytest.raises(ValueError, match="marks"):
        renewed("no marks", "")


def test_the_parameters_of_the_estimator_are_settings():
    parameters = set(inspect.signature(AutoML.__init__).parameters) - {"self"}
    own = {"home", "settings", "verbose"}
    options_of = {parameter for parameter, _ in options().items()}
    assert parameters - own <= {*Settings.model_fields, *options_of}
    documented = inspect.getdoc(AutoML).partition("Attributes\n")[0]
    heads = {part for line in documented.splitlines() if line[:1].strip() for part in
             line.partition(" :")[0].split(", ")}  # fmt: skip
    assert parameters <= heads


def test_every_option_is_that_of_a_setting():
    own = {"table", "config", "home", "as_json", "dry_run"}
    with_option = {name for name, account in accounts().items() if account.option}
    assert {name for name, _ in options().values()} == with_option
    assert set(signature().parameters) == {*options(), *own}


@pytest.mark.parametrize("names", [DATA_SETTINGS, CELL_SETTINGS, ADDRESSES, LIMITS])
def test_what_names_settings_elsewhere_names_some_that_there_are(names):
    assert {*names} <= set(Settings.model_fields)


def literals():
    """Every Literal of two words or more in the source, with the file."""
    for layer in ("automl", "tasks", "flows"):
        for path in (ROOT / layer).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
                    words = getattr(node.slice, "elts", ())
                    found = [word.value for word in words if isinstance(word, ast.Constant)]
                    if len(found) > 1:
                        yield frozenset(found), path.relative_to(ROOT).as_posix()


def test_words_of_a_setting_are_written_once():
    written = list(literals())
    for name, info in Settings.model_fields.items():
        if get_origin(info.annotation) is Literal:
            words = frozenset(get_args(info.annotation))
            files = [file for found, file in written if found == words]
            assert len(files) == 1, (name, files)


def test_a_condition_names_what_is_missing():
    field = setting(1, help="A number", more="of things", ge=0)
    assert field.description == "A number; of things"
    conditions = [one for account in accounts().values() for one in account.idle]
    assert all(one.reason and not one.reason.endswith(".") for one in conditions)
