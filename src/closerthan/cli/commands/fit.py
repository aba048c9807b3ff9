"""``closerthan fit`` (and ``demo``): from a file of answers to a folder with a map."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.fit_job import FitJob, fit_and_write
from closerthan.cli.options import (
    AnswersFile,
    AnswersReader,
    Fitting,
    Judging,
    Running,
    Writing,
    fitting_options,
    reading,
    with_options,
)
from closerthan.settings import Budget, Settings

if TYPE_CHECKING:
    from closerthan.cli.output import Origin
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.dims import DimsChoice
    from closerthan.files.meaning.answers import Answers
    from closerthan.objective.distributed.launch import Launch
    from closerthan.people.quality import PeopleAssessment

MOST_GROUPED = 10_000  # objects, whose pairwise distances take 0.4 GB
PEOPLE_PART = 0.5  # fraction of a time limit for assessing people; the rest is for the map
DIMS_PART = 0.5  # fraction of a time limit for choosing the number of dimensions
COMMON = ("out", "dims", "loss", "by", "column", "replicates", "groups", "labels", "seed", "force")


@with_options(
    COMMON,
    judging=Judging,
    writing=Writing,
    running=Running,
    fitting=fitting_options(dims_may_be_auto=True),
    reading=reading,
)
def fit(
    context: typer.Context,
    file: AnswersFile,
    *,
    judging: Judging,
    writing: Writing,
    running: Running,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Fit a map to the answers in FILE and write it to a folder, with figure, history and report.

    Ctrl-C ends the fit early and saves the best map so far (exit code 130). When started by torchrun or
    srun, all processes work on one fit.
    """
    from closerthan.cli.output import Origin, check_target, readable, stem
    from closerthan.cli.recipe import Recipe, repeating_command
    from closerthan.cli.screen import print_summary
    from closerthan.comparisons.grouping import check_by
    from closerthan.fit.progress import phases
    from closerthan.report.findings import FindingsRequest
    from closerthan.uncertainty.ellipses import check_number

    n_replicates = judging.replicates
    if n_replicates:
        check_number(n_replicates, 1 if fitting.dims_are_auto else fitting.settings.n_dims)
    folder = writing.out or Path(f"{stem(file)}-map")
    launch = _launch(running)
    if launch is not None:
        from closerthan.cli.several_processes import fit_by_several
        from closerthan.files.stored.parts import read_part

        _refuse_for_several(fitting, judging, writing)
        title, command = writing.title or readable(file.name), readable(repeating_command(context))
        origin = Origin(readable(file), title, command)
        writing = dataclasses.replace(writing, out=folder)
        fit_by_several(
            launch,
            lambda place, processes: read_part(file, place, processes, **reading.arguments),
            origin,
            fitting,
            judging.held_out,
            writing,
            running,
        )
        return
    check_target(folder, writing.force)
    progress = running.shows_progress
    with phases(progress) as say:
        say(f"reading {file}")
        answers = reading.read(file)
    comparisons = answers.comparisons
    print_summary(answers.summary)
    check_by(fitting.settings.by, comparisons.people, comparisons.blocks)
    if judging.groups is not None:
        _check_groups(judging.n_groups, comparisons.n_objects)
    n_objects, names = comparisons.n_objects, comparisons.names
    if "names" in reading.arguments:  # the names apply to the numbers in all files
        reading = reading.with_arguments(numbering=answers.summary.numbering)
    fitting = fitting.with_validation_set(lambda path: reading.read_about(path, n_objects, names).comparisons)
    test = answers.test if judging.test is None else reading.read_about(judging.test, n_objects, names).comparisons
    if running.checkpoint is not None and running.resume:
        path = running.checkpoint
        message = f"resuming from {path}" if path.exists() else f"there is no {path} yet; starting from the beginning"
        typer.echo(message, err=True)
    origin = _with_pictures(
        Origin(readable(file), writing.title or "", readable(repeating_command(context)), answers.summary, test),
        writing,
        names or tuple(str(number) for number in range(n_objects)),
    )
    budget = fitting.settings.budget()
    if fitting.dims_are_auto:
        choice = _chosen_dims(comparisons, fitting, budget.part(DIMS_PART), progress)
        fitting, origin = fitting.replace(n_dims=choice.chosen), dataclasses.replace(origin, dims=choice)
        check_number(n_replicates, choice.chosen) if n_replicates else None
    request = None
    if n_replicates or judging.people == "weigh":
        assessment = None
        if judging.people == "weigh":
            assessment = _assess_people(answers, fitting, budget.part(PEOPLE_PART), progress)
        # Without replicates, nothing is analysed beyond the weights of people.
        people, enough = n_replicates > 0 and judging.people != "skip", n_replicates > 0 and judging.enough
        request = FindingsRequest(n_replicates, people, enough, answers.checks, assessment, answers.ties)
    n_dims = fitting.settings.n_dims
    title = writing.title or f"{readable(file.name)} in {n_dims} dimension{'s' * (n_dims != 1)}"
    job = FitJob(
        comparisons,
        fitting.within(budget),
        dataclasses.replace(origin, title=title),
        Recipe.of(context, reading, fitting.validation_file, names),
        request,
    )
    fit_and_write(job, folder, judging, writing, running)


