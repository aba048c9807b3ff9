"""answer_effects: what influences answers besides the map, estimated jointly with it.

The terms are a preference for positions on the screen, repetition of the position chosen last, ties and lapses, each
with parameters for every person (:mod:`closerthan.objective.answer_terms`). Held-out answers decide which terms to keep
(:mod:`closerthan.people.held_out_terms`). If such effects are strong, a map that ignores them absorbs them, and its
accuracy cannot be compared with that of models that have them.

References
----------
R. R. Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison experiments, Journal of
the American Statistical Association 1970.
"""

from collections.abc import Callable
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked
from closerthan.comparisons import Choices, Comparisons, Trials
from closerthan.comparisons.positions import without_artefacts
from closerthan.fit.ctrl_c import CtrlC
from closerthan.fit.plan import FitPlan
from closerthan.fit.progress import trials_bar
from closerthan.history import History
from closerthan.messages import value_error
from closerthan.objective.answer_terms import PlacedAnswers, Terms
from closerthan.people.effects import AnswerEffects, Repetition
from closerthan.people.groups import check_several_answers
from closerthan.people.held_out_terms import FittedTerms, TermEvidence, TermFits, TermTrials
from closerthan.people.shared_map import check_whole_answers, shared_map
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, TimeOverError, lists_options
from closerthan.uncertainty.refitter import plan_refits

__all__ = ["answer_effects"]

EVERYBODY = "everybody"  # the name of the only person if people are unknown


@checked
@lists_options(FitOptions)
def answer_effects(
    answers: Comparisons,
    n_dims: int | None = None,
    *,
    ties: Comparisons | None = None,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[FitOptions],
) -> AnswerEffects:
    """Estimate what influences answers besides the map: positions, repetition, ties and lapses.

    Each term is kept only if it improves the prediction of held-out answers: if the 95 % interval of the gain is
    positive.

    Parameters
    ----------
    answers
        Comparisons in the order of the trials, with the positions of the objects on the screen
        (:class:`~closerthan.comparisons.trials.Trials`) and, if possible, with the people who answered. Comparisons of
        one answer count as a whole answer (:attr:`Comparisons.answers`).
    n_dims, settings
        As in :func:`closerthan.embed`.
    ties
        Questions in which people called two pairs equal, as comparisons in either direction, about the same objects.
        They come from ``read_answers(file, ties="keep").ties``. All questions with two options are then taken to have
        allowed a tie. The lines of the file (:attr:`Comparisons.lines`) tell where ties belong among the answers.
    result
        An existing fit to the same answers, whose loss, penalty and settings are used.
    options
        As in :func:`closerthan.embed`. The loss must be a choice rule: ste, tste or ckl (or "auto").

    Returns
    -------
    AnswerEffects
        The map, the terms that were kept, the values for each person, and the evidence.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = ct.datasets.simulated(rng.normal(size=(12, 1)) * 2, 1200, noise="ste", seed=1).rows.copy()
    >>> side = rng.integers(2, size=1200)  # where the nearer object was shown
    >>> presses_left = rng.random(1200) < 0.4  # whatever is there
    >>> rows[presses_left & (side == 1)] = rows[presses_left & (side == 1)][:, [0, 2, 1]]
    >>> trials = ct.Trials(sides=np.where(presses_left, 0, side))
    >>> answers = ct.Comparisons.from_triplets(rows, people=np.arange(1200) // 200, trials=trials)
    >>> effects = ct.answer_effects(answers, 1, loss="ste", seed=0)
    >>> effects
    AnswerEffects(6 people, 12 objects, 1 dimension: positions)
    >>> bool(effects.typical[0] > 0)  # they prefer the left side
    True
    """
    answers = Comparisons.of(answers)
    plan = plan_refits(answers, n_dims, settings, result, options)
    check_whole_answers(plan.settings, "terms of answers")
    answers, left_out = without_sets(answers)
    answers, note = without_artefacts(answers)
    study = _Study.of(answers, ties)
    _check_ties(study.placed)
    _check_positions(study, note)
    check_several_answers(study.everything, plan.settings.n_dims)
    candidates = study.candidates
    with CtrlC() as ctrl_c, trials_bar(bool(plan.progress), "terms", 0, 0) as tick:

        def must_end() -> bool:
            if ctrl_c.pressed.is_set():
                raise KeyboardInterrupt
            if plan.budget.is_over:
                raise TimeOverError("the time limit was reached before all terms were tested; raise time_limit")
            return False

        if result is None or not result.loss.is_choice_rule:
            result = shared_map(answers, plan)
        fits = TermFits(result.loss, result.penalty, study.places, plan.settings.epochs, must_end)
        evidence = _test_terms(study, plan, fits, candidates, tick)
        fitted = fits.fit(study.placed, evidence.terms, result.embedding)
    fixed = plan.settings.replace(loss=result.loss, penalty=result.penalty)
    return _assemble(study, fitted, evidence, fixed, "; ".join(filter(None, (note, left_out))))


def without_sets(answers: Comparisons) -> tuple[Comparisons, str]:
    """Return the answers for which the model has a probability, and a sentence about the others, which are left out."""
    choices = Choices.of(answers)
    left_out = choices.is_set | choices.is_odd_of_many
    if not left_out.any():
        return answers, ""
    kinds = {
        "name several objects in no particular order": choices.is_set.any(),
        "name the odd one of more than three objects": choices.is_odd_of_many.any(),
    }
    number = f"{int(left_out.sum()):,} of {len(choices):,} answers"
    which = f"{number} {' or '.join(kind for kind, occurs in kinds.items() if occurs)}"
    if left_out.all():
        raise ValueError(
            f"{which}; the model of positions, repetition, ties and lapses holds only for the choice of one object (of "
            "two or three, or the nearest of several) and for rankings"
        )
    numbers = np.arange(len(answers)) if answers.answers is None else answers.answers
    is_left_out = np.isin(numbers, np.asarray(numbers)[choices.rows[left_out]])
    return answers.take(~is_left_out), f"{which}; these are left out, because the model has no probability for them"


