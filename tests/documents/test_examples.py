"""What README, docs and docstrings show as Python or as an `automl` command is run, page by page, in order.

The blocks of a page share a folder and a namespace; all pages share one home and one Prefect server. Pages and commands
are processes of their own, forked from one that has imported what they need (`driver.py`).
Five things differ from what a reader would run, on all pages alike:

- budgets: `--budget X`, `--trials N`, and the same in Python and in yaml files, are `N_TRIALS` trials;
- where nothing else is said, the preset is `fast`, there is one worker, and the families are four that are fitted in no
  time;
- `automl compare` has the first of its data sets only;
- a run that is named (`RUN`, `20261121-220441`) is the newest one of the home;
- a trial that `automl why` asks for (`s00048`, `49`) is one of these few.

A block below ``<!-- not run: REASON -->`` is left out; `NOT_RUN` holds all of these. A module whose
docstrings have examples is a page too, and their output is compared. What yaml blocks without a file name
show goes through the reader that it is written for.
"""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("driver.py")
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
MODULES = [path for layer in ("automl", "tasks", "flows") for path in (ROOT / layer).rglob("*.py")]
N_TRIALS = 6
"""So many that the trials which the pages name are there."""
SETTINGS = {
    "AUTOML_PRESET": "fast",
    "AUTOML_FAMILIES": "lightgbm,ridge,knn,lda",
    "AUTOML_WORKERS": "1",
}
NOT_RUN = {
    ("comparison.md", "a form"): 1,
    ("dask.md", "a cluster"): 2,
    ("deployments.md", "a form"): 1,
    ("deployments.md", "it stands until it is interrupted"): 3,
    ("deployments.md", "servers and a worker that stand"): 3,
    ("extending.md", "the package must be installed"): 2,
    ("how-to.md", "a cluster"): 1,
    ("how-to.md", "a form"): 1,
    ("how-to.md", "it needs a model with this name"): 4,
    ("how-to.md", "it serves until it is stopped"): 2,
    ("experience.md", "it needs a server elsewhere"): 1,
    ("knowledge.md", "a form"): 1,
    ("models.md", "a form"): 1,
    ("models.md", "it serves until it is stopped"): 1,
    ("production.md", "it needs the servers"): 2,
    ("search.md", "it tries many configurations on every table of the folder"): 2,
    ("search.md", "what it shows is what two minutes were spent on"): 2,
}
"""How many commands of a page are not run, by the reason beside them."""
REFUSED = {
    "automl retrain tumor ": 2,
    "automl train orders.csv --target kind --dry-run --strict": 3,
}
"""How the commands begin that a page shows being refused, and their exit codes."""
FENCE = re.compile(r"^```(\w*)\s*$")
MARKER = re.compile(r"^<!-- not run: (.+) -->$")
NAMED_FILE = re.compile(r"^# ([\w-]+\.(?:yaml|py))$")


