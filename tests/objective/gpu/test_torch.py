"""The objective on a GPU, by Triton's interpreter on the CPU; with a GPU (`pytest -m cuda`) on that."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton")

import reference  # noqa: E402
from conftest import random_comparisons  # noqa: E402
from whole_answers import N_OBJECTS, some_answers  # noqa: E402

import closerthan as ct  # noqa: E402
from closerthan.comparisons import Choices, Comparisons  # noqa: E402
from closerthan.fit.likelihood import objective_of  # noqa: E402
from closerthan.losses import CKL, LOSSES, STE, TSTE, Loss, Penalized  # noqa: E402
from closerthan.objective.cpu.objective import CPU  # noqa: E402
from closerthan.objective.gpu.losses import triton_source  # noqa: E402
from closerthan.objective.gpu.objective import GPU, longest_step  # noqa: E402
from closerthan.objective.protocol import StepSchedule  # noqa: E402
from closerthan.objective.visits import Leg, ShuffledPass, Visits  # noqa: E402
from closerthan.settings import Settings  # noqa: E402
from closerthan.solvers.polyak import SCALES  # noqa: E402
from closerthan.solvers.visiting_order import visits  # noqa: E402

DEVICE = GPU("cuda" if HAS_GPU else "cpu")
# A GPU divides by 0 silently; NumPy, on which the interpreter runs, warns about it.
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), *([pytest.mark.cuda] if HAS_GPU else [])]


class Branches(Loss):
    """A loss with every kind of branch that a loss may have."""

    margin: float = 0.3
    power: float = 1.5

    def _violation(self, near, far):
        return max(near - far + self.margin, 0.0)

    def value(self, near, far):
        """Text that is no code."""
        violation = self._violation(near, far)
        if violation <= 0.0:
            return 0.0
        smooth = violation**2 / (1 + violation) if violation < 1.0 and far > 0 else violation - 0.5
        return smooth + math.log1p(near) * 0.1**3

    def slopes(self, near, far):
        violation = self._violation(near, far)
        curved = (2 * violation + violation**2) / (1 + violation) ** 2
        slope = (curved if violation < 1.0 and far > 0 else 1.0) if violation > 0 else 0.0
        return slope + (0.001 / (1 + near) if violation > 0 else 0.0), -slope


OTHER_LOSSES = {"own": Branches(), "penalized": Penalized(TSTE(alpha=2.0), 0.03)}


@pytest.fixture(params=[*LOSSES, *OTHER_LOSSES])
def loss(request):
    name = request.param
    return OTHER_LOSSES[name] if name in OTHER_LOSSES else LOSSES[name]().in_dims(3)


@pytest.fixture(params=["equal", "weighted"])
def answers(request, kind, rng):
    return random_comparisons(kind, rng, n_rows=40, weighted=request.param == "weighted")


def test_value_gradient_and_error_equal_the_reference(loss, answers, rng):
    x = rng.standard_normal((12, 3))
    point = DEVICE.objective(answers, loss).at(x)
    assert point.value == pytest.approx(reference.value(loss, answers.rows, x, answers.weights), rel=1e-7)
    np.testing.assert_allclose(
        point.gradient, reference.gradient(loss, answers.rows, x, answers.weights), rtol=1e-6, atol=1e-9
    )
    near, far = reference.squared_distances(answers.rows, x)
    assert point.error == pytest.approx(np.average(~(near < far), weights=answers.weights))
    assert DEVICE.objective(answers, loss).value(x).value == pytest.approx(point.value)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_the_same_penalty_as_on_the_cpu(name, answers, rng):
    loss, x = Penalized(LOSSES[name]().in_dims(3), 0.03), rng.standard_normal((12, 3))
    objective = DEVICE.objective(answers, loss)
    with CPU(n_threads=1, share_kernels=True).objective(answers, loss) as on_cpu:
        actual, expected = objective.at(x), on_cpu.at(x)
        assert actual.value == pytest.approx(expected.value, rel=1e-7)
        np.testing.assert_allclose(actual.gradient, expected.gradient, rtol=1e-6, atol=1e-9)
        assert objective.value(x).value == pytest.approx(expected.value, rel=1e-7)
        assert objective.scaled_losses(x, SCALES) == pytest.approx(on_cpu.scaled_losses(x, SCALES), rel=1e-7)
        assert objective.collapsed_objective == pytest.approx(on_cpu.collapsed_objective)
        assert objective.penalized
        assert on_cpu.penalized


@pytest.mark.parametrize("name", LOSSES)
def test_polyak_steps_with_a_penalty_are_those_of_the_cpu(name, rng):
    """Each comparison has its own objects, so the order of the steps does not matter."""
    answers = Comparisons(rng.permutation(120).reshape(40, 3).astype(np.int32), 120)
    start = rng.standard_normal((120, 3))
    start -= start.mean(axis=0)
    leg = Leg(ShuffledPass.draw(rng, 40), None, 40)

    def moved(device, weight):
        with device.objective(answers, Penalized(LOSSES[name]().in_dims(3), weight)) as objective:
            walk = objective.polyak_walk(start, StepSchedule(0.3, 1e9, 4.0), 40)
            walk.take(leg)
            return walk.state()["x"], walk.step

    (x, step), (expected, expected_step) = moved(DEVICE, 0.5), moved(CPU(n_threads=1, share_kernels=True), 0.5)
    assert step == pytest.approx(expected_step, rel=1e-5)
    np.testing.assert_allclose(x, expected, rtol=1e-4, atol=1e-5)
    assert np.abs(x - moved(DEVICE, 0.0)[0]).max() > 0.01


def test_two_weights_of_a_penalty_share_their_kernels(rng):
    answers = random_comparisons("triplets", rng)
    losses = [STE(), Penalized(STE(), 0.0), Penalized(STE(), 0.1), Penalized(STE(), 0.2)]
    first, *others = [DEVICE.objective(answers, loss) for loss in losses]
    for other in others:  # functions of the loss are constants of a kernel; other ones would compile it anew
        assert other.in_triton.value is first.in_triton.value
        assert other.in_triton.slopes is first.in_triton.slopes
    assert [objective.penalized for objective in (first, *others)] == [False, False, True, True]


def test_a_fit_with_a_penalty_ends_in_the_minimum_that_the_cpu_finds():
    data = ct.datasets.synthetic(8, 2, 60, 100, seed=1)
    last, expected = (
        ct.embed(data.train, 2, loss="ste", penalty=0.1, seed=0, start=data.points, epochs=6, device=device).history[-1]
        for device in (DEVICE, "cpu")
    )
    assert last.gradient_norm < 1e-5  # only the last phase of the solver computes gradients
    assert last.objective == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.parametrize("n_dims", [1, 2, 5, 10, 20])
def test_rows_of_any_width_are_padded(n_dims, rng):
    answers, loss = random_comparisons("triplets", rng), LOSSES["ste"]()
    x = rng.standard_normal((12, n_dims))
    point = DEVICE.objective(answers, loss).at(x)
    np.testing.assert_allclose(point.gradient, reference.gradient(loss, answers.rows, x), rtol=1e-6, atol=1e-9)


def test_the_held_out_error_is_that_of_the_held_out_answers(answers, rng):
    held_out = random_comparisons("triplets", rng, n_rows=77)
    x = rng.standard_normal((12, 3))
    near, far = reference.squared_distances(held_out.rows, x)
    objective = DEVICE.objective(answers, LOSSES["ste"](), held_out)
    assert objective.held_out_error(x) == pytest.approx(np.mean(~(near < far)))
    assert math.isnan(DEVICE.objective(answers, LOSSES["ste"]()).held_out_error(x))


@pytest.mark.parametrize("size", [0.05, 1.0, 20.0])
def test_the_best_scale_is_the_references(loss, answers, size, rng):
    x = size * rng.standard_normal((12, 3))
    expected = reference.best_scale(loss, answers.rows, x, SCALES, 0.6, answers.weights)
    assert DEVICE.objective(answers, loss).best_scale(x, SCALES, 0.6) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("first", [0, 100, 1000])
def test_an_order_is_expanded_as_on_the_cpu(first, rng):
    answers = random_comparisons("triplets", rng, n_rows=1203)
    objective = DEVICE.objective(answers, LOSSES["ste"]())
    (order,) = visits("shuffled", rng, objective, 1203, 1, 10_000)
    part = order[first : first + 900]
    np.testing.assert_array_equal(objective.expand(part).cpu().numpy(), part.indices())


def test_weights_determine_how_often_an_order_visits_a_comparison(rng):
    answers = random_comparisons("triplets", rng, n_rows=40)
    answers = Comparisons(answers.rows, answers.n_objects, weights=np.repeat([0.0, 1.0, 3.0, 4.0], 10))
    objective = DEVICE.objective(answers, LOSSES["ste"]())
    (order,) = visits("shuffled", rng, objective, 40, 1, 100)
    times = np.bincount(objective.expand(order).cpu().numpy(), minlength=40)
    assert [int(part.sum()) for part in times.reshape(4, 10)] == pytest.approx([0, 5, 15, 20], abs=1)


def steps_at_once(loss, rows, x, order, longest, together):
    """Take Polyak steps, ``together`` of them from the same map; return the map and the mean squared distance."""
    distances = []
    for first in range(0, len(order), together):
        moved = x.copy()
        for q in order[first : first + together]:
            alone, distance = reference.polyak_pass(loss, rows, x, [q], longest)
            moved += alone - x
            distances.append(distance)
        x = moved
    return x, np.mean(distances)


@pytest.mark.skipif(HAS_GPU, reason="on a GPU the order of the steps is not fixed")
def test_polyak_steps_equal_the_references_block_by_block(loss, kind, rng):
    answers = random_comparisons(kind, rng, n_objects=12, n_rows=300)
    start = 0.5 * rng.standard_normal((12, 3))
    start -= start.mean(axis=0)
    objective = DEVICE.objective(answers, loss)
    order = ShuffledPass.draw(rng, 300)
    schedule = StepSchedule(share=0.002, reach=400.0, lateness=4.0)
    walk = objective.polyak_walk(start, schedule, 300)
    walk.take(Leg(order, None, 300))
    distance = 2 * np.mean(np.sum(start**2, axis=1))
    step = longest_step(loss, schedule, distance, 300)
    expected, met = steps_at_once(loss, answers.rows, start, order.indices(), step, 128)
    state = walk.state()
    np.testing.assert_allclose(state["x"], expected, rtol=2e-4, atol=2e-5)
    assert float(state["distance"]) == pytest.approx(met, rel=1e-4)
    np.testing.assert_allclose(state["mean"], expected, rtol=2e-4, atol=2e-5)  # the first map is the average


@pytest.mark.parametrize(("first", "size"), [(0, 2500), (1, 1025), (700, 1700)])
def test_a_walk_visits_the_comparisons_of_its_places(first, size, rng):
    """Each has objects of its own here, so that the order of the steps does not matter."""
    answers = Comparisons(rng.permutation(7500).reshape(2500, 3).astype(np.int32), 7500)
    start = rng.standard_normal((7500, 2))
    start -= start.mean(axis=0)
    objective = DEVICE.objective(answers, LOSSES["ste"]())
    order = replace(ShuffledPass.draw(rng, 2500), first=first, size=size)
    walk = objective.polyak_walk(start, StepSchedule(0.1, 1e9, 4.0), 2500)
    walk.take(Leg(order, None, 2500))
    expected, _ = steps_at_once(LOSSES["ste"](), answers.rows, start, order.indices(), walk.step, 2500)
    np.testing.assert_allclose(walk.state()["x"], expected, rtol=1e-4, atol=1e-5)


def test_a_walk_projects_rescales_and_resumes_from_its_state(rng):
    answers = random_comparisons("triplets", rng, n_rows=400)
    objective = DEVICE.objective(answers, LOSSES["ste"]())
    walk = objective.polyak_walk(rng.standard_normal((12, 8)), StepSchedule(0.01, 100.0, 4.0), 100)
    walk.project(2)
    mean = np.asarray(walk.mean)
    assert mean.shape == (12, 2)
    covariance = mean.T @ mean
    assert abs(covariance[0, 1]) < 1e-4 * covariance[0, 0]
    assert covariance[0, 0] >= covariance[1, 1]
    walk.rescale(2.0)
    np.testing.assert_allclose(np.asarray(walk.mean), 2 * mean, rtol=1e-6)
    again = objective.polyak_walk(np.zeros((12, 2)), StepSchedule(0.01, 100.0, 4.0), 100, walk.state())
    leg = Leg(ShuffledPass.draw(rng, 400), None, 400)
    walk.take(leg)
    again.take(leg)
    np.testing.assert_allclose(np.asarray(walk.mean), np.asarray(again.mean), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("batch_size", "n_rows"), [(20, 40), (1, 8)])
def test_variance_reduced_steps_equal_the_references(loss, kind, batch_size, n_rows, rng):
    answers = random_comparisons(kind, rng, n_objects=n_rows // 2, n_rows=n_rows)
    objective = DEVICE.objective(answers, loss)
    x = rng.standard_normal((answers.n_objects, 3))
    snapshot = objective.at(x)
    (order,) = visits("uniform", rng, objective, n_rows, batch_size, 1000)
    indices = objective.expand(order).cpu().numpy()
    walk = objective.walk(snapshot, batch_size)
    walk.take(order, 0.01)
    expected = reference.svrg_epoch(loss, answers.rows, None, x, indices, batch_size, 0.01)
    np.testing.assert_allclose(walk.x, expected, rtol=1e-6, atol=1e-8)


def test_gradient_steps_equal_the_references(loss, kind, rng):
    answers = random_comparisons(kind, rng, n_rows=90)
    objective = DEVICE.objective(answers, loss)
    x = rng.standard_normal((12, 3))
    (order,) = visits("shuffled", rng, objective, 90, 30, 1000)
    expected = reference.sgd_pass(loss, answers.rows, x, objective.expand(order).cpu().numpy(), 30, 0.05)
    objective.descend(order, x, 30, 0.05)
    np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_a_fit_is_about_as_good_as_on_the_cpu():
    data = ct.datasets.synthetic(20, 2, 1000, 2000, seed=0)
    errors = {}
    for device in ("cpu", DEVICE):
        result = ct.embed(data.train, 2, loss="ste", penalty=0, seed=0, epochs=3, device=device)
        errors[device] = ct.triplet_error(data.test, result.embedding)
        assert isinstance(result.embedding, np.ndarray)
    assert errors[DEVICE] <= errors["cpu"] + 0.03


@pytest.mark.parametrize("solver", ["svrg-sbb", "batch", "sgd", "lbfgs"])
def test_other_solvers_run_there_too(solver):
    data = ct.datasets.synthetic(8, 2, 40, 100, seed=1)
    result = ct.embed(data.train, 2, loss="ste", penalty=0, solver=solver, seed=0, epochs=2, device=DEVICE)
    assert result.history[-1].objective < result.history[0].objective


def test_several_starts_are_compared_although_their_maps_stay_on_the_device():
    data = ct.datasets.synthetic(8, 2, 40, 100, seed=1)
    result = ct.embed(data.train, 2, loss="ste", penalty=0, seed=0, epochs=1, n_starts=2, device=DEVICE)
    assert sorted(start.distance > 0 for start in result.starts) == [False, True]


def test_a_solver_that_needs_a_missing_capability_is_an_error():
    data = ct.datasets.synthetic(12, 2, 120, 100, seed=1)
    with pytest.raises(ValueError, match="Gram gradient"):
        ct.embed(data.train, 2, loss="ste", penalty=0, solver="gram", device=DEVICE)


@pytest.mark.slow
def test_a_fit_resumes_from_its_checkpoint(tmp_path):
    data = ct.datasets.synthetic(20, 2, 500, 100, seed=1)
    settings = {
        "loss": "ste",
        "penalty": 0,
        "seed": 0,
        "tolerance": None,
        "device": DEVICE,
        "checkpoint": tmp_path / "fit.npz",
    }
    ct.embed(data.train, 2, epochs=2, callback=lambda record, _: record.epoch == 1, **settings)
    result = ct.embed(data.train, 2, epochs=2, resume=True, **settings)
    assert [record.epoch for record in result.history] == [0, 1, 2]


@pytest.mark.skipif(not HAS_GPU, reason="NCCL joins GPUs")
def test_a_gpu_that_nccl_joins_makes_the_fit_that_it_makes_alone():
    from closerthan.objective.distributed.joining import join
    from closerthan.objective.distributed.launch import Launch

    data = ct.datasets.synthetic(200, 2, 40_000, 1, seed=2)
    how = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "tolerance": None, "epochs": 4}
    device = join(Launch(rank=0, n=1, local_rank=0, address="127.0.0.1", port=29512), "cuda")
    assert "nccl" in torch.distributed.get_backend()
    svrg = {**how, "solver": ct.solvers.SVRG(batch_size=1000)}
    together = ct.embed(data.train, device=device, **svrg)
    alone = ct.embed(data.train, device="cuda", **svrg)
    np.testing.assert_allclose(together.embedding, alone.embedding, rtol=1e-6, atol=1e-9)
    walked = ct.embed(data.train, device=device, **how)
    device.processes.leave()
    on_cpu = ct.embed(data.train, **how)
    assert walked.history[-1].train_error == pytest.approx(on_cpu.history[-1].train_error, abs=0.002)


# ---- translation -----------------------------------------------------------------------------------------------------


def own(body):
    """A loss whose value is this source."""
    return type("Written", (Loss,), {"value": body, "slopes": body})()


def test_an_error_of_translation_names_the_line():
    def value(self, near, far):
        total = near
        while total < far:
            total += 1.0
        return total

    with pytest.raises(
        TypeError, match=rf"test_torch\.py, line {value.__code__.co_firstlineno + 2} .*while total < far"
    ):
        triton_source(own(value), "value")


def test_a_negated_condition_becomes_a_choice():
    def value(self, near, far):
        return 0.0 if not near > far else near - far

    source = triton_source(own(value), "value")
    assert source.splitlines()[-1].strip() == "return tl.where((near > far) == 0, 0.0, near - far)"


def test_a_function_without_a_translation_is_named():
    def value(self, near, far):
        return math.lgamma(near) + far

    with pytest.raises(TypeError, match="lgamma"):
        triton_source(own(value), "value")


def test_parameters_become_constants_and_powers_multiplications():
    source = triton_source(ct.losses.TSTE(alpha=3.0), "value")
    assert "self" not in source
    assert "3.0" in source


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="no GPU here"):
        ct.embed([[0, 1, 2]], loss="ste", penalty=0, device="cuda")


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_auto_is_the_cpu_where_there_is_no_gpu():
    assert ct.embed([[0, 1, 2]], loss="ste", penalty=0, device="auto", epochs=1).embedding.shape == (3, 2)


def test_visits_for_equal_weights_do_not_serve_weighted_comparisons(rng):
    objective = DEVICE.objective(random_comparisons("triplets", rng, weighted=True), LOSSES["ste"]())
    with pytest.raises(ValueError, match="equal weight"):
        objective.expand(Visits(next(iter(visits("uniform", rng, Unweighted(), 10, 1, 100))).pieces))


class Unweighted:
    weighted = False
    n_terms = 10


# ---- whole answers ---------------------------------------------------------------------------------------------------


class Powers(Loss):
    """A similarity of one's own, with a branch: 1 / (1 + squared ** 1.5)."""

    def value(self, near, far):
        return math.log(2.0 + near**1.5 + far**1.5) - math.log(1.0 + far**1.5)

    def slopes(self, near, far):
        total = 2.0 + near**1.5 + far**1.5
        return 1.5 * near**0.5 / total, 1.5 * far**0.5 / total - 1.5 * far**0.5 / (1.0 + far**1.5)

    def log_similarity(self, squared):
        return -math.log(1.0 + squared**1.5) if squared > 0.0 else 0.0

    def similarity_slope(self, squared):
        return -1.5 * squared**0.5 / (1.0 + squared**1.5)


