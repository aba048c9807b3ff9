"""The interface between solvers and devices: any objective with the needed capabilities can replace the CPU's."""

import dataclasses
import importlib
import itertools
import pkgutil

import numba
import numpy as np
import pytest
from conftest import random_comparisons
from numba.core.dispatcher import Dispatcher
from plain_objective import PlainObjective

import closerthan as ct
import closerthan.compiled
from closerthan.compiled import compiling
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPU, CPUObjective
from closerthan.objective.processes import SingleProcess
from closerthan.objective.protocol import CAPABILITIES, Objective, Point, require
from closerthan.solvers import SOLVERS, SVRG, Solver, solver_named


@pytest.fixture(scope="module")
def data():
    return ct.datasets.synthetic(10, 2, 150, 150, flipped=0.05, seed=2)


def run(objective, solver, epochs=4, processes=None):
    """Run a solver from a fixed start; return its monitor, and the states that it reported."""
    states = []
    monitor = Monitor(objective, Limits(epochs), keep=states.append, processes=processes or SingleProcess())
    solver = solver_named(solver)
    require(objective, type(solver).__name__, solver.needs)
    objective.prepare(solver.needs, 2)
    solver.run(objective, first_map(), np.random.default_rng(4), monitor)
    return monitor, states


def first_map():
    return 0.1 * np.random.default_rng(3).standard_normal((10, 2))