def blocks_of(text: str) -> Iterator[tuple[int, str, list[str], str]]:
    """First line, kind, lines and, where it is not to be run, the reason of every fenced block."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if (fence := FENCE.match(line)) is None:
            continue
        if start is None:
            start, kind = number, fence[1]
            continue
        before = next((other for other in reversed(lines[:start]) if other.strip()), "")
        marker = MARKER.match(before)
        yield start + 2, kind, lines[start + 1 : number], marker[1] if marker else ""
        start = None


def commands_of(lines: list[str]) -> list[str]:
    """Lines of `automl` in a block: after a prompt, or, if there is none, all of the block."""
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    prompted = [line[2:] for line in joined if line.startswith("$ ")]
    chosen = prompted or (joined if joined and joined[0].startswith("automl ") else [])
    return [" ".join(line.split()) for line in chosen if line.startswith("automl ")]


def steps_of(text: str) -> Iterator[tuple[dict[str, object], str]]:
    """What a page has to be run, with the reason where it is not."""
    for line, kind, lines, reason in blocks_of(text):
        body = "\n".join(lines) + "\n"
        if kind in {"python", "yaml"} and (named := NAMED_FILE.match(lines[0])):
            text = with_few_trials(body)
            yield {"kind": "file", "line": line, "name": named[1], "text": text}, reason
        elif kind == "python":
            yield {"kind": "python", "line": line, "text": with_few_trials(body)}, reason
        elif not kind:
            for command in commands_of(lines):
                refused = (code for start, code in REFUSED.items() if command.startswith(start))
                expected = next(refused, 0)
                step = {"kind": "command", "line": line, "text": with_few_trials(command)}
                yield {**step, "expected": expected}, reason


def with_few_trials(text: str) -> str:
    """The same with `N_TRIALS` trials in place of any budget, and one data set to compare on."""
    text = re.sub(r"--(budget|trials) \S+", f"--trials {N_TRIALS}", text)
    text = re.sub(r"(?m)^(\s*)(trials|budget_seconds): \S+", rf"\1trials: {N_TRIALS}", text)
    text = re.sub(r'\bbudget="\w+"', f"trials={N_TRIALS}", text)
    text = re.sub(r"^(automl why \S+) s?(\d+)$", _few_trials_number, text)
    return re.sub(r"^(automl compare \S+ \S+).*( -o .*)$", r"\1\2", text)


def _few_trials_number(asked: re.Match[str]) -> str:
    return f"{asked[1]} {int(asked[2]) % N_TRIALS}"


def steps_of_docstrings(path: Path) -> Iterator[tuple[dict[str, object], str]]:
    """The docstrings of a module that have examples."""
    text = path.read_text(encoding="utf-8")
    if ">>> " not in text:
        return
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(text)):
        shown = (ast.get_docstring(node) or "") if isinstance(node, documented) else ""
        if ">>> " in shown:
            step = {"kind": "docstring", "line": getattr(node, "lineno", 1)}
            yield {**step, "module": module_name(path), "text": with_few_trials(shown)}, ""


def module_name(path: Path) -> str:
    """As it is imported."""
    layer, *parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join([layer if layer == "automl" else f"automl_{layer}", *parts])


STEPS = {name: list(steps_of(path.read_text(encoding="utf-8"))) for name, path in PAGES.items()}
STEPS |= {
    str(path.relative_to(ROOT)): steps
    for path in MODULES
    if (steps := [*steps_of_docstrings(path)])
}
RUN_PAGES = [name for name, steps in STEPS.items() if any(not reason for _, reason in steps)]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, prefect_url: str) -> dict[str, str]:
    """Environment of all pages: one home, and one Prefect server that stands."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("AUTOML_", "PREFECT_"))}
    home = tmp_path_factory.mktemp("documents") / "home"
    return {**given, "AUTOML_HOME": str(home), "PREFECT_API_URL": prefect_url, **SETTINGS}


