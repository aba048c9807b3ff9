"""Compilation of losses and kernels, and the cache of compiled code. Only this module uses numba's internals.

A kernel is written once for all losses. It receives the loss as an argument whose *type* consists of the name of the
loss class and a fingerprint of its code. numba therefore resolves ``value`` and ``slopes`` at compile time, and the
next process finds the compiled code on disk, for built-in and user-defined losses alike.

The built-in losses share the kernels of the default solver: see :func:`shared_argument`.
"""

import collections
import contextlib
import dataclasses
import dis
import functools
import hashlib
import math
import re
import types as python_types
import uuid
import weakref
from collections.abc import Callable, Sequence
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
from closerthan.compiled import vector_math
from closerthan.operating_system import has_pause

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("NUMBA_DISABLE_JIT is set, but closerthan needs numba's compiler; unset the variable")

COMPILE_ERRORS = (numba.core.errors.NumbaError, numba.core.errors.UnsupportedBytecodeError)

LOSS_OPTIONS = vector_math.OPTIONS
# Without forceinline, the compiler inlines a loss only in kernels that call it once or twice.
KERNEL_OPTIONS: Any = {**LOSS_OPTIONS, "forceinline": False}
_FAILED = "Failed in nopython mode pipeline"
_MODULE = r"Module\(<module '([\w.]+)'[^>]*>\)"


def _sources_digest() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


class _Cache(caching.FunctionCache):
    """numba's cache, keyed by all sources of this package; failures to read or write it are ignored."""

    digest = _sources_digest()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), self.digest)

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(Exception):  # for instance a full disk: the code is then not cached
            super().save_overload(sig, data)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file, or a user's loss whose module no longer exists
            with contextlib.suppress(Exception):
                self.flush()  # replace a damaged index by an empty one
            return None


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over comparisons that releases the interpreter lock, and cache the code on disk if possible."""
    compiled: Any = numba.njit(**KERNEL_OPTIONS | {"nogil": True, "no_cpython_wrapper": False})(function)
    # numba raises RuntimeError if neither the package's folder nor the user's cache folder is writable.
    with contextlib.suppress(RuntimeError):
        compiled._cache = _Cache(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small function that is called only by kernels."""
    return numba.njit(inline="always", **KERNEL_OPTIONS)(function)


# ---- losses as compile-time types ------------------------------------------------------------------------------------


PENALTY_WEIGHT = "penalty_weight__"  # unlikely to be the name of a parameter


class LossType(types.Type):
    """The numba type of a loss. Two processes have the same type if and only if the loss has the same code.

    Besides the parameters of the loss, its values hold the weight of the penalty on the squared distances.
    """

    def __init__(self, class_name: str, parameters: tuple[str, ...], fingerprint: str) -> None:
        self.parameters = parameters
        self.members = (*parameters, PENALTY_WEIGHT)
        self.fingerprint = fingerprint
        self.helpers: dict[Any, Any] = {}  # compiled versions of the functions that its methods call
        super().__init__(name=f"{class_name}[{fingerprint}]({', '.join(parameters)})")


_LOSS_CLASSES: dict[str, type[losses.Loss]] = {}
_LOSS_TYPES: weakref.WeakKeyDictionary[type[losses.Loss], LossType] = weakref.WeakKeyDictionary()
_ARGUMENTS: dict[LossType, Any] = {}

_UNCHANGING = ("math", "cmath", "builtins", "numpy", "numba")  # modules that the name alone identifies


def _digest(thing: Any, names: tuple[str, ...], visited: set[int]) -> bytes:
    """Encode everything about an object that compiled code depends on; ``names`` are the names that the code uses."""
    if isinstance(thing, numba.core.dispatcher.Dispatcher):
        thing = thing.py_func
    if id(thing) in visited:
        return b"seen"
    if isinstance(thing, python_types.FunctionType):
        visited.add(id(thing))
        names = _names(thing.__code__)
        used = [(name, thing.__globals__[name]) for name in names if name in thing.__globals__]
        closure = [(str(place), cell.cell_contents) for place, cell in enumerate(thing.__closure__ or ())]
        parts = [("code", thing.__code__), ("defaults", thing.__defaults__), *closure, *used]
        return _joined(b"function", [(name, _digest(part, names, visited)) for name, part in parts])
    if isinstance(thing, python_types.CodeType):
        return _joined(thing.co_code, [(repr(thing.co_names), _digest(thing.co_consts, names, visited))])
    if isinstance(thing, tuple | list):
        return _joined(b"tuple", [(str(place), _digest(part, names, visited)) for place, part in enumerate(thing)])
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
        visited.add(id(thing))
        attributes = [(name, getattr(thing, name)) for name in names if hasattr(thing, name)]
        return _joined(own, [(name, _digest(value, names, visited)) for name, value in attributes])
    # The state of other objects cannot be inspected, so code that depends on them is never taken from the cache.
    return uuid.uuid4().bytes