SIMILARITIES = [STE(), TSTE(alpha=2.0), CKL(), Powers()]


@pytest.fixture(params=["few pairs", "many pairs", "weighted"])
def whole_answers(request, rng):
    """Choices among two to five pairs, and among up to 27, which a program of a GPU visits in several rounds."""
    if request.param != "many pairs":
        return some_answers(rng, weighted=request.param == "weighted")
    orders = [rng.permutation(30) for _ in range(40)]
    rows = [(own[0], own[1], other) for number, own in enumerate(orders) for other in own[2 : 3 + number % 27]]
    numbers = [number for number in range(40) for _ in range(1 + number % 27)]
    return Comparisons.from_triplets(rows, answers=numbers, n_objects=30)


def both_choice_sums(answers, loss):
    """Return the sums over whole answers on the GPU and on the CPU."""
    objectives = DEVICE.objective(answers, loss), CPU(n_threads=1).objective(answers, loss)
    return [objective.choice_sums(Choices.of(answers), loss) for objective in objectives]


@pytest.mark.parametrize("loss", SIMILARITIES, ids=repr)
@pytest.mark.parametrize("weight", [0.0, 0.03])
def test_losses_of_whole_answers_and_their_gradient_are_those_of_the_cpu(loss, weight, whole_answers, rng):
    x = rng.standard_normal((whole_answers.n_objects, 3))
    on_gpu, on_cpu = both_choice_sums(whole_answers, Penalized(loss, weight))
    (total, gradient, right), expected = on_gpu.counted_comparisons(x), on_cpu.counted_comparisons(x)
    assert (total, right) == pytest.approx((expected[0], expected[2]), rel=1e-7)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-6, atol=1e-9)
    assert on_gpu.totals == on_cpu.totals
    (totals, right), (expected_totals, expected_right) = on_gpu.sums(x, SCALES), on_cpu.sums(x, SCALES)
    np.testing.assert_allclose(totals, expected_totals, rtol=1e-7)
    assert right == pytest.approx(expected_right)
    assert on_gpu.sample(20).sums(x, SCALES)[0] == pytest.approx(on_cpu.sample(20).sums(x, SCALES)[0], rel=1e-7)


