"""``closerthan fit`` by several processes that torchrun or srun started: one map, written by rank 0."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from closerthan.cli.options import Fitting, Running, Writing

if TYPE_CHECKING:
    from closerthan.cli.output import Origin
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.files.stored.parts import Place
    from closerthan.objective.distributed.launch import Launch
    from closerthan.objective.distributed.objective import Distributed
    from closerthan.objective.processes import Processes
    from closerthan.result import Result
    from closerthan.settings import FitOptions, Settings

    ReadPart = Callable[[Place, Processes], Comparisons]


def fit_by_several(
    launch: "Launch",
    read_part: "ReadPart",
    origin: "Origin",
    fitting: Fitting,
    held_out: float,
    writing: Writing,
    running: Running,
) -> None:
    """Run this process's part of a fit; rank 0 prints and writes the result; its report covers only its own answers.

    Parameters
    ----------
    launch
        How this process was started.
    read_part
        Reads the answers of one process.
    origin
        Where the answers come from.
    fitting, writing, running
        How to fit, what to write (to the folder ``writing.out``), and how to run.
    held_out
        The fraction of the answers to withhold from a second fit; 0 for no second fit.
    """
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import FitOutput, check_target, write_folder
    from closerthan.cli.screen import end_with_files, print_facts
    from closerthan.files.stored.parts import Place
    from closerthan.fit.ctrl_c import CtrlC
    from closerthan.fit.embedding import embed
    from closerthan.fit.fixed_loss import check_parts
    from closerthan.objective.distributed.joining import join

    folder, settings = writing.out or Path(), fitting.settings
    if fitting.validation_file is not None:
        raise ValueError("--validation is a file; several processes can hold out only a fraction, as in 0.1")
    if launch.rank == 0:
        check_target(folder, writing.force)
    device = join(launch, settings.device, fitting.n_threads)
    group = device.processes
    answers = read_part(Place(launch.rank, launch.n), group)
    if held_out:
        check_parts(answers, settings.by, group)
    sizes = group.all_gather(len(answers))
    if group.rank == 0:
        each = ", ".join(f"{size:,}" for size in sizes)
        typer.echo(f"processes: {launch.n}; comparisons: {each}\n", err=True)
    options: FitOptions = {"device": device, "progress": group.rank == 0 and running.shows_progress}
    with CtrlC(insistent=False) as ctrl_c:
        result = embed(answers, settings=settings, checkpoint=running.checkpoint, resume=running.resume, **options)
        interrupted = result.stopped_by == "interrupted"
        lines = _facts(result, answers, sizes)
        if held_out and not group.broadcast(interrupted or ctrl_c.pressed.is_set()):
            lines.insert(-1, _held_out(answers, device, settings, options, held_out))
        group.leave()
        if group.rank != 0:
            raise typer.Exit(INTERRUPTED if interrupted else 0)
        written = write_folder(folder, FitOutput(result, answers, origin, lines), writing, lambda _: None)
        if running.checkpoint is not None and not interrupted:
            running.checkpoint.unlink(missing_ok=True)
    print_facts(lines)
    end_with_files(written, interrupted=interrupted, checkpoint=running.checkpoint)


def _facts(result: "Result", answers: "Comparisons", sizes: list[int]) -> "list[Fact]":
    from closerthan.evaluate.facts import STOPPED_BY, Fact
    from closerthan.wording import counted, percent

    n_objects, n_dims = result.embedding.shape
    kind = "triplets" if answers.rows.shape[1] == 3 else "quadruplets"
    best, seconds = result.best_record, result.history[-1].seconds
    return [
        Fact("Objects", f"{n_objects:,}"),
        Fact(
            "Comparisons",
            f"{sum(sizes):,} {kind}",
            f"processes: {len(sizes)}; the report judges objects by the {sizes[0]:,} of the first process",
        ),
        Fact("Dimensions", f"{n_dims}"),
        Fact("Training error", percent(best.train_error), "on the answers that the map was fitted to"),
        Fact(
            "Stopped",
            f"after {counted(result.history[-1].epoch, 'epoch')}",
            f"{STOPPED_BY.get(result.stopped_by, result.stopped_by)}; {seconds:.3g} s in the solver",
        ),
    ]


def _held_out(
    answers: "Comparisons", device: "Distributed", settings: "Settings", options: "FitOptions", fraction: float
) -> "Fact":
    """Measure the error of a second fit on a fraction of all answers, which it does not see."""
    import numpy as np

    from closerthan.evaluate.facts import Fact
    from closerthan.fit.embedding import embed
    from closerthan.metrics import error_interval, triplet_error
    from closerthan.wording import percent_interval

    train, test = answers, None
    if len(answers) > 1:
        rng = np.random.default_rng([settings.seed or 0, device.processes.rank])
        train, test = answers.split(fraction, rng, by=settings.by)
    second = embed(train, settings=settings, device=device, progress=bool(options.get("progress")) and "second fit")
    weight = 0.0 if test is None else test.total_weight
    wrong = 0.0 if test is None or not weight else triplet_error(test, second.embedding) * weight
    n_wrong, total, number = device.processes.sum(np.array([wrong, weight, 0 if test is None else len(test)]))
    if second.stopped_by == "interrupted" or not total:
        return Fact("Held-out error", "not measured", "the second fit was interrupted")
    error = float(n_wrong / total)
    note = f"{int(number):,} comparisons withheld from a second fit: expect this error on new answers"
    return Fact("Held-out error", percent_interval(error, *error_interval(error, float(number))), note)
