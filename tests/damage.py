"""Files with manipulated content and valid checksums, as somebody might write them on purpose."""

import json

import numpy as np

ELSE = (None, -1, 10**30, 2.5, float("nan"), "text", [], {}, [[]], True)


def contents(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def with_arrays(path, arrays):
    """Write an archive with these arrays."""
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def other_arrays(array):
    """Unsuitable arrays to store under the name of a valid one."""
    yield np.zeros((0, *array.shape))
    yield array.astype(np.complex128) if array.dtype.kind in "fi" else np.array(1.0)
    yield np.array("text" if array.ndim else ["text"])
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)
        yield array.astype(">f4")
    if array.ndim == 2:
        yield array[:-1]
        yield array[:, :-1]
        yield np.vstack([array, array])
        yield array[:1, :1]
        yield array.ravel()
        yield np.array(1.0)
    if array.dtype.kind == "i":
        yield np.array(-1)
        yield np.array(2**62)


def other_texts(text):
    """JSON texts in each of which one value is replaced by an unsuitable one."""
    yield from ("", "{", "[" * 100_000, "null", "[]")
    whole = json.loads(text)
    for place in _places(whole):
        for value in ELSE:
            copy = json.loads(text)
            inner = copy
            for step in place[:-1]:
                inner = inner[step]
            inner[place[-1]] = value
            yield json.dumps(copy)
        copy = json.loads(text)
        inner = copy
        for step in place[:-1]:
            inner = inner[step]
        del inner[place[-1]]
        yield json.dumps(copy)


def _places(value, place=()):
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*place, step)
        yield from _places(inner, (*place, step))
