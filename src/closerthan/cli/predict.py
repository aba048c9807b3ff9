"""``closerthan predict``: what a map says to questions."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import reading, with_options


@with_options(reading=reading)
def predict(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The questions.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="By default FILE's name with -predictions.csv."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write what a map says to each question in FILE: 1 as written, -1 the other way round, and by what margin.

    A question is written like an answer: anchor, near and far. Where nobody has answered yet, near and far are just
    the two candidates: with columns called left and right, pass --column near=left --column far=right.
    """
    from closerthan.cli.matching import read_about
    from closerthan.cli.table import print_summary
    from closerthan.cli.target import check_file, map_file, stem
    from closerthan.files import read_map
    from closerthan.metrics import distances

    target = out or Path(f"{stem(file)}-predictions.csv")
    check_file(target, force)
    if target.suffix.lower() != ".csv":
        raise ValueError(f"{target}: predictions are written as .csv")
    embedding, names = read_map(map_file(map))
    # Whether a question is meant for training or for test does not matter here, and rows keep their order.
    reading["columns"] = {"split": None, **(reading.get("columns") or {})}
    answers = read_about(file, len(embedding), names, reading)
    print_summary(answers.summary)
    comparisons = answers.comparisons
    near, far = distances(comparisons, embedding)
    _write(target, comparisons, far - near)
    agreed = int((far > near).sum())
    typer.echo(
        f"{len(comparisons):,} questions: {agreed:,} as written, {len(comparisons) - agreed:,} the other way round"
    )
    typer.echo(f"{target}  columns: the objects, prediction, margin (the difference of the two distances)")


def _write(path: Path, comparisons: Any, margins: Any) -> None:
    import csv
    import io

    from closerthan.saving import whole_file

    titles = ("anchor", "near", "far") if comparisons.rows.shape[1] == 3 else ("near_1", "near_2", "far_1", "far_2")
    names = comparisons.names or range(comparisons.n_objects)
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*titles, "prediction", "margin"])
        for row, margin in zip(comparisons.rows.tolist(), margins.tolist(), strict=True):
            table.writerow([*(names[number] for number in row), 1 if margin > 0 else -1, repr(margin)])
        text.flush()
        text.detach()
