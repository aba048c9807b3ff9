"""CtrlC: during a fit, Ctrl-C sets a cancellation flag that is checked at safe points, instead of raising anywhere."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

__all__ = ["CancelFlag", "CtrlC"]


class CancelFlag:
    """A cancellation flag without a lock, so a signal handler can set it.

    Parameters
    ----------
    parent
        A flag that also cancels this one; setting this one does not set the parent.

    Examples
    --------
    >>> all_jobs = CancelFlag()
    >>> one_job = CancelFlag(all_jobs)
    >>> all_jobs.set()
    >>> one_job.is_set()
    True
    """

    def __init__(self, parent: "CancelFlag | None" = None) -> None:
        self._parent = parent
        self._set = False

    def set(self) -> None:
        """Set the flag."""
        self._set = True

    def is_set(self) -> bool:
        """Return True if this flag or its parent is set."""
        return self._set or (self._parent is not None and self._parent.is_set())


class CtrlC:
    """A context in which the first Ctrl-C only sets the flag ``pressed``; a second one raises KeyboardInterrupt.

    An exception could occur while work is distributed to threads, and leave them waiting, or after the last epoch, and
    lose the map. Outside the main thread, and in a program with its own SIGINT handler, the context has no effect.

    Parameters
    ----------
    pressed
        The flag to set.
    insistent
        Whether a second Ctrl-C raises KeyboardInterrupt.

    Examples
    --------
    >>> with CtrlC() as ctrl_c:
    ...     signal.raise_signal(signal.SIGINT)
    ...     ctrl_c.pressed.is_set()
    True
    """

    def __init__(self, pressed: CancelFlag | None = None, *, insistent: bool = True) -> None:
        self.pressed = pressed or CancelFlag()
        self._insistent = insistent
        self._at_once = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler or isinstance(getattr(before, "__self__", None), CtrlC):
                self._before = before
                signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, _number: int, _frame: FrameType | None) -> None:
        again = self.pressed.is_set()
        self.pressed.set()
        outer = getattr(self._before, "__self__", None)
        if isinstance(outer, CtrlC):
            outer.pressed.set()
        if self._at_once or (again and self._insistent):
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def raised_at_once(self) -> Iterator[None]:
        """Let the first Ctrl-C raise KeyboardInterrupt, for slow steps that have no result to lose."""
        self._at_once = True
        try:
            if self.pressed.is_set():
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False
