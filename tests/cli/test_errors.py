"""How errors and signals become exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
import typer

from automl.errors import AutoMLError, DataError, InterruptedRunError, ServiceError, SettingsError
from automl_flows.commands import cli
from automl_flows.commands import runs as run_commands

ERRORS = [
    (AutoMLError("broken"), 1),
    (SettingsError("bad setting"), 2),
    (DataError("bad table"), 3),
    (ServiceError("server away"), 4),
    (InterruptedRunError("stopped"), 130),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
def test_an_error_of_ours_is_one_line_and_its_exit_code(automl, monkeypatch, error, code):
    monkeypatch.setattr(run_commands, "open_home", _raising(error))
    outcome = automl("runs")
    assert outcome.code == code
    assert outcome.err == f"error: {error.message}\n"


def test_a_data_error_lists_every_problem_once(automl, monkeypatch):
    error = DataError.of(["column a: empty", "column b: infinite"], source="t.csv")
    monkeypatch.setattr(run_commands, "open_home", _raising(error))
    assert automl("runs").err.splitlines() == [
        "error: 2 problems in t.csv:",
        "  - column a: empty",
        "  - column b: infinite",
    ]


def test_an_unexpected_error_leaves_its_traceback_in_a_file(automl, monkeypatch, own_home):
    monkeypatch.setattr("automl.home.Home.run_folders", _raising(KeyError("surprise")))
    outcome = automl("runs")
    (log,) = (own_home.path / "logs").iterdir()
    assert outcome.code == 1
    assert "internal error" in outcome.err
    assert str(log) in outcome.err
    assert "Traceback" not in outcome.err
    assert "surprise" in log.read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_an_interruption_exits_with_130(automl, monkeypatch, error):
    monkeypatch.setattr(run_commands, "open_home", _raising(error))
    assert automl("runs").code == 130


def test_sigterm_exits_with_143():
    program = (
        "import os, signal, sys\n"
        "from automl_flows.commands import cli, runs as run_commands\n"
        "run_commands.open_home = lambda _: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.argv = ['automl', 'runs']\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (143, "interrupted\n")


def test_the_process_ends_at_once_when_prefect_is_loaded():
    program = (
        "import atexit, sys, types\n"
        "from automl_flows.commands.process import leave\n"
        "atexit.register(lambda: print('slow hook'))\n"
        "print('result')\n"
        "sys.modules['prefect'] = types.ModuleType('prefect')\n"
        "leave(3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "result\n")


def test_a_command_seldom_looks_for_garbage_and_not_at_its_end():
    program = (
        "import atexit, gc, sys\n"
        "from automl_flows.commands import cli\n"
        "atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0))\n"
        "sys.argv = ['automl', '--version']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.split()[-2:] == [b"10000", b"True"]


def test_a_reader_that_goes_away_is_no_error():
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "automl_flows.commands.cli", "families", "--json"]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


HEAVY = ("prefect", "mlflow", "sklearn", "pandas", "numpy", "lightgbm", "scipy", "rich")


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["trian"]])
def test_help_and_usage_errors_import_nothing_heavy(arguments):
    program = (
        "import json, sys\n"
        "from automl_flows.commands.cli import run\n"
        f"run({arguments!r})\n"
        "print()\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not set(HEAVY) & set(loaded)


def test_the_interpreter_keeps_its_signal_handlers_in_process(automl):
    before = signal.getsignal(signal.SIGTERM)
    automl("--help")
    assert signal.getsignal(signal.SIGTERM) is before


def test_main_is_the_entry_point():
    assert callable(cli.main)


def _raising(error):
    def fail(*_):
        raise error

    return fail
