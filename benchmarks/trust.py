"""Whether what replicates say can be believed: predictions, ellipses and probabilities, against what is known.

    python -m benchmarks.trust            half an hour on two cores; writes docs/measured/trust-*.md
    python -m benchmarks.trust --quick    a rehearsal, in which everything is small; writes nothing
    python -m benchmarks.trust prediction | ellipses | probabilities

Prediction: answers of people and of simulated people, a fifth of them held out; the error of the single map beside that
of the mean of replicates. People's answers are read from the folder CLOSERTHAN_DATA; sets that are missing are left
out.
Ellipses: simulated people who answer as the loss assumes; how often the 95 % ellipse holds the true place.
Probabilities: the same people, new answers; what was said beside what was right, tenth by tenth.
"""

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.tables import table
from closerthan.calibration import tenths
from closerthan.datasets import simulated
from closerthan.metrics import procrustes
from closerthan.uncertainty.alignment import size_is_free
from closerthan.wording import percent

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured"
SETS = 8  # of parts for each problem
N_REPLICATES = 4  # what predicts is their committee, whose maps are others


Parts = tuple[ct.Comparisons, ct.Comparisons]  # to fit, and to judge by


@dataclass(frozen=True)
class Problem:
    """Answers to fit and others to judge by, for a seed; and how many dimensions to fit."""

    name: str
    parts: Callable[[int], Parts]
    n_dims: int


def points(n_objects: int, n_dims: int, size: float = 1.0, seed: int = 0) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal((n_objects, n_dims))


def split(answers: Callable[[], ct.Comparisons], by: str = "answers") -> Callable[[int], Parts]:
    """A fifth of people's answers is held out."""
    return lambda seed: answers().split(0.2, np.random.default_rng(seed), by=by)


def made(n_objects: int, n_dims: int, n_answers: int, size: float = 1.0, **people: Any) -> Callable[[int], Parts]:
    """Simulated people have as many new answers as one likes."""

    def parts(seed: int) -> Parts:
        truth = points(n_objects, n_dims, size, seed)
        return simulated(truth, n_answers, seed=seed, **people), simulated(truth, 20_000, seed=1000 + seed, **people)

    return parts


def faces() -> ct.Comparisons:
    folder = os.environ.get("CLOSERTHAN_DATA")
    if folder is None or not (Path(folder) / "cfd36_people.csv").exists():
        raise OSError("cfd36_people.csv is not there")
    columns = {"anchor": "head", "near": "winner", "far": "loser", "participant": "worker_id", "split": None}
    return ct.read_comparisons(Path(folder) / "cfd36_people.csv", columns=columns, self_pairs="drop")


REVERSED = {"noise": "flip", "level": 0.2, "quadruplets": True}
PROBLEMS = (
    Problem("cars, 2 dimensions", split(ct.datasets.cars), 2),
    Problem("cars, 3 dimensions", split(ct.datasets.cars), 3),
    Problem("music, 2 dimensions", split(ct.datasets.music), 2),
    Problem("music, 5 dimensions", split(ct.datasets.music), 5),
    Problem("faces, 2 dimensions, new answers", split(faces), 2),
    Problem("faces, 4 dimensions, new people", split(faces, "people"), 4),
    Problem("simulated ste, 20 answers per coordinate", made(50, 3, 3_000, noise="ste"), 3),
    Problem("simulated tste, 50 answers per coordinate", made(60, 2, 6_000, size=2.0, noise="tste"), 2),
    Problem("simulated distances with errors, 25 answers", made(80, 4, 8_000, noise="distance", level=0.4), 4),
    Problem("simulated quadruplets, 20 % reversed, 50 answers", made(40, 2, 4_000, **REVERSED), 2),
)


# ---- prediction ------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """The single map and the replicates, on one set of held-out answers."""

    single: float  # errors
    replicates: float
    single_loss: float  # log losses
    replicates_loss: float
    discordant: int  # answers that one of the two gets right and the other wrong
    n_answers: int


