"""Effects on answers besides the map: recovery, false claims, a study full of repetitions, and two real studies.

    python -m benchmarks.answer_effects            ten minutes of CPU time; writes docs/measured/answer-effects*.md
    python -m benchmarks.answer_effects --only recovery|nothing|repeating|real
    python -m benchmarks.answer_effects --quick    a small version; writes nothing

Simulated people answer by Luce's choice rule on a common map. Their scores have preferences for positions and for the
position chosen last; some answers are lapses; and where they may, they call two pairs equal by Davidson's rule.
Measured are the correlation of estimated and true parameters of people, the coverage of the 95 % intervals, and which
terms ``ct.answer_effects`` keeps. The real studies are in the folder that CLOSERTHAN_DATA names.
"""

import argparse
import os
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table
from closerthan.people.effects import AnswerEffects
from closerthan.wording import percent


class People(NamedTuple):
    """The true parameters of simulated people.

    Attributes
    ----------
    map
        The map.
    positions
        (n_people, n_options) preferences for positions.
    repetition, lapses
        What the position chosen last adds to a score, and the rate of lapses.
    """

    map: np.ndarray
    positions: np.ndarray
    repetition: np.ndarray
    lapses: np.ndarray


class Simulated(NamedTuple):
    """A simulated study: the answers, the ties, and the truth."""

    answers: ct.Comparisons
    ties: ct.Comparisons | None
    truth: People


class World(NamedTuple):
    """A kind of study. Spreads are standard deviations between people.

    Attributes
    ----------
    n_options
        3: which is the odd one out? 2: which of two is more similar to a third?
    positions
        Spread of the preferences for positions.
    repetition, repetition_spread
        What the position chosen last adds to a score: mean and spread.
    lapses
        Mean rate of lapses.
    ties
        Davidson's nu; 0: people may not say "equal".
    random_ties
        Rate of ties that have nothing to do with the objects.
    """

    n_options: int = 3
    positions: float = 0.0
    repetition: float = 0.0
    repetition_spread: float = 0.0
    lapses: float = 0.0
    ties: float = 0.0
    random_ties: float = 0.0
    n_people: int = 20
    each: int = 300
    n_objects: int = 20
    scale: float = 1.6

    def study(self, seed: int) -> Simulated:
        """Return a simulated study."""
        rng = np.random.default_rng(seed)
        truth = People(
            self.scale * rng.standard_normal((self.n_objects, 2)),
            self.positions * rng.standard_normal((self.n_people, self.n_options)),
            self.repetition + self.repetition_spread * rng.standard_normal(self.n_people),
            rng.beta(1.5, 1.5 / self.lapses - 1.5, self.n_people) if self.lapses else np.zeros(self.n_people),
        )
        parts = [self._answers_of(person, truth, rng) for person in range(self.n_people)]
        rows, positions, answer, is_tie = (np.concatenate(column) for column in zip(*parts, strict=True))
        person = answer // self.each

        def part(these: np.ndarray) -> ct.Comparisons:
            trials = ct.Trials(positions=positions[these], lines=answer[these] + 1)
            about = {"answers": answer[these], "people": person[these], "trials": trials}
            return ct.Comparisons.from_triplets(rows[these], n_objects=self.n_objects, unmentioned="ignore", **about)

        return Simulated(part(~is_tie), part(is_tie) if is_tie.any() else None, truth)

    def _answers_of(self, person: int, truth: People, rng: np.random.Generator) -> tuple[list, list, list, list]:
        """Return rows, positions of their objects, numbers of their answers, and whether these are ties."""
        rows, positions, answer, is_tie = [], [], [], []
        last = None
        for number in range(person * self.each, (person + 1) * self.each):
            trio = rng.permutation(self.n_objects)[:3]
            pairs = ((1, 2), (0, 2), (0, 1)) if self.n_options == 3 else ((0, 1), (0, 2))
            scores = np.array([-np.sum((truth.map[trio[i]] - truth.map[trio[j]]) ** 2) for i, j in pairs])
            scores += truth.positions[person]
            if last is not None:
                scores[last] += truth.repetition[person]
            if self.ties:
                scores = np.append(scores, np.log(self.ties) + scores.mean())
            chosen = int(np.argmax(scores + rng.gumbel(size=len(scores))))
            if rng.random() < truth.lapses[person]:
                chosen = int(rng.integers(len(scores)))
            tie = chosen == self.n_options or bool(rng.random() < self.random_ties)
            if self.n_options == 3:
                one, other = pairs[chosen]
                rows += [trio[[one, other, chosen]], trio[[other, one, chosen]]]
                positions += [(other, chosen), (one, chosen)]
            else:
                near = 0 if tie else chosen
                rows.append(trio[[0, 1 + near, 2 - near]])
                positions.append((near, 1 - near))
            answer += [number] * (self.n_options - 1)
            is_tie += [tie] * (self.n_options - 1)
            last = last if tie else chosen
        return rows, positions, answer, is_tie


