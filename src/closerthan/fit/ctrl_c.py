"""CtrlC: while a fit runs, Ctrl-C is a wish that is granted at the next safe place, not an exception anywhere."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

__all__ = ["CancelFlag", "CtrlC"]


class CancelFlag:
    """That something ends. Unlike an event it has no lock, so that a signal handler may set it at any moment.

    Parameters
    ----------
    larger
        A wish that this one follows from; this one does not set it.

    Examples
    --------
    >>> all_jobs = CancelFlag()
    >>> one_job = CancelFlag(all_jobs)
    >>> all_jobs.set()
    >>> one_job.is_set()
    True
    """

    def __init__(self, larger: "CancelFlag | None" = None) -> None:
        self._larger = larger
        self._set = False

    def set(self) -> None:
        """CancelFlag it."""
        self._set = True

    def is_set(self) -> bool:
        """Whether it is wished, here or by the larger one."""
        return self._set or (self._larger is not None and self._larger.is_set())


class CtrlC:
    """Where it is entered, the first Ctrl-C sets ``pressed`` and nothing else; one more raises KeyboardInterrupt.

    An exception could strike while threads are handed their work, and leave them waiting, or after the last epoch, and
    lose the map. In other threads than the main one, and where a program has its own way with Ctrl-C, nothing changes.

    Parameters
    ----------
    pressed
        The wish to set.
    insistent
        Whether one more Ctrl-C raises KeyboardInterrupt.

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
        """Where there is nothing to lose, and much to wait for, the first Ctrl-C raises KeyboardInterrupt."""
        self._at_once = True
        try:
            if self.pressed.is_set():
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False
