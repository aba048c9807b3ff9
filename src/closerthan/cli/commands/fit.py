"""``closerthan fit`` (and ``demo``): from a file of answers to a folder with a map."""

import dataclasses
import inspect
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closerthan.cli.options import (
    BELIEVING,
    FITTING,
    RUNNING,
    WRITING,
    FigureFormat,
    fitting,
    reading,
    usual_fitting,
    with_held_out,
    with_options,
    without,
)
from closerthan.settings import deadline_of, of_parts, time_until

if TYPE_CHECKING:
    from closerthan.arrays import Array
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.dims import DimsChoice
    from closerthan.evaluate.facts import Fact
    from closerthan.evaluate.held_out import HeldOutError
    from closerthan.files import Summary
    from closerthan.files.meaning.answers import Answers
    from closerthan.objects import Clustering
    from closerthan.people.quality import PeopleAssessment
    from closerthan.report.findings import Findings, FindingsRequest
    from closerthan.report.repeat import Code, Source
    from closerthan.result import Result
    from closerthan.settings import Settings

MOST_GROUPED = 10_000  # objects: all pairs take 0.4 GB
MAP_FORMATS = ("csv", "parquet", "npz", "spreadsheet")
PEOPLE_SHARE = 0.5  # of a time limit that judging people may take: the map that it is for has as long
DIMS_SHARE = 0.5  # fraction of a time limit for choosing the number of dimensions


COMMON = ("out", "dims", "loss", "by", "column", "replicates", "groups", "labels", "seed", "force")


