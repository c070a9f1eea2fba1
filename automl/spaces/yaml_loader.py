"""Family text files: one YAML file per algorithm family, checked key by key.

The grammar is described in docs/families.md. Files are read by the rules of YAML 1.2, which has
fewer surprises than PyYAML's 1.1. Only ``true`` and ``false`` are booleans, ``1e-5`` is a number,
``010`` is ten, and dates and ``1:30`` are strings. A repeated key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from automl.errors import SettingsError
from automl.spaces.grammar import KINDS, Place
from automl.spaces.tree import SpaceTree

FIXED_FACTS = ("n_rows", "n_columns", "n_classes")
"""Facts of the training part that a computed argument may read; 0 where they are not known."""

_ESTIMATOR = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


STOPS = ("warm_start", "monitor", "own")
"""Ways to end a fit after any iteration: `automl.estimators.allowance.STOPPERS`, which is heavier to import."""


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a family's estimators; a limit is None if there is none.

    Parameters
    ----------
    probabilities : has `predict_proba`
    sample_weight : `fit` takes row weights
    class_weight : the constructor takes `class_weight`
    missing : takes NaN
    categories : takes category columns
    random_state, threads : the constructor takes `random_state`, `n_jobs`
    max_rows, max_columns, max_classes : above these the family does not support the table
    iterations : constructor argument with the number of trees, rounds or epochs, None without one
    stops
        How a fit ends after any of its `iterations`, so that one whose time is over keeps those
        that it has, see `STOPS`; None if it cannot.
    """

    probabilities: bool = False
    sample_weight: bool = False
    class_weight: bool = False
    missing: bool = False
    categories: bool = False
    random_state: bool = False
    threads: bool = False
    max_rows: int | None = None
    max_columns: int | None = None
    max_classes: int | None = None
    iterations: str | None = None
    stops: str | None = None


@dataclass(frozen=True)
class Cost:
    """How expensive a family is before anything is measured.

    Parameters
    ----------
    order : rank in which families are tried, small first
    relative : fit seconds per 1000 rows x 10 columns relative to LightGBM
    exponent : growth of the fit seconds with the rows
    """

    order: int = 100
    relative: float = 1.0
    exponent: float = 1.0


@dataclass(frozen=True)
class FamilyText:
    """A checked family file; `fixed` is by kind of target, other mappings are as written.

    Parameters
    ----------
    path : the file
    estimators : ``module:Class`` by kind (`classification`, `regression`)
    fixed
        Constructor arguments that are not searched, by kind; an `Expression` where the file has
        ``{from: EXPRESSION}``, over the facts of the training part that `FIXED_FACTS` names.
    simplicity, interpretability : in [0, 1], more is better
    requires : module that must be importable, None for the core's own
    extra : pip extra that brings it
    """

    path: Path
    name: str
    title: str
    source: str
    estimators: Mapping[str, str]
    fixed: Mapping[str, Mapping[str, Any]]
    capabilities: Capabilities
    cost: Cost
    simplicity: float
    interpretability: float
    prep: Mapping[str, Any]
    tree: Mapping[str, Any]
    rules: tuple[str, ...]
    requires: str | None = None
    extra: str | None = None
    spaces: Mapping[str, SpaceTree] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of target that the family has an estimator for."""
        return tuple(kind for kind in KINDS if kind in self.estimators)

    def space(self, kind: str) -> SpaceTree:
        """Search space for `classification` or `regression`.

        Raises
        ------
        SettingsError
            If the family does not have this kind.
        """
        if kind not in self.spaces:
            raise SettingsError(f"{self.name} has no estimator for {kind}; it has {self.kinds}")
        return self.spaces[kind]


_KEYS = (
    *("name", "title", "source", "estimators", "fixed", "capabilities", "cost", "simplicity"),
    *("interpretability", "prep", "tree", "rules", "only", "requires", "extra"),
)
_REQUIRED = ("name", "title", "estimators", "simplicity", "interpretability")


def load_family_text(path: str | Path) -> FamilyText:
    """Read and check one family file.

    Raises
    ------
    SettingsError
        Naming file, key and reason, which are also the fields `file`, `key` and `reason`.
    """
    path = Path(path)
    place = Place(path.name)
    body = place.mapping(read_yaml(path), _KEYS)
    for key in _REQUIRED:
        if key not in body:
            place.at(key).fail("is missing")
    name = place.at("name").text(body["name"])
    if not _NAME.fullmatch(name):
        place.at("name").fail(f"must be lower-case letters, digits and _; got {name!r}")
    estimators = _estimators(body, place)
    prep, tree = body.get("prep") or {}, body.get("tree") or {}
    rules = _rules(body.get("rules"), place.at("rules"))
    spaces = {
        kind: SpaceTree.build(name, tree, prep=prep, rules=rules, kind=kind, source=path.name)
        for kind in estimators
    }
    return FamilyText(
        path=path,
        name=name,
        title=place.at("title").text(body["title"]),
        source=place.at("source").text(body.get("source", "-")),
        estimators=estimators,
        fixed=_fixed(body.get("fixed"), place.at("fixed"), estimators),
        capabilities=_capabilities(body.get("capabilities"), place.at("capabilities")),
        cost=_cost(body.get("cost"), place.at("cost")),
        simplicity=place.at("simplicity").number(body["simplicity"], 0.0, 1.0),
        interpretability=place.at("interpretability").number(body["interpretability"], 0.0, 1.0),
        prep=prep,
        tree=tree,
        rules=rules,
        requires=_optional_text(body, "requires", place),
        extra=_optional_text(body, "extra", place),
        spaces=spaces,
    )


def read_yaml(path: Path) -> Any:
    """Content of a YAML file by YAML 1.2 rules, duplicate keys rejected.

    Raises
    ------
    SettingsError
        If the file cannot be read or is not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        Place(path.name).fail(f"must be a readable UTF-8 file; got {error}")
    return parse_yaml(text, path.name)


