"""Settings: one description of a fit, as an object and as data.

Everything that describes a fit, but not what it is fitted to, is named here once: what it is by default, what may be
said, and how the command line calls it. ``--help`` reads it, so nothing heavy is imported with this module.
"""

import dataclasses
import difflib
import inspect
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypedDict, TypeVar

from closerthan.checks import ParameterError, number, whole
from closerthan.losses import LOSSES, Loss, loss_named
from closerthan.registry import UserDefined, as_data, from_data, name_of, parameters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from closerthan.arrays import Array
    from closerthan.comparisons import Comparisons
    from closerthan.history import Record
    from closerthan.objective.protocol import Device
    from closerthan.solvers import Solver

__all__ = [
    "ENDED",
    "Budget",
    "FitOptions",
    "Option",
    "Settings",
    "TimeOverError",
    "check_options",
    "ended_by",
    "lists_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])

AUTO = "auto"
GIVEN: Literal["given"] = "given"  # the validation set is data of its own, not a share of the answers
LEAST_SECONDS = 1e-3  # of a time limit: less is none


class Option(NamedTuple):
    """How the command line calls a setting."""

    names: tuple[str, ...]
    metavar: str
    help: str
    kind: type = str
    least: int | None = None
    parse: Callable[[str], Any] | None = None  # of text that is more than its kind


def _setting(default: Any, *names: str, sklearn_name: str = "", **about: Any) -> Any:
    return dataclasses.field(default=default, metadata={"option": Option(names, **about), "sklearn_name": sklearn_name})


def _number_or_none(text: str) -> float | None:
    return None if text == "none" else float(text)


def _share_or_file(text: str) -> float | Path | None:
    try:
        return _number_or_none(text)
    except ValueError:
        return Path(text)


class FitOptions(TypedDict, total=False):
    """Keyword arguments that every function that fits maps accepts; :func:`closerthan.embed` explains each.

    All except ``device``, ``n_threads``, ``progress`` and ``callback`` are fields of :class:`Settings`.
    """

    loss: "str | Loss"
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
    n_threads: int | None
    progress: bool | str
    callback: "Callable[[Record, Array], object] | None"


@dataclasses.dataclass(frozen=True)
class Budget:
    """The time that several fits share.

    Attributes
    ----------
    deadline
        When all of them must have ended, on the clock of :func:`time.perf_counter`; infinity if there is no limit.

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
        """Whether the deadline has passed."""
        return time.perf_counter() >= self.deadline

    def part(self, fraction: float) -> Self:
        """Return a budget that ends after this fraction of the time that is left."""
        now = time.perf_counter()
        return type(self)(now + fraction * (self.deadline - now))


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a fit is asked to do; see :func:`closerthan.embed` for what each field means.

    Values are checked, and names become what they stand for, when the object is made.

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
        help="gnmds, ckl, ste, tste, soe, or auto: the one that predicts held-out answers best.",
    )
    solver: "str | Solver | UserDefined" = _setting(  # noqa: RUF009
        "polyak",
        "--solver",
        metavar="NAME",
        help="polyak, svrg-sbb, svrg-sbb0, svrg-bb, svrg, sgd, batch, gram or lbfgs.",
    )
    n_starts: int | None = _setting(
        None,
        "--starts",
        metavar="NUMBER",
        kind=int,
        least=1,
        sklearn_name="n_init",
        help="Random starts; the best is kept. By default one, two with --loss auto.",
    )
    validation: float | Literal["given"] | None = _setting(
        None,
        "--validation",
        metavar="SHARE|FILE",
        parse=_share_or_file,
        help="Stop early, by the error on a share of the answers kept aside (as in 0.1) or on those in a file.",
    )
    by: str = _setting(
        "auto",
        "--by",
        metavar="auto|answers|blocks|people",
        help="What is held out whole: answers, blocks of dependent trials, or people; auto: blocks if there are some.",
    )
    epochs: int = _setting(
        100, "--epochs", metavar="NUMBER", kind=int, least=0, sklearn_name="max_iter", help="The most epochs to run."
    )
    tolerance: float | None = _setting(
        1e-3,
        "--tolerance",
        metavar="SHARE|none",
        parse=_number_or_none,
        sklearn_name="tol",
        help="Stop when --window epochs gain less than this share of what the map has gained in all.",
    )
    window: int | None = _setting(
        None, "--window", metavar="NUMBER", kind=int, least=1, help="Epochs over which --tolerance judges progress. [3]"
    )
    patience: int | None = _setting(
        None,
        "--patience",
        metavar="NUMBER",
        kind=int,
        least=1,
        help="Epochs that --validation waits for a better error. [20]",
    )
    time_limit: float | None = _setting(
        None, "--time-limit", metavar="SECONDS", kind=float, help="Stop after so long, with the best map so far."
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
        help="Where to compute: cpu; cuda, a GPU (needs the extra torch); auto: the GPU if it is there and pays.",
    )

    def __post_init__(self) -> None:
        from closerthan.comparisons.grouping import check_by
        from closerthan.solvers import solver_named

        n_dims = whole("n_dims", self.n_dims, least=1)
        epochs = whole("epochs", self.epochs, least=0)
        n_starts = None if self.n_starts is None else whole("n_starts", self.n_starts, least=1)
        check_by(self.by, ())
        window = None if self.window is None else whole("window", self.window, least=1)
        patience = None if self.patience is None else whole("patience", self.patience, least=1)
        tolerance, time_limit, validation, seed = self.tolerance, self.time_limit, self.validation, self.seed
        if tolerance is not None:
            tolerance = number("tolerance", tolerance, lambda it: it >= 0, "not be negative (None: never stop by it)")
        if time_limit is not None:
            time_limit = number("time_limit", time_limit, lambda it: it > 0, "be a positive number of seconds")
        if validation not in (None, GIVEN):
            validation = number("validation", validation, lambda it: 0 < it < 1, "lie between 0 and 1, as in 0.1")
        if seed is not None:
            seed = whole("seed", seed, least=0)
        loss, solver = self.loss, self.solver
        if not self.is_auto and not isinstance(loss, UserDefined):
            loss = loss_named(loss).in_dims(n_dims)
        if not isinstance(solver, UserDefined):
            solver = solver_named(solver)
        parameters(solver)  # one whose parameters are not known could not be saved
        checked = {
            "n_dims": n_dims,
            "loss": loss,
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
        """Whether the loss is still to be chosen."""
        return isinstance(self.loss, str) and self.loss == AUTO

    @property
    def random_starts(self) -> int:
        """How many starts a fit with a loss that is known draws."""
        return self.n_starts or 1

    @property
    def most_epochs(self) -> int:
        """Of all starts together."""
        return self.epochs * self.random_starts

    @property
    def stops_by_held_out(self) -> bool:
        """Whether the fit ends, and its map is chosen, by answers that it does not fit."""
        return self.validation is not None

    @property
    def held_out_share(self) -> float | None:
        """The share of the answers that the fit is stopped by; None: none, or others that were given."""
        return self.validation if isinstance(self.validation, float) else None

    def budget(self, began: float | None = None) -> Budget:
        """Return the time limit as a budget that starts at ``began`` (by default, now)."""
        return Budget.of(self.time_limit, began)

    @property
    def loss_name(self) -> str | None:
        """What the command line calls the loss; None if it has parameters of its own, or is the user's."""
        if self.is_auto:
            return AUTO
        return name_of(self.loss, {name: partial(_in_dims, name, self.n_dims) for name in LOSSES})

    @property
    def solver_name(self) -> str | None:
        """What the command line calls the solver; None if it has parameters of its own, or is the user's."""
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
        TypeError: unknown keyword argument 'epoch'; did you mean 'epochs'?
        """
        if not isinstance(base, Settings | None):
            raise ParameterError("settings", base, "it must be a Settings, such as result.settings, or None")
        changes = dict(options or {})
        check_options(changes)
        settings = {name: value for name, value in changes.items() if name in cls.__dataclass_fields__}
        settings.pop("device", None)
        if n_dims is not None:
            settings["n_dims"] = n_dims
        return cls().replace(**settings) if base is None else base.replace(**settings)  # type: ignore[return-value]

    def replace(self, **changes: Any) -> Self:
        """Return these settings with some fields changed.

        A loss whose parameters depend on the number of dimensions follows a change of that number.

        Examples
        --------
        >>> Settings(loss="tste", n_dims=2).replace(n_dims=5).loss
        TSTE(alpha=4.0)
        """
        if "n_dims" in changes and "loss" not in changes and self.loss_name is not None:
            changes["loss"] = self.loss_name
        return dataclasses.replace(self, **changes)

    def with_starts(self, number: int) -> Self:
        """Return these settings with another number of random starts."""
        return self.replace(n_starts=number)

    def with_default_starts(self, number: int) -> Self:
        """Return these settings with this number of random starts, unless they specify one."""
        return self if self.n_starts else self.with_starts(number)

    def within(self, budget: Budget) -> Self:
        """Return these settings with the time that is left of a budget as time limit."""
        return self.replace(time_limit=budget.seconds_left)

    def for_parts(self, budget: Budget) -> Self:
        """Return settings for fits to subsets of the answers: no early stopping, within a budget."""
        return self.replace(validation=None).within(budget)

    def for_refits(self) -> Self:
        """Return the settings of a fit for further fits: no early stopping, and no limits of the first fit."""
        return self.replace(n_starts=None, validation=None, time_limit=None)

    def trial(self, length: int, *, judged: bool, **changes: Any) -> Self:
        """A fit of so many epochs from one start; ``judged``: by answers that are given with it."""
        epochs = length if judged else min(self.epochs, length)
        return self.replace(n_starts=1, tolerance=None, validation=GIVEN if judged else None, epochs=epochs, **changes)

    def replicate(self, epochs: int) -> Self:
        """The same fit to all of other answers: one start, and nothing held out to end it before so many epochs."""
        return self.replace(n_starts=1, validation=None, by="answers", epochs=epochs, seed=None)

    def decisive_data(self) -> dict[str, Any]:
        """Return what determines the map, in the form of :meth:`to_data`: everything except the time limit."""
        data = {name: value for name, value in self.to_data().items() if name != "time_limit"}
        return data if self.is_auto else data | {"n_starts": self.random_starts}

    def to_data(self) -> dict[str, Any]:
        """As JSON can say it: loss and solver by their names and parameters."""
        from closerthan.solvers import SOLVERS

        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["loss"] = {"name": AUTO} if self.is_auto else as_data(self.loss, LOSSES)
        data["solver"] = as_data(self.solver, SOLVERS)
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_data` wrote. A class of the user's own comes back as its name and parameters."""
        from closerthan import solvers

        classes = {name: found for name in solvers.__all__ if isinstance(found := getattr(solvers, name), type)}
        loss = data["loss"]
        return cls(**{
            **data,
            "loss": AUTO if loss["name"] == AUTO else from_data(loss, LOSSES, {}),
            "solver": from_data(data["solver"], solvers.SOLVERS, classes),
        })  # fmt: skip

    @classmethod
    def option(cls, name: str) -> Option:
        """How the command line calls a setting."""
        found: Option = cls.__dataclass_fields__[name].metadata["option"]
        return found

    @classmethod
    def names_in_estimator(cls) -> dict[str, str]:
        """What :class:`closerthan.OrdinalEmbedding` calls each setting."""
        return {field.name: field.metadata["sklearn_name"] or field.name for field in dataclasses.fields(cls)}


def check_options(options: Mapping[str, Any], accepted: type = FitOptions) -> None:
    """Raise a TypeError that suggests the nearest keyword argument if one is unknown.

    Parameters
    ----------
    options
        Keyword arguments that a function received.
    accepted
        The TypedDict that describes them.
    """
    names = accepted.__annotations__
    for name in options:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose from: {', '.join(sorted(names))}"
            raise TypeError(f"unknown keyword argument {name!r}; {hint}")


def lists_options(options: type) -> Callable[[Function], Function]:
    """Return a decorator that makes ``help()`` and editors list each option of a TypedDict that a function unpacks.

    Examples
    --------
    >>> @lists_options(FitOptions)
    ... def refit(**options): ...
    >>> import inspect
    >>> inspect.signature(refit).parameters["epochs"].default
    100
    """

    def decorated(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        unpacked = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(name), annotation=annotation)
            for name, annotation in options.__annotations__.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *unpacked])  # type: ignore[attr-defined]
        return function

    return decorated


def _default(option: str) -> Any:
    field = Settings.__dataclass_fields__.get(option)
    return {"progress": False, "resume": False}.get(option) if field is None else field.default


class TimeOverError(ValueError):
    """The time limit was reached before there was anything to return."""


ENDED = {"interrupted": "interrupted", "time_limit": "the time limit was reached"}
"""What ended several fits before all of them were done, in words."""


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
