"""Whether a bundle predicts in a clean process that has nothing but the bundle's own code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from automl.errors import AutoMLError, ServiceError
from automl.inference.example import input_example
from automl.tracking.packaging import read_manifest

COLD_LOAD_SECONDS = 120.0
"""A clean process takes about three; on a stalled disk it may take minutes, which is no fault of the
bundle."""
TRUST_VARIABLE = "AUTOML_TRUST"
_SCRIPT = """
import importlib, json, os, sys
from importlib.machinery import FileFinder, SourceFileLoader
for name in ("pandas", "lightgbm", "sklearn.cluster", "sklearn.linear_model", "sklearn.tree"):
    importlib.import_module(name)  # skops is left to the bundle, which imports it in half the time
job = json.loads(sys.stdin.readline() or sys.exit(1))
bundle = job["bundle"]
code = os.path.join(bundle, "code")
class FromSource(SourceFileLoader):
    def get_code(self, name):  # compiled files that lie beside it could be anything
        return self.source_to_code(self.get_data(self.path), self.path)
def only_source(path):
    if not path.startswith(code):
        raise ImportError
    return FileFinder(path, (FromSource, [".py"]))
sys.path_hooks.insert(0, only_source)
sys.path.insert(0, code)
import pandas
import automl
assert automl.__path__[0].startswith(bundle), "the code is not the bundle's own"
from automl.inference.pyfunc import _load_pyfunc
model = _load_pyfunc(bundle, {"trust": job["trust"]})
print(json.dumps({"rows": len(model.predict(pandas.DataFrame(job["rows"])))}))
"""


class ColdLoad:
    """A clean process: it imports the libraries at once, and waits for the bundle it is asked for."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._is_asked = False
        self._refusal = ""
        self._answer: str | None = None

    def start(self) -> None:
        """Start the process; does nothing if it is there."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**_untrusting_environment(), "OMP_NUM_THREADS": "1"},
            )

    def ask(self, bundle: Path, *, trust: bool = False) -> None:
        """Let it load a bundle and predict the input example; returns at once.

        Parameters
        ----------
        trust
            Whether it may unpickle, as the user of this run allowed.
        """
        self.start()
        assert self._process is not None
        self._is_asked = True
        try:
            manifest = read_manifest(bundle)
        except AutoMLError as error:
            self._refusal = error.message
            self._process.kill()
            return
        job = {"bundle": str(bundle), "trust": trust, "rows": input_example(manifest)}
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: `problem` says why
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    @property
    def is_asked(self) -> bool:
        """Whether it was given a bundle."""
        return self._is_asked

    @property
    def is_running(self) -> bool:
        """Whether the process is there and has not ended."""
        return self._process is not None and self._process.poll() is None

    def problem(self) -> str:
        """Why the bundle does not load; empty if it does. Waits for the answer, which is kept.

        Raises
        ------
        ServiceError
            If there is none in time: that says more of the machine than of the bundle.
        """
        if self._answer is None:
            self._answer = self._wait()
        return self._answer

    def _wait(self) -> str:
        assert self._process is not None
        try:
            output, errors = self._process.communicate(timeout=COLD_LOAD_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServiceError(
                f"the bundle did not load in a clean process within {COLD_LOAD_SECONDS:.0f} s"
            ) from None
        if self._process.returncode == 0 and '"rows"' in output:
            return ""
        last = self._refusal or (errors.strip().splitlines() or ["no message"])[-1]
        return f"the bundle does not load in a clean process: {last[:500]}"

    def close(self) -> None:
        """End the process if it still runs."""
        process, self._process, self._is_asked = self._process, None, False
        self._refusal, self._answer = "", None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


def _untrusting_environment() -> dict[str, str]:
    """The environment without the variable that would let the process unpickle."""
    return {name: value for name, value in os.environ.items() if name != TRUST_VARIABLE}
