"""Odd-one-out answers of simulated people with known weights."""

import numpy as np

from closerthan import Comparisons


def odd_one_out(maps, n_answers, rng):
    """Return answers of people who choose the most similar of three pairs on their own maps, by Luce's rule (ste)."""
    n_people, n_objects, _ = maps.shape
    person = np.repeat(np.arange(n_people), n_answers)
    trio = rng.permuted(np.tile(np.arange(n_objects), (len(person), 1)), axis=1)[:, :3]
    pairs = ((0, 1, 2), (0, 2, 1), (1, 2, 0))
    similarities = np.stack(
        [-np.sum((maps[person, trio[:, i]] - maps[person, trio[:, j]]) ** 2, axis=1) for i, j, _ in pairs], axis=1
    )
    chosen = np.argmax(similarities + rng.gumbel(size=similarities.shape), axis=1)
    i, j, odd = trio[np.arange(len(person))[:, None], np.array(pairs)[chosen]].T
    rows = np.stack([i, j, odd, j, i, odd], axis=1).reshape(-1, 3)
    return Comparisons.from_triplets(
        rows, answers=np.repeat(np.arange(len(person)), 2), people=np.repeat(person, 2), n_objects=n_objects
    )


def people_who_weigh(spread, *, consistency=0.0, n_people=16, n_answers=300, n_objects=20, n_dims=2, seed=0):
    """Return answers, the map and the weights of people; spreads are standard deviations of log weights."""
    rng = np.random.default_rng(seed)
    x = 1.6 * rng.standard_normal((n_objects, n_dims))
    logs = spread * rng.standard_normal((n_people, n_dims)) + consistency * rng.standard_normal((n_people, 1))
    weights = np.exp(logs) / np.exp(logs).mean(axis=0)
    return odd_one_out(x * np.sqrt(weights)[:, None], n_answers, rng), x, weights
