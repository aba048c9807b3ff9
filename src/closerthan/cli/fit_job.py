"""FitJob: one fit of ``closerthan fit``, from the answers to the folder that is written."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from closerthan.cli.options import Fitting, Judging, Running, Writing
from closerthan.settings import Budget, Settings

if TYPE_CHECKING:
    from closerthan.arrays import Array
    from closerthan.cli.output import Origin
    from closerthan.cli.recipe import Recipe
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.evaluate.held_out import HeldOutError, HeldOutSplit
    from closerthan.objects import Clustering
    from closerthan.report.findings import Findings, FindingsRequest
    from closerthan.result import Result

CHOICE_PART = 0.25  # fraction of a time limit for choosing the loss; the rest is for the two fits


@dataclasses.dataclass(frozen=True)
class FitJob:
    """One fit: the answers, and what to do with them.

    Attributes
    ----------
    answers
        The answers.
    fitting
        How to fit; its time limit applies to the whole job.
    origin
        Where the answers come from.
    recipe
        How to repeat the fit.
    request
        Which analyses of the map's reliability to run; None for none.
    orient
        Rotates and reflects the map, such as to turn north up.
    """

    answers: "Comparisons"
    fitting: Fitting
    origin: "Origin"
    recipe: "Recipe"
    request: "FindingsRequest | None" = None
    orient: "Callable[[Array], Array] | None" = None

    @property
    def people_weights(self) -> "Array | None":
        """Weights of the answers, smaller for people who seem careless; None if all answers count the same."""
        people = None if self.request is None else self.request.assessment
        return people.weights if people is not None and people.is_weighted else None


@dataclasses.dataclass(frozen=True)
class LossChoice:
    """The choice of loss and penalty for both fits of a job: the map, and the one that measures the held-out error.

    They are chosen once, on the answers that both fits see. The held-out answers influence neither the choice nor the
    second fit, so that its error on them is the one to expect on new answers.

    Attributes
    ----------
    split
        The answers that both fits see, and those that only the first one sees.
    result
        A fit with the chosen settings, stopped at its start.
    """

    split: "HeldOutSplit"
    result: "Result"

    def settings(self, budget: Budget) -> Settings:
        """Return the settings of both fits, whose time limit is the remaining time of a budget."""
        assert self.result.settings is not None
        return self.result.settings.within(budget)

    def completed(self, result: "Result") -> "Result":
        """Return a fit with these settings, with the candidates and starts from which they were chosen added."""
        starts, best = list(self.result.starts), self.result.best_start
        if len(result.starts) != 1 or len(starts) == 1:  # no start was chosen in advance
            return dataclasses.replace(result, candidates=self.result.candidates)
        starts[best] = result.starts[0]
        return dataclasses.replace(result, candidates=self.result.candidates, starts=tuple(starts), best_start=best)


def fit_and_write(job: FitJob, folder: Path, judging: Judging, writing: Writing, running: Running) -> None:
    """Fit a map, write everything to a folder, and print the result."""
    from closerthan.cli.output import FitOutput, write_folder
    from closerthan.cli.screen import end_with_files, option, print_facts, print_wrapped
    from closerthan.evaluate.advice import suggestions
    from closerthan.evaluate.facts import Fact, facts, unit_within
    from closerthan.evaluate.held_out import HeldOutError
    from closerthan.fit.ctrl_c import CtrlC
    from closerthan.fit.embedding import embed
    from closerthan.fit.progress import phases
    from closerthan.wording import counted

    fitting, origin, test, progress = job.fitting, job.origin, job.origin.test, running.shows_progress
    budget = fitting.settings.budget()
    people = None if job.request is None else job.request.assessment
    answers = people.weighted if people is not None and people.is_weighted else job.answers
    with CtrlC(insistent=False) as ctrl_c:  # once there is a map, Ctrl-C only shortens the analyses
        choice = None
        if test is None and judging.held_out:
            with phases(progress) as say:
                choice = _loss_choice(job, judging.held_out, budget, running, say)
        result = embed(
            answers,
            settings=fitting.settings if choice is None else choice.settings(budget),
            checkpoint=running.checkpoint,
            resume=running.resume,
            **fitting.run_options(progress),
        )
        if choice is not None:
            result = choice.completed(result)
        if job.orient is not None:
            result = dataclasses.replace(result, embedding=job.orient(result.embedding))
        interrupted = result.stopped_by == "interrupted"
        lines = facts(result, answers, test)
        if origin.dims is not None:
            place = [line.name for line in lines].index("Dimensions")
            lines[place] = lines[place]._replace(note=origin.dims.verdict)
        if people is not None:  # these facts come after those about the comparisons
            weighting = "weighted" if people.is_weighted else "all count the same"
            lines.insert(2, Fact("People", f"{len(people.people):,}, {weighting}", "; ".join(people.sentences)))
        measured = None
        if test is not None:
            measured = HeldOutError.of(test, result.embedding, unit_within(test, fitting.settings.by))
        elif judging.held_out and not ctrl_c.pressed.is_set():
            measured, new_facts = _second_fit(job, result, choice, judging.held_out, budget, progress=progress)
            names = [line.name for line in lines]
            place = names.index("Noise ceiling" if "Noise ceiling" in names else "Chance level")
            lines[place:place] = new_facts
            if measured is not None:
                result = dataclasses.replace(
                    result, calibration=measured.calibration, answer_calibration=measured.answer_calibration
                )
        findings = None
        if job.request is not None and not ctrl_c.pressed.is_set():
            findings = _analyse(job, result, answers, budget, progress=progress)
            lines += [fact for fact in findings.facts() if people is None or fact.name != "People"]
            interrupted = findings.interrupted
        groups = None
        if judging.groups is not None and not ctrl_c.pressed.is_set():
            try:
                groups = _find_groups(result, judging.n_groups, findings)
                lines.append(Fact("Groups", counted(groups.n_clusters, "group"), groups.in_words))
            except ValueError as error:  # such as too few answers: the map must not be lost
                lines.append(Fact("Groups", "left out", str(error)))
        # No short Python code repeats a fit with weights of people, because these come from many fits.
        is_repeatable = result.settings is not None and answers is job.answers
        replicates = None if findings is None else findings.replicates
        python = job.recipe.python(result.settings, replicates) if is_repeatable and result.settings else ""
        with phases(progress) as say:
            fitted = FitOutput(result, answers, origin, lines, python, findings, groups)
            written = write_folder(folder, fitted, writing, say)
        if running.checkpoint is not None and not interrupted:
            for path in (running.checkpoint, _checkpoint_of_choice(running.checkpoint)):
                path.unlink(missing_ok=True)  # it is no longer needed
    print_facts(lines)
    hints = [] if interrupted else suggestions(result, answers, measured, dims_were_tested=origin.dims is not None)
    if hints:
        typer.echo("\nSuggestions")
    for hint in hints:
        commands = job.recipe.commands
        line = hint.in_terms_of(lambda name, value: option(name) + ("" if value is None else f" {value}"), commands)
        print_wrapped(f"- {line}", indent=2, whole=commands.values())
    end_with_files(written, interrupted=interrupted, checkpoint=running.checkpoint)


def _analyse(job: FitJob, result: "Result", answers: "Comparisons", budget: Budget, *, progress: bool) -> "Findings":
    """Analyse the reliability of the map, in the time that is left."""
    from closerthan.report.findings import Findings, FindingsRequest

    fitting = job.fitting.for_parts(budget)
    request = job.request or FindingsRequest()
    return Findings.of(answers, result, request, settings=fitting.settings, **fitting.run_options(progress))


def _find_groups(result: "Result", n_groups: int | None, findings: "Findings | None") -> "Clustering":
    """Find groups on the map and, if there are replicates, how stable they are; if the number is None, choose it."""
    from closerthan.objects import cluster

    maps = None if findings is None or findings.replicates is None else findings.replicates.maps
    return cluster(result, n_groups, maps=maps)


def _loss_choice(
    job: FitJob, fraction: float, budget: Budget, running: Running, say: Callable[[str], None]
) -> LossChoice | None:
    """Choose loss and penalty on all answers but a fraction; None if both are fixed, or each fit must choose them."""
    from closerthan.evaluate.held_out import HeldOutSplit
    from closerthan.fit.embedding import embed

    settings = job.fitting.settings
    # Each person is held out once, from one of several fits, so there are no answers that all fits see.
    if not settings.must_choose or settings.by == "people" or not job.answers.has_several_groups(settings.by):
        return None
    say("choosing the loss")
    try:
        split = HeldOutSplit.of(job.answers, fraction, settings.seed or 0, by=settings.by, weights=job.people_weights)
    except ValueError:  # one part would be empty; the second fit reports this
        return None
    options = job.fitting.run_options()
    options["callback"] = lambda *_: True  # the choice is all that is needed
    result = embed(
        split.train,
        settings=settings.within(budget.part(CHOICE_PART)),
        checkpoint=None if running.checkpoint is None else _checkpoint_of_choice(running.checkpoint),
        resume=running.resume,
        **options,
    )
    if result.stopped_by == "interrupted":  # there is no map of all answers yet
        raise KeyboardInterrupt
    return LossChoice(split, result) if result.candidates else None


def _checkpoint_of_choice(checkpoint: Path) -> Path:
    """Return the file beside a checkpoint that keeps the choice of the loss.

    Examples
    --------
    >>> _checkpoint_of_choice(Path("state.npz")).name
    'state.npz.choice'
    """
    return checkpoint.with_name(f"{checkpoint.name}.choice")


def _second_fit(
    job: FitJob, first: "Result", choice: LossChoice | None, fraction: float, budget: Budget, *, progress: bool
) -> "tuple[HeldOutError | None, list[Fact]]":
    """Measure the error of a fit that omits a fraction of the answers; return it and facts that describe it."""
    from closerthan.cli.screen import in_terms_of_options
    from closerthan.comparisons.grouping import none_can_be_held_out
    from closerthan.evaluate.facts import Fact, accuracy_fact
    from closerthan.evaluate.held_out import held_out_error
    from closerthan.fit.plan import FitPlan
    from closerthan.wording import percent_interval

    def not_measured(why: str) -> "tuple[None, list[Fact]]":
        return None, [Fact("Held-out error", "not measured", why)]

    settings, answers = job.fitting.settings, job.answers
    if first.stopped_by == "time_limit" or budget.is_over:
        return not_measured("the time limit left no time for a second fit")
    if not answers.has_several_groups(settings.by):
        return not_measured(in_terms_of_options(none_can_be_held_out(answers.split_unit(settings.by))))
    settings = settings.within(budget)
    if settings.by == "people" and first.candidates and first.settings is not None:  # as chosen on all answers
        settings = settings.replace(loss=first.settings.loss, penalty=first.settings.penalty)
    options = job.fitting.run_options(progress and "second fit")
    try:
        if choice is not None:
            plan = FitPlan.of(choice.settings(budget), None, options, accepts_validation_set=True)
            measured = choice.split.error(plan.fit(choice.split.train, progress=plan.progress))
        else:
            measured = held_out_error(
                answers, fraction=fraction, weights=job.people_weights, settings=settings, **options
            )
    except KeyboardInterrupt:
        return not_measured("the second fit was interrupted")
    except ValueError as error:  # the fit to all answers is done and must not be lost
        return not_measured(str(error))
    if measured.stopped_by == "time_limit":
        return not_measured("the second fit ran out of time")
    withheld_from = "a second fit" if choice is None else "a second fit and from the choice of loss and penalty"
    new = "new answers"
    if measured.only_random:
        new = "new random questions; questions that were chosen otherwise may be harder"
    note = f"withheld from {withheld_from}: expect this {{}} on {new}"
    if measured.by == "people":
        n_fits = measured.n_fits
        whom = f"new people and {new}" if measured.only_random else "new people"
        note = f"each person was withheld from one of {n_fits} fits: expect this for {whom}"
    separator = "; " if measured.by == "people" else " "
    error_note = f"{measured.amount}{separator}{note.format('error')}"
    first_fact = Fact("Held-out error", percent_interval(measured.error, measured.low, measured.high), error_note)
    whole = [] if measured.answers is None else [accuracy_fact(measured.answers, separator, note.format("accuracy"))]
    return measured, [first_fact, *whole]
