"""Groups of people: does one map serve everybody, or do groups of people have maps of their own?

Maps are compared by cross-validation: each fold of the answers is predicted by maps fitted to the others. Within the
training folds, people are assigned to groups iteratively: a map is fitted to each group, and each person moves to the
group whose map predicts the person's answers best. Each half of the training answers is predicted by
maps fitted to the other half, so that no map is judged by its own answers. Several maps are better than one if they
predict held-out answers better; a test that flips the signs of the people's gains tells whether this may be chance.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons, pair_numbers, pairs_of
from closerthan.comparisons.grouping import none_can_be_held_out
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.cross_validation import fold_of
from closerthan.fit.progress import trials_bar
from closerthan.metrics import log_odds
from closerthan.people.person import check_people
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.settings import FitOptions, Settings, lists_options
from closerthan.uncertainty.alignment import align
from closerthan.uncertainty.refitter import Refitter, plan_refits
from closerthan.wording import html_table, p_number, p_value, percent

__all__ = ["PeopleGroups", "SeveralMaps", "check_several_answers", "group_people"]

FOLDS = 5
# Constants are set by judgement, except significance levels; docs/measured/people.md shows how well groups are found.
MOST_HELD_OUT = 50_000  # if more comparisons would be predicted, only some of the folds are run
MOST_REPEATS = 3  # cross-validations with different folds; more than one only while the number of groups is unclear
ROUNDS = 4  # rounds of reassigning people to groups, which end early if nobody moves
MOST_IN_MATRIX = 40  # people in the matrix; a random sample if there are more
PERMUTATIONS = 9_999
SIGNIFICANT, UNCLEAR = 0.05, 0.2  # limits of p values, to be divided by the number of groupings tried (Bonferroni)
NEARLY = 5.0  # folds are drawn again if a p value is within this factor of the significance level
GUESSING = 0.4  # error of a group's own map above which its answers are nearly random
OWN_MAPS = "own maps"  # name of the test of one map for each person
MOST_COMPARED = 3_000  # people whose answers are compared pair by pair for an initial grouping


class SeveralMaps(NamedTuple):
    """Comparison of several maps with one map, on held-out answers of the same people.

    Attributes
    ----------
    maps
        "2 groups", "3 groups", ..., or "own maps".
    error, one_map_error
        Held-out error of the several maps, and of one map on the same answers.
    p_value
        p value of a sign-flipping test of the null hypothesis that several maps are no better.
    """

    maps: str
    error: float
    one_map_error: float
    p_value: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleGroups:
    """Result of :func:`group_people`.

    Attributes
    ----------
    n_groups
        Number of groups whose maps predict new answers clearly better than fewer maps do; 1 if there is no such number.
    group
        The group of each person, by name: numbers from 0, the largest group first.
    tests
        Tests of one map against two groups, three, ..., and against a map for each person.
    maps
        The map of each group, fitted to all its answers.
    matrix_people
        The people in the rows and columns of ``matrix``, ordered by group.
    matrix
        Held-out errors: entry (i, j) is the error of person i's map on the answers of person j.
    group_matrix
        The same for groups.
    """

    n_groups: int
    group: dict[str, int]
    tests: tuple[SeveralMaps, ...]
    maps: tuple[Result, ...]
    matrix_people: tuple[str, ...]
    matrix: Array
    group_matrix: Array

    def __repr__(self) -> str:
        return f"PeopleGroups({len(self.group)} people in {self.n_groups} group{'s' * (self.n_groups != 1)})"

    def _repr_html_(self) -> str:
        rows = [
            (test.maps, percent(test.error), percent(test.one_map_error), p_number(test.p_value)) for test in self.tests
        ]
        return html_table(repr(self), ("maps", "held-out error", "of one map", "p"), rows)

    @property
    def sentence(self) -> str:
        """The conclusion in words."""
        everybody = f"all {len(self.group)} people"
        if self.n_groups == 1:
            n_tests = len(self.tests) - 1  # the last test is that of one map for each person
            test = min(self.tests, key=lambda test: test.p_value)
            several = "maps of single people" if test.maps == OWN_MAPS else test.maps
            numbers = (
                f"error on new answers {percent(test.error)}, with one map {percent(test.one_map_error)}, "
                f"{p_value(test.p_value)}"
            )
            if test.p_value < SIGNIFICANT / n_tests:  # a map for each person, where no number of groups is better
                return (
                    f"one map is kept for {everybody}, since maps of groups do not predict new answers clearly better, "
                    f"but {several} do ({numbers}): people differ; look at the matrix"
                )
            if test.p_value < UNCLEAR / n_tests:
                return (
                    f"it is not clear whether one map serves {everybody}: {several} may be better ({numbers}); one "
                    "map is kept; look at the matrix"
                )
            return (
                f"one map is kept for {everybody}: {several} do not predict new answers significantly better "
                f"({numbers})"
            )
        test = self.tests[self.n_groups - 2]
        sizes = np.bincount(list(self.group.values()))
        sentence = (
            f"there are {self.n_groups} groups of people ({', '.join(map(str, sizes))}) with maps of their own: these "
            f"have an error of {percent(test.error)} on new answers, one map for all has {percent(test.one_map_error)} "
            f"({p_value(test.p_value)}); look at each group's map"
        )
        errors = self.group_matrix.diagonal()
        if (errors > GUESSING).any():
            worst = int(errors.argmax())
            sentence += (
                f"; group {worst + 1} does not share a map: even its own map gets {percent(errors[worst])} of its "
                "answers wrong"
            )
        return sentence

    def aligned_maps(self) -> Array:
        """Return the maps of all groups, aligned with the first one: (n_groups, n_objects, n_dims)."""
        maps = np.stack([result.embedding for result in self.maps])
        return align(maps, maps[0], np.ones(maps.shape[1]), scaling=True)  # their shapes are compared, not their sizes

    def to_csv(self, path: str | Path) -> None:
        """Write the matrix of people as a CSV file."""
        names = [name.replace("\n", " ") for name in self.matrix_people]
        rows = [[name, *(f"{error:.4f}" for error in errors)] for name, errors in zip(names, self.matrix, strict=True)]
        whole_csv(path, ["map of", *names], rows)


@checked
@lists_options(FitOptions)
def group_people(
    answers: Comparisons,
    n_dims: int | None = None,
    *,
    most_groups: int = 3,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[FitOptions],
) -> PeopleGroups:
    """Find groups of people with maps of their own, and how well each person's map predicts the others' answers.

    Parameters
    ----------
    answers
        Comparisons that say who answered; there must be at least two people.
    n_dims, settings
        As in :func:`closerthan.embed`.
    most_groups
        The largest number of groups to try.
    result
        An existing fit to the same answers, which saves fitting them again.
    options
        As in :func:`closerthan.embed`. With ``loss="auto"`` the loss is chosen once, on all answers. All fits share the
        time limit.

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
    check_people(answers, "looking for groups")
    most_groups = min(whole("most_groups", most_groups, least=2), len(np.unique(answers.people)))  # type: ignore[arg-type]
    plan = plan_refits(answers, n_dims, settings, result, options)
    check_several_answers(answers, plan.settings.n_dims)
    numbers = range(1, most_groups + 1)
    n_fits = _most_fits(most_groups, min(answers.n_people or 0, MOST_IN_MATRIX))
    with trials_bar(bool(plan.progress), "groups of people", n_fits, 0) as tick:
        fits = Refitter.of(answers, plan, result)
        tick()
        seed = fits.seed
        people = _people_of_matrix(answers, np.random.default_rng(seed))
        trials: list[dict[int, HeldOutGroups]] = []
        tests: dict[int, SeveralMaps] = {}
        for repeat in range(MOST_REPEATS):
            trials.append(held_out_groups(answers, fits, numbers, seed=seed + repeat, tick=tick))
            wrong = {number: np.stack([trial[number].wrong for trial in trials]) for number in numbers}
            tests = {
                number: _test(f"{number} groups", wrong[number], wrong[1], answers, seed) for number in numbers[1:]
            }
            n_groups, is_clear = _number_of_groups(wrong, answers, seed)
            if is_clear:
                break
        matrix, own_maps = _own_maps(answers, fits, people, trials[0][1], tick)
        (one,) = fits.fit_each([answers], tick)
        group = np.zeros(len(answers.person_names or ()), dtype=np.int64)
        if n_groups > 1:
            group = _groups(answers, fits, n_groups, _similarity(answers, one), np.random.default_rng(seed), tick)
            if int(group.max()) + 1 < n_groups:  # a group lost its last member: use the groups of the first fold
                group = trials[0][n_groups].group[0]
            group = _largest_first(group, answers)
        maps = fits.fit_each(_parts(answers, group), tick) if n_groups > 1 else [one]
    names = answers.person_names or ()
    order = np.argsort(group[people], kind="stable")
    present = np.unique(answers.people)  # type: ignore[arg-type]
    return PeopleGroups(
        n_groups,
        {names[person]: int(group[person]) for person in present},
        (*tests.values(), own_maps),
        tuple(maps),
        tuple(names[people[place]] for place in order),
        matrix[np.ix_(order, order)],
        _group_matrix(answers, group, trials[0][n_groups]),
    )


