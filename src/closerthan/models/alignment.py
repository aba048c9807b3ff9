"""Align features with people's answers by a linear map, and measure what that gains on new answers and new objects."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.accuracy import correct_choices, pair_similarities
from closerthan.arrays import Array
from closerthan.checks import ParameterError, check_keywords, checked, positive, whole
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.answer_accuracy import AnswerAccuracy, HeldOutAnswers
from closerthan.evaluate.cross_validation import FOLDS, OVERLAP, Gain, fold_of, number_of_folds
from closerthan.evaluate.repeats import NoiseCeiling, answer_ceilings
from closerthan.fit.ctrl_c import CancelFlag
from closerthan.fit.parallel import run_together
from closerthan.fit.progress import trials_bar
from closerthan.geometry import principal_axes
from closerthan.losses import Loss, loss_named
from closerthan.messages import value_error
from closerthan.metrics import ratio_variance
from closerthan.models.answers import rows_of_objects
from closerthan.models.linear_map import FittedMap, MapSettings, about_any, fitted_map
from closerthan.models.tables import feature_table, names_of_rows
from closerthan.operating_system import n_cores
from closerthan.result import FittedPositions
from closerthan.signatures import lists_keywords, readable
from closerthan.wording import counted, html_table, percent, percent_interval

__all__ = ["Alignment", "HeldOutGain", "align"]

EXCHANGES = 5  # number of random exchanges of features between new objects
FEWEST_ANSWERS = 20  # minimum number of training answers; with fewer, a fold of objects is skipped


class AlignmentOptions(TypedDict, total=False):
    """Keyword arguments of :func:`closerthan.align`, which explains each."""

    rank: int | None
    similarity: str
    loss: str | Loss
    towards: str
    strength: float | None
    hold_out: str
    standardize: bool
    n_folds: int
    n_threads: int | None
    seed: int
    progress: bool


_OF_THE_MAP = MapSettings.__dataclass_fields__.keys()
ALIGNMENT_DEFAULTS = {
    **{field.name: field.default for field in dataclasses.fields(MapSettings)},
    "n_folds": FOLDS,
    "progress": False,
}
"""Defaults of :class:`AlignmentOptions`."""


class HeldOutGain(NamedTuple):
    """Accuracy of aligned features on answers that were not used to fit them, and that of the unchanged features.

    Attributes
    ----------
    aligned, unchanged
        Accuracy of the aligned features, and of the unchanged features, on the same answers.
    gain
        The difference of the two, with its interval and test.
    over_exchanged
        For new objects: the gain over predictions in which new objects exchanged their features. Without it, knowing
        the positions of the other objects in an answer could look like a merit of the features.
    """

    aligned: AnswerAccuracy
    unchanged: AnswerAccuracy
    gain: Gain
    over_exchanged: Gain | None = None

    @property
    def is_better(self) -> bool:
        """True if aligned features predict significantly better than unchanged, exchanged and no features."""
        beats_exchanged = self.over_exchanged is None or self.over_exchanged.is_significant
        return self.gain.is_significant and beats_exchanged and self.aligned.low > self.aligned.chance

    @property
    def verdict(self) -> str:
        """A sentence that says whether the aligned features predict better than the unchanged ones."""
        if self.gain.is_significant and self.over_exchanged is not None and not self.over_exchanged.is_significant:
            return (
                "the features of new objects do not clearly help: if new objects exchange their features, the accuracy "
                f"falls by {self.over_exchanged}"
            )
        if self.gain.is_significant and not self.is_better:
            return f"not clearly better than chance, {percent(self.aligned.chance)}"
        how = "better" if self.is_better else "worse" if self.gain.high < 0 else "not clearly better"
        return f"{how} than the unchanged features; the gain is {self.gain}"

    def __str__(self) -> str:
        aligned = percent_interval(*self.aligned.accuracy_and_interval)
        return f"{aligned} of {counted(self.aligned.n_answers, self.aligned.noun)}; {self.verdict}"


@readable
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Alignment(FittedPositions):
    """Result of :func:`align`: a linear map of features that predicts people's answers.

    Attributes
    ----------
    embedding
        Positions of all objects that have features, one row per row of the features.
    weights, centre
        The map: ``positions = (features - centre) @ weights``.
    names
        Names of the rows, or None.
    similarity, loss
        The similarity of positions, and the loss.
    towards, strength
        What the penalty pulls the map towards, and how strongly; infinite: only the scale was fitted.
    candidates
        The held-out loss of each target and strength that was tried; empty if the strength was passed.
    new_answers
        Accuracy on new answers about the same objects; None if it was not measured.
    new_objects
        Accuracy on answers about objects that no training answer mentions; None if it was not measured.
    ceilings
        Noise ceilings of the answers; empty if no question was repeated.
    left_out
        Mask of the answers about objects without features.
    """

    embedding: Array
    weights: Array
    centre: Array
    names: tuple[str, ...] | None
    similarity: str
    loss: Loss
    towards: str
    strength: float
    candidates: dict[tuple[str, float], float]
    new_answers: HeldOutGain | None = None
    new_objects: HeldOutGain | None = None
    ceilings: tuple[NoiseCeiling, ...] = ()
    left_out: NDArray[np.bool_] = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def n_left_out(self) -> int:
        """Number of answers about objects without features."""
        return int(self.left_out.sum())

    def transform(self, features: ArrayLike) -> Array:
        """Return the positions of objects with these features, such as new objects."""
        table = feature_table("features", features)
        if table.shape[1] != len(self.weights):
            raise ParameterError(
                "features", features, f"it must have {len(self.weights):,} columns", problem=f"has {table.shape[1]:,}"
            )
        return np.asarray((table - self.centre) @ self.weights)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return int(self.weights.shape[1])

    def __repr__(self) -> str:
        parts = [counted(len(self.embedding), "object"), counted(self.rank, "dimension"), self.similarity]
        parts += [f"{kind}: {percent(one.aligned.accuracy)} right" for kind, one in self.held_out.items()]
        return f"Alignment({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), ("", ""), self.table())

    @property
    def held_out(self) -> dict[str, HeldOutGain]:
        """:attr:`new_answers` and :attr:`new_objects`, if they were measured."""
        both = {"new answers": self.new_answers, "new objects": self.new_objects}
        return {kind: one for kind, one in both.items() if one is not None}

    def table(self) -> list[tuple[str, str]]:
        """Return the findings as rows of a name and a value."""
        rows = [(kind, str(one)) for kind, one in self.held_out.items()]
        return [*rows, *(("noise ceiling", ceiling.in_words) for ceiling in self.ceilings if ceiling.is_known)]

    def save(self, path: str | Path) -> None:
        """Write the map and the positions as a .npz file: weights, centre, embedding and, if there are some, names."""
        from closerthan.saving import whole_file

        arrays = {"weights": self.weights, "centre": self.centre, "embedding": self.embedding}
        if self.names is not None:
            arrays["names"] = np.array(self.names)
        with whole_file(path) as file:
            np.savez(file, allow_pickle=False, **arrays)


@lists_keywords(AlignmentOptions, ALIGNMENT_DEFAULTS)
@checked
def align(
    features: ArrayLike,
    answers: Comparisons | ArrayLike,
    *,
    names: Sequence[str] | None = None,
    **options: Unpack[AlignmentOptions],
) -> Alignment:
    """Find the linear map of features that predicts people's answers best, and measure how much it gains.

    The map takes features f to positions ``W'(f - c)``. A ridge penalty pulls W towards a multiple of the identity, so
    that few answers leave the features nearly as they are, and its strength is chosen by held-out answers. Two
    cross-validations measure the accuracy: on new answers about the same objects, and on answers about objects that no
    training answer mentions.

    Parameters
    ----------
    features
        One row of numbers per object.
    answers
        People's answers.
    rank
        Number of dimensions; by default as many as there are independent features, but at most 100.
    similarity
        The similarity of two positions: "cosine", "dot" (product) or "euclidean" (distance). With "euclidean", the
        positions are a map like that of :func:`embed`.
    loss
        The loss, as in :func:`embed`; for "dot" it is "ste". Losses with a similarity (ste, tste, ckl) are those of
        whole answers, by Luce's choice rule.
    towards
        What the penalty pulls the map towards: "identity" (a multiple of it, chosen by the answers), "zero", or "auto",
        whichever predicts held-out answers better.
    strength
        Strength of the penalty; by default chosen by held-out answers from values between 1e-6 and 10.
    hold_out
        What is held out to choose the strength: "answers", or "objects", which is better if positions of new objects
        are to be predicted and many of the answers are about few objects.
    standardize
        Whether all features are scaled to the same variance first.
    names
        Names of the rows; if the answers have names as well, objects are matched by name. Answers about other objects
        are left out and counted.
    n_folds
        Number of parts of the two cross-validations; 0: none, which is faster.
    n_threads
        Number of fits that run at once; by default one per core. It does not change the result.
    seed
        Determines what is held out.
    progress
        Whether to show a progress bar.

    Notes
    -----
    Intervals and the test on new objects regard the objects that are held out as independent; those on new answers
    regard people or questions as independent, as in :func:`cross_validate`.

    References
    ----------
    - L. Muttenthaler et al.: Human alignment of neural network representations. ICLR 2023.
    - J. C. Peterson, J. T. Abbott, T. L. Griffiths: Evaluating (and improving) the correspondence between deep neural
      networks and human representations. Cognitive Science 42, 2018.

    Examples
    --------
    >>> import closerthan as ct
    >>> features = np.random.default_rng(0).normal(size=(40, 5))
    >>> seen = features[:, :2] * [2.0, 1.0]  # people look at two of the five features
    >>> answers = ct.datasets.simulated(seen, 4000, noise="flip", level=0.1, seed=0)
    >>> aligned = ct.align(features, answers, similarity="euclidean")
    >>> aligned
    Alignment(40 objects, 5 dimensions, euclidean, new answers: 86.5 % right, new objects: 86.0 % right)
    >>> aligned.new_objects.gain.is_significant
    True
    >>> aligned.transform(features[:3]).shape
    (3, 5)
    """
    check_keywords(options, AlignmentOptions.__annotations__)
    settings = MapSettings(**{name: value for name, value in options.items() if name in _OF_THE_MAP})  # type: ignore[arg-type]
    positive(strength=settings.strength)
    n_folds, n_threads = options.get("n_folds", FOLDS), options.get("n_threads")
    if whole("n_folds", n_folds, least=0) == 1:
        raise ParameterError("n_folds", n_folds, "it must be 0 or at least 2")
    table = feature_table("features", features)
    labels = names_of_rows(names, len(table))
    comparisons, rows_of, left_out = _with_features(Comparisons.of(answers, unmentioned="ignore"), labels, len(table))
    cross_validations = _Validation(table[np.maximum(rows_of, 0)], comparisons, settings, n_folds)
    n_threads = n_cores() if n_threads is None else whole("n_threads", n_threads)
    linear, new_answers, new_objects = cross_validations.run(n_threads, options.get("progress", False))
    weights = _rotated(linear, table, settings.similarity)
    return Alignment(
        (table - linear.centre) @ weights,
        weights,
        centre=linear.centre,
        names=labels,
        similarity=settings.similarity,
        loss=loss_named(settings.loss),
        towards=linear.towards,
        strength=linear.strength,
        candidates=linear.candidates,
        new_answers=new_answers,
        new_objects=new_objects,
        ceilings=tuple(answer_ceilings(comparisons)),
        left_out=left_out,
    )


def _with_features(
    answers: Comparisons, names: tuple[str, ...] | None, n_rows: int
) -> tuple[Comparisons, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the answers about objects with features, the row of each object, and a mask of the other answers."""
    rows_of = rows_of_objects(answers, names, n_rows)
    unknown = about_any(answers, np.flatnonzero(rows_of < 0))
    first_rows = slice(None) if answers.answers is None else np.unique(answers.answers, return_index=True)[1]
    of_answers = unknown[first_rows]
    if not unknown.any():
        return answers, rows_of, of_answers
    if unknown.all():
        raise value_error("no answer is about objects with features", "pass {names}", names=...)
    return answers.take(~unknown), rows_of, of_answers