@with_options(COMMON, fitting=without(fitting, "n_dims"), reading=reading)
def fit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    dims: Annotated[
        str,
        typer.Option(
            "--dims",
            "-d",
            metavar="NUMBER|auto",
            rich_help_panel=FITTING,
            help="Dimensions of the map; auto: as many as the answers support, by the rule of closerthan dims.",
        ),
    ] = "2",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; by default FILE's name with -map."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result that is there already.")] = False,
    held_out: Annotated[
        float,
        typer.Option(
            rich_help_panel=BELIEVING,
            metavar="SHARE",
            min=0,
            max=0.5,
            help="Measure the error on new answers by a second fit without this share of them; 0: do not.",
        ),
    ] = 0.1,
    test: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=BELIEVING,
            metavar="FILE",
            help="Answers to measure the held-out error on, instead of a second fit.",
        ),
    ] = None,
    replicates: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Fit so many more maps to resampled people (or answers), as in 100, and write what can be believed.",
        ),
    ] = 0,
    people: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=BELIEVING,
            metavar="weigh|skip",
            help="weigh: answers of people who look careless count less; skip: do not judge them after replicates.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="Find groups of objects on the map and show their tree; auto: as many as the map shows.",
        ),
    ] = None,
    enough: Annotated[
        bool,
        typer.Option(
            "--enough/--no-enough",
            rich_help_panel=BELIEVING,
            help="With replicates: also measure what more answers would bring, if that takes less than a minute.",
        ),
    ] = True,
    map_format: Annotated[
        str,
        typer.Option(
            rich_help_panel=WRITING,
            metavar="csv|parquet|npz|spreadsheet",
            help="The map's format; spreadsheet is csv in which no name can be taken for a formula.",
        ),
    ] = "csv",
    figure_format: FigureFormat = "png",
    title: Annotated[
        str | None, typer.Option(rich_help_panel=WRITING, metavar="TEXT", help="Of the figure and the report.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file to colour by: names, and one or more columns of labels."),
    ] = None,
    thumbnails: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WRITING, metavar="FOLDER", help="A folder with images that are called like the objects."
        ),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", rich_help_panel=WRITING, help="Whether to write report.html.")
    ] = True,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=RUNNING,
            metavar="FILE",
            help="Keep the state of the fit here every few seconds, to go on if killed.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", rich_help_panel=RUNNING, help="Go on from the checkpoint, if it is there.")
    ] = False,
    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            rich_help_panel=RUNNING,
            help="By default on a terminal only.",
            show_default=False,
        ),
    ] = None,
    *,
    fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Fit a map to the answers in FILE and write it to a folder, with figure, history and report.

    Ctrl-C ends the fit early and saves the best map so far (exit code 130). Started by torchrun or srun, all processes
    make one fit together.
    """
    from closerthan.cli.output import check_figure_format, check_target, check_text, readable, stem
    from closerthan.cli.screen import print_summary
    from closerthan.comparisons.grouping import check_by
    from closerthan.files import read_answers
    from closerthan.files.labels import find_pictures, read_labels
    from closerthan.files.meaning.matching import read_about
    from closerthan.fit.progress import phases
    from closerthan.objective.distributed.launch import Launch
    from closerthan.report.findings import FindingsRequest
    from closerthan.uncertainty.ellipses import check_number

    if map_format not in MAP_FORMATS:
        raise ValueError(f"--map-format is {map_format!r}; it can be {', '.join(MAP_FORMATS)}")
    check_figure_format(figure_format)
    if people not in (None, "weigh", "skip"):
        raise ValueError(f"--people is {people!r}; it can be weigh or skip")
    n_groups = _number_of_groups(groups)
    n_dims = _number_of_dims(dims)
    if resume and checkpoint is None:
        raise ValueError("--resume needs to know from where: pass --checkpoint FILE")
    if replicates:
        check_number(replicates, n_dims or 1)
    folder = out or Path(f"{stem(file)}-map")
    launch = Launch.of(os.environ)
    if launch is not None and launch.n == 1:  # it is a fit as any other, unless it goes on with one by several
        from closerthan.fit.checkpoint import made_by_several

        launch = launch if resume and checkpoint and checkpoint.exists() and made_by_several(checkpoint) else None
    if launch is not None:
        from closerthan.cli.commands.together import Writing, fit_together

        alone: dict[str, Any] = {"--test": test, "--labels": labels, "--thumbnails": thumbnails, "--groups": groups}
        alone |= {"--replicates": replicates or None, "--people": people, "--dims auto": None if n_dims else dims}
        for name, given in alone.items():
            if given is not None:
                raise ValueError(f"{name} is for a fit by one process; leave it out, and look at the map afterwards")
        command = readable(repeating_command(context))
        writing = Writing(
            folder, force, map_format, title or readable(file.name), command, checkpoint, resume, report, figure_format
        )
        fit_together(file, launch, {**fitting, "n_dims": n_dims}, reading, writing, held_out, progress)
        return
    check_target(folder, force)
    progress = sys.stderr.isatty() if progress is None else progress
    with phases(progress) as say:
        say(f"reading {file}")
        answers = read_answers(file, **reading)
    print_summary(answers.summary)
    check_by(fitting["by"], answers.comparisons.people, answers.comparisons.blocks)
    if groups is not None:
        _check_groups(n_groups, answers.comparisons.n_objects)
    n_objects, object_names = answers.comparisons.n_objects, answers.comparisons.names
    if "names" in reading:  # given in the order of the numbers: other files count from where this one does
        reading.setdefault("numbering", answers.summary.numbering)
    fitting, aside = with_held_out(fitting, lambda path: read_about(path, n_objects, object_names, reading).comparisons)
    unseen = answers.test if test is None else read_about(test, n_objects, object_names, reading).comparisons
    called = object_names or tuple(str(number) for number in range(n_objects))
    if checkpoint is not None and resume:
        there = checkpoint.exists()
        typer.echo(
            f"going on from {checkpoint}" if there else f"no {checkpoint} yet: starting from the beginning", err=True
        )
    pictures = None if thumbnails is None else find_pictures(thumbnails, called)
    if pictures is not None:
        from closerthan.plotting.maps.thumbnails import check_pictures

        check_pictures(pictures.values())
    colours = None if labels is None else read_labels(labels, called)
    check_text("the name", called)
    check_text("the title", [title or ""])
    for column, cells in (colours or {}).items():
        check_text("the label", [column, *(cell for cell in cells if isinstance(cell, str))])
    deadline = deadline_of(fitting, time.perf_counter())
    choice = None
    if n_dims is None:
        choice = _chosen_dims(answers.comparisons, fitting, progress)
        n_dims = choice.chosen
        check_number(replicates, n_dims) if replicates else None
    fitting |= {"n_dims": n_dims, **time_until(deadline)}
    wanted = None
    if replicates or people == "weigh":
        judged = assessed(answers, fitting, progress) if people == "weigh" else None
        fitting |= time_until(deadline)
        # Without replicates nothing more is asked than what weighs the answers.
        more = replicates > 0
        wanted = FindingsRequest(replicates, more and people != "skip", more and enough, answers.checks, judged)
    fit_and_write(
        answers.comparisons,
        fitting,
        folder,
        file=readable(file),
        again=Again(
            readable(repeating_command(context)),
            *sources(context, reading, aside, object_names),
            {name: command_about(context, name) for name in ("info", "dims")},
        ),
        summary=answers.summary,
        title=title or f"{readable(file.name)} in {n_dims} dimension{'s' * (n_dims != 1)}",
        test=unseen,
        held_out=held_out,
        wanted=wanted,
        groups=groups and (n_groups or "auto"),
        dims_choice=choice,
        force=force,
        map_format=map_format,
        figure_format=figure_format,
        report=report,
        labels=colours,
        thumbnails=pictures,
        checkpoint=checkpoint,
        resume=resume,
        progress=progress,
    )


def _number_of_groups(groups: str | None) -> int | None:
    """How many; None for none, and for a number that answers tell."""
    if groups in (None, "auto"):
        return None
    if not (groups.isdecimal() and int(groups) >= 2):
        raise ValueError(f"--groups is {groups!r}; it can be a number from 2 on, or auto")
    return int(groups)


def _number_of_dims(dims: str) -> int | None:
    """The number of dimensions; None for auto."""
    if dims == "auto":
        return None
    if not (dims.isdecimal() and int(dims) >= 1):
        raise ValueError(f"--dims is {dims!r}; it must be a whole number of at least 1, or auto")
    return int(dims)


def _chosen_dims(comparisons: "Comparisons", fitting: dict[str, Any], progress: bool) -> "DimsChoice":
    """Choose the number of dimensions, in at most half of a time limit."""
    from closerthan.evaluate.dims import choose_dims

    now = time.perf_counter()
    soon = now + DIMS_SHARE * (deadline_of(fitting, now) - now)
    choice = choose_dims(comparisons, progress=progress, **{**of_parts(fitting), **time_until(soon)})
    if choice.stopped_by == "interrupted":  # the map would not be the one asked for
        raise KeyboardInterrupt
    return choice


def _check_groups(n_groups: int | None, n_objects: int) -> None:
    """Complain now, not after the fit."""
    if n_objects > MOST_GROUPED:
        raise ValueError(
            f"--groups needs the distances of all pairs; it is for at most {MOST_GROUPED:,} objects, and there are "
            f"{n_objects:,}: leave it out"
        )
    least = 3 if n_groups is None else n_groups
    if n_objects < least:
        raise ValueError(f"--groups is {n_groups or 'auto'}, but there are {n_objects} objects; leave it out")


def assessed(answers: "Answers", fitting: dict[str, Any], progress: bool) -> "PeopleAssessment":
    """What the answers say of the people who gave them."""
    from closerthan.people.quality import assess_people

    now = time.perf_counter()
    soon = now + PEOPLE_SHARE * (deadline_of(fitting, now) - now)
    own = {**of_parts(fitting), **time_until(soon)}
    found = assess_people(answers.comparisons, checks=answers.checks, progress=progress, **own)
    if found.stopped_by == "interrupted":  # without weights it would not be the map that was asked for
        raise KeyboardInterrupt
    return found


def fit_and_write(
    comparisons: "Comparisons",
    fitting: dict[str, Any],
    folder: Path,
    *,
    file: str,
    title: str,
    again: "Again",
    summary: "Summary | None" = None,
    test: "Comparisons | None" = None,
    held_out: float = 0.0,
    wanted: "FindingsRequest | None" = None,
    groups: int | str | None = None,
    dims_choice: "DimsChoice | None" = None,
    orient: "Callable[[Array], Array] | None" = None,
    force: bool = False,
    map_format: str = "csv",
    figure_format: str = "png",
    report: bool = True,
    labels: Mapping[str, Sequence[str] | Sequence[float]] | None = None,
    thumbnails: Mapping[str, Path] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> None:
    """Fit, write everything to a folder, and say what came out; answers count by what is known of their people."""
    from closerthan.cli.output import Fitted, write_folder
    from closerthan.cli.screen import end_with_files, option, print_facts, print_wrapped
    from closerthan.evaluate.advice import found_advice
    from closerthan.evaluate.facts import Fact, facts, unit_within
    from closerthan.evaluate.held_out import HeldOutError
    from closerthan.fit.ctrl_c import CtrlC
    from closerthan.fit.embedding import embed
    from closerthan.fit.progress import phases
    from closerthan.report.findings import Findings
    from closerthan.wording import counted

    deadline = deadline_of(fitting, time.perf_counter())
    asked, of_second_fit = comparisons, fitting
    people = None if wanted is None else wanted.assessment
    if people is not None and people.is_weighted:
        comparisons, of_second_fit = people.weighted, {**fitting, "weights": people.weights}
    with CtrlC(insistent=False) as ctrl_c:  # once there is a map, Ctrl-C can only shorten what follows
        result = embed(comparisons, progress=progress, checkpoint=checkpoint, resume=resume, **fitting)
        if orient is not None:
            result = dataclasses.replace(result, embedding=orient(result.embedding))
        interrupted = result.stopped_by == "interrupted"
        lines = facts(result, comparisons, test)
        if dims_choice is not None:
            place = [line.name for line in lines].index("Dimensions")
            lines[place] = lines[place]._replace(note=dims_choice.verdict)
        if people is not None:  # after what is said of the comparisons
            count = "weighed" if people.is_weighted else "all count the same"
            lines.insert(2, Fact("People", f"{len(people.people):,}, {count}", "; ".join(people.sentences)))
        measured = None
        if test is not None:
            measured = HeldOutError.of(test, result.embedding, unit_within(test, fitting["by"]))
        elif held_out and not ctrl_c.pressed.is_set():
            measured, fact = second_fit(asked, of_second_fit, held_out, result, deadline=deadline, progress=progress)
            lines.insert([line.name for line in lines].index("Chance level"), fact)
            if measured is not None:
                result = dataclasses.replace(result, calibration=measured.calibration)
        findings = None
        if wanted is not None and not ctrl_c.pressed.is_set():
            rest = {**fitting, **time_until(deadline)}
            del rest["n_dims"]
            findings = Findings.of(comparisons, result, wanted, progress=progress, **rest)
            lines += [fact for fact in findings.facts() if people is None or fact.name != "People"]
            interrupted = findings.interrupted
        found_groups = None
        if groups is not None and not ctrl_c.pressed.is_set():
            try:
                found_groups = _grouped(result, groups, findings)
                lines.append(Fact("Groups", counted(found_groups.n_clusters, "group"), found_groups.in_words))
            except ValueError as error:  # such as too few answers: the map must not be lost
                lines.append(Fact("Groups", "left out", str(error)))
        # Weights of people come from many fits: the command alone says that in one line.
        number = 0 if findings is None else findings.n_replicates
        python = "" if result.settings is None or comparisons is not asked else again.python(result.settings, number)
        fitted = Fitted(
            result,
            comparisons,
            test,
            lines,
            summary,
            file,
            again.command,
            python,
            title,
            labels,
            thumbnails,
            findings,
            found_groups,
            dims_choice,
        )
        with phases(progress) as say:
            written = write_folder(
                folder,
                fitted,
                force=force,
                map_format=map_format,
                figure_format=figure_format,
                report=report,
                say=say,
            )
        if checkpoint is not None and not interrupted:
            checkpoint.unlink(missing_ok=True)  # its work is done
    print_facts(lines)
    hints = [] if interrupted else found_advice(result, comparisons, measured, dims_were_tested=dims_choice is not None)
    if hints:
        typer.echo("\nWhat to try next")
    for hint in hints:
        line = hint.said(lambda name, value: option(name) + ("" if value is None else f" {value}"), again.shows)
        print_wrapped(f"- {line}", indent=2, whole=again.shows.values())
    end_with_files(written, interrupted=interrupted, checkpoint=checkpoint)


def _grouped(result: "Result", groups: int | str, findings: "Findings | None") -> "Clustering":
    """Groups on the map and, where there are replicates, how sure they are; "auto" finds their number."""
    from closerthan.objects import cluster

    maps = None if findings is None or findings.replicates is None else findings.replicates.maps
    return cluster(result, groups if isinstance(groups, int) else None, maps=maps)


def second_fit(
    comparisons: "Comparisons",
    fitting: dict[str, Any],
    share: float,
    first: "Result",
    *,
    deadline: float,
    progress: bool,
) -> "tuple[HeldOutError | None, Fact]":
    """The error on a share of the answers of a map that was fitted to the others, and how to say it."""
    from closerthan.evaluate.facts import Fact
    from closerthan.evaluate.held_out import held_out_error
    from closerthan.wording import percent_interval

    def not_measured(why: str) -> "tuple[None, Fact]":
        return None, Fact("Held-out error", "not measured", why)

    if first.stopped_by == "time_limit" or time.perf_counter() >= deadline:
        return not_measured("the time limit left no time for a second fit")
    if not comparisons.has_several_groups(fitting["by"]):
        return not_measured(f"there are too few {comparisons.split_unit(fitting['by'])} to keep some aside")
    told = {**fitting, **time_until(deadline), "progress": progress and "second fit"}
    if fitting["by"] == "people" and first.candidates:  # several fits: the loss is chosen once
        told["loss"] = first.candidates[0].loss
    try:
        found = held_out_error(comparisons, share=share, **told)
    except KeyboardInterrupt:
        return not_measured("the second fit was interrupted")
    except ValueError as error:  # the fit to all answers is done, and must not be lost
        return not_measured(str(error))
    if found.stopped_by == "time_limit":
        return not_measured("the second fit ran out of time")
    note = f"{found.amount} withheld from a second fit: expect this error on new answers"
    if found.by == "people":
        note = f"{found.amount}; each person was withheld from one of {found.n_fits} fits: expect this for new people"
    return found, Fact("Held-out error", percent_interval(found.error, found.low, found.high), note)


@dataclasses.dataclass(frozen=True)
class Again:
    """How to make a fit again, and to look at its answers: what a user may paste."""

    command: str
    answers: "Source | Code"
    held_out: "Source | None" = None
    shows: Mapping[str, str] = dataclasses.field(default_factory=dict)  # commands by their names
    python_after: str = ""  # Python code that follows the fit

    def python(self, settings: "Settings", n_replicates: int = 0) -> str:
        """Return Python code for the same fit and, if there are any, its replicates."""
        from closerthan.report.repeat import python_code

        return python_code(settings, self.answers, self.held_out, n_replicates) + self.python_after


def repeating_command(context: typer.Context) -> str:
    """Return the command that writes the same files again, with every option that differs from its default.

    Options that say where to write, or that change only how the command runs, are left out.
    """
    aside = {"out", "force", "checkpoint", "resume", "progress", "threads"}
    names = [str(parameter.name) for parameter in context.command.params if parameter.name not in aside]
    always = ("dims", "loss", "solver", "seed")
    return shlex.join(["closerthan", "fit", _file(context), *_words(context, names, always)])


def command_about(context: typer.Context, name: str) -> str:
    """Another command about the same answers: read in the same way and, where it holds some out, by the same unit."""
    options = list(inspect.signature(reading).parameters) + ["by"] * (name == "dims")
    return shlex.join(["closerthan", name, _file(context), *_words(context, options)])


def sources(
    context: typer.Context, reading: Mapping[str, Any], held_out: Path | None, names: Sequence[str] | None
) -> "tuple[Source, Source | None]":
    """Where the answers are from, and those that the fit was stopped by, as Python reads them."""
    from closerthan.files.meaning.matching import about
    from closerthan.report.repeat import Code, Source

    options = dict(reading)
    if "names" in options:  # not the names themselves: there may be many
        lines = f'pathlib.Path({str(context.params["names"])!r}).read_text(encoding="utf-8-sig").splitlines()'
        options["names"] = Code(f"[name for name in {lines} if name]")
    answers = Source(str(context.params["file"]), options)
    if held_out is None:
        return answers, None
    called = {"names": Code("comparisons.names"), "n_objects": Code("comparisons.n_objects")}
    same = {name: called.get(name, value) for name, value in about(held_out, 1, names).items()}
    return answers, Source(str(held_out), {**same, **options})


def _file(context: typer.Context) -> str:
    """The file as a word that is no option."""
    file = str(context.params["file"])
    return f"./{file}" if file.startswith("-") else file


def _words(context: typer.Context, names: Sequence[str], always: Sequence[str] = ()) -> list[str]:
    words: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        if name == "file" or name not in names or value is None or (value == parameter.default and name not in always):
            continue
        option = max(parameter.opts, key=len)
        if value is False and parameter.secondary_opts:
            words.append(parameter.secondary_opts[0])
        elif isinstance(value, bool):
            words.append(option)
        else:
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [option, str(one)]
    return words


NORTH_UP = """
# Comparisons determine a map up to rotation and reflection: turn north up.
import dataclasses
from closerthan.datasets.eurodist import north_up
result = dataclasses.replace(result, embedding=north_up(result.embedding))
"""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")] = Path(
        "closerthan-demo"
    ),
) -> None:
    """Make a map of 21 European cities from comparisons of their road distances. A demo from before is replaced."""
    from closerthan.cli.output import check_target
    from closerthan.datasets.eurodist import eurodist, north_up
    from closerthan.report.repeat import Code

    check_target(out, force=True)
    comparisons = eurodist().comparisons()
    typer.echo(f'{len(comparisons):,} answers such as "Athens is closer to Rome than to Paris"\n', err=True)
    fit_and_write(
        comparisons,
        usual_fitting(loss="ste"),  # one loss is compiled sooner than all
        out,
        file="eurodist",
        again=Again("closerthan demo", Code("ct.datasets.eurodist().comparisons()"), python_after=NORTH_UP),
        title="21 European cities, from comparisons of their road distances",
        held_out=0.1,
        orient=north_up,
        force=True,
        progress=sys.stderr.isatty(),
    )
    typer.echo(f"\nOpen {(out / 'report.html').resolve().as_uri()}")
