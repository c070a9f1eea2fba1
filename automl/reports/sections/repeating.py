"""How to repeat the run: what was not usual about it, versions, digests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from automl.addresses import public_address
from automl.home import Home, RunFolder
from automl.reports.command_line import command
from automl.reports.figure import DataTable
from automl.reports.page import Code, Facts, Paragraph, Part, Section, Tabular
from automl.reports.run_choices import RunChoices
from automl.run.beginning import GIVEN_FRAME
from automl.settings import Settings
from automl.settings.all_settings import accounts
from automl.settings.fields import DEFAULT_PRESET
from automl.settings.presets import PRESETS, usual_value
from automl.settings.reference import value_text

KEY, TITLE = "repeat", "How to repeat it"
GIVEN_TO_THE_COMMAND = ("table",)
"""Settings that the command line takes as its argument."""
ADDRESSES = ("table", "test")


def repeating(choices: RunChoices, folder: RunFolder) -> Section:
    """Settings that differ from the defaults, seed, versions and digests."""
    return Section(KEY, TITLE, tuple(_parts(choices, folder)))


def unusual_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run that are not what its preset says; the table and target always are."""
    preset = str(settings.get("preset", DEFAULT_PRESET))
    known = [name for name in Settings.model_fields if name in settings]
    public = {
        name: public_address(str(value)) if name in ADDRESSES and value else value
        for name, value in settings.items()
    }
    return {
        name: public[name]
        for name in known
        if preset not in PRESETS or _plain(settings[name]) != _plain(_usual(preset, name))
    }


def _parts(choices: RunChoices, folder: RunFolder) -> Iterator[Part]:
    settings = choices.facts.get("settings") or {}
    if not settings:
        yield Paragraph("The settings of the run cannot be read.")
        return
    unusual = unusual_settings(settings)
    yield from _settings(choices, folder, unusual)
    yield Facts.of(_facts(choices))
    versions = choices.facts.get("versions") or {}
    if versions:
        rows = tuple((str(name), str(version)) for name, version in versions.items())
        yield Tabular(
            DataTable("Versions of the libraries", ("library", "version"), rows, is_folded=True)
        )


def _settings(choices: RunChoices, folder: RunFolder, unusual: Mapping[str, Any]) -> Iterator[Part]:
    words = accounts()
    rows = tuple(
        (name, value_text(value), words[name].description) for name, value in unusual.items()
    )
    yield Tabular(
        DataTable(
            "Settings that differ from the defaults of their preset",
            ("setting", "value", "what it does"),
            rows,
        )
    )
    if choices.facts.get(GIVEN_FRAME):
        yield Paragraph(
            "The table was given from memory; give the same frame to AutoML(settings=…).fit once more."
        )
        return
    given = {name: value for name, value in unusual.items() if name not in GIVEN_TO_THE_COMMAND}
    given.setdefault("seed", choices.facts["settings"].get("seed", 0))
    yield Paragraph("As a file settings.yaml:")
    yield Code(yaml.safe_dump(_plain(given), sort_keys=False, allow_unicode=True).rstrip(), "yaml")
    yield Paragraph("and as a command:")
    table, home = str(unusual["table"]), Home(folder.path.parents[1])
    yield Code(command(home, "train", table, "--config", "settings.yaml"), "sh")
    result = choices.result
    if result is not None and not result.reproducible:
        yield Paragraph(
            "Measured time decided something in this run, so that an equal one may come to another model. "
            "A run that counts trials (setting trials) and meets no limit is repeated to the digit.",
            "note",
        )


def _facts(choices: RunChoices) -> dict[str, object]:
    data, selection = choices.facts.get("data") or {}, choices.selection
    started = choices.status.started_at
    return {
        "run": choices.run_id,
        "started": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(started)) if started else "",
        "seed": choices.facts["settings"].get("seed"),
        "digest of the table": data.get("table_digest") or data.get("digest"),
        "digest of the training rows": data.get("digest"),
        "digest of the selection": "" if selection is None else selection.digest,
        "digest of what was known": ""
        if choices.result is None
        else choices.result.experience.digest,
    }


def _usual(preset: str, name: str) -> Any:
    return None if Settings.model_fields[name].is_required() else usual_value(preset, name)


def _plain(value: Any) -> Any:
    """A value as YAML and JSON have it: lists for tuples."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value
