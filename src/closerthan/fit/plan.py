"""FitPlan: how each of several fits is made, and the time that they share."""

import dataclasses
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.result import Result
from closerthan.settings import Budget, Settings

if TYPE_CHECKING:
    from closerthan.objective.protocol import Device

__all__ = ["FitPlan"]


@dataclasses.dataclass(frozen=True)
class FitPlan:
    """The settings of several fits, where they run, and the time limit that they share.

    A function that fits maps makes one from its keyword arguments and calls :meth:`fit` for each map.

    Attributes
    ----------
    settings
        Settings of each fit; its ``time_limit`` is that of all fits together.
    device, n_threads, progress
        As in :func:`closerthan.embed`.
    budget
        The time that is left for all fits.

    Examples
    --------
    >>> plan = FitPlan.of(None, 3, {"loss": "ste", "epochs": 5, "seed": 0})
    >>> plan.fit(Comparisons.of([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0]])).embedding.shape
    (4, 3)
    """

    settings: Settings
    device: "str | Device" = "cpu"
    n_threads: int | None = None
    progress: bool | str = False
    budget: Budget = dataclasses.field(default_factory=Budget)

    @classmethod
    def of(cls, settings: Settings | None, n_dims: int | None, options: Mapping[str, Any]) -> Self:
        """Return the plan for a function that was called with these keyword arguments (:class:`FitOptions`).

        Early stopping by given comparisons is refused: each of several fits holds out answers of its own.
        """
        validation = options.get("validation", None if settings is None else settings.validation)
        if validation is not None and not isinstance(validation, Real):
            raise ValueError("validation must be a fraction here, as in 0.1: each fit holds out answers of its own")
        merged = Settings.of(settings, n_dims, options)
        return cls(
            merged,
            options.get("device", merged.device),
            options.get("n_threads"),
            options.get("progress", False),
            Budget.of(merged.time_limit),
        )

    def replace(self, **changes: Any) -> Self:
        """Return the same plan with some settings changed."""
        return dataclasses.replace(self, settings=self.settings.replace(**changes))

    def within(self, budget: Budget) -> Self:
        """Return the same plan with another budget."""
        return dataclasses.replace(self, budget=budget)

    def fit(self, answers: Comparisons, *, progress: bool | str = False, **changes: Any) -> Result:
        """Fit one map within the time that is left, with some settings changed; Ctrl-C raises KeyboardInterrupt."""
        settings = self.settings.replace(time_limit=self.budget.seconds_left, **changes)
        result = embed(answers, settings=settings, device=self.device, n_threads=self.n_threads, progress=progress)
        if result.stopped_by == "interrupted":
            raise KeyboardInterrupt
        return result
