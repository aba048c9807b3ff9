"""A worked study: from a file of people's answers to a paragraph for the methods section.

    python -m benchmarks.believe

39 people compared 36 faces (cfd36_people.csv in the folder CLOSERTHAN_DATA; where it is missing, simulated people take
their place, and nothing is written). Writes docs/measured/what-can-i-believe.md and docs/images/what-can-i-believe.png.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct
from benchmarks.measured_on import measured_on
from benchmarks.trust import faces
from closerthan.datasets import simulated
from closerthan.evaluate.cross_validation import gain, one_standard_error_choice
from closerthan.plotting import ellipses_figure, neighbours_figure
from closerthan.uncertainty.findings import Findings, Wanted
from closerthan.wording import counted, percent

DOCS = Path(__file__).resolve().parent.parent / "docs"
N_PEOPLE, N_FACES, N_ANSWERS = 39, 36, 39_000
MOST_DIMS = 4


def twin() -> ct.Comparisons:
    """Simulated people, as many as in the study."""
    points = np.random.default_rng(0).standard_normal((N_FACES, 3)) * [0.9, 0.7, 0.4]
    answers = simulated(points, N_ANSWERS, noise="ste", seed=0)
    people = np.arange(N_ANSWERS) % N_PEOPLE
    return ct.Comparisons.from_triplets(answers.rows, n_objects=N_FACES, people=people)


def main() -> None:
    try:
        answers = faces()
    except OSError:
        print(f"No cfd36_people.csv in CLOSERTHAN_DATA: {N_PEOPLE} simulated people instead; nothing is written.\n")
        print("\n".join(study(twin(), "simulated people").lines))
        return
    made = study(answers, "people")
    draw(made.found).savefig(DOCS / "images" / "what-can-i-believe.png", dpi=80)
    text = "\n".join([*made.lines, "", measured_on("python -m benchmarks.believe")])
    (DOCS / "measured" / "what-can-i-believe.md").write_text(text + "\n", encoding="utf-8")
    print(text)


class Study(NamedTuple):
    """What was found, and how to say it."""

    found: Findings
    lines: list[str]  # what is known, and a paragraph for the methods section


def study(answers: ct.Comparisons, who: str, most_dims: int = MOST_DIMS, n_replicates: int = 100) -> Study:
    """From answers to what can be said of them."""
    sizes = range(1, most_dims + 1)
    scores = [ct.cross_validate(answers, n_dims, by="people", loss="soe") for n_dims in sizes]
    n_dims = one_standard_error_choice(sizes, scores)
    result = ct.embed(answers, n_dims, by="people", seed=0)
    errors = ct.cross_validate(answers, n_dims, by="people", loss=result.loss)
    settings = {"n_dims": n_dims, "by": "people", "seed": 0}
    found = Findings.of(result, answers, Wanted(n_replicates), settings)
    lines = ["```text", *(f"{fact.name:<12} {fact.value}: {fact.note}" for fact in found.facts()), "```", ""]
    sure = sum(pair.nearest >= 0.95 for pair in found.neighbours)
    last = f" (the last one lowers the error by {gain(scores[n_dims - 2], scores[n_dims - 1])})" if n_dims > 1 else ""
    said = (
        f"> {answers.n_people} {who} gave {answers.n_answers:,} answers about {answers.n_objects} objects. A map in "
        f"{counted(n_dims, 'dimension')} was fitted with closerthan {ct.__version__} (loss {result.loss_name}, chosen "
        "on held-out answers). Its number of dimensions is the smallest within one standard error of the lowest error "
        f"in a cross-validation (loss soe) that left out whole people{last}. The map's loss mispredicts "
        f"{percent(errors.mean)} (standard error {percent(errors.standard_error)}) of the answers of people who were "
        f"left out. {len(found.replicates)} replicates with randomly weighted people (Bayesian bootstrap) agree at the "
        f"95 % level on {percent(found.replicates.share_decided, digits=0)} of all triplets; {counted(sure, 'object')} "
        f"of {answers.n_objects} have a nearest neighbour that 95 % of them agree on. Ellipses are 95 % regions of the "
        "replicates after generalised Procrustes alignment."
    )
    if found.people is not None:
        judged = ", ".join(f"{number} {verdict}" for verdict, number in found.people.verdicts.items())
        said += f" A lapse model, by the map of the others, judged people so: {judged}; nobody was left out."
    if found.curve is not None:
        said += f" By a learning curve over people, twice as many would have an error of {found.curve.twice}."
    return Study(found, [*lines, said])


def draw(found: Findings) -> Figure:
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    replicates, names = found.replicates, found.names
    x = replicates.result.embedding
    flat = min(x.shape[1], 2)
    radii = {percent(level, digits=0): found.ellipses(level).radius(flat) for level in (0.5, 0.95)}
    moments = found.ellipses().moments
    ellipses_figure(x, moments, radii, names, unsettled=replicates.unsettled, title="Where they may lie", ax=left)
    probability = replicates.neighbour_probability(found.k)
    neighbours_figure(x, probability, names, k=found.k, title="Which neighbours are sure", ax=right)
    return figure


if __name__ == "__main__":
    main()
