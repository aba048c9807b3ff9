"""A rate limiter for requests."""

import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["RateLimiter"]

_MOST_CALLERS = 10_000  # beyond this number, the least recently active caller is forgotten


class RateLimiter:
    """A token bucket per caller, which allows ``burst`` calls at once and then ``rate`` calls per second.

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
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str) -> bool:
        """Return whether a caller may make a call now, and count the call."""
        now = self._clock()
        tokens, last = self._buckets.pop(caller, (float(self._burst), now))
        tokens = min(self._burst, tokens + self._rate * (now - last))
        is_allowed = tokens >= 1
        self._buckets[caller] = (tokens - is_allowed, now)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return is_allowed
