"""AnswerKFold: folds for scikit-learn that keep answers, blocks or people together."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO, check_by, split_unit
from closerthan.comparisons.grouping import groups as groups_of
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.cross_validation import fold_of
from closerthan.signatures import readable

__all__ = ["AnswerKFold"]


@readable
class AnswerKFold(BaseCrossValidator):  # type: ignore[misc]
    """Folds for ``GridSearchCV`` and the like that keep answers whole, like those of :func:`closerthan.cross_validate`.

    scikit-learn treats each row of X as a separate answer. If an answer takes several rows, or a question was asked
    several times, its usual folds leak held-out answers into training and favour too many dimensions.

    Parameters
    ----------
    n_splits
        Number of folds.
    by
        The unit to hold out. "answers": ``groups`` are the answers' labels (without them each row is an answer of
        its own), and answers about the same objects stay together. "blocks": ``groups`` are blocks of dependent trials.
        "people": ``groups`` are the people. "auto": blocks if X has them, otherwise answers. If X is a
        :class:`Comparisons` with answers, blocks or people, no groups are needed.
    random_state
        A whole number that determines the folds.

    Examples
    --------
    >>> import closerthan as ct
    >>> from sklearn.model_selection import GridSearchCV
    >>> X = ct.datasets.eurodist().comparisons().rows
    >>> search = GridSearchCV(
    ...     ct.OrdinalEmbedding(n_objects=21, random_state=0), {"n_components": [1, 2]}, cv=ct.AnswerKFold(n_splits=3)
    ... )
    >>> search.fit(X).best_params_
    {'n_components': 2}
    """

    # Under metadata routing scikit-learn then passes groups on, as it does to GroupKFold.
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, by: str = AUTO, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.by = by
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:  # noqa: ARG002
        """Yield the numbers of the rows to fit and of those to evaluate on, for each fold."""
        check_by(self.by, (), ())
        rows, n_objects, columns = _columns_of(X)
        by = split_unit(self.by, columns.get("blocks"))
        if groups is not None:
            labels = _labelled(groups)
            if len(labels) != len(rows):
                raise ValueError(f"there are {len(labels)} groups, but {len(rows)} comparisons; one per row is needed")
            columns[by] = labels
        if by == "people" and columns.get("people") is None:
            raise ParameterError("by", by, "the answers do not say who gave them; pass groups=")
        if by == "blocks" and columns.get("blocks") is None:
            raise ParameterError("by", by, "the answers have no blocks; pass groups=")
        answers, people, blocks = (columns.get(unit) for unit in ("answers", "people", "blocks"))
        group = groups_of(rows, n_objects, answers, people, by, blocks)
        part = fold_of(group, self.n_splits, self.random_state, by, parameter="n_splits")
        for number in range(self.n_splits):
            yield np.flatnonzero(part != number), np.flatnonzero(part == number)


def _columns_of(X: Any) -> tuple[NDArray[np.int32], int, dict[str, NDArray[np.int32] | None]]:
    """Return rows of object numbers, the number of objects, and the answers, blocks and people of the rows, if any."""
    if isinstance(X, Comparisons):
        return X.rows, X.n_objects, {"answers": X.answers, "blocks": X.blocks, "people": X.people}
    table = np.asarray(X)
    if table.ndim != 2 or table.shape[1] not in (3, 4):
        raise ValueError(f"X has shape {table.shape}; comparisons have 3 or 4 columns")
    # The estimator checks rows; here it only matters which objects are the same.
    rows = _labelled(table.ravel()).reshape(table.shape)
    return rows, int(rows.max()) + 1, {}


def _labelled(labels: Any) -> NDArray[np.int32]:
    cells = np.asarray(labels)
    if cells.dtype.kind == "f":
        if np.isnan(cells).any():
            raise ValueError(f"row {int(np.argmax(np.isnan(cells.ravel())))}: a group is NaN; label it or drop the row")
        return np.unique(cells.ravel(), return_inverse=True)[1].astype(np.int32)
    if cells.dtype.kind in "iub":
        return consecutive_numbers(cells.ravel()).astype(np.int32)
    number: dict[str, int] = {}
    return np.array([number.setdefault(str(cell), len(number)) for cell in cells.ravel().tolist()], dtype=np.int32)
