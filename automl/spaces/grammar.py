"""From the mappings of a family's text to nodes, with errors that name the key.

How a tree is written (docs/families.md explains it to users)::

    prep:                                    # categorical leaves of the preprocessing
      prep.scaler: [standard, minmax]        # list of values; the first is the default
    tree:
      C: {type: loguniform, low: 0.001, high: 1000, default: 1.0}
      shrinking: {type: categorical, branch: false, choices: [true, false]}
      kernel:                                # `type: categorical` may be left out
        default: rbf                         # else the first choice
        choices:
          linear:
          rbf:
            weight: 3                        # else 1
            tree:
              gamma: {type: loguniform, low: 1e-5, high: 10, default: 0.1}
    rules:
      - "C * gamma < 5000"                   # redrawn while one does not hold

Numbers: ``uniform loguniform normal lognormal gmm``, keys ``low high mean sd weights means sds log
integer``, or one line as in ``C: loguniform(low=0.001, high=1000)``. Without `default` a number's
is the median. Categorical nodes branch (their choices make the path and the signature); with
``branch: false`` they are nominal leaves. Every node may have ``only: classification|regression``
and ``virtual: true``; a choice may have ``value weight tree only sets encode``; ``default`` may be
``{classification: a, regression: b}``. Files are read as YAML 1.2: only true/false are booleans
(``yes no on off`` are strings) and ``1e-5`` is a number.

A constructor argument that takes words or numbers is a categorical with a number further in that
sets the same `argument`; the deepest one wins::

    max_features:
      default: sqrt
      choices:
        sqrt: {encode: "sqrt(n_columns) / n_columns"}
        log2: {encode: "log2(n_columns) / n_columns"}
        all: {value: null, encode: 1}        # the value is None, the path max_features=null
        share:
          tree:
            max_features_share: {type: uniform, low: 0.1, high: 1, argument: max_features}

so `estimator_values` gives ``max_features="sqrt"`` or ``max_features=0.37``, and never the word
``share``. ``sets: false`` on a choice leaves the argument out (the estimator's own default).
`encode` is what the numeric column of a surrogate holds for that choice (H18, section 3.1.1).

Rules and encodings are expressions (`automl.spaces.expressions`) over hyperparameters and the
facts ``n_rows n_columns n_classes n_encoded variance``; a rule with an inactive or unknown name holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from automl.errors import SettingsError
from automl.records import JsonScalar
from automl.spaces.distributions import (
    NUMERICAL_TYPES,
    Categorical,
    Numerical,
    canonical,
    parameter_names,
)
from automl.spaces.expressions import FACTS, Expression
from automl.spaces.nodes import PREP, Choice, Hyperparameter, value_text
from automl.spaces.text import from_mapping, from_text, nearest, number

KINDS = ("classification", "regression")

_NODE_KEYS = ("type", "default", "only", "argument", "virtual")
_CATEGORICAL_KEYS = (*_NODE_KEYS, "choices", "branch")
_CHOICE_KEYS = ("value", "weight", "tree", "only", "sets", "encode")


@dataclass(frozen=True)
class Place:
    """Where in which text: ``svm.yaml: tree.kernel.choices``."""

    source: str
    keys: tuple[str, ...] = ()

    def at(self, *keys: object) -> Place:
        """The place of a key further in."""
        names = (key if isinstance(key, str) else value_text(key) for key in keys)  # type: ignore[arg-type]
        return Place(self.source, (*self.keys, *names))

    def fail(self, reason: str) -> NoReturn:
        """Raise the error of this place."""
        key = ".".join(self.keys)
        where = f"{self.source}: {key}" if key else self.source
        raise SettingsError(f"{where}: {reason}", file=self.source, key=key, reason=reason)

    def adopt(self, error: SettingsError) -> NoReturn:
        """Raise an error from further in with this place in front."""
        inner = error.fields.get("key")
        (self.at(inner) if inner else self).fail(error.message)

    def mapping(self, value: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """`value` as a mapping (nothing is an empty one) that holds known keys only."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.fail(f"must be a mapping; got {value!r}")
        if keys is not None:
            keys = tuple(keys)
            for key in value:
                if key not in keys:
                    self.at(key).fail(f"is not a known key{nearest(key, keys)}")
        return dict(value)

    def flag(self, value: Any) -> bool:
        """`value` as a boolean."""
        if not isinstance(value, bool):
            self.fail(f"must be true or false; got {value!r}")
        return value

    def number(self, value: Any, low: float, high: float) -> float:
        """`value` as a number in [low, high]."""
        parsed = number(value)
        if parsed is None or not low <= parsed <= high:
            self.fail(f"must be a number in [{low:g}, {high:g}]; got {value!r}")
        return parsed

    def text(self, value: Any) -> str:
        """`value` as a string that is not empty."""
        if not isinstance(value, str) or not value.strip():
            self.fail(f"must be a text; got {value!r}")
        return value

    def encoding(self, mapping: Mapping[str, Any], *names: str) -> Expression | None:
        """The ``encode`` of a mapping, which may read facts and `names` only."""
        if "encode" not in mapping:
            return None
        here = self.at("encode")
        expression = here.expression(mapping["encode"])
        for name in sorted(expression.names - {*FACTS, *names}):
            here.fail(f"reads the unknown name {name!r}{nearest(name, (*FACTS, *names))}")
        return expression

    def expression(self, value: Any) -> Expression:
        """`value` (a text or a number) as an expression."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self.fail(f"must be an expression such as `nu * n_classes < 1`; got {value!r}")
        try:
            return Expression(str(value))
        except SettingsError as error:
            self.adopt(error)


def parse_tree(tree: Any, place: Place, kind: str) -> tuple[Hyperparameter, ...]:
    """Nodes of a ``tree:`` mapping for one kind of target.

    Nodes and choices of the other kind are checked too and left out.

    Raises
    ------
    SettingsError
        With the fields `file`, `key` and `reason`.
    """
    nodes = []
    for name, body in place.mapping(tree).items():
        here = place.at(name)
        if not isinstance(name, str) or not name.isidentifier():
            here.fail(f"a hyperparameter's name must be an identifier; got {name!r}")
        node = parse_node(name, body, here, kind)
        if node is not None:
            nodes.append(node)
    check_names(nodes, place)
    return tuple(nodes)


def parse_prep(prep: Any, place: Place, kind: str) -> tuple[Hyperparameter, ...]:
    """Nodes of a ``prep:`` mapping: lists of values, the first is the default.

    Raises
    ------
    SettingsError
        With the fields `file`, `key` and `reason`.
    """
    nodes = []
    for name, body in place.mapping(prep).items():
        here = place.at(name)
        if not isinstance(name, str) or not name.startswith(PREP):
            here.fail(f"a preprocessing choice must begin with {PREP!r}")
        mapping = {"choices": body} if isinstance(body, list) else here.mapping(body)
        for key in ("branch", "virtual", "argument"):
            if key in mapping:
                here.at(key).fail("is not allowed under prep")
        node = parse_node(name, {**mapping, "type": "categorical", "branch": False}, here, kind)
        if node is not None:
            nodes.append(node)
    return tuple(nodes)


def parse_node(name: str, body: Any, place: Place, kind: str) -> Hyperparameter | None:
    """One node, or None if it belongs to the other kind of target."""
    if isinstance(body, str):
        body = _text_node(body, place)
    mapping = place.mapping(body)
    if mapping.get("type", "categorical") == "categorical":
        node = _categorical(name, mapping, place, kind)
    else:
        node = _numerical(name, mapping, place, kind)
    return node if _is_for(mapping, kind, place) else None


def _text_node(text: str, place: Place) -> dict[str, Any]:
    try:
        distribution = from_text(text)
    except SettingsError as error:
        place.adopt(error)
    if isinstance(distribution, Categorical):
        place.fail("must be a mapping with choices, or one line of a numerical distribution")
    return {"type": distribution}


def _is_for(mapping: Mapping[str, Any], kind: str, place: Place) -> bool:
    only = mapping.get("only")
    if only is not None and only not in KINDS:
        place.at("only").fail(f"must be classification or regression; got {only!r}")
    return only is None or only == kind


def _common(name: str, mapping: Mapping[str, Any], place: Place) -> dict[str, Any]:
    virtual = place.at("virtual").flag(mapping.get("virtual", False))
    if virtual and "argument" in mapping:
        place.at("argument").fail("is not allowed for a virtual hyperparameter")
    argument = place.at("argument").text(mapping.get("argument", name))
    return {"name": name, "virtual": virtual, "argument": argument}


def _default(mapping: Mapping[str, Any], place: Place, kind: str) -> tuple[bool, Any]:
    """Whether a default is given, and which: one value or one for each kind of target."""
    if "default" not in mapping:
        return False, None
    value = mapping["default"]
    if isinstance(value, Mapping):
        by_kind = place.at("default").mapping(value, KINDS)
        return kind in by_kind, by_kind.get(kind)
    if isinstance(value, list):
        place.at("default").fail(f"must be one value; got {value!r}")
    return True, value


def _numerical(name: str, mapping: dict[str, Any], place: Place, kind: str) -> Hyperparameter:
    type_name = mapping["type"]
    if isinstance(type_name, Numerical):
        distribution = type_name
    else:
        if type_name not in NUMERICAL_TYPES:
            names = ("categorical", *NUMERICAL_TYPES)
            place.at("type").fail(
                f"must be a distribution; got {type_name!r}{nearest(type_name, names)}"
            )
        keys = (*_NODE_KEYS, *parameter_names(NUMERICAL_TYPES[type_name]))
        distribution = _distribution(place.mapping(mapping, (*keys, "encode")), place)
    given, value = _default(mapping, place, kind)
    node = Hyperparameter(
        **_common(name, mapping, place),
        distribution=distribution,
        default=None,
        encode=place.encoding(mapping, "value"),
    )
    default = node.coerce(number(value)) if given else distribution.value(0.5)
    if not distribution.contains(default):
        place.at("default").fail(f"must be {node.allowed()}; got {value!r}")
    return _with_default(node, default)


def _distribution(mapping: Mapping[str, Any], place: Place) -> Numerical:
    parameters = {
        key: value for key, value in mapping.items() if key not in (*_NODE_KEYS, "encode")
    }
    try:
        distribution = from_mapping({"type": mapping["type"], **parameters})
    except SettingsError as error:
        place.adopt(error)
    assert isinstance(distribution, Numerical)
    return distribution


def _with_default(node: Hyperparameter, default: JsonScalar) -> Hyperparameter:
    return Hyperparameter(**{**node.__dict__, "default": default})


def _categorical(
    name: str, mapping: dict[str, Any], place: Place, kind: str
) -> Hyperparameter | None:
    mapping = place.mapping(mapping, _CATEGORICAL_KEYS)
    branch = place.at("branch").flag(mapping.get("branch", True))
    choices = _choices(mapping.get("choices"), place.at("choices"), kind)
    common = _common(name, mapping, place)
    if not branch and any(choice.children for choice in choices):
        place.at("branch").fail("must be true where a choice has a tree")
    given, value = _default(mapping, place, kind)
    if not choices:
        if _is_for(mapping, kind, place):
            place.at("choices").fail(f"must leave a choice for {kind}; add `only:` above instead")
        return None
    distribution = Categorical(
        tuple(choice.value for choice in choices), tuple(choice.weight for choice in choices)
    )
    node = Hyperparameter(
        **common,
        distribution=distribution,
        default=choices[0].value,
        choices=choices,
        branch=branch,
    )
    if not given:
        return node
    if not distribution.contains(value):
        if _is_for(mapping, kind, place):
            place.at("default").fail(f"must be {node.allowed()}; got {value!r}")
        return node
    return _with_default(node, node.coerce(value))


def _choices(body: Any, place: Place, kind: str) -> tuple[Choice, ...]:
    if isinstance(body, list):
        for value in body:
            _scalar(value, place)
        pairs: list[tuple[Any, Any]] = [(value, None) for value in body]
    else:
        pairs = list(place.mapping(body).items())
    if not pairs:
        place.fail("must be a list or mapping of choices; got none")
    parsed = [
        (_choice(label, inner, place.at(label), kind), label, inner or {}) for label, inner in pairs
    ]
    seen: set[str] = set()
    for choice, label, _ in parsed:
        text = value_text(choice.value)
        if text in seen:
            place.at(label).fail(f"has the same value as another choice: {text}")
        seen.add(text)
    return tuple(choice for choice, label, inner in parsed if _is_for(inner, kind, place.at(label)))


def _choice(label: Any, body: Any, place: Place, kind: str) -> Choice:
    mapping = place.mapping(body, _CHOICE_KEYS)
    value = _scalar(mapping.get("value", label), place.at("value"))
    weight = place.at("weight").number(mapping.get("weight", 1), 0.0, 1e12)
    if weight == 0.0:
        place.at("weight").fail("must be positive; leave the choice out instead")
    return Choice(
        value=value,
        weight=weight,
        children=parse_tree(mapping.get("tree"), place.at("tree"), kind),
        sets=place.at("sets").flag(mapping.get("sets", True)),
        encode=place.encoding(mapping),
    )


def _scalar(value: Any, place: Place) -> JsonScalar:
    if not (value is None or isinstance(value, bool | int | float | str)):
        place.fail(f"must be a plain value; got {value!r}")
    if isinstance(value, float):
        if not abs(value) < float("inf"):
            place.fail(f"must be finite; got {value!r}")
        return canonical(value)
    return value


def check_names(nodes: Iterable[Hyperparameter], place: Place) -> tuple[set[str], set[str]]:
    """Names and arguments below `nodes`; hyperparameters that meet must not share them.

    A hyperparameter further in may set the argument of a choice above it, siblings may not.
    """
    names: set[str] = set()
    arguments: set[str] = set()
    for node in nodes:
        inner_names, inner_arguments = {node.name}, set() if node.virtual else {node.argument}
        for choice in node.choices:
            below = check_names(choice.children, place)
            if node.name in below[0]:
                place.at(node.name).fail("the name comes again further in")
            inner_names |= below[0]
            inner_arguments |= below[1]
        for shared in sorted(names & inner_names):
            place.at(node.name).fail(f"{shared!r} would be active twice at once")
        for shared in sorted(arguments & inner_arguments):
            place.at(node.name).fail(f"the argument {shared!r} would be set twice")
        names |= inner_names
        arguments |= inner_arguments
    return names, arguments


def written_names(tree: Any) -> set[str]:
    """Names of all hyperparameters in a checked ``tree:`` mapping, of both kinds."""
    names: set[str] = set()
    for name, body in (tree or {}).items():
        names.add(name)
        choices = body.get("choices") if isinstance(body, Mapping) else None
        for choice in choices.values() if isinstance(choices, Mapping) else ():
            names |= written_names((choice or {}).get("tree"))
    return names
