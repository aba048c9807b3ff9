"""Answers saved by choosing questions: our rule, random questions, uncertainty sampling, and the rule of ARR.

    python -m benchmarks.questions [--quick] [--only eggs] [--runs 10] [--minutes 10]

Simulated people answer the questions; from time to time a map is fitted and its accuracy is measured on other
questions, answered without noise. The same is done with recorded answers of real people (in the folder
CLOSERTHAN_DATA), tested on other answers of theirs. Each run is stored in build/benchmarks/questions.jsonl, so that an
interrupted benchmark resumes. Writes docs/measured/questions.md and docs/images/questions.png.
"""

import argparse
import dataclasses
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct
from benchmarks.measured import DOCS, measured_on, write_measured
from benchmarks.participants import World, cloud, eggs, recorded
from benchmarks.real_answers import faces
from benchmarks.results import FOLDER, Results
from benchmarks.samplers import SAMPLERS, Sampler, SamplerState
from benchmarks.tables import table
from benchmarks.workloads import data_folder
from closerthan.collect.choosing.belief import FEWEST, Criterion, fit_maps, next_criterion
from closerthan.operating_system import n_cores
from closerthan.plotting.palette import COLOURS
from closerthan.wording import percentage_points

RESULTS = "questions.jsonl"
COMMAND = "python -m benchmarks.questions"
LARGE = (5, 7, 10, 14, 20)  # answers per object
SIMULATED = {
    "eggs": eggs(per_object=(5, 7, 10, 14, 20, 28, 40)),
    **{
        f"{n_objects}-{n_dims}-{100 * lapses:g}": cloud(
            n_objects, n_dims, lapses, **({"per_object": LARGE} if n_objects > 300 else {})
        )
        for n_objects, n_dims, lapses in (
            *((30, n_dims, lapses) for n_dims in (1, 2, 5) for lapses in (0.0, 0.3)),
            (90, 1, 0.0),
            *((90, n_dims, 0.1) for n_dims in (1, 2, 5)),
            (300, 2, 0.1),
            (1000, 2, 0.1),
        )
    },
}
RECORDED = {
    "cars": recorded("60 cars, which is the most central?", 60, ct.datasets.cars),
    "cfd36": recorded("36 faces", 36, faces),
    "music": recorded("400 artists", 400, ct.datasets.music, per_object=(5, 6, 8, 11, 14)),
}
WORLDS = SIMULATED | RECORDED
DRAWN = ("eggs", "90-1-10", "90-2-10", "90-5-10", "1000-2-10", "cfd36")
QUICK = ("30-1-30",)
ROUND = 0.2  # size of a round as a fraction of the answers, if that is more than one question per object
LOST = 1.05  # number of answers relative to random questions above which the page reports a loss
RIVALS = ("random", "ARR")  # rules that chosen questions should not be worse than

Curves = dict[tuple[str, str], np.ndarray]


def curve(world: str, sampler: str, seed: int) -> list[float]:
    """Return the accuracy after each number of answers per object."""
    return curve_of(WORLDS[world], SAMPLERS[sampler], seed)


def curve_of(world: World, sampler: Sampler, seed: int, *, chooses_criterion: bool = False) -> list[float]:
    """Ask rounds of one question per object, or of a fifth of the answers if that is more; return the accuracies.

    With ``chooses_criterion``, the loss and the penalty are chosen each time the answers have doubled, as in a study.
    """
    criterion, people, rng = Criterion(), world.people(seed), np.random.default_rng([seed, 5])
    state = SamplerState(world.n_objects, world.n_dims)
    begin = FEWEST * world.n_dims
    accuracies: list[float] = []
    for per_object in world.per_object:
        while people.n_answers < per_object * world.n_objects:
            answered = people.n_answers / world.n_objects
            if answered >= begin and sampler.random_fraction < 1:
                if chooses_criterion:
                    criterion = next_criterion(people.answers, world.n_dims, criterion)
                maps = fit_maps(people.answers, world.n_dims, rng, criterion.loss, criterion.penalty)
                state = dataclasses.replace(state, answers=people.answers, maps=maps)
            size = max(1, int(ROUND * answered)) * world.n_objects
            people.ask(sampler, state, min(size, per_object * world.n_objects - people.n_answers), rng)
        first = np.random.default_rng(seed)
        best = fit_maps(people.answers, world.n_dims, first, criterion.loss, criterion.penalty)[0]
        accuracies.append(1 - ct.triplet_error(people.test, best.embedding))
    return accuracies


