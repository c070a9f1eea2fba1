"""Loads bundles, each in a process of its own that has nothing of ours but the bundle's code.

    python -I benchmarks/loading/fresh_loads.py ROWS.pickle < BUNDLES

Reads one folder a line, and answers one JSON line each: an empty ``problem`` and the file of the predictions, or why it
does not load. Nothing may be unpickled: every look-up of a class by a pickle is an error. A child is
forked per bundle from a process that has imported libraries only, so a load costs no import. The code of bundles at
equal places is compiled once, beside the rows.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from pathlib import Path

LIBRARIES = ("numpy", "pandas", "scipy", "sklearn", "sklearn.ensemble", "skops.io", "lightgbm")


def refuse_pickles(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook."""
    if event == "pickle.find_class":
        raise RuntimeError(f"a pickle asked for {arguments[0]}.{arguments[1]}")


def predictions(bundle: Path, frames: list[object]) -> Path:
    """File with the raw predictions of a bundle, loaded as MLflow loads it."""
    import numpy as np

    sys.addaudithook(refuse_pickles)
    sys.path.insert(0, str(bundle / "code"))
    pyfunc = importlib.import_module("automl.inference.pyfunc")
    assert str(pyfunc.__file__).startswith(str(bundle)), "the code is not the bundle's own"
    loaded = pyfunc._load_pyfunc(str(bundle))  # noqa: SLF001 - the name that MLflow asks for
    raw = [loaded.model.raw(frame) for frame in frames]
    assert all(len(loaded.predict(frame)) == len(frame) for frame in frames)  # type: ignore[arg-type]
    file = bundle.with_suffix(".npz")
    np.savez(file, *raw)
    return file


def main() -> None:
    """Answer line by line."""
    if os.environ.get("AUTOML_TRUST"):
        raise SystemExit("AUTOML_TRUST is set")
    for name in LIBRARIES:
        importlib.import_module(name)
    import pandas as pd

    frames = pd.read_pickle(sys.argv[1])
    sys.pycache_prefix = str(Path(sys.argv[1]).with_name("compiled"))
    sys.dont_write_bytecode = False
    for line in sys.stdin:
        bundle = Path(line.strip())
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            warnings.simplefilter("ignore")
            try:
                answer = {"file": str(predictions(bundle, frames)), "problem": ""}
            except Exception as error:  # noqa: BLE001 - the answer is whatever went wrong
                answer = {"file": "", "problem": f"{type(error).__name__}: {error}"}
            os.write(writing, json.dumps(answer).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            text = stream.read().decode()
        os.waitpid(child, 0)
        print(text or json.dumps({"file": "", "problem": "the process died"}), flush=True)


if __name__ == "__main__":
    main()