def _check_ties(placed: PlacedAnswers) -> None:
    """Raise an error if the model has no probability for some of the ties."""
    several = placed.is_tie & ~placed.allows_tie
    if several.any():
        raise ValueError(
            f"{int(several.sum()):,} of {int(placed.is_tie.sum()):,} ties are not between two options; the "
            "model of ties needs two options, so leave these ties out"
        )


def _check_positions(study: "_Study", note: str) -> None:
    if any(study.candidates[:3]):
        return
    reason = f" ({note})" if note else ""
    raise value_error(
        f"neither positions of objects on the screen nor ties are known{reason}, so there is nothing to estimate "
        "besides the map",
        "pass trials=Trials(positions=...) or, for a file, name the column of the side that was chosen: {columns}",
        columns={"side": ...},
    )


class _Study(NamedTuple):
    """The answers combined with the ties."""

    everything: Comparisons
    is_tie: NDArray[np.bool_]
    placed: PlacedAnswers
    knows_people: bool

    @classmethod
    def of(cls, answers: Comparisons, ties: Comparisons | None) -> "_Study":
        knows_people = answers.people is not None
        if ties is not None and not len(ties):
            ties = None
        combined = answers if ties is None else _combined(answers, ties)
        is_tie = np.arange(len(combined)) >= len(answers)
        placed = PlacedAnswers.of(combined, is_tie)
        if not knows_people:
            combined = combined.replace(people=np.zeros(len(combined), np.int32), person_names=(EVERYBODY,))
        return cls(combined, is_tie, placed, knows_people)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The positions that occur, with the number of options."""
        placed = self.placed
        both = np.stack([placed.n_options[placed.answer_of_pair], placed.positions], axis=1)
        return tuple((int(size), int(place)) for size, place in np.unique(both[placed.positions >= 0], axis=0))

    @property
    def candidates(self) -> Terms:
        """The terms that can be estimated."""
        return Terms(bool(self.places), bool(self.placed.follows.any()), bool(self.is_tie.any()), True)


def _combined(answers: Comparisons, ties: Comparisons) -> Comparisons:
    """Return answers and ties, in this order."""
    if ties.n_objects != answers.n_objects or ties.names != answers.names:
        raise ValueError(
            f"the ties are about {ties.n_objects} objects, the answers about {answers.n_objects}; both must be about "
            "the same objects in the same order"
        )
    if ties.rows.shape[1] != answers.rows.shape[1]:
        raise ValueError("ties and answers must both be triplets or both be quadruplets")
    if (ties.people is None) != (answers.people is None):
        raise ValueError("either both answers and ties say who gave them, or neither does")
    parts = (answers, ties)
    numbers = [np.arange(len(part)) if part.answers is None else np.asarray(part.answers) for part in parts]
    names = tuple(dict.fromkeys(name for part in parts for name in part.person_names or ()))
    place = {name: number for number, name in enumerate(names)}
    people = [np.array([place[name] for name in part.person_names or ()])[part.people] for part in parts if names]
    positions = [np.full((len(part), 2), -1) if part.positions is None else part.positions for part in parts]
    has_lines = all(part.lines is not None for part in parts)
    unit = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    has_blocks = all(part.blocks is not None for part in parts)
    return answers.replace(
        rows=np.concatenate([part.rows for part in parts]),
        answers=np.concatenate([numbers[0], numbers[1] + 1 + int(numbers[0].max(initial=0))]),
        people=np.concatenate(people) if people else None,
        person_names=names or None,
        weights=np.concatenate(unit) if any(part.weights is not None for part in parts) else None,
        blocks=np.concatenate([part.blocks for part in parts]) if has_blocks else None,
        trials=Trials(
            positions=np.concatenate(positions),
            lines=np.concatenate([part.lines for part in parts]) if has_lines else None,
        ),
    )


def _test_terms(
    study: _Study, plan: FitPlan, fits: TermFits, candidates: Terms, tick: Callable[[], None]
) -> TermEvidence:
    """Compare the terms on held-out answers."""
    first = plan.replace(loss=fits.loss, penalty=fits.penalty)

    def first_map(train: NDArray[np.bool_]) -> NDArray[np.float64]:
        fits.must_end()
        return first.fit(study.everything.take(train & ~study.is_tie)).embedding

    trials = TermTrials(study.everything, study.placed, fits, first_map, tick, by=plan.settings.by, seed=plan.seed)
    return trials.evidence(candidates)


def _assemble(
    study: _Study, fitted: FittedTerms, evidence: TermEvidence, settings: Settings, note: str
) -> AnswerEffects:
    """Return the result, about the people who gave at least one answer."""
    placed, model = study.placed, fitted.model
    present = np.flatnonzero(placed.is_present)
    answers = study.everything
    map_of_all = Result(fitted.x, History(()), "solver", 0, settings=settings, names=answers.names)
    of_means, of_people = model.covariances(fitted.point)
    return AnswerEffects.of(
        model.design,
        parameters=(fitted.means, fitted.parameters[present]),
        covariances=(of_means, of_people[present]),
        result=map_of_all,
        people=tuple((answers.person_names or ())[person] for person in present),
        n_answers=np.bincount(placed.people, minlength=placed.n_people)[present],
        spreads=model.spreads,
        evidence=evidence,
        repetition=Repetition.of(placed),
        n_ties=int(placed.is_tie.sum()),
        knows_people=study.knows_people,
        note=note,
    )
