"""Memory: the peak of a fit beyond its data, in units of one map (n_objects * n_dims float64) per thread."""

import json
import subprocess
import sys

from benchmarks.machine import n_cores
from benchmarks.options import Options
from benchmarks.results import Results

# tracemalloc counts what NumPy allocates, but not the few numbers that a kernel allocates per member of a batch.
FIT = """
import json, sys, tracemalloc
import closerthan as ct
from benchmarks.kernels import random_rows
n_objects, n_dims, n_rows, n_threads, loss = json.loads(sys.argv[1])
comparisons = random_rows(n_objects, n_rows)
ct.embed(comparisons, n_dims, epochs=2, loss=loss, penalty=0, n_threads=n_threads)  # compiles, which needs memory too
tracemalloc.start()
ct.embed(comparisons, n_dims, epochs=4, loss=loss, penalty=0, n_threads=n_threads, seed=0)
print(json.dumps({"peak_bytes": tracemalloc.get_traced_memory()[1]}))
"""
SHAPES = ((10_000, 10, 200_000), (10_000, 10, 2_000_000), (100_000, 10, 1_000_000), (100_000, 2, 1_000_000))


def measure(options: Options, results: Results) -> None:
    for n_objects, n_dims, n_rows in SHAPES:
        for n_threads in dict.fromkeys((1, n_cores())):
            request = [n_objects, n_dims, n_rows, n_threads, "ste"]
            names = ("n_objects", "n_dims", "n_rows", "threads", "loss")

            def fit(request: list[object] = request) -> dict[str, float]:
                command = [sys.executable, "-W", "ignore", "-c", FIT, json.dumps(request)]
                answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                n_objects, n_dims, _, n_threads, _ = request
                return answer | {"maps_per_thread": answer["peak_bytes"] / (8 * n_objects * n_dims * n_threads)}

            answer = results.once(fit, part="memory", **dict(zip(names, request, strict=True)))
            options.say(f"memory at {request}: {answer['maps_per_thread']:.1f} maps per thread")
