"""``closerthan demo``: a first map."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")] = Path(
        "closerthan-demo"
    ),
) -> None:
    """Make a map of 21 European cities from comparisons of their road distances. A demo from before is replaced."""
    from closerthan.cli.fit import fit_and_write
    from closerthan.cli.folder import check_target
    from closerthan.datasets import eurodist

    check_target(out, force=True)
    comparisons = eurodist().comparisons()
    typer.echo(f'{len(comparisons):,} answers such as "Athens is closer to Rome than to Paris"\n', err=True)
    fit_and_write(
        comparisons,
        2,
        {"loss": "ste", "solver": "polyak", "n_starts": 1, "validation": None, "by": "answers", "epochs": 100,
         "tolerance": 1e-3, "time_limit": None, "seed": 0, "n_threads": None},
        out,
        file="eurodist",
        command="closerthan demo",
        title="21 European cities, from comparisons of their road distances",
        held_out=0.1,
        force=True,
        progress=sys.stderr.isatty(),
    )  # fmt: skip
