"""Bench: the size and the output of an experiment."""

from dataclasses import dataclass
from pathlib import Path

from reproduction.trial_log import TrialLog


@dataclass(frozen=True)
class Bench:
    """The log of finished trials, and how many trials to run in which version of an experiment."""

    log: TrialLog
    n_trials: int | None = None  # None: the experiment's default
    quick: bool = False
    features: Path | None = None

    def count(self, usual: int, quick: int) -> int:
        """Return the number of trials to run.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bench = Bench(TrialLog(Path(folder)), quick=True)
        >>> bench.count(50, quick=3)
        3
        """
        if self.n_trials is not None:
            return self.n_trials
        return quick if self.quick else usual
