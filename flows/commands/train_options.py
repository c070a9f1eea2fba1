"""The options of ``automl train``, made from the settings' own account of themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from automl.errors import SettingsError
from automl.settings.all_settings import SECTIONS, Settings, accounts, section_of
from automl.settings.fields import DEFAULT_PRESET, Option, Setting
from automl.settings.option_texts import absolute
from automl.settings.presets import usual_value
from automl_flows.commands.options import HomeOption, JsonOption

TABLE = "table"
"""The setting that is an argument."""


def parameter_of(name: str, option: Option) -> str:
    """What the option is called among the arguments of the command: ``budget``."""
    return option.flag_of(name).partition("/")[0].removeprefix("--").replace("-", "_")


def options() -> dict[str, tuple[str, Option]]:
    """Setting and option by the name of the command's argument, in the order of the settings."""
    return {
        parameter_of(name, account.option): (name, account.option)
        for name, account in accounts().items()
        if account.option is not None
    }


def flags() -> dict[str, str]:
    """What is written on the command line, by setting: ``--budget`` of `budget_seconds`."""
    named = {name: option.flag_of(name).partition("/")[0] for name, option in options().values()}
    return {**named, TABLE: TABLE.upper()}


def given_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Values by setting of the arguments that were given.

    Parameters
    ----------
    arguments
        By name of the argument; None means not given.

    Raises
    ------
    SettingsError
        If a text cannot be understood; names what it was given for.
    """
    _refuse_test_name(arguments.get("test"))
    values: dict[str, Any] = {TABLE: absolute(arguments[TABLE])}
    for parameter, (name, option) in options().items():
        value = arguments.get(parameter)
        if value is not None and value != []:
            values[name] = value if option.parse is None else option.parse(value)
    return values


def signature() -> inspect.Signature:
    """Parameters of the command, annotated as Typer reads them."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=default, annotation=annotation)
            for name, default, annotation in _parameters()
        ]
    )


def command(function: Callable[..., None], name: str) -> TyperCommand:
    """A command with all options, which calls a function with the arguments by name.

    Parameters
    ----------
    function
        Takes any keyword arguments; its docstring is the help.
    """

    def called(**arguments: Any) -> None:
        function(**arguments)

    called.__doc__ = function.__doc__
    called.__dict__["__signature__"] = signature()
    program = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.command(name, cls=_BySection)(called)
    made = typer.main.get_command(program)
    if not isinstance(made, TyperCommand):
        raise TypeError(f"Typer made no command of {name}; got {type(made)}")
    return made


class _BySection(TyperCommand):
    """A command whose help lists the options by the section of their setting."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record is not None:
                panel = getattr(parameter, "rich_help_panel", None) or usual
                panels.setdefault(panel, []).append(record)
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def _parameters() -> Iterator[tuple[str, Any, Any]]:
    """Name, default and annotation of each."""
    table = accounts()[TABLE]
    words = f"{table.more[0].upper()}{table.more[1:]}"
    yield (
        TABLE,
        inspect.Parameter.empty,
        Annotated[str, typer.Argument(metavar="TABLE", help=words)],
    )
    for parameter, (name, option) in options().items():
        account = accounts()[name]
        declared = typer.Option(
            option.flag_of(name),
            metavar=option.metavar or None,
            help=_help(name, account),
            show_default=False,
            rich_help_panel=SECTIONS[section_of(name)].title,
        )
        yield parameter, None, Annotated[_kind(name, option) | None, declared]
    config = typer.Option("--config", metavar="FILE.yaml", help="Settings file")
    yield "config", None, Annotated[Path | None, config]
    yield "home", None, HomeOption
    yield "as_json", False, JsonOption
    dry_run = typer.Option("--dry-run", help="Check everything, show the plan, start nothing")
    yield "dry_run", False, Annotated[bool, dry_run]


def _help(name: str, account: Setting) -> str:
    """Help with what holds where the option is not given."""
    if Settings.model_fields[name].is_required():
        return f"{account.help}; may come from --config"
    usual = account.usual or _word(name, usual_value(DEFAULT_PRESET, name))
    return f"{account.help} [default: {usual}]" if usual else account.help


def _word(name: str, value: Any) -> str:
    """A default as the help says it; nothing for what is off or empty."""
    if isinstance(value, bool):
        return name if value else ""
    if isinstance(value, int | float):
        return f"{value:g}"
    return str(value) if value else ""


def _kind(name: str, option: Option) -> Any:
    """Type of the option: that of the setting, without the forms that a text cannot have."""
    if option.kind is not None:
        return option.kind
    annotation = Settings.model_fields[name].annotation
    is_union = get_origin(annotation) in (Union, UnionType)
    kinds = (
        [kind for kind in get_args(annotation) if kind is not NoneType]
        if is_union
        else [annotation]
    )
    plain = [kind for kind in kinds if kind in (bool, int, float) or get_origin(kind) is Literal]
    return plain[0] if len(kinds) == 1 and plain else str


def _refuse_test_name(source: str | None) -> None:
    """Refuse the name of a test of the selection where a table of test rows is meant."""
    if not source or Path(source).exists():
        return
    tests: Sequence[str] = get_args(Settings.model_fields["selection_test"].annotation)
    if source in tests:
        raise SettingsError(
            f"--test takes a table of test rows and there is no file {source!r}; the statistical "
            f"test of the selection is chosen by --selection-test {source}"
        )
