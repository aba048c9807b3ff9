"""Bench: what an experiment is given to work with."""

from dataclasses import dataclass
from pathlib import Path

from reproduction.trials import Trials


@dataclass(frozen=True)
class Bench:
    """How large to run, and where to put things."""

    trials: Trials
    n_trials: int | None = None  # None: the experiment's own number
    quick: bool = False
    features: Path | None = None

    def count(self, usual: int, quick: int) -> int:
        """How many trials to run.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bench = Bench(Trials(Path(folder)), quick=True)
        >>> bench.count(50, quick=3)
        3
        """
        if self.n_trials is not None:
            return self.n_trials
        return quick if self.quick else usual
