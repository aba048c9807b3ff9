"""FeatureAligner: :func:`closerthan.align` as a scikit-learn transformer."""

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons
from closerthan.evaluate.answer_accuracy import answer_accuracy
from closerthan.losses import Loss
from closerthan.models.alignment import Alignment, align
from closerthan.signatures import readable

__all__ = ["FeatureAligner"]


@readable
class FeatureAligner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A linear map of features that predicts people's answers, as a scikit-learn transformer.

    A sample is an object: a row of X holds its features, and y holds people's *answers* about the rows of X, not one
    label per row. ``transform`` needs features alone, so it gives positions of new objects, too.

    Parameters
    ----------
    n_components
        Number of dimensions: the ``rank`` of :func:`closerthan.align`.
    similarity, loss, towards, strength, hold_out, standardize
        As in :func:`closerthan.align`.
    random_state
        A whole number that determines which answers are held out.

    Attributes
    ----------
    alignment_
        The :class:`Alignment`.
    components_
        The map, of shape (n_components, n_features).
    n_features_in_, feature_names_in_
        Number of features, and their names if X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import closerthan as ct
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> answers = ct.datasets.simulated(X[:, :2], 2000)
    >>> aligner = ct.FeatureAligner(similarity="euclidean").fit(X[:30], ct.Comparisons.from_triplets(
    ...     answers.rows[(answers.rows < 30).all(axis=1)], n_objects=30))
    >>> aligner.transform(X).shape
    (40, 5)
    """

    alignment_: Alignment
    components_: Array

    def __init__(
        self,
        n_components: int | None = None,
        *,
        similarity: str = "cosine",
        loss: str | Loss = "ste",
        towards: str = "auto",
        strength: float | None = None,
        hold_out: str = "answers",
        standardize: bool = False,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.similarity = similarity
        self.loss = loss
        self.towards = towards
        self.strength = strength
        self.hold_out = hold_out
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Comparisons | ArrayLike | None = None) -> Self:
        """Find the map; y holds answers about the rows of X, counted from 0."""
        features = validate_data(self, X, dtype="float64", ensure_min_samples=3)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: y holds people's answers")
        try:
            self.alignment_ = align(
                features,
                y,
                rank=self.n_components,
                similarity=self.similarity,
                loss=self.loss,
                towards=self.towards,
                strength=self.strength,
                hold_out=self.hold_out,
                standardize=self.standardize,
                n_folds=0,
                seed=self.random_state,
            )
        except ParameterError as error:
            raise error.renamed({"rank": "n_components", "seed": "random_state", "features": "X"}) from error
        self.components_ = self.alignment_.weights.T
        return self

    def transform(self, X: Any) -> Array:
        """Return the positions of objects with these features."""
        check_is_fitted(self)
        return self.alignment_.transform(validate_data(self, X, dtype="float64", reset=False))

    def score(self, X: Any, y: Comparisons | ArrayLike) -> float:
        """Return the fraction of whole answers y about the rows of X that the map predicts."""
        return answer_accuracy(y, self.transform(X), similarity=self.similarity).accuracy

    @property
    def _n_features_out(self) -> int:
        return self.alignment_.rank

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags
