"""``closerthan compare``: all losses side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import fitting, reading, with_options, without


@with_options(fitting=without(fitting, "loss"), reading=reading)
def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    dims: Annotated[int, typer.Option("--dims", "-d", metavar="NUMBER", min=1, help="Dimensions of the maps.")] = 2,
    folds: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="Parts, each of which is held out once.")] = 5,
    *,
    fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Compare all losses by cross-validation: their error on answers that they have not seen."""
    import numpy as np

    from closerthan.cli.table import print_columns, print_summary
    from closerthan.cli.trying import tried
    from closerthan.cli.unseen import without_files
    from closerthan.files import read_answers
    from closerthan.grouping import check_by
    from closerthan.losses import LOSSES
    from closerthan.wording import percent

    without_files(fitting)
    answers = read_answers(file, **reading)
    print_summary(answers.summary)
    check_by(fitting["by"], answers.comparisons.people)
    choices = {name: {"n_dims": dims, "loss": name, **fitting} for name in LOSSES}
    scores = tried(answers.comparisons, choices, folds)
    ranked = sorted(scores, key=lambda name: scores[name].mean)
    best = scores[ranked[0]]
    rows = []
    for name in ranked:
        score = scores[name]
        # The folds are the same for all losses: their differences vary less than the errors themselves.
        behind = score.held_out - best.held_out
        rows.append((
            name,
            percent(score.mean),
            percent(score.standard_error),
            "" if score is best else percent(float(behind.mean())),
            "" if score is best else percent(float(behind.std(ddof=1) / np.sqrt(folds))),
            percent(float(score.training.mean())),
            f"{score.seconds:.2g} s",
        ))  # fmt: skip
    print_columns(("loss", "held-out error", "± s.e.", "behind", "± s.e.", "training", "time"), rows)
    typer.echo(
        f"\nMeans over {folds} folds of whole {fitting['by']} and their standard errors (s.e.); chance level 50 %."
    )
    typer.echo(f"Behind: how much worse than {ranked[0]} on the same folds.")
