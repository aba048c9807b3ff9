"""The facts at the top of a report: amount of data, errors of the fit, and why it stopped."""

import math
from typing import NamedTuple

from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, split_unit
from closerthan.evaluate.answer_accuracy import AnswerAccuracy, answer_accuracy, chance_level, imply_several_comparisons
from closerthan.evaluate.random_questions import ONLY_RANDOM, random_among_others, random_part
from closerthan.evaluate.repeats import answer_ceilings
from closerthan.metrics import effective_number, error_interval, triplet_error
from closerthan.result import Result
from closerthan.wording import counted, counts_in_words, listed, percent, percent_interval

__all__ = ["MOST_SHOWN", "Fact", "amount", "check_about", "facts", "source"]

MOST_SHOWN = 2_000_000  # comparisons of a large file that a report uses

STOPPED_BY = {
    "epochs": "the maximum number of epochs was reached; more might improve the map",
    "tolerance": "the objective no longer decreased",
    "validation": "the error on held-out answers no longer decreased",
    "time_limit": "the time limit was reached; more time might improve the map",
    "callback": "the callback stopped it",
    "interrupted": "it was interrupted",
    "diverged": "the objective diverged; the best map before that was kept",
    "solver": "the solver could not improve the map any further",
}


class Fact(NamedTuple):
    """A row of the table of facts."""

    name: str
    value: str
    note: str = ""


def facts(result: Result, comparisons: Comparisons, test: Comparisons | None) -> list[Fact]:
    """Return the facts that a reader needs before the map.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> for fact in facts(ct.embed(answers, seed=0), answers, None)[:3]:
    ...     print(fact.name, fact.value, sep=": ")
    Objects: 21
    Comparisons: 3,986 triplets
    Dimensions: 2
    """
    for answers in (comparisons, test):
        check_about(result, answers)
    n_objects, n_dims = result.embedding.shape
    kind = "triplet" if comparisons.rows.shape[1] == 3 else "quadruplet"
    weighted = "" if comparisons.weights is None else f"weighted; their weights sum to {comparisons.total_weight:,.6g}"
    dropped = f"left out: {counts_in_words(comparisons.dropped)}" if comparisons.dropped else ""
    sampled = "" if comparisons.cheap_to_enumerate else f"the report judges objects by {MOST_SHOWN:,} of them"
    notes = (source(comparisons), weighted, dropped, sampled)
    return [
        Fact("Objects", f"{n_objects:,}"),
        Fact("Comparisons", counted(len(comparisons), kind), "; ".join(note for note in notes if note)),
        Fact("Dimensions", f"{n_dims}"),
        *_race(result),
        *_errors(result, comparisons, test),
        *_ceilings(comparisons),
        Fact("Chance level", "50.0 %", f"{_CHANCE}{_right_by_chance(comparisons)}"),
        Fact("Stopped", f"after {counted(result.history[-1].epoch, 'epoch')}", _ending(result)),
    ]


def check_about(result: Result, comparisons: Comparisons | None) -> None:
    """Raise an error if comparisons and map name their objects differently, since errors would be meaningless."""
    if comparisons is None or result.names is None or comparisons.names in (None, result.names):
        return
    unknown = [repr(name) for name in comparisons.names or () if name not in set(result.names)]
    few = f" ({', '.join(unknown[:3])}{', ...' * (len(unknown) > 3)})" if unknown else ""
    raise ValueError(
        f"the comparisons and the map have different names{few}; create the comparisons with names=result.names"
    )


def _race(result: Result) -> list[Fact]:
    """Return a fact about the loss and its penalty, and how they were chosen."""
    by_people = result.settings is not None and result.settings.by == "people"
    held_out = "answers of held-out people" if by_people else "held-out answers"
    if result.runner_up is None:
        value, note = result.loss_name, ""
        if result.penalty or result.candidates:
            value += f" with penalty {result.penalty:g}"
            note = "the penalty is on squared distances, per object"
        if result.candidates:
            penalties = (one.penalty for one in result.candidates)
            trials = sorted(zip(penalties, result.comparable_errors, strict=True))
            note += f"; its strength was chosen by the error on {held_out}: "
            note += ", ".join(f"{percent(error)} with {penalty:g}" for penalty, error in trials)
        return [Fact("Loss", value, note)]
    winner = result.candidates[0]
    value = f"{winner.loss} with penalty {winner.penalty:g}" + (
        f", {words}" if (words := result.choice_in_words) else ""
    )
    best = {winner.loss: winner.held_out_error}
    for candidate, error in zip(result.candidates, result.comparable_errors, strict=True):
        best[candidate.loss] = min(best.get(candidate.loss, math.inf), error)
    best[winner.loss] = winner.held_out_error
    errors = ", ".join(f"{loss} {percent(error)}" for loss, error in best.items())
    note = f"chosen by the error on {held_out}, each loss with its best penalty: {errors}"
    if result.tied_losses:
        names = listed([winner.loss, *result.tied_losses])
        tie = f"{names} cannot be told apart by their errors on {held_out} (paired test at 5 %)"
        note = f"{tie}; {winner.loss} was used; {note}"
    return [Fact("Loss", value, note)]


