"""Object names and their numbers in Comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closerthan.comparisons import Comparisons

TRIPLETS = st.lists(
    st.lists(st.text(min_size=1, max_size=4), min_size=3, max_size=3, unique=True), min_size=1, max_size=20
)


@pytest.mark.parametrize("dtype", [None, object])
@given(triplets=TRIPLETS)
def test_names_are_sorted_and_numbers_refer_to_them(dtype, triplets):
    # NumPy's fixed-width text drops NUL characters at the end of a string.
    triplets = [[name.replace("\0", "0") + "." for name in row] for row in triplets]
    if any(len(set(row)) < 3 for row in triplets):
        return
    answers = Comparisons.from_triplets(np.array(triplets, dtype=dtype))
    assert list(answers.names) == sorted({name for row in triplets for name in row})
    assert [[answers.names[number] for number in row] for row in answers.rows.tolist()] == triplets


def test_the_order_of_the_argument_names_decides_the_numbers():
    answers = Comparisons.from_triplets([["c", "a", "b"]], names=["b", "c", "a"])
    assert answers.rows.tolist() == [[1, 2, 0]]
    assert answers.rows.dtype == np.int32


def test_an_unlisted_name_is_an_error_that_names_its_row():
    with pytest.raises(ValueError, match=r"row 1: 'd' is not among the names; add it to names or remove the row"):
        Comparisons.from_triplets([["a", "b", "c"], ["a", "d", "c"]], names=["a", "b", "c"])


@pytest.mark.parametrize("other", [7, None, float("nan")])
def test_a_number_among_names_is_an_error_that_names_its_row(other):
    cells = np.array([["a", "b", "c"], ["a", "b", other]], dtype=object)
    with pytest.raises(
        ValueError, match=r"row 1: .* is not a name, but other cells are; use only names or only numbers"
    ):
        Comparisons.from_triplets(cells)


def test_a_duplicate_name_is_an_error():
    with pytest.raises(ValueError, match="the name 'b' occurs twice; names must differ"):
        Comparisons.from_triplets([[0, 1, 2]], names=["a", "b", "b"])


def test_numbers_in_an_object_array_are_still_numbers():
    assert Comparisons.from_triplets(np.array([[0, 1, 2]], dtype=object)).names is None
