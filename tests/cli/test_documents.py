"""README and docs name every command, and only options that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from automl_flows.commands.cli import app

ROOT = Path(__file__).parents[2]
TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
COMMANDS = typer.main.get_command(app).commands


def options_of(command):
    """Options of a command, or of all commands of a group."""
    command = getattr(command, "complete", command)
    own = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    return own.union(*map(options_of, getattr(command, "commands", {}).values()))


# of pip and dask, and of every command
FOREIGN = {"--upgrade", "--memory-limit", "--nthreads", "--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command):
    assert any(re.search(rf"automl {command}\b", text) for text in TEXTS.values())


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_in_the_documents_has_the_options_given_to_it(name):
    joined = TEXTS[name].replace("\\\n", " ")
    for command, rest in re.findall(r"automl ([a-z]+)([^\n`]*)", joined):
        if command not in COMMANDS:
            continue
        known = options_of(COMMANDS[command])
        unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)) - known
        assert not unknown, f"automl {command}: {unknown}"


@pytest.mark.parametrize("name", TEXTS)
def test_every_option_in_the_documents_exists_somewhere(name):
    known = set().union(*map(options_of, COMMANDS.values()))
    lines = [line for line in TEXTS[name].splitlines() if "prefect " not in line]
    found = set(re.findall(r"`(--[a-z][a-z-]*)", "\n".join(lines)))
    assert found <= known | FOREIGN, found - known
