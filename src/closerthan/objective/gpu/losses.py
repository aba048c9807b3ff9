"""Translation of losses to Triton, from the Python source of their ``value`` and ``slopes``.

Triton evaluates many comparisons at a time, so every choice between two numbers (``a if condition else b``, ``max``, or
an ``if`` that returns) becomes an element-wise ``tl.where``. Parameters become constants. Code that cannot be
translated is an error that names the line.
"""

import ast
import copy
import functools
import inspect
import linecache
import math
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl

from closerthan.losses import Loss

__all__ = ["TritonLoss", "TritonSimilarity", "similarity_in_triton", "translated"]

_PLAIN = {name: f"tl.{name}" for name in ("exp", "log", "sqrt", "floor", "ceil", "sin", "cos", "erf", "exp2", "log2")}
_FORMULAS = {
    "abs": "tl.abs({0})",
    "fabs": "tl.abs({0})",
    "absolute": "tl.abs({0})",
    "max": "tl.maximum({0}, {1})",
    "maximum": "tl.maximum({0}, {1})",
    "fmax": "tl.maximum({0}, {1})",
    "min": "tl.minimum({0}, {1})",
    "minimum": "tl.minimum({0}, {1})",
    "fmin": "tl.minimum({0}, {1})",
    "where": "tl.where({0}, {1}, {2})",
    "log1p": "tl.log(1.0 + ({0}))",
    "expm1": "(tl.exp({0}) - 1.0)",
    "log10": "(tl.log({0}) * 0.4342944819032518)",
    "tanh": "(1.0 - 2.0 / (tl.exp(2.0 * ({0})) + 1.0))",
    "pow": "tl.exp(({1}) * tl.log({0}))",
    "power": "tl.exp(({1}) * tl.log({0}))",
    "float": "({0})",
    "square": "({0}) * ({0})",
    "hypot": "tl.sqrt(({0}) * ({0}) + ({1}) * ({1}))",
    "logaddexp": "(tl.maximum({0}, {1}) + tl.log(1.0 + tl.exp(-tl.abs(({0}) - ({1})))))",
}
_MODULES = (math, np)
_LARGEST_POWER = 64  # integer powers up to this become multiplications


class TritonLoss(NamedTuple):
    """The two functions of a loss, compiled by Triton; kernels take them as constants."""

    value: Any
    slopes: Any


class TritonSimilarity(NamedTuple):
    """The similarity of a loss, as the logarithm and its derivative, compiled by Triton."""

    log_similarity: Any
    similarity_slope: Any


@functools.lru_cache(maxsize=64)
def similarity_in_triton(loss: Loss) -> TritonSimilarity:
    """Return the similarity of a loss that is a choice rule, without the penalty."""
    return TritonSimilarity(*(_jitted(loss, method) for method in TritonSimilarity._fields))


@functools.lru_cache(maxsize=64)
def translated(loss: Loss) -> TritonLoss:
    """Return the two functions of a loss for Triton; a penalty is not part of them, since kernels add it."""
    return TritonLoss(*(_jitted(loss, method) for method in ("value", "slopes")))


def _jitted(loss: Loss, method: str) -> Any:
    source = triton_source(loss, method)
    name = f"<{type(loss).__qualname__}.{method} in Triton, {hash((loss, method)) & 0xFFFFFFFF:08x}>"
    # Triton reads the source of a function through linecache, as tracebacks do.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"tl": tl, "triton": triton, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return triton.jit(scope[method])


def triton_source(loss: Loss, method: str) -> str:
    """Return the source code that Triton compiles.

    Examples
    --------
    >>> from closerthan.losses import GNMDS
    >>> print(triton_source(GNMDS(margin=2.0), "value"))
    def value(near, far):
        return tl.maximum(0.0, near - far + 2.0)
    """
    body = _Translation(loss, getattr(type(loss), method))
    return body.source(method)


