"""Detection of careless people, and the effect of weights: simulated people, three in ten of them careless.

    python -m benchmarks.people            some minutes on two cores; writes docs/measured/people.md
    python -m benchmarks.people --quick    a small version; writes nothing

Careless people answer a fraction of their questions at random. Measured are the area under the ROC curve of the lapse
rates (the probability that a careless person has a higher rate than a careful one), and the errors of the maps of
weighted and of plain answers, on new answers of careful people; also if no one is careless. A second table adds
minorities of people with another map: how many of them, and of the careless people, are called careless by the map of
all others alone, and after comparing with maps of people who answer alike and with their own map.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.comparisons import reversed_rows
from closerthan.wording import percent

SEEDS = range(100, 101)  # the rules were developed on other seeds
LOSSES = ("tste",)
STARTS = 2  # number of fits whose mean error is compared, because single fits vary
EACH = 100  # answers per person


@dataclass(frozen=True)
class World:
    """A kind of study: objects, people and noise."""

    n_objects: int
    n_dims: int
    n_people: int
    careless: float  # fraction of the people
    lapses: float  # fraction of their answers
    noise: str
    level: float | None = None
    size: float = 1.0

    def answers(self, seed: int) -> tuple[ct.Comparisons, ct.Comparisons, np.ndarray]:
        """Return answers, new answers of careful people, and a mask of the careless people."""
        rng = np.random.default_rng(seed)
        points = self.size * rng.standard_normal((self.n_objects, self.n_dims))
        noise = {"noise": self.noise, "level": self.level}
        rows = ct.datasets.simulated(points, EACH * self.n_people, seed=rng, **noise).rows.copy()
        test = ct.datasets.simulated(points, 20_000, seed=rng, **noise)
        people = np.repeat(np.arange(self.n_people), EACH)
        careless = np.zeros(self.n_people, dtype=bool)
        careless[rng.permutation(self.n_people)[: round(self.careless * self.n_people)]] = True
        swapped = careless[people] & (rng.random(len(rows)) < self.lapses / 2)
        rows[swapped] = reversed_rows(rows[swapped])
        return ct.Comparisons.from_triplets(rows, people=people, n_objects=self.n_objects), test, careless

    def __str__(self) -> str:
        noise = self.noise if self.level is None else f"{self.noise} {self.level:g}"
        people = f"{self.n_people} people" if self.careless else f"{self.n_people} people, none careless"
        return f"{self.n_objects} objects, p = {self.n_dims}, {people}, {noise}"


WORLDS = (
    World(30, 2, 30, 0.3, 1.0, "ste", size=1.5),
    World(100, 2, 30, 0.3, 1.0, "ste", size=1.5),
    World(60, 3, 50, 0.3, 1.0, "distance", 0.2),
    World(40, 2, 20, 0.3, 1.0, "flip", 0.15),
    World(50, 5, 40, 0.3, 1.0, "tste", size=2.0),
    World(30, 2, 30, 0.3, 0.5, "ste", size=1.5),
    World(50, 2, 100, 0.3, 0.5, "distance", 0.2),
    World(30, 2, 30, 0.0, 0.0, "ste", size=1.5),
    World(30, 2, 30, 0.0, 0.0, "flip", 0.15),
    World(100, 5, 20, 0.0, 0.0, "ste", size=1.5),
)


MINORITY_SEEDS = range(200, 204)


@dataclass(frozen=True)
class Minority:
    """Forty people, some of whom have another map and four of whom answer at random."""

    n_objects: int
    each: int  # answers per person
    n_minority: int
    n_views: int = 1  # other maps
    shared: int = 0  # dimensions, of two, that the other maps have in common with the map of the majority
    n_people: int = 40
    n_careless: int = 4

    def answers(self, seed: int) -> tuple[ct.Comparisons, np.ndarray]:
        """Return answers and the role of each person: 0 for the majority, 1 for the minority, 2 for careless people."""
        rng = np.random.default_rng(seed)
        views = 1.5 * rng.standard_normal((1 + self.n_views, self.n_objects, 2))
        views[1:, :, : self.shared] = views[0, :, : self.shared]
        role = np.zeros(self.n_people, dtype=int)
        role[: self.n_minority], role[self.n_minority : self.n_minority + self.n_careless] = 1, 2
        view = np.where(role == 1, 1 + np.arange(self.n_people) % self.n_views, 0)
        people = [ct.datasets.simulated(views[one], self.each, noise="ste", seed=rng).rows for one in view]
        rows = np.concatenate(people)
        swapped = (np.repeat(role, self.each) == 2) & (rng.random(len(rows)) < 0.5)
        rows[swapped] = reversed_rows(rows[swapped])
        names = np.repeat(np.arange(self.n_people), self.each)
        return ct.Comparisons.from_triplets(rows, people=names, n_objects=self.n_objects), role

    def __str__(self) -> str:
        who = "nobody" if not self.n_minority else "one person" if self.n_minority == 1 else f"{self.n_minority} people"
        view = "with another map" if self.n_views == 1 else f"with {self.n_views} other maps"
        half = ", one of two dimensions in common" * bool(self.shared)
        return f"{self.n_objects} objects, {self.each} answers each, {who} {view}{half}"


MINORITIES = (
    Minority(30, 50, 8),
    Minority(30, 100, 8),
    Minority(30, 100, 12, n_views=2),
    Minority(30, 50, 8, shared=1),
    Minority(30, 100, 8, shared=1),
    Minority(20, 150, 1),
    Minority(30, 100, 1),
    Minority(30, 50, 0),
)


def judged(minority: Minority) -> list[str]:
    """Return a row of the second table."""
    verdicts: dict[tuple[int, str], list[str]] = {(role, way): [] for role in (1, 2) for way in ("alone", "all")}
    for seed in MINORITY_SEEDS:
        answers, role = minority.answers(seed)
        for person in ct.assess_people(answers, loss="soe", seed=seed).people:
            person_role = int(role[int(person.name)])
            if person_role:
                alone = person._replace(group_error=np.nan, own_error=np.nan)
                verdicts[person_role, "alone"].append(alone.verdict)
                verdicts[person_role, "all"].append(person.verdict)

    def cell(person_role: int, way: str, verdict: str) -> str:
        given_verdicts = verdicts[person_role, way]
        return f"{given_verdicts.count(verdict)} of {len(given_verdicts)}" if given_verdicts else ""

    return [
        str(minority),
        cell(1, "alone", "careless"), cell(1, "all", "careless"), cell(1, "all", "own view"),
        cell(2, "alone", "careless"), cell(2, "all", "careless"), cell(2, "all", "own view"),
    ]  # fmt: skip


def area(scores: np.ndarray, careless: np.ndarray) -> float:
    """Return the probability that a careless person has a higher score than a careful one."""
    if not careless.any():
        return np.nan
    n_careless = careless.sum()
    above = rankdata(scores)[careless].sum() - n_careless * (n_careless + 1) / 2
    return float(above / (n_careless * (~careless).sum()))


def measured(world: World, loss: str, seed: int) -> tuple[float, float, float]:
    """Return the area under the curve, the error of the plain map, and the error of the weighted map minus that."""
    answers, test, careless = world.answers(seed)
    assessment = ct.assess_people(answers, world.n_dims, loss=loss, seed=seed)
    rate = {person.name: person.lapse_rate for person in assessment.people}
    scores = np.array([rate[name] for name in answers.person_names])

    def error(part: ct.Comparisons) -> float:
        maps = [ct.embed(part, world.n_dims, loss=assessment.loss, seed=seed + start) for start in range(STARTS)]
        return float(np.mean([ct.triplet_error(test, result.embedding) for result in maps]))

    plain = error(answers)
    return area(scores, careless), plain, error(assessment.weighted) - plain


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    minorities = []
    for minority in MINORITIES[:1] if quick else MINORITIES:
        minorities.append(judged(minority))
        print(*minorities[-1], sep="  ", flush=True)
    rows, areas, worse = [], [], []
    for world in (WORLDS[0], WORLDS[-3]) if quick else WORLDS:
        measures = np.array([
            measured(world, loss, seed)
            for loss in (LOSSES[-1:] if quick else LOSSES)
            for seed in (SEEDS[:1] if quick else SEEDS)
        ])  # fmt: skip
        areas += measures[:, 0].tolist() if world.careless else []
        worse += measures[:, 2].tolist()
        rows.append([
            str(world),
            percent(world.lapses, 0) if world.careless else "",
            f"{measures[:, 0].mean():.3f} ({measures[:, 0].min():.3f})" if world.careless else "",
            f"{measures[:, 1].mean():.4f}",
            f"{measures[:, 2].mean():+.4f}",
            f"{measures[:, 2].max():+.4f}",
        ])  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
    lines = [
        table(["simulated people", "lapses of the careless", "area under the curve (lowest)", "plain error",
               "weighted: mean change", "largest"], rows),
        "",
        f"{EACH} answers per person. Area under the curve: at least .95 in "
        f"{percent(np.mean(np.array(areas) >= 0.95), 0)} of {len(areas)} sets, lowest {min(areas):.3f}. The "
        f"weighted map was worse by more than .002 in {percent(np.mean(np.array(worse) > 0.002), 0)} of {len(worse)} "
        f"sets, at most by {max(worse):.4f}. Errors are means of {STARTS} fits.",
        "",
        table(["40 simulated people", "minority called careless by the others' map alone",
               "after other maps were tried", "own view", "random answers called careless by the others' map alone",
               "after other maps were tried", "own view"], minorities),
        "",
        f"Loss soe, {len(MINORITY_SEEDS)} sets each, four of the people answer at random.",
        "",
        measured_on("python -m benchmarks.people"),
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    if quick:
        print(text)
    else:
        write_measured("people", text)


if __name__ == "__main__":
    main()