# ---- a second implementation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["ste", "gnmds", "tste"])
@pytest.mark.parametrize("solver", [*SOLVERS, SVRG(batch_size=7, sampling="uniform")], ids=str)
def test_every_solver_runs_on_a_plain_objective_as_on_the_cpu(solver, loss, weighted, data):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 150) if weighted else None
    answers = ct.Comparisons(data.train.rows, 10, weights=weights)
    chosen = LOSSES[loss]().in_dims(2)
    objectives = [PlainObjective(answers, chosen, data.test), CPUObjective(answers, chosen, data.test)]
    assert objectives[0].weighted == objectives[1].weighted == weighted
    plain, cpu = (run(objective, solver)[0] for objective in objectives)
    for name in ("epoch", "gradients"):
        assert np.array_equal(getattr(plain.history, name), getattr(cpu.history, name))
    assert plain.stopped_by == cpu.stopped_by
    if solver in ("polyak", "hogwild"):  # single precision, and steps worked out for several comparisons at a time
        assert plain.history.objective[-1] == pytest.approx(cpu.history.objective[-1], rel=0.15, abs=0.01)
        assert plain.history.validation_error[-1] == pytest.approx(cpu.history.validation_error[-1], abs=0.08)
        assert cpu.history.validation_error[-1] < 0.3
    else:
        for name in ("objective", "step", "train_error", "validation_error"):
            there, here = getattr(plain.history, name), getattr(cpu.history, name)
            np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-9, err_msg=name)
        if solver != "gram":  # eigenvectors have no sign
            np.testing.assert_allclose(cpu.best, plain.best, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("solver", ["polyak", "svrg-sbb", "sgd"])
def test_a_plain_objective_takes_up_a_state_where_it_was_left(solver, data):
    objective = PlainObjective(data.train, LOSSES["ste"]())
    whole, states = run(objective, solver, epochs=4)
    again = Monitor(objective, Limits(4))
    again.restored(states[2])
    rng = np.random.default_rng(4)
    # The generator as it was after two epochs: run them once more.
    solver_named(solver).run(objective, first_map(), rng, Monitor(objective, Limits(states[2].epoch)))
    solver_named(solver).run(objective, first_map(), rng, again, states[2].state)
    assert np.array_equal(again.history.objective, whole.history.objective)
    assert np.array_equal(again.best, whole.best)


# ---- capabilities ----------------------------------------------------------------------------------------------------


class Bare(Objective):
    """Values and gradients alone: all that every objective has."""

    device = "an abacus"

    def __init__(self, comparisons, loss):
        self._plain = PlainObjective(comparisons, loss)

    @property
    def n_terms(self):
        return self._plain.n_terms

    def at(self, x):
        return self._plain.at(x)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_on_an_objective_that_cannot_serve_it_is_an_error_that_names_both(solver, data):
    objective = Bare(data.train, LOSSES["ste"]())
    chosen = solver_named(solver)
    if not chosen.needs:
        assert run(objective, solver)[0].history.objective[-1] < np.log(2)
        return
    missing = min(chosen.needs)
    pattern = rf"solver {type(chosen).__name__} needs the capability '{missing}' .* on an abacus does not have"
    with pytest.raises(ValueError, match=pattern):
        run(objective, solver)


@pytest.mark.parametrize("missing", CAPABILITIES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_capability_matters_only_to_solvers_that_need_it(solver, missing, data):
    class Partial(PlainObjective):
        capabilities = frozenset(CAPABILITIES) - {missing}

    objective, chosen = Partial(data.train, LOSSES["ste"]()), solver_named(solver)
    if missing in chosen.needs:
        with pytest.raises(ValueError, match=f"needs the capability '{missing}'"):
            require(objective, type(chosen).__name__, chosen.needs)
    else:
        require(objective, type(chosen).__name__, chosen.needs)


def test_embed_checks_capabilities_before_the_fit(data):
    class Weak(CPUObjective):
        capabilities = frozenset({"Polyak walk"})

    @dataclasses.dataclass(frozen=True)
    class Device(CPU):
        def objective(self, comparisons, loss, held_out=None):
            return Weak(comparisons, loss, held_out)

    assert np.isfinite(ct.embed(data.train, seed=0, epochs=1, device=Device()).embedding).all()
    with pytest.raises(ValueError, match="solver SGD needs the capability 'gradient steps'"):
        ct.embed(data.train, solver="sgd", device=Device(), callback=lambda *_: pytest.fail("too late"))


def test_a_users_solver_needs_nothing_unless_it_says_so(data):
    class Still(Solver):
        def run(self, objective, start, rng, monitor):
            monitor(objective.at(start))

    require(Bare(data.train, LOSSES["ste"]()), "Still", Still().needs)


# ---- the process that decides ----------------------------------------------------------------------------------------


class Follower(SingleProcess):
    """A process that stops when ``decide`` says so, given the reasons that it has passed so far."""

    def __init__(self, decide):
        self.decide, self.reasons = decide, []

    def agree_to_stop(self, reason):
        self.reasons.append(reason)
        return self.decide(self.reasons)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_process_that_decides_stops_the_fit(solver, data):
    follower = Follower(lambda reasons: "tolerance" if len(reasons) >= 3 else None)
    monitor, _ = run(CPUObjective(data.train, LOSSES["ste"]()), solver, epochs=100, processes=follower)
    assert monitor.stopped_by == "tolerance"
    assert len(monitor.history) <= 3  # processes also agree within an epoch
    assert follower.reasons[:3] == [None, None, None]


def test_a_process_continues_until_all_agree_to_stop(data):
    follower = Follower(lambda reasons: reasons[-1] if reasons.count("epochs") >= 4 else None)
    monitor, states = run(CPUObjective(data.train, LOSSES["ste"]()), "svrg-sbb", epochs=2, processes=follower)
    assert set(follower.reasons) == {None, "epochs"}
    assert (monitor.stopped_by, len(monitor.history)) == ("epochs", 6)
    assert [state.epoch for state in states] == [1, 2, 3, 4]  # kept as long as the fit goes on


def test_the_monitor_reports_the_values_of_the_objective(data):
    class Fixed(Objective):
        collapsed_objective = 8.0
        n_terms = 1

        def at(self, x):
            return Point(x, float(x[0, 0]), x, 0.25)

        def held_out_error(self, x):
            return float(x[0, 0]) / 10

    monitor = Monitor(Fixed(), Limits(100, tolerance=0.1))
    for value, stop in ((3.0, False), (2.0, False), (1.9, False), (1.8, False), (1.7, True)):
        assert monitor(np.array([[value]])) is stop  # 0.3 over three epochs, of 6 gained over a collapsed map
    assert monitor.stopped_by == "tolerance"
    np.testing.assert_allclose(monitor.history.validation_error, monitor.history.objective / 10)
    assert set(monitor.history.train_error) == {0.25}


# ---- one kernel for all built-in losses ------------------------------------------------------------------------------


class Own(ct.Loss):
    slant: float = 2.0

    def value(self, near, far):
        return max(0.0, self.slant * near - far + 1.0) ** 2

    def slopes(self, near, far):
        violation = max(0.0, self.slant * near - far + 1.0)
        return 2.0 * self.slant * violation, -2.0 * violation


@compiling.kernel
def all_values(loss, nears, fars, squared_scale, values):
    compiling.values_of(loss, nears, fars, squared_scale, nears.shape[0], values)


@compiling.kernel
def all_values_and_slopes(loss, nears, fars, values, near_slopes, far_slopes):
    compiling.values_and_slopes(loss, nears, fars, nears.shape[0], values, near_slopes, far_slopes)


EVERY_LOSS = {f"{name} in {n_dims}": kind().in_dims(n_dims) for name, kind in LOSSES.items() for n_dims in (2, 10)}
EVERY_LOSS |= {
    "wide margin": LOSSES["gnmds"](margin=3.0),
    "large mu": LOSSES["ckl"](mu=2.0),
    "soe, wide margin": LOSSES["soe"](margin=3.0),
    "alpha not whole": LOSSES["tste"](alpha=1.5),
    "own": Own(),
    "own, other slant": Own(slant=0.5),
}


@pytest.mark.parametrize("loss", EVERY_LOSS.values(), ids=EVERY_LOSS)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 33])
def test_a_loss_in_shared_kernels_equals_the_loss_alone_and_in_python(loss, size, rng):
    nears, fars = 10.0 ** rng.uniform(-4, 2, (2, size))
    own = compiling.argument(loss.in_kernels())
    shared = compiling.shared_argument(loss.in_kernels(), own)
    assert (shared is own) == (isinstance(loss, Own) or loss == LOSSES["tste"](alpha=1.5))
    expected = np.array([[loss.value(*pair), *loss.slopes(*pair)] for pair in zip(nears, fars, strict=True)])
    scaled = [loss.value(2.25 * near, 2.25 * far) for near, far in zip(nears, fars, strict=True)]
    for argument in (shared, own):
        actual, values = np.empty((3, size)), np.empty(size)
        all_values_and_slopes(argument, nears, fars, *actual)
        np.testing.assert_allclose(actual.T, expected.reshape(size, 3), rtol=1e-9, atol=1e-12)
        all_values(argument, nears, fars, 2.25, values)
        np.testing.assert_allclose(values, scaled, rtol=1e-9, atol=1e-12)


