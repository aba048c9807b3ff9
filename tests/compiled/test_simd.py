"""Vector arithmetic along rows, compared with NumPy, for all combinations of vectors of four, two and one."""

import numpy as np
import pytest
from numba.core.errors import TypingError

from closerthan.compiled.compiling import kernel
from closerthan.compiled.simd import added, padded, padded_length, summed


@summed(2)
def weighted(factors, i, j, l, k):  # noqa: E741
    (factor,) = factors
    return factor * (i - j) * l, -k


@summed(1)
def across(factors, i, j, l, k):  # noqa: E741
    return (i[0] * j[1] + l[0] * k[1],)


@added
def shifted(factors, i, j, l, k):  # noqa: E741
    one, other = factors
    return one * j, other * k, i, -l


@kernel
def run_weighted(x, objects, factor):
    return weighted(x, objects, (factor,))


@kernel
def run_across(maps, objects):
    return across(maps, objects, ())[0]


@kernel
def run_shifted(maps, objects, out, places, one, other):
    shifted(maps, objects, out, places, (one, other))


DIMS = [*range(1, 10), 16, 23]
OBJECTS = (np.uint32(3), np.uint32(0), np.uint32(4), np.uint32(1))


@pytest.mark.parametrize("n_dims", DIMS)
def test_sums_over_the_dimensions(n_dims, rng):
    x = rng.standard_normal((5, n_dims))
    i, j, l, k = x[list(OBJECTS)]  # noqa: E741
    assert run_weighted(x, OBJECTS, 1.5) == pytest.approx((np.sum(1.5 * (i - j) * l), -k.sum()))


@pytest.mark.parametrize("n_dims", DIMS)
def test_several_maps_and_parts_of_one_array_are_read_the_same_way(n_dims, rng):
    maps = rng.standard_normal((5, 3, n_dims))
    i, j, l, k = maps[list(OBJECTS)]  # noqa: E741
    expected = np.sum(i[0] * j[1] + l[0] * k[1])
    assert run_across(maps, OBJECTS) == pytest.approx(expected)
    assert run_across((maps[:, 0].copy(), maps[:, 1].copy()), OBJECTS) == pytest.approx(expected)


@pytest.mark.parametrize("n_dims", DIMS)
@pytest.mark.parametrize("places", [(3, 0, 4, 1), (8, 5, 2, 6)], ids=["same rows", "other rows"])
def test_only_the_rows_of_the_places_are_changed(n_dims, places, rng):
    x, out = rng.standard_normal((6, n_dims)), rng.standard_normal((9, n_dims))
    i, j, l, k = x[list(OBJECTS)]  # noqa: E741
    expected = out.copy()
    for number, change in zip(np.array(places)[[0, 2, 1, 3]], (0.5 * j, 2.0 * k, i, -l), strict=True):
        expected[number] += change
    run_shifted(x, OBJECTS, out, tuple(np.uint32(place) for place in places), 0.5, 2.0)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


@pytest.mark.parametrize("n_dims", DIMS)
@pytest.mark.parametrize("objects", [(2, 1, 2, 0), (2, 1, 0, 1), (2, 1, 1, 2)])
def test_all_rows_are_read_before_any_is_written_and_a_row_may_be_changed_twice(n_dims, objects, rng):
    x = rng.standard_normal((4, n_dims))
    i, j, l, k = x[list(objects)]  # noqa: E741
    expected = x.copy()
    for number, change in zip(np.array(objects)[[0, 2, 1, 3]], (0.5 * j, 2.0 * k, i, -l), strict=True):
        expected[number] += change
    numbers = tuple(np.uint32(number) for number in objects)
    run_shifted(x, numbers, x, numbers, 0.5, 2.0)
    np.testing.assert_allclose(x, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("n_dims", DIMS)
def test_padded_rows_in_single_precision_can_be_read_and_changed(n_dims, rng):
    x = rng.standard_normal((5, n_dims))
    single = padded(x)
    i, j, l, k = x[list(OBJECTS)]  # noqa: E741
    expected = (np.sum(1.5 * (i - j) * l), -k.sum())
    assert run_weighted(single, OBJECTS, 1.5) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    for number, change in zip((3, 4, 0, 1), (0.5 * j, 2.0 * k, i, -l), strict=True):
        x[number] += change
    run_shifted(padded(single), OBJECTS, single, OBJECTS, 0.5, 2.0)
    np.testing.assert_allclose(single[:, :n_dims], x, rtol=1e-5, atol=1e-6)
    assert not single[:, n_dims:].any()


@pytest.mark.parametrize("n_dims", DIMS)
def test_a_padded_copy_is_aligned_to_cache_lines(n_dims, rng):
    x = rng.standard_normal((7, n_dims))
    copy = padded(x)
    assert copy.shape == (7, padded_length(n_dims))
    assert copy.flags.c_contiguous
    assert copy.flags.writeable
    assert copy.ctypes.data % 64 == 0
    np.testing.assert_array_equal(copy[:, :n_dims], x.astype(np.float32))
    np.testing.assert_array_equal(padded(copy), copy)
    assert not np.shares_memory(padded(copy), copy)


def test_maps_with_another_layout_or_type_and_read_only_outputs_are_refused():
    for other in (np.asfortranarray(np.ones((5, 3))), np.ones((5, 3), np.int64), np.ones((5, 3), np.float16)):
        with pytest.raises(TypingError, match="C-contiguous maps"):
            run_weighted(other, OBJECTS, 1.0)
    x = np.ones((5, 3))
    readonly = x.copy()
    readonly.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        run_shifted(x, OBJECTS, readonly, OBJECTS, 1.0, 1.0)
