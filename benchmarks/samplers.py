"""Rules by which the next questions are chosen: ours, and those that it is measured against."""

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from closerthan.collect.choosing.belief import LOSS, Belief, believed
from closerthan.collect.choosing.information import PAIRS, RANDOM_SHARE, Questions, choose
from closerthan.losses import Loss, loss_named
from closerthan.objective.information import uncertainty

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """What there is to choose by: the answers so far and a map of them; too few answers have no map."""

    n_objects: int
    n_dims: int
    answers: ct.Comparisons | None = None
    embedding: NDArray[np.float64] | None = None

    def belief(self, rng: np.random.Generator) -> Belief:
        assert self.answers is not None
        assert self.embedding is not None
        return believed(self.answers, self.embedding, self.loss, rng)

    @property
    def loss(self) -> Loss:
        return loss_named(LOSS).in_dims(self.n_dims)


@dataclass(frozen=True)
class Sampler:
    """Any question: the rule of those who do not choose, and the beginning of all others."""

    random_share: float = 1.0
    n_pairs: int = 200  # looked at for each question

    def questions(self, known: Known, count: int, rng: np.random.Generator) -> Rows:
        """For one anchor after another the best of some random pairs."""
        n = known.n_objects
        if self.random_share == 1 or known.embedding is None:
            return Questions("closer", n).draw(rng.integers(n, size=count), 1, rng)[:, 0]
        anchors = np.concatenate([rng.permutation(n) for _ in range(-(-count // n))])[:count]
        pairs = Questions("closer", n).draw(anchors, self.n_pairs, rng)
        scores = self.worth(known, pairs.reshape(-1, 3), rng).reshape(pairs.shape[:2])
        return pairs[np.arange(count), scores.argmax(axis=1)]

    def worth(self, known: Known, rows: Rows, rng: np.random.Generator) -> Scores:  # noqa: ARG002
        """How much each question is worth; zeros where all are worth the same."""
        return np.zeros(len(rows))


class Chosen(Sampler):
    """Ours, as choose_questions does it, but for the map, which is not fitted again."""

    def questions(self, known: Known, count: int, rng: np.random.Generator) -> Rows:
        belief = None if known.embedding is None else known.belief(rng)
        every, nothing = Questions("closer", known.n_objects), np.zeros(0, np.int64)
        return choose(every, known.answers, count, rng, nothing, belief, self.random_share).rows

    def worth(self, known: Known, rows: Rows, rng: np.random.Generator) -> Scores:
        return known.belief(rng).worth("closer", rows)


class Uncertain(Sampler):
    """How unsure the answer is, be it that maps differ or that it is a toss-up."""

    def worth(self, known: Known, rows: Rows, rng: np.random.Generator) -> Scores:
        belief = known.belief(rng)
        return uncertainty("closer", rows, belief.maps, belief.loss)


class ARR(Sampler):
    """The information of Tamuz et al. (2011), by which Salmon's ARR takes the best question of each anchor in turn.

    The anchor may be at the place of any object, with the probability that its own answers give that place; how much
    would the answer tell about which? All other objects stay where the map has them.
    """

    def worth(self, known: Known, rows: Rows, rng: np.random.Generator) -> Scores:  # noqa: ARG002
        x, answers = known.embedding, known.answers
        assert x is not None
        assert answers is not None
        alpha = float(max(known.n_dims - 1, 1))
        squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
        logs = -(alpha + 1) / 2 * np.log1p(squares / alpha)
        posterior = np.zeros((len(x), len(x)))
        _log_posterior(answers.rows, logs, posterior)
        posterior = np.exp(posterior - posterior.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        out = np.empty(len(rows))
        _arr_information(rows, logs, posterior, out)
        return out


@numba.njit(cache=True)
def _log_posterior(answers, logs, out):
    for q in range(len(answers)):
        i, j, k = answers[q]
        for place in range(len(logs)):
            out[i, place] -= math.log1p(math.exp(min(logs[place, k] - logs[place, j], 700.0)))


@numba.njit(cache=True)
def _arr_information(rows, logs, posterior, out):
    for q in range(len(rows)):
        i, j, k = rows[q]
        mean = entropy = 0.0
        for place in range(len(logs)):
            weight = posterior[i, place]
            if weight > 1e-9:
                p = 1.0 / (1.0 + math.exp(min(logs[place, k] - logs[place, j], 700.0)))
                mean += weight * p
                if 0.0 < p < 1.0:
                    entropy -= weight * (p * math.log(p) + (1.0 - p) * math.log(1.0 - p))
        out[q] = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean) - entropy if 0.0 < mean < 1.0 else 0.0


SAMPLERS = {
    "random": Sampler(),
    "chosen": Chosen(RANDOM_SHARE, PAIRS),
    "uncertain": Uncertain(0.0),
    "ARR": ARR(0.0),
}
