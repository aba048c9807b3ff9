"""FitPlan: the settings of several fits, and the time that they share."""

import dataclasses
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.fit.embedding import embed
from closerthan.fit.monitor import Callback
from closerthan.losses import Loss
from closerthan.registry import UserDefined
from closerthan.result import Result
from closerthan.settings import GIVEN, Budget, SettingChanges, Settings

if TYPE_CHECKING:
    from closerthan.objective.protocol import Device

__all__ = ["FitPlan"]


@dataclasses.dataclass(frozen=True)
class FitPlan:
    """The settings of several fits, where they run, and the time limit that they share.

    A function that fits several maps creates a plan from its keyword arguments and calls :meth:`fit` for each map.

    Attributes
    ----------
    settings
        Settings of each fit; its ``time_limit`` applies to all fits together, and its seed is always a number.
    loss
        The loss as the caller specified it: the parameters of a named loss follow the number of dimensions.
    device, n_threads, progress, callback
        As in :func:`closerthan.embed`.
    budget
        The time that is left for all fits.
    validation_set
        Comparisons for early stopping; None if ``settings.validation`` is a fraction or None.

    Examples
    --------
    >>> plan = FitPlan.of(None, 3, {"loss": "ste", "epochs": 5, "seed": 0})
    >>> plan.fit(Comparisons.of([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0]])).embedding.shape
    (4, 3)
    """

    settings: Settings
    loss: str | Loss | UserDefined = "auto"
    device: "str | Device" = "cpu"
    n_threads: int | None = None
    progress: bool | str = False
    budget: Budget = dataclasses.field(default_factory=Budget)
    validation_set: Any = None
    callback: Callback | None = None

    @classmethod
    def of(
        cls,
        settings: Settings | None,
        n_dims: int | None,
        options: Mapping[str, Any],
        *,
        accepts_validation_set: bool = False,
    ) -> Self:
        """Return the plan for a function that was called with these keyword arguments (:class:`FitOptions`).

        Without a seed, one is drawn, so that all fits share it. Comparisons for early stopping are refused unless
        ``accepts_validation_set``: usually, each of several fits holds out its own answers.
        """
        base = Settings.of(settings)
        changes = dict(options)
        validation, validation_set = changes.get("validation", base.validation), None
        if validation is not None and not isinstance(validation, Real):
            if not accepts_validation_set or isinstance(validation, str):
                raise ValueError("validation must be a fraction here, as in 0.1: each fit holds out its own answers")
            changes["validation"], validation_set = GIVEN, validation
        merged = Settings.of(base, n_dims, changes)
        if merged.seed is None:
            merged = merged.replace(seed=int(np.random.default_rng().integers(2**31)))
        return cls(
            merged,
            changes.get("loss", base.loss_name or base.loss),
            changes.get("device", base.device),
            changes.get("n_threads"),
            changes.get("progress", False),
            merged.budget(),
            validation_set,
            changes.get("callback"),
        )

    @property
    def seed(self) -> int:
        """The seed of the first fit."""
        return self.settings.seed or 0

    def replace(self, **changes: Unpack[SettingChanges]) -> Self:
        """Return the same plan with some settings changed."""
        if "n_dims" in changes:
            changes.setdefault("loss", self.loss)
        settings = self.settings.replace(**changes)
        return dataclasses.replace(self, settings=settings, loss=changes.get("loss", self.loss))

    def with_default_starts(self, number: int) -> Self:
        """Return the same plan with this number of random starts per fit, unless the caller specified one."""
        return dataclasses.replace(self, settings=self.settings.with_default_starts(number))

    def within(self, budget: Budget) -> Self:
        """Return the same plan with another budget."""
        return dataclasses.replace(self, budget=budget)

    def fit(self, answers: Comparisons, *, progress: bool | str = False, **changes: Unpack[SettingChanges]) -> Result:
        """Fit one map within the time that is left, with some settings changed; Ctrl-C raises KeyboardInterrupt."""
        settings = self.replace(**changes).settings.within(self.budget)
        validation = settings.validation if self.validation_set is None else self.validation_set
        result = embed(
            answers,
            settings=settings,
            validation=validation,
            device=self.device,
            n_threads=self.n_threads,
            progress=progress,
            callback=self.callback,
        )
        if result.stopped_by == "interrupted":
            raise KeyboardInterrupt
        return result
