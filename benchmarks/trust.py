"""Validity of replicates: predictions, ellipses and probabilities compared with the truth.

    python -m benchmarks.trust            nine CPU minutes; writes docs/measured/trust-*.md
    python -m benchmarks.trust --quick    a small version; writes nothing
    python -m benchmarks.trust prediction | ellipses | probabilities | worlds

Prediction: the error of the single map and of the mean of replicates, on a fifth of the answers of real and of
simulated people. Real answers are read from the folder CLOSERTHAN_DATA; missing sets are skipped.
Ellipses: how often the 95 % ellipse contains the true position, for simulated people who answer as the loss assumes.
Probabilities: predicted and observed frequencies of new answers of the same people, in classes of ten per cent.
Worlds: how often neighbours are right and ellipses contain the true position, with other points and people (narrow
groups, curves, heavy tails, lapses, a loss that does not match the people). Two CPU minutes.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import faces
from benchmarks.tables import table
from closerthan.calibration import tenths
from closerthan.datasets import simulated
from closerthan.metrics import procrustes
from closerthan.uncertainty.alignment import size_is_free
from closerthan.uncertainty.neighbours import neighbour_probability
from closerthan.wording import percent

SETS = 8  # splits of each problem
PARTS = ("prediction", "ellipses", "probabilities", "worlds")
N_REPLICATES = 4  # few, because predictions come from the committee, which has its own maps


Parts = tuple[ct.Comparisons, ct.Comparisons]  # to fit, and to test with


@dataclass(frozen=True)
class Problem:
    """Answers to fit and to test with, by seed, and the number of dimensions to fit."""

    name: str
    parts: Callable[[int], Parts]
    n_dims: int


def points(n_objects: int, n_dims: int, size: float = 1.0, seed: int = 0) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal((n_objects, n_dims))


def split(answers: Callable[[], ct.Comparisons], by: str = "answers") -> Callable[[int], Parts]:
    """Return a function that holds out a fifth of the answers."""
    return lambda seed: answers().split(0.2, np.random.default_rng(seed), by=by)


def simulation(n_objects: int, n_dims: int, n_answers: int, size: float = 1.0, **people: Any) -> Callable[[int], Parts]:
    """Return a function that simulates answers to fit, and 20,000 new ones to test with."""

    def parts(seed: int) -> Parts:
        truth = points(n_objects, n_dims, size, seed)
        return simulated(truth, n_answers, seed=seed, **people), simulated(truth, 20_000, seed=1000 + seed, **people)

    return parts


REVERSED = {"noise": "flip", "level": 0.2, "quadruplets": True}
PROBLEMS = (
    Problem("cars, 2 dimensions", split(ct.datasets.cars), 2),
    Problem("cars, 3 dimensions", split(ct.datasets.cars), 3),
    Problem("music, 2 dimensions", split(ct.datasets.music), 2),
    Problem("music, 5 dimensions", split(ct.datasets.music), 5),
    Problem("faces, 2 dimensions, new answers", split(faces), 2),
    Problem("faces, 4 dimensions, new people", split(faces, "people"), 4),
    Problem("simulated ste, 20 answers per coordinate", simulation(50, 3, 3_000, noise="ste"), 3),
    Problem("simulated tste, 50 answers per coordinate", simulation(60, 2, 6_000, size=2.0, noise="tste"), 2),
    Problem("simulated distances with errors, 25 answers", simulation(80, 4, 8_000, noise="distance", level=0.4), 4),
    Problem("simulated quadruplets, 20 % reversed, 50 answers", simulation(40, 2, 4_000, **REVERSED), 2),
)


# ---- prediction ------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """Errors and log losses of the single map and of the replicates on one set of held-out answers."""

    single: float  # errors
    replicates: float
    single_loss: float  # log losses
    replicates_loss: float
    discordant: int  # answers that only one of the two predicts correctly
    n_answers: int


def prediction(quick: bool) -> str:
    rows, places, lower, measured = [], Counter(), 0, 0
    for problem in PROBLEMS[-2:] if quick else PROBLEMS:
        try:
            outcomes = [judged(*problem.parts(seed), problem.n_dims, seed) for seed in range(1 if quick else SETS)]
        except OSError as error:
            print(f"{problem.name}: left out ({error})", flush=True)
            continue
        single, mean, loss, loss_mean, _, _ = np.array(outcomes).mean(axis=0)
        # Only answers on which the two disagree carry information about the difference (McNemar 1947).
        spread = np.sqrt(sum(one.discordant for one in outcomes)) / sum(one.n_answers for one in outcomes)
        gain = single - mean
        places["better" if gain > spread else "worse" if gain < -spread else "as good"] += 1
        lower += loss_mean < loss
        measured += 1
        cells = (f"{single:.4f}", f"{mean:.4f}", f"{-gain:+.4f} ± {spread:.4f}", f"{loss:.4f}", f"{loss_mean:.4f}")
        rows.append((problem.name, *cells))
        print(*rows[-1], sep=" | ", flush=True)
    header = ("set", "error, single map", "error, replicates", "difference", "log loss, single", "log loss, replicates")
    return "\n\n".join(
        [
            f"Of {measured} sets, replicates predict held-out answers better than the single map on "
            f"**{places['better']}**, as well on **{places['as good']}** (within a standard error) and worse on "
            f"**{places['worse']}**; their probabilities are better (a lower log loss) on **{lower}**:",
            table(header, rows),
            f"Means over {SETS} ways to hold out a fifth (simulated people: over {SETS} sets, on 20,000 new answers), "
            f'with standard errors; a committee of 20 to 50 maps, `loss="auto"`, otherwise default settings. '
            "Probabilities of one half have a log loss of 0.693. If the answers determine a map well, averaging "
            "several maps hardly changes its predictions, but makes their probabilities more accurate.",
        ]
    )


def judged(train: ct.Comparisons, test: ct.Comparisons, n_dims: int, seed: int) -> Judged:
    replicates = ct.replicate(train, n_dims, n_replicates=N_REPLICATES, seed=seed)
    calibrated = ct.held_out_error(
        train, n_dims, loss=replicates.result.loss, penalty=replicates.result.penalty, seed=seed
    ).calibration
    single = ct.metrics.log_odds(test, replicates.result.embedding, replicates.result.loss)
    probability = replicates.probability(test)
    wrong, wrong_by_single = ~(probability > 0.5), ~(single > 0)
    return Judged(
        float(wrong_by_single.mean()),
        float(wrong.mean()),
        float(-np.log(np.maximum(calibrated.probability(single), 1e-12)).mean()),
        float(-np.log(np.maximum(probability, 1e-12)).mean()),
        int((wrong != wrong_by_single).sum()),
        len(test),
    )


# ---- ellipses and probabilities --------------------------------------------------------------------------------------

SHAPES = ((20, 1), (50, 1), (20, 2), (50, 2), (200, 2), (50, 3), (100, 5))  # objects, dimensions
PER_COORDINATE = (8, 20, 80)  # answers
MODELS = {"ste": 1.0, "tste": 2.0, "ckl": 2.0}  # losses with a response model, and the scale of their points


HEAD = ("people as in", "answers per object and dimension")


def simulated_cases(quick: bool) -> Iterator[tuple[str, int, int, int, int]]:
    for loss in MODELS:
        for n_objects, n_dims in SHAPES[1:2] if quick else SHAPES:
            for per in PER_COORDINATE[1:2] if quick else PER_COORDINATE:
                trials = 1 if quick else max(1, 60 // n_objects)
                for seed in range(trials):
                    yield loss, n_objects, n_dims, per, seed


def fitted(
    loss: str, n_objects: int, n_dims: int, per: int, seed: int, n_replicates: int
) -> tuple[np.ndarray, ct.Replicates]:
    truth = points(n_objects, n_dims, MODELS[loss], seed)
    answers = simulated(truth, per * n_objects * n_dims, noise=loss, seed=seed)
    starts = 4 if n_dims == 1 else 2
    return truth, ct.replicate(answers, n_dims, n_replicates=n_replicates, loss=loss, n_starts=starts, seed=seed)


def simulated_people(quick: bool) -> tuple[str, str]:
    held: dict[tuple[str, int, int], list[np.ndarray]] = {}
    probabilities: dict[tuple[str, int], list[np.ndarray]] = {}
    for loss, n_objects, n_dims, per, seed in simulated_cases(quick):
        truth, replicates = fitted(loss, n_objects, n_dims, per, seed, 20 if quick else 100)
        scaled = size_is_free(replicates.result.loss)
        aligned = procrustes(truth, replicates.result.embedding, scaling=scaled).aligned
        held.setdefault((loss, n_dims, per), []).append(replicates.ellipses(0.95).contain(aligned))
        new = simulated(truth, 2_000, noise=loss, seed=1000 + seed)
        probabilities.setdefault((loss, per), []).append(replicates.probability(new))
        print(loss, n_objects, n_dims, per, f"{held[loss, n_dims, per][-1].mean():.2f}", flush=True)
    return ellipses_text(held), probabilities_text(probabilities)


def ellipses_text(held: dict[tuple[str, int, int], list[np.ndarray]]) -> str:
    shares = {key: float(np.concatenate(parts).mean()) for key, parts in held.items()}
    good = sum(0.85 <= share <= 0.99 for share in shares.values())
    dims = sorted({n_dims for _, n_dims, _ in shares})
    rows = []
    for loss in MODELS:
        for per in sorted({per for name, _, per in shares if name == loss}):
            cells = [shares.get((loss, n_dims, per)) for n_dims in dims]
            rows.append((loss, f"{per}", *("" if c is None else mark(c) for c in cells)))
    header = (*HEAD, *(f"{n_dims} dimension{'s' * (n_dims > 1)}" for n_dims in dims))
    return "\n\n".join(
        [
            f"The 95 % ellipse contains the true position of 85 to 99 % of the objects in **{good} of {len(shares)}** "
            "cases (the others are in bold):",
            table(header, rows),
            "20 to 200 objects, 100 replicates. The true points are aligned with the map by rotation, reflection and "
            "translation, for tste and ckl also by scaling, because their answers do not determine the size of a map.",
        ]
    )


def mark(share: float) -> str:
    text = percent(share, digits=0)
    return text if 0.85 <= share <= 0.99 else f"**{text}**"


def probabilities_text(probabilities: dict[tuple[str, int], list[np.ndarray]]) -> str:
    rows, good, judged = [], 0, 0
    for (loss, per), parts in probabilities.items():
        cells = []
        for tenth in tenths(np.concatenate(parts)):
            off = abs(tenth.predicted - tenth.right)
            if tenth.number >= 500:
                judged += 1
                good += off <= 0.05
            cell = f"{percent(tenth.predicted, digits=0)}: {percent(tenth.right, digits=0)}"
            cells.append(cell if off <= 0.05 or tenth.number < 500 else f"**{cell}**")
        rows.append((loss, f"{per}", *cells, *[""] * (5 - len(cells))))
    header = (*HEAD, *(f"{low} – {low + 10} %" for low in range(50, 100, 10)))
    return "\n\n".join(
        [
            f"Predicted and observed frequencies differ by at most five points in **{good} of {judged}** tenths "
            "with at least 500 answers (the others are in bold):",
            table(header, rows),
            "New answers of the same simulated people, over all objects and dimensions of the table of ellipses.",
        ]
    )


# ---- other worlds ----------------------------------------------------------------------------------------------------

WORLD_SETS = 4
WORLD_SEED = 2_000  # seed of the first set; the method was developed on smaller seeds
LIKELY = (0.5, 0.7, 0.9, 1.01)  # bin edges for the probabilities of neighbours
GROUP_CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]])


def curved(n_objects: int, rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(-1, 1, n_objects)
    return np.stack([2 * t, 1.5 * t**2], axis=1) + 0.05 * rng.standard_normal((n_objects, 2))


def ring(n_objects: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n_objects)
    return 1.4 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * rng.standard_normal((n_objects, 2))


def narrow_groups(n_objects: int, rng: np.random.Generator) -> np.ndarray:
    return GROUP_CENTRES[np.arange(n_objects) % 3] + 0.25 * rng.standard_normal((n_objects, 2))


def cloud(n_dims: int) -> Callable[[int, np.random.Generator], np.ndarray]:
    return lambda n_objects, rng: rng.standard_normal((n_objects, n_dims))


@dataclass(frozen=True)
class World:
    """A kind of simulated study: points, people, and the loss to fit."""

    name: str
    points: Callable[[int, np.random.Generator], np.ndarray]
    per: int  # answers per object and dimension
    loss: str = "ste"
    noise: str = "ste"
    lapses: float = 0.0  # fraction of the answers that are guesses


WORLDS = (
    World("normal cloud, few answers", cloud(2), 10),
    World("normal cloud", cloud(2), 30),
    World("normal cloud, many answers", cloud(2), 100),
    World("normal cloud, 3 dimensions", cloud(3), 15),
    World("normal cloud, 1 dimension", cloud(1), 30),
    World("three narrow groups", narrow_groups, 30),
    World("three narrow groups, soe", narrow_groups, 30, loss="soe"),
    World("curve", curved, 30),
    World("ring", ring, 20),
    World("heavy tails", lambda n_objects, rng: 0.7 * rng.standard_t(2.5, (n_objects, 2)), 20),
    World("20 % lapses", cloud(2), 30, lapses=0.2),
    World("tste", cloud(2), 30, "tste", "tste"),
    World("ckl", cloud(2), 20, "ckl", "ckl"),
)


def worlds(quick: bool) -> str:
    """Compare the stated probabilities of neighbours, and the ellipses, with the truth."""
    rows, shares, wrongs = [], [], []
    totals: dict[int, list[np.ndarray]] = {1: [], 3: []}
    for world in WORLDS[:2] if quick else WORLDS:
        held, wrong, likely = [], [], {1: [], 3: []}
        for seed in range(WORLD_SEED, WORLD_SEED + (1 if quick else WORLD_SETS)):
            truth, replicates = of_world(world, seed, 20 if quick else 100)
            aligned = procrustes(truth, replicates.result.embedding, scaling=True).aligned
            held.append(replicates.ellipses(0.95).contain(aligned))
            correct = simulated(truth, 5_000, seed=1000 + seed)  # answers without noise
            wrong.append((replicates.agreement(correct) < 0.5)[replicates.decided(correct)])
            for k, parts in likely.items():
                fraction, calibrated = neighbour_probability(replicates.maps, k), replicates.neighbour_probability(k)
                near = neighbour_probability(truth[np.newaxis], k)
                # The plain fraction of replicates, and the calibrated probability.
                parts.append(np.stack([fraction.ravel(), calibrated.ravel(), near.ravel()]))
        share = float(np.concatenate(held).mean())
        shares.append(share)
        wrongs.append(float(np.concatenate(wrong).mean()))
        cells = [f"{world.per}", percent(share, digits=0), percent(wrongs[-1])]
        for k, parts in likely.items():
            fraction, calibrated, near = np.concatenate(parts, axis=1)
            totals[k].append(np.stack([fraction, calibrated, near]))
            cells += [predicted_and_observed(column, near, 0.5, 1.01) for column in (fraction, calibrated)]
        rows.append((world.name, *cells))
        print(*rows[-1], sep=" | ", flush=True)
    everywhere = [np.concatenate(parts, axis=1) for parts in totals.values()]
    header = (
        "points and people",
        "answers per object and dimension",
        "true positions inside the 95 % ellipse",
        "decided triplets that are wrong",
        "nearest, fraction of replicates",
        "nearest, calibrated",
        "among the 3 nearest, fraction of replicates",
        "among the 3 nearest, calibrated",
    )
    classes = [
        (
            f"{name}, {percent(low, digits=0)} to {percent(min(high, 1.0), digits=0)}",
            *(predicted_and_observed(pairs[row], pairs[2], low, high) for pairs in everywhere),
        )
        for row, name in enumerate(("fraction of replicates", "calibrated"))
        for low, high in pairwise(LIKELY)
    ]
    return "\n\n".join(
        [
            f"In {len(rows)} simulated worlds the 95 % ellipse contains the true position of "
            f"**{percent(min(shares), 0)} to {percent(max(shares), 0)}** of the objects, and "
            f"**{percent(min(wrongs))} to {percent(max(wrongs))}** of the decided triplets are wrong. "
            "Neighbours with a probability of at least 50 %, predicted: observed "
            "(number of pairs):",
            table(header, rows),
            "The same by probability, over all worlds, predicted: observed (number of pairs):",
            table(("probability", "nearest", "among the 3 nearest"), classes),
            f"40 objects, {WORLD_SETS} sets each, 100 replicates; the method was developed on other sets. The true "
            "points are aligned with the map by rotation, reflection, translation and scaling: ellipses describe where "
            "an object lies relative to the others, not how large the map is.",
        ]
    )


def of_world(world: World, seed: int, n_replicates: int) -> tuple[np.ndarray, ct.Replicates]:
    rng = np.random.default_rng([seed, 7])
    truth = MODELS.get(world.noise, 1.0) * world.points(40, rng)
    n_dims = truth.shape[1]
    answers = simulated(truth, world.per * truth.size, noise=world.noise, seed=rng)
    guessed = rng.random(len(answers)) < world.lapses / 2
    rows = np.where(guessed[:, np.newaxis], answers.rows[:, [0, 2, 1]], answers.rows)
    answers = ct.Comparisons.from_triplets(rows, n_objects=len(truth))
    starts = 4 if n_dims == 1 else 2
    return truth, ct.replicate(answers, n_dims, n_replicates=n_replicates, loss=world.loss, n_starts=starts, seed=seed)


def predicted_and_observed(probability: np.ndarray, near: np.ndarray, low: float, high: float) -> str:
    inside = (probability >= low) & (probability < high)
    if not inside.any():
        return ""
    predicted, observed = probability[inside].mean(), near[inside].mean()
    return f"{percent(predicted, digits=0)}: {percent(observed, digits=0)} ({inside.sum():,})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--quick", action="store_true", help="a small version, which writes nothing")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    parts = set(arguments.parts or PARTS)
    texts = {}
    if "prediction" in parts:
        texts["prediction"] = prediction(arguments.quick)
    if parts & {"ellipses", "probabilities"}:
        texts["ellipses"], texts["probabilities"] = simulated_people(arguments.quick)
    if "worlds" in parts:
        texts["worlds"] = worlds(arguments.quick)
    for name, text in texts.items():
        print(f"\n{text}\n", flush=True)
        if not arguments.quick:
            write_measured(f"trust-{name}", f"{text}\n\n{measured_on('python -m benchmarks.trust')}")


if __name__ == "__main__":
    main()
