"""Accuracy of whole answers: how often a map makes the choice that people made, and how probable their choices are.

A map gives every pair of objects a similarity. For a question such as "which of these three is the odd one out?" the
map chooses the most similar of the pairs shown. The *accuracy* is the fraction of answers in which this is the choice
that was made, where ties are split: if two pairs are equally similar, each counts as half of the choice. The *chance
level* is the accuracy of random choices: 1/3 for odd one out of three, 1/k for the nearest of k. By contrast, the
errors of :mod:`closerthan.metrics` are about single comparisons, for which chance is 1/2.

If g is the similarity, Luce's choice axiom gives every pair a probability of being chosen::

    P(pair 0 is chosen) = g(pair 0) / sum_k g(pair k)

and the probability of a ranking is the product over its successive choices (Plackett 1975). If the question asks for
the least similar pair, 1/g takes the place of g. The *bits per answer* are the mean of ``-log2 P``: 0 for perfect
prediction, log2(3) = 1.58 for a guess among three.

References
----------
- R. D. Luce: Individual Choice Behavior. Wiley 1959.
- R. L. Plackett: The analysis of permutations. Applied Statistics 24, 1975.
"""

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.comparisons import Choices, Comparisons

__all__ = [
    "SIMILARITIES",
    "Similarity",
    "chance_levels",
    "correct_choices",
    "log_probabilities",
    "pair_scores",
    "pair_similarities",
    "similarities_of_pairs",
    "without_rounding_errors",
]

