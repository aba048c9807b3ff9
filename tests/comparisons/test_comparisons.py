"""Creating comparisons: accepted input, refused input, and the error messages."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closerthan import Comparisons, embed
from closerthan.comparisons.parsing import whole_numbers

TRIPLETS = [[0, 1, 2], [2, 0, 1], [1, 0, 3]]


def refused(match, data=TRIPLETS, make=Comparisons.from_triplets, **options):
    with pytest.raises(ValueError, match=match):
        make(data, **options)


class TestGoodInput:
    @pytest.mark.parametrize(
        "data",
        [
            TRIPLETS,
            np.array(TRIPLETS),
            np.array(TRIPLETS, dtype=np.uint8),
            np.array(TRIPLETS, dtype=float),
            np.asfortranarray(TRIPLETS),
            np.array(TRIPLETS, dtype=object),
            pd.DataFrame(TRIPLETS, columns=["anchor", "near", "far"]),
        ],
        ids=lambda data: f"{type(data).__name__}-{getattr(data, 'dtype', '')}",
    )
    def test_arrays_lists_and_frames_mean_the_same(self, data):
        answers = Comparisons.from_triplets(data)
        assert answers.rows.tolist() == TRIPLETS
        assert answers.rows.dtype == np.int32
        assert answers.rows.flags.c_contiguous
        assert not answers.rows.flags.writeable
        assert answers.n_objects == 4

    def test_labels_reverse_rows(self):
        for y in ([1, -1, 1], [True, False, True], np.array([1.0, -1.0, 1.0])):
            assert Comparisons.from_triplets(TRIPLETS, y).rows.tolist() == [[0, 1, 2], [2, 1, 0], [1, 0, 3]]
        assert Comparisons.from_quadruplets([[0, 1, 2, 3]], [-1]).rows.tolist() == [[2, 3, 0, 1]]

    def test_later_changes_to_the_callers_array_change_nothing(self):
        rows = np.array(TRIPLETS, dtype=np.int32)
        answers = Comparisons.from_triplets(rows)
        rows[:] = 2_000_000_000
        assert answers.rows.tolist() == TRIPLETS

    def test_read_only_int32_rows_are_not_copied(self, tmp_path):
        np.save(tmp_path / "rows.npy", np.array(TRIPLETS, dtype=np.int32))
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        assert np.shares_memory(Comparisons.from_triplets(mapped).rows, mapped)

    def test_copies_and_pickles_stay_read_only(self):
        answers = Comparisons.from_triplets(TRIPLETS, weights=[1, 2, 3])
        for other in (copy.deepcopy(answers), pickle.loads(pickle.dumps(answers))):
            assert np.array_equal(other.rows, answers.rows)
            assert not other.rows.flags.writeable
            assert not other.weights.flags.writeable

    def test_names_in_cells_become_numbers(self):
        answers = Comparisons.from_triplets([["b", "a", "c"]])
        assert (answers.names, answers.rows.tolist()) == (("a", "b", "c"), [[1, 0, 2]])
        renumbered = Comparisons.from_triplets([["b", "a", "c"]], names=["c", "b", "a"])
        assert renumbered.rows.tolist() == [[1, 2, 0]]

    def test_ties_are_dropped_only_on_request_and_counted(self):
        refused("row 1: y is 0, a tie", y=[1, 0, 1])
        answers = Comparisons.from_triplets(TRIPLETS, [1, 0, -1], weights=[1, 2, 3], ties="drop")
        assert answers.rows.tolist() == [[0, 1, 2], [1, 3, 0]]
        assert answers.weights.tolist() == [1, 3]
        assert answers.dropped == {"ties": 1}

    def test_self_pairs_are_dropped_only_on_request_and_counted(self):
        answers = Comparisons.from_triplets([*TRIPLETS, [3, 3, 1]], self_pairs="drop")
        assert (len(answers), answers.dropped) == (3, {"self_pairs": 1})

    def test_objects_that_occur_in_no_row_are_allowed_with_a_warning(self):
        with pytest.warns(UserWarning, match=r"2 of 6 objects occur in no comparison \(4, 5\)"):
            assert Comparisons.from_triplets(TRIPLETS, n_objects=6).n_objects == 6

    def test_a_quadruplet_may_share_an_object_in_any_position(self):
        rows = [[0, 1, 0, 2], [0, 1, 2, 0], [1, 0, 0, 2], [1, 0, 2, 0]]
        assert len(Comparisons.from_quadruplets(rows)) == 4

    def test_split_is_a_partition(self, rng):
        answers = Comparisons.from_triplets(TRIPLETS * 10, weights=np.arange(30) + 1)
        train, held_out = answers.split(0.2, rng, by="comparisons")
        assert (len(train), len(held_out)) == (24, 6)
        assert sorted([*train.weights, *held_out.weights]) == list(range(1, 31))
        assert train.n_objects == held_out.n_objects == 4


class TestBadInput:
    def test_indices(self):
        refused("row 2: object -1 is negative", [[0, 1, 2], [1, 2, 0], [0, -1, 2]])
        refused("row 1: object 9 is too large for 5 objects", [[0, 1, 2], [1, 9, 0]], n_objects=5)
        refused("row 0: object 4294967295 is too large", [[0, 1, 2**32 - 1]])
        refused(r"row 1: 1\.5 is not a whole number", [[0, 1, 2], [0, 1.5, 2]])
        refused("row 0: NaN is not a whole number", [[0, 1, np.nan]])
        refused("row 0: inf is not a whole number", [[0, 1, np.inf]])
        refused("row 1: {} is not a number", [[0, 1, 2], [0, 1, {}]])
        refused("row 0: <NA> is not a number", np.array([[0, 1, pd.NA]], dtype=object))
        refused("row 1: 1000.* is not a number", [[0, 1, 2], [0, 1, 10**400]])
        refused("row 0: a cell is masked", np.ma.masked_equal([[0, 1, 9]], 9))
        refused("complex", np.array([[0, 1, 2j]]))

    def test_an_object_compared_with_itself(self):
        refused(
            'row 1: object 5 is compared with itself; drop the row or pass self_pairs="drop"', [[0, 1, 2], [5, 1, 5]]
        )
        refused("object 'x' is compared with itself", [["x", "x", "y"]], n_objects=None)
        refused("row 0: object 2 is compared", [[0, 1, 2, 2]], Comparisons.from_quadruplets)

    def test_rows_keep_their_numbers_when_others_are_dropped(self):
        refused("row 2: both pairs", [[0, 1, 2], [0, 1, 3], [0, 1, 1]], y=[0, 1, 1], ties="drop")

    def test_a_part_without_weight(self):
        answers = Comparisons.from_triplets(TRIPLETS, weights=[1, 0, 0])
        with pytest.raises(ValueError, match="weight zero"):
            answers.take(slice(1, None))

    def test_two_identical_pairs(self):
        refused("row 1: both pairs are 0 and 1", [[0, 1, 2], [0, 1, 1]])
        for row in ([3, 1, 3, 1], [3, 1, 1, 3]):
            refused("row 0: both pairs are 3 and 1", [row], Comparisons.from_quadruplets)

    def test_shapes(self):
        refused("2 columns", [[0, 1]])
        refused("4 columns, not 3", [[0, 1, 2, 3]])
        refused("3 columns, not 4", TRIPLETS, Comparisons.from_quadruplets)
        refused("5 columns", [[0, 1, 2, 3, 4]], Comparisons.of)
        refused("empty", [])
        refused("empty", np.empty((0, 3)))
        refused(r"shape \(3,\)", [0, 1, 2])
        refused("different lengths", [[0, 1, 2], [0, 1]])

    def test_fewer_than_three_objects(self):
        refused("there are 2 objects", [[0, 1, 0, 1]], Comparisons.from_quadruplets, n_objects=2)
        refused("too large for 2 objects", n_objects=2)

    def test_labels(self):
        refused("row 2: y is 2", y=[1, -1, 2])
        refused("row 1: y is nan", y=[1, np.nan, 1])
        refused("one label per row", y=[1, 1])
        refused("row 1: y is nan", y=pd.array([True, None, False], dtype="boolean"))
        refused("no comparison is left after dropping 3 ties", y=[0, 0, 0], ties="drop")
        refused('"error" or "drop"', ties="skip")

    def test_weights(self):
        refused(r"row 1: the weight is -1\.0", weights=[1, -1, 1])
        refused("row 0: the weight is nan", weights=[np.nan, 1, 1])
        refused("row 2: the weight is inf", weights=[1, 1, np.inf])
        refused("one per row", weights=[1])
        refused("row 1: the weight is 'much'", weights=[1, "much", 1])
        refused("sum of all weights", weights=[1e308, 1e308, 1e308])
        refused("all weights are zero", weights=[0, 0, 0])

    def test_names(self):
        refused("'a' occurs twice", names=["a", "b", "a", "c"])
        refused("there are 2 names|too large for 2 objects", names=["a", "b"])
        refused("row 0: 'z' is not among the names", [["a", "b", "z"]], names=["a", "b", "c"])
        refused("n_objects is 7, but there are 4 names", names=list("abcd"), n_objects=7)
        refused("is not a name", np.array([["a", 1, "b"]], dtype=object))

    def test_number_of_objects(self):
        refused("whole number", n_objects=4.5)

    def test_sparse_matrices_are_refused(self):
        scipy_sparse = pytest.importorskip("scipy.sparse")
        with pytest.raises(TypeError, match="sparse"):
            Comparisons.from_triplets(scipy_sparse.csr_array(np.array(TRIPLETS)))

    def test_labels_cannot_be_passed_with_comparisons(self):
        answers = Comparisons.from_triplets(TRIPLETS)
        assert Comparisons.of(answers) is answers
        refused("when you create it", answers, Comparisons.of, y=[1, 1, 1])


def test_object_numbers_and_their_count_fit_in_32_bits():
    """The number of objects is the largest object number plus 1."""
    assert whole_numbers(np.array([[0, 1, 2**31 - 2]])).max() == 2**31 - 2
    with pytest.raises(ValueError, match="object 2147483647 is too large"):
        whole_numbers(np.array([[0, 1, 2**31 - 1]]))


def test_the_largest_object_number_is_the_number_of_objects_minus_one():
    assert Comparisons.from_triplets([[0, 1, 2]]).n_objects == 3
    assert Comparisons.from_triplets([[0, 1, 2]], n_objects=3).n_objects == 3
    with pytest.raises(ValueError, match="object 3 is too large for 3 objects"):
        Comparisons.from_triplets([[0, 1, 3]], n_objects=3)


def test_a_row_that_is_dropped_for_two_reasons_is_counted_once():
    rows = [[0, 1, 2], [0, 0, 1], [1, 1, 2], [0, 2, 1]]
    answers = Comparisons.from_triplets(rows, [1, 0, 1, 0], ties="drop", self_pairs="drop")
    assert dict(answers.dropped) == {"ties": 2, "self_pairs": 1}
    assert len(answers) + sum(answers.dropped.values()) == len(rows)


@pytest.mark.parametrize("nothing", [[], np.array([]), np.zeros(3, dtype=bool), slice(0, 0)], ids=str)
@pytest.mark.parametrize("weights", [None, [1, 2, 3]])
def test_an_empty_selection_can_be_taken(nothing, weights):
    part = Comparisons.from_triplets(TRIPLETS, weights=weights)[nothing]
    assert (len(part), part.n_objects, part.rows.shape) == (0, 4, (0, 3))


class TestEmbed:
    def test_plain_arrays_are_accepted(self):
        assert embed(TRIPLETS, seed=0, epochs=1).embedding.shape == (4, 2)
        assert embed([[0, 1, 2, 3]], seed=0, epochs=1).embedding.shape == (4, 2)


@st.composite
def tables(draw):
    n_objects = draw(st.integers(4, 30))
    n_columns = draw(st.sampled_from([3, 4]))
    row = st.permutations(range(n_objects)).map(lambda order: order[:n_columns])
    rows = draw(st.lists(row, min_size=1, max_size=30))
    labels = draw(st.lists(st.sampled_from([1, -1]), min_size=len(rows), max_size=len(rows)))
    return np.array(rows), np.array(labels)


@given(tables())
def test_reversing_twice_changes_nothing(table):
    rows, labels = table
    n_objects = int(rows.max()) + 1
    once = _quiet(rows, labels, n_objects)
    assert np.array_equal(_quiet(once.rows, labels, n_objects).rows, rows)


@given(tables())
def test_valid_rows_are_stored_unchanged(table):
    rows, _ = table
    answers = _quiet(rows, None, int(rows.max()) + 1)
    assert np.array_equal(answers.rows, rows)
    assert answers.n_objects == rows.max() + 1


@given(tables(), st.data())
def test_a_single_bad_cell_is_detected_and_its_row_named(table, data):
    rows, _ = table
    place = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, rows.shape[1] - 1))
    for bad in (-1, np.nan, 0.5, 10**10):
        broken = rows.astype(float)
        broken[place] = bad
        with pytest.raises(ValueError, match=f"^row {place[0]}: "):
            Comparisons.of(broken)


def _quiet(rows, labels, n_objects):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Comparisons.of(rows, labels, n_objects=n_objects)


@pytest.mark.parametrize(
    ("rows", "n_objects", "more", "problem"),
    [
        (np.array([[0, 1, 10**9]], np.int32), 3, {}, "row 0: object 1000000000 is too large for 3 objects"),
        (np.array([[0, 1, 2], [0, -1, 2]], np.int32), 3, {}, "row 1: object -1 is negative"),
        (np.array([[0, 1, 2**40]]), 3, {}, "row 0: object 1099511627776 is too large"),
        (np.array([[0.5, 1, 2]]), 3, {}, "row 0: 0.5 is not a whole number"),
        (np.array([0, 1, 2], np.int32), 3, {}, "rows have shape"),
        (np.array([[0, 1]], np.int32), 3, {}, "rows have shape"),
        (np.array([[0, 1, 2]], np.int32), 3, {"weights": np.ones(2)}, "weights have shape"),
        (np.array([[0, 1, 2]], np.int32), 3, {"answers": np.zeros(2, np.int32)}, "answers have shape"),
        (np.array([[0, 1, 2]], np.int32), 3, {"people": np.zeros(0, np.int32)}, "people have shape"),
        (np.array([[0, 1, 2]], np.int32), 3, {"names": ("a", "b")}, "3, but there are 2 names"),
        (np.array([[0, 1, 2]], np.int32), -3, {}, "n_objects is -3"),
    ],
)
def test_the_constructor_refuses_numbers_out_of_range(rows, n_objects, more, problem):
    with pytest.raises(ValueError, match=problem):
        Comparisons(rows, n_objects, **more)


def test_the_constructor_accepts_any_whole_numbers_and_copies_them():
    rows, weights = np.array([[0, 1, 2]]), np.array([1, 2])[:1]
    answers = Comparisons(rows, 3, weights=weights)
    rows[0, 0] = 10**9
    assert answers.rows.dtype == np.int32
    assert answers.rows.tolist() == [[0, 1, 2]]
    assert answers.weights.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        answers.rows[0, 0] = 9


def test_huge_numbers_are_taken_for_names_unless_n_objects_is_passed():
    with pytest.raises(ValueError, match=r"row 1: object 1000000000 .*pass them as text.*n_objects=1000000001"):
        Comparisons.from_triplets([[0, 1, 2], [1, 2, 10**9]])
    few = Comparisons.from_triplets([[0, 1, 2], [1, 2, 5_000_000]], n_objects=5_000_001, unmentioned="ignore")
    assert few.n_objects == 5_000_001
    assert Comparisons.from_triplets([["0", "1", "2"], ["1", "2", str(10**9)]]).n_objects == 4


@pytest.mark.parametrize("dtype", ["S", object])
def test_names_in_bytes_are_decoded(dtype):
    rows = np.array([[b"ant", "gr\u00fcn".encode(), b"cat"]], dtype=dtype)
    answers = Comparisons.from_triplets(rows, people=[b"ann"])
    assert answers.names == ("ant", "cat", "gr\u00fcn")
    assert answers.person_names == ("ann",)
    assert Comparisons.from_triplets([[0, 1, 2]], names=[b"a", b"b", b"c"]).names == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"b'\\xff' is bytes that are not text in UTF-8"):
        Comparisons.from_triplets(np.array([[b"ant", b"bee", b"\xff"]], dtype=dtype))


@pytest.mark.parametrize("path", ["answers.csv", Path("answers.csv")])
def test_a_file_name_is_an_error_that_says_how_to_read_it(path):
    with pytest.raises(ValueError, match=r"'answers.csv' is a file name, .*ct.read_comparisons\('answers.csv'\)"):
        embed(path)
