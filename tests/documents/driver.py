"""Runs the steps of one page, in order, in one folder and one namespace; steps come on stdin as JSON."""

import doctest
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

RUN_LIKE = re.compile(r"^(RUN|20\d{6}(-\d{6}(-[0-9a-f]{4})?)?)$")


def last_run():
    """Id of the newest run of the home."""
    return max(path.name for path in (Path(os.environ["AUTOML_HOME"]) / "runs").iterdir())


def call(command, expected):
    """Run an `automl` command line; a run that it names is the newest one."""
    words = shlex.split(command)[1:]
    words = [last_run() if RUN_LIKE.match(word) else word for word in words]
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.commands.cli", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != expected:
        sys.exit(f"automl {' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}")


def compare(step):
    """Run the examples of a docstring, and compare what they say."""
    name, namespace = step["module"], vars(importlib.import_module(step["module"])).copy()
    examples = doctest.DocTestParser().get_doctest(step["text"], namespace, name, name, 0)
    failed, _ = doctest.DocTestRunner().run(examples, out=sys.stderr.write)
    if failed:
        sys.exit(f"{failed} examples say something else")


def main():
    namespace = {"__name__": "__main__"}
    for step in json.load(sys.stdin):
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


if __name__ == "__main__":
    main()
