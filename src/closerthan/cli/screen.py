"""Printing: tables, facts and summaries, with arguments written as options (``ties="drop"`` as ``--ties drop``)."""

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from closerthan.settings import Settings

if TYPE_CHECKING:
    from closerthan.cli.output import Written

OTHER_ERRORS = (
    "fit, dims, compare and enough print slightly different held-out errors: each holds out different answers and "
    "fits a different number of them"
)

OPTIONS = {
    "n_objects": "--objects",
    "n_threads": "--threads",
    "columns": "--column",
    "n_clusters": "--groups",
    "n_folds": "--folds",
    "n_repeats": "--repeats",
    "n_replicates": "--replicates",
    "n_permutations": "--permutations",
    "n_views": "--views",
}
"""Arguments whose option has another name, apart from settings; the option of any other argument has the same name."""

_ARGUMENTS = (
    "kind|numbering|names|n_objects|ties|self_pairs|missing|catch|delimiter|encoding|variable|checkpoint|validation|"
    "by|loss|most"
)


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


def as_options(message: str) -> str:
    """Return a message in which suggested arguments are written as options.

    An error about a parameter is a :class:`closerthan.checks.ParameterError` and needs no translation. This function
    is for arguments that other messages suggest.

    Examples
    --------
    >>> as_options('correct the file or pass self_pairs="drop"')
    'correct the file or pass --self-pairs drop'
    >>> as_options('say what they are, such as columns={"anchor": 0, "near": 1}')
    'say what they are, such as --column anchor=0 --column near=1'
    >>> as_options('pass columns={"block": None} to hold out single answers')
    'pass --column block= to hold out single answers'
    """
    message = message.replace("header=True or header=False", "--header or --no-header")
    message = re.sub(r"columns=\{(.*?)\}", _columns, message)
    message = re.sub(
        rf"\b({_ARGUMENTS})=(\"[^\"]*\"|'[^']*'|\w+)",
        lambda match: f"{option(match[1])} {match[2].strip(chr(34))}",
        message,
    )
    return re.sub(rf"\b({_ARGUMENTS})=(?=\s)", lambda match: option(match[1]), message)


def _columns(match: re.Match[str]) -> str:
    pairs = [pair.split(":") for pair in match[1].split(",") if ":" in pair]
    return " ".join(
        f"--column {role.strip().strip(chr(34) + chr(39))}={_column_name(column.strip())}" for role, column in pairs
    )


def _column_name(column: str) -> str:
    return {"...": "NAME", "None": ""}.get(column, column)


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
    for line in str(summary).split("\n"):
        print_wrapped(as_options(line) if line.startswith("note ") else line, err=err)
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


def print_columns(titles: Sequence[str], rows: Iterable[Sequence[str]], *, gap: int = 3) -> None:
    """Print a table with a header; the first column is text, the others are numbers, ``gap`` spaces apart."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(Text(title), justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _print(table)


def print_files(files: "Sequence[tuple[Path, str]]") -> None:
    """List files with their descriptions, after an empty line."""
    from closerthan.cli.output import readable

    typer.echo("")
    width = max(len(readable(path)) for path, _ in files)
    for path, what in files:
        typer.echo(f"{readable(path):<{width}}  {what}")


def end_with_files(written: "Written", *, interrupted: bool, checkpoint: Path | None) -> None:
    """List the files of a fit with their descriptions; after Ctrl-C, end with the exit code for it."""
    from closerthan.cli.group import INTERRUPTED

    print_files(written.files)
    if interrupted:
        typer.echo("interrupted: the best map so far was saved", err=True)
        if checkpoint is not None:
            typer.echo(f"the checkpoint {checkpoint} is kept: --resume --force continues from it", err=True)
    if interrupted or written.left_out:
        raise typer.Exit(INTERRUPTED)


def _print(table: Any) -> None:
    from rich.console import Console

    Console(highlight=False).print(table)
