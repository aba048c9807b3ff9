"""``closerthan dims``: how many dimensions the answers ask for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import fitting, reading, with_options


@with_options(fitting=fitting, reading=reading)
def dims(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    most: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The most dimensions to try.")] = 6,
    folds: Annotated[int, typer.Option(metavar="NUMBER", min=2, help="Parts, each of which is held out once.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The figure; by default FILE's name with -dims.png."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a figure that is there already.")] = False,
    *,
    fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Find the number of dimensions: the held-out error of each by cross-validation, and a choice.

    The choice is the fewest dimensions whose error is at most one standard error above the lowest.
    """
    from closerthan.cli.table import percent, print_columns, print_summary
    from closerthan.cli.target import check_file, stem
    from closerthan.cli.trying import tried
    from closerthan.cli.unseen import without_files
    from closerthan.evaluate.cross_validation import one_standard_error_choice
    from closerthan.files import read_answers
    from closerthan.plotting import dims_figure
    from closerthan.result import whole_file

    without_files(fitting)
    target = out or Path(f"{stem(file)}-dims.png")
    form = target.suffix.lower().removeprefix(".")
    if form not in ("png", "svg", "pdf"):
        raise ValueError(f"{target}: a figure can be written as .png, .svg or .pdf")
    check_file(target, force)
    answers = read_answers(file, **reading)
    print_summary(answers.summary)
    sizes = range(1, most + 1)
    scores = tried(answers.comparisons, {n_dims: {"n_dims": n_dims, **fitting} for n_dims in sizes}, folds)
    chosen = one_standard_error_choice(sizes, list(scores.values()))
    rows = [
        (
            str(n_dims),
            percent(score.mean),
            percent(score.standard_error),
            percent(float(score.training.mean())),
            "chosen" if n_dims == chosen else "",
        )
        for n_dims, score in scores.items()
    ]
    print_columns(("dims", "held-out error", "± s.e.", "training", ""), rows)
    typer.echo(f"\nMeans over {folds} folds and their standard errors (s.e.); chance level 50 %.")
    typer.echo(f"Chosen: {chosen}, the fewest within one standard error of the lowest.")
    if chosen == most:
        typer.echo(f"The largest number tried was chosen: more may be better still; try --most {2 * most}.")
    figure = dims_figure(
        list(sizes),
        [score.mean for score in scores.values()],
        [score.standard_error for score in scores.values()],
        chosen=chosen,
    )
    with whole_file(target) as picture:
        figure.savefig(picture, format=form)
    typer.echo(f"{target}  the figure")