def _joined(head: bytes, parts: list[tuple[str, bytes]]) -> bytes:
    """Concatenate parts, each preceded by its length, so that different lists give different results."""
    pieces = [head, *(piece for name, part in parts for piece in (name.encode(), part))]
    return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)


def _names(code: python_types.CodeType) -> tuple[str, ...]:
    """Return all names that a code object and its nested functions use."""
    inner = [_names(part) for part in code.co_consts if isinstance(part, python_types.CodeType)]
    return (*code.co_names, *(name for names in inner for name in names))


def loss_type_of(loss_class: type[losses.Loss]) -> LossType:
    """Return the numba type for the code of a loss as it is now: globals that it reads may have changed."""
    if loss_class.__module__ == losses.__name__ and loss_class in _LOSS_TYPES:
        return _LOSS_TYPES[loss_class]  # the built-in losses read no variables
    methods = ("value", "slopes", "log_similarity", "similarity_slope")
    code = [(name, _digest(getattr(loss_class, name), (), set())) for name in methods]
    fingerprint = hashlib.sha256(_joined(b"loss", code)).hexdigest()[:16]
    loss_type = _LOSS_TYPES.get(loss_class)
    if loss_type is None or loss_type.fingerprint != fingerprint:
        parameters = tuple(field.name for field in dataclasses.fields(loss_class))  # type: ignore[arg-type]
        loss_type = LossType(loss_class.__name__, parameters, fingerprint)
        for parameter in parameters:
            make_attribute_wrapper(LossType, parameter, parameter)
        _LOSS_CLASSES[fingerprint] = loss_class
        _ARGUMENTS[loss_type] = _argument_class(loss_type)
        _LOSS_TYPES[loss_class] = loss_type  # last, because other threads look it up here
    return loss_type


def argument(loss: losses.Loss) -> Any:
    """Return the argument to pass to kernels for a loss: a named tuple of its parameters and of its penalty's weight.

    For the loss itself, numba would determine the type by running Python code at each call.
    """
    weight, loss = losses.penalty_weight(loss), losses.without_penalty(loss)
    loss_type = loss_type_of(type(loss))
    return _ARGUMENTS[loss_type](*(_number(loss, name) for name in loss_type.parameters), weight)


def _number(loss: losses.Loss, name: str) -> float:
    value = getattr(loss, name)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{type(loss).__name__}: {name} is {value!r}; a loss's parameters must be numbers") from None


def reason(error: Exception) -> str:
    """Extract the innermost failure from an error of numba, and its location if it is in the user's code."""
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
    """Create a named-tuple class for the parameters; numba remembers the type of named tuples by the class name."""
    unique = "Loss_" + hashlib.sha256(loss_type.name.encode()).hexdigest()
    # Its fields are numbered, since a parameter may have any name, such as _fields.
    places = [f"p{place}" for place in range(len(loss_type.members))]
    argument_class: Any = collections.namedtuple(unique, places)  # type: ignore[misc]
    typeof_impl.register(argument_class, lambda loss, context: loss_type)
    return argument_class


@register_model(LossType)
class _LossModel(models.StructModel):
    def __init__(self, manager: Any, loss_type: LossType) -> None:
        super().__init__(manager, loss_type, [(name, types.float64) for name in loss_type.members])


make_attribute_wrapper(LossType, PENALTY_WEIGHT, PENALTY_WEIGHT)


@unbox(LossType)
def _unbox_loss(loss_type: LossType, loss: Any, context: Any) -> NativeValue:
    native = cgutils.create_struct_proxy(loss_type)(context.context, context.builder)
    for place, member in enumerate(loss_type.members):
        attribute = context.pyapi.object_getattr_string(loss, f"p{place}")
        number = context.pyapi.number_float(attribute)
        setattr(native, member, context.pyapi.float_as_double(number))
        context.pyapi.decref(number)
        context.pyapi.decref(attribute)
    failed = cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    return NativeValue(native._getvalue(), is_error=failed)


