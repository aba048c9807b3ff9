"""Fits: every method on every workload, side by side."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results
from benchmarks.worker import Worker
from benchmarks.workloads import Workload, available

Request = dict[str, Any]
Ask = Callable[..., dict[str, Any]]
Repeat = Callable[[str, str, Ask, Request], None]

CBLEARN = {"gnmds": "GNMDS", "ste": "STE", "tste": "TSTE", "ckl": "CKL", "soe": "SOE"}
MORE_OF_CBLEARN = ("FORTE", "OENN", "LORE")  # without a counterpart here; they count among all estimators in (b)
LEARNING_RATES = (0.01, 0.1)  # Adam's default of 0.001 is far too slow here; the better of these counts
ADAM_ON = ("table1", "thousand")  # workloads on which Adam runs, unless --full is given
ALL_CORES_TOO = ("thousand",)  # workloads on which the peers run on all cores as well, unless --full is given
LARGE_RUNS = 3  # of closerthan and of L-BFGS on a large workload (one of all others), unless --full is given
LARGE_LIMIT = 12.0  # seconds per closerthan fit on a large workload, unless --full is given
ENOUGH = 6.0  # total seconds after which a method is not run again on a workload
ENOUGH_OF_REAL = 120.0  # the same for real answers: few are held out, and one or two runs would be luck
ENOUGH_OF_LARGE = 40.0  # the same for large workloads
FEWEST_RUNS = 3  # on one core, except on large workloads, however long they take: a median of fewer would be luck


def measure(options: Options, results: Results) -> None:
    for name, workload in available().items():
        if not options.wants(name) or (options.quick and workload.large and name not in options.only):
            continue
        data = workload.saved(environments.cache_folder() / "answers")
        for n_threads in dict.fromkeys((1, n_cores())):
            repeat = _repeater(options, results, workload, n_threads)
            _ours(options, workload, data, n_threads, repeat)
            if n_threads == 1 or options.full or name in ALL_CORES_TOO:
                _cblearn(options, workload, data, n_threads, repeat)
            if options.torch and (options.full or (n_threads == 1 and name in ADAM_ON)):
                _torch(options, data, n_threads, repeat)


def _ours(options: Options, workload: Workload, data: Path, n_threads: int, repeat: Repeat) -> None:
    losses = tuple(CBLEARN) if options.full else workload.losses if n_threads == 1 else ("ste",)
    with Worker(sys.executable, "closerthan_fits.py", n_threads) as worker:

        def ask(**request: Any) -> dict[str, Any]:
            # Our fits observe the limit themselves; the worker's limit is a safeguard.
            limit = min(options.limit, LARGE_LIMIT) if workload.large and not options.full else options.limit
            return worker.ask(3 * limit + 60, data=str(data), n_threads=n_threads, time_limit=limit, **request)

        for loss in losses:  # solvers alternate, because the speed of a machine varies over time
            repeat("closerthan", loss, ask, {"loss": loss})
            if n_threads == 1 or options.full:
                repeat("lbfgs", loss, ask, {"loss": loss, "solver": "lbfgs", "epochs": 1000})
        if auto_available():
            repeat("auto", "auto", ask, {"loss": "auto"})


def _cblearn(options: Options, workload: Workload, data: Path, n_threads: int, repeat: Repeat) -> None:
    losses = workload.peer_losses or (workload.losses if options.full else ())
    with Worker(environments.interpreter("cblearn"), "cblearn_fits.py", n_threads) as worker:
        for loss in losses:

            def ask(loss: str = loss, **request: Any) -> dict[str, Any]:
                return worker.ask(options.limit, data=str(data), estimator=CBLEARN[loss], **request)

            repeat("cblearn", loss, ask, {})
    if options.torch and options.full:
        with Worker(environments.interpreter("torch"), "cblearn_fits.py", n_threads) as worker:
            for estimator in MORE_OF_CBLEARN:

                def ask_more(estimator: str = estimator, **request: Any) -> dict[str, Any]:
                    return worker.ask(options.limit, data=str(data), estimator=estimator, **request)

                repeat("cblearn", estimator, ask_more, {})


def _torch(options: Options, data: Path, n_threads: int, repeat: Repeat) -> None:
    with Worker(environments.interpreter("torch"), "torch_adam.py", n_threads) as worker:

        def ask(**request: Any) -> dict[str, Any]:
            limit = min(options.limit, 60.0 if options.full else 3.0)
            return worker.ask(2 * limit + 30, data=str(data), n_threads=n_threads, time_limit=limit, **request)

        for rate in LEARNING_RATES:
            repeat(f"adam {rate}", "ste", ask, {"learning_rate": rate, "epochs": 2000})


def _repeater(options: Options, results: Results, workload: Workload, n_threads: int) -> Repeat:
    """Return a function that runs a method up to ``options.runs`` times with different starts; slow ones less often."""

    def repeat(method: str, loss: str, ask: Ask, request: Request) -> None:
        key = {"part": "fits", "workload": workload.name, "method": method, "loss": loss, "threads": n_threads}
        enough = ENOUGH_OF_REAL if workload.real else ENOUGH_OF_LARGE if workload.large else ENOUGH
        spent = 0.0
        for run in range(_runs(options, workload, method, n_threads)):
            answer = results.once(lambda run=run: ask(seed=run, **request), **key, run=run)  # type: ignore[misc]
            spent += answer.get("seconds") or answer.get("over_limit") or 0.0
            summary = {name: answer[name] for name in ("seconds", "error", "over_limit", "failed") if name in answer}
            options.say(f"{workload.name} {method} {loss} threads {n_threads}: {summary}")
            enough_runs = workload.large or n_threads > 1 or run + 1 >= FEWEST_RUNS
            if "over_limit" in answer or "failed" in answer or (enough_runs and spent > enough and not options.full):
                return

    return repeat


def _runs(options: Options, workload: Workload, method: str, n_threads: int) -> int:
    if options.full:
        return options.runs
    if method.startswith("adam"):
        return 1
    if workload.large:
        return min(LARGE_RUNS, options.runs) if method in ("closerthan", "lbfgs") and n_threads == 1 else 1
    return options.runs


def auto_available() -> bool:
    """Return true if ``embed`` supports ``loss="auto"``."""
    from importlib import import_module

    embed = import_module("closerthan.fit.embedding").embed
    try:
        embed([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 1, 2]] * 5, 1, loss="auto", seed=0, epochs=0)
    except ValueError as error:
        return "unknown loss" not in str(error)
    return True
