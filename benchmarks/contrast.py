"""False positives and power of comparing two maps: without a difference, and with objects that moved.

    python -m benchmarks.contrast            four minutes on two cores; writes docs/measured/contrast.md
    python -m benchmarks.contrast --quick    a small version; writes nothing

Simulated people answer as ste assumes, each with a map that differs a little from that of the group. In the second
group, three of fifteen objects are moved, or none.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.wording import percent

N_OBJECTS = 15
MOVED = (0, 1, 2)
SPREAD = 1.5
EACH = 40  # answers per person in a group


class World(NamedTuple):
    """A kind of study."""

    name: str
    shift: float  # distance by which objects move, in units of the map's spread
    is_paired: bool = False  # the same people are in both groups
    n_people: int = 12  # in each group
    own: float = 0.3  # standard deviation of the positions between people
    by: str | None = None


WORLDS = (
    World("no difference, other people", 0.0),
    World("no difference, the same people", 0.0, is_paired=True),
    World("no difference, people unlike each other", 0.0, own=0.8),
    World("no difference, answers permuted", 0.0, own=0.0, by="answers"),
    World("objects moved by 0.7, other people", 0.7),
    World("objects moved by 0.7, the same people", 0.7, is_paired=True),
    World("objects moved by 1.2, other people", 1.2),
    World("objects moved by 1.2, the same people", 1.2, is_paired=True),
)


def groups(world: World, rng: np.random.Generator) -> list[ct.Comparisons]:
    """Return the answers of both groups."""
    first = SPREAD * rng.standard_normal((N_OBJECTS, 2))
    angle = rng.uniform(0, 2 * np.pi)
    second = first.copy()
    second[list(MOVED)] += world.shift * SPREAD * np.array([np.cos(angle), np.sin(angle)])
    own = world.own * rng.standard_normal((2 * world.n_people, N_OBJECTS, 2))
    answers = []
    for number, places in enumerate((first, second)):
        people = np.arange(world.n_people) + (0 if world.is_paired else number * world.n_people)
        rows = [
            ct.datasets.simulated(places + own[person], EACH, noise="ste", seed=int(rng.integers(1 << 31))).rows
            for person in people
        ]
        person_names = np.repeat([f"p{person}" for person in people], EACH)
        everything = np.concatenate(rows)
        answers.append(
            ct.Comparisons.from_triplets(everything, people=person_names, n_objects=N_OBJECTS, unmentioned="ignore")
        )
    return answers


class Counts(NamedTuple):
    """Averages over many studies of one kind."""

    differ: float  # fraction of studies
    hits: float  # fraction of the moved objects
    false: float  # fraction of studies in which an object that did not move was named


def measured(world: World, n_studies: int, n_permutations: int) -> Counts:
    differ, hits, false = [], [], []
    for study in range(n_studies):
        one, other = groups(world, np.random.default_rng([study, len(world.name)]))
        difference = ct.compare_maps(one, other, loss="ste", n_permutations=n_permutations, by=world.by, seed=study)
        named = {int(moved.name) for moved in difference.moved}
        moved = set(MOVED) if world.shift else set()
        differ.append(difference.differ)
        hits.append(len(named & moved) / len(MOVED))
        false.append(bool(named - moved))
    return Counts(*(float(np.mean(values)) for values in (differ, hits, false)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.filterwarnings("ignore", ".*occur in no comparison")  # in the few answers of one person
    n_studies, n_permutations = (2, 19) if quick else (40, 59)
    rows = []
    for world in WORLDS[:2] if quick else WORLDS:
        counts = measured(world, n_studies, n_permutations)
        hits = percent(counts.hits, digits=0) if world.shift else ""
        rows.append((world.name, percent(counts.differ, digits=0), hits, percent(counts.false, digits=0)))
        print(*rows[-1], sep=" | ", flush=True)
    lines = table(
        [
            "two groups",
            "called different",
            "moved objects that are named",
            "studies that name an object that did not move",
        ],
        rows,
    )
    note = (
        f"{n_studies} simulated studies of each kind with {n_permutations} random groupings; {N_OBJECTS} objects, of "
        f"which {len(MOVED)} moved, 12 people in each group with {EACH} answers each. Distances are fractions of the "
        "map's spread."
    )
    if not quick:
        text = "\n\n".join([lines, note, measured_on("python -m benchmarks.contrast")]) + "\n"
        write_measured("contrast", text)


if __name__ == "__main__":
    main()
