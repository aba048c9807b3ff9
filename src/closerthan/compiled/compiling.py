"""How losses and kernels are compiled, and how compiled code is kept on disk. Only this file knows numba's internals.

A kernel is written once for all losses. It receives the loss as an argument whose *type* names the loss
class and a fingerprint of its code, so that numba resolves ``value`` and ``slopes`` when it compiles, and
finds the result on disk again in the next process: for the package's losses and for a user's alike.

The built-in losses share the kernels of the default solver: see :func:`family`.
"""

import collections
import contextlib
import dataclasses
import dis
import functools
import hashlib
import math
import operator
import re
import types as python_types
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import caching, cgutils, types
from numba.extending import (
    NativeValue,
    intrinsic,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from closerthan import losses
from closerthan.compiled import simd, vector_math
from closerthan.operating_system import has_pause

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("numba compiles nothing because NUMBA_DISABLE_JIT is set; closerthan needs it to: unset it")

COMPILE_ERRORS = (numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError)

FAST_SUMS = set(simd.FAST_SUMS)
_FAILED = "Failed in nopython mode pipeline"
_MODULE = r"Module\(<module '([\w.]+)'[^>]*>\)"


def _sources_digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


class _Cache(caching.FunctionCache):
    """numba's cache, keyed by all sources that are compiled together, and silent where it cannot write."""

    digest = _sources_digest()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), self.digest)

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # a full disk, a file cut short by a crash: the code is just not kept
            super().save_overload(sig, data)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # damaged, or of a user's loss whose module is not here any more
            with contextlib.suppress(Exception):
                self.flush()  # a damaged index is started again
            return None


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over comparisons: without the interpreter's lock, and kept on disk where that is possible."""
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=FAST_SUMS)(function)
    # numba raises RuntimeError where neither the package's folder nor the user's cache folder can be written.
    with contextlib.suppress(RuntimeError):
        compiled._cache = _Cache(function)  # type: ignore[attr-defined]
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that only kernels call."""
    return numba.njit(inline="always", error_model="numpy", fastmath=FAST_SUMS)(function)


# ---- losses as compile-time types ------------------------------------------------------------------------------------


class LossType(types.Type):
    """The numba type of a loss: equal in two processes exactly if the loss's code is equal."""

    def __init__(self, class_name: str, parameters: tuple[str, ...], fingerprint: str) -> None:
        self.parameters = parameters
        self.fingerprint = fingerprint
        super().__init__(name=f"{class_name}[{fingerprint}]({', '.join(parameters)})")


_LOSS_CLASSES: dict[str, type[losses.Loss]] = {}
_LOSS_TYPES: weakref.WeakKeyDictionary[type[losses.Loss], LossType] = weakref.WeakKeyDictionary()
_ARGUMENTS: dict[LossType, Any] = {}

_UNCHANGING = ("math", "cmath", "builtins", "numpy", "numba")  # modules whose contents follow from their name


def _digest(thing: Any, names: tuple[str, ...], seen: set[int]) -> bytes:
    """Everything about a thing that compiled code depends on, as bytes; ``names`` are those that the code uses."""
    if isinstance(thing, numba.core.dispatcher.Dispatcher):
        thing = thing.py_func
    if id(thing) in seen:
        return b"seen"
    if isinstance(thing, python_types.FunctionType):
        seen.add(id(thing))
        names = _names(thing.__code__)
        used = [(name, thing.__globals__[name]) for name in names if name in thing.__globals__]
        closure = [(str(place), cell.cell_contents) for place, cell in enumerate(thing.__closure__ or ())]
        parts = [("code", thing.__code__), ("defaults", thing.__defaults__), *closure, *used]
        return _joined(b"function", [(name, _digest(part, names, seen)) for name, part in parts])
    if isinstance(thing, python_types.CodeType):
        return _joined(thing.co_code, [(repr(thing.co_names), _digest(thing.co_consts, names, seen))])
    if isinstance(thing, tuple | list):
        return _joined(b"tuple", [(str(place), _digest(part, names, seen)) for place, part in enumerate(thing)])
    if isinstance(thing, np.ndarray):
        return _joined(thing.tobytes(), [(str(thing.dtype), repr(thing.shape).encode())])
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes | frozenset | np.generic):
        return f"{type(thing).__name__} {thing!r}".encode()
    if isinstance(thing, python_types.BuiltinFunctionType | np.ufunc):
        return f"{getattr(thing, '__module__', '')}.{thing.__name__}".encode()
    if isinstance(thing, python_types.ModuleType | type):
        home = thing.__name__ if isinstance(thing, python_types.ModuleType) else thing.__module__
        own = f"{home}.{thing.__name__}".encode()
        if home.partition(".")[0] in _UNCHANGING:
            return own
        seen.add(id(thing))
        read = [(name, getattr(thing, name)) for name in names if hasattr(thing, name)]
        return _joined(own, [(name, _digest(value, names, seen)) for name, value in read])
    # Something whose state cannot be seen: never take compiled code of another process for it.
    return uuid.uuid4().bytes


