"""Chains: neighbouring answers of a person that share most of their objects.

In some studies a screen replaces one of three objects and keeps the other two. An answer that is held out alone is then
easy to predict from the answers before and after it, so a held-out error measured in this way is too low. Whole chains
of such answers must be held out together.

Objects also recur by chance, above all where there are few of them. So the fraction of neighbours that share objects is
compared with the fraction in random orders of each person's answers.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.container import Comparisons

__all__ = ["Chains", "find_chains"]

# Set by judgement, not tuned.
MOST_ROWS = 200_000  # rows of a longer file that are searched first; the rest is searched only if they have chains
MOST_EXAMINED = 20_000  # answers, of the first people, that are examined to detect chains
ORDERS = 10  # random orders of the answers to compare with
EXCESS = 0.1  # fraction of linked neighbours, beyond that in random orders, above which answers count as chained
STANDARD_ERRORS = 5.0  # number of its standard errors that the excess must also exceed
FEWEST_STEPS = 8  # steps in one direction that make rows count as sorted; their probability by chance is 2 ** -8
INSIDE = 0.9  # fraction of the links that must lie within blocks for these to be used instead of chains


@dataclasses.dataclass(frozen=True)
class Chains:
    """Chained answers, each of which shares at least half of its objects with the answer before.

    Attributes
    ----------
    fraction, by_chance
        The fraction of neighbouring answers of a person that share at least half of their objects, and the same in
        random orders of each person's answers. Neighbours about exactly the same objects are not counted, since they
        are held out together in any case.
    chain
        The number of each row's chain: a maximal run of answers of one person in which each is linked to the one
        before.
    """

    fraction: float
    by_chance: float
    chain: NDArray[np.int32]
    _first_row: NDArray[np.int64]  # first row of each answer, sorted by person and then by row
    _linked: NDArray[np.bool_]  # mask of the answers, from the second on, that are linked to the one before

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return int(self.chain.max()) + 1

    def are_within(self, blocks: NDArray[np.int32]) -> bool:
        """Return whether blocks (a number per row) have two answers or more on average and rarely cut a chain."""
        block = blocks[self._first_row]
        n_cut = int(np.count_nonzero(self._linked & (block[1:] != block[:-1])))
        n_linked = int(np.count_nonzero(self._linked))
        return 2 * len(np.unique(block)) <= len(block) and n_cut <= (1 - INSIDE) * n_linked


def find_chains(answers: Comparisons) -> Chains | None:
    """Return the chains of neighbouring answers; None if neighbours share no more objects than by chance.

    Rows must be in the order in which the questions were asked. None is also returned for rows sorted by an object,
    since the original order is then lost.

    Examples
    --------
    >>> screens = [np.random.default_rng(seed).permutation(20)[:7] for seed in range(30)]
    >>> rows = [screen[place : place + 3] for screen in screens for place in range(5)]  # one of three is replaced
    >>> chains = find_chains(Comparisons.from_triplets(np.array(rows)))
    >>> chains.n_chains, round(chains.fraction, 2)
    (29, 0.81)
    >>> find_chains(Comparisons.from_triplets(np.random.default_rng(0).permutation(rows)))
    """
    if len(answers) > MOST_ROWS:
        beginning = answers.replace(weights=None, trials=None).take(slice(MOST_ROWS))
        if find_chains(beginning) is None:
            return None
    people = np.zeros(len(answers), np.int32) if answers.people is None else answers.people
    every = np.arange(len(answers))
    answer = every if answers.answers is None else answers.answers
    first_row = every if answers.answers is None else np.unique(answer, return_index=True)[1]
    first_row = first_row[np.lexsort((first_row, people[first_row]))]
    place = np.zeros(int(answer.max()) + 1, np.int64)
    place[answer[first_row]] = np.arange(len(first_row))
    place = place[answer]  # position of each row's answer in that order
    n_first = min(len(first_row), MOST_EXAMINED)
    person, is_examined = people[first_row], place < n_first
    if _are_sorted(answers.rows[first_row[:n_first]], person[:n_first]):
        return None

    def fraction(order: NDArray[np.int64]) -> tuple[float, int]:
        examined = answers.rows[is_examined], order[place[is_examined]]
        linked, same = _links(*examined, answers.n_objects, person[:n_first])
        n_neighbours = int(np.count_nonzero((person[1:n_first] == person[: n_first - 1]) & ~same))
        return int(np.count_nonzero(linked & ~same)) / max(n_neighbours, 1), n_neighbours

    observed, n_neighbours = fraction(np.arange(n_first))
    if observed <= EXCESS or not n_neighbours:
        return None
    rng, inside = np.random.default_rng(0), person[:n_first]
    orders = [np.argsort(np.lexsort((rng.random(n_first), inside))) for _ in range(ORDERS)]
    by_chance = float(np.mean([fraction(order)[0] for order in orders]))
    error = np.sqrt(max(by_chance * (1 - by_chance), 1 / n_neighbours) / n_neighbours)
    if observed - by_chance <= max(EXCESS, STANDARD_ERRORS * error):
        return None
    linked, _ = _links(answers.rows, place, answers.n_objects, person)
    chain = np.concatenate([[0], np.cumsum(~linked)]).astype(np.int32)
    return Chains(observed, by_chance, chain[place], first_row, linked)


def _links(
    rows: NDArray[np.int32], place: NDArray[np.int64], n_objects: int, person: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Compare the objects of each answer, from the second on, with those of the answer before.

    Return two masks: the answers that share at least half of their objects, and those that share all of them.
    ``place`` is the position of each row's answer among all answers, and ``person`` the person at each position.
    """
    pairs = np.sort(place[:, None] * n_objects + rows, axis=None)  # each pair of an answer and one of its objects
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]  # twenty times as fast as np.unique
    answer = pairs // n_objects
    size = np.bincount(answer, minlength=len(person))
    in_next = pairs + n_objects  # the same object in the next answer
    index = np.searchsorted(pairs, in_next)
    index[index == len(pairs)] = 0
    shared = np.bincount(answer[pairs[index] == in_next], minlength=len(person))[:-1]
    one_person = person[1:] == person[:-1]
    linked = one_person & (2 * shared >= np.minimum(size[1:], size[:-1]))
    return linked, one_person & (shared == size[1:]) & (shared == size[:-1])


def _are_sorted(rows: NDArray[np.int32], person: NDArray[np.int32]) -> bool:
    """Return whether each person's rows are sorted by one of the columns, or by their smallest object."""
    steps = np.diff(np.column_stack([rows, rows.min(axis=1)]).astype(np.int64), axis=0)[person[1:] == person[:-1]]
    up, down = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    return bool((((up == 0) | (down == 0)) & (up + down >= FEWEST_STEPS)).any())
