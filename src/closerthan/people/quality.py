"""Quality of people's answers: who answered carelessly, and how much weight each answer should get.

Weighted fits alternate with the lapse model (:mod:`closerthan.people.lapses`): maps are fitted, the model estimates the
probability that each answer is not a guess, and these probabilities are the weights of the next fits. People are
divided into folds, and each person is judged by a map fitted to the other folds, without the person's answers.

A person whose answers that map predicts badly may be careless or may have another view. No map predicts random
answers, but those of a minority are predicted by a map of the people who answer alike, and those of a person with a
consistent view by a map of the person's other answers. Both maps are tried, on held-out answers, before anybody is
called careless.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.checks import checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.choices import Choices
from closerthan.comparisons.positions import without_artefacts
from closerthan.evaluate.cross_validation import fold_of, folds
from closerthan.evaluate.repeats import repeats_of_people
from closerthan.fit.progress import trials_bar
from closerthan.losses import Loss
from closerthan.metrics import log_odds, triplet_error
from closerthan.people.groups import PeopleGroups, held_out_groups
from closerthan.people.lapses import Lapses, Responses, determined, fit_lapses, intervals
from closerthan.people.person import (
    DOUBTFUL,
    FAST,
    PER_COORDINATE,
    UNLIKE,
    VERDICTS,
    Person,
    check_people,
    fraction_of_fast_sets,
)
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, TimeOverError, ended_by, lists_options
from closerthan.uncertainty.refitter import Refitter, plan_refits
from closerthan.wording import first_few, html_table, percent

__all__ = ["PeopleAssessment", "assess_people"]

FOLDS = 5
OWN_FOLDS = 10  # folds of a single person's answers, which are few
ROUNDS = 6
CLEARLY = 1.645  # weights are used if they lower the error by this many standard errors (5 %, one-sided)
NOT_CHANCE = 1.645  # standard errors by which the others' map must predict better than chance (5 %, one-sided)
MOST_GROUPS = 2  # largest number of groups among the people whom the map of the others predicts badly
MOST_NAMED = 10  # people named in a sentence
MOST_ROWS = 20  # people in the table of a notebook
SETTLED = 0.005  # mean change of the weights below which no further round is run

STATEMENTS = {
    "reversed": ("answers the other way round", "answer the other way round"),
    "careless": ("looks careless", "look careless"),
    "unlike": (
        "answers differently from the others, for an unknown reason",
        "answer differently from the others, for an unknown reason",
    ),
    "own view": ("is careful, but has a different view", "are careful, but have a different view"),
    "unclear": ("cannot be judged, as the map of the others is not clearly better than chance on their answers",) * 2,
    "few": ("gave too few answers to be judged",) * 2,
}
"""Statements about one person, and about several people, with the same verdict."""

ADVICE = {
    "reversed": "check whether near and far are swapped",
    "own view": "keep them, and see whose maps predict their answers",
    "unclear": "keep them, but do not conclude that they answered carefully",
    "few": "keep them",
}
"""Advice about these people, where it does not depend on whether weights help."""

WEIGHED = {
    "careless": "fit with weights, or leave them out and say so",
    "unlike": "look at their answers, and fit with weights",
}
UNWEIGHED = {
    "careless": "look at their answers, then keep them or leave them out, and say so",
    "unlike": "look at their answers, and keep them unless you find a reason not to",
}
"""Advice about doubtful people, where weights help and where they do not."""

HASTY = tuple(f"often {answer} so fast that they may not have read the question" for answer in ("answers", "answer"))
FAILED = ("failed checks",) * 2


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleAssessment:
    """Result of :func:`assess_people`: a table of people, and a weight for each comparison.

    Attributes
    ----------
    people
        One :class:`~closerthan.people.person.Person` per person, the most serious verdicts first.
    weights
        For each comparison: the probability that it is not a guess, if its person looks careless or unlike others,
        and 1 otherwise. No answer is excluded.
    answers
        The comparisons that were assessed, with their original weights.
    plain_error, weighted_error
        The fraction of the answers of people who are not doubtful that maps fitted to other people's answers get wrong,
        without and with weights. Unless the weights clearly help, all of them are 1.
    loss, slope
        The loss of these maps, and the slope of the probability per unit of their log odds.
    stopped_by, after
        The reason for an early end, "interrupted" (by Ctrl-C) or "time_limit", and the progress by then; "" if the
        assessment is complete.
    n_dims
        Number of dimensions of these maps.
    """

    people: tuple[Person, ...]
    weights: Array
    answers: Comparisons
    plain_error: float
    weighted_error: float
    loss: Loss
    slope: float
    stopped_by: str = ""
    after: str = ""
    n_dims: int = 2

    def __repr__(self) -> str:
        return f"PeopleAssessment({len(self.people):,} people: {self.verdicts_in_words})"

    def _repr_html_(self) -> str:
        rows = [
            (person.name, person.verdict, f"{person.answers:,}", person.lapses, person.reasons)
            for person in self.people[:MOST_ROWS]
        ]
        return html_table(repr(self), ("person", "verdict", "answers", "lapses", "reasons"), rows, len(self.people))

    @property
    def weighted(self) -> Comparisons:
        """The comparisons with these weights, for :func:`closerthan.embed`; unchanged if no weights are used."""
        return self.answers.weighted(self.weights) if self.is_weighted else self.answers

    @property
    def is_weighted(self) -> bool:
        """True if some answers count less than others; weights are used only where they clearly help."""
        return bool((self.weights < 1).any())

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of people with each verdict, the most serious first."""
        counts = Counter(person.verdict for person in self.people)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}

    @property
    def verdicts_in_words(self) -> str:
        """Number of people with each verdict in words, such as "2 careless, 28 fine"."""
        return ", ".join(f"{number} {verdict}" for verdict, number in self.verdicts.items())

    @property
    def sentences(self) -> list[str]:
        """Conclusions and advice in words."""
        total = len(self.people)
        advice = {**ADVICE, **(WEIGHED if self.is_weighted else UNWEIGHED)}
        of_verdict = {name: [one for one in self.people if one.verdict == name] for name in VERDICTS}
        sentences = []
        if self.is_chance:
            sentences.append(
                f"the map of the others gets {percent(self.plain_error)} of the answers wrong, which is not clearly "
                "better than chance: it cannot show whether anybody is careless"
            )
        elif not any(of_verdict[name] for name in DOUBTFUL) and of_verdict["fine"]:
            n_judged = total - len(of_verdict["unclear"]) - len(of_verdict["few"])
            group = f"{total} people" if n_judged == total else f"the {n_judged} people who can be judged (of {total})"
            advice_for_all = "" if of_verdict["own view"] else ": use all answers as they are"
            sentences.append(f"none of {group} looks careless{advice_for_all}")
        sentences += [
            _about(of_verdict[name], total, statements, advice[name])
            for name, statements in STATEMENTS.items()
            if of_verdict[name] and not (name == "unclear" and self.is_chance)
        ]
        alone = PER_COORDINATE * self.answers.n_objects * self.n_dims
        if any(one.answers < alone and not one.has_signs for one in of_verdict["careless"]):
            sentences.append(
                "a person with a consistent view that nobody shares may look careless as well, unless that person gave "
                f"about {alone:,} answers: look before you leave anybody out"
            )
        typical_rate = self.people[0].typical_rate
        if typical_rate > UNLIKE and not self.is_chance:
            sentences.append(
                f"half of the people lapse in {percent(typical_rate, digits=0)} of their answers or more, so all "
                "answers are noisy; only people who lapse more often than that are called careless or unlike the others"
            )
        fitting = [one for one in self.people if one.verdict in ("fine", "own view")]
        if hasty := [one for one in fitting if one.verdict == "fine" and one.in_a_hurry]:
            sentences.append(_about(hasty, total, HASTY, "their answers fit the map all the same, so keep them"))
        if failed := [one for one in fitting if one.failed_checks]:
            all_the_same = "their answers fit a map all the same, so look at the checks before you leave anybody out"
            sentences.append(_about(failed, total, FAILED, all_the_same))
        changed = f"the error of maps on other people's answers from {percent(self.plain_error)} to "
        changed += percent(self.weighted_error)
        if self.is_weighted:
            sentences.append(f"all answers were used; weights change {changed}")
        elif self.weighted_error != self.plain_error:
            sentences.append(
                f"all answers were used and count the same: weights would change {changed}, which is no clear gain"
            )
        if self.stopped_by:
            sentences.append(
                f"{self.cut}: these results are less certain than complete ones, and all answers count the same"
            )
        return sentences

    @property
    def is_chance(self) -> bool:
        """True if maps of the others do not predict the answers of all people clearly better than chance.

        The standard error is based on the spread between people, since answers of one person need not be independent.
        """
        return _is_chance(self.people)

    @property
    def cut(self) -> str:
        """Reason for an early end, in words; empty if the assessment is complete."""
        return f"{ENDED[self.stopped_by]} after {self.after}" if self.stopped_by else ""

    def to_csv(self, path: str | Path, groups: PeopleGroups | None = None) -> None:
        """Write the table of people, the most serious verdicts first; with ``groups``, also the group of each."""
        rows = [person.to_row() for person in self.people]
        if groups is not None:
            rows = [
                {**row, "group": groups.group[person.name] + 1} for row, person in zip(rows, self.people, strict=True)
            ]
        whole_csv(path, list(rows[0]), [[_cell(value) for value in row.values()] for row in rows])

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one row per person (pandas must be installed)."""
        try:
            import pandas
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas; or use people") from None
        return pandas.DataFrame([person.to_row() for person in self.people]).set_index("name")


class AssessmentOptions(FitOptions, total=False):
    """Keyword arguments of :func:`assess_people`: those of every fit, and the numbers of folds and rounds."""

    n_folds: int
    rounds: int


@checked
@lists_options(AssessmentOptions, n_folds=FOLDS, rounds=ROUNDS)
def assess_people(
    answers: Comparisons,
    n_dims: int | None = None,
    *,
    checks: Mapping[str, tuple[int, int]] | None = None,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[AssessmentOptions],
) -> PeopleAssessment:
    """Assess people by their answers: estimate how often each person guesses, and a weight for each answer.

    Before anybody is called careless, the answers are compared with maps of the people who answer alike and with a map
    of the person's own answers. Nobody is excluded. ``ct.embed(assessment.weighted)`` fits a map in which doubtful
    answers count less.

    Parameters
    ----------
    answers
        Comparisons that say who answered; there must be at least two people.
    n_dims, settings
        As in :func:`closerthan.embed`.
    checks
        For people by name: the numbers of check questions (whose answer is obvious) asked and passed, as in
        ``ct.files.read_answers(FILE).checks``.
    result
        An existing fit to the same answers, whose loss and settings are used and which saves fitting them again.
    n_folds
        Number of folds of people; each person is judged by the map fitted to the other folds. There are 5 by default.
    rounds
        The largest number of rounds of fits and weights, 6 by default.
    options
        As in :func:`closerthan.embed`. With ``loss="auto"`` the loss is chosen once, on all answers. All fits share the
        time limit.

    Returns
    -------
    PeopleAssessment
        Ctrl-C and a time limit end the assessment early and keep the rounds completed so far, if there is at least one.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = ct.datasets.simulated(rng.standard_normal((20, 2)), 1000, seed=0).rows.copy()
    >>> rows[:100, 1:] = rng.permuted(rows[:100, 1:], axis=1)  # the first of ten people guesses
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.repeat(np.arange(10), 100))
    >>> assessment = ct.assess_people(answers, loss="soe", seed=0)
    >>> assessment.people[0].name, assessment.people[0].verdict
    ('0', 'careless')
    >>> assessment
    PeopleAssessment(10 people: 1 careless, 9 fine)
    """
    n_folds = whole("n_folds", options.pop("n_folds", FOLDS), least=2)
    rounds = whole("rounds", options.pop("rounds", ROUNDS))
    answers = Comparisons.of(answers)
    check_people(answers, "judging people by the map of the others")
    plan = plan_refits(answers, n_dims, settings, result, options)
    answers, _ = without_artefacts(answers)
    n_folds = min(n_folds, answers.n_people or 0)
    if answers.trials is not None and answers.sides is not None:
        side = answers.sides.astype(np.float64)
        responses = Responses.of(answers, np.where(side < 0, np.nan, 1 - side))
    else:
        responses = Responses.of(answers)
    with trials_bar(bool(plan.progress), "people", 1 + n_folds * (rounds + 1), 0) as tick:
        fits = Refitter.of(answers, plan, result)
        tick()
        others = _OthersMaps(answers, fits, fold_of(answers.groups("people"), n_folds, fits.seed, "people"), tick)
        plain_scores = others.scores(np.ones(len(answers)))
        lapses = fit_lapses(plain_scores, responses)
        people = _table(answers, responses, plain_scores, lapses, checks or {})
        weights, weighted_scores, stopped_by, after = np.ones(len(answers)), plain_scores, "", f"1 of {rounds} rounds"
        try:
            for scores, lapses, after in _later_rounds(others, lapses, responses, rounds):  # noqa: B007, B020
                people = _table(answers, responses, scores, lapses, checks or {})
            after = "the rounds, before other maps were tried for doubtful people"
            people = _with_other_maps(people, answers, fits)
            # Weights for everybody would do more harm than good: maps also mispredict careful people.
            doubtful = {person.name for person in people if person.verdict in DOUBTFUL}
            is_doubtful = np.array([name in doubtful for name in answers.person_names or ()])[responses.person]
            after = "the rounds, before the weights were tested"
            if is_doubtful.any():
                weights = np.where(is_doubtful, lapses.reliability, 1.0)
                weighted_scores = others.scores(weights)
        except (KeyboardInterrupt, TimeOverError) as early:
            stopped_by = ended_by(early)
            weights, is_doubtful = np.ones(len(answers)), np.zeros(len(answers), dtype=bool)
        counts = responses.counts * (~is_doubtful if not is_doubtful.all() else 1.0)
        helpful = _clearly_better(weighted_scores, plain_scores, counts, responses)
    if _is_chance(people):
        confidence = 1 - 0.05 / len(people)  # Bonferroni's correction
        people = [person._replace(confidence=confidence) for person in people]
    return PeopleAssessment(
        tuple(sorted(people, key=lambda person: person.severity)),
        weights if helpful else np.ones(len(answers)),
        answers,
        _error(plain_scores, counts),
        _error(weighted_scores, counts),
        fits.loss,
        lapses.slope,
        stopped_by,
        after if stopped_by else "",
        plan.settings.n_dims,
    )


def _is_chance(people: Sequence[Person]) -> bool:
    """Return the value of :attr:`PeopleAssessment.is_chance`."""
    numbers = np.array([person.answers for person in people], dtype=np.float64)
    above = numbers * (0.5 - np.array([person.others_error for person in people]))
    return bool(above.sum() <= NOT_CHANCE * np.sqrt(np.sum(above**2)))


def _about(people: Sequence[Person], total: int, statements: tuple[str, ...], advice: str) -> str:
    """Return a sentence about one or several people; ``statements`` are in the singular and in the plural."""
    names = first_few([person.name for person in people], MOST_NAMED)
    return f"{len(people)} of {total} people {statements[len(people) > 1]} ({names}): {advice}"


@dataclasses.dataclass(frozen=True)
class _OthersMaps:
    """Fits the maps by which each person is judged, to other people's answers only."""

    answers: Comparisons
    fits: Refitter
    fold: NDArray[np.int32]  # fold of each comparison; the folds consist of whole people
    tick: Callable[[], None]

    def scores(self, weights: Array) -> Array:
        """Return the log odds of each comparison on a map fitted to the other folds with these weights."""
        weighted, numbers = self.answers.weighted(weights), range(int(self.fold.max()) + 1)
        maps = self.fits.fit_each([weighted.take(self.fold != number) for number in numbers], self.tick)
        scores = np.empty(len(self.answers))
        for number, result in zip(numbers, maps, strict=True):
            inside = np.flatnonzero(self.fold == number)
            scores[inside] = log_odds(self.answers.take(inside), result.embedding, result.loss)
        return scores


