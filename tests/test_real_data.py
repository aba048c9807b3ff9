"""Real answers: the paper's maps and errors, within sensible bounds."""

import numpy as np
import pytest

import closerthan as ct


def test_eurodist_gives_back_the_map_of_europe():
    cities = ct.datasets.eurodist()
    assert len(cities.comparisons()) == 3986
    result = ct.embed(cities.comparisons(), 2, seed=0, n_starts=4)
    squared = cities.table**2
    centring = np.eye(21) - 1 / 21
    values, vectors = np.linalg.eigh(-centring @ squared @ centring / 2)
    classical = vectors[:, -2:] * np.sqrt(values[-2:])
    assert result.best_record.train_error < 0.06
    assert ct.metrics.procrustes(result.embedding, classical).distance < 0.1


@pytest.fixture
def predicted(rng):
    """The error on a fifth of the answers, by a map of the others, and the upper end of its interval."""

    def error(answers, *options, **settings):
        train, test = answers.split(0.2, rng)
        result = ct.embed(train, *options, seed=0, validation=0.1, **settings)
        found = ct.triplet_error(test, result.embedding)
        return found, ct.metrics.error_interval(found, test).high

    return error


@pytest.mark.parametrize("loss", ct.losses.LOSSES)
def test_about_four_in_five_answers_about_music_are_predicted(loss, data_folder, predicted):
    answers = ct.datasets.music()
    assert (len(answers), answers.n_objects, answers.dropped) == (9090, 400, {"self_pairs": 17})
    error, high = predicted(answers, 9, loss=loss)
    assert error < 0.21
    assert high < 0.23


def test_about_four_in_five_answers_about_cars_are_predicted(data_folder, predicted):
    answers = ct.datasets.cars()
    assert (len(answers), answers.n_objects, answers.n_answers) == (14194, 60, 7097)
    error, high = predicted(answers, 2, n_starts=3)
    assert error < 0.225  # .200 on average over splits, with a standard deviation of .009
    assert high < 0.25
