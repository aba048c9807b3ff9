"""Fits to parts: many fits of one kind to parts of the answers, on all cores."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from closerthan.comparisons import Comparisons
from closerthan.fit.ctrl_c import Wish
from closerthan.fit.embedding import embed
from closerthan.fit.parallel import run_together
from closerthan.objective.cpu import CPU
from closerthan.result import Result

__all__ = ["PartFits"]

WORTH_THREADS = 16_000  # comparisons: shorter fits mostly wait for Python's lock


@dataclasses.dataclass(frozen=True)
class PartFits:
    """How parts of the answers are fitted: as all of them were, with the loss that was chosen then.

    Attributes
    ----------
    first
        The fit to all answers.
    settings
        Of :func:`closerthan.embed`, for the others.
    n_threads
        How many fits run at once.
    """

    first: Result
    settings: Mapping[str, Any]
    n_threads: int

    @classmethod
    def of(
        cls,
        answers: Comparisons,
        n_dims: int,
        settings: Mapping[str, Any],
        *,
        seed: int | None,
        n_threads: int | None,
        progress: bool,
    ) -> Self:
        """Fit all answers; with ``loss="auto"`` the loss and the number of epochs are chosen here, once."""
        given = sorted({"callback", "checkpoint", "resume", "start"} & settings.keys())
        if given:
            raise ValueError(f"{given[0]} is for one fit; here are many: leave it out")
        first = embed(answers, n_dims, seed=seed, n_threads=n_threads, progress=progress, **settings)
        if first.stopped_by == "interrupted":
            raise KeyboardInterrupt
        assert first.settings is not None
        same = {**settings, "n_dims": n_dims, "loss": first.settings.loss, "epochs": first.settings.epochs}
        if first.settings.n_starts is not None:
            same["n_starts"] = settings.get("n_starts") or 1
        return cls(first, same, CPU(n_threads=n_threads).threads)

    def fit(self, parts: Sequence[Comparisons], seed: int | None, done: Callable[[], None]) -> list[Result]:
        """A map for each part, in their order; ``done`` is called after each. Ctrl-C is raised."""
        cancelled = Wish()

        def one(part: Comparisons) -> Result:
            result = embed(part, seed=seed, n_threads=1, callback=lambda *_: cancelled.is_set(), **self.settings)
            if result.stopped_by == "interrupted":
                raise KeyboardInterrupt
            done()
            return result

        worth = max(map(len, parts)) >= WORTH_THREADS
        results, interrupted = run_together(
            [functools.partial(one, part) for part in parts], self.n_threads if worth else 1, cancelled
        )
        if interrupted:
            raise KeyboardInterrupt
        return results
