"""Maps fitted to the answers so far, and their replicates."""

import numpy as np
from studies import ANSWERS
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.collect.choosing import belief
from closerthan.losses import LOSSES


def test_a_huge_map_is_shrunk_before_it_is_finished():
    """Nothing would move it: the slopes of tste vanish there."""
    loss = LOSSES["tste"]().in_dims(2)
    expected = belief.fitted_map(ANSWERS, 2, loss, np.random.default_rng(0))
    huge = 1e9 * ct.embed(ANSWERS, loss=loss, seed=0).embedding
    x = belief.fitted_map(ANSWERS, 2, loss, np.random.default_rng(0), [huge])
    assert x.std() <= belief.LARGEST * (1 + 1e-9)  # it is divided by a rounded number
    assert ct.triplet_error(ANSWERS, x) <= ct.triplet_error(ANSWERS, expected) + 0.05


def test_a_folded_map_unfolds_and_so_do_its_replicates():
    """On a line, objects would have to pass through each other."""
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    answers, folded = ct.datasets.simulated(line, 400, seed=0), 1000 * np.abs(line - 0.3)
    assert ct.triplet_error(answers, folded) > 0.2
    loss = LOSSES["tste"]().in_dims(1)
    x = belief.fitted_map(answers, 1, loss, np.random.default_rng(0), [folded])
    assert ct.triplet_error(answers, x) < 0.05
    replicates = belief.fit_belief(answers, folded, loss, np.random.default_rng(0)).maps
    assert np.median([ct.triplet_error(answers, replicate) for replicate in replicates]) < 0.1


def closerthan(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output
