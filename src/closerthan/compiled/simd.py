"""Arithmetic along the rows of maps, several numbers at a time.

A row has as many numbers as a map has dimensions: few, and how many the compiler does not know. Where it makes vector
code of a loop over them, it spends more on choosing between versions of the loop than on arithmetic. Here rows are
taken four numbers at a time, then two, then one; in maps of single precision, whose rows are :func:`padded`, eight at a
time. What is done with them is written once, in plain Python that runs when a kernel is compiled:

    @summed(2)
    def distances(factors, i, j, l, k):
        return (i - j) * (i - j), (l - k) * (l - k)

makes ``near, far = distances(x, objects, factors)``. The four objects' numbers come as :class:`Vector`, which know
``+``, ``-`` and ``*``, and so do the factors, which are the same in all dimensions. Factors are handed over and sums
returned in double precision; in between they have that of the maps.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import llvmlite.ir as ir
import numpy as np
from numba.core import cgutils, errors, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_SINGLES = 8
WIDTHS = {types.float64: (4, 2, 1), types.float32: (_SINGLES,)}  # of the vectors that a row is put together from
_LINE = 64  # bytes that a processor fetches at a time
# Sums may be reordered and multiply-adds fused; NaN and infinity keep their meaning, so that divergence is seen.
FAST_SUMS = ("reassoc", "contract", "nsz")

_DOUBLE, _SINGLE = ir.DoubleType(), ir.FloatType()
_SIZE, _LANE = ir.IntType(64), ir.IntType(32)


def padded_length(n_dims: int) -> int:
    """How many numbers a padded row has.

    Examples
    --------
    >>> padded_length(10)
    16
    """
    return -(-n_dims // _SINGLES) * _SINGLES


def padded(x: NDArray[np.floating]) -> NDArray[np.float32]:
    """A copy in single precision whose rows are filled up with zeros to whole vectors.

    Examples
    --------
    >>> padded(np.ones((2, 3)))
    array([[1., 1., 1., 0., 0., 0., 0., 0.],
           [1., 1., 1., 0., 0., 0., 0., 0.]], dtype=float32)
    """
    n_rows, n_dims = x.shape
    row = padded_length(n_dims)
    # Rows of up to sixteen numbers are not to lie across the border of two lines of memory.
    buffer = np.zeros(n_rows * row + _LINE // 4, np.float32)
    first = -buffer.ctypes.data % _LINE // 4
    copy = buffer[first : first + n_rows * row].reshape(n_rows, row)
    with np.errstate(over="ignore"):  # what is too large is infinite
        copy[:, :n_dims] = x
    return copy


class Vector:
    """Some numbers side by side in a register, while code is generated."""

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
    """Make a function of kernels: ``sums = function(maps, objects, factors)``, summed over the dimensions.

    ``maps`` is a map, a tuple of maps, or an array (objects, 3, dimensions): in the latter two cases each object comes
    as a tuple of its rows.
    """

    def made(arithmetic: Callable[..., Any]) -> Any:
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

    return made


def added(arithmetic: Callable[..., Any]) -> Any:
    """Make a function of kernels: ``function(maps, objects, out, places, factors)`` adds to four rows of ``out``.

    The arithmetic says what to add for i, l, j and k, in this order; of an array (objects, 3, dimensions) the first
    part is added to. ``out`` may be what is read, and rows may be the same. Mostly the places are the objects.
    """

    @intrinsic
    def function(typing_context: Any, maps: Any, objects: Any, out: Any, places: Any, factors: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, n_dims = _rows(context, builder, signature.args[0], arguments[0], arguments[1])
            (i, j, l, k), _ = _rows(context, builder, signature.args[2], arguments[2], arguments[3])  # noqa: E741
            number, widths = _numbers(signature.args[2])
            for first, width in _along(builder, n_dims, widths):
                kind = _kind(number, width)
                changes = arithmetic(*_read(builder, rows, arguments[4], first, kind))
                # i and l of a triplet are one row: side by side here, they become one addition.
                for row, change in zip((i, l, j, k), changes, strict=True):
                    place = _place(builder, row[0], first, kind)
                    old = Vector(builder, builder.load(place, align=4))
                    builder.store((old + change).value, place, align=4)
            return context.get_dummy_value()

        return types.void(_readable(maps), objects, _writable(out), places, factors), generate

    return function


def _readable(maps: Any) -> Any:
    arrays: Any = maps if isinstance(maps, types.BaseTuple) else (maps,)
    if any(array.layout != "C" or array.dtype != arrays[0].dtype or array.dtype not in WIDTHS for array in arrays):
        raise errors.TypingError("kernels read maps of floats whose rows lie one after another in memory")
    return maps


def _writable(out: Any) -> Any:
    if not out.mutable:
        raise errors.TypingError("kernels cannot add to an array that is read-only")
    return _readable(out)


def _rows(context: Any, builder: Any, kind: Any, maps: Any, objects: Any) -> tuple[list[list[Any]], Any]:
    """For each object, where its rows begin; and their length."""
    several = isinstance(kind, types.BaseTuple)
    arrays: list[Any] = list(zip(kind, cgutils.unpack_tuple(builder, maps), strict=True)) if several else [(kind, maps)]
    described = [context.make_array(array_kind)(context, builder, array) for array_kind, array in arrays]
    n_dims = builder.extract_value(described[0].shape, arrays[0][0].ndim - 1)
    rows = []
    for number in cgutils.unpack_tuple(builder, objects):
        wide = builder.zext(number, _SIZE)
        starts = []
        for (array_kind, _), array in zip(arrays, described, strict=True):
            n_parts = 3 if array_kind.ndim == 3 else 1
            first = builder.mul(builder.mul(n_dims, _SIZE(n_parts)), wide)
            starts += [
                builder.gep(array.data, [builder.add(first, builder.mul(n_dims, _SIZE(part)))])
                for part in range(n_parts)
            ]
        rows.append(starts)
    return rows, n_dims


def _numbers(maps: Any) -> tuple[Any, tuple[int, ...]]:
    """What the maps' numbers are for the compiler, and how many of them are taken at a time."""
    arrays: Any = maps if isinstance(maps, types.BaseTuple) else (maps,)
    kind = arrays[0].dtype
    return _DOUBLE if kind == types.float64 else _SINGLE, WIDTHS[kind]