RECOVERY = {
    "odd one out": World(3, 0.7, 0.5, 0.5, 0.1),
    "odd one out, 100 answers each": World(3, 0.7, 0.5, 0.5, 0.1, each=100),
    "two alternatives with ties": World(2, 0.7, 0.5, 0.5, 0.1, ties=0.7),
}
NOTHING = {
    "odd one out": World(3, n_people=12, each=150),
    "two alternatives": World(2, n_people=12, each=150),
    "two alternatives, ties at random": World(2, random_ties=0.2, n_people=12, each=150),
}
REPEATING = World(3, 0.3, 2.2, 1.0, 0.05, each=200, scale=0.9)


def fitted(study: Simulated, seed: int) -> AnswerEffects:
    """Return the effects that are found in a study."""
    return ct.answer_effects(study.answers, 2, ties=study.ties, loss="ste", penalty=0, seed=seed, n_threads=1)


def truths(effects: AnswerEffects, truth: People) -> dict[str, np.ndarray]:
    """Return the true parameters of the people, by the names of the estimated ones."""
    centred = truth.positions - truth.positions.mean(axis=1, keepdims=True)
    if truth.positions.shape[1] == 2:
        of_positions = {"left": truth.positions[:, 0] - truth.positions[:, 1]}
    else:
        of_positions = {f"position {place + 1} of 3": column for place, column in enumerate(centred.T)}
    names = [effect.name for effect in effects.effects]
    every = {**of_positions, "repetition": truth.repetition, "lapse": truth.lapses}
    return {name: every[name] for name in names if name in every}


def recovered(name: str, world: World, n_studies: int) -> list[str]:
    """Return a row of the table of recovered parameters."""
    counts: Counter[str] = Counter()
    correlations: dict[str, list[float]] = {"positions": [], "repetition": [], "lapses": []}
    covered, nu = [], []
    for seed in range(n_studies):
        study = world.study(seed)
        effects = fitted(study, seed)
        counts.update(effects.terms)
        columns = {effect.name: (place, effect.term) for place, effect in enumerate(effects.effects)}
        for title, true in truths(effects, study.truth).items():
            place, term = columns[title]
            correlations[term].append(np.corrcoef(true, effects.values[:, place])[0, 1])
            covered.append(np.mean((effects.low[:, place] <= true) & (true <= effects.high[:, place])))
        nu += [effects.typical[columns["tie"][0]]] if "tie" in columns else []
    means = [f"{np.mean(values):.2f}" if values else "" for values in correlations.values()]
    chosen = ", ".join(f"{term} {number}" for term, number in counts.items())
    of_ties = f"{np.mean(nu):.2f} ({world.ties:g})" if nu else ""
    return [name, str(n_studies), chosen, *means, of_ties, percent(float(np.mean(covered)), 0)]


def measure_recovery(quick: bool) -> None:
    with ProcessPoolExecutor(len(RECOVERY)) as pool:
        rows = list(pool.map(recovered, RECOVERY, RECOVERY.values(), [1 if quick else 2] * len(RECOVERY)))
    titles = [
        "simulated people", "studies", "kept in", "positions: correlation with the truth", "repetition", "lapses",
        "Davidson's nu (true)", "95 % intervals that hold",
    ]  # fmt: skip
    note = (
        "20 people, 20 objects, two dimensions, 300 answers each. Preferences for positions differ by .7 between "
        "people (log odds, standard deviation); the position chosen last gains .5, with a spread of .5; 10 % of the "
        "answers are lapses. Correlations are those across people in studies in which the term was kept."
    )
    _write("answer-effects-recovery", "recovery", quick, table(titles, rows), note)