def parse_yaml(text: str, name: str) -> Any:
    """Content of YAML text by YAML 1.2 rules, duplicate keys rejected.

    Parameters
    ----------
    name
        Of the text in messages.

    Raises
    ------
    SettingsError
        If it is not YAML.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader with other scalars
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" in line {mark.line + 1}" if mark else ""
        reason = error.problem or error.context
        Place(name).fail(f"must be YAML; got {reason}{line}")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        Place(name).fail(f"must be YAML; got {error}")


def _estimators(body: Mapping[str, Any], place: Place) -> dict[str, str]:
    only = body.get("only")
    if only is not None and only not in KINDS:
        place.at("only").fail(f"must be classification or regression; got {only!r}")
    here = place.at("estimators")
    classes = here.mapping(body["estimators"], KINDS)
    for kind, target in classes.items():
        if not isinstance(target, str) or not _ESTIMATOR.fullmatch(target):
            here.at(kind).fail(f"must be of the form sklearn.svm:SVC; got {target!r}")
    chosen = {kind: classes[kind] for kind in KINDS if kind in classes and only in (None, kind)}
    if not chosen:
        here.fail(f"must name an estimator for {only or 'classification or regression'}")
    return chosen


def _rules(body: Any, place: Place) -> tuple[str, ...]:
    if body is None:
        return ()
    if not isinstance(body, list):
        place.fail(f"must be a list of expressions; got {body!r}")
    return tuple(body)


def _fixed(body: Any, place: Place, kinds: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    mapping = place.mapping(body)
    if mapping and set(mapping) <= set(KINDS):
        return {kind: _arguments(mapping.get(kind), place.at(kind)) for kind in kinds}
    for key in mapping:
        if not isinstance(key, str) or not key.isidentifier():
            place.at(key).fail("must be the name of a constructor argument")
        if key in KINDS:
            place.at(key).fail("must not be combined with other arguments")
    return {kind: _arguments(mapping, place) for kind in kinds}


def _arguments(body: Any, place: Place) -> dict[str, Any]:
    mapping = place.mapping(body)
    return {key: _computed(value, place.at(key)) for key, value in mapping.items()}


def _computed(value: Any, place: Place) -> Any:
    """The value, or the expression that ``{from: EXPRESSION}`` names."""
    if not (isinstance(value, Mapping) and set(value) == {"from"}):
        return value
    expression = place.at("from").expression(value["from"])
    unknown = sorted(expression.names - set(FIXED_FACTS))
    if unknown:
        place.at("from").fail(f"may read {', '.join(FIXED_FACTS)}; got {', '.join(unknown)}")
    return expression


def _capabilities(body: Any, place: Place) -> Capabilities:
    mapping = place.mapping(body, (entry.name for entry in fields(Capabilities)))
    values: dict[str, Any] = {}
    for key, value in mapping.items():
        here = place.at(key)
        if key == "iterations":
            values[key] = here.text(value)
        elif key == "stops":
            values[key] = _stop(value, here)
        elif not key.startswith("max_"):
            values[key] = here.flag(value)
        elif value is not None:
            values[key] = int(here.number(value, 1, 1e15))
    return Capabilities(**values)


def _stop(value: Any, place: Place) -> str:
    name = place.text(value)
    if name not in STOPS:
        place.fail(f"must be one of {', '.join(STOPS)}")
    return name


def _cost(body: Any, place: Place) -> Cost:
    mapping = place.mapping(body, (entry.name for entry in fields(Cost)))
    seconds = {key: place.at(key).number(value, 0.0, 1e9) for key, value in mapping.items()}
    if "order" in seconds:
        return Cost(**{**seconds, "order": int(seconds["order"])})  # type: ignore[arg-type]
    return Cost(**seconds)  # type: ignore[arg-type]


def _optional_text(body: Mapping[str, Any], key: str, place: Place) -> str | None:
    return place.at(key).text(body[key]) if body.get(key) is not None else None


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Safe loader with the scalars of YAML 1.2 and unique keys."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key that is not a plain value", key_node.start_mark
                )
            if key in mapping:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} twice", key_node.start_mark
                )
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def _construct_mapping(loader: _Loader, node: Any) -> dict[Hashable, Any]:
    return loader.construct_mapping(node, deep=True)


def _construct_int(loader: _Loader, node: Any) -> int:
    return int(loader.construct_scalar(node), 0 if "x" in node.value else 10)


def _construct_float(loader: _Loader, node: Any) -> float:
    return float(
        loader.construct_scalar(node).lower().replace(".inf", "inf").replace(".nan", "nan")
    )


def _construct_bool(loader: _Loader, node: Any) -> bool:
    return bool(loader.construct_scalar(node).lower() == "true")


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
for _tag, _pattern, _first, _constructor in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF", _construct_bool),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""], None),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", "-+0123456789", _construct_int),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
        _construct_float,
    ),
):
    _full = f"tag:yaml.org,2002:{_tag}"
    _Loader.add_implicit_resolver(_full, re.compile(rf"^(?:{_pattern})$"), list(_first))
    if _constructor is not None:
        _Loader.add_constructor(_full, _constructor)
