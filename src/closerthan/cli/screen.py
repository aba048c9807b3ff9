"""Printing: tables, facts and summaries, with arguments written as options (``ties="drop"`` as ``--ties drop``)."""

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from closerthan.messages import Message, Notation, Suggested
from closerthan.settings import Settings

if TYPE_CHECKING:
    from closerthan.cli.output import WrittenFiles

OTHER_ERRORS = (
    "fit, dims, compare and enough print slightly different held-out errors: each holds out different answers and "
    "fits a different number of them"
)

OPTIONS = {
    "n_objects": "--objects",
    "n_threads": "--threads",
    "columns": "--column",
    "n_clusters": "--groups",
    "n_options": "--shown",
    "n_picks": "--picks",
    "n_folds": "--folds",
    "n_repeats": "--repeats",
    "n_replicates": "--replicates",
    "n_permutations": "--permutations",
    "n_views": "--views",
}
"""Arguments whose option has another name, apart from settings; the option of any other argument has the same name."""


def option(argument: str) -> str:
    """Return the option for an argument of the library.

    Examples
    --------
    >>> option("n_dims"), option("time_limit")
    ('--dims', '--time-limit')
    """
    if argument in Settings.__dataclass_fields__:
        return Settings.option(argument).names[0]
    return OPTIONS.get(argument, f"--{argument.replace('_', '-')}")


def as_option(argument: str, value: Suggested = None) -> str:
    """Format a suggested argument as on the command line.

    Examples
    --------
    >>> as_option("self_pairs", "drop"), as_option("names", ...), as_option("header", (True, False))
    ('--self-pairs drop', '--names', '--header or --no-header')
    >>> as_option("columns", {"anchor": 0, "near": ..., "block": None})
    '--column anchor=0 --column near=NAME --column block='
    """
    name = option(argument)
    if isinstance(value, tuple):
        return " or ".join(as_option(argument, one) for one in value)
    if isinstance(value, Mapping):
        columns = {
            role: "NAME" if column is ... else "" if column is None else column for role, column in value.items()
        }
        return " ".join(f"{name} {role}={column}" for role, column in columns.items())
    if value is False:
        return f"--no-{name.removeprefix('--')}"
    return name if value is None or value is ... or value is True else f"{name} {value}"


def in_terms_of_options(message: str, notation: Notation = as_option) -> str:
    """Return a message as text, with suggested arguments written as options."""
    return message.in_terms_of(notation) if isinstance(message, Message) else message


def print_facts(facts: Iterable[Any]) -> None:
    """Print facts in two columns, with notes below the values. Text in them is not interpreted as markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for fact in facts:
        value = Text(fact.value)
        if fact.note:
            value.append(f"\n{fact.note}", style="dim")
        table.add_row(Text(fact.name, style="bold"), value)
    _print(table)


def print_summary(summary: Any, *, err: bool = True) -> None:
    """Print the summary of a file, by default to standard error."""
    for line in summary.lines():
        print_wrapped(in_terms_of_options(line), err=err)
    if err:
        typer.echo("", err=True)


def print_wrapped(line: str, *, indent: int = 13, err: bool = False, whole: Iterable[str] = ()) -> None:
    """Print a line of a summary or a list, wrapped with an indent.

    The parts in ``whole``, such as commands to copy, are never broken.
    """
    width = max(shutil.get_terminal_size().columns, 40)
    marks = {"\ue000" * len(part) + chr(0xE001 + number): part for number, part in enumerate(whole)}
    for mark, part in marks.items():
        line = line.replace(part, mark)
    line = textwrap.fill(
        line, width, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=not marks
    )
    for mark, part in marks.items():
        line = line.replace(mark, part)
    typer.echo(line, err=err)


MOST_LINES = 40  # people on the screen; the file lists all of them


def print_columns(titles: Sequence[str], rows: Iterable[Sequence[str]], *, gap: int = 3) -> None:
    """Print a table with a header; the first column is text, the others are numbers, ``gap`` spaces apart.

    A terminal that is too narrow breaks the lines, because without its last digits a number would mislead.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(Text(title), justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _print(table, is_whole=True)


def print_first(
    titles: Sequence[str], rows: Sequence[Sequence[str]], more: str, *, most: int = MOST_LINES, gap: int = 3
) -> None:
    """Print the first rows of a table, the number of the others with the words ``more``, and an empty line."""
    print_columns(titles, rows[:most], gap=gap)
    if len(rows) > most:
        typer.echo(f"... and {len(rows) - most:,} {more}")
    typer.echo("")


def print_files(files: "Sequence[tuple[Path, str]]") -> None:
    """List files with their descriptions, after an empty line."""
    from closerthan.cli.output import readable

    typer.echo("")
    width = max(len(readable(path)) for path, _ in files)
    for path, what in files:
        typer.echo(f"{readable(path):<{width}}  {what}")


def print_sentences(sentences: Iterable[str]) -> None:
    """Print sentences as a list, with suggested arguments written as options."""
    for sentence in sentences:
        print_wrapped(f"- {in_terms_of_options(sentence)}", indent=2)


def end_with_folder(
    folder: Path, contents: Mapping[str, str], stopped_by: str, remark: str = "the results so far were written"
) -> None:
    """List the files that a command wrote; after Ctrl-C, print a remark and end with the exit code for it."""
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import files_in

    print_files(files_in(folder, contents))
    if stopped_by == "interrupted":
        typer.echo(f"interrupted: {remark}", err=True)
        raise typer.Exit(INTERRUPTED)


def end_with_files(written: "WrittenFiles", *, interrupted: bool, checkpoint: Path | None) -> None:
    """List the files of a fit with their descriptions; after Ctrl-C, end with the exit code for it."""
    from closerthan.cli.group import INTERRUPTED

    print_files(written.files)
    if interrupted:
        typer.echo("interrupted: the best map so far was saved", err=True)
        if checkpoint is not None:
            typer.echo(f"the checkpoint {checkpoint} is kept: --resume --force continues from it", err=True)
    if interrupted or written.left_out:
        raise typer.Exit(INTERRUPTED)


def _print(table: Any, *, is_whole: bool = False) -> None:
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False)
    if is_whole:
        unlimited = console.options.update(max_width=10_000)
        console.width = max(console.width, Measurement.get(console, unlimited, table).maximum)
    console.print(table)
