"""OrdinalEmbedding: :func:`closerthan.embed` as a scikit-learn estimator."""

import importlib
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from closerthan.arrays import Array
from closerthan.checks import ParameterError, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.column_names import order_by_name
from closerthan.comparisons.parsing import refuse_masked
from closerthan.evaluate.answer_accuracy import AnswerAccuracy, answer_accuracy
from closerthan.fit.embedding import embed
from closerthan.fit.monitor import Callback
from closerthan.history import History
from closerthan.losses import Loss
from closerthan.metrics import margins, triplet_error
from closerthan.objective.protocol import Device
from closerthan.registry import UserDefined
from closerthan.result import Result
from closerthan.settings import Settings
from closerthan.signatures import readable
from closerthan.solvers import Solver

__all__ = ["OrdinalEmbedding"]


def _has_probabilities(model: "OrdinalEmbedding") -> bool:
    """Return whether a model has ``predict_proba``; before the fit, the loss may still have to be chosen."""
    if not hasattr(model, "result_"):
        return True
    return model.result_.calibration is not None or model.result_.loss.is_likelihood


@readable
class OrdinalEmbedding(BaseEstimator):  # type: ignore[misc]
    """A map from comparisons, as a scikit-learn estimator.

    A sample is a comparison: a row of X is a triplet (i, j, k), "i is closer to j than to k", or a quadruplet
    (i, j, l, k), "i and j are closer than l and k", of object numbers from 0 or of object names. Its label y is
    +1 or True if it holds as written, -1 or False if it is reversed.

    The model is a position for each object: ``embedding_``, which ``fit_transform`` returns, has one row per *object*,
    not one per sample, so there is no ``transform``. ``predict``, ``predict_proba``, ``decision_function`` and
    ``score`` take comparisons.

    Parameters
    ----------
    n_components
        Number of dimensions of the map.
    loss, penalty, likelihood, solver, validation, patience, window, by, time_limit, callback, device
        As in :func:`closerthan.embed`.
    init
        The first map, of shape (n_objects, n_components). None draws it at random.
    n_init
        Number of random starts, of which the best is kept. None means one, or several if the loss is chosen.
    max_iter
        Maximum number of epochs.
    tol
        The fit stops when three epochs lower the objective by less than this fraction of the total decrease so far.
        None disables this rule.
    random_state
        With a whole number, the map is the same each time, bit for bit, and the same as that of ``embed(seed=...)``.
    n_jobs
        Number of threads. None and -1 mean one per core. It does not change the map.
    verbose
        Whether to show a progress bar.
    n_objects
        Number of objects. None means the largest number in X, plus 1. Pass it if a part of the data may lack some
        objects, as in cross-validation: objects that no comparison of the part mentions stay at their random start,
        with a warning, and ``predict`` is then a guess for them. Without it, an object that ``fit`` did not see is an
        error.
    names
        Names of the objects in the order of their numbers. None means all names that occur in X, if it holds names, in
        alphabetical order.
    ties, self_pairs
        What ``fit`` and ``score`` do with rows labelled 0 and with rows that compare an object with itself: "error" or
        "drop".

    Attributes
    ----------
    embedding_
        The map, of shape ``(n_objects_, n_components)``.
    result_, history_
        The :class:`Result` of the fit, and its :class:`History`.
    loss_
        The loss with the values of all its parameters.
    n_objects_, names_
        Number of objects, and their names or None.
    n_iter_
        Number of epochs.
    classes_
        The labels of ``predict`` and of the columns of ``predict_proba``: -1 (reversed) and +1 (as written).
    dropped_
        Number of rows that ``fit`` dropped, by reason.
    n_features_in_, feature_names_in_
        Number of columns of X, 3 or 4, and their names if X was a DataFrame.

    Examples
    --------
    >>> import closerthan as ct
    >>> X = ct.datasets.eurodist().comparisons().rows
    >>> model = ct.OrdinalEmbedding(n_components=2, loss="tste", random_state=0).fit(X)
    >>> model.embedding_.shape
    (21, 2)
    >>> bool(model.score(X) > 0.9)
    True
    """

    embedding_: Array
    result_: Result
    history_: History
    loss_: str | Loss | UserDefined
    n_objects_: int
    names_: tuple[str, ...] | None
    n_iter_: int
    classes_: NDArray[np.int64]
    dropped_: dict[str, int]

    def __init__(
        self,
        n_components: int = Settings.n_dims,
        *,
        loss: str | Loss = Settings.loss,  # type: ignore[assignment]  # a UserDefined object comes from files alone
        penalty: float | str | None = Settings.penalty,
        likelihood: str = Settings.likelihood,
        solver: str | Solver = Settings.solver,  # type: ignore[assignment]
        init: ArrayLike | None = None,
        n_init: int | None = Settings.n_starts,
        max_iter: int = Settings.epochs,
        tol: float | None = Settings.tolerance,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        device: str | Device = "cpu",
        verbose: bool = False,
        validation: float | Comparisons | ArrayLike | None = None,
        patience: int | None = Settings.patience,
        window: int | None = Settings.window,
        by: str = Settings.by,
        time_limit: float | None = Settings.time_limit,
        callback: Callback | None = None,
        n_objects: int | None = None,
        names: Sequence[str] | None = None,
        ties: Literal["error", "drop"] = "error",
        self_pairs: Literal["error", "drop"] = "error",
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.penalty = penalty
        self.likelihood = likelihood
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.validation = validation
        self.patience = patience
        self.window = window
        self.by = by
        self.time_limit = time_limit
        self.callback = callback
        self.n_objects = n_objects
        self.names = names
        self.ties = ties
        self.self_pairs = self_pairs

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X
            (m, 3) or (m, 4) array, list or DataFrame, or :class:`Comparisons`.
        y
            Labels. None means that all rows hold as written.
        sample_weight
            Non-negative weights, one per row.

        Examples
        --------
        >>> answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1]]
        >>> OrdinalEmbedding(n_components=1, random_state=0).fit(answers, [1, 1, 1, -1]).n_objects_
        3
        """
        if sample_weight is not None and not np.asarray(sample_weight).any():
            raise ValueError("all weights are zero; at least one comparison must count")
        comparisons = self._training_set(X, y, sample_weight)
        names = Settings.names_in_estimator()
        arguments = {name: getattr(self, own) for name, own in names.items()} | {"seed": _seed(self.random_state)}
        try:
            whole("n_dims", self.n_components, least=1)  # embed accepts None
            result = embed(
                comparisons,
                **arguments,
                start=self.init,
                callback=self.callback,
                progress=bool(self.verbose),
                n_threads=None if self.n_jobs == -1 else self.n_jobs,
            )
        except ParameterError as error:
            raise error.renamed(names | {"n_threads": "n_jobs", "start": "init"}) from error
        self.result_ = result
        self.embedding_ = result.embedding
        self.history_ = result.history
        self.loss_ = cast(Settings, result.settings).loss
        self.n_objects_ = comparisons.n_objects
        self.names_ = comparisons.names
        self.n_iter_ = result.history[-1].epoch
        self.classes_ = np.array([-1, 1])
        self.dropped_ = dict(comparisons.dropped)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit the map and return it: one row per *object*, not one per row of X.

        After ``set_output(transform="pandas")`` it is a DataFrame whose index holds the names of the objects.

        Examples
        --------
        >>> OrdinalEmbedding(n_components=1, random_state=0).fit_transform([[0, 1, 2], [2, 1, 0]]).shape
        (3, 1)
        """
        x = self.fit(X, y, sample_weight).embedding_
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if kind == "pandas":
            frame = self.result_.to_frame()
            frame.columns = self.get_feature_names_out()
            return frame
        if kind == "polars":
            polars = importlib.import_module("polars")
            return polars.DataFrame(x, schema=self.get_feature_names_out().tolist(), orient="row")
        return x

    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """Choose what :meth:`fit_transform` returns: an array ("default") or a DataFrame; None changes nothing."""
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise ParameterError("transform", transform, 'it can be "default", "pandas" or "polars"')
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return names of the dimensions: "ordinalembedding0", "ordinalembedding1" and so on."""
        check_is_fitted(self)
        return np.array([f"ordinalembedding{number}" for number in range(self.embedding_.shape[1])], dtype=object)

    def decision_function(self, X: Any) -> Array:
        """Return the squared distance of the far pair minus that of the near pair: positive if a row holds as written.

        Examples
        --------
        >>> model = OrdinalEmbedding(n_components=1, random_state=0).fit([[0, 1, 2], [2, 1, 0]])
        >>> model.decision_function([[0, 1, 2], [0, 2, 1]]) > 0
        array([ True, False])
        """
        return margins(self._comparisons_on_map(X), self.embedding_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for rows that hold on the map as written, and -1 for the others.

        Examples
        --------
        >>> model = OrdinalEmbedding(n_components=1, random_state=0).fit([[0, 1, 2], [2, 1, 0]])
        >>> model.predict([[0, 1, 2], [0, 2, 1]])
        array([ 1, -1])
        """
        return np.where(self.decision_function(X) > 0, 1, -1)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, -1 and +1 (``classes_``), for each row.

        Probabilities are calibrated if ``result_.calibration`` is set (see :func:`closerthan.held_out_error`).
        Otherwise they are those of the loss: ste, tste and ckl model probabilities, which are overconfident if answers
        are few. gnmds and soe model none, so a model fitted with them has no such method.

        Examples
        --------
        >>> model = OrdinalEmbedding(n_components=1, loss="ste", random_state=0).fit([[0, 1, 2], [2, 1, 0]])
        >>> model.classes_, bool(model.predict_proba([[0, 1, 2]])[0, 1] > 0.5)
        (array([-1,  1]), True)
        """
        comparisons = self._comparisons_on_map(X)
        holds = self.result_.probability(comparisons)
        return np.column_stack([1 - holds, holds])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction (by weight) of comparisons that the map gets right: 1 minus the triplet error.

        It is the accuracy of ``predict``, except that a row whose two distances are equal never counts as right.

        Examples
        --------
        >>> model = OrdinalEmbedding(n_components=1, random_state=0).fit([[0, 1, 2], [2, 1, 0]])
        >>> model.score([[0, 1, 2], [0, 2, 1]], [1, -1])
        1.0
        """
        comparisons = self._comparisons_on_map(X, y, weights=sample_weight, ties=self.ties, self_pairs=self.self_pairs)
        return 1.0 - triplet_error(comparisons, self.embedding_)

    def score_answers(self, X: Any) -> AnswerAccuracy:
        """Return how many whole answers the map predicts, if X says which comparisons are from one answer.

        "Of a, b and c, c is the odd one" is one answer that implies two comparisons. :meth:`score` counts comparisons.

        Examples
        --------
        >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
        >>> OrdinalEmbedding(n_components=1, random_state=0).fit(answers).score_answers(answers).accuracy
        1.0
        """
        return answer_accuracy(self._comparisons_on_map(X), self.embedding_)

    def _repr_html_(self) -> str:
        """Return the parameters, as scikit-learn shows them, and the result if there is one, for a notebook."""
        diagram: str = estimator_html_repr(self)
        return diagram + (self.result_._repr_html_() if hasattr(self, "result_") else "")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        plain = {"text/plain": repr(self)}
        return plain | ({"text/html": self._repr_html_()} if get_config()["display"] == "diagram" else {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        tags.non_deterministic = self.time_limit is not None
        return tags

    def _training_set(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Comparisons:
        if isinstance(X, Comparisons):
            validate_data(self, X.rows)
            if self.n_objects not in (None, X.n_objects):
                raise ValueError(
                    f"n_objects is {self.n_objects}, but the Comparisons have {X.n_objects}; leave n_objects out"
                )
            return Comparisons.of(X, y, weights=sample_weight, names=self.names)
        return Comparisons.of(
            self._table(X, reset=True),
            y,
            weights=sample_weight,
            n_objects=self.n_objects,
            names=self.names,
            ties=self.ties,
            self_pairs=self.self_pairs,
        )

    def _comparisons_on_map(
        self, X: Any, y: ArrayLike | None = None, weights: ArrayLike | None = None, **drops: Any
    ) -> Comparisons:
        """Return comparisons of objects that are on the map; raise an error if there are others."""
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            comparisons = Comparisons.of(X, y, weights=weights)
            if X.names not in (None, self.names_):
                raise ValueError(_other_names(X.names, self.names_))
        else:
            table = self._table(X, reset=False)
            comparisons = Comparisons.of(table, y, weights=weights, names=self.names_, unmentioned="ignore", **drops)
            if self.names_ is None and comparisons.names is not None:
                raise ValueError(f"X holds names like {comparisons.names[0]!r}, but fit saw numbers; pass numbers")
        if comparisons.rows.max() >= self.n_objects_:
            row = int(np.argmax((comparisons.rows >= self.n_objects_).any(axis=1)))
            raise ValueError(
                f"row {row}: object {comparisons.rows[row].max()} is not on the map, which has objects 0 to "
                f"{self.n_objects_ - 1}; pass n_objects to OrdinalEmbedding if the data of fit may lack some objects"
            )
        return comparisons

    def _table(self, X: Any, reset: bool) -> NDArray[Any]:
        # Cells are checked by Comparisons, whose errors name the row and the way out.
        if isinstance(X, list | tuple):
            X = _listed(X)
        refuse_masked(X)
        order = order_by_name(X)
        table: NDArray[Any] = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        if table.shape[1] not in (3, 4):
            raise ValueError(
                f"X has {table.shape[0]} sample(s) of {table.shape[1]} feature(s); a comparison has 3, the objects of "
                "a triplet (i, j, k), or 4, those of a quadruplet (i, j, l, k)"
            )
        if table.dtype.kind in "if" and (table < 0).any():
            row = int(np.argmax((table < 0).any(axis=1)))
            # scikit-learn's checks expect these first words.
            raise ValueError(
                f"Negative values in data: row {row}: object {table[row].min()}; objects are numbered from 0"
            )
        return table if order is None else table[:, order]


def _other_names(names: tuple[str, ...], fitted: tuple[str, ...] | None) -> str:
    if fitted is None:
        return f"the Comparisons have names like {names[0]!r}, but fit saw numbers; create them without names"
    unknown = [repr(name) for name in names if name not in set(fitted)]
    few = f" ({', '.join(unknown[:3])}{', ...' * (len(unknown) > 3)})" if unknown else ""
    return f"the Comparisons and the data of fit have different names{few}; create them with names=names_"


def _listed(rows: Sequence[Any]) -> NDArray[Any]:
    try:
        table = np.asarray(rows)
    except ValueError:
        row = next(row for row, cells in enumerate(rows) if np.shape(cells) != np.shape(rows[0]))
        raise ValueError(f"row {row}: {rows[row]!r} is not as long as row 0; comparisons have 3 or 4 columns") from None
    # NumPy would convert the numbers in a list that also holds names to strings.
    return np.asarray(rows, dtype=object) if table.dtype.kind == "U" else table


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return random_state
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
