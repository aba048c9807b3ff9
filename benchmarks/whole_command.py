"""A whole ``closerthan fit``: how long each stage of the command takes for a large file.

    python -m benchmarks.whole_command            four minutes on two cores; writes docs/measured/whole-command.md
    python -m benchmarks.whole_command --quick    a small version; writes nothing

Ten million simulated answers about 100,000 points in three dimensions, a tenth of them flipped, as a NumPy file and as
CSV. Each run is a process of its own, in which the functions of the stages are timed. CPU time is that of all threads;
unlike wall time, other programs hardly change it.
"""

import argparse
import contextlib
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

import closerthan as ct
from benchmarks.machine import load
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.wording import counted, file_size

N_DIMS, FLIPPED, RUNS = 3, 0.1, 3
STAGES = {
    "reading the file": ("closerthan.cli.options", "AnswersReader.read"),
    "choosing the loss, for both fits": ("closerthan.cli.fit_job", "_loss_choice"),
    "fitting the map": ("closerthan.fit.embedding", "embed"),
    "training error": ("closerthan.evaluate.facts", "facts"),
    "second fit and held-out error": ("closerthan.cli.fit_job", "_second_fit"),
    "report": ("closerthan.cli.output", "_write_report"),
    "figure of the map": ("closerthan.cli.output", "_map_figure"),
    "suggestions": ("closerthan.evaluate.advice", "suggestions"),
}
"""The function that each stage consists of."""
REST = "start of Python, imports, other files"

Seconds = dict[str, tuple[float, float]]  # wall and CPU seconds of each stage


@contextlib.contextmanager
def timed_stages(seconds: Seconds) -> Iterator[None]:
    """Time the functions of all stages; one that is called by that of another stage belongs to the latter."""
    active: list[str] = []

    def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if active:
                return function(*args, **options)
            active.append(stage)
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return function(*args, **options)
            finally:
                active.clear()
                before = seconds.get(stage, (0.0, 0.0))
                seconds[stage] = before[0] + time.perf_counter() - wall, before[1] + time.process_time() - cpu

        return call

    with contextlib.ExitStack() as stack:
        for stage, (module, name) in STAGES.items():
            *owner, attribute = name.split(".")
            target = functools.reduce(getattr, owner, import_module(module))
            stack.enter_context(mock.patch.object(target, attribute, timed(stage, getattr(target, attribute))))
        yield


def run_command(words: list[str], path: Path) -> None:
    """Run the command in this process and write the seconds of its stages to a JSON file."""
    from closerthan.cli import app

    seconds: Seconds = {}
    began = time.perf_counter()
    with timed_stages(seconds):
        app(words, standalone_mode=False)
    # CPU time counts from the start of the process, wall time from here; starting takes well below a second.
    seconds["total"] = time.perf_counter() - began, time.process_time()
    path.write_text(json.dumps(seconds), encoding="utf-8")


def measured_run(file: Path, folder: Path) -> Seconds:
    """Run ``closerthan fit`` in a new process."""
    times = folder / "times.json"
    words = ["fit", str(file), "--dims", str(N_DIMS), "--out", str(folder / "map"), "--force", "--no-progress"]
    child = [sys.executable, "-m", "benchmarks.whole_command", "--child", str(times), *words]
    subprocess.run(child, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds: Seconds = {stage: (wall, cpu) for stage, (wall, cpu) in json.loads(times.read_text("utf-8")).items()}
    wall, cpu = seconds.pop("total")
    in_stages = np.sum(list(seconds.values()), axis=0)
    return seconds | {REST: (wall - in_stages[0], cpu - in_stages[1]), "in all": (wall, cpu)}


def write_files(folder: Path, n_objects: int, n_answers: int) -> dict[str, Path]:
    """Simulate answers and write them in both formats."""
    points = np.random.default_rng(0).standard_normal((n_objects, N_DIMS))
    answers = ct.datasets.simulated(points, n_answers, noise="flip", level=FLIPPED, seed=0)
    np.save(folder / "answers.npy", answers.rows)
    ct.files.write_comparisons(answers, folder / "answers.csv")
    return {"NumPy": folder / "answers.npy", "CSV": folder / "answers.csv"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small version; writes nothing")
    parser.add_argument("--runs", type=int, default=RUNS, help="number of runs with each file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options, words = parser.parse_known_args()
    if options.child is not None:
        run_command(words, options.child)
        return
    n_objects, n_answers = (1_000, 100_000) if options.quick else (100_000, 10_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured_run(write_files(folder, 1_000, 20_000)["NumPy"], folder)  # compiles the kernels
        files = write_files(folder, n_objects, n_answers)
        runs: dict[str, list[Seconds]] = {form: [] for form in files}
        loads = [load()]
        for _ in range(options.runs):
            for form, file in files.items():
                runs[form].append(measured_run(file, folder))
                print(form, *(f"{stage}: {wall:.1f} s" for stage, (wall, _) in runs[form][-1].items()), sep="; ")
            loads.append(load())
        report = (folder / "map" / "report.html").stat().st_size
    rows = [
        [stage, *(f"{median(run[stage][kind] for run in runs[form]):.1f}" for form in files for kind in (0, 1))]
        for stage in (*STAGES, REST, "in all")
    ]
    busy = [number for number in loads if number is not None]
    caution = (
        f"Before and between the runs, {min(busy):.1f} to {max(busy):.1f} processes were running on the machine; with "
        "more than one, wall time says more about the other processes than about the command."
    )
    paragraphs = [
        f"`closerthan fit` of {n_answers:,} answers about {n_objects:,} objects in {N_DIMS} dimensions: seconds of "
        f"each stage, medians of {counted(options.runs, 'run')}. The report has {file_size(report)}.",
        table(["stage", *(f"{form}, {kind}" for form in files for kind in ("wall", "CPU"))], rows),
        *([caution] if busy else []),
        measured_on("python -m benchmarks.whole_command"),
    ]
    text = "\n\n".join(paragraphs)
    print(text) if options.quick else write_measured("whole-command", text)


if __name__ == "__main__":
    main()