def _later_rounds(
    others: _OthersMaps, lapses: Lapses, responses: Responses, rounds: int
) -> Iterator[tuple[Array, Lapses, str]]:
    """Run further rounds of weighted fits; yield the scores, the fitted lapses and the progress after each."""
    weights = np.ones(len(lapses.reliability))
    for number in range(2, rounds + 1):
        change, weights = float(np.abs(lapses.reliability - weights).mean()), lapses.reliability
        if change < SETTLED:
            return
        scores = others.scores(weights)
        lapses = fit_lapses(scores, responses)
        yield scores, lapses, f"{number} of {rounds} rounds"


def _error(scores: Array, counts: Array) -> float:
    return float(counts @ ~(scores > 0) / counts.sum())


def _clearly_better(scores: Array, baseline: Array, counts: Array, responses: Responses) -> bool:
    """Test whether scores predict significantly more answers than the baseline; people are the independent units."""
    gain = np.bincount(responses.person, counts * ((scores > 0).astype(np.float64) - (baseline > 0)))
    spread = float(np.sqrt(np.sum(gain**2)))
    return spread > 0 and float(gain.sum()) > CLEARLY * spread


def _table(
    answers: Comparisons, responses: Responses, scores: Array, lapses: Lapses, checks: Mapping[str, tuple[int, int]]
) -> list[Person]:
    """Return the statistics of each person, without the errors of other maps."""
    names = answers.person_names or ()
    repeats = repeats_of_people(answers)
    n_choices = _choices_per_row(answers)
    typical_rate = float(np.median(lapses.rates[np.unique(responses.person)]))
    posteriors = lapses.posteriors(scores, responses)
    (low, high), is_determined = intervals(posteriors), determined(posteriors)
    total = responses.sums()
    wrong, weight = responses.sums((~(scores > 0)).astype(np.float64)), responses.sums(lapses.reliability)
    people = []
    for number, name in enumerate(names):
        rows = np.flatnonzero(responses.person == number)
        if not len(rows):
            continue
        if answers.answers is not None:  # all comparisons of an answer have its time and side
            rows = rows[np.unique(answers.answers[rows], return_index=True)[1]]
        sides = np.empty(0) if answers.sides is None else answers.sides[rows]
        sides = sides[sides >= 0]
        times = np.full(len(rows), np.nan) if answers.times is None else answers.times[rows]
        has_time = np.isfinite(times)
        times, per_choice = times[has_time], (times / n_choices[rows])[has_time]
        n_checks, n_passed = checks.get(name, (0, 0))
        people.append(
            Person(
                name,
                len(rows),
                float(lapses.rates[number]),
                float(low[number]),
                float(high[number]),
                float(wrong[number] / total[number]),
                np.nan,
                np.nan,
                _fraction(repeats.own_agreeing[number], repeats.own_pairs[number]),
                int(repeats.own_pairs[number]),
                _fraction(repeats.shared_agreeing[number], repeats.shared_pairs[number]),
                int(repeats.shared_pairs[number]),
                n_passed,
                n_checks,
                _fraction((sides == 0).sum(), len(sides)),
                len(sides),
                float(np.median(times)) if len(times) else np.nan,
                _fraction((per_choice < FAST).sum(), len(times)),
                fraction_of_fast_sets(per_choice),
                float(weight[number] / total[number]),
                typical_rate,
                bool(is_determined[number]),
            )
        )
    return people


