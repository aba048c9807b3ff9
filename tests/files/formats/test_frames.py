"""DataFrames and Arrow tables, whose columns are identified by name."""

import numpy as np
import pandas
import pyarrow
import pytest
from rows_by_name import rows_by_name

import closerthan as ct
from closerthan.files import read_answers

TRIPLETS = [("ant", "bee", "cat"), ("bee", "cat", "ant"), ("cat", "ant", "bee")]
FRAME = pandas.DataFrame(TRIPLETS, columns=["anchor", "near", "far"])


class LikePolars:
    """The part of the interface of a polars DataFrame that is used."""

    def __init__(self, frame):
        self._frame, self.columns, self.shape = frame, list(map(str, frame.columns)), frame.shape

    def __len__(self):
        return len(self._frame)

    def __array__(self, dtype=None, copy=None):
        return self._frame.to_numpy(dtype=object)

    def __getitem__(self, where):
        return self.Series(self._frame.iloc[where])

    class Series:
        def __init__(self, series):
            self._series, self.dtype = series, "String"

        def to_list(self):
            return self._series.tolist()


KINDS = [lambda frame: frame, pyarrow.Table.from_pandas, LikePolars]


@pytest.mark.parametrize("order", [["anchor", "near", "far"], ["far", "near", "anchor"], ["near", "far", "anchor"]])
@pytest.mark.parametrize("kind", KINDS, ids=["pandas", "pyarrow", "polars"])
def test_columns_are_identified_by_name_in_any_order(kind, order):
    table = kind(FRAME[order])
    for read in (ct.Comparisons.of, ct.Comparisons.from_triplets, ct.read_comparisons):
        assert rows_by_name(read(table)) == TRIPLETS


def test_embed_and_the_estimator_take_columns_by_name():
    shuffled = FRAME[["far", "anchor", "near"]]
    fitted = [ct.OrdinalEmbedding(random_state=0).fit(frame) for frame in (shuffled, FRAME)]
    np.testing.assert_array_equal(fitted[0].embedding_, fitted[1].embedding_)
    assert fitted[0].predict(shuffled).tolist() == fitted[1].predict(FRAME).tolist()
    same = ct.embed(shuffled, 1, seed=0), ct.embed(FRAME, 1, seed=0)
    np.testing.assert_array_equal(same[0].embedding, same[1].embedding)
    assert ct.triplet_error(shuffled, same[0].embedding) == ct.triplet_error(FRAME, same[0].embedding)


@pytest.mark.parametrize("columns", [["head", "winner", "loser"], ["i", "j", "k"], ["Probe", "Closer", "Further"]])
def test_other_usual_names_are_recognised(columns):
    frame = FRAME.set_axis(columns, axis=1)
    assert rows_by_name(ct.Comparisons.of(frame[columns[::-1]])) == TRIPLETS


def test_quadruplets_have_names_too():
    frame = pandas.DataFrame([[3, 2, 1, 0]], columns=["far_2", "far_1", "near_2", "near_1"])
    assert ct.Comparisons.of(frame).rows.tolist() == [[0, 1, 2, 3]]
    assert ct.Comparisons.of(frame.set_axis(["k", "l", "j", "i"], axis=1)).rows.tolist() == [[0, 1, 2, 3]]


def test_columns_without_names_are_identified_by_position():
    frame = FRAME.set_axis(range(3), axis=1)
    assert rows_by_name(ct.Comparisons.of(frame)) == TRIPLETS
    assert rows_by_name(ct.read_comparisons(frame)) == TRIPLETS
    assert (
        rows_by_name(ct.Comparisons.of(LikePolars(FRAME.set_axis(["column_0", "column_1", "column_2"], axis=1))))
        == TRIPLETS
    )


def test_unknown_names_are_an_error_with_advice():
    frame = FRAME.set_axis(["a", "near", "c"], axis=1)
    with pytest.raises(ValueError, match=r"columns 'a', 'near', 'c', which are not understood; .*table.to_numpy\(\)"):
        ct.embed(frame)
    assert rows_by_name(ct.Comparisons.of(frame.to_numpy())) == TRIPLETS
    with pytest.raises(ValueError, match="the DataFrame has the columns 'a', 'near', 'c', which are not understood"):
        ct.read_comparisons(frame)
    assert rows_by_name(ct.read_comparisons(frame, columns={"anchor": "a", "far": "c"})) == TRIPLETS


def test_a_table_with_more_columns_is_an_error_that_refers_to_read_comparisons():
    frame = FRAME.assign(worker=["w2", "w1", "w2"], rt=[900, 800, 700], weight=[1.0, 0.5, 2.0], note="x")
    with pytest.raises(
        ValueError, match=r"closerthan\.read_comparisons\(table\), or pass only 'anchor', 'near', 'far'"
    ):
        ct.embed(frame)
    for table in (frame, pyarrow.Table.from_pandas(frame)):
        answers = read_answers(table)
        assert rows_by_name(answers.comparisons) == TRIPLETS
        assert answers.participants.tolist() == ["w2", "w1", "w2"]
        assert answers.comparisons.times.tolist() == [0.9, 0.8, 0.7]
        assert answers.comparisons.weights.tolist() == [1, 0.5, 2]
        assert answers.comparisons.lines is None
        assert answers.summary.not_used == ("note",)
        assert (answers.summary.path, answers.summary.format) == ("the DataFrame", "DataFrame")


def test_missing_values_of_any_kind_are_empty_cells():
    for missing in (None, float("nan"), pandas.NA, pandas.NaT):
        frame = FRAME.astype(object)
        frame.iloc[1, 2] = missing
        with pytest.raises(ValueError, match=r"the DataFrame, row 1 \(bee, cat, \): a cell is empty"):
            ct.read_comparisons(frame)
        assert len(ct.read_comparisons(frame, missing="drop")) == 2


def test_numbers_categories_and_lists_are_read():
    numbers = pandas.DataFrame({"far": [2, 0], "near": pandas.array([1, 2], dtype="Int64"), "anchor": [0.0, 1.0]})
    assert ct.read_comparisons(numbers).rows.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert rows_by_name(ct.read_comparisons(FRAME.astype("category"))) == TRIPLETS
    ranked = pandas.DataFrame({"anchor": ["a", "b"], "ranking": [["b", "c", "d"], ["a", "c"]]})
    answers = read_answers(ranked)
    assert (answers.summary.kind, len(answers.comparisons)) == ("rank", 4)


def test_an_empty_table_is_an_error():
    with pytest.raises(ValueError, match="the DataFrame is empty: it has no answers"):
        ct.read_comparisons(FRAME[:0])
