"""The default solver: stochastic Polyak steps, then quasi-Newton ones."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from scipy.spatial.distance import pdist

import closerthan as ct
from closerthan import Relay
from closerthan.compiled import kernels
from closerthan.objective.cpu import Objective, Point
from closerthan.solvers import SGD, SVRG, Polyak
from closerthan.solvers.visiting_order import visits


@pytest.fixture(scope="module")
def clean():
    return ct.datasets.synthetic(60, 3, 6_000, 2_000, seed=2)


@pytest.fixture(scope="module")
def noisy():
    return ct.datasets.synthetic(30, 2, 6_000, 2_000, seed=2, flipped=0.3)


class TestRelay:
    @pytest.mark.parametrize(
        ("n_answers", "asked"), [(6_000, 0.007 * (1 - 11 * 60 / 6_000)), (600, 0.001)], ids=["plenty", "few"]
    )
    def test_it_hands_over_when_an_epoch_no_longer_pays(self, noisy, n_answers, asked):
        """The first epochs are Polyak's own, the same bits; then its gain is below the share asked for."""
        answers = noisy.train.take(slice(n_answers))
        relay, alone = (
            ct.embed(answers, 2, solver=solver, seed=0, epochs=30, tolerance=None).history.objective
            for solver in (Relay(), Polyak())
        )
        same = int(np.argmax(relay != alone[: len(relay)]))
        assert 1 < same < 30
        gains = 1 - relay[1:same] / relay[: same - 1]
        assert (gains[:-1] > asked).all()
        assert gains[-1] <= asked

    @pytest.mark.usefixtures("judged_by_a_sample")
    def test_a_sample_judges_the_first_solvers_maps_and_all_comparisons_the_seconds(self, noisy):
        maps = []
        result = ct.embed(noisy.train, 2, seed=0, epochs=30, tolerance=None, callback=lambda record, x: maps.append(x))
        history, objective = result.history, Objective(noisy.train, ct.losses.STE())
        handed_over = int(np.argmin(history.sample))  # the first that is of all
        assert 1 < handed_over < 30
        assert (history.sample[:handed_over] == 176).all()
        assert not history.sample[handed_over:].any()
        best = maps[int(history.objective[:handed_over].argmin())]
        assert history.objective[handed_over] == objective.at(maps[handed_over]).value < objective.at(best).value
        assert history.objective[handed_over] > history.objective[handed_over - 1]  # or what follows would be nothing
        assert result.best_epoch > handed_over
        assert history.gradients[1] == 2 * len(noisy.train) + 176

    @pytest.mark.usefixtures("judged_by_a_sample")
    @pytest.mark.parametrize("solver", ["polyak", "relay"])
    @pytest.mark.parametrize("validation", [None, 0.1])
    def test_what_is_said_of_the_map_in_the_end_is_of_all_comparisons(self, noisy, solver, validation):
        result = ct.embed(noisy.train, 2, solver=solver, validation=validation, seed=0, epochs=2)
        assert result.record.sample == 0
        assert np.count_nonzero(result.history.sample == 0) == 1
        if validation is None:
            point = Objective(noisy.train, ct.losses.STE()).at(result.embedding)
            assert (result.record.objective, result.record.train_error) == (point.value, point.error)
            assert result.starts[0].objective == point.value

    @pytest.mark.usefixtures("judged_by_a_sample")
    def test_a_map_that_only_a_sample_can_bear_is_none(self, noisy):
        class Touchy(ct.Loss):
            """Infinite where two objects that are said to be far are in one place."""

            def value(self, near, far):
                return near / far if far > 0.0 else np.inf

            def slopes(self, near, far):
                return 1.0 / far, -near / far**2

        start = np.random.default_rng(0).standard_normal((30, 2))
        start[1] = start[0]
        rows = noisy.train.rows
        others = rows[~np.isin(rows[:, [0, 2]], [0, 1]).all(axis=1)]
        answers = ct.Comparisons.from_triplets(np.insert(others, 100, [0, 5, 1], axis=0))
        objective = Objective(answers, Touchy())
        assert objective.at(start).value == np.inf > objective.estimate(start).value
        with pytest.raises(ValueError, match="not finite at the start"):
            ct.embed(answers, 2, loss=Touchy(), solver="polyak", start=start, epochs=0)

    @pytest.mark.usefixtures("judged_by_a_sample")
    def test_a_relay_of_relays_goes_on_where_values_begin_anew(self, noisy):
        """All comparisons may say more than a sample did: that is no epoch that did not pay."""
        inner = Relay(least=0.5, plenty=0.5)
        outer = Relay(least=1e-9, plenty=1e-9, first=inner, then=SGD())
        once, twice = (
            ct.embed(noisy.train, 2, solver=solver, seed=0, epochs=5, tolerance=None) for solver in (inner, outer)
        )
        handed_over = int(np.argmin(once.history.sample))
        before, after = once.history.objective[handed_over - 1 : handed_over + 1]
        assert after > before  # or the rest would prove nothing
        assert np.array_equal(twice.history.objective, once.history.objective)

    @pytest.mark.usefixtures("judged_by_a_sample")
    def test_after_an_exact_report_all_are(self, noisy):
        """A sample's word cannot be compared with that of all, so the good maps of the second solver would be lost."""
        solver = Relay(first=SVRG(), least=0.5, plenty=0.5, then=Polyak())
        result = ct.embed(noisy.train, 2, solver=solver, seed=0, epochs=8, tolerance=None)
        assert not result.history.sample.any()
        assert result.record.objective == result.history.objective.min()
        assert result.best_epoch > 5

    def test_the_second_solver_starts_from_the_best_map_of_the_first(self, noisy):
        class UpAgain(ct.solvers.Solver):
            """Reports a good map, then, in the same array, a bad one."""

            def run(self, objective, start, rng, monitor):
                x = start.copy()
                stop = monitor(x)
                x[:] = ct.embed(noisy.train, seed=0, epochs=5).embedding
                stop = stop or monitor(x, gradients=1)
                x[:] = rng.standard_normal(x.shape)
                monitor(x, gradients=1)

        class Watch(SVRG):
            def run(self, objective, start, rng, monitor, state=None):
                handed.append((start, len(maps)))
                return super().run(objective, start, rng, monitor, state)

        handed, maps = [], []
        ct.embed(noisy.train, 2, solver=Relay(first=UpAgain(), then=Watch()), seed=0, epochs=12, tolerance=None,
                 callback=lambda record, x: maps.append(x))  # fmt: skip
        ((start, n_reports),) = handed
        assert n_reports == 3
        assert np.array_equal(start, maps[1])

    def test_a_small_start_is_not_taken_for_the_end(self):
        """With few answers the first epochs gain little, since objects are nearly in one place: no hand-over yet."""
        few = ct.datasets.synthetic(40, 2, 60, 10, seed=0).train
        start = 1e-3 * np.random.default_rng(0).standard_normal((40, 2))
        relay, alone = (
            ct.embed(few, 2, solver=solver, start=start, seed=0, epochs=4, tolerance=None).history.objective
            for solver in (Relay(), Polyak())
        )
        hardly_better = relay > 0.99 * math.log(2)
        assert hardly_better[1]
        assert (relay == alone)[: hardly_better.sum() + 1].all()

    def test_the_map_handed_over_is_reported_once(self, noisy):
        result = ct.embed(noisy.train, 2, solver=Relay(), seed=0, epochs=10, tolerance=None)
        assert [record.epoch for record in result.history] == list(range(11))
        assert (np.diff(result.history.gradients) >= 2 * len(noisy.train)).all()

    def test_any_solver_can_be_the_first(self, noisy):
        fits = [ct.embed(noisy.train, 2, solver=solver, seed=0, epochs=30, tolerance=None)
                for solver in (Relay(first=SGD(), least=0.05), SGD())]  # fmt: skip
        assert fits[0].history.objective[1] == fits[1].history.objective[1]
        assert fits[0].history.objective[-1] < fits[1].history.objective[-1]

    @pytest.mark.parametrize("solvers", [{"first": "sgd"}, {"then": SVRG}])
    def test_what_is_no_solver_is_refused(self, solvers):
        with pytest.raises(ValueError, match=f"{next(iter(solvers))} is .*; it must be a solver"):
            Relay(**solvers)

    @pytest.mark.parametrize("name", ["least", "plenty", "enough"])
    def test_bad_shares_are_refused(self, name):
        with pytest.raises(ValueError, match=f"{name} is -1"):
            Relay(**{name: -1.0})

    def test_a_batch_too_large_for_the_second_solver_is_an_error_at_once(self, noisy):
        with pytest.raises(ValueError, match="batch_size is 6001"):
            ct.embed(noisy.train, 2, solver=Relay(then=SVRG(batch_size=6001)), epochs=1)

    def test_it_needs_fewer_epochs_than_svrg_alone(self, clean):
        errors = {name: ct.embed(clean.train, 3, solver=name, seed=0, epochs=4).history.train_error[-1]
                  for name in ("relay", "svrg-sbb")}  # fmt: skip
        assert errors["relay"] < 0.75 * errors["svrg-sbb"]


