"""Vector arithmetic along the rows of maps.

A row has one number per dimension of the map. It is short, and its length is unknown at compile time. If the compiler
vectorises a loop over them, choosing between versions of the loop takes longer than the arithmetic. This module
generates code that processes rows four numbers at a time, then two, then one; maps in single precision, whose rows
are :func:`padded`, eight at a time. The arithmetic is written once, in plain Python that runs at compile time:

    @summed(2)
    def distances(factors, i, j, l, k):
        return (i - j) * (i - j), (l - k) * (l - k)

defines a function to be called as ``near, far = distances(x, objects, factors)``. The coordinates of the four objects
are passed as :class:`Vector`, which supports ``+``, ``-`` and ``*``, and so are the factors, which are the same in all
dimensions. Factors are passed and sums are returned in double precision; the arithmetic has the precision of the maps.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, errors, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_SINGLES = 8
WIDTHS = {types.float64: (4, 2, 1), types.float32: (_SINGLES,)}  # widths of the vectors that make up a row
_LINE = 64  # bytes in a cache line
# Sums may be reordered and multiply-adds fused. NaN and infinity keep their meaning, so that divergence is detected.
FAST_SUMS = ("reassoc", "contract", "nsz")

_DOUBLE, _SINGLE = ir.DoubleType(), ir.FloatType()
_SIZE, _LANE = ir.IntType(64), ir.IntType(32)


def padded_length(n_dims: int) -> int:
    """Return the number of values in a padded row.

    Examples
    --------
    >>> padded_length(10)
    16
    """
    return -(-n_dims // _SINGLES) * _SINGLES


def padded(x: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return a copy in single precision whose rows are padded with zeros to whole vectors.

    Examples
    --------
    >>> padded(np.ones((2, 3)))
    array([[1., 1., 1., 0., 0., 0., 0., 0.],
           [1., 1., 1., 0., 0., 0., 0., 0.]], dtype=float32)
    """
    copy = padded_zeros(*x.shape)
    with np.errstate(over="ignore"):  # values that are too large become infinite
        copy[:, : x.shape[1]] = x
    return copy


def padded_zeros(n_rows: int, n_dims: int) -> NDArray[np.float32]:
    """Return an array of zeros with padded rows, whose memory is not touched before it is used."""
    row = padded_length(n_dims)
    # The alignment keeps rows of up to sixteen numbers within one cache line.
    buffer = np.zeros(n_rows * row + _LINE // 4, np.float32)
    first = -buffer.ctypes.data % _LINE // 4
    return buffer[first : first + n_rows * row].reshape(n_rows, row)


class Vector:
    """A vector register during code generation; the operators emit instructions."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def __add__(self, other: Self) -> "Vector":
        return Vector(self.builder, self.builder.fadd(self.value, other.value, flags=FAST_SUMS))

    def __sub__(self, other: Self) -> "Vector":
        return Vector(self.builder, self.builder.fsub(self.value, other.value, flags=FAST_SUMS))

    def __mul__(self, other: Self) -> "Vector":
        return Vector(self.builder, self.builder.fmul(self.value, other.value, flags=FAST_SUMS))

    def __neg__(self) -> "Vector":
        return Vector(self.builder, self.builder.fneg(self.value, flags=FAST_SUMS))


def summed(n_sums: int) -> Callable[[Any], Any]:
    """Define a function for kernels, ``sums = function(maps, objects, factors)``, which sums over the dimensions.

    ``maps`` is a map, a tuple of maps, or an array of shape (objects, 3, dimensions). In the latter two cases, each
    object is passed to the arithmetic as a tuple of its rows.
    """

    def decorator(arithmetic: Callable[..., Any]) -> Any:
        @intrinsic
        def function(typing_context: Any, maps: Any, objects: Any, factors: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                rows, n_dims = _rows(context, builder, signature.args[0], arguments[0], arguments[1])
                number, widths = _numbers(signature.args[0])
                places = {
                    width: [cgutils.alloca_once_value(builder, _zero(number, width)) for _ in range(n_sums)]
                    for width in widths
                }
                for first, width in _along(builder, n_dims, widths):
                    kind = _kind(number, width)
                    for place, term in zip(
                        places[width], arithmetic(*_read(builder, rows, arguments[2], first, kind)), strict=True
                    ):
                        builder.store((Vector(builder, builder.load(place)) + term).value, place)
                totals = [_total(builder, [builder.load(places[width][n]) for width in widths]) for n in range(n_sums)]
                return context.make_tuple(builder, signature.return_type, totals)

            return types.UniTuple(types.float64, n_sums)(_readable(maps), objects, factors), generate

        return function

    return decorator


def added(arithmetic: Callable[..., Any]) -> Any:
    """Define a function for kernels, ``function(maps, objects, out, places, factors)``, which adds to rows of ``out``.

    The arithmetic returns what to add for i, l, j and k, in this order, or for the i and j of a single pair. If
    ``out`` has shape (objects, 3, dimensions), the first of the three rows is changed. ``out`` may be one of the maps,
    and rows may coincide. ``places`` are the rows of ``out`` to change, usually the objects themselves.
    """

    @intrinsic
    def function(typing_context: Any, maps: Any, objects: Any, out: Any, places: Any, factors: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, n_dims = _rows(context, builder, signature.args[0], arguments[0], arguments[1])
            changed, _ = _rows(context, builder, signature.args[2], arguments[2], arguments[3])
            if len(changed) == 4:  # in a triplet i and l are the same row; side by side, they become one addition
                i, j, l, k = changed  # noqa: E741
                changed = [i, l, j, k]
            number, widths = _numbers(signature.args[2])
            for first, width in _along(builder, n_dims, widths):
                kind = _kind(number, width)
                changes = arithmetic(*_read(builder, rows, arguments[4], first, kind))
                for row, change in zip(changed, changes, strict=True):
                    place = _place(builder, row[0], first, kind)
                    old = Vector(builder, builder.load(place, align=4))
                    builder.store((old + change).value, place, align=4)
            return context.get_dummy_value()

        return types.void(_readable(maps), objects, _writable(out), places, factors), generate

    return function


def _readable(maps: Any) -> Any:
    arrays: Any = maps if isinstance(maps, types.BaseTuple) else (maps,)
    if any(array.layout != "C" or array.dtype != arrays[0].dtype or array.dtype not in WIDTHS for array in arrays):
        raise errors.TypingError("kernels read only C-contiguous maps of float32 or float64, all of the same type")
    return maps


def _writable(out: Any) -> Any:
    if not out.mutable:
        raise errors.TypingError("kernels cannot add to a read-only array")
    return _readable(out)


def _rows(context: Any, builder: Any, kind: Any, maps: Any, objects: Any) -> tuple[list[list[Any]], Any]:
    """Return pointers to the rows of each object, and the length of a row."""
    several = isinstance(kind, types.BaseTuple)
    arrays: list[Any] = list(zip(kind, cgutils.unpack_tuple(builder, maps), strict=True)) if several else [(kind, maps)]
    structs = [context.make_array(array_kind)(context, builder, array) for array_kind, array in arrays]
    n_dims = builder.extract_value(structs[0].shape, arrays[0][0].ndim - 1)
    rows = []
    for number in cgutils.unpack_tuple(builder, objects):
        index = builder.zext(number, _SIZE)
        starts = []
        for (array_kind, _), array in zip(arrays, structs, strict=True):
            n_parts = 3 if array_kind.ndim == 3 else 1
            first = builder.mul(builder.mul(n_dims, _SIZE(n_parts)), index)
            starts += [
                builder.gep(array.data, [builder.add(first, builder.mul(n_dims, _SIZE(part)))])
                for part in range(n_parts)
            ]
        rows.append(starts)
    return rows, n_dims


def _numbers(maps: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the LLVM type of the coordinates, and the widths of the vectors that they are processed in."""
    arrays: Any = maps if isinstance(maps, types.BaseTuple) else (maps,)
    kind = arrays[0].dtype
    return _DOUBLE if kind == types.float64 else _SINGLE, WIDTHS[kind]


def _along(builder: Any, n_dims: Any, widths: tuple[int, ...]) -> Iterator[tuple[Any, int]]:
    """Yield the first coordinate and the width of each vector of a row; the caller emits the code that handles it."""
    # Padded rows need no remainder loop, which saves 10 %.
    whole = builder.and_(n_dims, _SIZE(-widths[0])) if len(widths) > 1 else n_dims
    with cgutils.for_range_slice(builder, _SIZE(0), whole, _SIZE(widths[0])) as (first, _):
        yield first, widths[0]
    for width in widths[1:]:
        first = builder.and_(n_dims, _SIZE(-2 * width))
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(n_dims, _SIZE(width)), _SIZE(0))):
            yield first, width


