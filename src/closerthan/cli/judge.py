"""Commands that judge: ``evaluate`` and ``predict`` a map, ``dims`` and ``compare`` ways to make one."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from closerthan.cli.options import fitting, reading, with_options, without, without_files

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.cross_validation import Gain, Scores

Key = TypeVar("Key", str, int)

FOLDS = 5
FOLDS_HELP = f"Parts, each of which is held out once. [{FOLDS}, or as many as there are people, if these are fewer]"


@with_options(reading=reading)
def evaluate(
    map: Annotated[Path, typer.Argument(metavar="MAP", help="A map, or the folder of a fit.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    *,
    reading: dict[str, Any],
) -> None:
    """Say how many of the answers in FILE a map gets wrong."""
    import closerthan as ct
    from closerthan.cli.output import map_file
    from closerthan.cli.screen import print_facts, print_summary
    from closerthan.evaluate.diagnostics import least_error
    from closerthan.evaluate.facts import Fact, amount
    from closerthan.files import read_map
    from closerthan.files.matching import read_about
    from closerthan.fit.progress import phases
    from closerthan.metrics import effective_number
    from closerthan.wording import percent, percent_interval

    embedding, names = read_map(map_file(map))
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        answers = read_about(file, len(embedding), names, reading)
    print_summary(answers.summary)
    n_objects, n_dims = embedding.shape
    facts = [Fact("Map", f"{n_objects:,} objects in {n_dims} dimension{'s' * (n_dims != 1)}")]
    parts = {"Error": answers.comparisons}
    if answers.test is not None:
        parts = {"Error, training": answers.comparisons, "Error, test": answers.test}
    for name, part in parts.items():
        error = ct.triplet_error(part, embedding)
        low, high = ct.metrics.error_interval(error, effective_number(part, embedding))
        facts.append(Fact(name, percent_interval(error, low, high), f"of {amount(part)}"))
        least = least_error(part)
        if least > 0:
            facts.append(
                Fact("Least possible", percent(least), "of these comparisons contradict others: no map is better")
            )
    facts.append(Fact("Chance level", percent(0.5)))
    print_facts(facts)


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
    """Write what a map says to each question in FILE: 1 as written, -1 the other way round, and how sure that is.

    With the folder of a fit there is a probability, too; if it has replicates (fit --replicates 100), maps made
    with them predict.

    A question is written like an answer: anchor, near and far. Where nobody has answered yet, near and far are just
    the two candidates: with columns called left and right, pass --column near=left --column far=right.
    """
    from closerthan.cli.output import check_file, map_file, stem
    from closerthan.cli.screen import print_summary, print_wrapped
    from closerthan.files import read_map
    from closerthan.files.matching import read_about
    from closerthan.fit.progress import phases
    from closerthan.metrics import distances

    target = out or Path(f"{stem(file)}-predictions.csv")
    check_file(target, force)
    if target.suffix.lower() != ".csv":
        raise ValueError(f"{target}: predictions are written as .csv")
    embedding, names = read_map(map_file(map))
    # Whether a question is meant for training or for test does not matter here, and rows keep their order.
    reading["columns"] = {"split": None, **(reading.get("columns") or {})}
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        answers = read_about(file, len(embedding), names, reading)
    print_summary(answers.summary)
    comparisons = answers.comparisons
    near, far = distances(comparisons, embedding)
    probability, by = _probability(map, comparisons)
    as_written = far > near if probability is None else probability > 0.5
    _write_predictions(target, comparisons, as_written, far - near, probability)
    agreed = int(as_written.sum())
    typer.echo(
        f"{len(comparisons):,} questions: {agreed:,} as written, {len(comparisons) - agreed:,} the other way round"
    )
    what = "the objects, prediction, margin (the difference of the two distances)"
    print_wrapped(f"{target}  columns: {what}{by}", indent=2)


def _probability(map: Path, comparisons: "Comparisons") -> tuple[Any, str]:
    """The probability that each answer is as written, and in words what it is from; None if nothing says the loss."""
    from closerthan.losses import Loss
    from closerthan.result import Result
    from closerthan.uncertainty.replicates import Replicates

    if not map.is_dir():
        return None, ""
    if (map / "replicates.npz").exists():
        many = Replicates.load(map / "replicates.npz")
        return many.probability(comparisons), f", probability (that it is right; by {len(many.committee.maps)} maps)"
    if not (map / "result.npz").exists():
        return None, ""
    result = Result.load(map / "result.npz")
    measured = "calibrated on held-out answers"
    if result.calibration is None:
        measured = "as the loss has it: not calibrated"
        if result.settings is None or not isinstance(result.settings.loss, Loss) or not result.loss.is_likelihood:
            return None, ""
    return result.probability(comparisons), f", probability (that it is right; {measured})"


def _write_predictions(path: Path, comparisons: Any, as_written: Any, margins: Any, probability: Any) -> None:
    import csv
    import io

    import numpy as np

    from closerthan.saving import whole_file

    titles = ("anchor", "near", "far") if comparisons.rows.shape[1] == 3 else ("near_1", "near_2", "far_1", "far_2")
    names = comparisons.names or range(comparisons.n_objects)
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*titles, "prediction", "margin", *([] if probability is None else ["probability"])])
        columns = [as_written.tolist(), margins.tolist()]
        if probability is not None:
            columns.append(np.maximum(probability, 1.0 - probability).tolist())
        for row, said, margin, *sure in zip(comparisons.rows.tolist(), *columns, strict=True):
            cells = [f"{share:.4f}" for share in sure]
            table.writerow([*(names[number] for number in row), 1 if said else -1, repr(margin), *cells])
        text.flush()
        text.detach()


@with_options(fitting=without(fitting, "n_dims"), reading=reading)
def dims(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    most: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The most dimensions to try.")] = 6,
    folds: Annotated[int | None, typer.Option(metavar="NUMBER", min=2, help=FOLDS_HELP)] = None,
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

    The choice is the fewest dimensions whose error is at most one standard error above the lowest. Whether one more is
    worth it is tested too, on the same folds (Nadeau and Bengio 2003). Where people are known, they are held out whole.
    """
    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_columns, print_summary, print_wrapped
    from closerthan.comparisons.grouping import check_by
    from closerthan.evaluate.cross_validation import gain, one_standard_error_choice
    from closerthan.files import read_answers
    from closerthan.fit.progress import phases
    from closerthan.plotting import dims_figure
    from closerthan.saving import whole_file
    from closerthan.wording import percent

    without_files(fitting)
    target = out or Path(f"{stem(file)}-dims.png")
    form = target.suffix.lower().removeprefix(".")
    if form not in ("png", "svg", "pdf"):
        raise ValueError(f"{target}: a figure can be written as .png, .svg or .pdf")
    check_file(target, force)
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        answers = read_answers(file, **reading)
    print_summary(answers.summary)
    source = context.get_parameter_source("by")
    unsaid = source is None or source.name == "DEFAULT"
    if unsaid and (answers.comparisons.n_people or 0) >= 2 * (folds or FOLDS):
        fitting["by"] = "people"
    check_by(fitting["by"], answers.comparisons.people)
    n_folds = folds or _n_folds(answers.comparisons, fitting["by"])
    sizes = range(1, most + 1)
    scores = _tried(answers.comparisons, {n_dims: {"n_dims": n_dims, **fitting} for n_dims in sizes}, n_folds)
    chosen = one_standard_error_choice(sizes, list(scores.values()))
    gains = {n_dims: gain(scores[n_dims - 1], scores[n_dims]) for n_dims in sizes[1:]}
    rows = [
        (
            str(n_dims),
            percent(score.mean),
            percent(score.standard_error),
            percent(float(score.training.mean())),
            f"{gains[n_dims].p_value:.3f}" if n_dims in gains else "",
            "chosen" if n_dims == chosen else "",
        )
        for n_dims, score in scores.items()
    ]
    print_columns(("dims", "held-out error", "± s.e.", "training", "p", ""), rows)
    typer.echo(
        f"\nMeans over {n_folds} folds of whole {fitting['by']} and their standard errors (s.e.); chance level 50 %."
    )
    typer.echo("p: of a paired test of these folds against those of one dimension fewer.")
    typer.echo(f"Chosen: {chosen}, the fewest within one standard error of the lowest.")
    if chosen in gains:
        print_wrapped(f"Its last dimension gains {gains[chosen]}: {_worth(gains[chosen])}.", indent=0)
    if chosen + 1 in gains:
        print_wrapped(f"One more would gain {gains[chosen + 1]}: {_worth(gains[chosen + 1])}.", indent=0)
    if chosen == most:
        typer.echo(f"The largest number tried was chosen: more may be better still; try --most {2 * most}.")
    figure = dims_figure(
        list(sizes),
        [score.mean for score in scores.values()],
        [score.standard_error for score in scores.values()],
        chosen=chosen,
        sure=[n_dims for n_dims, found in gains.items() if found.is_sure],
    )
    with whole_file(target) as picture:
        figure.savefig(picture, format=form)
    typer.echo(f"{target}  the figure")


