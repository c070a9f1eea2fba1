"""Common part of the commands: their home, and how they end."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from automl.addresses import public_address, public_text
from automl.errors import AutoMLError, AutoMLWarning, DataError
from automl.home import Home, default_home
from automl_flows.environment import silence_libraries
from automl_flows.words.messages import one_line, say

INTERRUPTED = 130
"""128 + SIGINT, as shells count."""
TERMINATED = 143
"""128 + SIGTERM, as shells count."""

GARBAGE_THRESHOLD = 10_000
"""New objects between two collections; Python's 700 cost a tenth of a command's start."""

# The command's first line, as `time.monotonic()`: budgets count from here.
BEGAN = time.monotonic()

_opened: list[Home] = []
_signals: list[int] = []


class TerminationError(BaseException):
    """SIGTERM arrived; unwinds like KeyboardInterrupt."""


def open_home(path: Path | None) -> Home:
    """Home of this command: the option's, else the default one."""
    home = Home(path.expanduser().resolve() if path is not None else default_home())
    _opened[:] = [home]
    return home


def unwind_on_signals() -> None:
    """Let SIGINT and SIGTERM unwind the program, so that everything started is stopped.

    From the signal on libraries log nothing more: what their threads report then is only the
    unwinding itself.
    """
    _signals.clear()

    def _raise(number: int, _: FrameType | None) -> None:
        _signals.append(number)
        silence_libraries()
        raise TerminationError if number == signal.SIGTERM else KeyboardInterrupt

    signal.signal(signal.SIGTERM, _raise)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as a shell's background job has it
        signal.signal(signal.SIGINT, _raise)


def collect_garbage_seldom() -> None:
    """Look for garbage less often: most objects of a command are made by its imports, and stay."""
    gc.set_threshold(GARBAGE_THRESHOLD)


def leave(code: int) -> NoReturn:
    """End the process.

    Once Prefect is loaded its exit hooks are skipped: what they would send to a server that has
    been stopped takes minutes of retries. All that matters is on disk by then. Nor are the objects of
    all modules searched for garbage once more, which takes a third of a second.
    """
    gc.freeze()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if "prefect" in sys.modules:
        os._exit(code)
    sys.exit(code)


def was_terminated() -> bool:
    """Whether SIGTERM was the first signal since `unwind_on_signals`."""
    return _signals[:1] == [signal.SIGTERM]


def show_warnings() -> None:
    """One line on stderr for each of our warnings; those of other libraries stay silent."""

    def _show(message: Warning | str, category: type[Warning], *_: object) -> None:
        if issubclass(category, AutoMLWarning):
            say(f"warning: {message}")

    warnings.showwarning = _show  # type: ignore[assignment] # its other arguments are not needed
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", AutoMLWarning)


def command_given() -> str:
    """The command line of this process as it can be given again, without secrets in addresses."""
    return shlex.join(["automl", *map(public_address, sys.argv[1:])])


def report_error(error: AutoMLError) -> int:
    """Print an error of ours and return its exit code."""
    if isinstance(error, DataError) and len(error.problems) > 1:
        _report_problems(error)
    else:
        say(f"error: {one_line(error.message)}")
    return TERMINATED if error.exit_code == INTERRUPTED and was_terminated() else error.exit_code


def _report_problems(error: DataError) -> None:
    """How many problems there are, in which table, then each of them once."""
    source = error.fields.get("source", "")
    say(f"error: {len(error.problems)} problems in {source or 'the table'}:")
    for problem in error.problems:
        say(f"  - {one_line(problem.removeprefix(f'{source}: '))}")


def report_internal_error(error: BaseException) -> int:
    """Write the traceback of an unexpected error to a file; returns exit code 1."""
    log = _write_traceback(error)
    kind = type(error).__name__
    text = public_text(one_line(str(error)))[:300]
    say(f"error: internal error ({kind}: {text}); the details are in {log}")
    return 1


def _write_traceback(error: BaseException) -> Path:
    text = public_text("".join(traceback.format_exception(error)))
    name = f"error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    homes = [home.path / "logs" for home in _opened] or [default_home() / "logs"]
    for folder in (*homes, Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    return Path(os.devnull)