class _Translation:
    """The translation of one function."""

    def __init__(self, loss: Loss, function: Callable[..., Any], depth: int = 0) -> None:
        self.loss = loss
        self.function = inspect.unwrap(function)
        self.depth = depth
        try:
            lines, self.first_line = inspect.getsourcelines(self.function)
            self.file = inspect.getsourcefile(self.function)
        except (OSError, TypeError) as error:
            raise TypeError(
                f"the source of {self._name} cannot be read, but a GPU needs it; define the loss in a file or a "
                "notebook cell, or fit on the CPU"
            ) from error
        tree = ast.parse(textwrap.dedent("".join(lines)))
        self.tree = tree.body[0]
        if not isinstance(self.tree, ast.FunctionDef):
            raise self._error(self.tree, "is not a plain function")
        self.scope = inspect.getclosurevars(self.function)
        self.n_variables = 0

    @property
    def _name(self) -> str:
        return str(self.function.__qualname__)

    def source(self, name: str) -> str:
        assert isinstance(self.tree, ast.FunctionDef)
        arguments = [argument.arg for argument in self.tree.args.args]
        if arguments and arguments[0] == "self":
            arguments = arguments[1:]
        body = self._statements(self.tree.body)
        function = ast.FunctionDef(
            name=name,
            args=ast.arguments([], [ast.arg(argument) for argument in arguments], None, [], [], None, []),
            body=body,
            decorator_list=[],
        )
        source: str = ast.unparse(ast.fix_missing_locations(ast.Module([function], [])))
        return source

    # ---- statements ----------------------------------------------------------------------------------------------

    def _statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Translate statements; an ``if`` that returns becomes a choice between its value and that of the rest."""
        output: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            rest = statements[number + 1 :]
            match statement:
                case ast.Expr(ast.Constant()) | ast.Pass():
                    continue
                case ast.Return(value) if value is not None:
                    output.append(ast.Return(self._expression(value)))
                    return output
                case ast.Assign([target], value):
                    output.append(ast.Assign([self._target(target)], self._expression(value)))
                case ast.AnnAssign(target, _, value) if value is not None:
                    output.append(ast.Assign([self._target(target)], self._expression(value)))
                case ast.AugAssign(ast.Name() as target, operator, value):
                    both = ast.copy_location(ast.BinOp(ast.Name(target.id, ast.Load()), operator, value), statement)
                    output.append(ast.Assign([target], self._expression(both)))
                case ast.If(test, then, otherwise):
                    # Both branches are evaluated, the first one before later statements change a variable.
                    condition = self._stored(self._expression(test), output)
                    *before, yes = self._branch(then, statement)
                    output += before
                    yes = self._stored(yes, output)
                    *after, no = self._branch([*otherwise, *rest], statement)
                    output += after
                    output.append(ast.Return(self._choice(condition, yes, no, statement)))
                    return output
                case ast.For(ast.Name() as target, ast.Call(ast.Name("range"), [ast.Constant(int())]), body, []):
                    output.append(
                        ast.For(
                            target, ast.parse(ast.unparse(statement.iter), mode="eval").body, self._statements(body), []
                        )
                    )
                case _:
                    raise self._error(
                        statement, "has no translation to a GPU; use expressions, assignments and `if ...: return`"
                    )
        return output

    def _branch(self, statements: list[ast.stmt], place: ast.stmt) -> list[Any]:
        """Translate a branch to its statements, followed by the value that it returns."""
        output = self._statements(statements)
        if not (output and isinstance(output[-1], ast.Return) and output[-1].value is not None):
            raise self._error(place, "has a branch without a `return`; write `a if condition else b`")
        return [*output[:-1], output[-1].value]

    def _stored(self, value: ast.expr, output: list[ast.stmt]) -> ast.expr:
        """Assign the value to a new variable, and return that."""
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self._stored(element, output) for element in value.elts], ast.Load())
        self.n_variables += 1
        name = f"stored_{self.depth}_{self.n_variables}"
        output.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return ast.Name(name, ast.Load())

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr, place: ast.AST) -> ast.expr:
        if isinstance(yes, ast.Tuple) and isinstance(no, ast.Tuple) and len(yes.elts) == len(no.elts):
            return ast.Tuple(
                [self._choice(test, then, otherwise, place) for then, otherwise in zip(yes.elts, no.elts, strict=True)],
                ast.Load(),
            )
        if isinstance(yes, ast.Tuple) or isinstance(no, ast.Tuple):
            raise self._error(place, "returns two numbers in only one of its branches")
        return _call("tl.where", test, yes, no)

    def _target(self, target: ast.expr) -> ast.expr:
        if isinstance(target, ast.Name) or (
            isinstance(target, ast.Tuple) and all(isinstance(name, ast.Name) for name in target.elts)
        ):
            return target
        raise self._error(target, "is not a name; assign only to names")

    # ---- expressions ---------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(int() | float()) if not isinstance(node.value, bool):
                return _number(node.value)
            case ast.Constant(bool()):
                return node
            case ast.Name(name):
                return self._named(node, name)
            case ast.Attribute():
                return _number(self._constant(node))
            case ast.Tuple(elements):
                return ast.Tuple([self._expression(element) for element in elements], ast.Load())
            case ast.BinOp(left, ast.Pow(), right):
                return self._power(left, right)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as operator, right):
                return ast.BinOp(self._expression(left), operator, self._expression(right))
            case ast.UnaryOp(ast.USub() | ast.UAdd() as operator, operand):
                return ast.UnaryOp(operator, self._expression(operand))
            case ast.UnaryOp(ast.Not(), operand):
                return ast.Compare(self._expression(operand), [ast.Eq()], [ast.Constant(0)])
            case ast.Compare(left, operators, others):
                values = [self._expression(value) for value in (left, *others)]
                pairs: list[ast.expr] = [
                    ast.Compare(values[number], [operator], [values[number + 1]])
                    for number, operator in enumerate(operators)
                ]
                return functools.reduce(lambda left, right: ast.BinOp(left, ast.BitAnd(), right), pairs)
            case ast.BoolOp(operator, values):
                bitwise = ast.BitAnd() if isinstance(operator, ast.And) else ast.BitOr()
                parts = [self._expression(value) for value in values]
                return functools.reduce(lambda left, right: ast.BinOp(left, bitwise, right), parts)
            case ast.IfExp(test, body, orelse):
                return self._choice(self._expression(test), self._expression(body), self._expression(orelse), node)
            case ast.Call(function, arguments, []):
                return self._called(node, function, arguments)
        raise self._error(node, "has no translation to a GPU")

    def _named(self, node: ast.expr, name: str) -> ast.expr:
        for scope in (self.scope.nonlocals, self.scope.globals):
            if name in scope:
                value = scope[name]
                if isinstance(value, int | float | np.number) and not isinstance(value, bool):
                    return _number(value)
                raise self._error(node, f"is a {type(value).__name__}; a loss may use numbers and functions")
        return node

    def _constant(self, node: ast.Attribute) -> Any:
        """Return a parameter of the loss, or a constant of a module such as ``math.pi``."""
        if not isinstance(node.value, ast.Name):
            raise self._error(node, "has no translation to a GPU")
        owner = node.value.id
        thing: Any = self.loss if owner == "self" else self.scope.globals.get(owner, self.scope.nonlocals.get(owner))
        value = getattr(thing, node.attr, None)
        if not isinstance(value, int | float | np.number):
            raise self._error(node, f"is {value!r}; on a GPU it must be a number")
        return value

    def _power(self, base: ast.expr, exponent: ast.expr) -> ast.expr:
        factor = self._expression(base)
        value = _value_of(self._expression(exponent))
        if value is not None and float(value).is_integer() and abs(value) <= _LARGEST_POWER:
            power: ast.expr = _number(1.0)
            square, bits = factor, abs(int(value))
            while bits:
                if bits & 1:
                    power = square if _value_of(power) == 1.0 else ast.BinOp(power, ast.Mult(), square)
                bits >>= 1
                if bits:
                    square = ast.BinOp(square, ast.Mult(), copy.deepcopy(square))
            return power if value >= 0 else ast.BinOp(_number(1.0), ast.Div(), power)
        if value == 0.5:
            return _call("tl.sqrt", factor)
        return _formula("pow", factor, self._expression(exponent))

    def _called(self, node: ast.expr, function: ast.expr, arguments: list[ast.expr]) -> ast.expr:
        values = [self._expression(argument) for argument in arguments]
        match function:
            case ast.Name(name):
                callee = self.scope.globals.get(name, self.scope.nonlocals.get(name))
                built_in = callee is None or getattr(callee, "__module__", "") in ("math", "numpy")
            case ast.Attribute(ast.Name(owner), name):
                module = self.scope.globals.get(owner, self.scope.nonlocals.get(owner))
                callee, built_in = None, module in _MODULES
                if owner == "self":
                    callee = getattr(type(self.loss), name, None)
            case _:
                raise self._error(node, "has no translation to a GPU")
        if name == "int" and built_in and (value := _value_of(values[0])) is not None:
            return _number(int(value))
        if built_in and name in _PLAIN and len(values) == 1:
            return _call(_PLAIN[name], *values)
        if built_in and name in _FORMULAS:
            if name in ("max", "min") and len(values) > 2:
                return functools.reduce(lambda left, right: _formula(name, left, right), values)
            return _formula(name, *values)
        if callee is not None and inspect.isfunction(inspect.unwrap(callee)):
            return self._inlined(node, callee, values)
        raise self._error(node, f"calls {name}, which has no translation to a GPU")

    def _inlined(self, node: ast.expr, function: Callable[..., Any], values: list[ast.expr]) -> ast.expr:
        """Inline a user-defined function that is a single expression."""
        if self.depth > 8:
            raise self._error(node, "nests function calls too deeply for a GPU")
        other = _Translation(self.loss, function, self.depth + 1)
        assert isinstance(other.tree, ast.FunctionDef)
        names = [argument.arg for argument in other.tree.args.args if argument.arg != "self"]
        body = other._statements(other.tree.body)
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None or len(names) != len(values):
            raise self._error(node, f"calls {other._name}; on a GPU such a function must be a single `return`")
        return _Substitution(dict(zip(names, values, strict=True))).visit(copy.deepcopy(body[0].value))  # type: ignore[no-any-return]

    def _error(self, node: ast.AST, why: str) -> TypeError:
        line = self.first_line + getattr(node, "lineno", 1) - 1
        text = ast.unparse(node).splitlines()[0] if not isinstance(node, ast.FunctionDef) else node.name
        return TypeError(f"{self.file}, line {line} ({self._name}): `{text}` {why}; or fit on the CPU")


class _Substitution(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.values[node.id]) if node.id in self.values else node


def _number(value: Any) -> ast.expr:
    number = float(value)
    if math.isinf(number) or math.isnan(number):
        return ast.parse(f"float('{number}')", mode="eval").body
    return ast.Constant(number) if number >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-number))


def _value_of(node: ast.expr) -> float | None:
    """Return the value of an expression, or None if it has variables."""
    try:
        return float(
            eval(compile(ast.Expression(ast.fix_missing_locations(copy.deepcopy(node))), "<power>", "eval"), {})
        )
    except Exception:
        return None


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.parse(name, mode="eval").body, list(arguments), [])


def _formula(name: str, *arguments: ast.expr) -> ast.expr:
    text = _FORMULAS[name].format(*(f"({ast.unparse(ast.fix_missing_locations(copy.deepcopy(a)))})" for a in arguments))
    return ast.parse(text, mode="eval").body