def _kind(number: Any, width: int) -> Any:
    return number if width == 1 else ir.VectorType(number, width)


def _zero(number: Any, width: int) -> Any:
    return ir.Constant(_kind(number, width), None if width > 1 else 0.0)


def _place(builder: Any, row: Any, first: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(row, [first]), kind.as_pointer())


def _read(builder: Any, rows: list[list[Any]], factors: Any, first: Any, kind: Any) -> list[Any]:
    """Return the arguments of the arithmetic: the factors, and the coordinates of each object."""
    spread = tuple(_spread(builder, factor, kind) for factor in cgutils.unpack_tuple(builder, factors))
    numbers = [
        tuple(Vector(builder, builder.load(_place(builder, row, first, kind), align=4)) for row in starts)
        for starts in rows
    ]
    return [spread, *(parts if len(parts) > 1 else parts[0] for parts in numbers)]


def _spread(builder: Any, factor: Any, kind: Any) -> Vector:
    """Return a vector with the same number in all lanes."""
    if not isinstance(kind, ir.VectorType):
        return Vector(builder, factor)
    number = builder.fptrunc(factor, _SINGLE) if kind.element == _SINGLE else factor
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, number, _LANE(0))
    zeros = ir.Constant(ir.VectorType(_LANE, kind.count), [0] * kind.count)
    return Vector(builder, builder.shuffle_vector(first, undefined, zeros))


def _total(builder: Any, lanes: Sequence[Any]) -> Any:
    """Return the sum of all lanes of several registers, the widest first."""
    total = Vector(builder, lanes[0])
    rest = {register.type.count if isinstance(register.type, ir.VectorType) else 1: register for register in lanes[1:]}
    while isinstance(total.value.type, ir.VectorType):
        half = total.value.type.count // 2
        total = _part(total, range(half)) + _part(total, range(half, 2 * half))
        if half in rest:
            total = total + Vector(builder, rest[half])
    return total.value if total.value.type == _DOUBLE else builder.fpext(total.value, _DOUBLE)


def _part(whole: Vector, places: range) -> Vector:
    """Return some lanes of a register; a single lane is a scalar."""
    if len(places) == 1:
        return Vector(whole.builder, whole.builder.extract_element(whole.value, _LANE(places[0])))
    undefined = ir.Constant(whole.value.type, ir.Undefined)
    lanes = ir.Constant(ir.VectorType(_LANE, len(places)), list(places))
    return Vector(whole.builder, whole.builder.shuffle_vector(whole.value, undefined, lanes))
