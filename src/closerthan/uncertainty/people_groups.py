"""Groups of people: does one map serve all, or do several groups of people have maps of their own?

Judged by answers that no map has seen: a share of everybody's answers is held out. On the others, people are put into
groups by turns: each group gets a map, each person goes to the group whose map predicts the person's answers best
(those of one half by maps of the other half, so that no answer vouches for itself). Several maps are better than one if
they predict the held-out answers better; whether that is chance is told by a permutation test over people.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.checks import whole
from closerthan.comparisons import Comparisons, pair_numbers, pairs_of
from closerthan.comparisons.grouping import numbered
from closerthan.fit.progress import trials_bar
from closerthan.metrics import log_odds
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.uncertainty.alignment import align
from closerthan.uncertainty.person import check_people
from closerthan.uncertainty.refits import Refits
from closerthan.wording import percent

__all__ = ["PeopleGroups", "SeveralMaps", "group_people"]

HELD_OUT = 0.2  # share of the answers
ROUNDS = 6
MOST_SHOWN = 40  # people in the matrix; of more, some are drawn
PERMUTATIONS = 9_999
SIGNIFICANT = 0.05
GUESSING = 0.4  # an error of a group's own map above it is nearly chance
MOST_COMPARED = 3_000  # people whose answers are compared pair by pair for a first guess at groups


class SeveralMaps(NamedTuple):
    """How several maps do beside one: on held-out answers of the same people."""

    maps: str  # "2 groups", "3 groups", ..., or "own maps"
    error: float  # of the several maps
    one_map_error: float  # of one map, on the same answers
    p_value: float  # of a permutation test: how often chance alone does as well


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleGroups:
    """What :func:`group_people` returns.

    Attributes
    ----------
    n_groups
        1, or as many groups as have maps that predict new answers clearly better.
    group
        The group of each person, by name: numbers from 0, the largest group first.
    tests
        One map against two groups, three, ..., and against a map for each person.
    maps
        The map of each group, fitted to all its answers.
    shown
        The people of the matrix, ordered by group.
    matrix
        Held-out errors: of the map of the person in the row, on answers of the person in the column.
    group_matrix
        The same for groups.
    """

    n_groups: int
    group: dict[str, int]
    tests: tuple[SeveralMaps, ...]
    maps: tuple[Result, ...]
    shown: tuple[str, ...]
    matrix: Array
    group_matrix: Array

    def __repr__(self) -> str:
        return f"PeopleGroups({len(self.group)} people in {self.n_groups} group{'s' * (self.n_groups != 1)})"

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        if self.n_groups == 1:
            nearest = min((test for test in self.tests), key=lambda test: test.p_value)
            if nearest.p_value < SIGNIFICANT:  # of three or more groups, where two were no better than one
                return (
                    f"one map is kept for all {len(self.group)} people, but not surely: two groups are not clearly "
                    f"better, yet {nearest.maps} are (error {percent(nearest.error)} instead of "
                    f"{percent(nearest.one_map_error)}, p = {nearest.p_value:.2g}); look at the matrix"
                )
            return (
                f"one map serves all {len(self.group)} people: {nearest.maps} predict new answers no better than by "
                f"chance (error {percent(nearest.error)} instead of {percent(nearest.one_map_error)}, "
                f"p = {nearest.p_value:.2g})"
            )
        test = self.tests[self.n_groups - 2]
        sizes = np.bincount(list(self.group.values()))
        said = (
            f"there are {self.n_groups} groups of people ({', '.join(map(str, sizes))}) with maps of their own: these "
            f"have an error of {percent(test.error)} on new answers, one map for all {percent(test.one_map_error)} "
            f"(p = {test.p_value:.2g}); look at each group's map"
        )
        guessing = np.flatnonzero(self.group_matrix.diagonal() > GUESSING)
        if len(guessing):
            said += (
                f"; even its own map gets {percent(self.group_matrix.diagonal().max())} of the answers of group "
                f"{guessing[0] + 1} wrong: these people seem careless rather than of another view"
            )
        return said

    def aligned_maps(self) -> Array:
        """The map of each group, laid over the first: (n_groups, n_objects, n_dims)."""
        maps = np.stack([result.embedding for result in self.maps])
        return align(maps, maps[0], np.ones(maps.shape[1]), scaling=True)  # what differs is shape, not size

    def to_csv(self, path: str | Path) -> None:
        """Write the matrix of people."""
        names = [name.replace("\n", " ") for name in self.shown]
        rows = [[name, *(f"{error:.4f}" for error in errors)] for name, errors in zip(names, self.matrix, strict=True)]
        whole_csv(path, ["map of", *names], rows)


def group_people(
    answers: Comparisons,
    n_dims: int = 2,
    *,
    most_groups: int = 3,
    seed: int = 0,
    n_threads: int | None = None,
    progress: bool = False,
    **settings: Any,
) -> PeopleGroups:
    """Look for groups of people with maps of their own, and for whose map predicts whose answers.

    Parameters
    ----------
    answers
        Comparisons whose people are known: at least two.
    n_dims
        As in :func:`closerthan.embed`.
    most_groups
        The most groups to try.
    seed, n_threads, progress
        As in :func:`closerthan.embed`.
    settings
        Of :func:`closerthan.embed`. With ``loss="auto"`` the loss is chosen once, on all answers.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> views = [rng.standard_normal((20, 2)) for _ in range(2)]
    >>> rows = np.concatenate([ct.datasets.simulated(view, 1500, seed=0).rows for view in views])
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(3000) // 250)
    >>> groups = ct.group_people(answers, loss="soe", seed=0)
    >>> groups, groups.group["0"] == groups.group["5"], groups.group["0"] == groups.group["6"]
    (PeopleGroups(12 people in 2 groups), True, False)
    """
    answers = Comparisons.of(answers)
    check_people(answers, "to look for groups")
    most_groups = whole("most_groups", most_groups, least=2)
    rng = np.random.default_rng(seed)
    train, held_out = answers.split(HELD_OUT, rng, by="answers")
    most_groups = min(most_groups, train.n_people or 0)
    shown = _shown(train, held_out, rng)
    n_fits = 2 + sum(2 * ROUNDS * number + 2 * number for number in range(2, most_groups + 1)) + len(shown)
    with trials_bar(progress, "groups of people", n_fits, 0) as done:
        fits = Refits.of(answers, n_dims, settings, seed=seed, n_threads=n_threads)
        done()
        search = _Search(train, held_out, fits, seed, done)
        (one,) = fits.parts([train], seed, done)
        wrong_by_one = search.wrong(one)
        tests: list[SeveralMaps] = []
        best, chosen = np.zeros(len(answers.person_names or ()), dtype=np.int64), wrong_by_one
        first_guesses = _unlikeness(train, one)
        growing = True
        for number in range(2, most_groups + 1):
            group = search.groups(first_guesses, number, rng)
            maps = fits.parts(_parts(train, group), seed, done)
            wrong = np.choose(group[held_out.people], [search.wrong(result) for result in maps])
            tests.append(_test(f"{number} groups", wrong, wrong_by_one, search.people, rng))
            growing = growing and _test("", wrong, chosen, search.people, rng).p_value < SIGNIFICANT
            if growing:
                best, chosen = group, wrong
        best = _largest_first(best, train)
        own = fits.parts([train.take(np.flatnonzero(train.people == person)) for person in shown], seed, done)
        wrong_by_own = np.stack([search.wrong(result) for result in own])
        tests.append(_own_maps(wrong_by_own, wrong_by_one, shown, search.people, rng))
        final = fits.parts(_parts(answers, best), seed, done)
        judged = fits.parts(_parts(train, best), seed, done)
    names = answers.person_names or ()
    order = np.argsort(best[shown], kind="stable")
    present = np.unique(answers.people)  # type: ignore[arg-type]  # they are known
    return PeopleGroups(
        int(best.max()) + 1,
        {names[person]: int(best[person]) for person in present},
        tuple(tests),
        tuple(final),
        tuple(names[shown[place]] for place in order),
        _errors(wrong_by_own[order], search.people, np.asarray(shown)[order], np.arange(len(names))),
        _errors(
            np.stack([search.wrong(result) for result in judged]), search.people, np.arange(int(best.max()) + 1), best
        ),
    )


@dataclasses.dataclass(frozen=True)
class _Search:
    """What is fitted, and what is predicted."""

    train: Comparisons
    held_out: Comparisons
    fits: Refits
    seed: int
    done: Callable[[], None]

    @property
    def people(self) -> NDArray[np.int32]:
        """Who gave the held-out answers."""
        assert self.held_out.people is not None
        return self.held_out.people

    def wrong(self, result: Result) -> NDArray[np.bool_]:
        """The held-out comparisons that a map gets wrong."""
        return ~(log_odds(self.held_out, result.embedding, result.loss) > 0)

    def groups(self, unlikeness: Array | None, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The group of each person, from the training answers alone."""
        train = self.train
        assert train.people is not None
        n_people = len(train.person_names or ())
        group = _first_guess(unlikeness, n_people, number, rng)
        half = (rng.permutation(int(train.groups().max()) + 1) % 2)[train.groups()].astype(bool)
        halves = [train.take(half), train.take(~half)]
        for _ in range(ROUNDS):
            parts = [part for one in halves for part in _parts(one, group)]
            if len(parts) < 2 * number:  # a group has nobody left
                break
            maps = self.fits.parts(parts, self.seed, self.done)
            score = np.zeros((number, n_people))
            for half_number, other in enumerate(reversed(halves)):
                odds = [
                    log_odds(other, result.embedding, result.loss) for result in maps[half_number * number :][:number]
                ]
                slope = Calibration.fitted(np.concatenate(odds), bent=False).slope
                for place, one in enumerate(odds):
                    score[place] += np.bincount(other.people, -np.logaddexp(0, -slope * one), minlength=n_people)  # type: ignore[arg-type]
            before, group = group, score.argmax(axis=0)
            if len(np.unique(group[train.people])) < number:
                return before
            if (group == before).all():
                break
        return group


