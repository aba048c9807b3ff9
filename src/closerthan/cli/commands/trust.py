"""Commands about the quality and the number of answers: ``people`` and ``enough``."""

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.options import (
    AnswersFile,
    AnswersReader,
    Fitting,
    OutputFolder,
    fitting_options,
    reading,
    with_options,
)
from closerthan.settings import ENDED, TimeOverError, ended_by

if TYPE_CHECKING:
    from closerthan.people.quality import PeopleAssessment

LONGEST_NAME = 12


@with_options(output=OutputFolder, fitting=fitting_options(), reading=reading)
def people(
    file: AnswersFile,
    most: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", min=1, help="Largest number of groups of people with separate maps to look for; 1: none."
        ),
    ] = 3,
    *,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Assess people by their answers: lapses, consistency, speed, and whether groups need separate maps.

    No one is excluded. To give doubtful answers less weight where that helps, fit with --people weigh.
    """
    import closerthan as ct
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import PEOPLE, files_in, save_figures, written_folder
    from closerthan.cli.screen import in_terms_of_options, print_columns, print_files, print_sentences, print_summary
    from closerthan.messages import message_of
    from closerthan.report.findings import Findings
    from closerthan.wording import p_number, percent

    fitting.refuse_file()
    folder = output.path(file, "people", PEOPLE)
    answers = reading.read(file)
    print_summary(answers.summary)
    on_terminal, budget = sys.stderr.isatty(), fitting.settings.budget()
    run = fitting.run_options(on_terminal)
    assessment = ct.assess_people(answers.comparisons, checks=answers.checks, settings=fitting.settings, **run)
    groups, cut = None, ENDED.get(assessment.stopped_by, "")
    if most > 1 and not cut:
        settings = fitting.settings.replace(loss=assessment.loss).within(budget)
        try:
            groups = ct.group_people(answers.comparisons, most_groups=most, settings=settings, **run)
        except (KeyboardInterrupt, TimeOverError) as early:  # the table of people is complete
            cut = ENDED[ended_by(early)]
        except ValueError as error:  # for example, all answers are about the same objects
            cut = in_terms_of_options(message_of(error))
    with written_folder(folder, replace=output.force) as draft:
        assessment.to_csv(draft / "people.csv", groups)
        if groups is not None:
            groups.to_csv(draft / "people-matrix.csv")
        save_figures(draft, Findings(people=assessment, groups=groups).figures(), output.figure_format)
    _print_people(assessment)
    typer.echo("")
    print_sentences(assessment.sentences)
    if groups is not None:
        print_sentences([groups.sentence])
        typer.echo("")
        rows = [
            (test.maps, percent(test.error), percent(test.one_map_error), p_number(test.p_value))
            for test in groups.tests
        ]
        print_columns(("maps", "held-out error", "of one map", "p"), rows)
    print_files(files_in(folder, PEOPLE))
    if cut:
        state = "is based on the rounds so far" if assessment.stopped_by else "is complete"
        typer.echo(f"{cut}: the table of people {state}; groups of people were not looked for", err=True)
    if cut == ENDED["interrupted"]:
        raise typer.Exit(INTERRUPTED)


def _print_people(assessment: "PeopleAssessment") -> None:
    from closerthan.cli.screen import MOST_LINES, print_columns, print_wrapped
    from closerthan.plotting.canvas import one_line
    from closerthan.wording import percent_if_known

    listed = assessment.people[:MOST_LINES]
    columns: dict[str, list[str]] = {
        "person": [one_line(person.name, LONGEST_NAME) for person in listed],
        "verdict": [person.verdict for person in listed],
        "answers": [f"{person.answers:,}" for person in listed],
        "lapses": [person.lapses for person in listed],
        "error": [percent_if_known(person.others_error, 0) for person in listed],
        "again": [percent_if_known(person.consistency, 0) for person in listed],
        "agree": [percent_if_known(person.agreement, 0) for person in listed],
        "checks": [f"{person.checks_passed}/{person.checks}" if person.checks else "" for person in listed],
        "left": [percent_if_known(person.left, 0) for person in listed],
        "median": ["" if math.isnan(person.median_seconds) else f"{person.median_seconds:.1f} s" for person in listed],
        "fast": [percent_if_known(person.fast, 0) for person in listed],
    }
    filled = {title: cells for title, cells in columns.items() if any(cells)}
    print_columns(list(filled), list(zip(*filled.values(), strict=True)), gap=1)
    if len(listed) < len(assessment.people):
        typer.echo(f"... and {len(assessment.people) - len(listed):,} more, who are less conspicuous")
    words = {
        "lapses": "fraction of answers that the others' map explains only as guesses (95 % interval)",
        "error": "fraction that the others' map gets wrong",
        "again": "same answer when asked again",
        "agree": "same answer as others",
        "left": "the left object was chosen",
        "fast": "answers below 0.3 s",
    }
    typer.echo("")
    print_wrapped("; ".join(f"{title}: {text}" for title, text in words.items() if title in filled) + ".", indent=0)


@dataclass(frozen=True)
class CurveOptions:
    """Options for measuring a learning curve."""

    error: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            min=0.001,
            max=0.499,
            help="Target error, as in 0.1: estimate how many answers it needs.",
        ),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=2,
            help="Number of parts; each is held out once. By default ten, or five with many answers.",
        ),
    ] = None
    replicates: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Number of maps to fit to resampled answers, to see which triplets are decided; 0: none.",
        ),
    ] = 100


@with_options(curve_options=CurveOptions, output=OutputFolder, fitting=fitting_options(), reading=reading)
def enough(
    *,
    file: AnswersFile,
    curve_options: CurveOptions,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Estimate whether there are enough answers: the error with fewer answers, and with twice as many."""
    import closerthan as ct
    from closerthan.cli.output import ENOUGH, save_figures, written_folder
    from closerthan.cli.screen import OTHER_ERRORS, end_with_folder, print_columns, print_sentences, print_summary
    from closerthan.plotting import learning_curve_figure

    fitting.refuse_file()
    folder = output.path(file, "enough", ENOUGH)
    answers = reading.read(file)
    print_summary(answers.summary)
    curve = ct.learning_curve(
        answers.comparisons,
        n_folds=curve_options.folds,
        n_replicates=curve_options.replicates,
        settings=fitting.settings,
        **fitting.run_options(sys.stderr.isatty()),
    )
    with written_folder(folder, replace=output.force) as draft:
        curve.to_csv(draft / "learning-curve.csv")
        save_figures(draft, {"learning-curve.png": learning_curve_figure(curve)}, output.figure_format)
        if curve.ceilings:
            curve.noise_to_csv(draft / "noise.csv")
    print_columns(curve.titles, curve.table(), gap=3 - ("bits" in curve.titles))
    typer.echo("")
    print_sentences([*curve.sentences(curve_options.error), OTHER_ERRORS])
    end_with_folder(folder, ENOUGH, curve.stopped_by)
