"""Step rules, compared with their formulas, their bounds and the paper's example."""

import numpy as np
import pytest

from closerthan.objective.protocol import Point
from closerthan.solvers import BarzilaiBorwein, Constant, Decay, StabilizedBB

CURVATURES = np.array([1.0, 0.0, -1.0])


def on_the_saddle(x):
    """The paper's example: f(x) = x' diag(1, 0, -1) x / 2."""
    x = np.array([x], dtype=float)
    return Point(x, float(0.5 * np.sum(CURVATURES * x**2)), CURVATURES * x)


def test_plain_bb_is_negative_or_infinite_on_the_papers_saddle():
    rule = BarzilaiBorwein()
    assert rule(1, 1, on_the_saddle([0, 0, 1.5]), on_the_saddle([0, 0, 1])) == -1
    assert rule(1, 1, on_the_saddle([0, 1.5, 0]), on_the_saddle([0, 1, 0])) == np.inf


def test_sbb_stays_positive_and_bounded_on_the_papers_saddle():
    rule = StabilizedBB(epsilon=0.5)
    assert rule(1, 1, on_the_saddle([0, 0, 1.5]), on_the_saddle([0, 0, 1])) == pytest.approx(1 / 1.5)
    assert rule(1, 1, on_the_saddle([0, 1.5, 0]), on_the_saddle([0, 1, 0])) == pytest.approx(2)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0])
def test_sbb_lies_within_the_papers_bounds(epsilon, rng):
    for _ in range(100):
        now, before = (on_the_saddle(rng.standard_normal(3)) for _ in range(2))
        full_step = 40 * StabilizedBB(epsilon=epsilon)(1, 40, now, before)
        assert full_step >= 1 / (1 + epsilon)  # the Lipschitz constant is 1
        if epsilon:
            assert full_step <= 1 / epsilon


def test_the_default_epsilon_scales_with_objects_and_is_bounded_along_single_comparisons():
    flat = [Point(np.full((50, 1), float(x)), 0.0, np.zeros((50, 1))) for x in (0, 1)]
    assert StabilizedBB()(1, 10_000, flat[1], flat[0]) == pytest.approx(50 / 0.1 / 10_000)
    assert StabilizedBB()(1, 100, flat[1], flat[0]) == pytest.approx(0.25)
    assert StabilizedBB()(1, 1, flat[1], flat[0]) == pytest.approx(50 / 0.1)  # the full gradient


def test_the_first_step_defaults_to_a_multiple_of_the_number_of_objects():
    point = on_the_saddle([1, 1, 1])
    for rule in (Constant, lambda step: Decay(first=step), lambda step: StabilizedBB(first=step)):
        assert rule(0.3)(0, 100, point, None) == 0.3
        assert rule(None)(0, 100, point, None) == pytest.approx(0.5 * 1 / 100)


def test_the_step_is_zero_if_nothing_moved():
    point = on_the_saddle([1, 2, 3])
    assert StabilizedBB()(1, 10, point, point) == 0
    assert BarzilaiBorwein()(1, 10, point, point) == 0


@pytest.mark.parametrize(
    "make",
    [lambda: Constant(0.0), lambda: Decay(first=-1), lambda: Decay(rate=-1), lambda: StabilizedBB(epsilon=-0.1),
     lambda: StabilizedBB(epsilon=float("nan")), lambda: Constant(float("inf"))],
)  # fmt: skip
def test_impossible_settings_are_refused(make):
    with pytest.raises(ValueError, match="it must"):
        make()


@pytest.mark.parametrize("rule", [Constant(1), Decay(first=1), BarzilaiBorwein(first=1), StabilizedBB(first=1)])
def test_an_integer_step_becomes_a_float(rule):
    """Otherwise a kernel for integer steps would be compiled during the fit."""
    point = Point(np.zeros((3, 1)), 0.0, np.zeros((3, 1)))
    assert type(rule(0, 10, point, None)) is float