@pytest.mark.parametrize("loss", SIMILARITIES, ids=repr)
def test_the_gradient_of_whole_answers_agrees_with_finite_differences(loss, whole_answers, rng):
    x, tiny = rng.standard_normal((whole_answers.n_objects, 2)), 1e-6
    sums, _ = both_choice_sums(whole_answers, Penalized(loss, 0.03))
    gradient = sums.counted_comparisons(x)[1]
    for place in [(0, 0), (4, 1), (7, 0)]:
        change = np.zeros_like(x)
        change[place] = tiny
        higher, lower = (sums.sums(x + sign * change, np.ones(1))[0][0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((higher - lower) / (2 * tiny), abs=1e-5)


def test_some_of_the_choices_in_any_order_have_the_gradient_of_the_cpu(whole_answers, rng):
    x = rng.standard_normal((whole_answers.n_objects, 9))
    on_gpu, on_cpu = both_choice_sums(whole_answers, STE())
    order = rng.integers(0, len(on_cpu), 50)
    (total, gradient, right), expected = on_gpu.gradient(x, order), on_cpu.gradient(x, order)
    assert (total, right) == pytest.approx((expected[0], expected[2]))
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-6, atol=1e-9)
    moved, expected_move = x.copy(), x.copy()
    for sums, end in ((on_gpu, moved), (on_cpu, expected_move)):
        sums.descend(order, end, 10, 0.01)
    np.testing.assert_allclose(moved, expected_move, rtol=1e-6, atol=1e-9)


def test_a_fit_to_whole_answers_ends_in_the_minimum_that_the_cpu_finds(rng):
    answers, start = some_answers(rng), rng.standard_normal((N_OBJECTS, 2))
    options = {"loss": "tste-2", "penalty": 1.0, "likelihood": "answers", "seed": 0, "start": start, "epochs": 10}
    last, expected = (ct.embed(answers, 2, **options, device=device).history[-1] for device in (DEVICE, "cpu"))
    assert last.gradient_norm < 1e-5
    assert last.objective == pytest.approx(expected.objective, rel=1e-6)


@pytest.mark.parametrize("solver", ["hogwild", "batch", "sgd", "svrg-sbb"])
def test_every_solver_that_can_lowers_the_loss_of_whole_answers(solver, rng):
    answers = some_answers(rng)
    result = ct.embed(
        answers, 2, loss="ste", penalty=0.1, solver=solver, likelihood="answers", seed=0, epochs=3, device=DEVICE
    )
    settings = Settings(loss="ste", penalty=0.1, likelihood="answers")
    with objective_of(settings, CPU(n_threads=1), answers) as objective:
        assert result.best_record.objective == pytest.approx(objective.at(result.embedding).value)
        assert result.best_record.objective < objective.collapsed_objective


def test_whole_answers_that_do_not_fit_on_the_card_are_refused(rng):
    with pytest.raises(ValueError, match=r"likelihood is 'answers'; the answers are on disk, or too many for the mem"):
        ct.embed(some_answers(rng), 2, loss="ste", penalty=0, likelihood="answers", device=replace(DEVICE, memory=0))
