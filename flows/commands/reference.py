"""The list of all commands as text, for ``docs/commands.md``.

``python -m automl_flows.commands.reference docs/commands.md`` writes it anew between its two marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from automl.generated_lists import renew_page
from automl_flows.commands.cli import app

_EVERYWHERE = {"--home", "--json", "--help"}
_HEAD = "| argument or option | what it does |\n|---|---|"
_SETTINGS = "Each [setting](settings.md) that has an option can be given here too."


def command_sections() -> str:
    """A section with a Markdown table for each command."""
    return "\n\n".join(_sections(typer.main.get_command(app), "automl")) + "\n"


def _sections(group: Any, path: str) -> Iterator[str]:
    """Every command below a group; `path` is the words that call the group."""
    for name, command in group.commands.items():
        words = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from _sections(command, words)
        else:
            yield _section(words, getattr(command, "complete", command))


def _section(words: str, command: Any) -> str:
    shown = [p for p in command.params if not _EVERYWHERE & {*p.opts} and not _is_setting(p)]
    parts = [f"## {words}", " ".join(command.help.split())]
    if any(map(_is_setting, command.params)):
        parts.append(_SETTINGS)
    if shown:
        context = command.context_class(command)
        parts.append("\n".join([_HEAD, *(_row(p.get_help_record(context)) for p in shown)]))
    return "\n\n".join(parts)


def _is_setting(parameter: Any) -> bool:
    """Whether an option is in the list of settings, under the title of its section."""
    return getattr(parameter, "rich_help_panel", None) is not None


def _row(record: tuple[str, str]) -> str:
    name, text = (" ".join(part.split()).replace("|", "\\|") for part in record)
    return f"| `{name}` | {text} |"


if __name__ == "__main__":
    renew_page(command_sections)
