"""Whether the checks before training find 216 injected defects, and are silent on 60 clean tables.

    python benchmarks/preflight/preflight.py DATA_FOLDER OUT_FOLDER [--half develop report]
        [--kinds leak time] [--report]

Every table is written as a training file and a test file and given to what `automl train --dry-run`
calls. A defect counts as found if the checks say a sentence of its kind that they do not say of the
same table without it, and that names its column or counts its rows. Of an order that no column gives it is
also noted whether `facts.py` bears out that it matters for the score. A sentence of the six kinds on a clean table
is a false alarm unless a fact of the table, found by other means (`facts.py`), bears it out.

One line of JSON per table or defect goes to a file in OUT_FOLDER; what has a line is not run again.
``--report`` only prints what is there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import column_defects  # noqa: F401 registers
import later_defects  # noqa: F401 registers
import numpy as np
import pandas as pd
import row_defects  # noqa: F401 registers
from defects import LEAST_ROWS, Case, Defect, Kind, NotApplicable, Order, names
from facts import Facts
from findings import Sentence, is_found, read_sentences
from public_tables import HALVES, Half, PublicTable, read_tables
from report import print_report, read_lines

from automl.errors import DataError
from automl.home import RunFolder
from automl.run.preparation import prepare
from automl.settings import Settings

DEFECTS_PER_HALF: dict[Kind, int] = {
    "leak": 20,
    "id": 17,
    "duplicates": 17,
    "time": 15,
    "groups": 8,
    "shift": 17,
    "constant": 14,
}
ORDERS: tuple[Order, ...] = ("source", "shuffled")


def preflight(
    train: pd.DataFrame, test: pd.DataFrame, table: PublicTable
) -> tuple[list[str], float]:
    """Sentences about the two files, and seconds of one core."""
    with tempfile.TemporaryDirectory(prefix="automl-preflight-") as name:
        folder = Path(name)
        train.to_csv(folder / "train.csv", index=False)
        test.to_csv(folder / "test.csv", index=False)
        settings = Settings(
            table=str(folder / "train.csv"),
            test=str(folder / "test.csv"),
            target=table.target,
            task=table.task,
            roles={name: role for name, role in table.roles.items() if name in train.columns},
        )
        started = time.process_time()
        try:
            said = list(prepare(RunFolder(folder / "run"), settings)["notes"])
        except DataError as error:
            said = list(error.problems)
        return said, time.process_time() - started


def clean_case(table: PublicTable, order: Order) -> Case:
    """The table divided at random, in the order of its source or shuffled."""
    train, test = table.divided()
    if order == "shuffled":
        rng = np.random.default_rng(table.seed("shuffled"))
        train = train.iloc[rng.permutation(len(train))].reset_index(drop=True)
    return Case(table.target, table.is_classification, train, test, table.kinds)


def clean_runs(
    tables: Sequence[PublicTable], done: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Every clean table in both orders, but for those that are done."""
    known = {(run["table"], run["order"]) for run in done}
    for table in tables:
        for order in ORDERS:
            if (table.name, order) in known:
                continue
            case = clean_case(table, order)
            said, seconds = preflight(case.train, case.test, table)
            yield {
                "table": table.name,
                "half": table.half,
                "order": order,
                "rows": len(case.train),
                "columns": case.train.shape[1],
                "seconds": round(seconds, 3),
                "said": said,
            }


def fact_runs(
    tables: Sequence[PublicTable],
    clean: Sequence[dict[str, Any]],
    done: Sequence[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """What bears out each sentence on a clean table."""
    by_name = {table.name: table for table in tables}
    known = {(run["table"], run["order"]) for run in done}
    for run in clean:
        if (run["table"], run["order"]) in known:
            continue
        case = clean_case(by_name[run["table"]], run["order"])
        facts = Facts(by_name[run["table"]], case.train, case.test)
        found = [facts.bear_out(said) for said in read_sentences(run["said"])]
        yield {"table": run["table"], "order": run["order"], "facts": found}


def spoilt_cases(
    tables: Sequence[PublicTable], kind: Kind
) -> Iterator[tuple[PublicTable, Order, Defect, Case]]:
    """As many defects of a kind as a half has, its strengths in turn, on tables drawn at random."""
    half = tables[0].half
    rng = np.random.default_rng([HALVES.index(half), sum(map(ord, kind))])
    large = [table for table in tables if len(table.frame) >= LEAST_ROWS]
    strengths = names(kind)
    start = HALVES.index(half) * DEFECTS_PER_HALF[kind]
    for number in range(DEFECTS_PER_HALF[kind]):
        found = strengths[(start + number) % len(strengths)]
        order: Order = "shuffled" if kind in ("time", "groups") else ORDERS[number % 2]
        while True:
            table = large[int(rng.integers(len(large)))]
            case = clean_case(table, order)
            try:
                found.spoil(case, np.random.default_rng(rng.integers(2**63)))
            except NotApplicable:
                continue
            yield table, order, found, case
            break


def spoilt_runs(
    tables: Sequence[PublicTable],
    kinds: Sequence[Kind],
    clean: Sequence[dict[str, Any]],
    done: Sequence[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Every defect that is not done, and whether it was found."""
    n_done = Counter(run["kind"] for run in done)
    before = {(run["table"], run["order"]): run["said"] for run in clean}
    for kind in kinds:
        for number, (table, order, defect, case) in enumerate(spoilt_cases(tables, kind)):
            if number < n_done[kind]:
                continue
            said, seconds = preflight(case.train, case.test, table)
            usual: list[Sentence] = read_sentences(before[table.name, order])
            is_hidden = kind in ("time", "groups") and case.column is None
            yield {
                "table": table.name,
                "half": table.half,
                "order": order,
                "kind": kind,
                "defect": defect.name,
                "column": case.column,
                "rows": len(case.train),
                "seconds": round(seconds, 3),
                "is_found": is_found(kind, case, read_sentences(said), usual),
                "fact": Facts(table, case.train, case.test).stretches() if is_hidden else None,
                "said": [text for text in said if text not in before[table.name, order]],
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", nargs="+", default=["develop", "report"], choices=HALVES)
    parser.add_argument(
        "--kinds", nargs="*", default=list(DEFECTS_PER_HALF), choices=list(DEFECTS_PER_HALF)
    )
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    halves: list[Half] = given.half
    for half in halves:
        if not given.report:
            tables = read_tables(given.data, half)
            paths = {
                what: given.out / f"{what}-{half}.jsonl" for what in ("clean", "spoilt", "facts")
            }
            done = {what: read_lines(path) for what, path in paths.items()}
            clean = _append(paths["clean"], done["clean"], clean_runs(tables, done["clean"]))
            if half != "reserve":
                spoilt = spoilt_runs(tables, given.kinds, clean, done["spoilt"])
                _append(paths["spoilt"], done["spoilt"], spoilt)
            _append(paths["facts"], done["facts"], fact_runs(tables, clean, done["facts"]))
    print_report(given.data, given.out, halves)


def _append(
    path: Path, done: Sequence[dict[str, Any]], runs: Iterator[dict[str, Any]]
) -> list[dict[str, Any]]:
    """All runs, those that are made now written line by line."""
    made = list(done)
    with path.open("a") as file:
        for run in runs:
            made.append(run)
            file.write(json.dumps(run) + "\n")
            file.flush()
    return made


if __name__ == "__main__":
    main()
