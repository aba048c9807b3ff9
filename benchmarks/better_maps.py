"""Maps of ``ct.embed`` with all defaults, beside those of an earlier version of closerthan.

    git worktree add ../before 8c1bdc1
    python -m benchmarks.better_maps --before ../before     about two minutes; writes docs/measured/better-maps.md
    python -m benchmarks.better_maps --before ../before --quick

Both versions fit the same answers, alternately and each in a process of its own, with one thread. Simulated answers are
judged by noise-free test answers, people's answers (from the folder CLOSERTHAN_DATA) by a fifth of them held out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import closerthan as ct

COMMAND = "python -m benchmarks.better_maps"
SHAPES = (  # objects, dimensions, triplets, fraction flipped
    (20, 2, 400, 0.1),
    (50, 3, 500, 0.1),
    (200, 5, 2_000, 0.1),
    (300, 2, 2_400, 0.0),
    (300, 2, 2_400, 0.1),
    (300, 5, 20_000, 0.3),
    (1_000, 2, 12_000, 0.1),
    (100, 2, 20_000, 0.1),
    (500, 3, 40_000, 0.2),
    (100, 10, 10_000, 0.0),
)
REAL = (("music", 2), ("music", 9), ("faces", 2), ("faces", 5), ("cars", 2), ("cars", 4))
LARGE = ((1_000, 10, 200_000, 0.0), (1_000, 10, 200_000, 0.1), (1_000, 1, 50_000, 0.0), (100, 2, 200_000, 0.2))
SEEDS = 2  # fits of each data set, to see how much two seeds differ


class Problem(NamedTuple):
    """Answers to fit and to be judged by."""

    name: str
    group: str
    n_dims: int
    train: ct.Comparisons
    test: ct.Comparisons


def problems(run: int) -> Iterator[Problem]:
    """Yield all data sets, with splits and random points of this run."""
    from benchmarks import real_answers

    for group, shapes in (("simulated", SHAPES), ("large", LARGE)):
        for n_objects, n_dims, n_triplets, flipped in shapes:
            name = f"{n_objects:,} objects, {n_dims}-D, {n_triplets:,} answers, {100 * flipped:g} % flipped"
            data = ct.datasets.synthetic(n_objects, n_dims, n_triplets, 10_000, seed=100 + run, flipped=flipped)
            yield Problem(name, group, n_dims, data.train, data.test)
    for name, n_dims in REAL:
        try:
            answers: ct.Comparisons = getattr(real_answers, name)()
        except OSError as missing:
            print(f"{name} is skipped: {missing}", file=sys.stderr)
            continue
        train, test = answers.split(0.2, np.random.default_rng(1_000 + run))
        yield Problem(f"{name}, {n_dims}-D", "people", n_dims, train, test)


def fit_here(path: Path) -> list[tuple[float, float]]:
    """Fit the answers in a file with this process's version; return error and seconds of each seed."""
    arrays, fits = np.load(path), []
    n_objects = int(arrays["n_objects"])
    train, test = (ct.Comparisons(arrays[name], n_objects) for name in ("train", "test"))
    warnings.simplefilter("ignore")
    ct.embed(train, int(arrays["n_dims"]), seed=SEEDS, n_threads=1)  # compiles, or loads what was compiled
    for seed in range(SEEDS):
        began = time.process_time()
        result = ct.embed(train, int(arrays["n_dims"]), seed=seed, n_threads=1)
        seconds = time.process_time() - began
        fits.append((float(ct.triplet_error(test, result.embedding)), seconds))
    return fits


class Version:
    """A version of closerthan that fits in a process of its own."""

    def __init__(self, source: Path) -> None:
        here = Path(__file__).resolve().parents[1]
        environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{here}", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.better_maps", "--fit"]
        self._process = subprocess.Popen(
            command, env=environment, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def fit(self, path: Path) -> Any:
        """Fit the answers in a file; return error and seconds of each seed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(path, file=self._process.stdin)
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(before: Path, runs: int) -> dict[str, dict[str, list[Any]]]:
    """Return errors and seconds of both versions, for each data set and run."""
    fits: dict[str, dict[str, list[Any]]] = {}
    versions = {"before": Version(before / "src"), "now": Version(Path(ct.__file__).resolve().parents[1])}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
            for problem in problems(run):
                if problem.group == "large" and run >= 2:
                    continue
                path = Path(folder) / "answers.npz"
                rows = {"train": problem.train.rows, "test": problem.test.rows}
                np.savez(path, **rows, n_objects=problem.train.n_objects, n_dims=problem.n_dims)
                both = fits.setdefault(problem.name, {"group": [problem.group], "before": [], "now": []})
                for name, version in versions.items():
                    both[name].append(version.fit(path))
                print(run, problem.name, *(f"{np.mean(both[v], axis=(0, 1))[0]:.4f}" for v in versions), flush=True)
    for version in versions.values():
        version.end()
    return fits


def summary(fits: dict[str, dict[str, list[Any]]]) -> tuple[list[list[str]], list[str]]:
    """Return the rows of the table, and a sentence on each group of data sets."""
    rows, groups = [], dict[str, list[tuple[float, ...]]]()
    for name, both in fits.items():
        before, now = np.array(both["before"]), np.array(both["now"])  # run, seed, (error, seconds)
        errors = before[..., 0].mean(), now[..., 0].mean()
        gains = (now - before)[..., 0].mean(axis=1)
        uncertainty = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else np.nan
        spreads = before[..., 0].std(axis=1, ddof=1).mean(), now[..., 0].std(axis=1, ddof=1).mean()
        slower = float(np.median(now[..., 1]) / np.median(before[..., 1]))
        groups.setdefault(both["group"][0], []).append((*errors, *spreads, slower))
        difference = f"{errors[1] - errors[0]:+.4f} ± {uncertainty:.4f}"
        rows.append([name, *(f"{error:.4f}" for error in errors), difference,
                     *(f"{spread:.4f}" for spread in spreads), f"{slower:.2f}"])  # fmt: skip
    sentences = []
    for group, numbers in groups.items():
        before_error, now_error, before_spread, now_spread, slower = np.array(numbers).T
        sentences.append(
            f"{group}: mean error {before_error.mean():.4f} before, {now_error.mean():.4f} now (ratio "
            f"{now_error.mean() / before_error.mean():.3f}); standard deviation between seeds "
            f"{before_spread.mean():.4f} and {now_spread.mean():.4f}; time {np.exp(np.log(slower).mean()):.2f} "
            "times as long (geometric mean)."
        )
    return rows, sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the earlier version")
    parser.add_argument("--runs", type=int, default=6, help="numbers of splits and of simulated data sets")
    parser.add_argument("--quick", action="store_true", help="one run; writes nothing")
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        for line in sys.stdin:
            print(json.dumps(fit_here(Path(line.rstrip("\n")))), flush=True)
        return
    if options.before is None:
        parser.error("--before is needed: a checkout of the earlier version")
    from benchmarks.measured import measured_on, write_measured
    from benchmarks.tables import table

    rows, sentences = summary(compare(options.before.resolve(), 1 if options.quick else options.runs))
    header = ["answers", "error before", "error now", "difference", "seeds differ by, before", "now", "time ratio"]
    page = "\n\n".join([table(header, rows), *sentences, measured_on(f"{COMMAND} --before PATH")])
    print(page)
    if not options.quick:
        write_measured("better-maps", page)


if __name__ == "__main__":
    main()