def _method(name: str) -> Any:
    """Define a function for kernels, ``function(loss, ...)``, that evaluates a method of the class of a loss."""

    def stub(loss: losses.Loss, *_: float) -> Any:
        raise NotImplementedError("only for compiled code")

    @overload(stub, strict=False, jit_options=LOSS_OPTIONS)
    def implementation(loss: Any, *_: Any) -> Any:
        if not isinstance(loss, LossType):
            return None
        return _for_kernels(getattr(_LOSS_CLASSES[loss.fingerprint], name), loss.helpers)

    return stub


log_similarity = _method("log_similarity")
similarity_slope = _method("similarity_slope")
own_value = _method("value")
own_slopes = _method("slopes")


def value(loss: losses.Loss, near: float, far: float) -> float:
    """Evaluate the loss and its penalty inside a kernel."""
    raise NotImplementedError("only for compiled code")


def slopes(loss: losses.Loss, near: float, far: float) -> tuple[float, float]:
    """Evaluate the slopes of the loss and its penalty inside a kernel."""
    raise NotImplementedError("only for compiled code")


@overload(value, strict=False, jit_options=LOSS_OPTIONS)
def _value(loss: Any, near: Any, far: Any) -> Any:
    return lambda loss, near, far: own_value(loss, near, far) + loss.penalty_weight__ * (near + far)


@overload(slopes, strict=False, jit_options=LOSS_OPTIONS)
def _slopes(loss: Any, near: Any, far: Any) -> Any:
    def penalized(loss: Any, near: Any, far: Any) -> Any:
        slope_near, slope_far = own_slopes(loss, near, far)
        return slope_near + loss.penalty_weight__, slope_far + loss.penalty_weight__

    return penalized


# ---- losses of many comparisons --------------------------------------------------------------------------------------


def shared_argument(loss: losses.Loss, own: Any) -> Any:
    """Return the argument for kernels that use :func:`values_of` and :func:`values_and_slopes`.

    For a built-in loss this is the tuple ``(index of the loss, all built-in losses)``, so that a kernel is compiled
    once for all of them. A user-defined loss gets kernels of its own, and the argument is ``own``, its
    :func:`argument`.
    """
    members, loss_class = _built_in(), type(losses.without_penalty(loss))
    if loss_class not in members:
        return own
    which = list(members).index(loss_class)
    return (which, *(own if kind is loss_class else member for kind, member in members.items()))


def is_built_in(loss: losses.Loss) -> bool:
    """Return true if a loss is built in, and therefore known to compile."""
    loss_class = type(losses.without_penalty(loss))
    return loss_class in _built_in() or loss_class in losses.LOSSES.values()


@functools.cache
def _built_in() -> dict[type[losses.Loss], Any]:
    members = [loss_class().in_dims(2).in_kernels() for loss_class in losses.LOSSES.values()]
    return {type(member): argument(member) for member in members}


def values_of(loss, nears, fars, squared_scale, size, values):
    """Compute, inside a kernel, the losses of ``size`` comparisons after scaling their squared distances."""
    raise NotImplementedError("only for compiled code")


def values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes):
    """Compute, inside a kernel, the losses and slopes of ``size`` comparisons."""
    raise NotImplementedError("only for compiled code")


@overload(values_of, strict=False, jit_options=KERNEL_OPTIONS)
def _values_of(loss, nears, fars, squared_scale, size, values):
    lines = (
        "near, far = squared_scale * nears[m], squared_scale * fars[m]",
        "values[m] = own_value({loss}, near, far) + {loss}.penalty_weight__ * (near + far)",
    )
    return _looped(loss, "nears, fars, squared_scale, size, values", lines)


@overload(values_and_slopes, strict=False, jit_options=KERNEL_OPTIONS)
def _values_and_slopes(loss, nears, fars, size, values, near_slopes, far_slopes):
    lines = (
        "near, far, weight = nears[m], fars[m], {loss}.penalty_weight__",
        "slope_near, slope_far = own_slopes({loss}, near, far)",
        "values[m] = own_value({loss}, near, far) + weight * (near + far)",
        "near_slopes[m], far_slopes[m] = slope_near + weight, slope_far + weight",
    )
    return _looped(loss, "nears, fars, size, values, near_slopes, far_slopes", lines)


