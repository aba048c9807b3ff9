"""How often somebody may ask: floods are refused."""

import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Pace"]

_REMEMBERED = 10_000  # callers; whoever was quiet for longest is forgotten first


class Pace:
    """Lets each caller through ``burst`` times at once and then ``rate`` times a second (a token bucket each).

    Examples
    --------
    >>> now = [0.0]
    >>> pace = Pace(burst=2, rate=1.0, clock=lambda: now[0])
    >>> [pace.allows("ann"), pace.allows("ann"), pace.allows("ann"), pace.allows("bob")]
    [True, True, False, True]
    >>> now[0] = 1.5
    >>> [pace.allows("ann"), pace.allows("ann")]
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
