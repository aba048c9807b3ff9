"""Lock-free steps: equal to ordinary ones where threads cannot meet, and as good where they can."""

import numpy as np
import pytest
from conftest import leg_of

import closerthan as ct
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.objective.protocol import StepSchedule
from closerthan.solvers import Hogwild, Polyak

SCHEDULE = StepSchedule(share=0.1, reach=5_000.0, lateness=4.0)


@pytest.fixture(scope="module")
def data():
    return ct.datasets.synthetic(500, 3, 60_000, 10_000, flipped=0.05, seed=3)


@pytest.fixture(scope="module")
def ordinary(data):
    return ct.embed(data.train, 3, loss="ste", penalty=0, epochs=4, tolerance=None, seed=0)


def error(data, solver, device, answers=None, **options):
    result = ct.embed(
        data.train if answers is None else answers, 3, loss="ste", penalty=0, solver=solver, epochs=4, tolerance=None,
        seed=0, device=device, **options,
    )  # fmt: skip
    return ct.triplet_error(data.test, result.embedding)


def test_few_answers_give_the_bits_of_the_default_solver(data):
    few = data.train.take(slice(5_000))
    maps = [
        ct.embed(few, 3, loss="ste", penalty=0, solver=solver, seed=1, epochs=3).embedding
        for solver in ("polyak", "hogwild")
    ]
    assert np.array_equal(*maps)


def test_one_thread_gives_the_same_bits_every_time(data):
    device = CPU(1, least_part=500)
    maps = [
        ct.embed(data.train, 3, loss="ste", penalty=0, solver="hogwild", epochs=2, device=device).embedding
        for _ in range(2)
    ]
    assert np.array_equal(*maps)


@pytest.mark.parametrize("n_threads", [1, 2, 16])
def test_any_number_of_threads_is_as_good_as_the_default_solver(data, ordinary, n_threads):
    expected = ct.triplet_error(data.test, ordinary.embedding)
    assert error(data, "hogwild", CPU(n_threads, least_part=500)) == pytest.approx(expected, abs=0.004)


def test_weights_count_in_all_threads(data):
    opposite = data.train.rows[:, [0, 2, 1]]
    weights = np.repeat([1.0, 0.01], len(opposite))
    both = ct.Comparisons(np.concatenate([data.train.rows, opposite]), 500, weights=weights)
    assert error(data, "hogwild", CPU(4, least_part=500), both) < 0.1


def test_answers_in_blocks_are_fitted_as_well(data, ordinary, tmp_path):
    np.save(tmp_path / "a.npy", data.train.rows)
    mapped = ct.Comparisons(np.load(tmp_path / "a.npy", mmap_mode="r"), 500)
    device = CPU(4, least_part=500, stream_from=1, block_bytes=12 * 25_000)
    expected = ct.triplet_error(data.test, ordinary.embedding)
    assert error(data, "hogwild", device, mapped) == pytest.approx(expected, abs=0.004)


def test_threads_that_never_meet_take_the_steps_of_one_thread(data, rng):
    """The first half of the order is about the first 250 objects, the second half about the others."""
    group = data.train.rows // 250
    rows = [np.flatnonzero((group == number).all(axis=1))[:6_400] for number in (0, 1)]
    order, start = np.concatenate(rows), 0.3 * rng.standard_normal((500, 3))
    walks = []
    for n_threads in (1, 2):
        with CPUObjective(data.train, LOSSES["ste"](), n_threads=n_threads, least_part=1_000) as objective:
            walk = objective.lock_free_walk(start, SCHEDULE, len(order))
            assert walk.n_walkers == n_threads
            walk.take(leg_of(order))
            walks.append(walk)
    assert np.array_equal(walks[0].rows, walks[1].rows)
    assert np.array_equal(walks[0].mean, walks[1].mean)
    assert walks[0].distance == pytest.approx(walks[1].distance, rel=1e-12)


def test_one_thread_takes_the_steps_of_an_ordinary_walk(data, rng):
    order, start = rng.permutation(60_000)[:8_000], 0.3 * rng.standard_normal((500, 3))
    with (
        CPUObjective(data.train, LOSSES["ste"](), least_part=10**9) as whole,
        CPUObjective(data.train, LOSSES["ste"](), least_part=1_000) as objective,
    ):
        expected, walk = whole.polyak_walk(start, SCHEDULE, 4_000), objective.lock_free_walk(start, SCHEDULE, 4_000)
        for one in (expected, walk):
            one.take(leg_of(order))
    assert np.array_equal(walk.rows, expected.rows)
    np.testing.assert_allclose(walk.mean, expected.mean, rtol=1e-12, atol=1e-14)
    assert (walk.age, walk.n_maps, walk.step) == (expected.age, expected.n_maps, expected.step)


@pytest.mark.parametrize(("n_objects", "n_walkers"), [(20, 1), (255, 1), (256, 2), (1_000, 7), (2_100, 16)])
def test_few_objects_are_moved_by_few_threads(n_objects, n_walkers, rng):
    answers = ct.datasets.synthetic(n_objects, 2, 20 * n_objects, 1, seed=0).train
    with CPUObjective(answers, LOSSES["ste"](), n_threads=16, least_part=100) as objective:
        assert objective.lock_free_walk(np.zeros((n_objects, 2)), SCHEDULE, 400).n_walkers == n_walkers


@pytest.mark.parametrize("loss", LOSSES)
def test_more_threads_than_cores_do_not_diverge_with_few_objects(loss):
    few = ct.datasets.synthetic(20, 2, 2_000, 5_000, seed=0)
    maps = [
        ct.embed(
            few.train, loss=loss, penalty=0, solver=solver, epochs=10, seed=0, device=CPU(16, least_part=50)
        ).embedding
        for solver in ("polyak", "hogwild")
    ]
    errors = [ct.triplet_error(few.test, x) for x in maps]
    assert errors[1] < errors[0] + 0.01


def test_it_has_the_parameters_of_the_default_solver():
    assert Hogwild(passes=3, reach=5.0).passes == Polyak(passes=3).passes
    with pytest.raises(ValueError, match="passes"):
        Hogwild(passes=0)
    assert Hogwild() != Polyak()


def test_it_is_saved_by_its_name():
    settings = ct.Settings(solver="hogwild")
    assert settings.to_data()["solver"]["name"] == "hogwild"
    assert ct.Settings.from_data(settings.to_data()).solver == Hogwild()