def _launch(running: Running) -> "Launch | None":
    """Return how torchrun or srun started this process; None for an ordinary fit.

    A single process makes an ordinary fit, unless it resumes a fit by several processes.
    """
    from closerthan.objective.distributed.launch import Launch

    launch = Launch.of(os.environ)
    if launch is None or launch.n > 1:
        return launch
    from closerthan.fit.checkpoint import written_by_several

    checkpoint = running.checkpoint
    is_resumed = running.resume and checkpoint and checkpoint.exists() and written_by_several(checkpoint)
    return launch if is_resumed else None


def _refuse_for_several(fitting: Fitting, judging: Judging, writing: Writing) -> None:
    """Raise an error for options that only a fit by a single process supports."""
    options = {
        "--test": judging.test,
        "--labels": writing.labels,
        "--thumbnails": writing.thumbnails,
        "--groups": judging.groups,
        "--replicates": judging.replicates or None,
        "--people": judging.people,
        "--dims auto": fitting.dims_are_auto or None,
    }
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} needs a fit by one process; leave it out and analyse the map afterwards")


def _with_pictures(origin: "Origin", writing: Writing, names: tuple[str, ...]) -> "Origin":
    """Return the origin with labels and thumbnails; raise an error if one of them, or a name, cannot be written."""
    from closerthan.cli.output import check_text
    from closerthan.files.labels import find_pictures, read_labels

    thumbnails = None if writing.thumbnails is None else find_pictures(writing.thumbnails, names)
    if thumbnails is not None:
        from closerthan.plotting.maps.thumbnails import check_pictures

        check_pictures(thumbnails.values())
    labels = None if writing.labels is None else read_labels(writing.labels, names)
    check_text("the name", names)
    check_text("the title", [origin.title])
    for column, cells in (labels or {}).items():
        check_text("the label", [column, *(cell for cell in cells if isinstance(cell, str))])
    return dataclasses.replace(origin, labels=labels, thumbnails=thumbnails)


def _chosen_dims(comparisons: "Comparisons", fitting: Fitting, budget: Budget, progress: bool) -> "DimsChoice":
    """Choose the number of dimensions."""
    from closerthan.evaluate.dims import choose_dims

    settings = fitting.settings.for_parts(budget)
    choice = choose_dims(comparisons, settings=settings, n_threads=fitting.n_threads, progress=progress)
    if choice.stopped_by == "interrupted":  # the map would not be the requested one
        raise KeyboardInterrupt
    return choice


def _check_groups(n_groups: int | None, n_objects: int) -> None:
    """Raise an error before the fit if there are too many or too few objects for groups."""
    if n_objects > MOST_GROUPED:
        raise ValueError(
            f"--groups needs the distances of all pairs; it accepts at most {MOST_GROUPED:,} objects, and there are "
            f"{n_objects:,}; leave it out"
        )
    least = 3 if n_groups is None else n_groups
    if n_objects < least:
        raise ValueError(f"--groups is {n_groups or 'auto'}, but there are {n_objects} objects; leave it out")


def _assess_people(answers: "Answers", fitting: Fitting, budget: Budget, progress: bool) -> "PeopleAssessment":
    """Assess the people who gave the answers."""
    from closerthan.people.quality import assess_people

    fitting = fitting.for_parts(budget)
    assessment = assess_people(
        answers.comparisons, checks=answers.checks, settings=fitting.settings, **fitting.run_options(progress)
    )
    if assessment.stopped_by == "interrupted":  # without weights, the map would not be the requested one
        raise KeyboardInterrupt
    return assessment


NORTH_UP = """
# Comparisons determine a map up to rotation and reflection: turn north up.
import dataclasses
from closerthan.datasets.eurodist import north_up
result = dataclasses.replace(result, embedding=north_up(result.embedding))
"""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Output folder.")] = Path(
        "closerthan-demo"
    ),
) -> None:
    """Make a map of 21 European cities from comparisons of their road distances. An earlier demo is replaced."""
    from closerthan.cli.output import Origin, check_target
    from closerthan.cli.recipe import Recipe
    from closerthan.datasets.eurodist import eurodist, north_up
    from closerthan.report.repeat import Code

    check_target(out, force=True)
    comparisons = eurodist().comparisons()
    typer.echo(f'{len(comparisons):,} answers such as "Athens is closer to Rome than to Paris"\n', err=True)
    job = FitJob(
        comparisons,
        Fitting(Settings(loss="ste")),  # compiling one loss is faster than compiling all
        Origin("eurodist", "21 European cities, from comparisons of their road distances", "closerthan demo"),
        Recipe("closerthan demo", Code("ct.datasets.eurodist().comparisons()"), python_after=NORTH_UP),
        orient=north_up,
    )
    fit_and_write(job, out, Judging(), Writing(force=True), Running())
    typer.echo(f"\nOpen {(out / 'report.html').resolve().as_uri()}")
