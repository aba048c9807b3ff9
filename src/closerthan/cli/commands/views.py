"""``closerthan views``: several maps for answers that follow different criteria."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from closerthan.cli.options import SEED, AnswersFile, AnswersReader, Seed, out_option, reading, with_options

SHOWN = 3  # number of answers that are printed for each view


@dataclass(frozen=True)
class ViewSearch:
    """Options of the search for views."""

    number: Annotated[
        int | None,
        typer.Option(
            "--views", "-v", metavar="NUMBER", min=1, help="Number of views; by default chosen from the answers."
        ),
    ] = None
    dims: Annotated[int, typer.Option("--dims", "-d", metavar="NUMBER", min=1, help="Dimensions of each map.")] = 2
    most: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Largest number of views to try.")] = 3
    starts: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Number of random starts; the most likely result is kept.")
    ] = 32


@with_options(search=ViewSearch, reading=reading)
def views(
    *,
    file: AnswersFile,
    search: ViewSearch,
    out: Annotated[Path | None, out_option("The page to write; by default FILE's name with -views.html.")] = None,
    seed: Seed = SEED,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    reading: AnswersReader,
) -> None:
    """Find several maps that together explain the answers in FILE, such as one of colour and one of shape.

    Ctrl-C ends the search early and keeps the best maps so far.
    """
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_columns, print_summary, print_wrapped
    from closerthan.files import write_map
    from closerthan.objects import embed_views
    from closerthan.report.views_page import in_words, write_views_page

    target = out or Path(f"{stem(file)}-views.html")
    if target.suffix.lower() != ".html":
        raise ValueError(f"{target}: the page is written as .html")
    check_file(target, force)
    answers = reading.read(file)
    print_summary(answers.summary)
    on_terminal = sys.stderr.isatty()
    result = embed_views(
        answers.comparisons,
        search.number,
        search.dims,
        most=search.most,
        n_starts=search.starts,
        seed=seed,
        progress=on_terminal,
    )
    maps = [target.with_name(f"{target.stem}-{view + 1}.csv") for view in range(result.n_views)]
    for path in maps:
        check_file(path, force)
    if result.held_out:
        tried = [(views, search.dims, value) for views, value in result.held_out.items()]
        tried += [(views, more, value) for (views, more), value in result.rivals.items()]
        rows = [
            (str(views), str(of), f"{value:.4f}", "chosen" if (views, of) == (result.n_views, search.dims) else "")
            for views, of, value in tried
        ]
        print_columns(("views", "dimensions", "held-out log likelihood", ""), rows)
        typer.echo("")
        print_wrapped(result.advice, indent=0)
        typer.echo("")
    for title, distinguishing in zip(result.titles, result.distinguishing(answers.comparisons, SHOWN), strict=True):
        print_wrapped(title)
        for row in distinguishing:
            print_wrapped(f"  {in_words(answers.comparisons, int(row))}")
    for path, one in zip(maps, result.maps, strict=True):
        write_map(one, result.names, path)
        typer.echo(f"{path}  its map")
    write_views_page(result, answers.comparisons, target, title=stem(file))
    typer.echo(f"{target}  the maps side by side, and the answers that tell them apart")
    if result.stopped_by:
        typer.echo(result.cut, err=True)
        raise typer.Exit(INTERRUPTED)