@with_options(fitting=without(fitting, "loss"), reading=reading)
def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers.", show_default=False)],
    folds: Annotated[int | None, typer.Option(metavar="NUMBER", min=2, help=FOLDS_HELP)] = None,
    *,
    fitting: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Compare all losses by cross-validation: their error on answers that they have not seen."""
    import numpy as np

    from closerthan.cli.screen import print_columns, print_summary
    from closerthan.comparisons.grouping import check_by
    from closerthan.files import read_answers
    from closerthan.fit.progress import phases
    from closerthan.losses import LOSSES
    from closerthan.wording import percent

    without_files(fitting)
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        answers = read_answers(file, **reading)
    print_summary(answers.summary)
    check_by(fitting["by"], answers.comparisons.people)
    n_folds = folds or _n_folds(answers.comparisons, fitting["by"])
    choices = {name: {**fitting, "loss": name} for name in LOSSES}
    scores = _tried(answers.comparisons, choices, n_folds)
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
            "" if score is best else percent(float(behind.std(ddof=1) / np.sqrt(n_folds))),
            percent(float(score.training.mean())),
            f"{score.seconds:.2g} s",
        ))  # fmt: skip
    print_columns(("loss", "held-out error", "± s.e.", "behind", "± s.e.", "training", "time"), rows)
    typer.echo(
        f"\nMeans over {n_folds} folds of whole {fitting['by']} and their standard errors (s.e.); chance level 50 %."
    )
    typer.echo(f"Behind: how much worse than {ranked[0]} on the same folds.")


def _worth(found: "Gain") -> str:
    """What a gain means."""
    return "it is worth it" if found.is_sure else "these answers do not show that it is worth it"


def _n_folds(comparisons: "Comparisons", by: str) -> int:
    """The usual number of folds; fewer if there are not so many people (or other groups) to hold out."""
    n_groups = int(comparisons.groups(by).max()) + 1
    if n_groups < 2:
        what = "answers are of one person" if by == "people" else "comparisons belong to one group of objects"
        raise ValueError(f"all {what}, so that none can be held out" + "; leave --by people out" * (by == "people"))
    if n_groups < FOLDS:
        what = "people" if by == "people" else "groups of objects"
        typer.echo(f"{n_groups} folds, not {FOLDS}: there are {n_groups} {what}, each held out once", err=True)
    return min(FOLDS, n_groups)


def _tried(comparisons: "Comparisons", choices: Mapping[Key, dict[str, Any]], n_folds: int) -> "dict[Key, Scores]":
    """The scores of each choice of settings, on the same folds."""
    from closerthan.evaluate.cross_validation import cross_validate
    from closerthan.fit.progress import trials_bar

    scores = {}
    with trials_bar(sys.stderr.isatty(), "cross-validation", len(choices), 0) as done:
        for name, settings in choices.items():
            scores[name] = cross_validate(comparisons, n_folds=n_folds, **settings)
            done()
    return scores
