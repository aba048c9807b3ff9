"""Sample size planning by simulation."""

import numpy as np
import pytest
from studies import study_of

from closerthan.collect.study.description import Shares
from closerthan.collect.study.plan import SimulatedPeople, simulate, simulate_runs
from closerthan.comparisons.screen import Screen

SURE = SimulatedPeople(0.0, 0.0)


@pytest.mark.parametrize("kind", ["closer", "odd", "nearest", "rank"])
def test_people_who_never_err_give_an_accurate_map(tmp_path, kind):
    study = study_of(tmp_path, n_objects=6, number=20, kind=kind, shown=4, dimensions=1)
    steps = list(simulate(study, SURE, 3, np.random.default_rng(0)))
    each = study.count_of("chosen") + study.count_of("random")
    assert [step.people for step in steps] == sorted({step.people for step in steps})
    assert all(step.answers == each * step.people for step in steps)
    assert steps[-1].accuracy > 0.9


def test_runs_differ_and_are_reproducible(tmp_path):
    study = study_of(tmp_path, n_objects=5, number=10, dimensions=1)
    first, second = (list(simulate_runs(study, SimulatedPeople(), 1, 0, n_runs=2)) for _ in range(2))
    assert first == second
    assert [step.people for step in first[0]] == [1, 1]
    assert len({step.accuracy for step in first[0]}) > 1


def test_a_study_that_only_repeats_and_checks_has_no_map(tmp_path):
    study = study_of(tmp_path, shares=Shares(random=0, shared=0.5, repeat=0, check=0.5))
    with pytest.raises(ValueError, match="lower these shares"):
        next(simulate(study, SURE, 2, np.random.default_rng(0)))


def test_answers_follow_the_distances(tmp_path):
    points = np.array([[0.0], [1.0], [5.0]])
    rng = np.random.default_rng(0)
    closer = Screen.of("closer")
    assert SURE.answers(closer, points, np.array([[0, 2, 1]]), rng) == [[(0, 1, 2)]]
    assert SURE.answers(Screen.of("odd"), points, np.array([[0, 2, 1]]), rng) == [[(0, 1, 2), (1, 0, 2)]]
    lapsed = SimulatedPeople(0.0, 1.0).answers(closer, points, np.repeat([[0, 2, 1]], 400, axis=0), rng)
    rank = Screen.of("rank", 2, 2)
    assert SURE.answers(rank, points, np.array([[1, 2, 0]]), rng) == [[(1, 0, 2)]]
    assert 150 < sum(answer == [(0, 1, 2)] for answer in lapsed) < 250
