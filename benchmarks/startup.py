"""Startup: the time from a new process to a map, with and without compiled code on disk; what importing costs."""

import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from benchmarks.options import Options
from benchmarks.results import Results

FIT = "import closerthan as ct; ct.embed(ct.datasets.eurodist().comparisons(), 2, loss='ste', seed=0)"
PROGRAMS = {
    "numpy": "import numpy",
    "import": "import numpy; import closerthan",
    "import all": "import closerthan as ct; ct.embed; ct.Comparisons",
    "eurodist": FIT,
}


def measure(options: Options, results: Results) -> None:
    repeats = 3 if options.quick else 5
    for name, program in PROGRAMS.items():
        answer = results.once(lambda: _timed(program, repeats), part="startup", program=name)  # noqa: B023
        options.say(f"startup, {name}: {answer['seconds']:.2f} s")
    answer = results.once(_compiled, part="startup", program="eurodist, compiling")
    options.say(f"startup, eurodist with nothing compiled: {answer['seconds']:.2f} s")


def _timed(program: str, repeats: int) -> dict[str, Any]:
    _run(program)  # fills the cache
    times = [_run(program) for _ in range(repeats)]
    return {"seconds": median(times), "lowest": min(times), "highest": max(times)}


def _compiled() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return {"seconds": _run(FIT, NUMBA_CACHE_DIR=folder)}


def _run(program: str, **environment: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, env=os.environ | environment)
    return time.perf_counter() - begin