def prediction(quick: bool) -> str:
    rows, places, lower, measured = [], Counter(), 0, 0
    for problem in PROBLEMS[-2:] if quick else PROBLEMS:
        try:
            found = [judged(*problem.parts(seed), problem.n_dims, seed) for seed in range(1 if quick else SETS)]
        except OSError as error:
            print(f"{problem.name}: left out ({error})", flush=True)
            continue
        single, mean, loss, loss_mean, _, _ = np.array(found).mean(axis=0)
        # Answers that both get right or wrong tell nothing of the difference: McNemar (1947).
        spread = np.sqrt(sum(one.discordant for one in found)) / sum(one.n_answers for one in found)
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
            f'with standard errors; a committee of 20 to 50 maps, `loss="auto"`, all else by default. The log loss is '
            "that of probabilities: knowing nothing has 0.693. Where the answers settle a map, averaging others hardly "
            "moves what it says, but it is better known how sure that is.",
        ]
    )


def judged(train: ct.Comparisons, test: ct.Comparisons, n_dims: int, seed: int) -> Judged:
    found = ct.replicate(train, n_dims, n_replicates=N_REPLICATES, seed=seed)
    calibrated = ct.held_out_error(train, n_dims, loss=found.result.loss, seed=seed).calibration
    single = ct.metrics.log_odds(test, found.result.embedding, found.result.loss)
    probability = found.probability(test)
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
MODELS = {"ste": 1.0, "tste": 2.0, "ckl": 2.0}  # losses with a model of people, and the size of their points


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
        truth, found = fitted(loss, n_objects, n_dims, per, seed, 20 if quick else 100)
        scaled = size_is_free(found.result.loss)
        aligned = procrustes(truth, found.result.embedding, scaling=scaled).aligned
        held.setdefault((loss, n_dims, per), []).append(found.ellipses(0.95).contain(aligned))
        new = simulated(truth, 2_000, noise=loss, seed=1000 + seed)
        probabilities.setdefault((loss, per), []).append(found.probability(new))
        print(loss, n_objects, n_dims, per, f"{held[loss, n_dims, per][-1].mean():.2f}", flush=True)
    return ellipses_text(held), probabilities_text(probabilities)


def ellipses_text(held: dict[tuple[str, int, int], list[np.ndarray]]) -> str:
    shares = {key: float(np.concatenate(found).mean()) for key, found in held.items()}
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
            f"The 95 % ellipse holds the true place in 85 to 99 % of the objects in **{good} of {len(shares)}** cases "
            "(the others are in bold):",
            table(header, rows),
            "20 to 200 objects, 100 replicates. The true points are laid over the map by rotation, reflection and "
            "shift, for tste and ckl also by scaling, since their answers do not determine the size of a map.",
        ]
    )


def mark(share: float) -> str:
    shown = percent(share, digits=0)
    return shown if 0.85 <= share <= 0.99 else f"**{shown}**"


def probabilities_text(probabilities: dict[tuple[str, int], list[np.ndarray]]) -> str:
    rows, good, judged = [], 0, 0
    for (loss, per), found in probabilities.items():
        cells = []
        for tenth in tenths(np.concatenate(found)):
            off = abs(tenth.said - tenth.right)
            if tenth.number >= 500:
                judged += 1
                good += off <= 0.05
            shown = f"{percent(tenth.said, digits=0)}: {percent(tenth.right, digits=0)}"
            cells.append(shown if off <= 0.05 or tenth.number < 500 else f"**{shown}**")
        rows.append((loss, f"{per}", *cells, *[""] * (5 - len(cells))))
    header = (*HEAD, *(f"{low} – {low + 10} %" for low in range(50, 100, 10)))
    return "\n\n".join(
        [
            f"Said, and right: within five points in **{good} of {judged}** tenths with at least 500 answers (the "
            "others are in bold):",
            table(header, rows),
            "New answers of the same simulated people, over all objects and dimensions of the table above.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "prediction", "ellipses", "probabilities"])
    parser.add_argument("--quick", action="store_true", help="small, and written nowhere")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    wanted = set(asked.parts) or {"prediction", "ellipses", "probabilities"}
    texts = {}
    if "prediction" in wanted:
        texts["prediction"] = prediction(asked.quick)
    if wanted & {"ellipses", "probabilities"}:
        texts["ellipses"], texts["probabilities"] = simulated_people(asked.quick)
    for name, text in texts.items():
        print(f"\n{text}\n", flush=True)
        if not asked.quick:
            line = measured_on("python -m benchmarks.trust")
            (MEASURED / f"trust-{name}.md").write_text(f"{text}\n\n{line}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
