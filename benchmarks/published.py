"""Published results beside ours, where the answers and the split, or the published map, are public.

    CLOSERTHAN_DATA=FOLDER python -m benchmarks.published     about a minute; writes docs/measured/published.md

FOLDER holds your copies of the public files, which are not part of closerthan: things_people.txt and things_odd.txt
(odd-one-out answers of Hebart et al. 2020; each line has three objects, counted from 0, of which the third is the odd
one), things_spose49.npy (their published embedding), mlds_triads.csv (a test file of R's and Python's mlds) and
music_triplets.mat (see ``closerthan.datasets.answers.music``). A part whose files are missing is left out.
"""

import sys
from collections.abc import Callable

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.real_answers import data_file, music
from benchmarks.tables import table
from closerthan.comparisons.questions import object_set_keys
from closerthan.wording import percent

COMMAND = "python -m benchmarks.published"
THINGS_DIMS = (5, 10, 20)
MUSIC_SPLITS = 10  # the paper has 50
# Estimates of R's package MLDS for mlds_triads.csv.
SCALE_BY_R = (0, 0.0203, 0.0658, 0.1426, 0.1758, 0.2587, 0.3697, 0.4686, 0.6344, 0.7298, 1)
SIGMA_BY_R, AIC_BY_R = 0.1597, 570.39


def things() -> str:
    """Compare maps of THINGS with the published embedding, on the same answers to questions that no map of ours saw."""
    train = ct.read_comparisons(
        data_file("things_people.txt"), kind="odd-one-out", columns={"participant": 3}, numbering="0-based"
    )
    test = ct.read_comparisons(data_file("things_odd.txt"), kind="odd-one-out", numbering="0-based")
    spose = np.load(data_file("things_spose49.npy"))
    spose = spose if len(spose) == train.n_objects else spose.T
    keys = [object_set_keys(part.rows, train.n_objects, part.answers) for part in (test, train)]
    test = test.take(~np.isin(*keys))
    by_spose = ct.answer_accuracy(test, spose, similarity="dot")
    rows = [["SPoSE, 49 dimensions (Hebart et al. 2020)", "1.46 million", "dot product", _right(by_spose)]]
    for n_dims in THINGS_DIMS:
        accuracy = ct.answer_accuracy(test, ct.embed(train, n_dims).embedding)
        rows.append([f"`ct.embed(answers, {n_dims})`", f"{train.n_answers:,}", "distance", _right(accuracy)])
    return "\n\n".join([
        "**THINGS, odd one out of three.** Both maps predict the same "
        f"{by_spose.n_answers:,} answers (`things_odd.txt`, without questions that occur in `things_people.txt`, to "
        "which ours is fitted). SPoSE was fitted to more than ten times as many answers, perhaps including these; the "
        "paper reports 64.6 % for its own test answers.",
        table(["map", "answers fitted", "similarity", "right (chance: 33.3 %)"], rows),
    ])  # fmt: skip


def _right(accuracy: ct.AnswerAccuracy) -> str:
    return f"{percent(accuracy.accuracy)} ± {percent((accuracy.high - accuracy.low) / 2)}"


def scales() -> str:
    """Compare a scale by maximum likelihood with that of R's MLDS."""
    ours = ct.scale(ct.read_comparisons(data_file("mlds_triads.csv")))
    rows = [
        ["scale", _numbers(SCALE_BY_R), _numbers(ours.values)],
        ["sigma", f"{SIGMA_BY_R:.4f}", f"{ours.sigma:.4f}"],
        ["AIC", f"{AIC_BY_R:.2f}", f"{ours.aic:.2f}"],
    ]
    return "\n\n".join([
        "**Difference scaling.** 825 triads of 11 levels (`mlds_triads.csv`), all fitted; both columns are "
        "maximum-likelihood estimates of the same model, so they should be equal.",
        table(["", "R's MLDS", "`ct.scale(answers)`"], rows),
    ])  # fmt: skip


def _numbers(values: object) -> str:
    return " ".join(f"{value:.4f}" for value in np.asarray(values, dtype=float))


def musicians() -> str:
    """Repeat the protocol of the paper's Figure 4 with the paper's solver and with the default."""
    answers, errors = music(), dict[str, list[float]]()
    for number in range(MUSIC_SPLITS):
        train, test = answers.split(0.2, np.random.default_rng(number), by="comparisons")
        for loss in ("gnmds", "ckl", "ste", "tste"):
            fit = ct.embed(train, 9, loss=loss, solver="svrg-sbb", penalty=0, seed=number)
            errors.setdefault(f"{loss}, the paper's solver", []).append(ct.triplet_error(test, fit.embedding))
        fit = ct.embed(train, 9, seed=number)
        errors.setdefault("`ct.embed(answers, 9)`", []).append(ct.triplet_error(test, fit.embedding))
    rows = [[name, percent(float(np.mean(of))), percent(float(np.std(of, ddof=1)))] for name, of in errors.items()]
    return "\n\n".join([
        "**Music, Figure 4 of the paper.** 9,107 triplets about 400 musicians, of which a fifth, drawn at random, are "
        f"held out; nine dimensions; means of {MUSIC_SPLITS} splits (the paper has 50). The paper shows curves without "
        "numbers, so its solver was run here.",
        table(["fit", "held-out error", "standard deviation"], rows),
    ])  # fmt: skip


def main() -> None:
    parts: list[Callable[[], str]] = [things, scales, musicians]
    page = []
    for part in parts:
        try:
            page.append(part())
        except OSError as missing:
            print(f"{part.__name__} is left out: {missing}", file=sys.stderr)
            continue
        print(page[-1], flush=True)
    if len(page) == len(parts):
        write_measured("published", "\n\n".join([*page, measured_on(COMMAND)]))


if __name__ == "__main__":
    main()
