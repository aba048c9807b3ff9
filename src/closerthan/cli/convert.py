"""``closerthan convert``: answers from one format to another."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import reading, with_options


@with_options(reading=reading)
def convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help="The answers.", show_default=False)],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The file to write; its ending is the format: .csv, .tsv, .txt, .jsonl, .parquet, .npz, .npy or .mat.",
            show_default=False,
        ),
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Read answers of any kind and write them as comparisons: triplets or quadruplets."""
    from closerthan.cli.table import print_summary
    from closerthan.cli.target import check_file
    from closerthan.evaluate.facts import source
    from closerthan.files import read_answers, write_comparisons
    from closerthan.files.formats import ending
    from closerthan.files.writing import WRITERS

    check_file(out, force)
    if ending(out) not in WRITERS:
        raise ValueError(f"{out}: comparisons can be written as {', '.join(WRITERS)}")
    reading["columns"] = {"split": None, **(reading.get("columns") or {})}
    answers = read_answers(file, **reading)
    if answers.test is not None:
        raise ValueError("train and test cannot be kept apart in the new file; leave --column split out")
    print_summary(answers.summary)
    write_comparisons(answers.comparisons, out)
    made = f"{answers.comparisons!r}".removeprefix("Comparisons(").removesuffix(")")
    sources = source(answers.comparisons)
    typer.echo(f"{out}  {made}{', ' if sources else ''}{sources}")