def _parts(answers: Comparisons, group: NDArray[np.int64]) -> list[Comparisons]:
    """The answers of each group."""
    of_row = group[answers.people]
    return [answers.take(of_row == number) for number in np.unique(of_row)]


def _shown(train: Comparisons, held_out: Comparisons, rng: np.random.Generator) -> list[int]:
    """People who gave answers on both sides; some of them if there are many."""
    assert train.people is not None
    assert held_out.people is not None
    both = np.intersect1d(train.people, held_out.people)
    if len(both) > MOST_SHOWN:
        both = np.sort(rng.choice(both, MOST_SHOWN, replace=False))
    return [int(person) for person in both]


def _unlikeness(train: Comparisons, one: Result) -> Array | None:
    """How people's answers differ from the common map in the same way: inner products of their residuals.

    What the map did not expect in an answer says that the near pair should be nearer and the far pair farther; summed
    by pair of objects, this is a direction for each person. None where there are too many people to compare.
    """
    from scipy.sparse import coo_array

    assert train.people is not None
    n_people = len(train.person_names or ())
    if n_people > MOST_COMPARED:
        return None
    surprise = expit(-log_odds(train, one.embedding, one.loss))
    near, far = (pair_numbers(*pair, train.n_objects) for pair in pairs_of(train.rows))
    pair = numbered(np.concatenate([near, far]))
    person = np.concatenate([train.people, train.people])
    residual = coo_array(
        (np.concatenate([surprise, -surprise]), (person, pair)), shape=(n_people, int(pair.max()) + 1)
    ).tocsr()
    likeness = np.asarray((residual @ residual.T).todense())
    # What a person has in common with himself is mostly noise; then everybody counts the same.
    size = np.sqrt(np.maximum(likeness.diagonal(), 1e-12))
    likeness /= size[:, None] * size
    np.fill_diagonal(likeness, 0.0)
    likeness -= likeness.mean(axis=0)
    likeness -= likeness.mean(axis=1)[:, None]
    return likeness


