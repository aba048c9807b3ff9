"""A methods paragraph: what a paper has to say about a map, with the numbers of the fit."""

from collections.abc import Sequence

from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import Fact
from closerthan.report.findings import Findings
from closerthan.result import Result
from closerthan.uncertainty.bootstrap import bootstrap_scheme
from closerthan.uncertainty.replicates import Replicates
from closerthan.wording import counted, listed, percent

__all__ = ["methods_paragraph"]


def methods_paragraph(
    result: Result,
    comparisons: Comparisons,
    facts: Sequence[Fact],
    *,
    test: Comparisons | None = None,
    findings: Findings | None = None,
) -> str:
    """Return a paragraph for the methods section of a paper; what only the authors know is in square brackets.

    Parameters
    ----------
    result, comparisons
        The fit, and the answers that it was made from.
    facts
        The facts at the head of the report, for the errors.
    test
        Answers for the held-out error, if they are not a part of the others.
    findings
        Replicates, and what else was found out.

    Examples
    --------
    >>> import closerthan as ct
    >>> from closerthan.evaluate.facts import facts
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> result = ct.embed(answers, loss="ste", seed=0)
    >>> methods_paragraph(result, answers, facts(result, answers, None)).split(".")[0]
    'We fitted an ordinal embedding of 21 objects in 2 dimensions to 3,986 answers [say what was asked]'
    """
    of_others = _is_of_others(result, comparisons, test)
    sentences = [_data(result, comparisons, facts), _fit(result), _errors(facts, of_others, is_second_fit=test is None)]
    if findings is not None and findings.replicates is not None:
        many = findings.replicates
        sentences.append(
            f"To see how settled the map is, we fitted {len(many):,} more maps to {_resampled(many)}; "
            f"{percent(many.share_decided, digits=0)} of all triplets of objects are decided, that is, at least 95 % "
            "of these maps agree on them."
        )
    if findings is not None and findings.people is not None:
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in findings.people.verdicts.items())
        sentences.append(
            f"Maps of the other participants' answers classified participants as: {verdicts}. [Say who was excluded, "
            "and why.]"
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _resampled(replicates: Replicates) -> str:
    if bootstrap_scheme(replicates.by, replicates.n_units, replicates.result.embedding.size) == "multinomial":
        return "answers drawn with replacement (bootstrap)"
    return f"the same answers with random weights of whole {replicates.by} (Bayesian bootstrap)"


def _data(result: Result, comparisons: Comparisons, facts: Sequence[Fact]) -> str:
    n_objects, n_dims = result.embedding.shape
    people = comparisons.n_people
    of_people = "" if people is None else f" of {people:,} {'participant' if people == 1 else 'participants'}"
    number_made = ""
    if comparisons.n_answers != len(comparisons):
        number_made = f", which make {counted(len(comparisons), 'comparison')},"
    return (
        f"We fitted an ordinal embedding of {n_objects:,} objects in {counted(n_dims, 'dimension')} to "
        f"{counted(comparisons.n_answers, 'answer')}{of_people}{number_made} [say what was asked]. "
        f"{_choice_of_dims(facts)}"
    )


def _choice_of_dims(facts: Sequence[Fact]) -> str:
    """Return a sentence about the number of dimensions; where a test chose it, a fact has the verdict."""
    verdict = next((fact.note for fact in facts if fact.name == "Dimensions"), "")
    if not verdict:
        return "The number of dimensions was chosen [say how, for instance by cross-validation]."
    return (
        "The number of dimensions was chosen by repeated cross-validation, going up as long as one or two more "
        f"predicted held-out answers significantly better ({verdict})."
    )


def _fit(result: Result) -> str:
    from closerthan import __version__

    settings = result.settings
    if settings is None:
        return f"It was computed with closerthan {__version__}."
    chosen = ""
    if result.candidates:
        losses = ", ".join(sorted(candidate.loss for candidate in result.candidates))
        unit = "answers of held-out participants" if settings.by == "people" else "held-out answers"
        chosen = f", which had the lowest error on {unit} among {losses}"
        if result.tied_losses:
            chosen += f" ({listed(result.tied_losses)} could not be told apart from it)"
    solver = settings.solver_name or type(settings.solver).__name__
    seed = "without a fixed seed" if settings.seed is None else f"seed {settings.seed}"
    computation = f"it was minimised with closerthan {__version__} ({solver}, {seed})"
    return f"We used the loss {result.loss_name}{chosen}; {computation}."


def _is_of_others(result: Result, comparisons: Comparisons, test: Comparisons | None) -> bool:
    """Tell whether the held-out answers are those of people who gave none of the fitted ones."""
    if test is None:
        return result.settings is not None and result.settings.by == "people" and comparisons.people is not None
    fitted, others = (
        {(part.person_names or ())[number] for number in set(part.people.tolist())} if part.people is not None else None
        for part in (comparisons, test)
    )
    return fitted is not None and others is not None and not fitted & others


def _errors(facts: Sequence[Fact], of_others: bool, *, is_second_fit: bool) -> str:
    """Return a sentence about the errors; the held-out error is not known for every fit."""
    errors = {fact.name: fact.value for fact in facts if "%" in fact.value}
    if "Held-out error" not in errors:
        training = errors.get("Training error")
        missing = "[measure the error on held-out answers]"
        return missing if training is None else f"The map contradicts {training} of the fitted comparisons {missing}."
    which = "answers of held-out participants" if of_others else "held-out answers"
    maps = f"maps fitted without the {which} get" if is_second_fit else f"on {which} the map gets"
    held_out = f"{maps[0].upper()}{maps[1:]} {errors['Held-out error']} of their comparisons wrong"
    training = f", the map {errors['Training error']} of the fitted ones" if "Training error" in errors else ""
    return f"{held_out}{training}; chance level is 50 %."
