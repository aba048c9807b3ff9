"""Settings: one description of a fit, as an object and as data.

Each option of a fit is defined here once: its default, its valid values and its name on the command line. ``--help``
imports this module, so it must not import anything slow.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict, TypeVar, Unpack, get_args

from closerthan.checks import ParameterError, check_keywords, number, whole
from closerthan.losses import LOSSES, Loss, loss_named, name_with_parameter
from closerthan.registry import JsonObject, UserDefined, as_data, from_data, name_of, parameters
from closerthan.representation import tabulated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from closerthan.arrays import Array
    from closerthan.comparisons import Comparisons
    from closerthan.history import Record
    from closerthan.objective.protocol import Device
    from closerthan.solvers import Solver

from closerthan.signatures import lists_keywords

__all__ = [
    "ENDED",
    "Budget",
    "FitOptions",
    "Option",
    "Settings",
    "TimeOverError",
    "ended_by",
    "lists_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])

AUTO = "auto"
Likelihood = Literal["auto", "answers", "comparisons"]
LIKELIHOODS: tuple[Likelihood, ...] = get_args(Likelihood)
GIVEN: Literal["given"] = "given"  # the validation set was passed as comparisons, not as a fraction
LEAST_SECONDS = 1e-3  # the shortest time limit, since it must be positive


class Option(NamedTuple):
    """The command-line option of a setting."""

    names: tuple[str, ...]
    metavar: str
    help: str
    kind: type = str
    least: int | None = None
    parse: Callable[[str], Any] | None = None  # converts text if ``kind`` cannot


def _setting(default: Any, *names: str, sklearn_name: str = "", **about: Any) -> Any:
    return dataclasses.field(default=default, metadata={"option": Option(names, **about), "sklearn_name": sklearn_name})


def _number_or_none(text: str) -> float | None:
    return None if text == "none" else float(text)


def _number_or_auto(text: str) -> float | str:
    return text if text == AUTO else float(text)


def _fraction_or_file(text: str) -> float | Path | None:
    try:
        return _number_or_none(text)
    except ValueError:
        return Path(text)


class _CommonOptions(TypedDict, total=False):
    """The fields of :class:`Settings` that are keyword arguments of functions."""

    penalty: float | str | None
    likelihood: str
    solver: "str | Solver"
    n_starts: int | None
    validation: "float | Comparisons | ArrayLike | None"
    by: str
    epochs: int
    tolerance: float | None
    window: int | None
    patience: int | None
    time_limit: float | None
    seed: "int | np.random.Generator | None"
    device: "str | Device"


class SettingChanges(_CommonOptions, total=False):
    """Keyword arguments that change settings: the fields of :class:`Settings`."""

    n_dims: int
    loss: "str | Loss | UserDefined"


class _LossOption(TypedDict, total=False):
    loss: "str | Loss"


class FitOptions(_LossOption, _CommonOptions, total=False):
    """Keyword arguments that every function that fits maps accepts; :func:`closerthan.embed` explains each."""

    n_threads: int | None
    progress: bool | str
    callback: "Callable[[Record, Array], object] | None"


@dataclasses.dataclass(frozen=True)
class Budget:
    """The time that several fits share.

    Attributes
    ----------
    deadline
        The time by which all fits must end, on the clock of :func:`time.perf_counter`; infinity without a limit.

    Examples
    --------
    >>> Budget.of(None).seconds_left is None
    True
    >>> budget = Budget.of(60.0)
    >>> 29 < budget.part(0.5).seconds_left < 31, budget.is_over
    (True, False)
    """

    deadline: float = math.inf

    @classmethod
    def of(cls, seconds: float | None, began: float | None = None) -> Self:
        """Return a budget of this many seconds from ``began`` (by default, from now); None means no limit."""
        began = time.perf_counter() if began is None else began
        return cls(math.inf if seconds is None else began + seconds)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, as a positive time limit for the next fit; None if there is no limit."""
        return None if self.deadline == math.inf else max(self.deadline - time.perf_counter(), LEAST_SECONDS)

    @property
    def is_over(self) -> bool:
        """True if the deadline has passed."""
        return time.perf_counter() >= self.deadline

    def part(self, fraction: float) -> Self:
        """Return a budget that ends after this fraction of the time that is left."""
        now = time.perf_counter()
        return type(self)(now + fraction * (self.deadline - now))


