"""How the house is built: what an inheritor counts in a checkout, before a redesign and after it.

    python benchmarks/house/house.py CHECKOUT [CHECKOUT ...]

Only the text of `automl/`, `flows/` and `tasks/` is read, so that any version of the project can be counted.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

T = TypeVar("T", bound=ast.AST)
PACKAGES = {"automl": "automl", "flows": "automl_flows", "tasks": "automl_tasks"}
STAGES = {"search", "candidates", "selection", "ensemble", "honest", "final"}
"""Names of stages; a display of four of them or more states their order."""
MANY_STAGES = 4
JSON_EDGES = {"to_json", "from_json", "read", "write"}
"""Functions of these names are where JSON begins."""


@dataclass(frozen=True)
class Source:
    """One module.

    Parameters
    ----------
    module : dotted name under which it is imported
    """

    path: Path
    module: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def nodes(self, kind: type[T]) -> Iterator[T]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))


def sources(checkout: Path) -> list[Source]:
    """Modules of a checkout."""
    found = []
    for folder, package in PACKAGES.items():
        for path in sorted((checkout / folder).rglob("*.py")):
            inside = path.relative_to(checkout / folder).with_suffix("").parts
            names = [name for name in inside if name != "__init__"]
            found.append(Source(path, ".".join([package, *names]), path.read_text("utf-8")))
    return found


def functions(source: Source) -> list[ast.FunctionDef]:
    return list(source.nodes(ast.FunctionDef))


def untyped_records(modules: list[Source]) -> int:
    """Functions that return `dict[str, Any]`, at the edge to JSON or not."""
    return sum(
        function.returns is not None and "dict[str, Any]" in ast.unparse(function.returns)
        for source in modules
        for function in functions(source)
    )


def untyped_inside(modules: list[Source]) -> int:
    """Those of them that are not named as an edge to JSON."""
    return sum(
        function.returns is not None
        and "dict[str, Any]" in ast.unparse(function.returns)
        and function.name not in JSON_EDGES
        for source in modules
        for function in functions(source)
    )


def literal_subscripts(modules: list[Source]) -> int:
    return sum(
        isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        for source in modules
        for node in source.nodes(ast.Subscript)
    )


def stage_orders(modules: list[Source]) -> int:
    """Tuples, lists, sets and dicts that hold the names of at least four stages."""
    return sum(
        len(STAGES & _texts(node)) >= MANY_STAGES
        for source in modules
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict))
    )


def _texts(node: ast.Tuple | ast.List | ast.Set | ast.Dict) -> set[str]:
    entries = node.keys if isinstance(node, ast.Dict) else node.elts
    return {str(entry.value) for entry in entries if isinstance(entry, ast.Constant)}


def imports_of(source: Source, known: set[str]) -> set[str]:
    """Modules of the project that one imports, anywhere in it."""
    found: set[str] = set()
    for node in source.nodes(ast.ImportFrom):
        base = node.module or ""
        for alias in node.names:
            full = f"{base}.{alias.name}"
            found.add(full if full in known else base)
    for node in source.nodes(ast.Import):
        found |= {alias.name for alias in node.names}
    return (found & known) - {source.module}


def circles(modules: list[Source]) -> int:
    """Groups of modules that import each other, directly or around; imports for types count."""
    known = {source.module for source in modules}
    after = {source.module: imports_of(source, known) for source in modules}
    reach = {module: _reached(module, after) for module in after}
    groups = {
        frozenset(other for other in reach[module] if module in reach[other]) for module in reach
    }
    return sum(len(group) > 1 for group in groups)


def _reached(start: str, after: dict[str, set[str]]) -> set[str]:
    seen, waiting = set(), [start]
    while waiting:
        for module in after[waiting.pop()] - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def recurring_names(modules: list[Source]) -> int:
    names = Counter(source.path.name for source in modules if source.path.name != "__init__.py")
    return sum(number > 1 for number in names.values())


def setting_fields(modules: list[Source]) -> set[str]:
    """Names of the fields of the settings' models."""
    return {
        statement.target.id
        for source in modules
        if source.module.startswith(("automl.settings", "automl.preprocessing_settings"))
        for model in source.nodes(ast.ClassDef)
        for statement in model.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def repeated_settings(modules: list[Source]) -> int:
    """How often a setting's name stands as a text or a parameter outside of the settings."""
    fields = setting_fields(modules)
    number = 0
    for source in modules:
        if source.module.startswith("automl.settings"):
            continue
        number += sum(node.value in fields for node in source.nodes(ast.Constant))
        if source.module.startswith("automl_flows"):
            number += sum(
                argument.arg in fields
                for function in functions(source)
                for argument in (*function.args.args, *function.args.kwonlyargs)
            )
    return number


def unexplained_constants(modules: list[Source]) -> str:
    """Module constants that are numbers, and how many of them have no sentence after them."""
    n_all = n_bare = 0
    for source in modules:
        for statement, following in pairwise([*source.tree.body, ast.Pass()]):
            if not _is_number(statement):
                continue
            n_all += 1
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            n_bare += not is_text
    return f"{n_bare} of {n_all}"


def _is_number(statement: ast.stmt) -> bool:
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    is_constant = all(isinstance(t, ast.Name) and t.id.isupper() for t in targets)
    value = statement.value
    return is_constant and isinstance(value, ast.Constant) and isinstance(value.value, (int, float))


def named(name: str) -> Callable[[list[Source]], int]:
    """How often a name is assigned to, looped over, or a parameter."""

    def count(modules: list[Source]) -> int:
        stored = sum(
            node.id == name and isinstance(node.ctx, ast.Store)
            for source in modules
            for node in source.nodes(ast.Name)
        )
        return stored + sum(a.arg == name for source in modules for a in source.nodes(ast.arg))

    return count


def scores_or_zero(modules: list[Source]) -> int:
    return sum(len(re.findall(r"\.score or 0\.0", source.text)) for source in modules)


def lines(modules: list[Source]) -> int:
    return sum(source.text.count("\n") for source in modules)


COUNTS: dict[str, Callable[[list[Source]], int | str]] = {
    "lines": lines,
    "modules": len,
    "functions that return dict[str, Any]": untyped_records,
    "of them not named as an edge to JSON": untyped_inside,
    "subscripts with a literal key": literal_subscripts,
    "places that name the order of stages": stage_orders,
    "import circles": circles,
    "file names that recur": recurring_names,
    "names of settings outside of the settings": repeated_settings,
    "numeric constants without a sentence": unexplained_constants,
    "`found` as a name": named("found"),
    "`known` as a name": named("known"),
    "`score or 0.0`": scores_or_zero,
}


def main() -> None:
    """Print one column for each checkout."""
    found = [sources(Path(text)) for text in sys.argv[1:]]
    for words, count in COUNTS.items():
        print(f"{words:45}", *(f"{count(modules)!s:>12}" for modules in found))


if __name__ == "__main__":
    main()
