"""NumPy's generator PCG64 inside kernels: the same numbers as ``np.random.PCG64(seed)``, without Python's lock.

The state of a generator and its increment are 128-bit numbers, each a tuple of its high and low halves. Their
arithmetic is written as LLVM instructions, since numba has no such numbers.

References
----------
M. E. O'Neill: PCG: a family of simple fast space-efficient statistically good algorithms for random number generation.
Technical report HMC-CS-2014-0905, Harvey Mudd College, 2014.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from closerthan.compiled.compiling import inlined

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # the multiplier of PCG64
MULTIPLIER_HALVES = np.uint64(MULTIPLIER >> 64), np.uint64(MULTIPLIER % 2**64)
# NumPy's SeedSequence: initial values and multipliers of its two hashes, and the factors of its mixing.
ENTROPY_HASH = 0x43B0D7E5, 0x931E8875
STATE_HASH = 0x8B51F9DD, 0x58F38DED
MIXING = 0xCA01F9DD, 0x4973F715
POOL = 4  # words of entropy

_WORD, _HALF, _WIDE = ir.IntType(32), ir.IntType(64), ir.IntType(128)
_PAIR = types.UniTuple(types.uint64, 2)


@intrinsic
def generator(typing_context: Any, seed: Any) -> Any:
    """Return the state and the increment of ``np.random.PCG64(seed)``, for a seed below 2^64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def hashes(constant: int, factor: int) -> Callable[[Any], Any]:
            """Return a function that hashes one word after another; its constant changes each time."""

            def hashed(word: Any) -> Any:
                nonlocal constant
                word = builder.xor(word, _WORD(constant))
                constant = constant * factor % 2**32
                return folded(builder.mul(word, _WORD(constant)))

            return hashed

        def folded(word: Any) -> Any:
            return builder.xor(word, builder.lshr(word, _WORD(16)))

        def mixed(x: Any, y: Any) -> Any:
            of_x, of_y = MIXING
            return folded(builder.sub(builder.mul(_WORD(of_x), x), builder.mul(_WORD(of_y), y)))

        halves = builder.trunc(arguments[0], _WORD), builder.trunc(builder.lshr(arguments[0], _HALF(32)), _WORD)
        hashed = hashes(*ENTROPY_HASH)
        pool = [hashed(word) for word in (*halves, _WORD(0), _WORD(0))]
        for source in range(POOL):
            for target in range(POOL):
                if source != target:
                    pool[target] = mixed(pool[target], hashed(pool[source]))
        hashed = hashes(*STATE_HASH)
        words = [hashed(pool[place % POOL]) for place in range(2 * POOL)]
        quarters = [_joined(builder, high, low) for low, high in zip(words[::2], words[1::2], strict=True)]
        start, sequence = _joined(builder, *quarters[:2]), _joined(builder, *quarters[2:])
        increment = builder.or_(builder.shl(sequence, _WIDE(1)), _WIDE(1))
        state = builder.add(builder.mul(builder.add(start, increment), _WIDE(MULTIPLIER)), increment)
        pairs = [_pair(context, builder, number) for number in (state, increment)]
        return context.make_tuple(builder, signature.return_type, pairs)

    return types.UniTuple(_PAIR, 2)(types.uint64), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c`` modulo 2^128."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = (_joined(builder, *(builder.extract_value(pair, place) for place in range(2))) for pair in arguments)
        return _pair(context, builder, builder.add(builder.mul(x, y), z))

    return _PAIR(_PAIR, _PAIR, _PAIR), generate


@inlined
def next_state(state, increment):
    """Return the state that follows this one."""
    return multiply_add(state, MULTIPLIER_HALVES, increment)


@inlined
def advanced(state, increment, steps):
    """Return the state that is a number of steps ahead (a uint64)."""
    factor, addend = MULTIPLIER_HALVES, increment  # they advance the state by 1, 2, 4, ... steps
    while steps > np.uint64(0):
        if steps & np.uint64(1):
            state = multiply_add(state, factor, addend)
        addend = multiply_add(factor, addend, addend)
        factor = multiply_add(factor, factor, (np.uint64(0), np.uint64(0)))
        steps >>= np.uint64(1)
    return state


@inlined
def uniform(state):
    """Return the number in [0, 1) that belongs to a state."""
    high, low = state
    mixed, turn = high ^ low, high >> np.uint64(58)
    output = (mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63)))
    return (output >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def _joined(builder: Any, high: Any, low: Any) -> Any:
    """Return the number with these halves."""
    kind = ir.IntType(2 * high.type.width)
    return builder.or_(builder.shl(builder.zext(high, kind), kind(high.type.width)), builder.zext(low, kind))


def _pair(context: Any, builder: Any, number: Any) -> Any:
    halves = builder.lshr(number, _WIDE(64)), number
    return context.make_tuple(builder, _PAIR, [builder.trunc(half, _HALF) for half in halves])
