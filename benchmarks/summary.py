"""Summary: medians and ranges of the raw results of the fits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.results import Record, Results


@dataclass(frozen=True)
class Spread:
    """The median, the minimum and the maximum of some numbers."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Spread":
        return cls(median(numbers), min(numbers), max(numbers))


@dataclass(frozen=True)
class Fits:
    """All runs of one method with one loss on one workload."""

    method: str
    loss: str
    threads: int
    records: tuple[Record, ...]

    @property
    def done(self) -> tuple[Record, ...]:
        return tuple(record for record in self.records if "error" in record)

    @property
    def over_limit(self) -> float | None:
        """The time limit that a run exceeded, or None."""
        return next((record["over_limit"] for record in self.records if "over_limit" in record), None)

    @property
    def failed(self) -> str | None:
        return next((record["failed"] for record in self.records if "failed" in record), None)

    @property
    def seconds(self) -> Spread:
        return Spread.of([record["seconds"] for record in self.done])

    @property
    def error(self) -> Spread:
        return Spread.of([record["error"] for record in self.done])

    @property
    def megabytes(self) -> float:
        peaks = [record["peak_bytes"] for record in self.done if record.get("peak_bytes") is not None]
        return max(peaks) / 1e6 if peaks else math.nan

    def seconds_to(self, error: float) -> Spread:
        """Return the time until the held-out error is at or below ``error``, including setup; infinite if never."""
        return Spread.of([_first_at(record, error) for record in self.done])

    def reached(self, error: float) -> int:
        """Return the number of runs whose held-out error fell to ``error`` or below."""
        return sum(math.isfinite(_first_at(record, error)) for record in self.done)


def _first_at(record: Record, error: float) -> float:
    for seconds, reached in zip(record["curve_seconds"], record["curve_error"], strict=True):
        if reached <= error:
            return float(record["setup"] + seconds)
    return math.inf


def fits_on(results: Results, workload: str) -> list[Fits]:
    """Return the fits on a workload, in the order in which they were measured."""
    grouped: dict[tuple[str, str, int], list[Record]] = {}
    for record in results.where(part="fits", workload=workload):
        grouped.setdefault((record["method"], record["loss"], record["threads"]), []).append(record)
    return [Fits(*key, tuple(records)) for key, records in grouped.items()]


def fits_of(fits: Sequence[Fits], method: str, loss: str, threads: int) -> Fits | None:
    """Return the fits of this method and loss, or None if no run finished or reached its limit."""
    for one in fits:
        if (one.method, one.loss, one.threads) == (method, loss, threads) and (one.done or one.over_limit):
            return one
    return None
