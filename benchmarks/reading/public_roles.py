"""The roles of every column of a folder of public tables, found without a catalog, beside those of its schema.

    python benchmarks/reading/public_roles.py DATA_FOLDER

DATA_FOLDER holds ``catalog.csv`` (name, file, target) and ``schema.json`` (kind by table and column). Prints
how often each kind gets each role, and every column whose role is not that of its kind, with the reason.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import pandas as pd

from automl.data.readers import read_table
from automl.data.roles import detect_roles
from automl.errors import AutoMLError

KINDS = {"datetime": "date"}


def main() -> None:
    """Read every table and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder: Path = parser.parse_args().data
    catalog = pd.read_csv(folder / "catalog.csv")
    schema = json.loads((folder / "schema.json").read_text())
    counts: Counter[tuple[str, str]] = Counter()
    differences = []
    for name, file, target in catalog[["name", "file", "target"]].itertuples(index=False):
        try:
            found = detect_roles(read_table(folder / file).drop(columns=target))
        except AutoMLError as error:
            differences.append((name, "", "", "refused", str(error).splitlines()[0]))
            continue
        for column in found.values():
            kind = schema[name]["columns"].get(column.name)
            if kind is None:
                continue
            counts[kind, str(column.role)] += 1
            if KINDS.get(kind, kind) != str(column.role):
                differences.append((name, column.name, kind, str(column.role), column.reason))
    total = sum(counts.values())
    agreed = sum(count for (kind, role), count in counts.items() if KINDS.get(kind, kind) == role)
    print(f"{len(catalog)} tables, {total} columns, {agreed} agree ({agreed / total:.1%})\n")
    print("| kind of the schema | role | columns |\n|---|---|---:|")
    for (kind, role), count in sorted(counts.items()):
        print(f"| {kind} | {role} | {count} |")
    print("\n| table | column | kind of the schema | role | reason |\n|---|---|---|---|---|")
    for row in differences:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
