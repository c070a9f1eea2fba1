"""Many drops, some of them bad, through Prefect's own server: each good content once, each bad one set aside.

The long form is ``pytest tests/retraining/test_many_drops.py --drops 200 -rP``; a place elsewhere gets half of them. Everything is real but the search:
the server, the flow with its states and retries, reading and checking of the tables. The flow runs
are worked off in this process, one after the other, as a worker would.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import fsspec
import numpy as np
import pandas as pd
import pytest

from automl.data.digests import digest_frame
from automl.data.table import prepare_table
from automl.home import Home
from automl.settings import Settings
from automl_flows import retraining
from automl_flows.services.server import LocalServer, flush_clients
from automl_flows.services.service_plan import Plan
from automl_flows.services.serving import new_watcher
from automl_flows.services.standing import start_services, stop_services
from automl_flows.services.watching import Watcher

pytestmark = pytest.mark.integration

NAME = "beans"
SHARES = {"bad": 0.15, "twice": 0.1, "half": 0.05, "moved": 0.025, "replaced": 0.025, "down": 0.025}
"""Of all drops; the others are good and arrive undisturbed."""
ROUNDS = 5


def table_of(number: int, n_rows: int = 30) -> bytes:
    rng = np.random.default_rng(number)
    x = rng.normal(size=n_rows).round(4)
    frame = pd.DataFrame(
        {"x": x, "z": rng.integers(9, size=n_rows), "target": np.where(x > 0, "a", "b")}
    )
    return frame.to_csv(index=False).encode()


def bad_table(number: int) -> tuple[str, bytes]:
    """Extension and content of a file that cannot be used, each in another way."""
    good = table_of(10_000 + number)
    kinds = [
        (".csv", good.replace(b"x,z", b"x")),
        (".csv", good.replace(b"target", b"label")),
        (".csv", b""),
        (".csv.gz", gzip.compress(good)[:60]),
        (".csv", good.splitlines(keepends=True)[0]),
        (".parquet", good),
        (".json", b'{"x": [1, 2'),
        (".jsonl", b'{"x": 1}\n[2]\n'),
        (".csv", good.replace(b",b\n", b",a\n")),
        (".csv", good + b'"never closed,1,a\n'),
    ]
    extension, content = kinds[number % len(kinds)]
    return extension, content + f"\n# {number}".encode() if extension == ".json" else content


@dataclass
class Stream:
    """What is dropped, and what must become of it."""

    n_drops: int
    files: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)
    good: set[bytes] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.counts = {kind: max(1, round(share * self.n_drops)) for kind, share in SHARES.items()}
        self.counts["good"] = self.n_drops - sum(self.counts.values())
        for kind, count in self.counts.items():
            self.files[kind] = [self._new(kind, number) for number in range(count)]

    def _new(self, kind: str, number: int) -> tuple[str, bytes]:
        if kind == "bad":
            extension, content = bad_table(number)
            name = f"bad-{number}{extension}"
            self.bad.add(name)
            return name, content
        content = table_of(1000 * list(self.counts).index(kind) + number)
        if kind != "moved":
            self.good.add(content)
        return f"{kind}-{number}.csv", content


class Setting:
    """A place, a Prefect server with the deployment of a problem, and a worker in this process."""

    def __init__(self, home: Home, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.monkeypatch = home, monkeypatch
        self.system, self.root = fsspec.core.url_to_fs(address)
        self.plan = Plan(name=NAME, drops=address)
        self.trained: list[str] = []
        self.said: list[str] = []
        self.now = 0.0
        self._add_run("first")
        monkeypatch.setattr(retraining, "_train", self._train)
        monkeypatch.setenv("AUTOML_HOME", str(self.home.path))
        self.watcher = self._watcher()

    @contextmanager
    def connected(self) -> Iterator[None]:
        service = start_services(self.home.path, ("prefect",))["prefect"]
        with LocalServer(self.home.path / "prefect", url=service.url).connected():
            yield
            flush_clients(1.0)

    def register(self) -> None:
        from automl_flows.retrain_flows import deployments

        (deployment,) = deployments(self.plan)
        self.deployment = deployment.apply()

    def restart(self) -> None:
        """A new service, which knows nothing but what is in the home and on the server."""
        self.watcher = self._watcher()

    def put(self, name: str, content: bytes) -> None:
        self.system.pipe_file(f"{self.root}/{name}", content)

    def look(self, seconds: float = 6.0) -> None:
        self.watcher.step()
        self.now += seconds
        self.watcher.step()

    def work(self) -> int:
        """Run all flow runs that are due, as a worker does; returns how many."""
        from prefect import get_client
        from prefect.flow_engine import run_flow
        from prefect.states import Pending

        from automl_flows.retrain_flows import on_new_data_flow

        soon, n_run = datetime.now(UTC) + timedelta(minutes=10), 0
        with get_client(sync_client=True) as client:
            body = {
                "deployment_ids": [str(self.deployment)],
                "scheduled_before": soon.isoformat(),
                "limit": 200,
            }
            due = client.request("POST", "/deployments/get_scheduled_flow_runs", json=body).json()
            for entry in due:
                run_id = UUID(entry["id"])
                answer = client.set_flow_run_state(run_id, Pending())
                if answer.status.value != "ACCEPT":
                    continue
                run = client.read_flow_run(run_id)
                run_flow(
                    on_new_data_flow, flow_run=run, parameters=run.parameters, return_type="state"
                )
                n_run += 1
        return n_run

    def flow_runs(self) -> list[Any]:
        from prefect import get_client

        with get_client(sync_client=True) as client:
            found: list[Any] = []
            while page := client.read_flow_runs(limit=200, offset=len(found)):
                found += page
            return found

    def files(self) -> set[str]:
        return {path.removeprefix(f"{self.root}/") for path in self.system.find(self.root)}

    def _watcher(self) -> Watcher:
        watcher = new_watcher(self.plan, self.home, self.said.append)
        watcher.clock = lambda: self.now
        return watcher

    def _train(self, settings: Settings, frame: pd.DataFrame, **_: Any) -> dict[str, Any]:
        prepare_table(frame, target=settings.target)
        digest = digest_frame(frame)
        self.trained.append(digest)
        self._add_run(digest)
        return {"run_id": "new", "promotion": {"promote": True, "reason": "better"}, "model": {}}

    def _add_run(self, digest: str) -> None:
        folder = self.home.create_run()
        settings = Settings(table="first.csv", target="target", name=NAME).model_dump(mode="json")
        data = {"digest": "part", "table_digest": digest, "task": "binary"}
        facts = {
            "settings": settings,
            "data": data,
            "status": "finished",
            "started_at": time.time(),
        }
        folder.write_facts({**facts, "run_id": folder.run_id})


@pytest.fixture
def setting(
    inbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_ports: None
) -> Iterator[Setting]:
    home = Home(tmp_path / "home")
    yield Setting(home, inbox, monkeypatch)
    stop_services(home.path)


@pytest.mark.timeout(7200)
def test_each_good_content_is_used_once_and_each_bad_file_is_set_aside(
    setting: Setting, request: pytest.FixtureRequest
) -> None:
    began = time.monotonic()
    n_drops = request.config.getoption("--drops")
    stream = Stream(n_drops // 2 if "://" in setting.plan.drops else n_drops)
    with setting.connected():
        setting.register()
        for number in range(ROUNDS):
            play(setting, stream, number)
        while setting.work():
            setting.look()
        stop_services(setting.home.path)  # Prefect and the service are down, files go on arriving
        for name, content in stream.files["down"]:
            setting.put(name, content)
        setting.look()
        assert any(text.startswith("waiting: ") for text in setting.said)
    with setting.connected():
        setting.restart()
        setting.look()
        while setting.work() or not setting.watcher.is_idle:
            setting.look()
        check(setting, stream)
        n_runs = len(setting.flow_runs())
    seconds = round(time.monotonic() - began)
    figures = f"{stream.n_drops} drops, {len(setting.trained)} trained, {len(stream.bad)} set aside"
    sys.stdout.write(f"{figures}, {n_runs} flow runs, {seconds} s\n")


def play(setting: Setting, stream: Stream, number: int) -> None:
    """One round: a part of each kind arrives, and is disturbed before it is complete."""
    part = {kind: files[number::ROUNDS] for kind, files in stream.files.items()}
    for kind in ("good", "bad", "twice"):
        for name, content in part[kind]:
            setting.put(name, content)
            if kind == "twice":
                setting.put(f"copy-of-{name}", content)
    for name, content in [*part["half"], *part["moved"]]:
        setting.put(name, content[: len(content) // 2])
    for name, content in part["replaced"]:
        setting.put(name, content.replace(b"a", b"c"))
    setting.look(3.0)
    for name, _ in part["moved"]:
        setting.system.rm_file(f"{setting.root}/{name}")
    for name, content in [*part["half"], *part["replaced"]]:
        setting.put(name, content)
    setting.look(3.0)
    setting.look()
    if number % 2:
        setting.restart()
    setting.work()
    setting.look()


def check(setting: Setting, stream: Stream) -> None:
    expected = (digest_frame(pd.read_csv(BytesIO(content))) for content in stream.good)
    assert sorted(setting.trained) == sorted(expected)
    moved = {name for name, _ in stream.files["moved"]}
    aside = {f"failed/{name}" for name in stream.bad}
    reasons = {f"failed/{name}.reason.txt" for name in stream.bad | moved}
    files = setting.files()
    assert {name for name in files if name.startswith("failed/")} == aside | reasons
    for reason in reasons:
        text = setting.system.cat_file(f"{setting.root}/{reason}").decode().strip()
        assert len(text) > 20
        assert "\n" not in text
        assert "Traceback" not in text
    names = {
        n for kind in stream.files if kind not in ("bad", "moved") for n, _ in stream.files[kind]
    }
    assert names <= files
    contents = {content for _, content in stream.files["bad"]} | stream.good
    own = [run for run in setting.flow_runs() if run.deployment_id is not None]
    assert len(own) == len(contents)
    assert {run.state.name for run in own} == {"Kept", "Refused"}
