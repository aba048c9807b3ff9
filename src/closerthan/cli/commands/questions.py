"""``closerthan questions``: the next questions to ask, as a table for any survey tool."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from closerthan.cli.options import SEED, AnswersReader, Force, Seed, out_option, reading, with_options


@dataclass(frozen=True)
class Selection:
    """Options for choosing questions."""

    count: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of questions.")] = 100
    ask: Annotated[
        str,
        typer.Option(
            metavar="closer|odd|nearest|rank",
            help="Ask which of two is closer to the anchor, which of three is the odd one out, or which of several are "
            "the closest, in any order or ranked.",
        ),
    ] = "closer"
    n_options: Annotated[
        int,
        typer.Option(
            "--shown", metavar="NUMBER", min=3, help="Number of options of each question, for nearest and rank."
        ),
    ] = 8
    picks: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of options that people pick.")] = 2
    dims: Annotated[int, typer.Option("--dims", "-d", metavar="NUMBER", min=1, help="Dimensions of the map.")] = 2
    random_fraction: Annotated[
        float, typer.Option(metavar="FRACTION", min=0, max=1, help="Fraction of the questions to draw at random.")
    ] = 0.15
    exclude: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions that still await an answer: a table that this command wrote."),
    ] = None
    about: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Ask only about this object, which may be new. Repeatable."),
    ] = None


@with_options(selection=Selection, reading=reading)
def questions(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The answers so far; without them, pass --objects or --names.", show_default=False
        ),
    ] = None,
    selection: Selection,
    seed: Seed = SEED,
    out: Annotated[Path | None, out_option("By default FILE's name with -questions.csv.")] = None,
    force: Force = False,
    reading: AnswersReader,
) -> None:
    """Write the questions whose answers are expected to be most informative, the most urgent first.

    Columns are anchor, left and right (or item_1, item_2, item_3; or anchor, shown_1, shown_2, ...). Add people's
    answers, in a column answer (or odd; or nearest_1, nearest_2 or rank_1, rank_2), and closerthan fit reads the table.
    """
    import dataclasses

    import numpy as np

    from closerthan.cli.output import check_file, stem
    from closerthan.collect.choosing.information import Questions, choose_questions
    from closerthan.saving import whole_csv

    target = out or Path(f"{stem(file)}-questions.csv" if file else "questions.csv")
    check_file(target, force)
    if target.suffix.lower() != ".csv":
        raise ValueError(f"{target}: questions are written as .csv")
    answers, names, n_objects = None, reading.arguments.get("names"), reading.arguments.get("n_objects")
    if file is not None:
        answers = reading.read(file).comparisons
        names, n_objects = answers.names, answers.n_objects
    elif names is not None:
        n_objects = len(names)
    elif n_objects is None:
        raise ValueError("there is no file of answers; pass --objects NUMBER or --names FILE to begin without any")
    screen = Questions(selection.ask, n_objects, n_options=selection.n_options, n_picks=selection.picks).screen
    titles = screen.columns
    all_names = [str(name) for name in (names or range(n_objects))]
    new = [name for name in dict.fromkeys(selection.about or ()) if name not in all_names]
    if new and names is None and new != [str(n_objects + place) for place in range(len(new))]:
        raise ValueError(
            f"--about {new[0]}: objects have numbers from 0 to {n_objects - 1}; a new one must be {n_objects}"
        )
    if answers is not None and new:
        both = None if names is None else (*all_names, *new)
        answers = dataclasses.replace(answers, n_objects=len(all_names) + len(new), names=both)
    all_names += new
    waiting = [] if selection.exclude is None else _read(selection.exclude, titles, all_names)
    rows = choose_questions(
        answers,
        selection.count,
        n_dims=selection.dims,
        seed=seed,
        random_fraction=selection.random_fraction,
        exclude=waiting,
        kind=selection.ask,
        n_options=selection.n_options,
        n_picks=selection.picks,
        n_objects=None if answers is not None else len(all_names),
        about=[all_names.index(name) for name in selection.about] if selection.about else None,
    )
    # The side on which an option is shown must carry no information.
    shuffled = rows[:, screen.has_anchor :]
    shuffled[:] = np.random.default_rng([seed, 1]).permuted(shuffled, axis=1)
    whole_csv(target, titles, [[all_names[one] for one in row] for row in rows.tolist()])
    typer.echo(f"{target}  {len(rows):,} questions, the most urgent first; columns: {', '.join(titles)}")
    if new:
        typer.echo(f"{', '.join(new)}: new, without answers so far")


def _read(path: Path, titles: tuple[str, ...], names: list[str]) -> list[list[int]]:
    import csv

    numbers = {name: number for number, name in enumerate(names)}
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file)
        missing = [title for title in titles if title not in (table.fieldnames or ())]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r}; it must have the columns {', '.join(titles)}")
        rows = [[row[title] for title in titles] for row in table]
    for place, row in enumerate(rows, start=2):
        for name in row:
            if name not in numbers:
                raise ValueError(f"{path}, line {place}: there is no object {name!r}; use the names in the answers")
    return [[numbers[name] for name in row] for row in rows]
