"""The command line ``automl``.

Only light modules are imported here and at the top of the command modules, so that ``--help`` is
quick; every command imports what it needs when it runs.

Exit codes: 0 done; 1 our fault; 2 usage or settings; 3 the data; 4 an outside service;
130 or 143 interrupted, and the run can be resumed.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeGuard

import typer
from typer.main import get_command

from automl.errors import AutoMLError, StorageError, is_full
from automl_flows.commands import (
    compare,
    evaluate,
    experience,
    leaderboard,
    learn,
    learn_priors,
    models,
    report,
    retrain,
    runs,
    search_parts,
    train,
    up_and_down,
    why,
)
from automl_flows.commands.process import (
    INTERRUPTED,
    TERMINATED,
    collect_garbage_seldom,
    leave,
    report_error,
    report_internal_error,
    show_warnings,
    unwind_on_signals,
    was_terminated,
)
from automl_flows.environment import prepare_environment
from automl_flows.words.messages import one_line, say
from automl_flows.words.rendering import BROKEN_PIPE, emit

app = typer.Typer(
    name="automl",
    help="Automatic machine learning for tables: from raw columns to a registered model.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _program(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        emit(f"automl-flows {installed('automl-flows')}")
        raise typer.Exit


for _commands in (
    train,
    models,
    evaluate,
    search_parts,
    runs,
    leaderboard,
    why,
    report,
    compare,
    experience,
    learn,
    learn_priors,
    retrain,
    up_and_down,
):
    _commands.register(app)


def main() -> None:
    """Entry point of the program."""
    collect_garbage_seldom()
    prepare_environment()
    logging.raiseExceptions = False  # a line that Prefect's page does not get is no news
    unwind_on_signals()
    show_warnings()
    leave(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; everything else is on stdout and stderr."""
    try:
        returned = _command()(args=list(arguments) or ["--help"], standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 the last line of defense: a sentence, no traceback
        return _report(error)
    if returned == INTERRUPTED:  # typer swallowed a KeyboardInterrupt
        return _interrupted()
    return returned if isinstance(returned, int) else 0


@cache
def _command() -> Any:
    """All commands; reading the options of each one takes longer than many a command."""
    return get_command(app)


def _report(error: BaseException) -> int:
    """Exit code of whatever ended a command, after one sentence about it on stderr."""
    if isinstance(error, AutoMLError):
        return report_error(error)
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, typer.Abort) or not isinstance(error, Exception):
        return error.code if _is_exit(error) else _interrupted()
    if _is_usage_error(error):
        text = _usage_text(error)
        say(f"error: {text[:1].lower()}{text[1:]}")
        return 2
    if refused := _refused_by_disk(error):
        return report_error(StorageError.of(refused, refused.filename or "a file"))
    return report_internal_error(error)


def _usage_text(error: _UsageError) -> str:
    """What is wrong with the command line; pydantic's words for a value are replaced by ours."""
    from pydantic import ValidationError

    from automl.settings.problems import requirement_of

    text = one_line(str(error.format_message()))
    if isinstance(error.__cause__, ValidationError):
        option, _, _ = text.partition(": ")
        text = f"{option}: {requirement_of(error.__cause__.errors()[0])}"
    return text.rstrip(".")


def _refused_by_disk(error: BaseException | None) -> OSError | None:
    """What a full disk has said, among an error and its causes."""
    while error is not None:
        if is_full(error):
            return error
        error = error.__cause__ or error.__context__
    return None


def _interrupted() -> int:
    say("interrupted")
    return TERMINATED if was_terminated() else INTERRUPTED


def _is_exit(error: BaseException) -> TypeGuard[_Exit]:
    return isinstance(error, SystemExit) and isinstance(error.code, int)


def _is_usage_error(error: BaseException) -> TypeGuard[_UsageError]:
    """Whether typer found the error; its class has moved between versions."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


class _Exit(SystemExit):
    code: int


class _UsageError(Exception):
    def format_message(self) -> str:
        """Text of the error."""
        raise NotImplementedError


if __name__ == "__main__":
    main()