class HeldOutGroups(NamedTuple):
    """Cross-validated predictions by the maps of a fixed number of groups.

    Attributes
    ----------
    people
        The person of each comparison.
    fold
        The fold of each comparison; -1 if it was never held out.
    group
        (n_folds, n_people): groups of the people, found without the answers of the fold.
    scores
        (n_groups, n_comparisons): log odds of each held-out comparison on the map of each group.
    """

    people: NDArray[np.int32]
    fold: NDArray[np.int32]
    group: NDArray[np.int64]
    scores: Array

    @property
    def wrong(self) -> Array:
        """1 where the map of the person's group gets a comparison wrong, 0 elsewhere; NaN if it was never held out."""
        scores = self.scores[self.group[self.fold, self.people], np.arange(len(self.fold))]
        return np.where(np.isnan(scores), np.nan, ~(scores > 0))


def held_out_groups(
    answers: Comparisons,
    fits: Refitter,
    numbers: Sequence[int],
    *,
    seed: int,
    tick: Callable[[], None] = lambda: None,
) -> dict[int, HeldOutGroups]:
    """Cross-validate maps of several numbers of groups on the same folds of the answers.

    Parameters
    ----------
    answers
        Comparisons whose people are known.
    fits
        Fits the maps.
    numbers
        Numbers of groups; 1 is one map for all people.
    seed
        Seed for the folds.
    tick
        Called after each fit.
    """
    question = answers.groups()
    n_folds = min(FOLDS, int(question.max()) + 1)
    fold = fold_of(question, n_folds, seed, "answers")
    n_used = min(n_folds, -(-MOST_HELD_OUT * n_folds // len(answers)))
    people, n_people = answers.people, len(answers.person_names or ())
    assert people is not None
    group = {number: np.zeros((n_used, n_people), dtype=np.int64) for number in numbers}
    scores = {number: np.full((number, len(answers)), np.nan) for number in numbers}
    rng = np.random.default_rng(seed)
    for held_out_fold in range(n_used):
        rows = np.flatnonzero(fold == held_out_fold)
        train, held_out = answers.take(fold != held_out_fold), answers.take(rows)
        (one,) = fits.fit_each([train], tick, seed=seed)
        similarity = _similarity(train, one)
        for number in numbers:
            groups = group[number][held_out_fold]
            groups[:] = _groups(train, fits, number, similarity, rng, tick) if number > 1 else 0
            maps = fits.fit_each(_parts(train, groups), tick, seed=seed) if number > 1 else [one]
            for which, result in enumerate(maps):
                scores[number][which, rows] = log_odds(held_out, result.embedding, result.loss)
    fold = np.where(fold < n_used, fold, -1).astype(np.int32)
    return {number: HeldOutGroups(people, fold, group[number], scores[number]) for number in numbers}


def check_several_answers(answers: Comparisons, n_dims: int) -> None:
    """Raise an error unless maps of groups can be judged by held-out questions of the same people."""
    if answers.n_blocks is not None and answers.n_blocks < 2 * (answers.n_people or 0):
        raise ValueError(
            f"{answers.n_people:,} people have {answers.n_blocks:,} blocks of dependent answers, so no block of a "
            "person can be held out and predicted from the others"
        )
    question, people = answers.groups(), answers.people
    assert people is not None
    if int(question.max()) == 0:
        raise ValueError(none_can_be_held_out("answers"))
    order = np.lexsort((question, people))
    same_person = people[order][1:] == people[order][:-1]
    if not (same_person & (question[order][1:] != question[order][:-1])).any():
        raise ValueError(
            "nobody answered two different questions, so no answer of a person can be predicted from the others"
        )
    n_questions, n_coordinates = int(question.max()) + 1, answers.n_objects * n_dims
    if answers.blocks is None and n_questions < n_coordinates:
        raise ValueError(
            f"the answers are to {n_questions:,} different questions, fewer than the {n_coordinates:,} coordinates of "
            "a map, so a map cannot predict held-out questions"
        )


def _groups(
    train: Comparisons,
    fits: Refitter,
    number: int,
    similarity: Array | None,
    rng: np.random.Generator,
    tick: Callable[[], None],
) -> NDArray[np.int64]:
    """Assign people to groups, numbered from 0, each of which has answers in ``train``."""
    people, n_people = train.people, len(train.person_names or ())
    assert people is not None
    group = _initial_groups(similarity, n_people, number, rng)
    question = train.groups()
    half = (rng.permutation(int(question.max()) + 1) % 2)[question].astype(bool)
    halves = [train.take(half), train.take(~half)]
    for _ in range(ROUNDS):
        parts = [part for one in halves for part in _parts(one, group)]
        if len(parts) < 2 * number:  # a group has no answers left
            break
        maps = fits.fit_each(parts, tick, seed=0)  # the same starts in all rounds, so that groups settle
        score = np.zeros((number, n_people))
        for half_number, other in enumerate(reversed(halves)):
            odds = [log_odds(other, result.embedding, result.loss) for result in maps[half_number * number :][:number]]
            slope = Calibration.fitted(np.concatenate(odds), fit_power=False, fit_lapses=False).slope
            for place, one in enumerate(odds):
                score[place] += np.bincount(other.people, -np.logaddexp(0, -slope * one), minlength=n_people)  # type: ignore[arg-type]
        before, group = group, score.argmax(axis=0)
        if len(np.unique(group[people])) < number:
            group = before
            break
        if (group == before).all():
            break
    group_of_row = np.unique(group[people], return_inverse=True)[1]
    numbered_group = np.full(n_people, int(np.bincount(group_of_row).argmax()), dtype=np.int64)
    numbered_group[people] = group_of_row
    return numbered_group


def _parts(answers: Comparisons, group: NDArray[np.int64]) -> list[Comparisons]:
    """Return the answers of each group."""
    of_row = group[answers.people]
    return [answers.take(of_row == number) for number in np.unique(of_row)]


def _most_fits(most_groups: int, n_own_maps: int) -> int:
    """Return the number of fits if every search takes all its rounds and no cross-validation is repeated."""
    searches = sum(2 * ROUNDS * number + number for number in range(2, most_groups + 1))
    return 2 + (FOLDS + 1) * (1 + searches) + FOLDS * n_own_maps


def _people_of_matrix(answers: Comparisons, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the people who answered at least two questions, or a random sample of them if there are many."""
    assert answers.people is not None
    several = np.flatnonzero(np.bincount(answers.people) > 1)
    return several if len(several) <= MOST_IN_MATRIX else np.sort(rng.choice(several, MOST_IN_MATRIX, replace=False))


def _number_of_groups(wrong: Mapping[int, Array], answers: Comparisons, seed: int) -> tuple[int, bool]:
    """Return the number of groups whose maps predict clearly better, and whether it is clear without more folds."""
    chosen, is_clear, level = 1, True, SIGNIFICANT / (len(wrong) - 1)
    for number in range(2, len(wrong) + 1):
        test = _test("", wrong[number], wrong[chosen], answers, seed)
        is_clear = is_clear and not level / NEARLY < test.p_value < level * NEARLY
        if test.p_value < level:
            chosen = number
    return chosen, is_clear


def _similarity(train: Comparisons, one: Result) -> Array | None:
    """Return how similarly people deviate from the common map: normalised inner products of their residuals.

    The residual of an answer is its improbability on the map. It pulls the near pair together and pushes the far pair
    apart; summed by pair of objects, residuals give each person a direction. None if there are too many people.
    """
    from scipy.sparse import coo_array

    assert train.people is not None
    n_people = len(train.person_names or ())
    if n_people > MOST_COMPARED:
        return None
    residuals = expit(-log_odds(train, one.embedding, one.loss))
    near, far = (pair_numbers(*pair, train.n_objects) for pair in pairs_of(train.rows))
    pair = consecutive_numbers(np.concatenate([near, far]))
    person = np.concatenate([train.people, train.people])
    directions = coo_array(
        (np.concatenate([residuals, -residuals]), (person, pair)), shape=(n_people, int(pair.max()) + 1)
    ).tocsr()
    similarity = np.asarray((directions @ directions.T).todense())
    # The diagonal is mostly noise. After normalisation everybody counts the same.
    size = np.sqrt(np.maximum(similarity.diagonal(), 1e-12))
    similarity /= size[:, None] * size
    np.fill_diagonal(similarity, 0.0)
    similarity -= similarity.mean(axis=0)
    similarity -= similarity.mean(axis=1)[:, None]
    return similarity


def _initial_groups(
    similarity: Array | None, n_people: int, number: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return groups along the main directions in which people differ; random groups without similarities."""
    if similarity is None:
        return rng.permutation(n_people) % number
    _, vectors = np.linalg.eigh((similarity + similarity.T) / 2)
    first = np.argsort(vectors[:, -1], kind="stable")
    group = np.zeros(n_people, dtype=np.int64)
    group[first[n_people // 2 :]] = 1
    for extra in range(2, number):  # another group gets the people at one end of the next direction
        ends = np.argsort(vectors[:, -extra], kind="stable")
        group[ends[-max(n_people // (extra + 1), 1) :]] = extra
    return group


def _test(maps: str, wrong: Array, wrong_by_one: Array, answers: Comparisons, seed: int) -> SeveralMaps:
    """Test whether several maps get fewer answers wrong than one; rows are cross-validations, columns comparisons.

    People are independent: if several maps are no better, the gain of each person is as often negative as positive.
    """
    gain = np.bincount(answers.people, np.nan_to_num(wrong_by_one - wrong).sum(axis=0))  # type: ignore[arg-type]
    gain = gain[gain != 0]
    signs = np.random.default_rng(seed).integers(2, size=(PERMUTATIONS, len(gain)), dtype=np.int8) * 2 - 1
    as_good = int((signs @ gain >= gain.sum() - 1e-9).sum())
    return SeveralMaps(
        maps, float(np.nanmean(wrong)), float(np.nanmean(wrong_by_one)), (1 + as_good) / (1 + PERMUTATIONS)
    )


def _own_maps(
    answers: Comparisons,
    fits: Refitter,
    members: NDArray[np.int64],
    one_map: HeldOutGroups,
    tick: Callable[[], None],
) -> tuple[Array, SeveralMaps]:
    """Return errors of each person's map on everybody's held-out answers, and a test of own maps against one map."""
    people = one_map.people
    column = np.full(int(people.max()) + 1, -1)
    column[members] = np.arange(len(members))
    missed, total = np.zeros((2, len(members), len(members)))
    by_own, by_one = np.full((2, 1, len(answers)), np.nan)
    for fold in range(len(one_map.group)):
        rows = np.flatnonzero((one_map.fold == fold) & (column[people] >= 0))
        train = np.flatnonzero(one_map.fold != fold)
        held_out, of_row = answers.take(rows), column[people[rows]]
        by_own[0, rows], by_one[0, rows] = 0.5, one_map.wrong[rows]  # chance, for people without training answers
        mappable = [place for place, person in enumerate(members) if (people[train] == person).any()]
        parts = [answers.take(train[people[train] == members[place]]) for place in mappable]
        for place, result in zip(mappable, fits.fit_each(parts, tick) if parts else (), strict=True):
            wrong = ~(log_odds(held_out, result.embedding, result.loss) > 0)
            missed[place] += np.bincount(of_row, wrong, minlength=len(members))
            total[place] += np.bincount(of_row, minlength=len(members))
            own = of_row == place
            by_own[0, rows[own]] = wrong[own]
    matrix = np.where(total > 0, missed / np.maximum(total, 1), 0.5)
    return matrix, _test(OWN_MAPS, by_own, by_one, answers, fits.seed)


def _group_matrix(answers: Comparisons, group: NDArray[np.int64], trial: HeldOutGroups) -> Array:
    """Return held-out errors: entry (i, j) is the error of group i's map on the answers of group j.

    The groups of each fold are matched with the final groups by the people they share.
    """
    from scipy.optimize import linear_sum_assignment

    number = len(trial.scores)
    wrong, total = np.zeros((2, number, number))
    present = np.unique(answers.people)  # type: ignore[arg-type]
    for fold, of_fold in enumerate(trial.group):
        shared = np.zeros((number, number))
        np.add.at(shared, (of_fold[present], group[present]), 1)
        final = linear_sum_assignment(shared, maximize=True)[1]  # the final group that matches each group of the fold
        rows = np.flatnonzero(trial.fold == fold)
        column = final[of_fold[trial.people[rows]]]
        for place, scores in enumerate(trial.scores[:, rows]):
            if not np.isnan(scores).any():
                wrong[final[place]] += np.bincount(column, ~(scores > 0), minlength=number)
                total[final[place]] += np.bincount(column, minlength=number)
    return np.where(total > 0, wrong / np.maximum(total, 1), 0.5)


def _largest_first(group: NDArray[np.int64], answers: Comparisons) -> NDArray[np.int64]:
    sizes = np.bincount(group[np.unique(answers.people)], minlength=int(group.max()) + 1)  # type: ignore[arg-type]
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[group]
