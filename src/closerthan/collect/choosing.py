"""Which questions tell most about the map: the seam between a study and whatever chooses.

For each anchor, the pair whose answer the replicates disagree about most is taken: replicates are maps of reweighted
answers, and the score is the mutual information between the answer and the choice of a replicate.
"""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed

__all__ = ["Chosen", "choose", "closer_probability", "replicates"]

N_REPLICATES = 8
PAIRS = 200  # tried for each anchor
EPOCHS = 15
LOSS = "tste"


class Chosen(NamedTuple):
    """Questions, one row each: anchor, option, option; and their scores, where there are any."""

    rows: NDArray[np.int64]
    scores: Array | None = None


def replicates(answers: Comparisons, embedding: Array, seed: int) -> list[Array]:
    """Maps of the same answers with random weights, started at the map: how far they differ is what is not known."""
    rng = np.random.default_rng(seed)
    maps = []
    for _ in range(N_REPLICATES):
        weights = rng.exponential(size=len(answers))
        weighted = Comparisons.from_triplets(
            answers.rows, weights=weights, n_objects=answers.n_objects, unmentioned="ignore"
        )
        fitted = embed(
            weighted, embedding.shape[1], loss=LOSS, start=embedding, epochs=EPOCHS, seed=int(rng.integers(2**31))
        )
        maps.append(fitted.embedding)
    return maps


def choose(
    answers: Comparisons | None,
    count: int,
    n_objects: int,
    seed: int,
    exclude: Collection[tuple[int, int, int]],
    maps: Sequence[Array] = (),
) -> Chosen:
    """The questions to ask next: the best of each anchor, anchors in random order, then the second best of each.

    Parameters
    ----------
    answers
        What was answered; objects that nobody was asked about come first. None: nothing yet.
    count
        How many questions are wanted; there are fewer if all that are left are excluded.
    exclude
        Questions not to ask, as (anchor, smaller option, larger option).
    maps
        Replicates; without any, pairs are drawn by chance.

    Examples
    --------
    >>> chosen = choose(None, 4, 4, seed=0, exclude=())
    >>> sorted(chosen.rows[:, 0].tolist())
    [0, 1, 2, 3]
    """
    rng = np.random.default_rng(seed)
    mentioned = np.zeros(n_objects, bool)
    if answers is not None:
        mentioned[answers.rows.ravel()] = True
    order = rng.permutation(n_objects)
    order = order[np.argsort(mentioned[order], kind="stable")]
    each = -(-count // n_objects)
    best: list[list[tuple[tuple[int, int, int], float]]] = []
    for anchor in order.tolist():
        pairs = rng.integers(n_objects - 1, size=(PAIRS, 2))
        pairs += pairs >= anchor
        pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
        rng.shuffle(pairs)
        value = _information(maps, anchor, pairs) if len(maps) else np.zeros(len(pairs))
        ranked = np.argsort(-value, kind="stable")
        questions = (((anchor, int(pairs[one, 0]), int(pairs[one, 1])), float(value[one])) for one in ranked)
        best.append(list(islice((one for one in questions if one[0] not in exclude), each)))
    found = [one[place] for place in range(each) for one in best if place < len(one)][:count]
    rows = np.array([row for row, _ in found], np.int64).reshape(-1, 3)
    return Chosen(rows, np.array([score for _, score in found]))


def _information(maps: Sequence[Array], anchor: int, pairs: NDArray[np.int64]) -> Array:
    """H(mean p) - mean H(p) over replicates, p the probability of "the first is closer" with Student's kernel."""
    anchors = np.full(len(pairs), anchor)
    p = np.array([closer_probability(x, anchors, pairs[:, 0], pairs[:, 1]) for x in maps])
    found: Array = _entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0)
    return found


def closer_probability(x: Array, anchor: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> Array:
    """The probability of "the first is closer" on a map: Student's kernel, as in the loss tste.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> closer_probability(line, np.array([0]), np.array([1]), np.array([2])).round(3)
    array([0.833])
    """
    freedom = max(1.0, x.shape[1] - 1.0)
    near, far = (
        (1 + ((x[one] - x[anchor]) ** 2).sum(axis=1) / freedom) ** (-(freedom + 1) / 2) for one in (first, second)
    )
    found: Array = near / (near + far)
    return found


def _entropy(p: Array) -> Array:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    found: Array = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    return found
