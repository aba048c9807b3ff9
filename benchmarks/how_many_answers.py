"""The number of answers that a map needs: held-out error against answers per object and dimension.

    python -m benchmarks.how_many_answers

Answers are random triplets of random points, some of them reversed; the error is measured on other triplets, none of
which is reversed. Writes docs/measured/how-many-answers.md, docs/measured/how-many-answers-rule.md and
docs/images/how-many-answers.png.
"""

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct
from benchmarks.measured import DOCS, measured_on, write_measured
from benchmarks.tables import table
from closerthan.plotting.palette import COLOURS
from closerthan.wording import percent

SHAPES = [(30, 2), (100, 2), (300, 2), (100, 5), (300, 5), (100, 10)]  # objects, dimensions
PER_OBJECT_AND_DIMENSION = [2, 4, 8, 16, 32, 64, 128]
FLIPPED = [0.0, 0.1, 0.2, 0.3]
TRIALS = 5


def error(n_objects: int, n_dims: int, per: int, flipped: float, seed: int) -> float:
    data = ct.datasets.synthetic(n_objects, n_dims, per * n_objects * n_dims, 5_000, flipped=flipped, seed=seed)
    result = ct.embed(data.train, n_dims, loss="ste", seed=seed, n_starts=4)
    return ct.triplet_error(data.test, result.embedding)


def main() -> None:
    errors = np.array(
        [
            [[[error(*shape, per, flipped, seed) for seed in range(TRIALS)] for per in PER_OBJECT_AND_DIMENSION]
             for shape in SHAPES]
            for flipped in FLIPPED
        ]
    )  # fmt: skip
    draw(errors).savefig(DOCS / "images" / "how-many-answers.png", dpi=90)
    write_measured("how-many-answers", text(errors))
    write_measured("how-many-answers-rule", rule(errors))


def draw(errors: np.ndarray) -> Figure:
    figure = Figure(figsize=(9, 6.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    styles = {2: "-", 5: "--", 10: ":"}
    markers = {30: "s", 100: "o", 300: "^"}
    for panel, flipped, of_noise in zip(panels.flat, FLIPPED, errors, strict=True):
        for (n_objects, n_dims), of_shape in zip(SHAPES, of_noise, strict=True):
            panel.plot(
                PER_OBJECT_AND_DIMENSION,
                of_shape.mean(axis=1),
                styles[n_dims],
                marker=markers[n_objects],
                markersize=4,
                color=COLOURS[list(styles).index(n_dims)],
                label=f"{n_objects} objects in {n_dims} dimensions",
            )
        panel.axhline(0.1, color="0.7", linewidth=1, zorder=0)
        panel.set_title(f"{percent(flipped, digits=0)} of the answers reversed", loc="left", fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_xticks(PER_OBJECT_AND_DIMENSION, [str(per) for per in PER_OBJECT_AND_DIMENSION])
        panel.set_ylim(0, 0.5)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[1]:
        panel.set_xlabel("answers per object and dimension")
    for panel in panels[:, 0]:
        panel.set_ylabel("held-out error")
    panels[0, 1].legend(frameon=False, fontsize=8)
    return figure


def text(errors: np.ndarray) -> str:
    rows = []
    for flipped, of_noise in zip(FLIPPED, errors, strict=True):
        means = of_noise.mean(axis=2)  # shape x per
        cells = [f"{column.min():.3f} – {column.max():.3f}" for column in means.T]
        rows.append([f"{percent(flipped, digits=0)} reversed", *cells])
    shapes = ", ".join(f"{n_objects} objects in {n_dims}" for n_objects, n_dims in SHAPES)
    paragraphs = [
        "Mean held-out errors of the problems, from the lowest to the highest, by answers per object and dimension and "
        "by the fraction of reversed answers:",
        table(["", *(f"{per} answers" for per in PER_OBJECT_AND_DIMENSION)], rows),
        f"Problems: {shapes} dimensions; {TRIALS} sets of random points each, fitted in the true number of "
        "dimensions, four starts, otherwise default settings. The error is measured on 5,000 other "
        "answers, none of them reversed.",
        measured_on("python -m benchmarks.how_many_answers"),
    ]
    return "\n\n".join(paragraphs)


def rule(errors: np.ndarray) -> str:
    rows = []
    for flipped, of_noise in zip(FLIPPED, errors, strict=True):
        worst = of_noise.mean(axis=2).max(axis=0)
        cells = [fewest(worst, goal) for goal in (0.2, 0.1, 0.05)]
        rows.append([f"{percent(flipped, digits=0)} of the answers reversed", *cells])
    introduction = (
        "The fewest answers per object and dimension, of those tried, that bring the held-out error of *every* problem"
        "\ndown to 20 %, 10 % or 5 %:"
    )
    return "\n\n".join([introduction, table(["", "20 %", "10 %", "5 %"], rows)])


def fewest(errors: np.ndarray, goal: float) -> str:
    good = [per for per, error in zip(PER_OBJECT_AND_DIMENSION, errors, strict=True) if error <= goal]
    # The smallest number for which all errors from there on are low enough, because a single low one may be chance.
    steady = [per for per in good if all(e <= goal for e in errors[PER_OBJECT_AND_DIMENSION.index(per) :])]
    return str(steady[0]) if steady else f"more than {PER_OBJECT_AND_DIMENSION[-1]}"


if __name__ == "__main__":
    main()
