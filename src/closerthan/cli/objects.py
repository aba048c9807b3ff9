"""Commands about objects: ``place`` new ones on a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closerthan.cli.options import SEED, reading, with_options

if TYPE_CHECKING:
    from closerthan.result import Result


@with_options(reading=reading)
def place(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="The folder of a fit, or a map.", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Answers about the new objects; not needed with --features."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="By default MAP's name with -placed.csv."),
    ] = None,
    loss: Annotated[
        str | None, typer.Option(metavar="NAME", help="By default that of the fit; of a map alone it must be said.")
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of numbers with a line for each object of the map and each new one, called like them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The same seed gives the same result.")] = SEED,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Put new objects on a map, from the answers about them in FILE; all others stay where they are."""
    import numpy as np

    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_columns, print_summary
    from closerthan.files import read_answers, read_map, write_map
    from closerthan.objects import place as placed_on
    from closerthan.wording import counted, percent

    target = out or Path(f"{map.name if map.is_dir() else stem(map)}-placed.csv")
    check_file(target, force)
    if file is None and features is None:
        raise ValueError("there is nothing to place objects by; pass a FILE of answers, or --features FILE")
    known = _result_at(map)
    answers = None
    if file is not None:
        # A map without names is one of objects that are numbered from 0.
        numbering = {} if known.names is not None or file.suffix.lower() == ".mat" else {"numbering": "0-based"}
        found = read_answers(file, **{**numbering, **reading})
        print_summary(found.summary)
        answers = found.comparisons
    table: Any = None
    if features is not None:
        table, called = read_map(features)
        if called is not None:
            table = dict(zip(called, table, strict=True))
    placed = placed_on(known, answers, loss=loss, features=table, seed=seed)
    write_map(placed.embedding, placed.all_names, target)
    names = placed.names or [str(len(placed.known) + number) for number in range(len(placed.places))]
    rows = [
        (name, f"{count:,}", "" if np.isnan(error) else percent(error), f"{np.sqrt(np.sum(spread**2)):.3g}")
        for name, count, error, spread in zip(
            names, placed.n_comparisons.tolist(), placed.errors.tolist(), placed.standard_errors, strict=True
        )
    ]
    print_columns(("object", "comparisons", "wrong", "± s.e."), rows)
    size = float(np.sqrt(np.sum(placed.known.var(axis=0))))
    typer.echo(f"\n± s.e.: how far a place may be off; objects of the map are typically {size:.3g} from its centre.")
    typer.echo(f"{target}  the map of {len(placed.known):,} objects and {counted(len(rows), 'new one')}")


def _result_at(path: Path) -> "Result":
    """A saved result, for its loss; a map alone is one whose loss is not known."""
    from closerthan.cli.output import map_file
    from closerthan.files import read_map
    from closerthan.history import History
    from closerthan.result import Result

    saved = path / "result.npz" if path.is_dir() else path
    if saved.name == "result.npz" and saved.exists():
        return Result.load(saved)
    embedding, names = read_map(map_file(path))
    return Result(embedding, History(), stopped_by="", best_epoch=0, names=names)
