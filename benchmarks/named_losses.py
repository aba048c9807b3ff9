"""Named losses with the penalty that is chosen by default, and without one.

    python -m benchmarks.named_losses             ten minutes; writes docs/measured/named-losses.md
    python -m benchmarks.named_losses --quick     one run; writes nothing

The data sets are those of ``python -m benchmarks.better_maps``. Fits have one thread, and CPU time is counted.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, product

import numpy as np

import closerthan as ct
from benchmarks.better_maps import SEEDS, problems
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table

COMMAND = "python -m benchmarks.named_losses"
RUNS = 3

Fit = tuple[str, str, str, tuple[float, ...]]  # group, data set, loss; errors and seconds without and with a penalty


def fits_of(run: int, loss: str) -> list[Fit]:
    """Fit all data sets of a run with a loss."""
    warnings.simplefilter("ignore")
    return list(_fits(run, loss))


def _fits(run: int, loss: str) -> Iterator[Fit]:
    for problem in problems(run):
        numbers: list[float] = []
        for penalty in (0.0, None):
            maps, began = [], 0.0
            for seed in (SEEDS, *range(SEEDS)):  # the first one compiles what is missing
                if seed == 0:
                    maps, began = [], time.process_time()
                fit = ct.embed(problem.train, problem.n_dims, loss=loss, penalty=penalty, seed=seed, n_threads=1)
                maps.append(fit.embedding)
            seconds = (time.process_time() - began) / SEEDS
            error = np.mean([ct.triplet_error(problem.test, embedding) for embedding in maps])
            numbers += [float(error), seconds]
        yield problem.group, problem.name, loss, tuple(numbers)


def rows_of(fits: list[Fit]) -> list[list[str]]:
    """Return a row for each data set and for each group: means over losses and runs."""
    rows = []
    for key in (lambda fit: fit[1], lambda fit: f"*all: {fit[0]}*"):
        for name, some in groupby(sorted(fits, key=lambda fit: (fit[0], key(fit))), key=key):
            numbers = np.array([fit[3] for fit in some])
            without, seconds_without, chosen, seconds = numbers.T
            gain = chosen - without
            ratio = np.exp(np.log(seconds / seconds_without).mean())
            rows.append([
                name, f"{without.mean():.4f}", f"{chosen.mean():.4f}", f"{gain.mean():+.4f}", f"{gain.max():+.4f}",
                f"{1e3 * seconds_without.mean():.0f}", f"{1e3 * seconds.mean():.0f}", f"{ratio:.1f}",
            ])  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run; writes nothing")
    options = parser.parse_args()
    jobs = list(product(range(1 if options.quick else RUNS), ct.losses.LOSSES))
    with ProcessPoolExecutor() as pool:
        fits = [fit for some in pool.map(fits_of, *zip(*jobs, strict=True)) for fit in some]
    header = ["answers", "without", "chosen", "difference", "largest", "ms without", "ms chosen", "time ratio"]
    note = (
        "Held-out errors and CPU time per fit: means over the five losses, and the largest difference of any of them."
    )
    page = "\n\n".join([table(header, rows_of(fits)), note, measured_on(COMMAND)])
    print(page)
    if not options.quick:
        write_measured("named-losses", page)


if __name__ == "__main__":
    main()
