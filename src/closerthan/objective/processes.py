"""The processes that share one fit. Nothing here needs PyTorch: a fit usually runs in a single process."""

from typing import Protocol, TypeVar

__all__ = ["SEVERAL", "Processes", "SingleProcess"]

SEVERAL = "several processes"  # suffix of the kind of a device that several processes share; checkpoints store it

T = TypeVar("T")


class Processes(Protocol):
    """All processes that share a fit, as one of them sees them.

    Rank 0 decides when to stop, writes files and shows the progress bar.
    """

    @property
    def n(self) -> int:
        """Number of processes."""

    @property
    def rank(self) -> int:
        """Rank of this process, from 0."""

    def broadcast(self, value: T) -> T:
        """Return the value that rank 0 passes; the values of other processes are ignored."""

    def all_gather(self, value: T) -> list[T]:
        """Return the values of all processes, in the order of their ranks."""

    def agree_to_stop(self, reason: str | None) -> str | None:
        """Return the common reason to stop, or None to continue; every process passes its own reason."""


class SingleProcess:
    """The only process of a fit.

    Examples
    --------
    >>> SingleProcess().broadcast(3), SingleProcess().all_gather("a")
    (3, ['a'])
    """

    n = 1
    rank = 0

    def broadcast(self, value: T) -> T:
        return value

    def all_gather(self, value: T) -> list[T]:
        return [value]

    def agree_to_stop(self, reason: str | None) -> str | None:
        return reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleProcess)

    def __hash__(self) -> int:
        return hash(SingleProcess)
