"""Answers that do not fit on the card, or in memory: transfer speed, and time and memory of a fit from a file.

    python -m benchmarks.streaming [--only PART ...] [--answers 1e9] [--folder FOLDER]

Parts: ``host`` (pinned memory to the card, compared with a plain copy), ``weights`` (the same with weights), ``disk``
(a file to the card, compared with a plain read), ``file`` (the command line from a file, its time and peak memory),
``peers`` (cblearn on the GPU, and plain PyTorch Adam). Writes build/benchmarks/streaming.json.
"""

import argparse
import functools
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.device import Size, adam, fitted, problem, simulate
from closerthan.comparisons.on_disk import FileRows
from closerthan.losses import LOSSES
from closerthan.objective.gpu.objective import GPU
from closerthan.objective.protocol import StepSchedule
from closerthan.objective.streaming.blocks import Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.solvers.visiting_order import visits
from closerthan.wording import percent

N_OBJECTS, N_DIMS = 1_000_000, 10
PIECE = 20_000_000  # answers generated and written at a time
TIMES = 3  # number of measurements, of which the best counts
PEER = Size(1_000, 1_000_000, n_dims=10)
PATIENCE = 100  # time limit in seconds for each fit of the peers


def truth(where: torch.device) -> torch.Tensor:
    generator = torch.Generator(where).manual_seed(0)
    return torch.randn(N_OBJECTS, N_DIMS, generator=generator, device=where)