def _joined(head: bytes, parts: list[tuple[str, bytes]]) -> bytes:
    """Parts with their lengths, so that no two lists of parts read the same."""
    pieces = [head, *(piece for name, part in parts for piece in (name.encode(), part))]
    return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)


def _names(code: python_types.CodeType) -> tuple[str, ...]:
    inner = [_names(part) for part in code.co_consts if isinstance(part, python_types.CodeType)]
    return (*code.co_names, *(name for names in inner for name in names))


def loss_type_of(loss_class: type[losses.Loss]) -> LossType:
    """The numba type of a loss as its code is now: a global that it reads may have changed since the last fit."""
    if loss_class.__module__ == losses.__name__ and loss_class in _LOSS_TYPES:
        return _LOSS_TYPES[loss_class]  # ours read nothing that changes
    code = [(name, _digest(getattr(loss_class, name), (), set())) for name in ("value", "slopes")]
    fingerprint = hashlib.sha256(_joined(b"loss", code)).hexdigest()[:16]
    known = _LOSS_TYPES.get(loss_class)
    if known is None or known.fingerprint != fingerprint:
        parameters = tuple(field.name for field in dataclasses.fields(loss_class))  # type: ignore[arg-type]
        known = LossType(loss_class.__name__, parameters, fingerprint)
        for parameter in parameters:
            make_attribute_wrapper(LossType, parameter, parameter)
        _LOSS_CLASSES[fingerprint] = loss_class
        _ARGUMENTS[known] = _argument_class(known)
        _LOSS_TYPES[loss_class] = known  # last: another thread may look for it
    return known


def argument(loss: losses.Loss) -> Any:
    """What kernels take in place of a loss. Of the loss itself numba would ask for the type in Python, at each call."""
    loss_type = loss_type_of(type(loss))
    if any(name.startswith("_") for name in loss_type.parameters):
        return loss  # _fields, say, would hide what makes a tuple a named one
    return _ARGUMENTS[loss_type](*(_number(loss, name) for name in loss_type.parameters))


def _number(loss: losses.Loss, name: str) -> float:
    value = getattr(loss, name)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{type(loss).__name__}: {name} is {value!r}; a loss's parameters must be numbers") from None


