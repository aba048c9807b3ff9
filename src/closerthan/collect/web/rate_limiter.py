"""Rate limiter: how often somebody may ask; floods are refused."""

import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["RateLimiter"]

_REMEMBERED = 10_000  # callers; whoever was quiet for longest is forgotten first


class RateLimiter:
    """A token bucket for each caller, which lets it through ``burst`` times at once and then ``rate`` times a second.

    Examples
    --------
    >>> now = [0.0]
    >>> limiter = RateLimiter(burst=2, rate=1.0, clock=lambda: now[0])
    >>> [limiter.allows("ann"), limiter.allows("ann"), limiter.allows("ann"), limiter.allows("bob")]
    [True, True, False, True]
    >>> now[0] = 1.5
    >>> [limiter.allows("ann"), limiter.allows("ann")]
    [True, False]
    """

    def __init__(self, burst: int, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str) -> bool:
        """Whether this call is granted."""
        now = self._clock()
        left, last = self._left.pop(caller, (float(self._burst), now))
        left = min(self._burst, left + self._rate * (now - last))
        granted = left >= 1
        self._left[caller] = (left - granted, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return granted