class TestPolyak:
    def test_it_is_prepared_once_for_all_data_of_a_kind(self):
        """Few answers, then more: the second fit compiles nothing, which would be on its clock."""

        class Plain(ct.Loss):
            def value(self, near, far):
                return 1.0 + near / (1.0 + near + far)

            def slopes(self, near, far):
                return (1.0 + far) / (1.0 + near + far) ** 2, -near / (1.0 + near + far) ** 2

        answers = ct.datasets.synthetic(30, 2, 3_000, 10, seed=0).train
        compiled = (kernels.best_scale, kernels.polyak_stretches, kernels.in_turn)
        for few, n_new in ((400, {0, 1}), (3_000, {0})):
            before = [len(kernel.signatures) for kernel in compiled]
            ct.embed(answers.take(slice(few)), 2, loss=Plain(), solver="polyak", epochs=2, seed=0)
            assert {len(kernel.signatures) - old for kernel, old in zip(compiled, before, strict=True)} <= n_new

    def test_contradicting_answers_do_not_keep_it_from_settling(self, noisy):
        history = ct.embed(noisy.train, 2, solver="polyak", seed=0, epochs=40, tolerance=None).history
        best = ct.embed(noisy.train, 2, solver="lbfgs", seed=0, epochs=300).history.objective.min()
        assert history.objective[-1] < 1.01 * best
        assert history.step[-1] < 0.2 * history.step[1]

    @pytest.mark.parametrize("most", [1.5, 1e9])
    def test_an_epoch_by_its_description(self, clean, most):
        """Steps along single comparisons, bounded and becoming shorter; their weighted mean, scaled after each pass."""
        loss, rows, n_objects = ct.losses.TSTE(alpha=2.0), clean.train.rows, 60
        start = 0.1 * np.random.default_rng(5).standard_normal((n_objects, 3))
        start -= start.mean(axis=0)
        options = {"share": 0.2, "longest": most, "reach": 30.0, "passes": 3, "lateness": 2.0, "enough": 10.0,
                   "roomy": 20.0}  # fmt: skip
        maps = []
        ct.embed(clean.train, 3, loss=loss, solver=Polyak(**options), start=start, seed=9, epochs=1, tolerance=None,
                 callback=lambda record, x: maps.append(x))  # fmt: skip

        sample = np.sort(np.floor(6_000 * (np.arange(512) * (np.sqrt(5) - 1) / 2 % 1)).astype(int))

        def cost(x):
            return reference.value(loss, rows[sample], x)  # some five hundred tell the size

        (rng,) = np.random.default_rng(9).spawn(1)
        # For two passes, 20 * 60 * 8 comparisons, the map has five more dimensions, in which it begins at random too.
        x = np.hstack([start, np.sqrt(np.mean(start**2)) * rng.standard_normal((n_objects, 5))])
        visited, weights, scales = [], [], []
        distance = 2.0 * x.var(axis=0).sum()
        t = 0
        # 6,000 answers are few: they are walked in four stretches a pass.
        for order in visits("shuffled", rng, Objective(clean.train, loss), 3 * len(rows), 1, 1_500):
            t += len(order)
            bound = min(most, 0.2 / max(np.abs(loss.slopes(distance, distance))))
            longest = bound * min(1.0, np.sqrt(30.0 * n_objects / t))
            x, distance = reference.polyak_pass(loss, rows, x, order, longest, together=16)
            visited.append(x)
            weights.append(math.comb(len(visited) + 1, 2))  # grows like the square of the number: lateness is 2
            mean = np.average(visited, axis=0, weights=weights)
            if t == 2 * len(rows):
                centre = mean.mean(axis=0)
                axes = np.linalg.svd(mean - centre)[2][:3].T
                x, mean, *visited = ((place - centre) @ axes for place in (x, mean, *visited))
                distance = 2.0 * np.mean(np.sum(x**2, axis=1))
            if t % len(rows) == 0:
                sizes = 2.0 ** (np.arange(-4, 9) / 4)
                heights = np.array([cost(size * mean) for size in sizes])
                asked = 0.02 * min(cost(mean), np.log(2.0) - cost(mean)) * np.log(sizes) ** 2
                best = np.argmin(heights + asked)
                scale = sizes[best]
                if scale > 1:  # of what that gains, as much as the answers are enough for; in between a line will do
                    goal = cost(mean) - (1 - 10.0 * 180 / 6_000) * (cost(mean) - heights[best])
                    after = np.flatnonzero((sizes > 1) & (heights <= goal))[0]
                    part = (heights[after - 1] - goal) / (heights[after - 1] - heights[after])
                    scale = sizes[after - 1] + part * (sizes[after] - sizes[after - 1])
                scales.append(scale)
                x, visited, distance = scale * x, [scale * place for place in visited], scale**2 * distance
        assert max(scales) > 1.0  # otherwise this would not say much
        expected = np.average(visited, axis=0, weights=weights)  # but for the signs of its axes
        np.testing.assert_allclose(pdist(maps[1]), pdist(expected), rtol=1e-3)

    @pytest.mark.parametrize("caution", [0.0, 5.0])
    @pytest.mark.parametrize("n_answers", [600, 6_000])
    def test_steps_become_shorter_where_many_answers_contradict_each_other(self, noisy, caution, n_answers):
        """After the first epoch, by what is left of the loss; that of gnmds has a slope of 1, and is 1 at first."""
        history = ct.embed(noisy.train.take(slice(n_answers)), 2, loss="gnmds", solver=Polyak(caution=caution), seed=0,
                           epochs=2, tolerance=None).history  # fmt: skip
        left = history.objective[1]
        plenty = max(0.0, 1.0 - max(11.0, 4.0 / (1.0 - left)) * 60 / n_answers)
        first = max(2 * n_answers, 5 * 600)  # where answers are few, more dimensions make it longer
        age = first * (1.0 + caution * plenty * left) + 2 * n_answers
        assert history.step[2] == pytest.approx(0.1 * np.sqrt(10.0 * 30 / age), rel=1e-3)

    @pytest.mark.parametrize(
        ("value", "ignorance", "n_answers", "expected"),
        [(0.4, 0.8, 2_200, 1 + 3 * 0.5 * (1 - 11 * 100 / 2_200)),
         (0.72, 0.8, 8_000, 1 + 3 * 0.9 * (1 - 40 * 100 / 8_000)),
         (0.4, 0.8, 1_000, 1.0), (0.72, 0.8, 3_000, 1.0), (0.8, 0.8, 8_000, 1.0), (0.9, 0.8, 8_000, 1.0),
         (-0.1, 0.8, 8_000, 1.0), (-0.5, -0.1, 8_000, 1.0), (-0.1, 0.0, 8_000, 1.0), (0.4, np.nan, 8_000, 1.0)],
    )  # fmt: skip
    def test_steps_stay_as_they_are_unless_many_answers_and_much_is_learned(
        self, value, ignorance, n_answers, expected
    ):
        objective = SimpleNamespace(ignorance=ignorance, n_terms=n_answers)
        now = Point(np.zeros((50, 2)), value, np.zeros((50, 2)))
        assert Polyak(caution=3.0)._slower(objective, now) == pytest.approx(expected)

    def test_a_first_epoch_that_is_taken_back_leaves_nothing_behind(self, noisy, monkeypatch):
        """Not even how far apart objects were in more dimensions."""
        walk, estimate, ways, points = Objective.descend_by_polyak, Objective.estimate, [], []

        def noting(self, order, length, pace, way, *maps):
            ways.append(way)
            return walk(self, order, length, pace, way, *maps)

        def spoiling(self, x):
            points.append(x)
            now = estimate(self, x)
            return now if len(points) != 2 else dataclasses.replace(now, value=np.inf)

        monkeypatch.setattr(Objective, "descend_by_polyak", noting)
        monkeypatch.setattr(Objective, "estimate", spoiling)
        start = np.random.default_rng(0).standard_normal((30, 2))
        start -= start.mean(axis=0)
        ct.embed(noisy.train, 2, solver="polyak", start=start, seed=0, epochs=2, tolerance=None)
        first, second = (way for way in ways if not way.age), (way for way in ways if way.age == 8 * 6_000)
        assert next(second).distance == pytest.approx(2.0 * np.mean(np.sum(start**2, axis=1)), rel=1e-5)
        assert max(way.distance for way in first) > 5.0  # in eight dimensions

    def test_any_amount_of_caution_can_be_counted(self, noisy):
        result = ct.embed(noisy.train, 2, solver=Polyak(caution=1e300), seed=0, epochs=3, tolerance=None)
        assert result.history.step[2] < 1e-6 * result.history.step[1]

    def test_where_a_map_lies_does_not_matter(self, clean):
        """Far from 0, single precision tells numbers apart that differ by a millionth of that."""
        start = 0.1 * np.random.default_rng(5).standard_normal((60, 3))
        options = {"solver": "polyak", "seed": 1, "epochs": 3, "tolerance": None}
        here = ct.embed(clean.train, 3, start=start, **options).history
        there = ct.embed(clean.train, 3, start=start + 1e6, **options).history
        np.testing.assert_allclose(there.objective, here.objective, rtol=1e-3)

    def test_maps_too_large_for_single_precision_are_left_as_they_are(self, clean):
        start = 1e50 * np.random.default_rng(5).standard_normal((60, 3))
        result = ct.embed(clean.train, 3, loss="ckl", solver="polyak", start=start, seed=1, epochs=3)
        np.testing.assert_array_equal(result.embedding, start)

    def test_a_map_that_is_worse_than_none_is_not_shrunk(self):
        """It would become smaller and smaller, since that is always better, and never right."""

        class Tanh(ct.Loss):
            def value(self, near, far):
                return np.tanh(near - far)

            def slopes(self, near, far):
                slope = 1.0 - np.tanh(near - far) ** 2
                return slope, -slope

        start = np.array([[0.0], [2.0], [1.0]])  # 1 is the far one
        sizes = []
        ct.embed([[0, 1, 2]], 1, loss=Tanh(), solver=Polyak(longest=1e-6, roomy=None), start=start, epochs=10,
                 tolerance=None, seed=0, callback=lambda record, x: sizes.append(np.ptp(x)))  # fmt: skip
        assert min(sizes) > 1.0

    def test_few_answers_do_not_enlarge_the_map(self):
        few, many = (ct.datasets.synthetic(40, 3, n, 10, seed=0).train for n in (1_000, 5_000))
        sizes = {
            (answers, enough): np.linalg.norm(
                ct.embed(rows, 3, loss="gnmds", solver=Polyak(enough=enough), seed=0, epochs=3).embedding
            )
            for answers, rows in (("few", few), ("many", many))
            for enough in (11.0, 1e9)  # 1e9: no answers are enough
        }
        assert sizes["few", 11.0] == sizes["few", 1e9]
        assert sizes["many", 11.0] > 1.5 * sizes["many", 1e9]

    @pytest.mark.parametrize("unit", [0.01, 100.0])
    def test_units_of_distance_do_not_matter(self, clean, unit):
        """A loss that takes its distances in other units leads to the same map in those units."""

        class Scaled(ct.losses.STE):
            unit: float = 1.0

            def value(self, near, far):
                return np.log(1.0 + np.exp(min(self.unit * (near - far), 700.0)))

            def slopes(self, near, far):
                slope = self.unit / (1.0 + np.exp(min(self.unit * (far - near), 700.0)))
                return slope, -slope

        start = 0.1 * np.random.default_rng(5).standard_normal((60, 3))
        options = {"solver": Polyak(longest=1e9), "seed": 1, "epochs": 3, "tolerance": None}
        plain = ct.embed(clean.train, 3, loss=Scaled(), start=start, **options)
        other = ct.embed(clean.train, 3, loss=Scaled(unit=unit), start=start / np.sqrt(unit), **options)
        np.testing.assert_allclose(other.embedding * np.sqrt(unit), plain.embedding, rtol=1e-3, atol=1e-4)

    def test_the_stretches_between_maps_are_alike(self, monkeypatch):
        """A short one at the end would weigh as much as the others, and say how far apart pairs are."""
        lengths = []
        walk = Objective.descend_by_polyak

        def noting(self, order, length, *rest):
            lengths.extend(len(order[first : first + length]) for first in range(0, len(order), length))
            return walk(self, order, length, *rest)

        monkeypatch.setattr(Objective, "descend_by_polyak", noting)
        ct.embed(ct.datasets.synthetic(30, 2, 5_003, 10, seed=0).train, solver="polyak", seed=0, epochs=1)
        visited = [length for length in lengths if length > 1]  # one is walked before the clock starts
        assert sum(visited) == 2 * 5_003
        assert min(visited) > 0.9 * max(visited)

    def test_its_epochs_know_objective_and_error_but_not_the_gradient(self, clean):
        result = ct.embed(clean.train, 3, solver="polyak", seed=0, epochs=2, tolerance=None)
        point = Objective(clean.train, ct.losses.STE()).at(result.embedding)
        assert (result.record.objective, result.record.train_error) == pytest.approx((point.value, point.error))
        assert np.isnan(result.history.gradient_norm).all()

    @pytest.mark.parametrize(
        "options",
        [
            {"longest": 0},
            {"reach": -1.0},
            {"passes": 0},
            {"lateness": float("nan")},
            {"share": 0},
            {"enough": 0.0},
            {"roomy": 0.0},
            {"caution": -1.0},
        ],
    )
    def test_bad_options_are_named(self, options):
        (name,) = options
        with pytest.raises(ValueError, match=f"{name} is"):
            Polyak(**options)

    def test_a_loss_below_zero_takes_bounded_steps(self, noisy):
        class Sunk(ct.losses.STE):
            def value(self, near, far):
                return np.log(1.0 + np.exp(min(near - far, 700.0))) - 10.0

        result = ct.embed(noisy.train, 2, loss=Sunk(), solver="polyak", seed=0, epochs=5)
        assert result.record.train_error < 0.4


class TestGuardedSVRG:
    def test_it_goes_back_where_an_epoch_raised_the_objective(self, noisy):
        wild = SVRG(step=ct.solvers.Constant(0.5), guarded=True)
        history = ct.embed(noisy.train, 2, loss="gnmds", solver=wild, seed=0, epochs=30, tolerance=None).history
        back = np.flatnonzero(np.diff(history.objective[:-1]) == 0)
        assert back.size  # the step was too long, or nothing was tested
        np.testing.assert_allclose(history.step[back + 2], history.step[back + 1] / 4)
        assert (np.diff(history.objective) <= 0.1 * history.objective[:-1]).all()
        assert history.objective[-1] < Objective(noisy.train, ct.losses.GNMDS()).ignorance

    def test_without_the_guard_the_same_steps_diverge(self, noisy):
        wild = SVRG(step=ct.solvers.Constant(0.5))
        assert (
            ct.embed(noisy.train, 2, loss="gnmds", solver=wild, seed=0, epochs=30, tolerance=None).stopped_by
            == "diverged"
        )
