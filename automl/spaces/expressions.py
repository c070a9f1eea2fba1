"""Small safe expressions over hyperparameter values and facts of the data.

They appear in a family's text file as validation rules (``nu * n_classes < 1``) and as encodings
(``sqrt(n_columns) / n_columns``). Allowed: names, numbers, strings, ``true false null``,
``+ - * / // %``, comparisons (chained, ``in`` with a list), ``and or not``, ``x if c else y`` and
the functions ``sqrt log2 ln min max``. Nothing else parses: no attributes, subscripts or powers,
so that a text file from a stranger can neither run code nor exhaust the machine.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from automl.errors import SettingsError

FACTS = ("n_rows", "n_columns", "n_classes", "n_encoded", "variance")
"""Names that an expression may use besides hyperparameters: of the table, and of its matrix."""

Evaluator = Callable[[Mapping[str, Any]], Any]

_CONSTANTS = {"true": True, "false": False, "null": None}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ln": math.log,
    "min": min,
    "max": max,
}
_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda value, options: value in options,
    ast.NotIn: lambda value, options: value not in options,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_NUMERIC_OPERATORS = (*_BINARY, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.USub, ast.UAdd)
_MAX_LENGTH = 500
"""Characters: more than an expression needs, and a parser is asked for no more (by judgement)."""


class Expression:
    """A parsed expression; `names` are the hyperparameters and facts that it reads.

    Raises
    ------
    SettingsError
        If the text does not parse or uses something that is not allowed.
    """

    __slots__ = ("_evaluate", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._evaluate, self.names = _parse(text)

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Value of the expression; every one of `names` must be in `values`.

        Raises
        ------
        TypeError, ValueError, ZeroDivisionError
            If the operation is not defined for these values.
        """
        return self._evaluate(values)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the rule holds.

        It holds when one of its names is not in `values` (inactive, or a fact that is not known)
        and when a value is no number where one is compared or reckoned with (``max_depth: null``);
        a division by zero breaks it.
        """
        if not self.names <= values.keys():
            return True
        try:
            return bool(self._evaluate(values))
        except TypeError:
            return True
        except (ValueError, ArithmeticError):
            return False

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.text,)


@cache
def _parse(text: str) -> tuple[Evaluator, frozenset[str]]:
    if len(text) > _MAX_LENGTH:
        raise SettingsError(f"an expression may have {_MAX_LENGTH} characters; got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SettingsError(f"the expression {text!r} must be of the form `a * b < 1`") from None
    evaluate = _compile(tree.body, text)
    return evaluate, frozenset(_names(tree.body))


def _names(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Attribute):
        return {ast.unparse(node)}
    if isinstance(node, ast.Name):
        return {node.id} - _CONSTANTS.keys()
    parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    return {name for part in parts if isinstance(part, ast.expr) for name in _names(part)}


def _compile(node: ast.expr, text: str) -> Evaluator:
    builder = _BUILDERS.get(type(node))
    if builder is None:
        raise SettingsError(
            f"the expression {text!r} may hold names, numbers, strings, arithmetic, comparisons,"
            f" and/or/not and {', '.join(_FUNCTIONS)}; got `{ast.unparse(node)}`"
        )
    return builder(node, text)


def _constant(node: ast.Constant, text: str) -> Evaluator:
    value = node.value
    if not (value is None or isinstance(value, bool | int | float | str)):
        raise SettingsError(f"the expression {text!r} holds the constant {value!r}")
    return lambda _: value


def _name(node: ast.Name, _: str) -> Evaluator:
    name = node.id
    if name in _CONSTANTS:
        constant = _CONSTANTS[name]
        return lambda _: constant
    return lambda values: values[name]


def _attribute(node: ast.Attribute, text: str) -> Evaluator:
    """Compile a name with a dot: ``prep.scaler``."""
    if not isinstance(node.value, ast.Name):
        raise SettingsError(f"the expression {text!r} may not read `{ast.unparse(node)}`")
    name = ast.unparse(node)
    return lambda values: values[name]


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise TypeError(value)


def _binary(node: ast.BinOp, text: str) -> Evaluator:
    operation = _BINARY.get(type(node.op))
    if operation is None:
        raise SettingsError(f"the expression {text!r} may use + - * / // %; got another operator")
    left, right = _compile(node.left, text), _compile(node.right, text)
    return lambda values: operation(_number(left(values)), _number(right(values)))


def _unary(node: ast.UnaryOp, text: str) -> Evaluator:
    operation = _UNARY.get(type(node.op))
    if operation is None:
        raise SettingsError(f"the expression {text!r} may use - + not; got another operator")
    operand = _compile(node.operand, text)
    return lambda values: operation(operand(values))


def _boolean(node: ast.BoolOp, text: str) -> Evaluator:
    parts = [_compile(part, text) for part in node.values]
    if isinstance(node.op, ast.And):
        return lambda values: all(part(values) for part in parts)
    return lambda values: any(part(values) for part in parts)


def _compare(node: ast.Compare, text: str) -> Evaluator:
    operands = [_compile(part, text) for part in (node.left, *node.comparators)]
    steps: list[tuple[Callable[[Any, Any], Any], bool]] = []
    for step in node.ops:
        operation = _COMPARE.get(type(step))
        if operation is None:
            raise SettingsError(f"the expression {text!r} may not use `is`; write == or !=")
        steps.append((operation, isinstance(step, _NUMERIC_OPERATORS)))

    def evaluate(values: Mapping[str, Any]) -> bool:
        operands_of = [operand(values) for operand in operands]
        return all(
            operation(_number(left), _number(right)) if numeric else operation(left, right)
            for (operation, numeric), left, right in zip(
                steps, operands_of, operands_of[1:], strict=False
            )
        )

    return evaluate


def _sequence(node: ast.List | ast.Tuple, text: str) -> Evaluator:
    parts = [_compile(part, text) for part in node.elts]
    return lambda values: [part(values) for part in parts]


def _call(node: ast.Call, text: str) -> Evaluator:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or node.keywords:
        raise SettingsError(
            f"the expression {text!r} may call {', '.join(_FUNCTIONS)}; got `{ast.unparse(node)}`"
        )
    function, parts = _FUNCTIONS[name], [_compile(part, text) for part in node.args]
    return lambda values: function(*[_number(part(values)) for part in parts])


def _conditional(node: ast.IfExp, text: str) -> Evaluator:
    test, then = _compile(node.test, text), _compile(node.body, text)
    otherwise = _compile(node.orelse, text)
    return lambda values: then(values) if test(values) else otherwise(values)


_BUILDERS: dict[type[ast.AST], Callable[[Any, str], Evaluator]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Call: _call,
    ast.IfExp: _conditional,
}
