"""Tables on the terminal."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def print_facts(facts: Iterable[Any]) -> None:
    """Two columns: what it is, and what it amounts to, with a note below. Names in them are data, not markup."""
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
    """What was in a file; commands say it beside their own output."""
    for line in str(summary).split("\n"):
        print_wrapped(line, err=err)
    if err:
        typer.echo("", err=True)


def print_wrapped(line: str, *, indent: int = 13, err: bool = False) -> None:
    """A line of a summary or a list, wrapped so that what follows its name stays together."""
    width = max(shutil.get_terminal_size().columns, 40)
    typer.echo(textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False), err=err)


def print_columns(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table with a header; the first column is text, the others numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for number, title in enumerate(titles):
        table.add_column(Text(title), justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _print(table)


def _print(table: Any) -> None:
    from rich.console import Console

    Console(highlight=False).print(table)
