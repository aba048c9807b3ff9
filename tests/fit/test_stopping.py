"""Stopping rules: their properties on invented histories and on fits."""

import math

import numpy as np
import pytest

import closerthan as ct
from closerthan.fit.stopping import Limits, converged, diverged, no_longer_better
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPU

LIMITS = Limits(epochs=100, tolerance=1e-3)


def history(*objectives):
    return ct.History(
        ct.history.Record(epoch, 0, 0.0, value, 1.0, 1.0, 0.5, 0.5) for epoch, value in enumerate(objectives)
    )


def ends_at(objectives, limits=LIMITS, collapsed=1.0):
    """The first epoch after which the objective ends a fit; None: it never does."""
    ended = [n for n in range(1, len(objectives) + 1) if converged(history(*objectives[:n]), limits, collapsed)]
    return ended[0] - 1 if ended else None


class TestConverged:
    def test_an_objective_close_to_zero_has_converged(self):
        """As on clean answers, each epoch halves the objective, but none of them improves the map."""
        assert ends_at([1.0, 0.1, *(1e-3 * 0.5**epoch for epoch in range(20))]) == 5

    def test_an_objective_that_still_decreases_has_not_converged(self):
        assert ends_at([1.0 - 0.01 * epoch for epoch in range(50)]) is None

    @pytest.mark.parametrize("window", [2, 3, 5])
    def test_epochs_without_gain_are_forgiven_within_the_window(self, window):
        limits = Limits(100, tolerance=1e-3, window=window)
        steps = [0.9 - 0.05 * epoch for epoch in range(10) for _ in range(window)]
        assert ends_at([1.0, *steps], limits) is None
        assert ends_at([1.0, 0.5, *[0.5] * window], limits) == window + 1

    @pytest.mark.parametrize("offset", [-5.0, -1.0, 0.0, 100.0])
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_neither_units_nor_constants_nor_signs_of_a_loss_matter(self, offset, scale):
        objectives = [scale * (offset + 0.3 + 0.7 * 0.6**epoch) for epoch in range(40)]
        plain = [0.3 + 0.7 * 0.6**epoch for epoch in range(40)]
        assert ends_at(objectives, collapsed=scale * (offset + 1.0)) == ends_at(plain)

    @pytest.mark.parametrize("collapsed", [math.nan, math.inf])
    def test_without_an_objective_of_a_collapsed_map_the_start_takes_its_place(self, collapsed):
        objectives = [1.0, 0.1, *(1e-3 * 0.5**epoch for epoch in range(20))]
        assert ends_at(objectives, collapsed=collapsed) == ends_at(objectives)

    def test_a_start_far_too_large_does_not_end_a_fit_early(self):
        falling = [0.5 + 0.4 * 0.7**epoch for epoch in range(40)]
        assert ends_at([1e6, *falling]) >= ends_at([1.0, *falling])

    def test_a_map_that_stays_worse_than_a_collapsed_one_ends_too(self):
        assert ends_at([3.0, 2.0, 2.0, 2.0, 2.0, 2.0]) == 4

    def test_the_best_of_the_last_epochs_counts_and_not_the_last_one(self):
        """The epochs of a stochastic solver go up and down."""
        assert ends_at([1.0, 0.5, 0.52, 0.5, 0.52, 0.5]) == 4
        assert ends_at([1.0, 0.5, 0.45, 0.5, 0.5]) is None

    def test_a_temporary_increase_is_not_convergence(self):
        """A solver that went astray may come back."""
        assert ends_at([1.0, 0.5, 0.9, 0.9, 0.9, 0.9, 0.4]) is None

    def test_no_tolerance_never_ends_a_fit(self):
        assert ends_at([1.0] * 50, Limits(100)) is None