def _along(builder: Any, n_dims: Any, widths: tuple[int, ...]) -> Iterator[tuple[Any, int]]:
    """Generate what follows for all stretches of a row: where each of them begins, and its width."""
    # Where rows are padded, not to ask for what is known makes a tenth.
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
    """The arguments of the arithmetic: the factors, and the numbers of each object."""
    spread = tuple(_spread(builder, factor, kind) for factor in cgutils.unpack_tuple(builder, factors))
    numbers = [
        tuple(Vector(builder, builder.load(_place(builder, row, first, kind), align=4)) for row in starts)
        for starts in rows
    ]
    return [spread, *(parts if len(parts) > 1 else parts[0] for parts in numbers)]


def _spread(builder: Any, factor: Any, kind: Any) -> Vector:
    """One number in all lanes."""
    if not isinstance(kind, ir.VectorType):
        return Vector(builder, factor)
    number = builder.fptrunc(factor, _SINGLE) if kind.element == _SINGLE else factor
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, _LANE(0))
    zeros = ir.Constant(ir.VectorType(_LANE, kind.count), [0] * kind.count)
    return Vector(builder, builder.shuffle_vector(first, nothing, zeros))


def _total(builder: Any, lanes: Sequence[Any]) -> Any:
    """The sum of all lanes of registers that become shorter."""
    total = Vector(builder, lanes[0])
    rest = {register.type.count if isinstance(register.type, ir.VectorType) else 1: register for register in lanes[1:]}
    while isinstance(total.value.type, ir.VectorType):
        half = total.value.type.count // 2
        total = _part(total, range(half)) + _part(total, range(half, 2 * half))
        if half in rest:
            total = total + Vector(builder, rest[half])
    return total.value if total.value.type == _DOUBLE else builder.fpext(total.value, _DOUBLE)


def _part(whole: Vector, places: range) -> Vector:
    """Some lanes of a register; a single one is just a number."""
    if len(places) == 1:
        return Vector(whole.builder, whole.builder.extract_element(whole.value, _LANE(places[0])))
    nothing = ir.Constant(whole.value.type, ir.Undefined)
    chosen = ir.Constant(ir.VectorType(_LANE, len(places)), list(places))
    return Vector(whole.builder, whole.builder.shuffle_vector(whole.value, nothing, chosen))
