"""Large: 10^8 triplets from a memory-mapped file, fitted in a separate process whose peak memory is measured.

python -m benchmarks.large ANSWERS.npy TEST.npy SECONDS        the command of that process
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environments
from benchmarks.options import Options
from benchmarks.results import Results

N_OBJECTS, N_DIMS = 100_000, 10
N_TEST = 100_000


def measure(options: Options, results: Results) -> None:
    if not options.large:
        return
    n_rows = 1_000_000 if options.quick else 100_000_000
    seconds = 20.0 if options.quick else 300.0
    answers, test = _files(options, n_rows)

    def fit() -> dict[str, Any]:
        command = [sys.executable, "-m", "benchmarks.large", str(answers), str(test), str(seconds)]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
        return answer

    answer = results.once(fit, part="large", n_objects=N_OBJECTS, n_rows=n_rows, n_dims=N_DIMS)
    options.say(
        f"large: {answer['n_rows']:,} triplets, peak {answer['peak_gb']:.2f} GB, errors {answer['curve_error']}"
    )


def _files(options: Options, n_rows: int) -> tuple[Path, Path]:
    folder = environments.cache_folder() / "answers"
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"large-{n_rows}.npy", folder / "large-test.npy"
    for path, number, seed in zip(paths, (n_rows, N_TEST), (1, 2), strict=True):
        if not path.exists():
            options.say(f"generating {number:,} triplets")
            draft = path.with_suffix(".draft")
            rows = np.lib.format.open_memmap(draft, "w+", np.int32, (number, 3))
            _answer(rows, seed)
            rows.flush()
            del rows
            draft.replace(path)
    return paths


def _answer(rows: np.ndarray, seed: int) -> None:
    """Fill ``rows`` with true answers about points that are the same for every ``seed``."""
    points = np.random.default_rng(0).normal(scale=np.sqrt(1 / 20), size=(N_OBJECTS, N_DIMS)).astype(np.float32)
    rng = np.random.default_rng(seed)
    for begin in range(0, len(rows), 1 << 20):
        part = rows[begin : begin + (1 << 20)]
        anchor = rng.integers(N_OBJECTS, size=len(part), dtype=np.int32)
        one = (anchor + rng.integers(1, N_OBJECTS // 2, size=len(part), dtype=np.int32)) % N_OBJECTS
        other = (anchor + rng.integers(N_OBJECTS // 2, N_OBJECTS, size=len(part), dtype=np.int32)) % N_OBJECTS
        first = ((points[anchor] - points[one]) ** 2).sum(1)
        second = ((points[anchor] - points[other]) ** 2).sum(1)
        part[:, 0] = anchor
        part[:, 1] = np.where(first < second, one, other)
        part[:, 2] = np.where(first < second, other, one)


def _fit(answers: str, test: str, seconds: float) -> dict[str, Any]:
    import closerthan as ct

    begin = time.perf_counter()
    comparisons = ct.Comparisons.from_triplets(np.load(answers, mmap_mode="r"), n_objects=N_OBJECTS)
    held_out = ct.Comparisons.from_triplets(np.load(test), n_objects=N_OBJECTS, unmentioned="ignore")
    read = time.perf_counter() - begin
    errors = []

    def look(record: ct.history.Record, embedding: np.ndarray) -> None:
        errors.append(ct.triplet_error(held_out, embedding))
        print(f"    epoch {record.epoch}: {record.seconds:.1f} s, held-out error {errors[-1]:.4f}", file=sys.stderr)

    result = ct.embed(
        comparisons, N_DIMS, loss="ste", penalty=0, seed=0, time_limit=seconds, callback=look, progress=True
    )
    return {
        "checking_seconds": read,
        "peak_gb": _peak() / 1e9,
        "curve_seconds": [round(float(number), 3) for number in result.history.seconds],
        "curve_error": errors,
        "stopped_by": result.stopped_by,
    }


def _peak() -> float:
    """Return the peak memory of this process in bytes; rusage would include the process that it was forked from."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024.0 * int(status.read_text().split("VmHWM:")[1].split()[0])
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # in bytes on macOS


if __name__ == "__main__":
    print(json.dumps(_fit(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