class TestNoLongerBetter:
    @staticmethod
    def ends_at(errors, patience):
        """The first epoch after which held-out answers end a fit; None: they never do."""
        records = [ct.history.Record(epoch, 0, 0.0, 0.5, 1.0, 1.0, 0.5, error) for epoch, error in enumerate(errors)]
        limits = Limits(100, patience=patience)
        return next((n for n in range(len(errors)) if no_longer_better(ct.History(records[: n + 1]), limits)), None)

    @pytest.mark.parametrize("patience", [1, 2, 5])
    def test_a_start_that_is_good_by_luck_does_not_end_a_fit_that_improves(self, patience):
        """A random start may get few held-out answers right by chance, better than the first epochs do."""
        assert self.ends_at([0.05, *(0.45 - 0.02 * epoch for epoch in range(15))], patience) is None

    @pytest.mark.parametrize("first", [0.0, 0.3, 0.9])
    def test_the_error_of_the_start_changes_nothing(self, first):
        errors = [0.4, 0.3, 0.35, 0.35, 0.35, 0.35]
        assert self.ends_at([first, *errors], 3) == 5

    def test_patience_counts_epochs_since_the_best_one(self):
        assert self.ends_at([0.5, 0.2, 0.3, 0.3], 2) == 3
        assert self.ends_at([0.5, 0.2, 0.3, 0.1, 0.3, 0.3], 2) == 5
        assert self.ends_at([0.5, 0.2, 0.2, 0.2], 2) == 3  # as good is not better


class TestDiverged:
    def test_a_few_bad_epochs_are_forgiven(self):
        assert not diverged(history(1.0, 0.5, 9.0, 9.0), LIMITS, 1.0)
        assert diverged(history(1.0, 0.5, 9.0, 9.0, 9.0), LIMITS, 1.0)

    @pytest.mark.parametrize("last", [math.inf, math.nan])
    def test_a_nan_or_infinite_objective_has_diverged(self, last):
        assert diverged(history(1.0, 0.5, last), LIMITS, 1.0)


@pytest.mark.parametrize("loss", LOSSES)
class TestFits:
    def test_clean_answers_end_early(self, loss):
        """Plenty of them: 67 per coordinate. Running on for all epochs gains nothing."""
        data = ct.datasets.synthetic(100, 3, 20_000, 5_000, seed=0)
        ended = ct.embed(data.train, 3, loss=loss, penalty=0, seed=0)
        error = ct.triplet_error(data.test, ended.embedding)
        run_on = ct.embed(data.train, 3, loss=loss, penalty=0, seed=0, tolerance=None, epochs=60)
        assert ended.stopped_by == "tolerance"
        assert ended.history[-1].epoch <= 30
        assert error <= ct.triplet_error(data.test, run_on.embedding) + 0.002

    @pytest.mark.slow
    def test_noisy_answers_do_not_end_too_early(self, loss):
        """The error on new answers is as low as after many more epochs, on average over starts."""
        data = ct.datasets.synthetic(100, 3, 20_000, 5_000, flipped=0.2, seed=0)

        def error(**options):
            fits = [ct.embed(data.train, 3, loss=loss, penalty=0, seed=seed, **options) for seed in range(3)]
            return np.mean([ct.triplet_error(data.test, fit.embedding) for fit in fits])

        assert error() <= error(tolerance=None, epochs=60) + 0.002

    def test_it_ends_after_the_same_epoch_for_any_number_of_threads(self, loss):
        data = ct.datasets.synthetic(50, 2, 4_000, 10, flipped=0.1, seed=0)
        fits = [ct.embed(data.train, 2, loss=loss, penalty=0, seed=0, device=CPU(n, least_part=500)) for n in (1, 2)]
        assert fits[0].stopped_by == fits[1].stopped_by == "tolerance"
        assert np.array_equal(fits[0].history.objective, fits[1].history.objective)
        assert np.array_equal(fits[0].embedding, fits[1].embedding)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-3, None])
def test_a_loss_below_zero_is_fitted_as_well(tolerance):
    """A user-defined loss from which a constant was subtracted."""

    class Lower(ct.Loss):
        def value(self, near, far):
            return max(0.0, near - far + 1.0) - 3.0

        def slopes(self, near, far):
            slope = 1.0 if near - far + 1.0 > 0.0 else 0.0
            return slope, -slope

    data = ct.datasets.synthetic(50, 2, 5_000, 1_000, seed=0)
    result = ct.embed(data.train, loss=Lower(), penalty=0, seed=0, tolerance=tolerance, epochs=40)
    assert result.stopped_by == ("epochs" if tolerance is None else "tolerance")
    assert ct.triplet_error(data.test, result.embedding) < 0.05