def _choices_per_row(answers: Comparisons) -> NDArray[np.int64]:
    """Return the number of choices in the answer of each row: more than one if several objects were picked."""
    if answers.answers is None:
        return np.ones(len(answers), dtype=np.int64)
    choices = Choices.of(answers)
    n_choices = np.where(choices.is_odd_of_many, 1, np.bincount(choices.answers, minlength=choices.n_answers))
    return n_choices[np.unique(answers.answers, return_inverse=True)[1]]


def _with_other_maps(people: list[Person], answers: Comparisons, fits: Refitter) -> list[Person]:
    """Add errors of other maps, of similar people and of the person alone, where the others' map predicts badly."""
    number = {name: place for place, name in enumerate(answers.person_names or ())}
    suspects = [person.name for person in people if person.is_suspect]
    errors = _group_errors(answers, [number[name] for name in suspects], fits)
    by_group = dict(zip(suspects, errors, strict=True))
    people = [person._replace(group_error=by_group.get(person.name, np.nan)) for person in people]
    alone = [person.name for person in people if person.is_suspect and not person.predicted_by]
    by_own = dict(zip(alone, _own_errors(answers, [number[name] for name in alone], fits), strict=True))
    return [person._replace(own_error=by_own.get(person.name, np.nan)) for person in people]