def test_all_built_in_losses_share_one_kernel_and_each_user_loss_has_its_own():
    """One type of argument is one compiled kernel."""
    answers = ct.Comparisons.of([[0, 1, 2]])
    objectives = [CPUObjective(answers, kind().in_dims(2), share_kernels=True) for kind in LOSSES.values()]
    kinds = {numba.typeof(objective.shared_argument) for objective in objectives}
    assert len(kinds) == 1
    others = [Own(), LOSSES["tste"](alpha=1.5)]
    assert (
        len(kinds | {numba.typeof(compiling.shared_argument(loss, compiling.argument(loss))) for loss in others}) == 3
    )


# ---- compiled before the clock starts --------------------------------------------------------------------------------


def n_compiled():
    """Return the number of kernels that are compiled or read from disk by now."""
    modules = (importlib.import_module(module.name)
               for module in pkgutil.walk_packages(closerthan.compiled.__path__, "closerthan.compiled."))  # fmt: skip
    things = {id(thing): thing for module in modules for thing in vars(module).values()}
    return sum(len(thing.overloads) for thing in things.values() if isinstance(thing, Dispatcher))


ONE_EACH = ["polyak", "svrg", SVRG(batch_size=60), "sgd", "batch", "gram", "lbfgs"]
KINDS = [("triplets", False, 10**6), ("quadruplets", True, 40)]
CASES = list(enumerate(itertools.product(ONE_EACH, KINDS)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "case"), CASES, ids=[f"{solver}-{kind}-{least_part}" for _, (solver, (kind, _, least_part)) in CASES]
)
def test_nothing_is_compiled_while_the_clock_runs(number, case, rng):
    solver, (kind, weighted, least_part) = case
    offset = 1.0 + number  # so that the loss of each case is another one, of which nothing is compiled yet

    class Fresh(ct.Loss):
        def value(self, near, far):
            return max(0.0, near - far + offset)

        def slopes(self, near, far):
            slope = 1.0 if near - far + offset > 0.0 else 0.0
            return slope, -slope

    answers = random_comparisons(kind, rng, n_rows=2_000, weighted=weighted)
    start = 0.1 * rng.standard_normal((12, 2))
    chosen, records = solver_named(solver), []
    for loss in (LOSSES["ste"](), Fresh()):  # kernels of a built-in loss do not serve another one
        before = n_compiled()
        with CPUObjective(answers, loss, n_threads=2, least_part=least_part) as objective:
            objective.prepare(chosen.needs, 2)
            prepared = n_compiled()
            monitor = Monitor(objective, Limits(3), listeners=(lambda record, x: records.append(record),))
            chosen.run(objective, start, rng, monitor)
        assert n_compiled() == prepared
    assert prepared > before
    assert len(records) >= 4
