"""Startup: the time of a new process until it has a map, with and without cached code, and the time to import."""

import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from benchmarks.options import Options
from benchmarks.results import Results

LOSSES = ("ste", "auto")
FITS = {
    loss: f"import closerthan as ct; ct.embed(ct.datasets.eurodist().comparisons(), 2, loss='{loss}', seed=0)"
    for loss in LOSSES
}
PROGRAMS = {
    "numpy": "import numpy",
    "import": "import numpy; import closerthan",
    "import all": "import closerthan as ct; ct.embed; ct.Comparisons",
    **FITS,
}


def measure(options: Options, results: Results) -> None:
    repeats = 3 if options.quick else 5
    for name, program in PROGRAMS.items():
        answer = results.once(lambda: _timed(program, repeats), part="startup", program=name)  # noqa: B023
        options.say(f"startup, {name}: {answer['seconds']:.2f} s")
    for loss, program in FITS.items():
        answer = results.once(lambda: _compiling(program, repeats), part="startup", program=f"{loss}, compiling")  # noqa: B023
        options.say(f"startup, {loss} with nothing compiled: {answer['seconds']:.2f} s")


def _timed(program: str, repeats: int) -> dict[str, Any]:
    _run(program)  # fills the cache
    return _summary([_run(program) for _ in range(repeats)])


def _compiling(program: str, repeats: int) -> dict[str, Any]:
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            times.append(_run(program, NUMBA_CACHE_DIR=folder))
    return _summary(times)


def _summary(times: list[float]) -> dict[str, Any]:
    return {"seconds": median(times), "lowest": min(times), "highest": max(times)}


def _run(program: str, **environment: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, env=os.environ | environment)
    return time.perf_counter() - begin
