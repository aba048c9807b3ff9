"""New objects with features and answers: on aligned positions, or on a map that is fitted freely?

    python -m benchmarks.aligned_places

People look at two of eight features and at one property that the features lack. New objects have features and some
answers; the accuracy is that of other answers about them.
"""

import numpy as np

import closerthan as ct
from benchmarks.measured import measured_on, write_measured
from benchmarks.tables import table

N_OBJECTS, N_NEW = 60, 10
N_ANSWERS, N_NEW_ANSWERS = 6_000, 400
TRIALS = 4


def accuracies(seed: int) -> dict[str, float]:
    """Return the fraction of whole answers about new objects that each way to place them predicts."""
    rng = np.random.default_rng(seed)
    n_all = N_OBJECTS + N_NEW
    features = rng.normal(size=(n_all, 8))
    minds = np.column_stack([1.5 * features[:, 0], features[:, 1], 1.2 * rng.normal(size=n_all)])

    def people(x: np.ndarray, number: int, their_seed: int) -> ct.Comparisons:
        return ct.answers_from(
            x, number, similarity="euclidean", question="odd-one-out", temperature=1.0, seed=their_seed
        )

    answers = people(minds[:N_OBJECTS], N_ANSWERS, seed)
    later = people(minds, 40_000, seed + 100)
    later = later.take((later.rows >= N_OBJECTS).sum(axis=1) == 1)
    numbers = np.unique(later.answers)
    is_known = np.isin(later.answers, numbers[:N_NEW_ANSWERS])
    about_new, test = later.take(is_known), later.take(~is_known)
    aligned = ct.align(features[:N_OBJECTS], answers, similarity="euclidean", n_folds=0)
    result = ct.embed(answers, n_dims=3, loss="ste", seed=seed)
    everything = np.vstack([aligned.embedding, aligned.transform(features[N_OBJECTS:])])
    positions = {
        "the alignment, from features alone": everything,
        "the alignment, with their answers": ct.place(about_new, aligned, features=features).embedding,
        "the fitted map, from features alone": ct.place(None, result, features=features).embedding,
        "the fitted map, with their answers": ct.place(about_new, result).embedding,
        "the fitted map, with both": ct.place(about_new, result, features=features).embedding,
        "true positions": minds,
    }
    return {name: ct.answer_accuracy(test, x).accuracy for name, x in positions.items()}


def main() -> None:
    trials = [accuracies(seed) for seed in range(TRIALS)]
    rows = [[name, f"{100 * np.mean([trial[name] for trial in trials]):.1f} %"] for name in trials[0]]
    paragraphs = [
        table(["new objects are placed on", "answers about them predicted"], rows),
        f"{N_OBJECTS} objects with {N_ANSWERS:,} answers and {N_NEW} new ones with {N_NEW_ANSWERS} answers in all; "
        f"means of {TRIALS} trials.",
        measured_on("python -m benchmarks.aligned_places"),
    ]
    print("\n\n".join(paragraphs))
    write_measured("aligned-places", "\n\n".join(paragraphs))


if __name__ == "__main__":
    main()
