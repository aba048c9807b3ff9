"""Rules that choose the next questions: ours, and the ones that it is compared with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

import closerthan as ct
from closerthan.collect.choosing.belief import Belief, fit_belief
from closerthan.collect.choosing.information import PAIRS, RANDOM_FRACTION, Questions, choose
from closerthan.objective.information import uncertainty

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class SamplerState:
    """The information a rule chooses by: the answers so far and their maps, or none while there are too few."""

    n_objects: int
    n_dims: int
    answers: ct.Comparisons | None = None
    maps: Sequence[ct.Result] = ()

    @property
    def embedding(self) -> NDArray[np.float64] | None:
        return self.maps[0].embedding if self.maps else None

    def belief(self, rng: np.random.Generator) -> Belief:
        assert self.answers is not None
        return fit_belief(self.answers, self.maps, rng)


@dataclass(frozen=True)
class Sampler:
    """Random questions: the baseline, and the first questions of all other rules."""

    random_fraction: float = 1.0
    n_pairs: int = 200  # candidates per question

    def questions(self, state: SamplerState, count: int, rng: np.random.Generator) -> Rows:
        """Choose, for one anchor after another, the best of some random pairs."""
        n = state.n_objects
        if self.random_fraction == 1 or state.embedding is None:
            return Questions("closer", n).draw(rng.integers(n, size=count), 1, rng)[:, 0]
        anchors = np.concatenate([rng.permutation(n) for _ in range(-(-count // n))])[:count]
        pairs = Questions("closer", n).draw(anchors, self.n_pairs, rng)
        scores = self.worth(state, pairs.reshape(-1, 3), rng).reshape(pairs.shape[:2])
        return pairs[np.arange(count), scores.argmax(axis=1)]

    def worth(self, state: SamplerState, rows: Rows, rng: np.random.Generator) -> Scores:  # noqa: ARG002
        """Return the value of each question; zeros if all are equally good."""
        return np.zeros(len(rows))


class Chosen(Sampler):
    """The rule of choose_questions, except that the map is not fitted again."""

    def questions(self, state: SamplerState, count: int, rng: np.random.Generator) -> Rows:
        belief = None if state.embedding is None else state.belief(rng)
        every, nothing = Questions("closer", state.n_objects), np.zeros((0, 3), np.int64)
        return choose(every, state.answers, count, rng, nothing, belief, self.random_fraction).rows

    def worth(self, state: SamplerState, rows: Rows, rng: np.random.Generator) -> Scores:
        return state.belief(rng).information("closer", rows)


class Uncertain(Sampler):
    """Questions with the most uncertain answers, whether maps disagree or the distances are equal."""

    def worth(self, state: SamplerState, rows: Rows, rng: np.random.Generator) -> Scores:
        belief = state.belief(rng)
        return uncertainty("closer", rows, belief.maps, belief.loss)


class ARR(Sampler):
    """The information of Tamuz et al. (2011); Salmon's ARR takes the best question of each anchor in turn.

    The anchor may be at the position of any object, with a probability given by its own answers; the value of a
    question is the expected information about that position. All other objects stay where they are on the map.
    """

    def worth(self, state: SamplerState, rows: Rows, rng: np.random.Generator) -> Scores:  # noqa: ARG002
        x, answers = state.embedding, state.answers
        assert x is not None
        assert answers is not None
        alpha = float(max(state.n_dims - 1, 1))
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
    "chosen": Chosen(RANDOM_FRACTION, PAIRS),
    "uncertain": Uncertain(0.0),
    "ARR": ARR(0.0),
}