def reason(error: Exception) -> str:
    """What numba means, of all that it says: the innermost failure, and where in the user's code it is."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    failures = [place for place, line in enumerate(lines[:-1]) if _FAILED in line]
    first = failures[-1] + 1 if failures else len(lines) - 1
    what = " ".join(lines[first : first + 2]) if lines[first].endswith(":") else lines[first]
    where = next((line for line in lines[first + 1 :] if line.startswith('File "')), "")
    own = bool(where) and not Path(where.split('"')[1]).resolve().is_relative_to(Path(__file__).parents[1])
    return re.sub(_MODULE, _module_name, what) + (f" ({where.removeprefix('File ').rstrip(':')})" if own else "")


def _module_name(module: "re.Match[str]") -> str:
    return "math" if module[1] == vector_math.__name__ else module[1]


def _argument_class(loss_type: LossType) -> Any:
    """A class of named tuples: of those numba knows the type once it has seen one of the same name."""
    unique = "Loss_" + hashlib.sha256(loss_type.name.encode()).hexdigest()
    places = [f"p{place}" for place in range(len(loss_type.parameters))]
    made: Any = collections.namedtuple(unique, places)  # type: ignore[misc]
    for place, parameter in enumerate(loss_type.parameters):
        setattr(made, parameter, property(operator.itemgetter(place)))
    typeof_impl.register(made, lambda loss, context: loss_type)
    return made


@typeof_impl.register(losses.Loss)
def _typeof_loss(loss: losses.Loss, context: Any) -> LossType:
    return _LOSS_TYPES.get(type(loss)) or loss_type_of(type(loss))


@register_model(LossType)
class _LossModel(models.StructModel):
    def __init__(self, manager: Any, loss_type: LossType) -> None:
        super().__init__(manager, loss_type, [(name, types.float64) for name in loss_type.parameters])


@unbox(LossType)
def _unbox_loss(loss_type: LossType, loss: Any, context: Any) -> NativeValue:
    native = cgutils.create_struct_proxy(loss_type)(context.context, context.builder)
    for parameter in loss_type.parameters:
        attribute = context.pyapi.object_getattr_string(loss, parameter)
        number = context.pyapi.number_float(attribute)
        setattr(native, parameter, context.pyapi.float_as_double(number))
        context.pyapi.decref(number)
        context.pyapi.decref(attribute)
    failed = cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    return NativeValue(native._getvalue(), is_error=failed)


def value(loss: losses.Loss, near: float, far: float) -> float:
    """``loss.value(near, far)`` inside a kernel."""
    raise NotImplementedError("only for compiled code")


def slopes(loss: losses.Loss, near: float, far: float) -> tuple[float, float]:
    """``loss.slopes(near, far)`` inside a kernel."""
    raise NotImplementedError("only for compiled code")


# Left to itself the compiler inlines a loss where a kernel calls it once or twice, and calls it where more often.
KERNEL_OPTIONS: Any = {"fastmath": FAST_SUMS, "error_model": "numpy"}
LOSS_OPTIONS: Any = {**KERNEL_OPTIONS, "forceinline": True}


@overload(value, strict=False, jit_options=LOSS_OPTIONS)
def _value(loss: Any, near: Any, far: Any) -> Any:
    return _for_kernels(_LOSS_CLASSES[loss.fingerprint].value) if isinstance(loss, LossType) else None


@overload(slopes, strict=False, jit_options=LOSS_OPTIONS)
def _slopes(loss: Any, near: Any, far: Any) -> Any:
    return _for_kernels(_LOSS_CLASSES[loss.fingerprint].slopes) if isinstance(loss, LossType) else None


# ---- losses of many comparisons --------------------------------------------------------------------------------------


def family(loss: losses.Loss, own: Any) -> Any:
    """What kernels take that use :func:`values_of` and :func:`values_and_slopes`: ``(which one, all built-in losses)``.

    One kernel, compiled once, then serves all built-in losses. A user's loss gets a kernel of its own: for it this is
    ``own``, its :func:`argument`.
    """
    members = _built_in()
    if type(loss) not in members:
        return own
    which = list(members).index(type(loss))
    return (which, *(own if kind is type(loss) else member for kind, member in members.items()))


def is_built_in(loss: losses.Loss) -> bool:
    """Whether a loss is one of ours, and so known to compile."""
    return type(loss) in _built_in() or type(loss) in losses.LOSSES.values()


@functools.cache
def _built_in() -> dict[type[losses.Loss], Any]:
    members = [made().in_dims(2).in_kernels() for made in losses.LOSSES.values()]
    return {type(member): argument(member) for member in members}


def values_of(loss, nears, fars, squared_scale, size, values):
    """Inside a kernel: the losses of ``size`` comparisons, whose squared distances are scaled."""
    raise NotImplementedError("only for compiled code")


def values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes):
    """Inside a kernel: the losses and slopes of ``size`` comparisons."""
    raise NotImplementedError("only for compiled code")


@overload(values_of, strict=False, jit_options=KERNEL_OPTIONS)
def _values_of(loss, nears, fars, squared_scale, size, values):
    line = "values[m] = value({loss}, squared_scale * nears[m], squared_scale * fars[m])"
    return _looped(loss, "nears, fars, squared_scale, size, values", line)


@overload(values_and_slopes, strict=False, jit_options=KERNEL_OPTIONS)
def _values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes):
    line = (
        "values[m] = value({loss}, nears[m], fars[m]); "
        "near_slopes[m], far_slopes[m] = slopes({loss}, nears[m], fars[m])"
    )
    return _looped(loss, "nears, fars, size, values, near_slopes, far_slopes", line)


def _looped(loss: Any, arguments: str, line: str) -> Any:
    """A function with one loop per loss of a family. It is chosen outside the loop, which so becomes vector code.

    The source is put together here because numba cannot loop over losses of different types, and nested calls would
    compile everything again at each level.
    """
    if isinstance(loss, LossType):
        lines = ["    for m in range(size):", f"        {line.format(loss='loss')}"]
    else:
        lines = []
        for number in range(len(loss) - 1):
            one = line.format(loss=f"loss[{number + 1}]")
            lines += [f"    if loss[0] == {number}:", "        for m in range(size):", f"            {one}"]
    made: dict[str, Any] = {"value": value, "slopes": slopes}
    exec("\n".join([f"def looped(loss, {arguments}):", *lines]), made)
    return made["looped"]


def _for_kernels(function: Any) -> Any:
    """The same code with exp and log that kernels can work out for several comparisons at once.

    Plain functions of the same module that it calls are compiled as well, and so on.
    """
    return _translated(function, {}) if isinstance(function, python_types.FunctionType) else function


def _translated(function: python_types.FunctionType, known: dict[Any, Any]) -> python_types.FunctionType:
    names = dict(function.__globals__)
    if names.get("math") is math:
        names["math"] = vector_math
    for name in _globals_read(function.__code__):
        helper = function.__globals__.get(name)
        if isinstance(helper, python_types.FunctionType) and helper.__module__ == function.__module__:
            if helper not in known:
                known[helper] = helper  # until it is compiled: functions may call each other
                known[helper] = numba.njit(**LOSS_OPTIONS)(_translated(helper, known))
            names[name] = known[helper]
    return python_types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def _globals_read(code: python_types.CodeType) -> set[str]:
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = [_globals_read(part) for part in code.co_consts if isinstance(part, python_types.CodeType)]
    return own.union(*inner)


@intrinsic
def fence(typing_context: Any, number: Any) -> Any:
    """``number``, worked out before it is used.

    Sums may be reordered in kernels. The compiler then also rewrites ``(a / b) * c`` as ``(a * c) / b``; if ``c``
    changes in a loop that means a division in each turn, and losses with quotients in their slopes take half as long
    again.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        function_type = ir.FunctionType(double, [double])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.arithmetic.fence.f64")
        return builder.call(function, arguments)

    return types.float64(types.float64), generate