def _looped(loss: Any, arguments: str, body: Sequence[str]) -> Any:
    """Create a function with one loop per built-in loss; choosing the loss outside the loop lets it be vectorised.

    The source is generated because numba cannot loop over losses of different types, and nested calls would compile
    everything again at each level. For the same reason, the penalty is part of the loop.
    """
    if isinstance(loss, LossType):
        lines = ["    for m in range(size):", *(f"        {line.format(loss='loss')}" for line in body)]
    else:
        lines = []
        for number in range(len(loss) - 1):
            loop = (f"            {line.format(loss=f'loss[{number + 1}]')}" for line in body)
            lines += [f"    if loss[0] == {number}:", "        for m in range(size):", *loop]
    namespace: dict[str, Any] = {"own_value": own_value, "own_slopes": own_slopes}
    exec("\n".join([f"def looped(loss, {arguments}):", *lines]), namespace)
    return namespace["looped"]


def _for_kernels(function: Any, compiled: dict[Any, Any]) -> Any:
    """Return a copy of a function that uses versions of exp and log that can be vectorised.

    Plain functions of the same module that it calls are compiled too, recursively, and collected in ``compiled``.
    """
    return _translated(function, compiled) if isinstance(function, python_types.FunctionType) else function


def _translated(function: python_types.FunctionType, compiled: dict[Any, Any]) -> python_types.FunctionType:
    """Return the function with ``math`` replaced and its helpers compiled; ``compiled`` collects the helpers."""
    names = dict(function.__globals__)
    if names.get("math") is math:
        names["math"] = vector_math
    for name in _globals_read(function.__code__):
        helper = function.__globals__.get(name)
        if isinstance(helper, python_types.FunctionType) and helper.__module__ == function.__module__:
            if helper not in compiled:
                compiled[helper] = helper  # ends the recursion if functions call each other
                compiled[helper] = numba.njit(**LOSS_OPTIONS)(_translated(helper, compiled))
            names[name] = compiled[helper]
    return python_types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def _globals_read(code: python_types.CodeType) -> set[str]:
    """Return the names of the global variables that a code object and its nested functions read."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = [_globals_read(part) for part in code.co_consts if isinstance(part, python_types.CodeType)]
    return own.union(*inner)


@intrinsic
def fence(typing_context: Any, number: Any) -> Any:
    """Return ``number``, and keep the compiler from merging its computation into later expressions.

    Kernels are compiled with permission to reorder sums, which also lets the compiler rewrite ``(a / b) * c`` as
    ``(a * c) / b``. If ``c`` changes in a loop, that costs a division per iteration, and losses with quotients in their
    slopes take 50 % longer.
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
    """Prefetch ``array[row]``: its first 128 bytes in a map, or its first 256 bytes in the state of SVRG.

    Rows of maps in single precision are about to be moved, perhaps by several threads. They are prefetched for writing,
    so that a line is not first shared with the core that moved it last, and without the beginning of the next row.
    """
    is_single = array.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = builder.zext(arguments[1], ir.IntType(64)) if arguments[1].type.width < 64 else arguments[1]
        stride = builder.extract_value(struct.strides, 0)
        byte_pointer = ir.IntType(8).as_pointer()
        row_start = cgutils.pointer_add(builder, struct.data, builder.mul(stride, index))
        start = builder.bitcast(row_start, byte_pointer)
        int32, int64 = ir.IntType(32), ir.IntType(64)
        function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")

        def prefetch_at(offset: Any) -> None:
            builder.call(function, [builder.gep(start, [offset]), int32(int(is_single)), int32(3), int32(1)])

        prefetch_at(int64(0))
        if is_single:
            with builder.if_then(builder.icmp_signed(">", stride, int64(64))):
                prefetch_at(int64(64))
            return context.get_dummy_value()
        for line in range(1, 2 ** (array.ndim - 1)):
            prefetch_at(int64(64 * line))
        if array.ndim == 3:  # rows are not aligned to cache lines, and half of them extend into a fifth line
            prefetch_at(builder.sub(stride, int64(1)))
        return context.get_dummy_value()

    return types.void(array, row), generate


@intrinsic
def atomic_load(typing_context: Any, array: Any) -> Any:
    """Read ``array[0]`` atomically, after a pause instruction that favours other threads on the same core."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if has_pause():
            function_type = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, function_type, "llvm.x86.sse2.pause"), [])
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.load_atomic(struct.data, "acquire", 8)

    return types.int64(array), generate
