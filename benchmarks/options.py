"""Options of a run."""

import sys
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """The parts to measure, and the limits on runs and time."""

    only: tuple[str, ...] = ()
    quick: bool = False
    full: bool = False
    large: bool = False
    torch: bool = True
    runs: int = 9
    limit: float = 60.0
    begun: float = field(default_factory=time.perf_counter)

    def wants(self, name: str) -> bool:
        """Return true if a part or a workload is to be measured."""
        from benchmarks.workloads import WORKLOADS

        chosen = [other for other in self.only if other in WORKLOADS] if name in WORKLOADS else self.only
        if name == "fits" and any(other in WORKLOADS for other in self.only):
            return True
        return not chosen or name in chosen

    def seconds(self) -> float:
        """Return the time since the run began."""
        return time.perf_counter() - self.begun

    def say(self, line: str) -> None:
        """Print a progress message."""
        print(f"[{self.seconds():6.1f} s] {line}", file=sys.stderr, flush=True)