@tabulated
@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a fit; :func:`closerthan.embed` documents each field.

    Values are checked, and names of losses and solvers are replaced by objects, when the settings are created.

    Examples
    --------
    >>> settings = Settings(loss="tste", n_dims=3, seed=0)
    >>> settings.loss
    TSTE(alpha=2.0)
    >>> settings.to_data()["loss"]
    {'name': 'tste', 'alpha': 2.0}
    >>> Settings.from_data(settings.to_data()) == settings
    True
    """

    n_dims: int = _setting(
        2,
        "--dims",
        "-d",
        metavar="NUMBER",
        kind=int,
        least=1,
        sklearn_name="n_components",
        help="Dimensions of the map.",
    )
    loss: "str | Loss | UserDefined" = _setting(  # noqa: RUF009
        AUTO,
        "--loss",
        metavar="NAME",
        help="gnmds, ckl, ste, tste (tste-4: with 4 degrees of freedom), soe, or auto: the one that predicts held-out "
        "answers best.",
    )
    penalty: float | str | None = _setting(
        None,
        "--penalty",
        metavar="NUMBER|auto",
        parse=_number_or_auto,
        help="Strength of the penalty on squared distances, per object. By default chosen on held-out answers; 0 for a "
        "named loss with a solver other than polyak and hogwild.",
    )
    likelihood: str = _setting(
        AUTO,
        "--likelihood",
        metavar="auto|answers|comparisons",
        help="The likelihood to maximise: that of answers, as choices among the pairs shown, or of the comparisons "
        "that follow from them; auto: comparisons.",
    )
    solver: "str | Solver | UserDefined" = _setting(  # noqa: RUF009
        "polyak",
        "--solver",
        metavar="NAME",
        help="polyak, hogwild, svrg-sbb, svrg-sbb0, svrg-bb, svrg, sgd, batch, gram or lbfgs.",
    )
    n_starts: int | None = _setting(
        None,
        "--starts",
        metavar="NUMBER",
        kind=int,
        least=1,
        sklearn_name="n_init",
        help="Number of random starts; the best is kept. By default 1, or 4 if loss or penalty is chosen.",
    )
    validation: float | Literal["given"] | None = _setting(
        None,
        "--validation",
        metavar="FRACTION|FILE",
        parse=_fraction_or_file,
        help="Stop early, by the error on a held-out fraction of the answers (as in 0.1) or on the answers in a file.",
    )
    by: str = _setting(
        "auto",
        "--by",
        metavar="auto|answers|blocks|people",
        help="Unit to hold out: answers, blocks of dependent trials, or people; auto: blocks if there are any.",
    )
    epochs: int = _setting(
        100, "--epochs", metavar="NUMBER", kind=int, least=0, sklearn_name="max_iter", help="Maximum number of epochs."
    )
    tolerance: float | None = _setting(
        1e-3,
        "--tolerance",
        metavar="FRACTION|none",
        parse=_number_or_none,
        sklearn_name="tol",
        help="Stop when --window epochs lower the objective by less than this fraction of its total decrease.",
    )
    window: int | None = _setting(
        None,
        "--window",
        metavar="NUMBER",
        kind=int,
        least=1,
        help="Epochs over which --tolerance measures progress; by default 3.",
    )
    patience: int | None = _setting(
        None,
        "--patience",
        metavar="NUMBER",
        kind=int,
        least=1,
        help="Epochs that --validation waits for a better error; by default 20.",
    )
    time_limit: float | None = _setting(
        None, "--time-limit", metavar="SECONDS", kind=float, help="Stop after this time, with the best map so far."
    )
    seed: int | None = _setting(
        0,
        "--seed",
        metavar="NUMBER",
        kind=int,
        least=0,
        sklearn_name="random_state",
        help="The same seed gives the same map.",
    )
    device: str = _setting(
        "cpu",
        "--device",
        metavar="cpu|cuda|auto",
        help="cpu; cuda: a GPU (needs the extra torch); auto: a GPU if available and faster.",
    )

    def __post_init__(self) -> None:
        from closerthan.comparisons.grouping import check_by
        from closerthan.solvers import solver_named

        n_dims = whole("n_dims", self.n_dims, least=1)
        epochs = whole("epochs", self.epochs, least=0)
        n_starts = None if self.n_starts is None else whole("n_starts", self.n_starts, least=1)
        check_by(self.by, ())
        if self.likelihood not in LIKELIHOODS:
            raise ParameterError("likelihood", self.likelihood, f"it must be one of {', '.join(LIKELIHOODS)}")
        window = None if self.window is None else whole("window", self.window, least=1)
        patience = None if self.patience is None else whole("patience", self.patience, least=1)
        tolerance, time_limit, validation, seed = self.tolerance, self.time_limit, self.validation, self.seed
        if tolerance is not None:
            tolerance = number("tolerance", tolerance, lambda it: it >= 0, "not be negative (None disables this rule)")
        if time_limit is not None:
            time_limit = number("time_limit", time_limit, lambda it: it > 0, "be a positive number of seconds")
        penalty = self.penalty
        if penalty is not None and penalty != AUTO:
            rule = 'be finite and not negative, or it must be "auto"'
            penalty = number("penalty", penalty, lambda it: 0 <= it < math.inf, rule)
        if validation not in (None, GIVEN):
            validation = number("validation", validation, lambda it: 0 < it < 1, "lie between 0 and 1, as in 0.1")
        if seed is not None:
            seed = whole("seed", seed, least=0)
        loss, solver = self.loss, self.solver
        if not self.is_auto and not isinstance(loss, UserDefined):
            loss = loss_named(loss).in_dims(n_dims)
        if not isinstance(solver, UserDefined):
            solver = solver_named(solver)
        parameters(solver)  # raises an error for a solver that could not be saved
        checked = {
            "n_dims": n_dims,
            "loss": loss,
            "penalty": penalty,
            "solver": solver,
            "n_starts": n_starts,
            "validation": validation,
            "epochs": epochs,
            "tolerance": tolerance,
            "window": window,
            "patience": patience,
            "time_limit": time_limit,
            "seed": seed,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def is_auto(self) -> bool:
        """True if the loss is still to be chosen."""
        return isinstance(self.loss, str) and self.loss == AUTO

    @property
    def must_choose(self) -> bool:
        """True if the loss, its penalty or both are still to be chosen.

        By default, the penalty of a named loss is chosen for the default solver and its variants. Other solvers
        minimise the loss without a penalty, as in the publications that they reproduce.

        Examples
        --------
        >>> Settings(loss="ste").must_choose, Settings(loss="ste", solver="svrg-sbb").must_choose
        (True, False)
        """
        if self.penalty is not None and not self.is_auto:
            return self.penalty == AUTO
        return self.is_auto or (self.epochs > 0 and self.has_default_solver)

    @property
    def has_default_solver(self) -> bool:
        """True if the solver is polyak or a variant of it, such as hogwild."""
        from closerthan.solvers import Polyak

        return isinstance(self.solver, Polyak)

    @property
    def penalty_strength(self) -> float:
        """Strength of the penalty once it is fixed."""
        return self.penalty if isinstance(self.penalty, float) else 0.0

    @property
    def random_starts(self) -> int:
        """Number of random starts once the loss is fixed."""
        return self.n_starts or 1

    @property
    def most_epochs(self) -> int:
        """Maximum total number of epochs of all starts."""
        return self.epochs * self.random_starts

    @property
    def stops_by_held_out(self) -> bool:
        """True if the error on a validation set stops the fit and selects its map."""
        return self.validation is not None

    @property
    def validation_fraction(self) -> float | None:
        """The fraction of the answers in the validation set; None without one, or if it was passed as comparisons."""
        return self.validation if isinstance(self.validation, float) else None

    def budget(self, began: float | None = None) -> Budget:
        """Return the time limit as a budget that starts at ``began`` (by default, now)."""
        return Budget.of(self.time_limit, began)

    @property
    def loss_name(self) -> str | None:
        """Name of the loss on the command line; None for a user's class."""
        if self.is_auto:
            return AUTO
        name = name_of(self.loss, {name: partial(_in_dims, name, self.n_dims) for name in LOSSES})
        return name_with_parameter(self.loss) if name is None and isinstance(self.loss, Loss) else name

    @property
    def solver_name(self) -> str | None:
        """Name of the solver on the command line; None for a user's class or for non-default parameters."""
        from closerthan.solvers import SOLVERS

        return name_of(self.solver, SOLVERS)

    @classmethod
    def of(
        cls, base: "Settings | None" = None, n_dims: int | None = None, options: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the settings that a function was called with: ``base``, changed by its keyword arguments.

        Options that are not settings, such as ``n_threads``, are ignored; unknown ones are an error.

        Examples
        --------
        >>> Settings.of(Settings(loss="ste"), 3, {"epochs": 5, "n_threads": 1}).epochs
        5
        >>> Settings.of(None, 3, {"epoch": 5})
        Traceback (most recent call last):
        ...
        TypeError: unexpected keyword argument 'epoch'; did you mean 'epochs'?
        """
        if not isinstance(base, Settings | None):
            raise ParameterError("settings", base, "it must be a Settings, such as result.settings, or None")
        changes = dict(options or {})
        check_keywords(changes, FitOptions.__annotations__)
        settings = {name: value for name, value in changes.items() if name in cls.__dataclass_fields__}
        settings.pop("device", None)
        if n_dims is not None:
            settings["n_dims"] = n_dims
        return cls().replace(**settings) if base is None else base.replace(**settings)  # type: ignore[return-value]

    def replace(self, **changes: Unpack[SettingChanges]) -> Self:
        """Return these settings with some fields changed.

        A loss whose parameters depend on the number of dimensions follows a change of that number.

        Examples
        --------
        >>> Settings(loss="tste", n_dims=2).replace(n_dims=5).loss
        TSTE(alpha=4.0)
        """
        if "n_dims" in changes and "loss" not in changes and self.loss_name is not None:
            changes["loss"] = self.loss_name
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def with_starts(self, number: int) -> Self:
        """Return these settings with another number of random starts."""
        return self.replace(n_starts=number)

    def with_default_starts(self, number: int) -> Self:
        """Return these settings with this number of random starts, unless they specify one."""
        return self if self.n_starts else self.with_starts(number)

    def within(self, budget: Budget) -> Self:
        """Return these settings with the remaining time of a budget as their time limit."""
        return self.replace(time_limit=budget.seconds_left)

    def for_parts(self, budget: Budget) -> Self:
        """Return settings for fits to subsets of the answers: no early stopping, within a budget."""
        return self.replace(validation=None).within(budget)

    def for_refits(self) -> Self:
        """Return the settings for further fits: default number of starts, no early stopping, no time limit."""
        return self.replace(n_starts=None, validation=None, time_limit=None)

    def trial(self, length: int, **changes: Unpack[SettingChanges]) -> Self:
        """Return settings for a fit of at most ``length`` epochs from one start, without a validation set."""
        trial = SettingChanges(n_starts=1, tolerance=None, window=None, validation=None, epochs=length)
        return self.replace(**(trial | changes))

    def replicate(self, epochs: int) -> Self:
        """Return settings for refitting resampled answers: one start, no validation split, ``epochs`` epochs."""
        return self.replace(n_starts=1, validation=None, by="answers", epochs=epochs, seed=None)

    def decisive_data(self) -> JsonObject:
        """Return the settings that determine the map, in the form of :meth:`to_data`: all except the time limit."""
        data = {name: value for name, value in self.to_data().items() if name != "time_limit"}
        return data if self.must_choose else data | {"n_starts": self.random_starts}

    def to_data(self) -> JsonObject:
        """Return data for JSON, with the loss and the solver as names and parameters."""
        from closerthan.solvers import SOLVERS

        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["loss"] = self.loss_data
        data["solver"] = as_data(self.solver, SOLVERS)
        return data

    @property
    def loss_data(self) -> dict[str, Any]:
        """The name and the parameters of the loss."""
        return {"name": AUTO} if self.is_auto else as_data(self.loss, LOSSES)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return settings from the data of :meth:`to_data`; a user's own class becomes a ``UserDefined``."""
        from closerthan import solvers

        classes = {name: kind for name in solvers.__all__ if isinstance(kind := getattr(solvers, name), type)}
        loss = data["loss"]
        return cls(**{
            "penalty": 0.0,  # settings of earlier versions have none
            "likelihood": "comparisons",  # these settings have no likelihood either
            **data,
            "loss": AUTO if loss["name"] == AUTO else from_data(loss, LOSSES, {}),
            "solver": from_data(data["solver"], solvers.SOLVERS, classes),
        })  # fmt: skip

    @classmethod
    def option(cls, name: str) -> Option:
        """Return the command-line option of a setting."""
        option: Option = cls.__dataclass_fields__[name].metadata["option"]
        return option

    @classmethod
    def names_in_estimator(cls) -> dict[str, str]:
        """Return the parameter of :class:`closerthan.OrdinalEmbedding` for each setting."""
        return {field.name: field.metadata["sklearn_name"] or field.name for field in dataclasses.fields(cls)}


def lists_options(options: type, **defaults: object) -> Callable[[Function], Function]:
    """Return a decorator that makes ``help()`` and editors list the options of a fit, with their defaults.

    Examples
    --------
    >>> @lists_options(FitOptions, loss="ste")
    ... def refit(**options): ...
    >>> import inspect
    >>> parameters = inspect.signature(refit).parameters
    >>> parameters["epochs"].default, parameters["loss"].default
    (100, 'ste')
    """
    of_settings = {field.name: field.default for field in dataclasses.fields(Settings)}
    return lists_keywords(options, {**of_settings, "progress": False, "resume": False, **defaults})


class TimeOverError(ValueError):
    """The time limit was reached before there was a result to return."""


ENDED = {"interrupted": "interrupted", "time_limit": "the time limit was reached"}
"""Descriptions of why several fits stopped before all of them were done."""


def ended_by(error: BaseException) -> str:
    """Return the key of ``ENDED`` that an exception stands for: "interrupted" for Ctrl-C, otherwise "time_limit".

    Examples
    --------
    >>> ended_by(KeyboardInterrupt()), ended_by(TimeOverError())
    ('interrupted', 'time_limit')
    """
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "time_limit"


def _in_dims(name: str, n_dims: int) -> Loss:
    return loss_named(name).in_dims(n_dims)
