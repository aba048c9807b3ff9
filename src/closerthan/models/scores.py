"""Score features: how well do a model's features predict people's answers?"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.accuracy import correct_choices
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Choices, Comparisons
from closerthan.evaluate.answer_accuracy import AnswerAccuracy
from closerthan.evaluate.repeats import NoiseCeiling, answer_ceilings
from closerthan.messages import value_error
from closerthan.models.answers import model_similarities, rows_of_objects
from closerthan.models.tables import names_of_rows, numbers_of
from closerthan.saving import whole_csv
from closerthan.wording import counted, html_table, percent, percent_range

__all__ = ["FeatureScores", "score_features"]

UNNAMED = "features"
DIFFERENT_ANSWERS = (  # a remark
    "The models were not scored on the same answers; to compare them, give all of them features of the same objects."
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FeatureScores(Mapping[str, AnswerAccuracy]):
    """Result of :func:`score_features`: the accuracy of each model, by its name.

    Attributes
    ----------
    scores
        Accuracy of whole answers of each model.
    similarity
        The similarity of features.
    ceilings
        Noise ceilings of the answers; empty if no question was repeated.
    left_out
        Mask of the answers about objects without features, or about gaps in a matrix, by model.
    """

    scores: Mapping[str, AnswerAccuracy]
    similarity: str
    ceilings: tuple[NoiseCeiling, ...]
    left_out: Mapping[str, NDArray[np.bool_]]

    @property
    def n_left_out(self) -> dict[str, int]:
        """Number of answers that were left out, by model."""
        return {name: int(mask.sum()) for name, mask in self.left_out.items()}

    def __getitem__(self, name: str) -> AnswerAccuracy:
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        best = max(self.scores, key=lambda name: self.scores[name].accuracy)
        score = self.scores[best]
        return (
            f"FeatureScores({counted(len(self), 'model')}, {self.similarity}: {best} predicts "
            f"{percent(score.accuracy)} of {counted(score.n_answers, score.noun)}, chance {percent(score.chance)})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), TITLES, self.rows())

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return the scores as text, for a table with the titles ``TITLES``."""
        return [
            (
                name,
                percent(one.accuracy),
                percent_range(one.low, one.high),
                f"{one.bits:.3f}",
                f"{one.n_answers:,}",
            )
            for name, one in self.scores.items()
        ]

    @property
    def remarks(self) -> list[str]:
        """Sentences about the chance level, the noise ceilings, and answers that were left out."""
        return remarks_about(next(iter(self.values())), self.ceilings, self.left_out, _lacking(self.similarity))

    @property
    def series(self) -> dict[str, Mapping[str, AnswerAccuracy]]:
        """The scores as the only series of a bar chart."""
        return {"": self.scores}

    def to_csv(self, path: str | Path) -> None:
        """Write one line per model: accuracy with its interval, chance level, bits, and numbers of answers."""
        titles = ("model", "accuracy", "low", "high", "chance", "bits", "answers", "left_out")
        n_left_out = self.n_left_out
        rows = [
            (name, one.accuracy, one.low, one.high, one.chance, one.bits, one.n_answers, n_left_out[name])
            for name, one in self.scores.items()
        ]
        whole_csv(path, titles, rows)

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Draw the accuracies as bars: see :func:`closerthan.plotting.accuracy_figure`."""
        from closerthan.plotting import accuracy_figure

        return accuracy_figure(self, title=title, ax=ax)


def remarks_about(
    accuracy: AnswerAccuracy,
    ceilings: Sequence[NoiseCeiling],
    left_out: Mapping[str, NDArray[np.bool_]],
    lacking: str = "objects without features",
) -> list[str]:
    """Return sentences about the chance level, the noise ceilings, and answers that were left out."""
    first, *others = left_out.values()
    return [
        f"The accuracy is that of {accuracy.noun}s; the chance level is {percent(accuracy.chance)}.",
        *(
            f"Judging by repeated questions, {dataclasses.replace(ceiling, unit=f'{accuracy.noun}s').in_words}."
            for ceiling in ceilings
            if ceiling.is_known
        ),
        *(
            f"{name}: {counted(int(mask.sum()), 'answer')} about {lacking} left out."
            for name, mask in left_out.items()
            if mask.any()
        ),
        *([] if all(np.array_equal(mask, first) for mask in others) else [DIFFERENT_ANSWERS]),
    ]


def _lacking(similarity: str) -> str:
    """Return the words for objects or pairs that a model lacks, so that answers about them are left out."""
    is_matrix = similarity in ("similarities", "dissimilarities")
    return "pairs of objects that are not in the matrix" if is_matrix else "objects without features"


TITLES = ("model", "accuracy", "95 % interval", "bits per answer", "answers")
"""Titles of :meth:`FeatureScores.rows`."""


@checked
def score_features(
    features: ArrayLike | Mapping[str, ArrayLike],
    answers: Comparisons | ArrayLike,
    *,
    similarity: str = "cosine",
    names: Sequence[str] | None = None,
) -> FeatureScores:
    """Measure how many of people's whole answers features predict, unchanged.

    The model chooses the most similar of the pairs that a question shows, as in :func:`closerthan.answer_accuracy`.

    Parameters
    ----------
    features
        One row of numbers per object, or several such arrays by the name of a model or a layer. With a matrix of
        (dis)similarities, pass ``similarity="similarities"`` or ``"dissimilarities"``.
    answers
        People's answers.
    similarity
        "cosine", "dot" or "euclidean" for features; "similarities" or "dissimilarities" for a matrix.
    names
        Names of the rows; if the answers have names as well, objects are matched by name. Answers about other objects
        are left out and counted.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 3))
    >>> answers = ct.datasets.simulated(points, 2000, noise="flip", level=0.1)
    >>> ct.score_features({"right": points, "one axis": points[:, :1]}, answers, similarity="euclidean")
    FeatureScores(2 models, euclidean: right predicts 89.5 % of 2,000 comparisons, chance 50.0 %)
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    models = features if isinstance(features, Mapping) else {UNNAMED: features}
    if not models:
        raise ValueError("features is empty; pass an array, or several by name")
    scores: dict[str, AnswerAccuracy] = {}
    left_out: dict[str, NDArray[np.bool_]] = {}
    choices = Choices.of(comparisons)
    groups = comparisons.groups()[choices.rows]
    for name, values in models.items():
        parameter = "features" if name == UNNAMED else f"features[{name!r}]"
        model = numbers_of(parameter, values)
        rows_of = rows_of_objects(comparisons, names_of_rows(names, len(model)), len(model), parameter)
        try:
            similarities = model_similarities(model, rows_of[choices.pairs], similarity)
        except ParameterError as error:
            raise error.renamed({"model": parameter}) from error
        unknown = np.zeros(choices.n_answers, dtype=bool)
        unknown[choices.answers[choices.choice_of_pair][np.isnan(similarities)]] = True
        left_out[name] = unknown
        if unknown.all():
            problem = f"all answers are about {_lacking(similarity)}"
            raise value_error(problem if name == UNNAMED else f"{name}: {problem}", "pass {names}", names=...)
        own, own_groups = choices, groups
        if unknown.any():
            numbers = np.arange(len(comparisons)) if comparisons.answers is None else comparisons.answers
            inside = ~unknown[np.unique(numbers, return_inverse=True)[1]]
            own = Choices.of(comparisons.take(inside))
            own_groups = comparisons.take(inside).groups()[own.rows]
            similarities = model_similarities(model, rows_of[own.pairs], similarity)
        right = correct_choices(own, similarities)
        scores[name] = AnswerAccuracy.calibrated(own, right, own_groups, similarities)
    return FeatureScores(scores, similarity, tuple(answer_ceilings(comparisons, choices)), left_out)
