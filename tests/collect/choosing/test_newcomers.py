"""Questions about new objects."""

import numpy as np
import pytest
from studies import ANSWERS, POINTS
from studies import N_OBJECTS as N
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.collect.choosing.information import Questions
from closerthan.collect.choosing.newcomers import possible_maps
from closerthan.losses import LOSSES
from closerthan.objective.information import expected_information


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_questions_about_a_new_object(kind):
    rows = ct.choose_questions(ANSWERS, 8, n_objects=N + 2, about=[N], kind=kind, seed=0)
    assert (rows[:, 0] == N).all()
    assert len(set(Questions(kind, N + 2).keys(rows).tolist())) == 8
    every = Questions(kind, N + 2, (N, N + 1)).number
    some = ct.choose_questions(ANSWERS, every, n_objects=N + 2, about=[N, N + 1], kind=kind, seed=0)
    assert set(some[:, 0].tolist()) == {N, N + 1}


def test_questions_about_a_new_object_are_informative_about_its_position():
    so_far = np.concatenate([ANSWERS.rows, [[N, 0, 1], [N, 2, 3]]])
    answers, loss = ct.Comparisons.from_triplets(so_far), LOSSES["tste"]().in_dims(2)
    maps = possible_maps(answers, [N], POINTS, loss, np.random.default_rng(0))
    assert (maps[:, :N] == POINTS).all()
    assert ct.triplet_error(so_far[-2:], maps.mean(axis=0)) == 0

    def information(random_fraction):
        rows = ct.choose_questions(answers, 6, about=[N], random_fraction=random_fraction, maps=maps, seed=0)
        return expected_information("closer", rows, maps, loss).mean()

    assert information(0.0) > 1.5 * information(1.0)


def closerthan(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output
