"""Methods paragraph: a description of the fit for a paper, with all its numbers."""

from collections.abc import Sequence

from closerthan.comparisons import Comparisons
from closerthan.evaluate.answer_accuracy import chance_level
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
    """Return a paragraph for the methods section of a paper; the authors complete the parts in square brackets.

    Parameters
    ----------
    result, comparisons
        The fit, and the answers that it was fitted to.
    facts
        Rows of the table at the top of the report, which contain the errors.
    test
        Answers on which the held-out error was measured, if they are not a part of ``comparisons``.
    findings
        Replicates and further findings.

    Examples
    --------
    >>> import closerthan as ct
    >>> from closerthan.evaluate.facts import facts
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> result = ct.embed(answers, loss="ste", seed=0)
    >>> methods_paragraph(result, answers, facts(result, answers, None)).split(".")[0]
    'We fitted an ordinal embedding of 21 objects in 2 dimensions to 3,986 answers [describe the question]'
    """
    other_people = _are_other_people(result, comparisons, test)
    sentences = [_data(result, comparisons), _dims(facts), _fit(result)]
    sentences.append(_errors(facts, comparisons, other_people, is_second_fit=test is None))
    if findings is not None and findings.replicates is not None:
        replicates = findings.replicates
        sentences.append(
            f"To assess the stability of the map, we fitted {len(replicates):,} more maps to {_resampled(replicates)}; "
            f"{percent(replicates.share_decided, digits=0)} of all triplets of objects are decided, that is, at least "
            "95 % of these maps agree on them."
        )
    if findings is not None and findings.people is not None:
        sentences.append(
            "Each participant was judged by a map fitted to the answers of other participants: "
            f"{findings.people.verdicts_in_words}. [State who was excluded, and why.]"
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _resampled(replicates: Replicates) -> str:
    if bootstrap_scheme(replicates.by, replicates.n_units, replicates.result.embedding.size) == "multinomial":
        return "answers drawn with replacement (bootstrap)"
    unit = "participant" if replicates.by == "people" else replicates.by.removesuffix("s")
    return f"the same answers with a random weight for each {unit} (Bayesian bootstrap)"


def _data(result: Result, comparisons: Comparisons) -> str:
    n_objects, n_dims = result.embedding.shape
    n_people = comparisons.n_people
    source = "" if n_people is None else f" from {counted(n_people, 'participant')}"
    if comparisons.n_answers != len(comparisons):
        source += f" ({counted(len(comparisons), 'comparison')})"
    return (
        f"We fitted an ordinal embedding of {n_objects:,} objects in {counted(n_dims, 'dimension')} to "
        f"{counted(comparisons.n_answers, 'answer')}{source} [describe the question]."
    )


def _dims(facts: Sequence[Fact]) -> str:
    """Return a sentence about the number of dimensions; if a test chose it, a fact contains the verdict."""
    verdict = next((fact.note for fact in facts if fact.name == "Dimensions"), "")
    if not verdict:
        return "The number of dimensions was chosen [explain how, for instance by cross-validation]."
    return (
        "The number of dimensions was chosen by repeated cross-validation: it was increased as long as one or two "
        f"additional dimensions predicted held-out answers significantly better ({verdict})."
    )


def _fit(result: Result) -> str:
    from closerthan import __version__

    settings = result.settings
    if settings is None:
        return f"The map was computed with closerthan {__version__}."
    loss = f"the loss {result.loss_name}"
    if result.penalty:
        loss += f" with a penalty of strength {result.penalty:g} on squared distances (a Gaussian prior on positions)"
    if settings.likelihood == "answers" and result.loss.is_choice_rule:
        loss += ", fitted to whole answers as choices among the pairs of objects shown (Luce's choice rule)"
    choice = ""
    unit = "answers of held-out participants" if settings.by == "people" else "held-out answers"
    if result.candidates and result.runner_up is None:
        choice = f" (of several strengths, it had the lowest error on {unit})"
    elif result.candidates:
        losses = ", ".join(sorted({candidate.loss for candidate in result.candidates}))
        choice = f", which had the lowest error on {unit} among {losses}, each with penalties of several strengths"
        if result.tied_losses:
            choice += f" ({listed(result.tied_losses)} did not differ from it significantly)"
    solver = settings.solver_name or type(settings.solver).__name__
    seed = "without a fixed seed" if settings.seed is None else f"seed {settings.seed}"
    computation = f"it was minimised with closerthan {__version__} (solver {solver}, {seed})"
    return f"We used {loss}{choice}; {computation}."


def _are_other_people(result: Result, comparisons: Comparisons, test: Comparisons | None) -> bool:
    """Return whether the held-out answers are from people who gave none of the fitted answers."""
    if test is None:
        return result.settings is not None and result.settings.by == "people" and comparisons.people is not None
    fitted, others = (
        {(part.person_names or ())[number] for number in set(part.people.tolist())} if part.people is not None else None
        for part in (comparisons, test)
    )
    return fitted is not None and others is not None and not fitted & others


def _errors(facts: Sequence[Fact], fitted_answers: Comparisons, other_people: bool, *, is_second_fit: bool) -> str:
    """Return a sentence about the errors, with or without a held-out error."""
    errors = {fact.name: fact.value for fact in facts if "%" in fact.value}
    training = errors.get("Training error")
    if "Held-out error" not in errors:
        missing = "[measure the error on held-out answers]"
        return missing if training is None else f"The map contradicts {training} of the fitted comparisons {missing}."
    answers = "answers of held-out participants" if other_people else "held-out answers"
    maps = f"Maps fitted without the {answers} predicted" if is_second_fit else f"On {answers}, the map predicted"
    comparisons = "held-out comparisons" if is_second_fit else "comparisons"
    whose = "these maps" if is_second_fit else "the map"
    held_out = f"{maps} {errors['Held-out error']} of the {comparisons} incorrectly"
    fitted = "" if training is None else f"; the map contradicts {training} of the fitted comparisons"
    if "Held-out accuracy" not in errors:
        return f"{held_out}{fitted}. Chance level is 50 %."
    return (
        f"{held_out}{fitted}; chance level is 50 %. Counting whole answers instead of comparisons, {whose} made the "
        f"same choice as the participants in {errors['Held-out accuracy']} of the answers; chance level is "
        f"{percent(chance_level(fitted_answers))}."
    )
