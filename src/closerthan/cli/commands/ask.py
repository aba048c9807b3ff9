"""``closerthan ask``: put questions to any program, for instance a language model behind a command."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import SEED, AnswersReader, reading, with_options
from closerthan.messages import message_of, prefixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from closerthan.models.asking import Outcome
    from closerthan.models.prompts import Prompt
    from closerthan.models.question_sets import QuestionSet

FILES = {
    "answers.csv": "the answers, for closerthan fit",
    "report.html": "the results and the unclear replies on one page: open it in a browser",
    "record.jsonl": "every line that was sent and received",
    "errors.txt": "the standard error stream of the program",
}
"""The files of closerthan ask."""
RECORD = "record.jsonl"
MOST_PROBLEMS = 3  # reasons of failures to print
MOST_UNCLEAR = 50  # unclear replies on the page


@dataclass(frozen=True)
class ProgramOptions:
    """The program, and options for asking it."""

    command: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="The program: it reads one JSON object per line and answers each with one line.",
            show_default=False,
        ),
    ]
    question: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION", help="For a table of questions: odd-one-out, most-central, 'rank 2 of 8', ..."
        ),
    ] = None
    workers: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of processes at the same time.")] = 1
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.001, help="Time that a reply may take.")] = 60.0
    retries: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="Further attempts if there is no reply, or an error.")
    ] = 2
    pause: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Time before another attempt; doubled after each.")
    ] = 1.0


@with_options(program=ProgramOptions, reading=reading)
def ask(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The questions: a table of closerthan questions, or people's answers, whose questions are asked.",
            show_default=False,
        ),
    ],
    program: ProgramOptions,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Output folder; by default FILE's name with -asked."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="The same seed shuffles options in the same way.")
    ] = SEED,
    force: Annotated[bool, typer.Option("--force", help="Start over instead of continuing.")] = False,
    reading: AnswersReader,
) -> None:
    """Put questions to a program, such as a language model behind a command, and write its answers.

    After Ctrl-C or a crash, run the same command again to continue. closerthan itself uses no network.
    """
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import files_in, stem
    from closerthan.cli.screen import print_files, print_wrapped
    from closerthan.files import write_comparisons
    from closerthan.fit.progress import trials_bar
    from closerthan.models.asking import MOST_FAILURES, Asking, comparisons_of
    from closerthan.models.asking import ask as ask_program

    try:
        command = shlex.split(program.command, posix=os.name == "posix")
    except ValueError:
        raise ValueError(f"--command {program.command} has a quotation mark that is not closed") from None
    if not command:
        raise ValueError("--command is empty; pass a program, as in --command 'python model.py'")
    folder = out or Path(f"{stem(file)}-asked")
    questions = _read_questions(file, program.question, seed, reading)
    n_done = _prepare(folder, force)
    asking = Asking(command, program.workers, program.timeout, program.retries, program.pause)
    with trials_bar(sys.stderr.isatty(), "asking", len(questions.prompts), n_done) as advance:
        outcome = ask_program(questions.prompts, asking, folder / RECORD, folder / "errors.txt", advance)
    if outcome.answers:
        answers = comparisons_of(outcome, questions.prompts, questions.sets, questions.names, questions.width)
        write_comparisons(answers, folder / "answers.csv")
    _write_page(folder / "report.html", f"Answers of a program to {file.name}", program.command, outcome, questions)
    for sentence in _results(outcome, questions):
        print_wrapped(sentence, indent=0)
    print_files(files_in(folder, FILES))
    if outcome.interrupted:
        typer.echo("interrupted: the same command continues from here", err=True)
        raise typer.Exit(INTERRUPTED)
    if outcome.gave_up and outcome.answers:
        raise ValueError(
            f"there was no reply to {MOST_FAILURES} questions in a row, so the others were not asked; the same command "
            "asks them"
        )
    if not outcome.answers:
        raise ValueError(f"no question was answered; {folder / RECORD} has every line that was sent and received")


class _Questions(NamedTuple):
    """Questions, as they are asked and as they are stored."""

    prompts: "Sequence[Prompt]"
    sets: "Sequence[QuestionSet]"
    names: tuple[str, ...]
    width: int
    from_people: bool


def _read_questions(file: Path, question: str | None, seed: int, reading: AnswersReader) -> _Questions:
    import numpy as np

    from closerthan.cli.screen import print_summary
    from closerthan.comparisons import Choices
    from closerthan.models.prompts import prompts_of
    from closerthan.models.question_sets import question_sets
    from closerthan.models.question_table import EXPECTED_COLUMNS, read_question_table

    table = read_question_table(file, question)
    if table is not None:
        return _Questions(prompts_of([table.questions], table.names), [table.questions], table.names, 3, False)
    if question is not None:
        raise ValueError("--question is for a table of questions; the kind of people's questions is in their answers")
    try:
        contents = reading.without_split().read(file)
    except ParameterError:
        raise
    except ValueError as error:
        prefix = f"{file} is not a table of questions ({EXPECTED_COLUMNS}), and cannot be read as answers: "
        raise ValueError(prefixed(prefix, message_of(error))) from error
    print_summary(contents.summary)
    people = contents.comparisons
    names = people.names or tuple(str(number) for number in range(people.n_objects))
    sets = list(question_sets(Choices.of(people)))
    # People's choice comes first in each question, so the options are shuffled.
    prompts = prompts_of(sets, names, np.random.default_rng(seed))
    return _Questions(prompts, sets, names, people.rows.shape[1], True)


def _prepare(folder: Path, force: bool) -> int:
    """Create the folder, or keep the record of an earlier run; return the number of questions that have a reply."""
    from closerthan.cli.output import check_target

    if (folder / RECORD).exists() and not force:
        with open(folder / RECORD, encoding="utf-8", errors="replace") as file:
            n_done = sum('"status": "answered"' in line or '"status": "unclear"' in line for line in file)
        typer.echo(f"{folder} has {n_done:,} replies already; the remaining questions are asked", err=True)
        return n_done
    check_target(folder, force, FILES)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    return 0


def _results(outcome: "Outcome", questions: _Questions) -> list[str]:
    """Return sentences that summarise the outcome of the run."""
    from closerthan.wording import counted

    n_missing = len(questions.prompts) - len(outcome.outcomes)
    sentences = [
        f"{counted(len(questions.prompts), 'question')}: {len(outcome.answers):,} answered, {outcome.n_unclear:,} with "
        f"an unclear reply, {n_missing:,} without a reply; {counted(outcome.n_attempts, 'attempt')}."
    ]
    problems = sorted(outcome.problems.items(), key=lambda item: -item[1])[:MOST_PROBLEMS]
    sentences += [f"No reply to {counted(count, 'question')}: {problem}." for problem, count in problems]
    if questions.from_people:
        sentences += _agreement(outcome, questions)
    return sentences


def _agreement(outcome: "Outcome", questions: _Questions) -> list[str]:
    """Say how often the program gives the answer that a person gave, for questions where one option is chosen."""
    from closerthan.metrics import error_interval
    from closerthan.wording import counted, percent, percent_interval

    single = [prompt for prompt in questions.prompts if prompt.n_chosen == 1 and prompt.number in outcome.answers]
    if not single:
        return []
    # The first pair of a question is the one that the person chose.
    same = sum(prompt.pairs[outcome.answers[prompt.number][0]] == 0 for prompt in single)
    chance = sum(1 / len(prompt.options) for prompt in single) / len(single)
    fraction = same / len(single)
    return [
        f"{percent_interval(fraction, *error_interval(fraction, len(single)))} of {counted(len(single), 'answer')} "
        f"{'agrees' if len(single) == 1 else 'agree'} with those of people; chance is {percent(chance)}."
    ]


def _write_page(path: Path, title: str, command: str, outcome: "Outcome", questions: _Questions) -> None:
    """Write the results, and the replies that name no option, as a page."""
    from closerthan.models.record import UNCLEAR
    from closerthan.report.static_page import Section, write_summary_page

    text_of = {prompt.number: prompt.text for prompt in questions.prompts}
    unclear = [one for _, one in sorted(outcome.outcomes.items()) if one.status == UNCLEAR]
    rows = [(text_of[one.question], one.received or "", one.problem) for one in unclear[:MOST_UNCLEAR]]
    more = len(unclear) - len(rows)
    sections = [Section("Results", [("program", command)], sentences=_results(outcome, questions))]
    if rows:
        sentences = [f"{more:,} more are in {RECORD}."] if more else []
        sections.append(Section("Unclear replies", (), ("question", "reply", "problem"), rows, sentences))
    write_summary_page(path, title, sections)