def jobs(names: list[str], runs: int, results: Results) -> Iterator[tuple[str, str, int]]:
    """Yield the runs to make, ordered so that at any time all worlds have had about the same number of runs."""
    for seed in range(runs):
        for name in names:
            for sampler in SAMPLERS:
                key = {"world": name, "sampler": sampler, "seed": seed}
                if not results.where(**key):
                    yield name, sampler, seed


def measure(waiting: Iterator[tuple[str, str, int]], results: Results, minutes: float, n_processes: int) -> None:
    """Make the runs that have no result yet, several in parallel; none starts when the time is over."""
    end = time.perf_counter() + 60 * minutes
    context = multiprocessing.get_context("spawn")
    cores = context.Queue()
    for _, core in zip(range(n_processes), itertools.cycle(sorted(os.sched_getaffinity(0))), strict=False):
        cores.put(core)
    with ProcessPoolExecutor(n_processes, context, initializer=_on_one_core, initargs=(cores,)) as pool:
        running = {pool.submit(curve, *job): job for job in itertools.islice(waiting, n_processes if minutes else 0)}
        while running:
            future = next(as_completed(running))
            name, sampler, seed = running.pop(future)
            results.add(world=name, sampler=sampler, seed=seed, accuracy=future.result())
            print(f"{name:<10} {sampler:<10} run {seed}", file=sys.stderr, flush=True)
            job = next(waiting, None) if time.perf_counter() < end else None
            if job is not None:
                running[pool.submit(curve, *job)] = job


def _on_one_core(cores: multiprocessing.Queue) -> None:
    """Pin this process to one core, so that the threads of parallel runs do not compete."""
    os.sched_setaffinity(0, {cores.get()})


def curves_of(results: Results) -> Curves:
    """Return, for each world and sampler, the runs that have results for all samplers."""
    curves = {}
    for name in WORLDS:
        runs = {
            sampler: {record["seed"]: record["accuracy"] for record in results.where(world=name, sampler=sampler)}
            for sampler in SAMPLERS
        }
        seeds = sorted(set.intersection(*map(set, runs.values())))
        if seeds:
            curves |= {(name, sampler): np.array([runs[sampler][seed] for seed in seeds]) for sampler in SAMPLERS}
    return curves


def needed(accuracy: np.ndarray, goal: float, about: World) -> float:
    """Return the number of answers with which a curve first reaches the goal, by linear interpolation."""
    best = np.maximum.accumulate(accuracy)
    per_object = np.array(about.per_object)
    if best[-1] < goal:
        return np.inf
    return about.n_objects * float(np.interp(goal, best, per_object) if best[0] < goal else per_object[0])


def answers_needed(curves: Curves, name: str) -> tuple[float, dict[str, float]]:
    """Return the goal, which is the best accuracy of random questions, and the answers that each rule needs for it."""
    medians = {sampler: np.median(curves[name, sampler], axis=0) for sampler in SAMPLERS}
    goal = 0.94 if name == "eggs" else float(medians["random"].max())
    return goal, {sampler: needed(medians[sampler], goal, WORLDS[name]) for sampler in SAMPLERS}


def share_of_random(answers: dict[str, float], most: int) -> float:
    """Return the answers that chosen questions need divided by those of random ones, which count at most ``most``."""
    return answers["chosen"] / min(answers["random"], most)


def ahead(curves: Curves, name: str, of: str) -> tuple[float, float]:
    """Return the advantage of chosen questions over a sampler in percentage points, and two standard errors of it.

    Runs with the same objects are paired, and all measurements of a run are averaged.
    """
    more = 100 * (curves[name, "chosen"] - curves[name, of]).mean(axis=1)
    return float(more.mean()), float(2 * more.std(ddof=1) / len(more) ** 0.5) if len(more) > 1 else np.inf


def rows_of(curves: Curves) -> list[list[str]]:
    rows = []
    for name, about in WORLDS.items():
        if (name, "random") in curves:
            goal, answers = answers_needed(curves, name)
            cells = [f"{one:,.0f}" if np.isfinite(one) else f"> {about.most:,}" for one in answers.values()]
            share = share_of_random(answers, about.most)
            ratio = f"{share:.2f}" if np.isfinite(share) else "> 1"
            ends = " / ".join(percentage_points(np.median(curves[name, one], axis=0)[-1]) for one in SAMPLERS)
            paired = ["{:+.1f} ± {:.1f}".format(*ahead(curves, name, of)) for of in RIVALS]
            runs = str(len(curves[name, "random"]))
            rows.append([about.title, percentage_points(goal), *cells, ratio, *paired, ends, runs])
    return rows


