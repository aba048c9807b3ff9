"""``closerthan info``: what is in a file of answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import reading, with_options


@with_options(reading=reading)
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    *,
    reading: dict[str, Any],
) -> None:
    """Say what is in FILE and how it was understood, without fitting anything."""
    import numpy as np

    from closerthan.cli.table import percent, print_summary, print_wrapped
    from closerthan.evaluate.connection import groups, mentions
    from closerthan.evaluate.disagreement import least_error
    from closerthan.files import read_answers

    answers = read_answers(file, **reading)
    print_summary(answers.summary, err=False)
    counts = mentions(answers.comparisons)
    least_often, most_often, middle = counts.min(), counts.max(), np.median(counts)
    print_wrapped(f"{'an object':<13}takes part in {least_often:,} to {most_often:,} comparisons, median {middle:,g}")
    least = least_error(answers.comparisons)
    if least > 0:
        print_wrapped(f"{'at best':<13}a map gets {percent(least)} of them wrong, as they contradict each other")
    n_groups = groups(answers.comparisons)
    if n_groups > 1:
        print_wrapped(
            f"{'note':<13}objects fall into {n_groups:,} groups that no comparison links: where these lie to each "
            "other on a map means nothing"
        )