def _errors(result: Result, comparisons: Comparisons, test: Comparisons | None) -> list[Fact]:
    fraction = None if result.settings is None else result.settings.validation_fraction
    lines = []
    if fraction is not None and result.settings is not None:
        # The fit held out some of these answers, so the error on all of them is neither training nor held-out error.
        unit = unit_within(comparisons, result.settings.by)
        worth = effective_number(comparisons, result.embedding, by=unit)
        for name, error, part, note in (
            ("Training error", result.best_record.train_error, 1 - fraction, _TRAINING),
            ("Validation error", result.best_record.validation_error, fraction, _VALIDATION),
        ):
            lines.append(_error(name, error, worth * part, f"{percent(part)} of the {unit}", note))
    else:
        # For a large file, the error is taken from the fit, since reading the file again would take long.
        is_large = not comparisons.cheap_to_enumerate
        error = result.best_record.train_error if is_large else triplet_error(comparisons, result.embedding)
        number = effective_number(comparisons, result.embedding)
        lines.append(_error("Training error", error, number, amount(comparisons), _TRAINING))
        if math.isfinite(result.best_record.validation_error):
            lines.append(Fact("Validation error", percent(result.best_record.validation_error), _VALIDATION))
    if test is not None:
        some_are_random = random_among_others(test) is not None
        test = random_part(test)
        unit = unit_within(test, AUTO if result.settings is None else result.settings.by)
        number = effective_number(test, result.embedding, by=unit)
        words = f"{amount(test)}, {ONLY_RANDOM}" if some_are_random else amount(test)
        lines.append(_error("Held-out error", triplet_error(test, result.embedding), number, words, _HELD_OUT))
        if test.cheap_to_enumerate and imply_several_comparisons(test):
            lines.append(accuracy_fact(answer_accuracy(test, result.embedding, by=unit), "; ", _HELD_OUT))
    return lines


def accuracy_fact(accuracy: AnswerAccuracy, separator: str, note: str) -> Fact:
    """Return a fact about the accuracy of held-out whole answers, whose note begins with their number and ``note``.

    Examples
    --------
    >>> accuracy = AnswerAccuracy(0.6, 0.58, 0.62, 2400, 2300.0, 1 / 3, 1.2, 1.585)
    >>> accuracy_fact(accuracy, " ", "withheld from the fit").note
    '2,400 whole answers withheld from the fit; chance is 33.3 %; 1.20 bits per answer (guessing: 1.58)'
    """
    number = counted(accuracy.n_answers, accuracy.noun)
    parts = [f"{number}{separator}{note}", f"chance is {percent(accuracy.chance)}"]
    if not math.isnan(accuracy.bits):
        parts.append(accuracy.bits_in_words)
    return Fact("Held-out accuracy", accuracy.interval, "; ".join(parts))


def _right_by_chance(comparisons: Comparisons) -> str:
    """Return the chance level of whole answers as the end of a sentence; empty text if each answer is a comparison."""
    if not comparisons.cheap_to_enumerate or not imply_several_comparisons(comparisons):
        return ""
    return f", and {percent(chance_level(comparisons))} of whole answers right"


def _ceilings(comparisons: Comparisons) -> list[Fact]:
    """Return the noise ceilings of whole answers, except those with too wide an interval."""
    if not comparisons.cheap_to_enumerate or not imply_several_comparisons(comparisons):
        return []
    return [
        Fact("Noise ceiling", f"{ceiling.bracket_in_words} of whole answers", str(ceiling))
        for ceiling in answer_ceilings(comparisons)
        if ceiling.is_known
    ]


def unit_within(comparisons: Comparisons, by: str) -> str:
    """Return the split unit that ``by`` stands for, or "answers" where these comparisons do not have such units.

    Examples
    --------
    >>> unit_within(Comparisons.from_triplets([[0, 1, 2]]), "people")
    'answers'
    """
    unit = split_unit(by, comparisons.blocks)
    return unit if unit == "comparisons" or getattr(comparisons, unit) is not None else "answers"


_CHANCE = "a map drawn at random gets half of the comparisons wrong"
_TRAINING = "on the answers that the map was fitted to, so it does not measure how well new answers are predicted"
_VALIDATION = "on answers held out to choose when to stop, so slightly optimistic"
_HELD_OUT = "on answers that the fit never saw: the fair measure"


def _error(name: str, error: float, number: float, measured_on: str, note: str) -> Fact:
    low, high = error_interval(error, number)
    return Fact(name, percent_interval(error, low, high), f"{measured_on}; {note}")


def amount(comparisons: Comparisons) -> str:
    """Return the number of comparisons and, if it differs, the number of answers.

    Examples
    --------
    >>> rows = [[0, 1, 2], [1, 0, 2], [0, 1, 3]]
    >>> amount(Comparisons.from_triplets(rows)), amount(Comparisons.from_triplets(rows, answers=[1, 1, 2]))
    ('3 comparisons', '3 comparisons from 2 answers')
    """
    return f"{counted(len(comparisons), 'comparison')} {source(comparisons)}".rstrip()


def source(comparisons: Comparisons) -> str:
    """Return the number of answers and of people; empty text if each comparison is an answer."""
    if comparisons.answers is None and comparisons.people is None:
        return ""
    people = comparisons.n_people
    by = "" if people is None else f" of {people:,} {'person' if people == 1 else 'people'}"
    return f"from {counted(comparisons.n_answers, 'answer')}{by}"


def _ending(result: Result) -> str:
    reason = STOPPED_BY.get(result.stopped_by, result.stopped_by)
    parts = [reason, f"the map is from epoch {result.best_epoch}"]
    if len(result.starts) > 1:
        parts.append(f"start {result.best_start + 1} of {len(result.starts)} was the best")
    if result.different_starts:
        distance = max(start.distance for start in result.different_starts)
        parts.append(f"starts lead to different maps (Procrustes distance {distance:.2f}): do not interpret positions")
    parts.append(f"{result.history[-1].seconds:.3g} s in the solver")
    if result.settings is not None and result.settings.device != "cpu":
        parts.append("on a GPU, where the last digits may differ between runs with the same seed")
    return "; ".join(parts)
