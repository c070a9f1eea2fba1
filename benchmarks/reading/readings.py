"""What sixty ugly files become: here, and in AutoGluon and FLAML where an interpreter has them.

    python benchmarks/reading/readings.py OUT_FOLDER [--rivals PYTHON]

Prints one line per file: what a person takes the odd column for, and what each system makes of it. A file
counts as *right* where every column is what a person takes it for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from ugly_files import UglyFile, ugly_files

from automl.data.table import prepare_table
from automl.errors import AutoMLError

OURS = "this system"
KINDS = {"numeric": "number", "nominal": "category", "id": "nothing", "ignored": "nothing"}


def ours(path: Path) -> dict[str, str] | str:
    """Kinds by column."""
    try:
        schema = prepare_table(path, target="y").schema
    except AutoMLError as error:
        return str(error)
    return {column.name: KINDS.get(column.role, str(column.role)) for column in schema.columns}


def rivals(
    python: str, paths: list[Path], out: Path
) -> dict[tuple[str, str], dict[str, str] | str]:
    """Kinds by column, or an error, by system and path."""
    listing = out / "files.json"
    listing.write_text(json.dumps([str(path) for path in paths]))
    script = Path(__file__).with_name("rival_readings.py")
    done = subprocess.run(
        [python, str(script), str(listing)], capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(line["system"], line["path"]): line.get("kinds") or line["error"] for line in lines}


def is_right(file: UglyFile, answer: dict[str, str] | str) -> bool:
    """Whether every column is what a person takes it for; one that is left out may be absent."""
    if isinstance(answer, str):
        return False
    return all(answer.get(name, "nothing") == kind for name, kind in file.kinds.items())


def shown(file: UglyFile, answer: dict[str, str] | str) -> str:
    """A table's cell."""
    if isinstance(answer, str):
        return f"refused: {answer.splitlines()[0][:60]}"
    if is_right(file, answer):
        return "right"
    wrong = [
        f"{name}: {answer.get(name, 'nothing')}"
        for name, kind in file.kinds.items()
        if answer.get(name, "nothing") != kind
    ]
    return ", ".join(wrong).replace("|", "\\|")


def main() -> None:
    """Write the files, read them, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rivals", help="interpreter with autogluon.features and flaml[automl]")
    arguments = parser.parse_args()
    files, paths = list(ugly_files()), []
    for number, file in enumerate(files):
        path = arguments.out / f"{number:02d}" / file.file
        path.parent.mkdir(parents=True, exist_ok=True)
        file.write(path)
        paths.append(path)
    found = {(OURS, str(path)): ours(path) for path in paths}
    if arguments.rivals:
        found |= rivals(arguments.rivals, paths, arguments.out)
    systems = list(dict.fromkeys(system for system, _ in found))
    print(f"| file | a person's reading | {' | '.join(systems)} |")
    print(f"|---|---|{'---|' * len(systems)}")
    for file, path in zip(files, paths, strict=True):
        cells = [shown(file, found[system, str(path)]) for system in systems]
        person = file.kinds.get("odd", "/".join(file.kinds.values()))
        print(f"| {file.name} | {person} | {' | '.join(cells)} |")
    for system in systems:
        answers = [found[system, str(path)] for path in paths]
        right = sum(map(is_right, files, answers))
        refused = sum(isinstance(answer, str) for answer in answers)
        print(f"\n{system}: {right} of {len(files)} right, {refused} refused")


if __name__ == "__main__":
    main()
