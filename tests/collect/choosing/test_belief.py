"""Maps fitted to the answers so far, and their replicates."""

import numpy as np
import pytest
from studies import ANSWERS

import closerthan as ct
from closerthan.collect.choosing import belief
from closerthan.losses import loss_named
from closerthan.metrics import procrustes


def test_replicates_lie_around_the_map():
    result, *_ = belief.fit_maps(ANSWERS, 2, np.random.default_rng(0))
    replicates = belief.fit_belief(ANSWERS, [result], np.random.default_rng(0))
    assert replicates.maps.shape == (belief.N_MAPS, *result.embedding.shape)
    assert replicates.loss == result.loss
    distances = [procrustes(one, result.embedding).distance for one in replicates.maps]
    assert 0 < np.median(distances) < 0.3


def test_the_same_seed_gives_the_same_map_and_belief():
    results = [belief.fit_maps(ANSWERS, 2, np.random.default_rng(1)) for _ in range(2)]
    assert np.array_equal(results[0][0].embedding, results[1][0].embedding)
    maps = [belief.fit_belief(ANSWERS, one, np.random.default_rng(2)).maps for one in results]
    assert np.array_equal(*maps)


def test_the_loss_and_the_penalty_are_those_of_the_default_fit_and_chosen_again_when_answers_have_doubled():
    before = belief.Criterion()
    few = ANSWERS.take(slice(belief.FEWEST * 2 * ANSWERS.n_objects - 1))
    assert belief.next_criterion(few, 2, before) == before  # questions are still random
    chosen = belief.next_criterion(ANSWERS, 2, before)
    default = ct.embed(ANSWERS, 2, seed=0)
    assert (loss_named(chosen.loss), chosen.penalty, chosen.n_answers) == (default.loss, default.penalty, len(ANSWERS))
    best = belief.fit_maps(ANSWERS, 2, np.random.default_rng(0), chosen.loss, chosen.penalty)[0]
    assert (best.loss, best.penalty) == (default.loss, default.penalty)
    recently = chosen._replace(loss="ste", n_answers=len(ANSWERS) // 2 + 1)
    assert belief.next_criterion(ANSWERS, 2, recently) == recently
    assert belief.next_criterion(ANSWERS, 2, recently._replace(n_answers=len(ANSWERS) // 2)) == chosen


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_line_is_not_folded(seed):
    """On a line, objects would have to pass through each other."""
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    answers = ct.datasets.simulated(line, 400, seed=0)
    result = belief.fit_maps(answers, 1, np.random.default_rng(seed))[0]
    assert ct.triplet_error(answers, result.embedding) < 0.05


def test_the_best_map_comes_first_and_starts_differ():
    """Where starts end in different local minima, questions are asked about the difference."""
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    answers = ct.datasets.simulated(line, 200, noise="ste", seed=0)
    maps = belief.fit_maps(answers, 1, np.random.default_rng(0))
    objectives = [result.best_record.objective for result in maps]
    assert objectives == sorted(objectives)
    assert objectives[0] < objectives[-1]
    replicates = belief.fit_belief(answers, maps, np.random.default_rng(0)).maps
    alike, other = (procrustes(replicates[place], maps[place].embedding).distance for place in (0, -1))
    assert max(alike, other) < procrustes(maps[-1].embedding, maps[0].embedding).distance


def test_a_map_does_not_grow_without_bound():
    """Answers without errors do not determine the size of a map."""
    line = np.linspace(-1, 1, 10)[:, np.newaxis]
    answers = ct.datasets.simulated(line, 800, seed=0)
    result = belief.fit_maps(answers, 1, np.random.default_rng(0))[0]
    assert result.embedding.std() < 1000