# ---- memory ----------------------------------------------------------------------------------------------------------


@intrinsic
def prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    """Ask for bytes of ``array[row]`` ahead of their use: the first 128 of a map, 256 of a state."""
    lines = 2 ** (array.ndim - 1)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        described = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = builder.zext(arguments[1], ir.IntType(64)) if arguments[1].type.width < 64 else arguments[1]
        offset = builder.mul(builder.extract_value(described.strides, 0), index)
        byte_pointer = ir.IntType(8).as_pointer()
        start = builder.bitcast(cgutils.pointer_add(builder, described.data, offset), byte_pointer)
        int32 = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        for line in range(lines):
            address = builder.gep(start, [ir.Constant(ir.IntType(64), 64 * line)])
            builder.call(function, [address, int32(0), int32(3), int32(1)])
        if lines == 4:  # it begins anywhere in a line, and half of the time ends in a fifth
            last = builder.sub(builder.extract_value(described.strides, 0), ir.Constant(ir.IntType(64), 1))
            builder.call(function, [builder.gep(start, [last]), int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate


@intrinsic
def atomic_load(typing_context: Any, board: Any) -> Any:
    """``board[0]`` as other threads have left it, after a pause for those that share the core."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if has_pause():
            function_type = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, "llvm.x86.sse2.pause"), [])
        described = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(described.data, "acquire", 8)

    return types.int64(board), generate
