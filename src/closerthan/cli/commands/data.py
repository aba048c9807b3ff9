"""Commands about data: ``simulate``, ``convert`` and ``info``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import SEED, AnswersFile, AnswersReader, Force, Seed, reading, with_options


@dataclass(frozen=True)
class Simulation:
    """Objects at known positions, and questions about them."""

    objects: Annotated[int, typer.Option(metavar="NUMBER", min=3, help="Number of objects.")] = 50
    dims: Annotated[int, typer.Option("--dims", "-d", metavar="NUMBER", min=1, help="Dimensions of the points.")] = 2
    answers: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of answers.")] = 5000
    quadruplets: Annotated[
        bool, typer.Option("--quadruplets", help="Ask which of two pairs is closer, not which of two objects.")
    ] = False
    points: Annotated[
        str,
        typer.Option(
            metavar="normal|uniform|circle|MAP", help="Positions of the objects: drawn at random, or from a map."
        ),
    ] = "normal"
    scale: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="Factor by which to stretch the points, which changes the noise of ste, tste and ckl.",
        ),
    ] = 1.0
    noise: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="none; flip: a fraction of all answers is reversed; distance: distances have normal errors; "
            "ste, tste or ckl: the model of that loss.",
        ),
    ] = "none"
    level: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Level of flip (the fraction) or distance (relative to a typical distance); by default 0.1.",
        ),
    ] = None


@with_options(study=Simulation)
def simulate(
    *,
    out: Annotated[
        Path, typer.Argument(metavar="FILE", help="The answers to write: .csv, .npz, .parquet, ...", show_default=False)
    ],
    study: Simulation,
    seed: Seed = SEED,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Simulate noisy answers about points, and write the answers and the points."""
    import numpy as np

    from closerthan.checks import positive
    from closerthan.cli.output import check_file, map_file, stem
    from closerthan.datasets import simulated
    from closerthan.files import read_map, write_comparisons, write_map
    from closerthan.metrics import triplet_error
    from closerthan.wording import percent

    truth = out.with_name(f"{stem(out)}-points.csv")
    for path in (out, truth):
        check_file(path, force)
    positive(scale=study.scale)
    rng = np.random.default_rng(seed)
    names = None
    if study.points == "normal":
        x = rng.standard_normal((study.objects, study.dims))
    elif study.points == "uniform":
        x = rng.uniform(-1, 1, (study.objects, study.dims))
    elif study.points == "circle":
        if study.dims != 2:
            raise ParameterError("n_dims", study.dims, "a circle has 2")
        angle = 2 * np.pi * np.arange(study.objects) / study.objects
        x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    elif Path(study.points).exists():
        x, names = read_map(map_file(Path(study.points)))
    else:
        raise ParameterError("points", study.points, "it can be normal, uniform, circle or a map file")
    x = study.scale * x
    comparisons = simulated(
        x, study.answers, noise=study.noise, level=study.level, quadruplets=study.quadruplets, names=names, seed=rng
    )
    write_comparisons(comparisons, out)
    write_map(x, names, truth)
    typer.echo(f"{comparisons.description}, {percent(triplet_error(comparisons, x))} wrong")
    typer.echo(f"{out}  the answers")
    typer.echo(f"{truth}  the true points")


@with_options(reading=reading)
def convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help="The answers.", show_default=False)],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="Output file; its extension sets the format: .csv, .tsv, .txt, .jsonl, .parquet, .npz, .npy or .mat.",
            show_default=False,
        ),
    ],
    program: Annotated[
        str | None,
        typer.Option("--for", metavar="tripletTools|loe", help="Write a .csv for this R package."),
    ] = None,
    force: Force = False,
    *,
    reading: AnswersReader,
) -> None:
    """Read answers of any kind and write them as comparisons: triplets or quadruplets."""
    from closerthan.cli.output import check_file
    from closerthan.cli.screen import print_summary
    from closerthan.evaluate.facts import source
    from closerthan.files import write_comparisons, write_for
    from closerthan.files.writing.comparisons import check_format

    check_file(out, force)
    check_format(out)
    answers = reading.without_split().read(file)
    if answers.test is not None:
        raise ValueError("the new file cannot separate training from test answers; leave --column split out")
    print_summary(answers.summary)
    if program is None:
        write_comparisons(answers.comparisons, out)
    for note in [] if program is None else write_for(program, answers.comparisons, out):
        typer.echo(f"note: {note}", err=True)
    description = answers.comparisons.description
    sources = source(answers.comparisons)
    typer.echo(f"{out}  {description}{', ' if sources else ''}{sources}")


@with_options(reading=reading)
def info(
    file: AnswersFile,
    *,
    reading: AnswersReader,
) -> None:
    """Describe what FILE contains and how it was interpreted, without fitting anything."""
    import numpy as np

    from closerthan.cli.screen import print_summary, print_wrapped
    from closerthan.evaluate.diagnostics import connected_groups, least_error, mentions
    from closerthan.wording import percent

    answers = reading.read(file)
    print_summary(answers.summary, err=False)
    counts = mentions(answers.comparisons)
    least_often, most_often, middle = counts.min(), counts.max(), np.median(counts)
    print_wrapped(f"{'an object':<13}takes part in {least_often:,} to {most_often:,} comparisons, median {middle:,g}")
    least = least_error(answers.comparisons)
    if least > 0:
        print_wrapped(f"{'at best':<13}a map gets {percent(least)} of them wrong, as they contradict each other")
    n_groups = connected_groups(answers.comparisons)
    if n_groups > 1:
        print_wrapped(
            f"{'note':<13}objects fall into {n_groups:,} groups that no comparison links: their "
            "positions relative to each other on a map are meaningless"
        )
