"""Many cores: the time and the held-out error of large fits, and of many small ones, by number of threads.

    python -m benchmarks.many_cores [--quick] [--only NAME ...] [--threads 1 2 4 8 16]

The default solver, whose bits do not depend on the number of threads, is compared with the lock-free one (hogwild).
Answers are noise-free, in 10 dimensions, the loss is ste, and errors are those on other noise-free answers. The fit of
a million objects is one epoch without extra dimensions, because a whole fit by one thread would take minutes.
Replicates are independent fits of the default solver to resampled noisy answers in 3 dimensions; their error is the
mean over all maps.

It takes four minutes and 8 GB of memory on 16 cores, and writes docs/measured/many-cores.md. ``--quick`` is a small
trial, which writes nothing.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.datasets.synthetic import Synthetic
from closerthan.operating_system import n_cores
from closerthan.solvers import Hogwild, Polyak, Solver

THREADS = (1, 2, 4, 8, 16)
N_TEST = 100_000
SHORT = 2.0  # seconds; shorter fits are repeated, and the shortest time counts
TIMES = 5  # number of fits, if they are short

Measured = tuple[float, float]  # seconds, held-out error


@dataclass(frozen=True)
class Case:
    """A problem: answers to fit, and how."""

    n_objects: int
    n_answers: int
    n_dims: int = 10
    epochs: int = 4
    n_replicates: int = 0  # 0: a single fit
    flipped: float = 0.0
    extra_dimensions: float | None = Polyak.extra_dimensions

    @property
    def title(self) -> str:
        answers = f"{self.n_answers:,} answers about {self.n_objects:,} objects"
        flipped = f", {self.flipped:.0%} flipped" if self.flipped else ""
        return f"{self.n_replicates} replicates of {answers}" + flipped if self.n_replicates else answers

    def solvers(self) -> dict[str, Solver]:
        """Return the solvers to compare, by name."""
        chosen: dict[str, Solver] = {"polyak": Polyak(extra_dimensions=self.extra_dimensions)}
        if not self.n_replicates:
            chosen["hogwild"] = Hogwild(extra_dimensions=self.extra_dimensions)
        return chosen

    def quick(self) -> "Case":
        """Return a small version of the same problem."""
        large = self.n_answers > 1_000_000
        return replace(
            self,
            n_objects=self.n_objects // 50 if large else self.n_objects,
            n_answers=self.n_answers // 50 if large else self.n_answers,
            n_replicates=self.n_replicates // 20,
        )


CASES = {
    "hundred": Case(100, 1_000_000),
    "thousand": Case(1_000, 1_000_000),
    "hundred-thousand": Case(100_000, 20_000_000),
    "million": Case(1_000_000, 30_000_000, epochs=1, extra_dimensions=None),
    "replicates": Case(200, 20_000, n_dims=3, n_replicates=200, flipped=0.1),
}


def measure(case: Case, data: Synthetic, solver: Solver, n_threads: int) -> Measured:
    """Return the seconds and the held-out error of a fit, or of all replicates."""
    began = time.perf_counter()
    if case.n_replicates:
        replicates = ct.replicate(
            data.train,
            case.n_dims,
            n_replicates=case.n_replicates,
            loss="ste",
            penalty=0,
            solver=solver,
            n_threads=n_threads,
        )
        seconds = time.perf_counter() - began
        return seconds, float(np.mean([ct.triplet_error(data.test, x) for x in replicates.maps]))
    result = ct.embed(
        data.train,
        case.n_dims,
        loss="ste",
        penalty=0,
        solver=solver,
        epochs=case.epochs,
        tolerance=None,
        n_threads=n_threads,
    )
    seconds = time.perf_counter() - began
    return seconds, ct.triplet_error(data.test, result.embedding)


def best_of_several(work: Callable[[], Measured]) -> Measured:
    """Return the shortest time and the mean error of several runs if they are short, otherwise those of one run."""
    runs = [work()]
    while runs[0][0] < SHORT and len(runs) < TIMES:
        runs.append(work())
    return min(seconds for seconds, _ in runs), float(np.mean([error for _, error in runs]))


def compile_kernels() -> None:
    """Run small fits of each kind, so that compilation is not measured."""
    answers = ct.datasets.synthetic(1_000, 10, 300_000, 10, seed=0).train
    for solver in ("polyak", "hogwild"):
        ct.embed(answers, 10, loss="ste", penalty=0, solver=solver, epochs=1)
    ct.replicate(answers.take(slice(20_000)), 3, n_replicates=2, loss="ste")


def rows_of(case: Case, threads: Sequence[int]) -> tuple[list[list[str]], list[list[str]]]:
    """Measure a problem; return rows of the table of seconds and of the table of errors."""
    data = ct.datasets.synthetic(case.n_objects, case.n_dims, case.n_answers, N_TEST, flipped=case.flipped, seed=1)
    seconds_rows, error_rows = [], []
    for name, solver in case.solvers().items():
        measured = []
        for n_threads in threads:
            measured.append(best_of_several(lambda s=solver, n=n_threads: measure(case, data, s, n)))  # type: ignore[misc]
            print(f"{case.title}, {name}, {n_threads} threads: {measured[-1]}", file=sys.stderr, flush=True)
        seconds, errors = zip(*measured, strict=True)
        cells = [f"{number:.3g}" for number in seconds]
        seconds_rows.append([case.title, f"`{name}`", *cells, f"{seconds[0] / seconds[-1]:.1f}"])
        error_rows.append([case.title, f"`{name}`", *(f"{100 * error:.2f}" for error in errors)])
    return seconds_rows, error_rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_cores", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small trial, which writes nothing")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="measure only these problems")
    parser.add_argument("--threads", nargs="+", type=int, help="numbers of threads (1 2 4 8 16, up to one per core)")
    arguments = parser.parse_args()
    threads = arguments.threads or [n for n in THREADS if n <= n_cores()]
    compile_kernels()
    seconds_rows, error_rows = [], []
    for name in arguments.only:
        rows = rows_of(CASES[name].quick() if arguments.quick else CASES[name], threads)
        seconds_rows += rows[0]
        error_rows += rows[1]
    columns = ["1 thread", *map(str, threads[1:])] if threads[0] == 1 else [f"{n} threads" for n in threads]
    paragraphs = [
        f"Seconds of whole fits by number of threads; the last column is the speed-up of {threads[-1]} threads:",
        table(["problem", "solver", *columns, "speed-up"], seconds_rows),
        "Held-out error in percent:",
        table(["problem", "solver", *columns], error_rows),
        f"Noise-free answers in 10 dimensions, loss `ste`, {CASES['thousand'].epochs} epochs (with a million objects, "
        "one epoch without extra dimensions); replicates are whole fits in 3 dimensions. If a fit takes less than "
        f"{SHORT:g} s, the time is the shortest of {TIMES}, and the error their mean.",
        measured_on("python -m benchmarks.many_cores"),
    ]
    text = "\n\n".join(paragraphs)
    print(text)
    if not arguments.quick and arguments.only == list(CASES):
        write_measured("many-cores", text)


if __name__ == "__main__":
    main()
