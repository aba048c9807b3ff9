"""Arithmetic along the rows of maps, several numbers at a time.

A row has as many numbers as a map has dimensions: few, and how many the compiler does not know. Where it makes vector
code of a loop over them, it spends more on choosing between versions of the loop than on arithmetic. Here rows are
taken four numbers at a time, then two, then one. What is done with them is written once, in plain Python that runs when
a kernel is compiled:

    @summed(2)
    def distances(factors, i, j, l, k):
        return (i - j) * (i - j), (l - k) * (l - k)

makes ``near, far = distances(x, objects, factors)``. The four objects' numbers come as :class:`Lanes`, which know
``+``, ``-`` and ``*``, and so do the factors, which are the same in all dimensions.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import llvmlite.ir as ir
from numba.core import cgutils, errors, types
from numba.extending import intrinsic

WIDTHS = (4, 2, 1)
# Sums may be reordered and multiply-adds fused; NaN and infinity keep their meaning, so that divergence is seen.
FAST_SUMS = ("reassoc", "contract", "nsz")

_DOUBLE, _SIZE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


class Lanes:
    """Some numbers side by side in a register, while code is generated."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder = builder
        self.value = value

    def __add__(self, other: Self) -> "Lanes":
        return Lanes(self.builder, self.builder.fadd(self.value, other.value, flags=FAST_SUMS))

    def __sub__(self, other: Self) -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, other.value, flags=FAST_SUMS))

    def __mul__(self, other: Self) -> "Lanes":
        return Lanes(self.builder, self.builder.fmul(self.value, other.value, flags=FAST_SUMS))

    def __neg__(self) -> "Lanes":
        return Lanes(self.builder, self.builder.fneg(self.value, flags=FAST_SUMS))


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
                zeros = {width: ir.Constant(_kind(width), None if width > 1 else 0.0) for width in WIDTHS}
                places = {
                    width: [cgutils.alloca_once_value(builder, zeros[width]) for _ in range(n_sums)] for width in WIDTHS
                }
                for first, width in _along(builder, n_dims):
                    for place, term in zip(
                        places[width], arithmetic(*_read(builder, rows, arguments[2], first, width)), strict=True
                    ):
                        builder.store((Lanes(builder, builder.load(place)) + term).value, place)
                totals = [_total(builder, [builder.load(places[width][n]) for width in WIDTHS]) for n in range(n_sums)]
                return context.make_tuple(builder, signature.return_type, totals)

            return types.UniTuple(types.float64, n_sums)(_readable(maps), objects, factors), generate

        return function

    return made


def added(arithmetic: Callable[..., Any]) -> Any:
    """Make a function of kernels: ``function(maps, out, objects, factors)`` adds to the objects' rows of ``out``.

    The arithmetic says what to add to the rows of i, l, j and k, in this order; of an array (objects, 3, dimensions)
    the first part is added to. ``out`` may be what is read, and objects may be the same.
    """

    @intrinsic
    def function(typing_context: Any, maps: Any, out: Any, objects: Any, factors: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, n_dims = _rows(context, builder, signature.args[0], arguments[0], arguments[2])
            (i, j, l, k), _ = _rows(context, builder, signature.args[1], arguments[1], arguments[2])  # noqa: E741
            for first, width in _along(builder, n_dims):
                changes = arithmetic(*_read(builder, rows, arguments[3], first, width))
                # i and l of a triplet are one row: side by side here, they become one addition.
                for row, change in zip((i, l, j, k), changes, strict=True):
                    place = _place(builder, row[0], first, width)
                    old = Lanes(builder, builder.load(place, align=8))
                    builder.store((old + change).value, place, align=8)
            return context.get_dummy_value()

        return types.void(_readable(maps), _writable(out), objects, factors), generate

    return function


def _readable(maps: Any) -> Any:
    arrays: Any = maps if isinstance(maps, types.BaseTuple) else (maps,)
    if any(array.layout != "C" or array.dtype != types.float64 for array in arrays):
        raise errors.TypingError("kernels read maps of float64 whose rows lie one after another in memory")
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


def _along(builder: Any, n_dims: Any) -> Iterator[tuple[Any, int]]:
    """Generate what follows for all stretches of a row: where each of them begins, and its width."""
    whole = builder.and_(n_dims, _SIZE(-WIDTHS[0]))
    with cgutils.for_range_slice(builder, _SIZE(0), whole, _SIZE(WIDTHS[0])) as (first, _):
        yield first, WIDTHS[0]
    for width in WIDTHS[1:]:
        first = builder.and_(n_dims, _SIZE(-2 * width))
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(n_dims, _SIZE(width)), _SIZE(0))):
            yield first, width


def _kind(width: int) -> Any:
    return _DOUBLE if width == 1 else ir.VectorType(_DOUBLE, width)


def _place(builder: Any, row: Any, first: Any, width: int) -> Any:
    return builder.bitcast(builder.gep(row, [first]), _kind(width).as_pointer())


def _read(builder: Any, rows: list[list[Any]], factors: Any, first: Any, width: int) -> list[Any]:
    """The arguments of the arithmetic: the factors, and the numbers of each object."""
    spread = tuple(_spread(builder, factor, width) for factor in cgutils.unpack_tuple(builder, factors))
    numbers = [
        tuple(Lanes(builder, builder.load(_place(builder, row, first, width), align=8)) for row in starts)
        for starts in rows
    ]
    return [spread, *(parts if len(parts) > 1 else parts[0] for parts in numbers)]


def _spread(builder: Any, number: Any, width: int) -> Lanes:
    """One number in all lanes."""
    if width == 1:
        return Lanes(builder, number)
    nothing = ir.Constant(_kind(width), ir.Undefined)
    first = builder.insert_element(nothing, number, _LANE(0))
    return Lanes(builder, builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_LANE, width), [0] * width)))


def _total(builder: Any, lanes: Sequence[Any]) -> Any:
    """The sum of all lanes of registers of four, two and one."""
    four, two, one = lanes
    nothing = ir.Constant(four.type, ir.Undefined)

    def half(*places: int) -> Lanes:
        return Lanes(builder, builder.shuffle_vector(four, nothing, ir.Constant(ir.VectorType(_LANE, 2), places)))

    pair = half(0, 1) + half(2, 3) + Lanes(builder, two)
    left, right = (Lanes(builder, builder.extract_element(pair.value, _LANE(place))) for place in (0, 1))
    return (left + right + Lanes(builder, one)).value
