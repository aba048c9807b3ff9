"""How many answers are saved when questions are chosen: chosen, random, by uncertainty alone, and by the rule of ARR.

    python -m benchmarks.questions [--quick] [--runs 10] [--only eggs]

Asks simulated people, fits a map now and then, and measures how often it is right about other questions, answered
without noise. Each run is kept in build/benchmarks/questions.jsonl, so that a benchmark that was ended goes on.
Writes docs/measured/questions.md and docs/images/questions.png.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.participants import World, cloud, eggs
from benchmarks.samplers import SAMPLERS
from benchmarks.tables import table
from closerthan.collect.choosing import fitted_map
from closerthan.losses import loss_named
from closerthan.plotting.palette import COLOURS

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "benchmarks" / "questions.jsonl"
COMMAND = "python -m benchmarks.questions"
PER_OBJECT = (5, 7, 10, 14, 20, 28, 40)  # answers, after which the map is measured
GOAL_AT = 28  # the goal is what random questions reach with so many
WORLDS = {
    "eggs": eggs(),
    "100-2": cloud(100, 2, 0.025),
    "30-1": cloud(30, 1, 0.1),
    "100-2-clean": cloud(100, 2, 0.0),
    "100-2-lapses": cloud(100, 2, 0.3),
    "100-5": cloud(100, 5, 0.025),
    "1000-2": cloud(1000, 2, 0.1),
}
QUICK = ("30-1",)

Curves = dict[tuple[str, str], list[list[float]]]


def curve(world: World, sampler: str, seed: int) -> list[float]:
    """The accuracy after so many answers per object."""
    people, rng = world.people(seed), np.random.default_rng([seed, 5])
    rows = np.zeros((0, 3), np.int64)
    found = []
    for per_object in PER_OBJECT:
        while len(rows) < per_object * world.n_objects:
            known = people.answers(rows) if len(rows) else None
            asked = SAMPLERS[sampler](known, world.n_objects, world.n_dims, rng)
            rows = np.concatenate([rows, people.ask(asked)])
        loss = loss_named("tste").in_dims(world.n_dims)
        x = fitted_map(people.answers(rows), world.n_dims, loss, np.random.default_rng(seed))
        found.append(1 - ct.triplet_error(people.test, x))
    return found


def measure(names: list[str], runs: int) -> Curves:
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    kept: Curves = defaultdict(list)
    if KEPT.exists():
        for line in KEPT.read_text().splitlines():
            record = json.loads(line)
            kept[record["world"], record["sampler"]].append(record["accuracy"])
    for seed in range(runs):
        for name in names:
            for sampler in SAMPLERS:
                if len(kept[name, sampler]) <= seed:
                    begun = time.process_time()
                    found = curve(WORLDS[name], sampler, seed)
                    kept[name, sampler].append(found)
                    with KEPT.open("a") as file:
                        record = {"world": name, "sampler": sampler, "seed": seed, "accuracy": found}
                        print(json.dumps({**record, "cpu_seconds": time.process_time() - begun}), file=file)
    return kept


def needed(accuracy: np.ndarray, goal: float) -> float:
    """Answers per object at which a curve first reaches the goal, between two points by a straight line."""
    best = np.maximum.accumulate(accuracy)
    if best[-1] < goal:
        return np.inf
    return float(np.interp(goal, best, PER_OBJECT)) if best[0] < goal else float(PER_OBJECT[0])


def text(curves: Curves, names: list[str]) -> str:
    rows = []
    for name in names:
        n_runs = min(len(curves[name, sampler]) for sampler in SAMPLERS)
        if not n_runs:
            continue
        medians = {sampler: np.median(curves[name, sampler][:n_runs], axis=0) for sampler in SAMPLERS}
        goal = 0.94 if name == "eggs" else float(medians["random"][PER_OBJECT.index(GOAL_AT)])
        cells = []
        for sampler in SAMPLERS:
            answers = needed(medians[sampler], goal) * WORLDS[name].n_objects
            most = PER_OBJECT[-1] * WORLDS[name].n_objects
            cells.append(f"{answers:,.0f}" if np.isfinite(answers) else f"more than {most:,}")
        ends = " / ".join(f"{medians[sampler][-1]:.3f}" for sampler in SAMPLERS)
        rows.append([WORLDS[name].title, f"{100 * goal:.1f} %", *cells, ends, str(n_runs)])
    header = ["people", "right", *SAMPLERS, f"right with {PER_OBJECT[-1]} answers per object (the same order)", "runs"]
    return table(header, rows) + "\n\n" + measured_on(COMMAND) + "\n"


def draw(curves: Curves, names: list[str]) -> Figure:
    names = [name for name in names if all(curves[name, sampler] for sampler in SAMPLERS)]
    columns = min(3, len(names))
    figure = Figure(figsize=(3.2 * columns, 2.8 * -(-len(names) // columns)), layout="constrained")
    for place, name in enumerate(names):
        panel = figure.add_subplot(-(-len(names) // columns), columns, place + 1)
        for number, sampler in enumerate(SAMPLERS):
            panel.plot(
                np.array(PER_OBJECT) * WORLDS[name].n_objects,
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
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", action="append", choices=list(WORLDS))
    asked = parser.parse_args()
    names = list(QUICK) if asked.quick else asked.only or list(WORLDS)
    curves = measure(names, 1 if asked.quick else asked.runs)
    if asked.quick:
        print(text(curves, names))
        return
    (ROOT / "docs" / "measured" / "questions.md").write_text(text(curves, list(WORLDS)), encoding="utf-8")
    draw(curves, list(WORLDS)).savefig(ROOT / "docs" / "images" / "questions.png", dpi=90)


if __name__ == "__main__":
    main()
