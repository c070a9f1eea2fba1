"""`mlflow models serve` for the champions of the five tables: which requests are answered.

``python request_kinds.py HOME [TABLE …]``
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import tables


def kinds(name: str) -> dict[str, list[dict]]:
    """Requests by what is special about them."""
    frame = tables.make(name, 40, seed=22).drop(columns="target")
    frame = frame.astype(object).where(frame.notna(), None)
    whole = frame.head(20).to_dict("records")
    columns = list(frame)
    texts = [c for c in columns if isinstance(whole[0][c], str)]
    numbers = [c for c in columns if isinstance(whole[0][c], int | float) and c not in texts]
    gaps = [{**row, columns[i % len(columns)]: None} for i, row in enumerate(whole)]
    unseen = [{**row, texts[-1]: "never seen"} for row in whole]
    out = [{k: v for k, v in row.items() if k != columns[1]} for row in whole]
    fractions = [{**r, **{c: r[c] + 0.5 for c in numbers if r[c] is not None}} for r in whole]
    plain = [{**r, **{c: float(r[c]) for c in numbers if r[c] is not None}} for r in whole]
    return {
        "as trained": whole, "one row": whole[:1], "gaps": gaps, "unseen category": unseen,
        "column left out": out, "fractions": fractions, "whole as float": plain,
    }  # fmt: skip


def main(home: Path, names: list[str]) -> None:
    for name in names:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{home.resolve()}/mlflow.db"}
        command = [
            sys.executable,
            "-m",
            "mlflow",
            "models",
            "serve",
            "-m",
            f"models:/{name}@champion",
        ]
        command += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
        with (home / "serve.log").open("ab") as log:
            server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            wait(f"http://127.0.0.1:{port}/ping", server)
            for kind, rows in kinds(name).items():
                print(name, kind, answer(f"http://127.0.0.1:{port}/invocations", rows), flush=True)
        finally:
            server.terminate()
            server.wait()


def wait(address: str, server: subprocess.Popen) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit("the server did not start; see serve.log")


def answer(address: str, rows: list[dict]) -> str:
    body = json.dumps({"dataframe_records": rows}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return f"{len(json.load(response)['predictions'])} of {len(rows)}"
    except urllib.error.HTTPError as error:
        return f"refused: {error.read()[:200]!r}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(tables.TABLES))