def _group_errors(answers: Comparisons, suspects: Sequence[int], fits: Refitter) -> list[float]:
    """Return cross-validated errors of one map for all suspects, or of one for each of two groups if that is better."""
    part = answers.take(np.flatnonzero(np.isin(answers.people, suspects)))  # type: ignore[arg-type]
    if len(suspects) < 2 or int(part.groups().max()) == 0:
        return [np.nan] * len(suspects)
    numbers = range(1, min(MOST_GROUPS, len(suspects) - 1) + 1)
    trials = held_out_groups(part, fits, numbers, seed=fits.seed)
    responses = Responses.of(part)
    wrong = min((trials[number].wrong for number in numbers), key=lambda one: responses.counts @ np.nan_to_num(one))
    total, missed = responses.sums((~np.isnan(wrong)).astype(np.float64)), responses.sums(np.nan_to_num(wrong))
    return [_fraction(missed[person], total[person]) for person in suspects]


def _own_errors(answers: Comparisons, alone: Sequence[int], fits: Refitter) -> list[float]:
    """Return the cross-validated error of a map fitted to each person's own answers."""
    parts, held_out = [], []
    for place, person in enumerate(alone):
        own = answers.take(np.flatnonzero(answers.people == person))
        n_folds = min(OWN_FOLDS, int(own.groups().max()) + 1)
        for train, test in folds(own, n_folds, fits.seed) if n_folds > 1 else ():
            parts.append(train)
            held_out.append((place, test))
    wrong, total = np.zeros((2, len(alone)))
    maps = fits.fit_each(parts) if parts else []
    for result, (place, test) in zip(maps, held_out, strict=True):
        wrong[place] += len(test) * triplet_error(test, result.embedding)
        total[place] += len(test)
    return [_fraction(missed, number) for missed, number in zip(wrong, total, strict=True)]


def _fraction(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else np.nan


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return value
