"""embed: stopping, best snapshots, starts, threads, interruption."""

import _thread
import concurrent.futures
import dataclasses
import functools
import itertools
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import closerthan as ct
from closerthan import Comparisons
from closerthan.fit.progress import compile_notice
from closerthan.fit.stopping import Limits
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.devices import device_named
from closerthan.solvers import SVRG, StabilizedBB

embed = functools.partial(ct.embed, loss="ste", penalty=0)  # how a loss is chosen is tested elsewhere


@pytest.fixture
def noisy():
    return ct.datasets.synthetic(30, 3, 1500, 500, flipped=0.2, seed=1)


class TestStopping:
    def test_by_tolerance(self, noisy):
        result = embed(noisy.train, seed=0, epochs=1000, tolerance=1e-2)
        assert result.stopped_by == "tolerance"
        best = np.minimum.accumulate(result.history.objective)
        assert best[-4] - best[-1] <= 1e-2 * (np.log(2) - best[-4])

    def test_by_a_held_out_share(self, noisy):
        result = embed(noisy.train, 8, seed=0, epochs=1000, tolerance=None, validation=0.2)
        assert result.stopped_by == "validation"
        errors = result.history.validation_error
        assert 1 + errors[1:].argmin() == len(result.history) - 1 - Limits(0).patience
        assert result.best_record.validation_error == result.history.validation_error.min()

    def test_by_given_comparisons(self, noisy):
        result = embed(noisy.train, 8, seed=0, epochs=1000, tolerance=None, validation=noisy.test)
        assert result.stopped_by == "validation"
        assert ct.triplet_error(noisy.test, result.embedding) == result.history.validation_error.min()

    def test_early_stopping_beats_running_on_where_answers_are_few_and_noisy(self):
        data = ct.datasets.synthetic(200, 5, 2000, 8000, flipped=0.1, seed=0)
        validation, test = data.test.take(slice(4000)), data.test.take(slice(4000, None))
        early = embed(data.train, 5, seed=0, tolerance=None, validation=validation)
        late = embed(data.train, 5, seed=0, tolerance=None)
        assert ct.triplet_error(test, early.embedding) < ct.triplet_error(test, late.embedding) - 0.005

    def test_by_time(self, noisy, monkeypatch):
        """After the first epoch that ends past the limit; on a clock that moves by ten seconds per epoch."""
        clock = [0.0]
        monkeypatch.setattr("closerthan.fit.monitor.time.perf_counter", lambda: clock[0])

        def tick(record, x):
            clock[0] += 10.0

        options = {"seed": 0, "epochs": 100, "tolerance": None}
        result = embed(noisy.train, **options, callback=tick, time_limit=35.0)
        assert (result.stopped_by, len(result.history)) == ("time_limit", 4)
        assert np.array_equal(result.embedding, embed(noisy.train, **{**options, "epochs": 3}).embedding)

    @pytest.mark.parametrize("solver", ct.solvers.SOLVERS)
    def test_by_time_in_the_middle_of_an_epoch(self, solver, monkeypatch):
        """On a clock that moves by a second whenever it is read: wherever the limit is, there is a map."""
        answers = ct.datasets.synthetic(20, 2, 40_000, 10, flipped=0.1, seed=0).train
        whole = embed(answers, solver=solver, seed=0, epochs=3, tolerance=None)
        readings = itertools.count()
        monkeypatch.setattr("closerthan.fit.monitor.time.perf_counter", lambda: float(next(readings)))
        cut = set()
        for limit in (4.0, 8.0, 14.0, 21.0, 31.0):
            result = embed(answers, solver=solver, seed=0, epochs=3, tolerance=None, time_limit=limit)
            assert np.isfinite(result.embedding).all()
            assert result.best_record.objective <= whole.history.objective[0]
            if result.stopped_by == "time_limit":
                n_whole = len(result.history) - 1  # the last one may be cut, all before are whole
                assert np.array_equal(result.history.objective[:n_whole], whole.history.objective[:n_whole])
                cut.add(bool(result.history.gradients[-1] < whole.history.gradients[n_whole]))
        if solver in ("polyak", "svrg-sbb", "sgd"):  # an epoch of the others is a single gradient, or a few
            assert True in cut

    @pytest.mark.parametrize("validation", [None, 0.2])
    def test_an_epoch_that_was_cut_is_not_kept_in_a_checkpoint(self, validation, tmp_path, monkeypatch):
        answers = ct.datasets.synthetic(20, 2, 40_000, 10, flipped=0.1, seed=0).train
        asked = {"seed": 0, "epochs": 4, "tolerance": None, "validation": validation}
        whole = embed(answers, **asked)
        with monkeypatch.context() as patched:
            readings = itertools.count()
            patched.setattr("closerthan.fit.monitor.time.perf_counter", lambda: float(next(readings)))
            cut = embed(answers, **asked, time_limit=14.0, checkpoint=tmp_path / "state")
        assert cut.stopped_by == "time_limit"
        assert 1 < len(cut.history) < 5
        on = embed(answers, **asked, checkpoint=tmp_path / "state", resume=True)
        assert np.array_equal(on.embedding, whole.embedding)

    def test_by_callback_which_sees_record_and_map(self, noisy):
        seen = []
        embed(noisy.train, seed=0, callback=lambda record, x: seen.append((record.epoch, x.shape)), epochs=3)
        assert seen == [(0, (30, 2)), (1, (30, 2)), (2, (30, 2)), (3, (30, 2))]

    def test_zero_epochs_return_the_start(self, noisy):
        start = np.ones((30, 2))
        assert np.array_equal(embed(noisy.train, start=start, epochs=0).embedding, start)

    def test_by_divergence_with_the_best_snapshot_kept(self, noisy):
        result = embed(noisy.train, solver=SVRG(step=ct.solvers.Constant(1e3)), seed=0)
        assert result.stopped_by == "diverged"
        assert np.isfinite(result.embedding).all()
        assert result.best_record.objective == np.nanmin(result.history.objective)

    def test_sbb0_diverges_where_sbb_does_not(self):
        data = ct.datasets.synthetic(200, 5, 2000, 1000, flipped=0.1, seed=4)
        tried = {name: [embed(data.train, 5, solver=name, seed=seed).stopped_by for seed in range(5)]
                 for name in ("svrg-sbb0", "svrg-sbb")}  # fmt: skip
        assert "diverged" in tried["svrg-sbb0"]
        assert "diverged" not in tried["svrg-sbb"]

    def test_ctrl_c_returns_the_best_map_so_far(self, noisy):
        def interrupt(record, x):
            if record.epoch == 3:
                _thread.interrupt_main()

        result = embed(noisy.train, seed=0, epochs=10**6, tolerance=None, callback=interrupt)
        assert result.stopped_by == "interrupted"
        assert len(result.history) >= 4
        assert np.isfinite(result.embedding).all()

    def test_ctrl_c_ends_several_starts(self, noisy):
        once = threading.Lock()

        def interrupt(record, x):
            if record.epoch == 3 and once.acquire(blocking=False):
                _thread.interrupt_main()

        endless = {"solver": "svrg", "epochs": 10**6, "tolerance": None}
        result = embed(noisy.train, seed=0, **endless, callback=interrupt, n_starts=3)
        assert result.stopped_by == "interrupted"

    def test_starts_that_never_began_are_interrupted_too(self, noisy):
        def interrupt(record, x):
            if record.epoch == 3:
                _thread.interrupt_main()

        result = embed(noisy.train, seed=0, epochs=10**6, tolerance=None, callback=interrupt, n_starts=3, n_threads=1)
        assert [end.stopped_by for end in result.starts] == ["interrupted"] * 3
        assert result.best_start == 0

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
    @pytest.mark.parametrize(
        "solver", ["polyak", *[pytest.param(solver, marks=pytest.mark.slow) for solver in ("svrg-sbb", "sgd", "lbfgs")]]
    )
    def test_ctrl_c_at_any_moment(self, solver):
        """Run in a separate process, because a crash in compiled code would end this one.

        The answers are so noisy and so many that no solver converges before the last alarm: an alarm after the fit
        has returned would rightly raise KeyboardInterrupt.
        """
        script = f"""
import signal
import closerthan as ct
answers = ct.datasets.synthetic(500, 3, 50_000, 10, flipped=0.3, seed=0).train
endless = {{"loss": "ste", "penalty": 0, "solver": {solver!r}, "seed": 0, "epochs": 10**6, "tolerance": None}}
ct.embed(answers, 3, **{{**endless, "epochs": 3}})
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
for attempt in range(40):
    def set_alarm(record, x):
        if record.epoch == 0:  # before the first epoch there is no map to lose
            signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.0007 * attempt)
    result = ct.embed(answers, 3, **endless, callback=set_alarm)
    assert result.stopped_by == "interrupted", result.stopped_by
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.returncode, done.stderr)


class TestCallbacks:
    @pytest.mark.parametrize("solver", ct.solvers.SOLVERS)
    def test_a_callback_may_keep_and_change_the_map(self, noisy, solver):
        seen, kept = [], []

        def spoil(record, x):
            seen.append(x.copy())
            x[:] = 0.0

        spoilt = embed(noisy.train, solver=solver, seed=0, epochs=4, tolerance=None, callback=spoil)
        plain = embed(noisy.train, solver=solver, seed=0, epochs=4, tolerance=None,
                         callback=lambda record, x: kept.append(x))  # fmt: skip
        assert np.array_equal(spoilt.embedding, plain.embedding)
        assert np.array_equal(seen, kept)

    @pytest.mark.parametrize("n_starts", [1, 3])
    def test_an_error_in_a_callback_ends_the_fit(self, noisy, n_starts):
        def fail(record, x):
            if record.epoch == 2:
                raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            embed(noisy.train, seed=0, epochs=10**6, tolerance=None, callback=fail, n_starts=n_starts)


class TestStarts:
    def test_the_best_is_kept_and_named(self, noisy):
        result = embed(noisy.train, seed=0, n_starts=5, epochs=10)
        objectives = [start.objective for start in result.starts]
        assert len(objectives) == 5
        assert result.best_start == int(np.argmin(objectives))
        assert result.best_record.objective == min(objectives)

    def test_held_out_error_decides_if_there_is_one(self, noisy):
        result = embed(noisy.train, seed=0, n_starts=5, epochs=10, validation=0.2)
        assert result.best_record.validation_error == min(start.validation_error for start in result.starts)


class TestThreads:
    @pytest.mark.parametrize("solver", [*ct.solvers.SOLVERS, SVRG(batch_size=20_000)], ids=str)
    def test_the_same_bits_for_any_number_of_threads(self, solver):
        data = ct.datasets.synthetic(50, 3, 60_000, 10, seed=0)
        device = CPU(least_part=1_000)
        maps = [
            embed(data.train, 3, solver=solver, seed=5, epochs=3, device=device, n_threads=n).embedding
            for n in (1, 2, 3, 7)
        ]
        for other in maps[1:]:
            assert np.array_equal(maps[0], other)

    def test_the_same_bits_where_two_threads_share_a_walk(self):
        data = ct.datasets.synthetic(50, 3, 60_000, 10, seed=0)
        maps = [embed(data.train, 3, seed=5, device=CPU(n, least_part=200)).embedding for n in (1, 2, 3, 7)]
        for other in maps[1:]:
            assert np.array_equal(maps[0], other)

    def test_the_same_bits_for_several_starts(self, noisy):
        maps = [embed(noisy.train, seed=5, epochs=3, n_starts=4, n_threads=n).embedding for n in (1, 4)]
        assert np.array_equal(*maps)

    @pytest.mark.parametrize("solver", ["polyak", "svrg-sbb"])
    def test_the_same_bits_for_several_starts_that_share_workers(self, solver):
        answers = ct.datasets.synthetic(50, 3, 20_000, 10, seed=0).train
        options = {"solver": solver, "seed": 5, "epochs": 4, "n_starts": 4}
        results = [embed(answers, 3, **options, device=CPU(n, least_part=30)) for n in (1, 2, 4)]
        for other in results[1:]:
            assert np.array_equal(results[0].embedding, other.embedding)
            assert other.starts == results[0].starts

    def test_fits_in_several_python_threads_at_once(self, noisy):
        alone = embed(noisy.train, seed=3, epochs=5).embedding
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            maps = list(pool.map(lambda _: embed(noisy.train, seed=3, epochs=5, n_threads=2).embedding, range(16)))
        assert all(np.array_equal(alone, x) for x in maps)


class TestSolverOptions:
    def test_any_batch_size(self, noisy):
        for batch_size in (1, 2, 7, 100, 1499, 1500):
            result = embed(noisy.train, solver=SVRG(batch_size=batch_size), seed=0, epochs=10, tolerance=None)
            assert result.history.gradients[1] == 1500 + 2 * (1500 // batch_size) * batch_size
            assert result.best_record.objective < 0.69

    def test_a_batch_larger_than_the_data_is_an_error(self, noisy):
        with pytest.raises(ValueError, match="batch_size is 1501"):
            embed(noisy.train, solver=SVRG(batch_size=1501))

    @pytest.mark.parametrize(
        "options", [{"batch_size": 0}, {"draws": 1.5}, {"sampling": "sorted"}, {"output": "first"}]
    )
    def test_bad_options_are_refused(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            SVRG(**options)

    def test_draws_set_the_length_of_an_epoch(self, noisy):
        result = embed(noisy.train, solver=SVRG(draws=300), seed=0, epochs=1)
        assert result.history.gradients[1] == 1500 + 600

    def test_algorithm_2_begins_each_module_with_the_first_step(self, noisy):
        rule = StabilizedBB(first=1e-3)
        result = embed(noisy.train, solver=SVRG(step=rule, module_epochs=3), seed=0, epochs=7, tolerance=None)
        assert np.flatnonzero(result.history.step == 1e-3).tolist() == [1, 4, 7]

    def test_the_last_snapshot_is_returned_when_asked(self, noisy):
        seen = []
        solver = SVRG(output="last")
        result = embed(noisy.train, solver=solver, seed=0, epochs=30, tolerance=None,
                          callback=lambda record, x: seen.append(x.copy()))  # fmt: skip
        assert np.array_equal(result.embedding, seen[-1])

    def test_the_theorems_output_is_an_iterate_chosen_uniformly(self):
        """With one term per row, iterates can be told apart: each is at another point of a straight descent."""
        data = ct.datasets.synthetic(10, 1, 40, 10, seed=0)
        start = 0.1 * np.random.default_rng(0).standard_normal((10, 1))
        rule = ct.solvers.Constant(1e-6)  # so small that the k-th iterate is start - k * step * gradient
        gradient = embed(data.train, 1, start=start, solver=SVRG(step=rule, output="last"), epochs=1, tolerance=None)
        whole = np.linalg.norm(gradient.embedding - start)
        places = []
        for seed in range(400):
            solver = SVRG(step=rule, output="random")
            x = embed(data.train, 1, start=start, solver=solver, epochs=2, tolerance=None, seed=seed).embedding
            places.append(round(np.linalg.norm(x - start) / whole * 40))
        counts = np.bincount(places, minlength=81)
        assert counts[0] == 0
        assert counts[1:].sum() == 400
        expected = 400 / 80
        assert np.sum((counts[1:] - expected) ** 2 / expected) < 120  # chi-squared, 79 degrees of freedom, p < 0.002


def test_validation_comparisons_may_not_speak_of_unknown_objects(noisy):
    with pytest.raises(ValueError, match="too large for 30 objects"):
        embed(noisy.train, validation=[[0, 1, 40]])
    with pytest.raises(ValueError, match="is about 41 objects"):
        embed(noisy.train, validation=Comparisons.from_triplets([[0, 1, 40]], unmentioned="ignore"))


def test_settings_say_how_to_repeat_the_fit(noisy):
    options = {"seed": 4, "epochs": 30, "tolerance": 0.9, "validation": 0.25, "by": "comparisons", "n_starts": 3}
    result = ct.embed(noisy.train, 3, loss=ct.losses.TSTE(alpha=5.0), penalty=0, solver=SVRG(batch_size=7), **options)
    settings = {field.name: getattr(result.settings, field.name) for field in dataclasses.fields(result.settings)}

    def is_the_same(settings):
        again = ct.embed(noisy.train, **settings)
        return np.array_equal(again.embedding, result.embedding) and len(again.history) == len(result.history)

    assert is_the_same(settings)
    for name in ({"n_dims", "loss", "solver"} | set(options)) - {"epochs"}:  # each matters; it ended before these
        assert not is_the_same({other: value for other, value in settings.items() if other != name}), name
    short = ct.embed(noisy.train, loss="ste", penalty=0, seed=4, epochs=2, time_limit=100.0).settings
    assert (short.epochs, short.time_limit) == (2, 100.0)


def test_the_bar_is_drawn_on_the_error_stream(noisy, capsys):
    embed(noisy.train, seed=0, epochs=3, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "training error" in err


class TestDevices:
    def test_the_name_of_the_default_says_the_same(self, noisy):
        maps = [ct.embed(noisy.train, seed=0, epochs=2, **some).embedding for some in ({}, {"device": "cpu"})]
        assert np.array_equal(*maps)

    def test_an_unknown_name_is_refused(self, noisy):
        with pytest.raises(ValueError, match="unknown device 'tpu'; choose from: cpu"):
            ct.embed(noisy.train, device="tpu")

    @pytest.mark.parametrize("device", [3, None, CPU])
    def test_an_invalid_device_is_refused(self, noisy, device):
        with pytest.raises(ValueError, match=r"device is .*; it must be a device such as CPU\(\), or one of: cpu"):
            ct.embed(noisy.train, device=device, n_threads=1)

    @pytest.mark.parametrize("options", [{"n_threads": 0}, {"n_threads": 1.5}, {"least_part": 0}, {"least_part": 2.5}])
    def test_bad_options_are_refused(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            CPU(**options)

    def test_n_threads_wins_over_those_of_the_device(self):
        assert device_named(CPU(4, least_part=9), 2) == CPU(2, least_part=9)
        assert device_named(CPU(4, least_part=9), None) == CPU(4, least_part=9)


def test_a_long_compilation_is_announced_once_and_a_short_one_is_not(capsys):
    for seconds, after in ((0.3, 0.01), (0.0, 60.0)):
        began = threading.Event()
        with compile_notice(True, after=after):
            began.wait(seconds)
        said = capsys.readouterr().err
        assert ("compiling (once only)" in said) == (seconds > 0)


def test_a_validation_set_of_names_is_numbered_as_the_comparisons_are():
    names = np.array([f"n{number:02}" for number in range(12)])
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    train = ct.Comparisons.of(names[data.train.rows])
    some = data.test.rows[(data.test.rows != 0).all(axis=1)]  # one object is missing
    numbers = ct.Comparisons.of(some, n_objects=12, unmentioned="ignore")
    expected = ct.embed(train, loss="ste", penalty=0, seed=0, validation=numbers)
    found = ct.embed(train, loss="ste", penalty=0, seed=0, validation=names[some])
    assert np.array_equal(found.history.validation_error, expected.history.validation_error)
    with pytest.raises(ValueError, match="other names"):
        ct.embed(train, loss="ste", penalty=0, validation=ct.Comparisons.of(names[some]))