def _first_guess(likeness: Array | None, n_people: int, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Groups by the main directions in which people differ; at random where nothing is known."""
    if likeness is None:
        return rng.permutation(n_people) % number
    _, vectors = np.linalg.eigh((likeness + likeness.T) / 2)
    first = np.argsort(vectors[:, -1], kind="stable")
    group = np.zeros(n_people, dtype=np.int64)
    group[first[n_people // 2 :]] = 1
    for extra in range(2, number):  # a further direction takes its extreme third from all groups
        ends = np.argsort(vectors[:, -extra], kind="stable")
        group[ends[-max(n_people // (extra + 1), 1) :]] = extra
    return group


def _test(
    what: str,
    wrong: NDArray[np.bool_],
    wrong_by_one: NDArray[np.bool_],
    people: NDArray[np.int32],
    rng: np.random.Generator,
) -> SeveralMaps:
    """Whether fewer answers are wrong than by one map: people's gains are as often negative as positive by chance."""
    gain = np.bincount(people, wrong_by_one.astype(float) - wrong)
    gain = gain[gain != 0]
    signs = rng.integers(2, size=(PERMUTATIONS, len(gain)), dtype=np.int8) * 2 - 1
    as_good = int((signs @ gain >= gain.sum() - 1e-9).sum())
    return SeveralMaps(what, float(wrong.mean()), float(wrong_by_one.mean()), (1 + as_good) / (1 + PERMUTATIONS))


def _own_maps(
    wrong_by_own: NDArray[np.bool_],
    wrong_by_one: NDArray[np.bool_],
    shown: Sequence[int],
    people: NDArray[np.int32],
    rng: np.random.Generator,
) -> SeveralMaps:
    """A map for each person against one for all, on the answers of those who are shown."""
    place = np.full(int(people.max()) + 1, -1)
    place[list(shown)] = np.arange(len(shown))
    mine = np.flatnonzero(place[people] >= 0)
    return _test("own maps", wrong_by_own[place[people[mine]], mine], wrong_by_one[mine], people[mine], rng)


def _largest_first(group: NDArray[np.int64], train: Comparisons) -> NDArray[np.int64]:
    sizes = np.bincount(group[np.unique(train.people)], minlength=int(group.max()) + 1)  # type: ignore[arg-type]
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[group]


def _errors(
    wrong: NDArray[np.bool_], people: NDArray[np.int32], columns: NDArray[np.int64], column_of: NDArray[np.int64]
) -> Array:
    """The share of the answers of each column that each map gets wrong."""
    of_row = column_of[people]
    return np.stack([wrong[:, of_row == column].mean(axis=1) for column in columns], axis=1)
