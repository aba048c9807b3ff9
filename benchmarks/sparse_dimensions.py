"""Sparse dimensions: time, accuracy and recovery, beside SPoSE with Adam on the same answers.

    python -m benchmarks.sparse_dimensions                    people's answers and simulated ones; writes the page
    python -m benchmarks.sparse_dimensions --quick            few answers; writes nothing
    python -m benchmarks.sparse_dimensions --one-core ...     one thread each, processor time instead of elapsed time
    python -m benchmarks.sparse_dimensions --device cuda --json gpu.json      on a GPU; writes a file instead
    python -m benchmarks.sparse_dimensions --page "H200=gpu.json" ...         writes the page from such files
    python -m benchmarks.sparse_dimensions --marks            are dimensions that are marked reproducible really there?
    python -m benchmarks.sparse_dimensions --constants        neighbouring values of the constants

The data folder (CLOSERTHAN_DATA) must hold ``things_spose49.npy``, the published embedding of 1,854 objects, and
``things_people.txt``. Simulated answers follow its choice rule: the odd one out of three random objects, by the softmax
of the dot products of the three pairs. 50,000 other simulated answers measure accuracy and bits. A dimension is
recovered if one dimension, matched one to one, correlates with it above .8.

Adam is SPoSE as published: normal starting values (mean .1, standard deviation .01), learning rate .001, an L1 penalty
that counts lambda / n per object, negative values set to zero by the penalty and by a projection at the end of each
step. Batch size and lambda are the best of those tried, by its own held-out answers; it keeps its best epoch. Each run
must be able to end by itself, so ``--adam-seconds`` is generous.

The marks are tested on simulated answers with known dimensions. In "groups", each object has one to three properties;
in "unequal", 30 % of the weights are above zero, from an exponential distribution whose mean falls from 1.2 to .3 from
the first dimension to the last; "chance" are random answers. A dimension counts as true if it is matched with one
behind the answers and correlates with it above .8.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.accuracy import correct_choices, log_probabilities, pair_similarities
from closerthan.comparisons import Choices
from closerthan.dimensions import fitting, penalty, projected_lbfgs, start
from closerthan.dimensions.matching import SAME_DIMENSION, match_dimensions

N_TEST = 50_000
ADAM_DIMS = 90  # as published
ADAM_RATE = 1e-3
WINDOW = 20  # Adam stops when no epoch of this number is its best
MARKED_STUDIES = ((50, 5, 1_500), (50, 5, 6_000), (100, 10, 5_000), (100, 10, 20_000))  # objects, dimensions, answers
SEEDS = 4


class Score(NamedTuple):
    """One fit: what it used and what it reached."""

    answers: str
    method: str
    seconds: float
    accuracy: float
    bits: float
    n_dims: int
    recovered: int | None
    correlation: float

    def row(self) -> list[str]:
        recovered = "" if self.recovered is None else f"{self.recovered} of 49"
        correlation = "" if self.recovered is None else f"{self.correlation:.2f}"
        return [
            self.answers, self.method, f"{self.seconds:,.0f} s", f"{100 * self.accuracy:.2f} %", f"{self.bits:.4f}",
            str(self.n_dims), recovered, correlation,
        ]  # fmt: skip


def truth() -> np.ndarray:
    x = np.load(Path(os.environ["CLOSERTHAN_DATA"]) / "things_spose49.npy")
    return np.maximum(x if x.shape[0] > x.shape[1] else x.T, 0.0)


def people() -> ct.Comparisons:
    return ct.read_comparisons(
        Path(os.environ["CLOSERTHAN_DATA"]) / "things_people.txt",
        kind="odd-one-out", columns={"participant": 3}, numbering="0-based", self_pairs="drop",
    )  # fmt: skip


def simulated(x: np.ndarray, number: int, seed: int) -> ct.Comparisons:
    return ct.answers_from(x, number, similarity="dot", question="odd-one-out", temperature=1.0, seed=seed)


def scored(answers: str, method: str, seconds: float, x: np.ndarray, test: Choices, true: np.ndarray | None) -> Score:
    similarities = pair_similarities(test, x, "dot")
    accuracy = float(correct_choices(test, similarities).mean())
    bits = float(-log_probabilities(test, similarities).mean() / np.log(2))
    if true is None:
        return Score(answers, method, seconds, accuracy, bits, x.shape[1], None, np.nan)
    correlations = match_dimensions(true, x)[1]
    return Score(
        answers, method, seconds, accuracy, bits, x.shape[1], int((correlations > SAME_DIMENSION).sum()),
        float(np.median(correlations)),
    )  # fmt: skip


def adam(rows: np.ndarray, n_objects: int, batch: int, penalty: float, options: argparse.Namespace) -> np.ndarray:
    """Return the rows of SPoSE, trained with Adam on (similar, similar, odd) answers for at most some seconds."""
    import torch

    clock, device, seconds = clock_of(options), options.device, options.adam_seconds
    if options.one_core:
        torch.set_num_threads(1)
    began = clock()
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(rows), generator=generator)
    triplets = torch.as_tensor(rows.astype(np.int64))[order].to(device)
    n_held_out = len(rows) // 20
    held_out, training = triplets[:n_held_out], triplets[n_held_out:]
    x = (0.1 + 0.01 * torch.randn(n_objects, ADAM_DIMS, generator=generator)).to(device).requires_grad_(True)
    optimiser = torch.optim.Adam([x], lr=ADAM_RATE)

    def loss(part: "torch.Tensor") -> "torch.Tensor":
        one, two, odd = (x[part[:, place]] for place in range(3))
        scores = torch.stack([(one * two).sum(1), (one * odd).sum(1), (two * odd).sum(1)])
        return -torch.log_softmax(scores, dim=0)[0].mean()

    best, best_x, waited = np.inf, x.detach().cpu().numpy(), 0
    while clock() - began < seconds and waited < WINDOW:
        for part in torch.randperm(len(training), generator=generator).to(device).split(batch):
            optimiser.zero_grad(set_to_none=True)
            (loss(training[part]) + penalty / n_objects * x.abs().sum()).backward()
            optimiser.step()
            with torch.no_grad():
                x.clamp_(min=0.0)
            if clock() - began > seconds:
                break
        with torch.no_grad():
            measured = float(torch.cat([loss(part)[None] * len(part) for part in held_out.split(1 << 16)]).sum())
        waited += 1
        if measured < best:
            best, best_x, waited = measured, x.detach().cpu().numpy().copy(), 0
    return best_x[:, best_x.max(axis=0) > 0.1].astype(np.float64)


def clock_of(options: argparse.Namespace) -> Callable[[], float]:
    """Return the clock that measures fits: processor time on one core, otherwise elapsed time."""
    return time.process_time if options.one_core else time.perf_counter


def spose_rows(answers: ct.Comparisons) -> np.ndarray:
    """Return the objects of each odd-one-out answer, the odd one last."""
    pairs = Choices.of(answers).pairs.reshape(-1, 3, 2)
    chosen = pairs[:, 0]
    everything = pairs.sum(axis=(1, 2)) // 2
    return np.column_stack([chosen, everything - chosen.sum(axis=1)])


def measured_fits(
    name: str, answers: ct.Comparisons, test: Choices, true: np.ndarray | None, options: argparse.Namespace
) -> list[Score]:
    scores = []
    clock, n_threads = clock_of(options), 1 if options.one_core else None
    began = clock()
    result = ct.sparse_dimensions(
        answers,
        options.dims,
        device=options.device,
        n_refits=options.refits,
        n_threads=n_threads,
        penalty=options.penalty,
    )
    seconds = clock() - began
    scores.append(scored(name, f"closerthan, {options.refits} refits", seconds, result.weights, test, true))
    print(scores[-1], result.candidates, f"{int(result.is_reproducible.sum())} reproducible", flush=True)
    if true is not None:
        reproducible = result.weights[:, result.is_reproducible]
        if reproducible.shape[1]:
            print("  reproducible ones:", scored(name, "reproducible", seconds, reproducible, test, true), flush=True)
    began = clock()
    alone = ct.sparse_dimensions(
        answers, options.dims, device=options.device, n_refits=0, penalty=result.penalty, n_threads=n_threads
    )
    scores.append(scored(name, "closerthan, penalty fixed", clock() - began, alone.weights, test, true))
    print(scores[-1], flush=True)
    if options.only_ours:
        return scores
    rows = spose_rows(answers)
    tried = []
    for batch in options.batches:
        for strength in options.penalties:
            began = clock()
            x = adam(rows, answers.n_objects, batch, strength, options)
            method = f"Adam, batch {batch:,}, lambda {strength:g}"
            tried.append(scored(name, method, clock() - began, x, test, true))
            print(tried[-1], flush=True)
    return scores + tried


def known_dimensions(kind: str, n_objects: int, n_dims: int, rng: np.random.Generator) -> np.ndarray:
    """Return the dimensions behind simulated answers."""
    x = np.zeros((n_objects, n_dims))
    if kind == "groups":
        for row in x:
            properties = rng.choice(n_dims, rng.integers(1, 4), replace=False)
            row[properties] = rng.uniform(0.8, 2.2, len(properties))
    elif kind == "unequal":
        is_positive = rng.random(x.shape) < 0.3
        x = np.where(is_positive, rng.exponential(np.linspace(1.2, 0.3, n_dims), x.shape), 0.0)
    return x


def marks() -> None:
    """Count how many dimensions are marked reproducible, and how many of these are true; write a page."""
    rows = []
    for kind in ("groups", "unequal", "chance"):
        for n_objects, n_dims, number in MARKED_STUDIES:
            counts = np.zeros(5, dtype=int)
            for seed in range(SEEDS):
                x = known_dimensions(kind, n_objects, n_dims, np.random.default_rng([seed, n_objects, number]))
                fitted = ct.sparse_dimensions(simulated(x, number, seed), seed=seed, n_threads=1)
                is_true = np.zeros(fitted.n_dims, dtype=bool)
                partners, correlations = match_dimensions(x, fitted.weights)
                is_true[partners[correlations > SAME_DIMENSION]] = True
                marked = fitted.is_reproducible
                n_true = 0 if kind == "chance" else n_dims
                counts += [n_true, fitted.n_dims, marked.sum(), (is_true & marked).sum(), (is_true & ~marked).sum()]
            rows.append([kind, f"{n_objects}", f"{number:,}", *(str(count) for count in counts)])
            print(rows[-1], flush=True)
    titles = ["dimensions", "objects", "answers", "true", "found", "marked reproducible", "of these, true",
              "not marked, but true"]  # fmt: skip
    command = "python -m benchmarks.sparse_dimensions --marks"
    write_measured("sparse-marks", f"{table(titles, rows)}\n\nSums of {SEEDS} studies.\n\n{measured_on(command)}\n")


CONSTANTS: tuple[tuple[ModuleType, str, tuple[float, ...]], ...] = (
    (fitting, "SEARCH_TOLERANCE", (1.0, 20.0)),
    (fitting, "REFIT_TOLERANCE", (1.0, 10.0)),
    (start, "FILL", (0.01, 0.5)),
    (start, "SPREAD", (0.1, 1.0)),
    (penalty, "STEP", (1.1, 1.6)),
    (projected_lbfgs, "PAIRS", (5, 20)),
    (projected_lbfgs, "WINDOW", (2, 10)),
    (projected_lbfgs, "FIRST_STEP", (0.02, 0.5)),
)


def constants(true: np.ndarray) -> None:
    """Compare the constants with smaller and larger values, on parts of the published embedding; write a page."""

    def measured() -> np.ndarray:
        """Return bits, CPU seconds, and the numbers of dimensions that are found, marked and recovered."""
        figures = []
        for seed in range(SEEDS):
            x = true[np.random.default_rng(seed).choice(len(true), 200, replace=False)]
            x = x[:, np.argsort(-x.sum(axis=0))[:20]]
            began = time.process_time()
            fitted = ct.sparse_dimensions(simulated(x, 40_000, seed), 25, n_refits=3, n_threads=1, seed=seed)
            seconds = time.process_time() - began
            score = scored("", "", seconds, fitted.weights, Choices.of(simulated(x, 20_000, seed + 50)), x)
            figures.append([score.bits, seconds, score.n_dims, fitted.is_reproducible.sum(), score.recovered])
        return np.mean(figures, axis=0)

    usual = measured()
    rows = []

    def add(name: str, figures: np.ndarray) -> None:
        counts = [f"{count:.2f}" for count in figures[2:]]
        rows.append([name, f"{figures[0] - usual[0]:+.4f}", f"{figures[1] / usual[1]:.2f}", *counts])
        print(rows[-1], flush=True)

    add("as they are", usual)
    for module, name, values in CONSTANTS:
        own = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            add(f"`{name}` = {value:g} instead of {own:g}", measured())
        setattr(module, name, own)
    titles = ["constants", "bits more", "CPU time, relative", "dimensions", "marked reproducible", "recovered, of 20"]
    command = "python -m benchmarks.sparse_dimensions --constants"
    note = f"200 objects, 20 dimensions, 40,000 answers; means of {SEEDS} trials."
    write_measured("sparse-constants", f"{table(titles, rows)}\n\n{note}\n\n{measured_on(command)}\n")


TITLES = ["answers", "method", "time", "accuracy", "bits", "dimensions", "recovered", "median r"]


def write_page(files: list[str]) -> None:
    """Write the page from the files of several runs, each after the name of its machine."""
    rows = []
    for machine, _, path in (one.partition("=") for one in files):
        scores = [Score(**score) for score in json.loads(Path(path).read_text(encoding="utf-8"))]
        rows += [[machine, *score.row()] for score in scores if score.seconds]
    command = "python -m benchmarks.sparse_dimensions"
    text = f"{table(['machine', *TITLES], rows)}\n\n*Made by `{command}` with closerthan {ct.__version__}.*\n"
    write_measured("sparse-dimensions", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one-core", action="store_true", help="measure the processor time of one thread")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dims", type=int, default=60)
    parser.add_argument("--refits", type=int, default=5)
    parser.add_argument("--penalty", type=float, help="penalty of closerthan; by default chosen by held-out answers")
    parser.add_argument("--answers", type=float, nargs="*", default=[1e6, 4e6])
    parser.add_argument("--batches", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--penalties", type=float, nargs="*", default=[0.0005, 0.002, 0.004, 0.008])
    parser.add_argument("--adam-seconds", type=float, default=600.0)
    parser.add_argument("--without-people", action="store_true")
    parser.add_argument("--only-ours", action="store_true", help="without Adam")
    parser.add_argument("--json", type=Path, help="write all figures to this file instead of the page")
    parser.add_argument("--marks", action="store_true", help="test the marks of reproducible dimensions instead")
    parser.add_argument("--constants", action="store_true", help="compare the constants with other values instead")
    parser.add_argument("--page", nargs="+", metavar="MACHINE=FILE", help="write the page from files of --json")
    options = parser.parse_args()
    if options.marks or options.constants:
        marks() if options.marks else constants(truth())
        return
    if options.page:
        write_page(options.page)
        return
    true = truth()
    if options.quick:
        options.answers, options.refits, options.dims, options.adam_seconds = [20_000], 1, 10, 5.0
        options.batches, options.penalties = [1000], [0.008]
    test = Choices.of(simulated(true, N_TEST, seed=1))
    scores = [scored("simulated", "the true dimensions", 0.0, true, test, true)]
    if not options.without_people and not options.quick:
        training, held_out = people().split(0.1, np.random.default_rng(0), by="answers")
        scores += measured_fits("127,304 of people, 90 %", training, Choices.of(held_out), None, options)
    for number in options.answers:
        scores += measured_fits(f"{int(number):,} simulated", simulated(true, int(number), seed=0), test, true, options)
    command = "python -m benchmarks.sparse_dimensions" + f" --device {options.device}" * (options.device != "cpu")
    text = f"{table(TITLES, [score.row() for score in scores])}\n\n{measured_on(command)}\n"
    print(text)
    if options.json:
        options.json.write_text(json.dumps([score._asdict() for score in scores], indent=1), encoding="utf-8")
    if options.json is None and not options.quick:
        write_measured("sparse-dimensions", text)


if __name__ == "__main__":
    main()
