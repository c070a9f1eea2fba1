"""Runs pages, each in a process that is forked from one that has imported what commands need.

Run as ``python driver.py SOCKET``; it ends with its standard input. A request is one JSON line with the folder of a page and
its steps, an answer the exit code and the last words of its process. The steps of a page run in order, in one
namespace; a command of a page is a process of its own, forked from the first one too, which never runs anything itself:
what a page has imported, changed or started is no command's.
"""

import contextlib
import doctest
import importlib
import json
import os
import re
import select
import shlex
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

RUN_LIKE = re.compile(r"^(RUN|20\d{6}(-\d{6}(-[0-9a-f]{4})?)?)$")
IMPORTED = (
    "automl_flows.commands.cli",
    "automl_flows.estimator",
    "automl_flows.retrain_flows",
    "automl_flows.training",
    "matplotlib.figure",
)
SOCKET = Path(sys.argv[1])
LAST_WORDS = 3000


def last_run():
    """Id of the newest run of the home."""
    return max(path.name for path in (Path(os.environ["AUTOML_HOME"]) / "runs").iterdir())


def call(command, expected):
    """Run an `automl` command line; a run that it names is the newest one."""
    words = shlex.split(command)[1:]
    words = [last_run() if RUN_LIKE.match(word) else word for word in words]
    done = ask(SOCKET, {"folder": str(Path.cwd()), "words": words, "variables": dict(os.environ)})
    if done["code"] != expected:
        sys.exit(f"automl {' '.join(words)} ended with {done['code']}:\n{done['said']}")


def compare(step):
    """Run the examples of a docstring, and compare what they say."""
    name, namespace = step["module"], vars(importlib.import_module(step["module"])).copy()
    examples = doctest.DocTestParser().get_doctest(step["text"], namespace, name, name, 0)
    failed, _ = doctest.DocTestRunner().run(examples, out=sys.stderr.write)
    if failed:
        sys.exit(f"{failed} examples say something else")


def run_page(steps):
    """Run what a page shows."""
    namespace = {"__name__": "__main__"}
    for step in steps:
        sys.stderr.write(f"line {step['line']}\n")
        if step["kind"] == "file":
            Path(step["name"]).write_text(step["text"], encoding="utf-8")
        elif step["kind"] == "python":
            file = Path(f"line_{step['line']}.py").resolve()
            file.write_text(step["text"], encoding="utf-8")
            exec(compile(step["text"], str(file), "exec"), namespace)
        elif step["kind"] == "docstring":
            compare(step)
        else:
            call(step["text"], step["expected"])


def run_command(words):
    """Run a command line as the installed program does."""
    from automl_flows.commands import cli, process

    sys.argv, sys.path[0] = ["automl", *words], str(Path.cwd())
    process.BEGAN = time.monotonic()
    cli.main()


def work_on(request):
    """Do what is asked for in this process."""
    os.chdir(request["folder"])
    if "steps" in request:
        run_page(request["steps"])
    else:
        os.environ.clear()
        os.environ.update(request["variables"])
        run_command(request["words"])


def code_of(request):
    """Exit code of a process that does what is asked for."""
    try:
        work_on(request)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 the page's own, to be told
        traceback.print_exc()
        return 1
    return 0


def answer(connection):
    """Do what is asked for in a process of its own, and say how that ended."""
    with connection.makefile("rw", encoding="utf-8") as stream, tempfile.TemporaryFile() as said:
        request = json.loads(stream.readline())
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(said.fileno(), 2)
            code = code_of(request)
            sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said.seek(0)
        words = said.read().decode(errors="replace")[-LAST_WORDS:]
        json.dump({"code": code, "said": words}, stream)


def ask(address, request):
    """The answer to a request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(address))
        with connection.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            return json.loads(stream.readline())


def serve():
    """Answer every request in a process of its own; this one only forks."""
    from automl.stages.outlook import warm_up
    from automl_flows.environment import prepare_environment

    prepare_environment()
    for name in IMPORTED:
        importlib.import_module(name)
    warm_up()
    with socket.socket(socket.AF_UNIX) as listener:
        draft = SOCKET.with_suffix(".new")
        listener.bind(str(draft))
        listener.listen()
        draft.rename(SOCKET)  # who sees it can connect
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    answer(connection)
                    os._exit(0)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


if __name__ == "__main__":
    serve()
    os._exit(0)  # no exit hooks: they would take seconds
