"""Records, columns, CSV and frames."""

import itertools

import numpy as np
import pytest

import closerthan as ct
from closerthan.fit import stopping


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


def test_csv_there_and_back(history, tmp_path):
    text = history.to_csv(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_text(encoding="utf-8") == text
    again = ct.History.from_csv(tmp_path / "history.csv")
    for name in ct.history.Record._fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(history, name))


def test_a_table_from_before_there_were_samples(history, tmp_path):
    text = history.to_csv()
    (tmp_path / "history.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in text.splitlines()))
    assert ct.History.from_csv(tmp_path / "history.csv").to_csv() == text


def test_the_objective_of_a_sample_is_not_compared_with_that_of_all():
    def history(*objectives):
        return ct.History(
            ct.history.Record(epoch, 0, 0.0, objective, 1.0, 1.0, 0.5, 0.5, 64 if epoch < 7 else 0)
            for epoch, objective in enumerate(objectives)
        )

    assert stopping.converged(history(*[0.5] * 7), 1e-3)
    assert not stopping.converged(history(*[0.5] * 7, *[0.7] * 5), 1e-3)
    assert stopping.converged(history(*[0.5] * 7, *[0.7] * 6), 1e-3)
    assert not stopping.converged(history(*[0.5] * 7, 0.8, *[0.7] * 5), 1e-3)


def test_frame(history):
    frame = history.to_frame()
    assert list(frame.columns) == list(ct.history.Record._fields)
    assert len(frame) == 5


def test_evaluation_is_not_on_the_clock(problem, monkeypatch):
    """On a clock that moves while a callback runs, and by a second whenever it is read, an epoch takes one second."""
    readings = itertools.count()
    monkeypatch.setattr("closerthan.fit.monitor.time.perf_counter", lambda: float(next(readings)))

    def slow(record, x):
        for _ in range(100):
            next(readings)

    history = ct.embed(problem.train, seed=0, epochs=3, tolerance=None, callback=slow).history
    assert history.seconds.tolist() == [0.0, 1.0, 2.0, 3.0]