@pytest.fixture(scope="module")
def driver(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a process listens that runs pages."""
    address = tmp_path_factory.mktemp("driver") / "socket"
    with subprocess.Popen(
        [sys.executable, str(DRIVER), str(address)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as process:
        while not address.exists():
            assert process.poll() is None, "it did not start"
            time.sleep(0.05)
        yield address


def run_page(driver: Path, steps: list[dict[str, object]], folder: Path) -> tuple[int, str]:
    """Exit code of a page, and what it said in the end."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(driver))
        connection.sendall(json.dumps({"folder": str(folder), "steps": steps}).encode() + b"\n")
        with connection.makefile() as stream:
            answer = json.loads(stream.read())
    return answer["code"], answer["said"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of a page, with the tables that stand for a reader's own."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 200), "plan": rng.choice(["a", "b"], 200)})
    later = frame.iloc[:20]
    frame["churned"] = np.where(frame["age"] + rng.normal(0, 10, 200) > 50, "yes", "no")
    frame.to_csv(tmp_path / "customers.csv", index=False)
    frame.tail(60).to_csv(tmp_path / "labelled_customers.csv", index=False)
    later.to_csv(tmp_path / "new_customers.csv", index=False)
    return tmp_path


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RUN_PAGES)
def test_the_examples_of_a_page_run(name: str, driver: Path, folder: Path) -> None:
    steps = [step for step, reason in STEPS[name] if not reason]
    code, said = run_page(driver, steps, folder)
    assert code == 0, f"{name}: {said}"


def test_what_a_page_gets_wrong_is_told(driver: Path, tmp_path: Path) -> None:
    """A page that fails must not be one that runs."""
    wrong = {
        "1 / 0": {"kind": "python", "text": "1 / 0"},
        "ended with 3": {
            "kind": "command",
            "text": "automl train none.csv --target y",
            "expected": 0,
        },
        "ended with 0": {"kind": "command", "text": "automl families", "expected": 2},
        "1 examples say": {
            "kind": "docstring",
            "module": "automl.errors",
            "text": ">>> 1 + 1\n3\n",
        },
    }
    for words, step in wrong.items():
        code, said = run_page(driver, [{"line": 1, **step}], tmp_path)
        assert code == 1, words
        assert words in said


def test_what_is_not_run_is_marked_and_little() -> None:
    marked = Counter((name, why) for name, steps in STEPS.items() for _, why in steps if why)
    assert marked == NOT_RUN


def test_every_run_says_how_long_it_may_take() -> None:
    """Else it takes ten minutes, here and for a reader who tries it."""
    for name, steps in STEPS.items():
        for step, reason in steps:
            text = str(step["text"])
            is_run = text.startswith("automl train ") and "--dry-run" not in text
            if not reason and step["kind"] == "command" and is_run:
                assert f"--trials {N_TRIALS}" in text, f"{name}, line {step['line']}"


def read_family(path: Path) -> None:
    from automl.families.registry import forget_families, load_families

    load_families(path.parent)
    forget_families()


def read_tree(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = "name: own\ntitle: Own\nestimators: {classification: sklearn.ensemble:RandomForestClassifier}"
    body = "\n".join(f"  {line}" for line in lines)
    path.write_text(
        f"{head}\nsimplicity: 0.5\ninterpretability: 0.5\ntree:\n{body}\n", encoding="utf-8"
    )
    read_family(path)


def read_settings(path: Path) -> None:
    from automl.run.search_spaces import check_spaces
    from automl.settings.sources import resolve_settings

    check_spaces(resolve_settings({"table": "t", "target": "y"}, file=path, environment={}))


def read_priors(path: Path) -> None:
    from automl.priors.files import Priors

    Priors.read(path).check()


def read_list(path: Path) -> None:
    from automl.data.collections import find_data_sets

    assert len(find_data_sets([str(path)])) == 3


READERS: dict[tuple[str, str], Callable[[Path], None]] = {
    ("comparison.md", "- sklearn"): read_list,
    ("families.md", "name"): read_family,
    ("families.md", "max_features"): read_tree,
    ("families.md", "subsampling"): read_tree,
    ("families.md", "spaces"): read_settings,
    ("families.md", "preprocessing"): read_settings,
    ("search.md", "optimizer"): read_settings,
    ("search.md", "priors"): read_priors,
    ("settings.md", "preset"): read_settings,
}
"""What yaml blocks without a file name go through, by page and first key."""


def test_a_yaml_block_is_understood_by_its_reader(tmp_path: Path) -> None:
    found = {
        (name, lines[0].partition(":")[0]): "\n".join(lines)
        for name, path in PAGES.items()
        for _, kind, lines, _ in blocks_of(path.read_text(encoding="utf-8"))
        if kind == "yaml" and not NAMED_FILE.match(lines[0])
    }
    assert set(found) == set(READERS)
    for number, (block, text) in enumerate(found.items()):
        file = tmp_path / str(number) / "svm.yaml"
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
        READERS[block](file)


def test_every_command_stands_in_a_block_that_is_run_or_marked() -> None:
    for name, path in PAGES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if re.match(r"(\t| {4,})(\$ )?automl [a-z]+ ", line)], (
            name
        )


def test_budgets_become_trials_and_a_comparison_has_one_data_set() -> None:
    assert with_few_trials("automl train t.csv --budget 10m") == (
        f"automl train t.csv --trials {N_TRIALS}"
    )
    assert with_few_trials('AutoML(budget="90s")') == f"AutoML(trials={N_TRIALS})"
    assert with_few_trials("common:\n  trials: 15\n") == f"common:\n  trials: {N_TRIALS}\n"
    assert (
        with_few_trials("automl compare m.yaml a b -o out --workers 2")
        == "automl compare m.yaml a -o out --workers 2"
    )
