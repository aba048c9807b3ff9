"""loss="auto": the race and what comes of it."""

import _thread
import threading

import numpy as np
import pytest

import closerthan as ct
from closerthan import LOSSES
from closerthan.objective import Objective


def test_the_table_of_candidates_is_kept_best_first(problem):
    result = ct.embed(problem.train, loss="auto", seed=0)
    assert {candidate.loss for candidate in result.candidates} == set(LOSSES)
    assert result.candidates[0].rounds == max(candidate.rounds for candidate in result.candidates)
    assert type(LOSSES[result.candidates[0].loss]()).__name__ in result.settings["loss"]


def test_it_picks_a_loss_that_is_nearly_the_best():
    data = ct.datasets.synthetic(60, 5, 6_000, 5_000, seed=2)
    chosen = ct.embed(data.train, 5, loss="auto", seed=0)
    errors = [ct.triplet_error(data.test, ct.embed(data.train, 5, loss=loss, seed=0).embedding) for loss in LOSSES]
    assert max(errors) - min(errors) > 0.05  # so that there is something to choose
    assert ct.triplet_error(data.test, chosen.embedding) <= min(errors) + 0.01


def test_the_winner_is_fitted_to_all_answers_with_several_starts(problem):
    result = ct.embed(problem.train, loss="auto", seed=0)
    assert len(result.starts) == 4
    assert np.isnan(result.record.validation_error)
    assert ct.triplet_error(problem.train, result.embedding) == pytest.approx(result.record.train_error)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(problem):
    maps = [ct.embed(problem.train, loss="auto", seed=4, n_threads=n).embedding for n in (1, 3)]
    assert np.array_equal(*maps)


def test_an_overfitting_winner_is_stopped_where_it_was_best():
    data = ct.datasets.synthetic(200, 5, 2000, 4000, flipped=0.1, seed=0)
    result = ct.embed(data.train, 5, loss="auto", seed=0)
    winner = result.candidates[0]
    assert not winner.overfits or result.history[-1].epoch <= winner.best_epoch


def test_it_survives_saving(problem, tmp_path):
    result = ct.embed(problem.train, loss="auto", seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    assert ct.Result.load(tmp_path / "fit.npz").candidates == result.candidates


def test_it_needs_answers_to_hold_out():
    with pytest.raises(ValueError, match="at least 2 comparisons"):
        ct.embed([[0, 1, 2]], loss="auto")


def test_ctrl_c_ends_the_race(problem, monkeypatch):
    once = threading.Lock()
    plain = Objective.at

    def interrupting(self, x):
        if once.acquire(blocking=False):
            _thread.interrupt_main()
        return plain(self, x)

    monkeypatch.setattr(Objective, "at", interrupting)
    with pytest.raises(KeyboardInterrupt):
        ct.embed(problem.train, loss="auto", seed=0, epochs=10**6, tolerance=None)
