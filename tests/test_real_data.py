"""Real answers: the paper's maps and errors, within sensible bounds."""

import csv

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


@pytest.mark.parametrize("loss", ct.losses.LOSSES)
def test_music_is_predicted_well_above_chance(loss, data_folder, rng):
    loadmat = pytest.importorskip("scipy.io").loadmat
    triplets = loadmat(data_folder / "music_triplets.mat")["triplets"]
    assert triplets.shape == (9107, 3)
    used, rows = np.unique(triplets, return_inverse=True)
    assert len(used) == 400
    answers = ct.Comparisons.from_triplets(rows.reshape(-1, 3), self_pairs="drop")
    train, test = answers.split(0.2, rng)
    result = ct.embed(train, 9, loss=loss, seed=0, validation=0.1)
    assert ct.triplet_error(test, result.embedding) < 0.23


def test_cars_are_predicted_well_above_chance(data_folder, rng):
    with open(data_folder / "cars_most_central.csv", encoding="utf-8", newline="") as file:
        rows = [
            [int(row[name]) - 1 for name in row if name.startswith(("chosen", "triplet"))]
            for row in csv.DictReader(file)
        ]
    answers = []
    for central, *objects in rows:
        one, other = (number for number in objects if number != central)
        answers += [(one, central, other), (other, central, one)]
    train, test = ct.Comparisons.from_triplets(answers).split(0.2, rng)
    result = ct.embed(train, 2, seed=0, n_starts=3, validation=0.1)
    assert ct.triplet_error(test, result.embedding) < 0.23
