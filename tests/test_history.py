"""Records, columns, CSV and frames."""

import numpy as np
import pytest

import closerthan as ct


@pytest.fixture
def history(problem):
    return ct.embed(problem.train, seed=0, epochs=4, validation=problem.test, tolerance=None).history


def test_one_record_per_epoch_with_columns_as_arrays(history):
    assert history.epoch.tolist() == [0, 1, 2, 3, 4]
    for name in ct.Record._fields:
        assert isinstance(getattr(history, name), np.ndarray)
        assert len(getattr(history, name)) == 5


def test_seconds_grow_from_zero(history):
    assert history.seconds[0] == 0
    assert (np.diff(history.seconds) > 0).all()


def test_csv_there_and_back(history, tmp_path):
    text = history.to_csv(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_text(encoding="utf-8") == text
    again = ct.History.from_csv(tmp_path / "history.csv")
    for name in ct.Record._fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(history, name))


def test_frame(history):
    frame = history.to_frame()
    assert list(frame.columns) == list(ct.Record._fields)
    assert len(frame) == 5


def test_evaluation_is_not_on_the_clock(problem):
    def slow(record, x):
        sum(range(2_000_000))

    watched = ct.embed(problem.train, seed=0, epochs=3, tolerance=None, callback=slow).history
    import time

    began = time.perf_counter()
    slow(None, None)
    one_look = time.perf_counter() - began
    assert watched.seconds[-1] < one_look