def _rotated(linear: FittedMap, table: Array, similarity: str) -> Array:
    """Return the weights that rotate the positions to their principal axes, which changes no similarity."""
    positions = linear(table)
    if similarity == "euclidean":
        return linear.weights @ principal_axes(positions).rotation
    return np.asarray(linear.weights @ np.linalg.svd(positions, full_matrices=False)[2].T)


class _Validation:
    """A fit to all answers, and fits without some of the answers or objects."""

    def __init__(self, features: Array, answers: Comparisons, settings: MapSettings, n_folds: int) -> None:
        self.features, self.answers, self.settings = features, answers, settings
        self.n_folds = n_folds
        self.cancelled = CancelFlag()

    def run(self, n_threads: int, progress: bool) -> tuple[FittedMap, HeldOutGain | None, HeldOutGain | None]:
        """Return the map of all answers, and the accuracy on new answers and on new objects."""
        nothing = np.zeros(len(self.answers), dtype=bool)
        held_out = [nothing, *self._answer_folds(), *(rows for rows, _ in self._object_folds())]
        n_answer_folds = len(self._answer_folds())
        with trials_bar(progress, "aligning", len(held_out), 0) as advance:

            def job(rows: NDArray[np.bool_]) -> FittedMap:
                answers = self.answers if not rows.any() else self.answers.take(~rows)
                linear = fitted_map(self.features, answers, self.settings, self.cancelled.is_set)
                advance()
                return linear

            jobs = [lambda rows=rows: job(rows) for rows in held_out]
            maps, interrupted = run_together(jobs, min(n_threads, len(jobs)), self.cancelled)
        if interrupted:
            raise KeyboardInterrupt
        if not self.n_folds:
            return maps[0], None, None
        by_answers = list(zip(self._answer_folds(), maps[1 : n_answer_folds + 1], strict=True))
        by_objects = list(zip(self._object_folds(), maps[n_answer_folds + 1 :], strict=True))
        return maps[0], self._on_new_answers(by_answers), self._on_new_objects(by_objects)

    def _answer_folds(self) -> list[NDArray[np.bool_]]:
        """Return the rows that each fold of the answers holds out."""
        if not self.n_folds:
            return []
        by = self.answers.split_unit()
        n_folds = min(self.n_folds, number_of_folds(self.answers, by, self.n_folds))
        fold = fold_of(self.answers.groups(by), n_folds, self.settings.seed, by)
        return [fold == number for number in range(n_folds)]

    def _object_folds(self) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
        """Return the rows about any object of each fold, and these objects; enough other answers must remain."""
        if not self.n_folds:
            return []
        mentioned = np.flatnonzero(self.answers.mentioned)
        parts = np.array_split(
            np.random.default_rng(self.settings.seed).permutation(mentioned), min(self.n_folds, len(mentioned) // 2)
        )
        folds = [(about_any(self.answers, objects), objects) for objects in parts]
        return [
            (rows, objects)
            for rows, objects in folds
            if rows.any() and self.answers.take(~rows).n_answers >= FEWEST_ANSWERS
        ]

    def _on_new_answers(self, folds: "list[tuple[NDArray[np.bool_], FittedMap]]") -> HeldOutGain:
        held_out = HeldOutAnswers(self.answers)
        for rows, linear in folds:
            held_out.predict_by(linear(self.features), self.settings.similarity, rows)
        units = consecutive_numbers(self.answers.groups()[held_out.choices.rows])
        unchanged = self._unchanged(held_out.choices)
        weight = _weights(held_out.choices)
        difference = np.bincount(units, weight * (held_out.right - unchanged))
        in_units = np.bincount(units, weight)
        error = math.sqrt(OVERLAP * ratio_variance(difference, in_units))
        return HeldOutGain(
            held_out.measured(AUTO, overlap=OVERLAP)[0],
            AnswerAccuracy.measured(held_out.choices, unchanged, units),
            Gain.tested(float(difference.sum() / in_units.sum()), error, len(in_units)),
        )

    def _on_new_objects(
        self, folds: "list[tuple[tuple[NDArray[np.bool_], NDArray[np.int64]], FittedMap]]"
    ) -> HeldOutGain | None:
        """Average, for each answer, over the folds that hold out one of its objects; objects are the units."""
        if not folds:
            return None
        held_out = HeldOutAnswers(self.answers)
        number = np.sum([rows[held_out.choices.rows] for (rows, _), _ in folds], axis=0)
        weight_of_fold = 1.0 / np.maximum(number, 1)
        exchanged = np.zeros(len(held_out.choices))
        for (rows, objects), linear in folds:
            positions = linear(self.features)
            held_out.predict_by(positions, self.settings.similarity, rows, weight_of_fold)
            exchanged += weight_of_fold * self._with_exchanged_objects(held_out, rows, positions, objects)
        numbers = np.flatnonzero(number > 0)
        choices, right = held_out.choices.take(numbers), held_out.right[numbers]
        unchanged, single = self._unchanged(choices), np.arange(len(choices))
        scores = held_out.scores[held_out.choices.pairs_of_answers(numbers)]
        overlaps = [variance_over_objects(choices, one) for one in (right, unchanged)]
        return HeldOutGain(
            AnswerAccuracy.calibrated(choices, right, single, scores, overlap=OVERLAP * overlaps[0]),
            AnswerAccuracy.measured(choices, unchanged, single, overlap=overlaps[1]),
            _gain_over_objects(choices, right - unchanged),
            _gain_over_objects(choices, right - exchanged[numbers]),
        )

    def _with_exchanged_objects(
        self, held_out: HeldOutAnswers, rows: NDArray[np.bool_], positions: Array, objects: NDArray[np.int64]
    ) -> Array:
        """Return how often each answer is predicted if these objects exchange their positions."""
        right = np.zeros(len(held_out.choices))
        numbers = np.flatnonzero(rows[held_out.choices.rows])
        part = held_out.choices.take(numbers)
        shifts = range(1, min(EXCHANGES, len(objects) - 1) + 1)
        for shift in shifts:
            moved = positions.copy()
            moved[objects] = positions[np.roll(objects, shift)]
            right[numbers] += correct_choices(part, pair_similarities(part, moved, self.settings.similarity))
        return right / len(shifts)

    def _unchanged(self, choices: Choices) -> Array:
        """Return which answers the features predict as they are."""
        return correct_choices(choices, pair_similarities(choices, self.features, self.settings.similarity))


def _gain_over_objects(choices: Choices, difference: Array) -> Gain:
    """Test whether the mean difference of answers is zero, with objects as the independent units."""
    weight = _weights(choices)
    variance = OVERLAP * ratio_variance(weight * difference, weight) * variance_over_objects(choices, difference)
    mean = float(np.average(difference, weights=weight))
    return Gain.tested(mean, math.sqrt(variance), len(np.unique(choices.pairs)))


def variance_over_objects(choices: Choices, values: Array) -> float:
    """Return the variance of the mean of answers' values, relative to that of independent answers; at least 1.

    Objects are the independent units, and an answer depends on several of them. Two answers are correlated if they
    share an object, so the variance of their sum is the sum, over objects, of the squared sums of the deviations of all
    answers about an object; in it, each answer's own variance is counted once. Answers that share two objects are
    counted twice, which is on the safe side. Deviations are from the mean of the same answers, which lowers the sum if
    there are few objects; with m objects in an answer, it is multiplied by n / (n - m).

    Examples
    --------
    >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [0, 1, 3], [4, 5, 6], [4, 5, 7]]))
    >>> variance_over_objects(choices, np.array([1.0, 1.0, 0.0, 0.0]))  # 3 * 8 / (8 - 3)
    4.8
    """
    deviations = _weights(choices) * (values - np.average(values, weights=_weights(choices)))
    own = float(np.sum(deviations**2))
    if own == 0:
        return 1.0
    n = choices.n_objects
    answer = np.repeat(choices.answers[choices.choice_of_pair].astype(np.int64), 2)
    answer, objects = np.divmod(np.unique(answer * n + choices.pairs.ravel()), n)
    shared = float(np.sum(np.bincount(objects, deviations[answer]) ** 2))
    repeated = float(np.sum(deviations[answer] ** 2)) - own
    n_units, per_answer = len(np.unique(objects)), len(objects) / len(choices)
    return max((shared - repeated) / own * n_units / max(n_units - per_answer, 1.0), 1.0)


def _weights(choices: Choices) -> Array:
    return np.ones(len(choices)) if choices.weights is None else choices.weights
