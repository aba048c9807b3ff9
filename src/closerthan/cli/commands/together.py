"""``closerthan fit`` by several processes, which torchrun or srun started: one map, written by the first of them."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from closerthan.cli.options import held_out_file

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.objective.distributed.launch import Launch
    from closerthan.objective.distributed.objective import Distributed
    from closerthan.result import Result


@dataclasses.dataclass(frozen=True)
class Writing:
    """Where a fit is written to, and how."""

    folder: Path
    force: bool
    map_format: str
    title: str
    command: str
    checkpoint: Path | None
    resume: bool
    report: bool = True
    figure_format: str = "png"


def fit_together(
    file: Path,
    launch: "Launch",
    fitting: dict[str, Any],
    reading: dict[str, Any],
    writing: Writing,
    held_out: float,
    progress: bool | None,
) -> None:
    """This process's share of a fit. The first one says what came out and writes it; its report is about its own."""
    from closerthan.cli.group import INTERRUPTED
    from closerthan.cli.output import Fitted, check_target, readable, write_folder
    from closerthan.cli.screen import end_with_files, print_facts
    from closerthan.files.stored.parts import Place, read_part
    from closerthan.fit.ctrl_c import CtrlC
    from closerthan.fit.embedding import embed
    from closerthan.fit.fixed_loss import check_parts
    from closerthan.objective.distributed.joining import join

    if held_out_file(fitting) is not None:
        raise ValueError("--validation is a file; several processes can hold out a share alone, as in 0.1")
    if launch.rank == 0:
        check_target(writing.folder, writing.force)
    device = join(launch, fitting.pop("device"), fitting.pop("n_threads"))
    group = device.processes
    place = Place(launch.rank, launch.n)
    answers = read_part(file, place, group, **reading)
    if held_out:
        check_parts(answers, fitting["by"], group)
    sizes = group.all_gather(len(answers))
    progress = group.rank == 0 and (sys.stderr.isatty() if progress is None else progress)
    if group.rank == 0:
        each = ", ".join(f"{size:,}" for size in sizes)
        typer.echo(f"processes: {launch.n}; comparisons: {each}\n", err=True)
    how = {**fitting, "device": device, "progress": progress}
    with CtrlC(insistent=False) as ctrl_c:
        result = embed(answers, checkpoint=writing.checkpoint, resume=writing.resume, **how)
        interrupted = result.stopped_by == "interrupted"
        lines = _facts(result, answers, sizes)
        if held_out and not group.broadcast(interrupted or ctrl_c.pressed.is_set()):
            lines.insert(-1, _held_out(answers, device, how, held_out))
        group.leave()
        if group.rank != 0:
            raise typer.Exit(INTERRUPTED if interrupted else 0)
        fitted = Fitted(result, answers, None, lines, None, readable(file), writing.command, None, writing.title)
        written = write_folder(
            writing.folder,
            fitted,
            force=writing.force,
            map_format=writing.map_format,
            figure_format=writing.figure_format,
            report=writing.report and len(answers) > 0,
            say=lambda _: None,
        )
        if writing.checkpoint is not None and not interrupted:
            writing.checkpoint.unlink(missing_ok=True)
    print_facts(lines)
    end_with_files(written, interrupted=interrupted, checkpoint=writing.checkpoint)


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
            f"processes: {len(sizes)}; a report judges objects by the first one's {sizes[0]:,}",
        ),
        Fact("Dimensions", f"{n_dims}"),
        Fact("Training error", percent(best.train_error), "on the answers that the map was fitted to"),
        Fact(
            "Stopped",
            f"after {counted(result.history[-1].epoch, 'epoch')}",
            f"{STOPPED_BY.get(result.stopped_by, result.stopped_by)}; {seconds:.3g} s in the solver",
        ),
    ]


def _held_out(answers: "Comparisons", device: "Distributed", how: dict[str, Any], share: float) -> "Fact":
    """The error on a share of all answers of a second fit, which never saw them."""
    import numpy as np

    from closerthan.evaluate.facts import Fact
    from closerthan.fit.embedding import embed
    from closerthan.metrics import error_interval, triplet_error
    from closerthan.wording import percent_interval

    train, aside = answers, None
    if len(answers) > 1:
        train, aside = answers.split(share, np.random.default_rng([how["seed"], device.processes.rank]), by=how["by"])
    second = embed(train, **{**how, "progress": how["progress"] and "second fit"})
    counted = 0.0 if aside is None else aside.total_weight
    wrong = 0.0 if aside is None or not counted else triplet_error(aside, second.embedding) * counted
    n_wrong, total, number = device.processes.sum(np.array([wrong, counted, 0 if aside is None else len(aside)]))
    if second.stopped_by == "interrupted" or not total:
        return Fact("Held-out error", "not measured", "the second fit was interrupted")
    error = float(n_wrong / total)
    note = f"{int(number):,} comparisons; of a second fit, which never saw them"
    return Fact("Held-out error", percent_interval(error, *error_interval(error, float(number))), note)