def targets(curves: Curves) -> str:
    """Describe which of the targets are met."""
    names = [name for name in WORLDS if (name, "random") in curves]
    answers = {name: answers_needed(curves, name)[1] for name in names}
    shares = {name: share_of_random(answers[name], WORLDS[name].most) for name in names}
    more = {
        f"{LOST} times the answers of random questions": [name for name in names if shares[name] > LOST],
        "the answers of ARR": [name for name in names if answers[name]["chosen"] > answers[name]["ARR"]],
    }
    lines = []
    if "eggs" in shares:
        share = f"{shares['eggs']:.2f} of the answers that random questions need"
        lines.append(f"Alien eggs, to 94 %: {share} (target: at most half).")
    for (what, lost), of in zip(more.items(), RIVALS, strict=True):
        worse = [name for name in names if sum(ahead(curves, name, of)) < 0]
        lines.append(f"Needs more than {what} (target: nowhere): {_of(lost, names)}.")
        lines.append(f"Significantly less accurate than with {of} questions: {_of(worse, names)}.")
    finite = [share if np.isfinite(share) else 1.0 for share in shares.values()]
    lines.append(f"The median of all rows is {np.median(finite):.2f} of the answers of random questions.")
    return "\n".join(f"- {one}" for one in lines)


def _of(some: list[str], names: list[str]) -> str:
    titles = "; ".join(WORLDS[name].title for name in some)
    return f"in {len(some) or 'none'} of {len(names)} rows" + (f" ({titles})" if some else "")


def text(curves: Curves) -> str:
    ends = f"right at the end, % ({' / '.join(SAMPLERS)})"
    paired = [f"points more than {of}" for of in RIVALS]
    header = ["people", "goal, %", *SAMPLERS, "chosen / random", *paired, ends, "runs"]
    return "\n\n".join([targets(curves), table(header, rows_of(curves)), measured_on(COMMAND)]) + "\n"


def draw(curves: Curves) -> Figure:
    names = [name for name in DRAWN if (name, "random") in curves]
    columns = min(3, len(names))
    figure = Figure(figsize=(3.2 * columns, 2.8 * -(-len(names) // columns)), layout="constrained")
    for place, name in enumerate(names):
        panel = figure.add_subplot(-(-len(names) // columns), columns, place + 1)
        for number, sampler in enumerate(SAMPLERS):
            panel.plot(
                np.array(WORLDS[name].per_object) * WORLDS[name].n_objects,
                np.median(curves[name, sampler], axis=0),
                marker="o",
                markersize=3,
                color=COLOURS[number],
                label=sampler,
            )
        panel.set_title(WORLDS[name].title, loc="left", fontsize=9)
        panel.set_xscale("log")
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_xlabel("answers", fontsize=8)
        panel.tick_params(labelsize=7, which="both")
        if not place:
            panel.legend(frameon=False, fontsize=8)
            panel.set_ylabel("right about other questions", fontsize=8)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run with few objects; nothing is written to docs")
    parser.add_argument("--runs", type=int, default=10, help="number of runs per row of the table")
    parser.add_argument(
        "--minutes",
        type=float,
        default=np.inf,
        help="start no run after this time; 0: write the page from past results",
    )
    parser.add_argument("--processes", type=int, default=n_cores(), help="number of parallel runs")
    parser.add_argument("--only", action="append", choices=list(WORLDS))
    arguments = parser.parse_args()
    results = Results(
        FOLDER / ("questions-quick.jsonl" if arguments.quick else RESULTS), keep=lambda _: not arguments.quick
    )
    names = list(QUICK) if arguments.quick else arguments.only or list(WORLDS)
    missing = [name for name in names if name in RECORDED and not data_folder().is_dir()]
    if missing:
        print(f"no folder CLOSERTHAN_DATA: {', '.join(missing)} left out", file=sys.stderr)
    names = [name for name in names if name not in missing]
    measure(
        jobs(names, 1 if arguments.quick else arguments.runs, results), results, arguments.minutes, arguments.processes
    )
    curves = curves_of(results)
    if arguments.quick:
        print(text(curves))
        return
    write_measured("questions", text(curves))
    draw(curves).savefig(DOCS / "images" / "questions.png", dpi=90)


if __name__ == "__main__":
    main()