def best(work: Callable[[], Any]) -> float:
    """Return the shortest time of a few measurements, in seconds."""
    shortest = math.inf
    for _ in range(TIMES):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def streamed_seconds(objective: StreamedObjective, before: Callable[[], None] = lambda: None) -> dict[str, float]:
    """Return the times of a pass of Polyak steps and of a pass that evaluates a map."""
    x = 0.1 * np.random.default_rng(0).standard_normal((N_OBJECTS, N_DIMS))
    rng, n_terms = np.random.default_rng(0), objective.n_terms
    objective.prepare(frozenset({"Polyak walk"}), N_DIMS)
    walk = objective.polyak_walk(x, StepSchedule(0.01, 10.0 * N_OBJECTS, 4.0), -(-n_terms // 8))
    orders = [next(iter(visits("shuffled", rng, objective, n_terms, 1, n_terms))) for _ in range(TIMES)]
    seconds = {"walk": math.inf, "value": math.inf}
    for order in orders:
        works: dict[str, Callable[[], Any]] = {
            "walk": lambda order=order: walk.take(order),  # type: ignore[misc]
            "value": lambda: objective.value(walk.mean),
        }
        for name, work in works.items():
            before()
            torch.cuda.synchronize()
            began = time.perf_counter()
            work()
            torch.cuda.synchronize()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    return seconds


def host(n_answers: int, _: Path, *, weighted: bool = False) -> dict[str, Any]:
    """Measure answers in memory, which is pinned in place; optionally with weights, by which answers are drawn."""
    where = torch.device("cuda")
    rows = np.empty((n_answers, 3), np.int32)
    true = truth(where)
    for first in range(0, n_answers, PIECE):
        rows[first : first + PIECE] = simulate(true, min(PIECE, n_answers - first), 0.0, first + 1).cpu().numpy()
    weights = np.random.default_rng(0).random(n_answers) if weighted else None
    with GPU(memory=1).streamed(Source(rows, weights=weights), N_OBJECTS, LOSSES["ste"]()) as objective:
        pinned, on_card = torch.from_numpy(rows), torch.empty(n_answers, 3, dtype=torch.int32, device=where)
        assert pinned.is_pinned(), "the rows could not be pinned in place"
        plain = best(functools.partial(on_card.copy_, pinned, non_blocking=True))
        if weights is not None:
            to_card = torch.empty(n_answers, dtype=torch.float64, device=where)
            plain += best(functools.partial(to_card.copy_, torch.from_numpy(weights), non_blocking=True))
            del to_card
        del on_card
        seconds = streamed_seconds(objective)
    return reported("host, weighted" if weighted else "host", n_answers, plain, seconds, 20 if weighted else 12)


def disk(n_answers: int, folder: Path) -> dict[str, Any]:
    """Measure answers in a file that the system has not cached."""
    path = written(n_answers, folder)
    mapped = np.load(path, mmap_mode="r")
    file = FileRows.of(mapped)
    assert file is not None
    buffer = np.empty((1 << 24, 3), np.int32)

    def read() -> None:
        for first in range(0, n_answers, len(buffer)):
            file.read(first, min(first + len(buffer), n_answers), buffer)

    def cold() -> float:
        forget(path)
        began = time.perf_counter()
        read()
        return time.perf_counter() - began

    plain = min(cold() for _ in range(2))
    warm = best(read)
    with GPU(memory=1).streamed(Source(file), N_OBJECTS, LOSSES["ste"]()) as objective:
        seconds = streamed_seconds(objective, lambda: forget(path))
        again = streamed_seconds(objective)
    return reported("disk", n_answers, plain, seconds) | {"cached": reported("disk, cached", n_answers, warm, again)}


def reported(name: str, n_answers: int, plain: float, seconds: dict[str, float], row_bytes: int = 12) -> dict[str, Any]:
    """Print a comparison, and return it."""
    gigabytes = n_answers * row_bytes / 1e9
    print(
        f"{name}: plain {plain:.3f} s ({gigabytes / plain:.1f} GB/s); a walk {seconds['walk']:.3f} s "
        f"({percent(plain / seconds['walk'], 0)}), a value {seconds['value']:.3f} s "
        f"({percent(plain / seconds['value'], 0)})",
        flush=True,
    )
    return {"plain": plain, **seconds, "gigabytes": gigabytes}


def written(n_answers: int, folder: Path) -> Path:
    """Return the answers as a .npy file; an existing file is used again."""
    path = folder / f"answers-{n_answers}.npy"
    if not path.exists():
        true = truth(torch.device("cuda"))
        with open(path, "wb") as file:
            head = {"descr": "<i4", "fortran_order": False, "shape": (n_answers, 3)}
            np.lib.format.write_array_header_1_0(file, head)  # type: ignore[arg-type]
            for first in range(0, n_answers, PIECE):
                rows: NDArray[np.int32] = simulate(true, min(PIECE, n_answers - first), 0.0, first + 1).cpu().numpy()
                file.write(memoryview(rows).cast("B"))
            file.flush()
            os.fsync(file.fileno())
    return path


def forget(path: Path) -> None:
    """Drop a file from the page cache of the system."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def file(n_answers: int, folder: Path) -> dict[str, Any]:
    """Measure the command line from start to finish; the peak memory is that of its process."""
    path = written(n_answers, folder)
    forget(path)
    command = [
        sys.executable, "-m", "closerthan", "fit", str(path), "--device", "cuda", "--dims", str(N_DIMS),
        "--loss", "ste", "--epochs", "4", "--out", str(folder / "map"), "--force",
    ]  # fmt: skip
    began = time.perf_counter()
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(process.stdout[-3000:], process.stderr[-3000:], sep="\n")
    print(f"file: {seconds:.1f} s, peak of memory {peak / 1e9:.2f} GB, exit code {process.returncode}", flush=True)
    return {"seconds": seconds, "peak_bytes": peak, "code": process.returncode, "said": process.stdout[-3000:]}


def peers(_: int, folder: Path) -> dict[str, Any]:
    """Fit the same answers with cblearn on the GPU, each estimator in a separate process, with Adam, and with ours."""
    where = torch.device("cuda")
    answers, test = problem(PEER, where)
    fitted(PEER, answers, test)  # compiles the kernels
    own = fitted(PEER, answers, test)
    print(f"peers: closerthan {own['error'][-1]:.4f} after {own['seconds'][-1]:.3f} s", flush=True)
    with_adam = adam(PEER, answers, test, 5.0)
    print(f"peers: Adam {min(with_adam['error']):.4f} within {with_adam['seconds'][-1]:.1f} s", flush=True)
    data = folder / "peers.npz"
    np.savez(
        data, train=answers.rows.cpu().numpy(), test=test.rows.cpu().numpy(), n_dims=PEER.n_dims,
        n_objects=PEER.n_objects,
    )  # fmt: skip
    results: dict[str, Any] = {"closerthan": own, "adam": with_adam}
    for estimator, options in {"STE": {}, "SOE": {"n_init": 1}, "CKL": {}}.items():
        results[f"cblearn {estimator}"] = _cblearn(estimator, options, data)
        print(f"peers: cblearn {estimator}: {results[f'cblearn {estimator}']}", flush=True)
    return results


def _cblearn(estimator: str, options: dict[str, Any], data: Path) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "cblearn_fits.py"
    request = {"data": str(data), "estimator": estimator, "seed": 0, "options": {"backend": "torch", "device": "cuda"}}
    request["options"] |= options  # type: ignore[operator]
    try:
        process = subprocess.run(
            [sys.executable, str(script)], input=json.dumps(request) + "\n", capture_output=True, text=True,
            check=False, timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {PATIENCE} s"}
    lines = [line for line in process.stdout.splitlines() if line.startswith("{") and "started" not in line]
    return dict(json.loads(lines[-1])) if lines else {"failed": process.stderr[-300:]}


PARTS = {"host": host, "weights": functools.partial(host, weighted=True), "disk": disk, "file": file, "peers": peers}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    options.add_argument("--answers", type=float, default=1e9)
    options.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    options.add_argument("--out", type=Path, default=Path("build/benchmarks/streaming.json"))
    arguments = options.parse_args()
    for folder in (arguments.folder, arguments.out.parent):
        folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    results |= {"machine": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name in arguments.only:
        began = time.perf_counter()
        results[name] = PARTS[name](int(arguments.answers), arguments.folder) | {"answers": arguments.answers}
        print(f"{name}: {time.perf_counter() - began:.0f} s in all", flush=True)
        arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
