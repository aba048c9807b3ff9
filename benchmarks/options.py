"""Options of a run."""

import sys
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """What to measure, and how long that may take."""

    only: tuple[str, ...] = ()
    quick: bool = False
    full: bool = False
    large: bool = False
    torch: bool = True
    runs: int = 9
    limit: float = 60.0
    begun: float = field(default_factory=time.perf_counter)

    def wants(self, name: str) -> bool:
        """Whether a part, or a workload, is to be measured."""
        from benchmarks.workloads import WORKLOADS

        chosen = [other for other in self.only if other in WORKLOADS] if name in WORKLOADS else self.only
        if name == "fits" and any(other in WORKLOADS for other in self.only):
            return True
        return not chosen or name in chosen

    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.perf_counter() - self.begun

    def say(self, line: str) -> None:
        """Tell how far the run is."""
        print(f"[{self.seconds():6.1f} s] {line}", file=sys.stderr, flush=True)
