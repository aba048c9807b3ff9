"""Records, columns, CSV and frames."""

import itertools

import numpy as np
import pytest

import closerthan as ct


@pytest.fixture
def history(problem):
    return ct.embed(problem.train, seed=0, epochs=4, validation=problem.test, tolerance=None).history


def test_one_record_per_epoch_with_columns_as_arrays(history):
    assert history.epoch.tolist() == [0, 1, 2, 3, 4]
    for name in ct.history.Record._fields:
        assert isinstance(getattr(history, name), np.ndarray)
        assert len(getattr(history, name)) == 5


def test_seconds_grow_from_zero(history):
    assert history.seconds[0] == 0
    assert (np.diff(history.seconds) > 0).all()


def test_a_history_survives_a_round_trip_through_csv(history, tmp_path):
    text = history.to_csv(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_text(encoding="utf-8") == text
    again = ct.History.from_csv(tmp_path / "history.csv")
    for name in ct.history.Record._fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(history, name))


def test_unknown_values_are_empty_cells(problem, tmp_path):
    history = ct.embed(problem.train, seed=0, epochs=2, tolerance=None).history
    assert np.isnan(history.validation_error).all()
    text = history.to_csv(tmp_path / "history.csv")
    assert "nan" not in text
    assert all(line.endswith(",") for line in text.splitlines()[1:])
    assert np.isnan(ct.History.from_csv(tmp_path / "history.csv").validation_error).all()
    (tmp_path / "old.csv").write_text(text.replace(",\n", ",nan\n"))
    assert np.isnan(ct.History.from_csv(tmp_path / "old.csv").validation_error).all()


def test_a_table_with_additional_columns_is_read(history, tmp_path):
    """An earlier version wrote such columns."""
    head, *lines = history.to_csv().splitlines()
    (tmp_path / "history.csv").write_text("\n".join([head + ",sample", *(line + ",64" for line in lines)]))
    assert ct.History.from_csv(tmp_path / "history.csv").to_csv() == history.to_csv()


def test_frame(history):
    frame = history.to_frame()
    assert list(frame.columns) == list(ct.history.Record._fields)
    assert len(frame) == 5


def test_evaluation_does_not_count_as_solver_time(problem, monkeypatch):
    """On a clock that moves while a callback runs, and by a second whenever it is read, an epoch takes one second."""
    readings = itertools.count()
    monkeypatch.setattr("closerthan.fit.monitor.time.perf_counter", lambda: float(next(readings)))

    def slow(record, x):
        for _ in range(100):
            next(readings)

    history = ct.embed(problem.train, seed=0, epochs=3, tolerance=None, callback=slow).history
    assert history.seconds.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_number_that_is_not_finite_is_an_empty_cell(tmp_path):
    record = ct.history.Record(1, 30, 0.1, float("inf"), float("-inf"), float("nan"), 0.25, 0.5)
    ct.History([record]).to_csv(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_text().splitlines()[1] == "1,30,0.1,,,,0.25,0.5"
    assert np.isnan(ct.History.from_csv(tmp_path / "history.csv").objective).all()
