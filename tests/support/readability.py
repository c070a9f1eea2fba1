"""How hard the pages and docstrings are to read.

`python tests/support/readability.py [ROOT]` prints a line a page: sentences, words a sentence, grade.

Code, tables, headings, link addresses and the underlined parts of numpydoc are left out; inline code
counts as one word. Sentences of fewer than three words are not counted. The grade is the automated
readability index (Smith and Senter, 1967) of textstat: it needs no dictionary of syllables, which
textstat would fetch from the network.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import textstat

FENCED = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"<!--(?s:.*?)-->|^ *\|.*$|^#.*$|^!\[.*$|^\s*<.*$", re.MULTILINE)
INDENTED = re.compile(r"(\n\s*\n)((?: {4,}|\t)(?![-*+]|\d+\.).*\n?)+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
INLINE_CODE = re.compile(r"``[^`]+``|`[^`]+`|\$[^$\n]+\$")
BULLET = re.compile(r"^\s*([-*+]|\d+\.|\.\. \[\d+\])\s+", re.MULTILINE)
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9])")
SECTION = re.compile(
    r"^(Parameters|Attributes|Notation|Returns|Yields|Raises|Notes|References|Examples|See Also|Warns)\n-+\n",
    re.MULTILINE,
)
RULED = re.compile(r"^=+( =+)+\n(?s:.*?)\n=+( =+)+\n(?s:.*?)\n=+( =+)+$", re.MULTILINE)
MIN_WORDS = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """Figures of one page."""

    sentences: list[str]

    @property
    def lengths(self) -> list[int]:
        return [textstat.lexicon_count(sentence) for sentence in self.sentences]

    @property
    def median(self) -> float:
        return float(np.median(self.lengths)) if self.sentences else 0.0

    @property
    def p90(self) -> float:
        return float(np.quantile(self.lengths, 0.9)) if self.sentences else 0.0

    @property
    def grade(self) -> float:
        return float(textstat.automated_readability_index(" ".join(self.sentences)))


def sentences_of(text: str) -> list[str]:
    """Sentences of a page of Markdown."""
    text = INDENTED.sub("\n\n", LEFT_OUT.sub("", FENCED.sub("\n", text)))
    text = INLINE_CODE.sub("Code", LINK.sub(r"\1", text))
    blocks = re.split(r"\n\s*\n", BULLET.sub("\n\n", text))
    found = [" ".join(part.split()) for block in blocks for part in END.split(block)]
    ended = [part if part[-1:] in ".!?" else f"{part}." for part in found]
    return [part for part in ended if textstat.lexicon_count(part) >= MIN_WORDS]


def prose_of(docstring: str) -> str:
    """A docstring without doctests, references and the lines that name a parameter."""
    head, *parts = SECTION.split(RULED.sub("", docstring))
    kept = [head]
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in {"Notes", "Warns"}:
            kept.append(body)
        elif name in {"Parameters", "Attributes", "Returns", "Yields", "Raises"}:
            kept.append(re.sub(r"^(?=\S).*$", "", body, flags=re.MULTILINE).replace("\n    ", "\n"))
    lines = "\n".join(kept).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith((">>>", "...", ".. ")))


def docstrings_of(path: Path) -> Iterator[str]:
    """Docstrings of a module and of what is public in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            public = not getattr(node, "name", "").startswith("_")
            if public and (text := ast.get_docstring(node)):
                yield prose_of(text)


def readings_of(root: Path) -> dict[str, Reading]:
    """Figures of every page below a folder, and of the docstrings of each package."""
    pages = [
        root / "README.md",
        root / "CHANGELOG.md",
        *sorted((root / "docs").glob("*.md")),
        *sorted((root / "benchmarks").glob("*/README.md")),
    ]
    found = {
        str(page.relative_to(root)): Reading(sentences_of(page.read_text(encoding="utf-8")))
        for page in pages
    }
    for layer in ("automl", "tasks", "flows"):
        modules = sorted(path for path in (root / layer).rglob("*.py") if path.name[0] != "_")
        texts = [text for module in modules for text in docstrings_of(module)]
        found[f"{layer}/**.py"] = Reading([each for text in texts for each in sentences_of(text)])
    return found


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    sys.stdout.write(f"{'page':40} sentences median  p90 grade\n")
    for name, reading in readings_of(root).items():
        sys.stdout.write(
            f"{name:40} {len(reading.sentences):9} {reading.median:6.1f} {reading.p90:4.0f}"
            f" {reading.grade:5.1f}\n"
        )


if __name__ == "__main__":
    main()