Similarity = Literal["euclidean", "dot", "cosine"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
_CHUNK = 1 << 20  # pairs per block, which bounds the memory for temporary arrays
PRECISION = 40  # bits to which similarities are rounded, so that rounding errors (in the last of 53 bits) hide no ties
_SETS = 1 << 12  # sets per block, for the same reason
# Limits and step of the integral over log t for sets. Beyond these limits less than 1e-16 of the mass of exp(-t) is
# left; with this step the result agrees with exact sums to 1e-12.
LOWEST_LOG_TIME, HIGHEST_LOG_TIME, LOG_TIME_STEP = 38.0, 3.8, 0.1


def pair_similarities(choices: Choices, embedding: ArrayLike, similarity: str = "euclidean") -> Array:
    """Return the similarity of each pair of ``choices.pairs``; for "euclidean", minus the squared distance.

    Examples
    --------
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2]]))
    >>> pair_similarities(choices, [[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]).tolist()
    [-1.0, -1.0]
    >>> pair_similarities(choices, [[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]], "dot").tolist()
    [2.0, 1.0]
    """
    x = np.asarray(embedding, dtype=np.float64)
    if x.ndim != 2 or len(x) < choices.n_objects:
        rule = f"it must have a row for each of {choices.n_objects:,} objects"
        raise ParameterError("embedding", embedding, rule, problem=f"has shape {x.shape}")
    if not np.isfinite(x).all():
        raise ParameterError("embedding", embedding, "all coordinates must be finite", problem="has NaN or infinity")
    return similarities_of_pairs(choices.pairs, x, similarity)


def similarities_of_pairs(pairs: NDArray[Any], x: Array, similarity: str) -> Array:
    """Return the similarity of each pair of rows of ``x``, rounded so that pairs that tie have equal numbers.

    Rounding errors are proportional to the length L of the longest row, not to the similarity: a distance is rounded to
    a multiple of about ``L 2**-40``, a dot product to one of about ``L**2 2**-40``, and a cosine likewise with L = 1.

    Examples
    --------
    >>> similarities_of_pairs(np.array([[0, 1]]), np.array([[1.0, 0.0], [2.0, 0.0]]), "cosine")
    array([1.])
    >>> x = np.array([[1000.1], [1000.2], [1000.3]])
    >>> one, other = similarities_of_pairs(np.array([[0, 1], [1, 2]]), x, "euclidean")
    >>> bool(one == other)
    True
    """
    if similarity not in SIMILARITIES:
        raise ParameterError("similarity", similarity, f"it must be one of {', '.join(SIMILARITIES)}")
    if similarity == "cosine":
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        x = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
    longest = np.frexp(np.linalg.norm(x, axis=1).max(initial=0.0))[1]
    scores = np.empty(len(pairs))
    for begin in range(0, len(scores), _CHUNK):
        one, other = (x[objects] for objects in pairs[begin : begin + _CHUNK].T)
        part = scores[begin : begin + _CHUNK]
        if similarity == "euclidean":
            one -= other
            np.einsum("pc,pc->p", one, one, out=part)
            np.negative(part, out=part)
        else:
            np.einsum("pc,pc->p", one, other, out=part)
    if similarity == "euclidean":  # an error e of a distance d is one of 2 d e of its square
        return _rounded(scores, longest + (np.frexp(scores)[1] + 1) // 2 - PRECISION)
    return _rounded(scores, 2 * longest - PRECISION)


def without_rounding_errors(values: Array) -> Array:
    """Return values rounded to ``PRECISION`` bits, so that those with rounding errors in their last bits are equal.

    Examples
    --------
    >>> one, other = without_rounding_errors(np.array([0.3, 0.1 + 0.2]))
    >>> bool(one == other)
    True
    """
    return _rounded(values, np.frexp(values)[1] - PRECISION)


def _rounded(values: Array, exponent: NDArray[Any]) -> Array:
    """Return values rounded to multiples of ``2**exponent``."""
    return np.asarray(np.ldexp(np.round(np.ldexp(values, -exponent)), exponent))


def pair_scores(choices: Choices, log_odds: Callable[[Comparisons], Array]) -> Array:
    """Return a log similarity for each pair of ``choices.pairs`` from the log odds of comparisons of these pairs.

    The score of a pair is the mean, over all pairs of its choice, of the log odds that it is the more similar one (0
    for the pair itself). If the log odds follow from a similarity g, as in ste, tste and ckl, this is log g minus its
    mean over the choice, so that choice probabilities are those of g. If an answer names a set, or the odd one of more
    than three objects, its probability depends on pairs of several choices: their scores are the log odds against one
    of the pairs that were not chosen. Log odds of any other loss, or of several maps
    together, define choice probabilities in the same way.

    Examples
    --------
    >>> from closerthan.metrics import log_odds
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> scores = pair_scores(choices, lambda questions: log_odds(questions, x, "ste"))
    >>> bool(np.allclose(scores - scores[0], pair_similarities(choices, x) - pair_similarities(choices, x)[0]))
    True
    """
    sizes, n_objects = choices.sizes, choices.n_objects

    def odds_of(pairs: NDArray[Any], others: NDArray[Any]) -> Array:
        rows = np.hstack([choices.pairs[pairs], choices.pairs[others]])
        return log_odds(Comparisons.from_quadruplets(rows, n_objects=n_objects, unmentioned="ignore"))

    scores = np.zeros(len(choices.pairs))
    is_joint = (choices.is_set | choices.is_odd_of_many)[choices.answers]
    for size in np.unique(sizes[~is_joint]):
        begins = choices.starts[:-1][~is_joint & (sizes == size)]
        for one, other in itertools.combinations(range(int(size)), 2):
            odds = odds_of(begins + one, begins + other)
            scores[begins + one] += odds / size
            scores[begins + other] -= odds / size
    pairs = np.flatnonzero(np.repeat(is_joint, sizes))
    if len(pairs):
        answer = choices.answers[choices.choice_of_pair[pairs]]
        reference = choices.starts[choices.first_choices[answer]] + 1  # a pair that was not chosen
        differs = (choices.pairs[pairs] != choices.pairs[reference]).any(axis=1)
        scores[pairs[differs]] = odds_of(pairs[differs], reference[differs])
    return scores


def correct_choices(choices: Choices, similarities: Array) -> Array:
    """Return 1 for each answer that agrees with the similarities of its pairs, 0 if not, and a fraction for ties.

    All choices of a ranking, or all members of a set, must agree.

    Examples
    --------
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [0, 1, 3]], answers=[0, 0]))
    >>> correct_choices(choices, np.array([3.0, 2.0, 1.0])), correct_choices(choices, np.array([3.0, 3.0, 1.0]))
    (array([1.]), array([0.5]))
    """
    scores = similarities * np.repeat(choices.signs, choices.sizes)
    chosen, first = scores[choices.starts[:-1]], choices.starts[:-1]
    others = scores.copy()
    others[first] = -np.inf
    best = np.maximum.reduceat(others, first)
    n_tied = np.add.reduceat(others == np.repeat(chosen, choices.sizes), first)
    right = np.where(chosen > best, 1.0, np.where(chosen == best, 1.0 / (1 + n_tied), 0.0))
    first_choice = choices.first_choices
    by_answer = np.multiply.reduceat(right, first_choice)
    # The members of a set that tie with others at its edge are exchangeable with them.
    edge = np.minimum.reduceat(chosen, first_choice)
    at_edge = chosen == np.repeat(edge, choices.n_choices_of_answers)
    n_inside = np.add.reduceat(at_edge.astype(np.int64), first_choice)
    n_outside = np.maximum.reduceat(np.where(at_edge, n_tied, 0), first_choice)
    tied = choices.is_set & (by_answer > 0.0) & (by_answer < 1.0)
    by_answer[tied] = 1.0 / comb(n_inside[tied] + n_outside[tied], n_inside[tied])
    if choices.is_odd_of_many.any():
        groups = _Groups.of(choices, similarities)
        best = np.maximum.reduceat(groups.scores, groups.starts)
        n_best = np.add.reduceat((groups.scores == np.repeat(best, groups.sizes)).astype(np.int64), groups.starts)
        by_answer[choices.is_odd_of_many] = np.where(groups.chosen == best, 1.0 / n_best, 0.0)
    return by_answer


def chance_levels(choices: Choices) -> Array:
    """Return the probability that a random answer agrees with each answer.

    Examples
    --------
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> chance_levels(Choices.of(odd_one_out)).round(3).tolist()
    [0.333]
    """
    by_answer = np.multiply.reduceat(1.0 / choices.sizes, choices.first_choices)
    n_members = choices.n_choices_of_answers[choices.is_set]
    n_others = choices.sizes[choices.first_choices[choices.is_set]] - 1
    by_answer[choices.is_set] = 1.0 / comb(n_members + n_others, n_members)
    if choices.is_odd_of_many.any():
        by_answer[choices.is_odd_of_many] = 1.0 / _Groups.of(choices, np.zeros(len(choices.pairs))).sizes
    return by_answer


def log_probabilities(choices: Choices, log_similarities: Array) -> Array:
    """Return the logarithm of the probability of each answer by Luce's choice axiom.

    The probability of a set is the sum of the probabilities of all orders in which its members may be chosen.

    Examples
    --------
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    >>> np.exp(log_probabilities(choices, np.log([2.0, 1.0, 1.0])))
    array([0.5])
    """
    scores, first = log_similarities * np.repeat(choices.signs, choices.sizes), choices.starts[:-1]
    by_answer = np.add.reduceat(scores[first] - _log_sums(scores, choices), choices.first_choices)
    if choices.is_odd_of_many.any():
        groups = _Groups.of(choices, log_similarities)
        largest = np.maximum.reduceat(groups.scores, groups.starts)
        sums = np.add.reduceat(np.exp(groups.scores - np.repeat(largest, groups.sizes)), groups.starts)
        by_answer[choices.is_odd_of_many] = groups.chosen - largest - np.log(sums)
    if not choices.is_set.any():
        return by_answer
    without_members = scores.copy()
    without_members[first] = -np.inf
    others = _log_sums(without_members, choices)
    n_members = choices.n_choices_of_answers
    for number in np.unique(n_members[choices.is_set]):
        answers = np.flatnonzero(choices.is_set & (n_members == number))
        own = choices.first_choices[answers]
        members = scores[first[own[:, None] + np.arange(number)]]
        by_answer[answers] = log_probability_of_sets(members, others[own])
    return by_answer


class _Groups(NamedTuple):
    """The groups that may be formed by leaving out one of k > 3 objects, for each answer that names the odd one.

    Attributes
    ----------
    scores
        Mean similarity of the pairs in each group, answer after answer.
    starts, sizes
        Position of the first group of each answer, and number of groups.
    chosen
        The score of the group without the object that the answer names as the odd one.
    """

    scores: Array
    starts: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    sizes: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    chosen: Array

    @classmethod
    def of(cls, choices: Choices, similarities: Array) -> "_Groups":
        answer_of_pair = choices.answers[choices.choice_of_pair].astype(np.int64)
        inside = np.flatnonzero(choices.is_odd_of_many[answer_of_pair])
        answer, n_objects = answer_of_pair[inside], choices.n_objects
        one, other = choices.pairs[inside].T.astype(np.int64)
        _, once = np.unique((answer * n_objects + one) * n_objects + other, return_index=True)
        is_chosen = np.zeros(len(choices.pairs), dtype=bool)
        is_chosen[choices.starts[:-1]] = True
        is_chosen = is_chosen[inside]
        ends = np.concatenate([answer[once] * n_objects + one[once], answer[once] * n_objects + other[once]])
        keys, group = np.unique(ends, return_inverse=True)
        own_sum = np.bincount(group, np.tile(similarities[inside[once]], 2))
        own = keys // n_objects
        starts = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
        sizes = np.diff(np.append(starts, len(keys)))
        total = np.add.reduceat(own_sum, starts) / 2
        n_pairs = (sizes - 1) * (sizes - 2) / 2
        scores = np.repeat(total, sizes) - own_sum
        scores /= np.repeat(n_pairs, sizes)
        belonging = np.unique(np.concatenate([answer[is_chosen] * n_objects + end[is_chosen] for end in (one, other)]))
        return cls(scores, starts, sizes, scores[~np.isin(keys, belonging)])


def _log_sums(scores: Array, choices: Choices) -> Array:
    """Return the logarithm of the sum of ``exp(scores)`` over the pairs of each choice."""
    largest = np.maximum.reduceat(scores, choices.starts[:-1])
    sums = np.add.reduceat(np.exp(scores - np.repeat(largest, choices.sizes)), choices.starts[:-1])
    return np.asarray(largest + np.log(sums))


def log_probability_of_sets(members: Array, others: Array) -> Array:
    """Return the log probability that all members are chosen before any of the others, in any order.

    Parameters
    ----------
    members
        (n_sets, n_members) log similarities of the members.
    others
        Logarithm of the sum of the similarities of the other pairs of each set.

    Notes
    -----
    Successive choices by Luce's rule are the order of arrival of independent exponential variables whose rates are the
    similarities. All members, with rates r, arrive before the others, with total rate R, with probability
    ``integral of R exp(-R t) prod(1 - exp(-r t)) dt``. As a function of log t the integrand is analytic and decreases
    rapidly on both sides, so the trapezoidal rule converges exponentially.

    Examples
    --------
    >>> np.exp(log_probability_of_sets(np.zeros((1, 2)), np.log([2.0]))).round(12)
    array([0.16666667])
    """
    steps = np.arange(-LOWEST_LOG_TIME, HIGHEST_LOG_TIME, LOG_TIME_STEP)
    logs = np.empty(len(others))
    for begin in range(0, len(logs), _SETS):
        part = slice(begin, begin + _SETS)
        rates = members[part] - others[part, None]  # in units of the rate of the others
        total = steps - np.exp(steps) + np.zeros((len(rates), 1))
        for rate in rates.T:
            arrivals = np.exp(np.minimum(rate[:, None] + steps, 700.0))
            with np.errstate(divide="ignore"):
                total += np.log(-np.expm1(-arrivals))
        largest = total.max(axis=1)
        largest[np.isneginf(largest)] = 0.0
        with np.errstate(divide="ignore"):
            logs[part] = largest + np.log(LOG_TIME_STEP * np.exp(total - largest[:, None]).sum(axis=1))
    return np.minimum(logs, 0.0)
