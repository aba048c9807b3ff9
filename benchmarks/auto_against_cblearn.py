"""``loss="auto"`` against all five of cblearn's estimators, in CPU time, on sets where those take a second or more.

    CLOSERTHAN_DATA=FOLDER python -m benchmarks.auto_against_cblearn    writes docs/measured/auto-against-cblearn.md
    python -m benchmarks.auto_against_cblearn --quick                   one set, one run; writes nothing

The sets are those of ``python -m benchmarks``; those of people's answers are left out if their files are missing. Each
method has a process of its own with one thread, and the methods alternate. Unlike wall time, CPU time is hardly changed
by other programs, so that the machine need not be idle; code has been compiled before.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks import environments
from benchmarks.fits import CBLEARN
from benchmarks.measured import measured_on, write_measured
from benchmarks.page import times
from benchmarks.tables import table
from benchmarks.targets import CLOSE_ENOUGH
from benchmarks.worker import Worker
from benchmarks.workloads import Workload, available
from closerthan.wording import counted

SETS = ("table1", "few", "music-2", "music-9", "cars")
RUNS = 3
LIMIT = 600.0  # seconds of wall time for one fit, in case the machine is busy
AUTO = "auto"

Fits = dict[str, list[dict[str, Any]]]


def measure(workload: Workload, folder: Path, runs: int) -> Fits:
    """Run all methods alternately, each run with another seed; return the answers of their workers."""
    data, fits = workload.saved(folder), Fits()
    with contextlib.ExitStack() as stack:
        scripts = {AUTO: (sys.executable, "closerthan_fits.py")}
        scripts |= {loss: (str(environments.interpreter("cblearn")), "cblearn_fits.py") for loss in CBLEARN}
        workers = {name: stack.enter_context(Worker(*script, 1)) for name, script in scripts.items()}
        for seed in range(runs):
            for name, worker in workers.items():
                options: dict[str, Any] = {"estimator": CBLEARN[name]} if name in CBLEARN else {"loss": name}
                fit = worker.ask(LIMIT, data=str(data), seed=seed, n_threads=1, **options)
                if "cpu_seconds" not in fit:
                    raise RuntimeError(f"{name} on {workload.name}: {fit}")
                fits.setdefault(name, []).append(fit)
                print(workload.name, seed, name, f"{fit['cpu_seconds']:.3g} s, error {fit['error']:.4f}", flush=True)
    return fits


def middle(fits: Fits, name: str, what: str) -> float:
    return float(median(fit[what] for fit in fits[name]))


def row(title: str, fits: Fits) -> list[str]:
    """Return the row of a set: medians over the runs, and cblearn's estimator with the lowest median error."""
    ours, peers = middle(fits, AUTO, "cpu_seconds"), sum(middle(fits, loss, "cpu_seconds") for loss in CBLEARN)
    best = min(CBLEARN, key=lambda loss: middle(fits, loss, "error"))
    alone = middle(fits, best, "cpu_seconds")
    error, theirs = middle(fits, AUTO, "error"), middle(fits, best, "error")
    return [
        title, f"{ours:.3g}", f"{error:.4f}", f"{peers:.3g}", f"{theirs:.4f} ({best})", f"{error - theirs:+.4f}",
        f"{times(peers / ours)}\u00a0×", f"{times(alone / ours)}\u00a0×",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one set, one run; writes nothing")
    parser.add_argument("--runs", type=int, default=RUNS, help="number of runs of each method")
    options = parser.parse_args()
    workloads = [workload for name, workload in available().items() if name in SETS]
    if options.quick:
        workloads, options.runs = workloads[:1], 1
    with tempfile.TemporaryDirectory() as folder:
        fits = {workload.title: measure(workload, Path(folder), options.runs) for workload in workloads}
    ratios = [
        sum(middle(one, loss, "cpu_seconds") for loss in CBLEARN) / middle(one, AUTO, "cpu_seconds")
        for one in fits.values()
    ]
    above = [middle(one, AUTO, "error") - min(middle(one, loss, "error") for loss in CBLEARN) for one in fits.values()]
    header = (
        "answers", "auto, s", "error", "cblearn, all five, s", "lowest error", "difference", "faster than all five",
        "than the best one",
    )  # fmt: skip
    paragraphs = [
        f"CPU seconds of a whole fit with one thread, and error on held-out answers; medians of "
        f"{counted(options.runs, 'run')}. cblearn 0.4.0 (NumPy below 2) runs its five estimators with their defaults, "
        'one after the other, and the lowest of their errors counts; `ct.embed(answers, p, loss="auto")` runs once.',
        table(header, [row(title, one) for title, one in fits.items()]),
        f"`auto` is {times(min(ratios))} to {times(max(ratios))} times as fast as all five (geometric mean "
        f"{times(float(np.exp(fmean(np.log(ratios)))))}). Its error is at most {CLOSE_ENOUGH} above cblearn's "
        f"lowest on {sum(one <= CLOSE_ENOUGH for one in above)} of {counted(len(above), 'set')}.",
        measured_on("python -m benchmarks.auto_against_cblearn"),
    ]
    text = "\n\n".join(paragraphs)
    if options.quick:
        print(text)
    else:
        write_measured("auto-against-cblearn", text)


if __name__ == "__main__":
    main()