def claimed(name: str, world: World, n_studies: int) -> list[str]:
    """Return a row of the table of false claims."""
    claims: Counter[str] = Counter()
    for seed in range(n_studies):
        terms = fitted(world.study(1000 + seed), seed).terms
        claims.update(terms)
        claims["any"] += bool(terms)
    number = claims.pop("any", 0)
    return [name, f"{number} of {n_studies}", ", ".join(claims)]


def measure_nothing(quick: bool) -> None:
    with ProcessPoolExecutor(len(NOTHING)) as pool:
        rows = list(pool.map(claimed, NOTHING, NOTHING.values(), [2 if quick else 20] * len(NOTHING)))
    note = "12 people without any preference, repetition or lapse, 150 answers each, 20 objects."
    _write(
        "answer-effects-nothing", "nothing", quick, table(["simulated people", "a term is kept", "which"], rows), note
    )


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of the distances on two maps."""
    upper = np.triu_indices(len(one), 1)
    distances = [np.linalg.norm(x[:, None] - x, axis=2)[upper] for x in (one, other)]
    return float(np.corrcoef(*distances)[0, 1])


def measure_repeating(quick: bool) -> None:
    rows = []
    for seed in range(1 if quick else 3):
        study = REPEATING.study(seed)
        effects = fitted(study, seed)
        alone = ct.embed(study.answers, 2, loss="ste", penalty=0, likelihood="answers", seed=seed, n_threads=1)
        evidence, truth = effects.evidence, study.truth.map
        assert evidence.terms_alone is not None
        scores = (evidence.terms_alone, evidence.map_alone, evidence.full)
        rows.append([
            percent(effects.repetition.fraction),
            *(f"{percent(one.accuracy.accuracy)}, {one.bits:.3f}" for one in scores),
            f"{agreement(truth, alone.embedding):.3f}", f"{agreement(truth, effects.result.embedding):.3f}",
        ])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    titles = [
        "answers that repeat the position", "terms alone: right, bits", "map alone", "map and terms",
        "map alone: correlation of distances with the true ones", "map estimated with the terms",
    ]  # fmt: skip
    note = "Odd one out (chance: 33.3 %, 1.585 bits), 20 people, 200 answers each. Each row is a study."
    _write("answer-effects-repeating", "repeating", quick, table(titles, rows), note)


def measure_real(quick: bool) -> None:
    folder, rows = Path(os.environ["CLOSERTHAN_DATA"]), []
    studies = (("60 cars, most central of three", "cars_most_central.csv"), ("36 faces, 39 people", "cfd36_people.csv"))
    for name, file in studies[:1] if quick else studies:
        began = time.process_time()
        answers = ct.read_comparisons(folder / file)
        effects = ct.answer_effects(answers, 2, loss="ste", penalty=0, seed=0, n_threads=1)
        seconds = time.process_time() - began
        for number, (model, score, bits) in enumerate(effects.evidence.rows()):
            rows.append([name if not number else "", model, score, bits, f"{seconds:.0f} s" if not number else ""])
        print(*effects.sentences, effects.spreads, effects.typical, sep="\n", flush=True)
    titles = ["answers", "model", "held-out answers right", "bits", "CPU time"]
    note = "Two dimensions, ste without a penalty. The cars' file does not say who answered."
    _write("answer-effects-real", "real", quick, table(titles, rows), note)


def _write(page: str, part: str, quick: bool, *blocks: str) -> None:
    print("\n\n".join(blocks), flush=True)
    if not quick:
        command = measured_on(f"python -m benchmarks.answer_effects --only {part}")
        write_measured(page, "\n\n".join([*blocks, command]))


PARTS = {
    "recovery": measure_recovery,
    "nothing": measure_nothing,
    "repeating": measure_repeating,
    "real": measure_real,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=tuple(PARTS))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", ".*occur in no comparison")
    for part in [arguments.only] if arguments.only else PARTS:
        PARTS[part](arguments.quick)


if __name__ == "__main__":
    main()
