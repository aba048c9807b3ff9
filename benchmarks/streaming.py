"""Answers that do not fit on the card, or in memory: how fast they come, and what a fit from a file takes.

    python -m benchmarks.streaming [--only PART ...] [--answers 1e9] [--folder FOLDER]

Parts: ``host`` (pinned memory to the card, against a plain copy), ``weights`` (the same with weights), ``disk`` (a file
to the card, against a plain read), ``file`` (the command line from a file, its seconds and its peak of memory),
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

from benchmarks.device import Size, adam, drawn, fitted, problem
from closerthan.comparisons.on_disk import FileRows
from closerthan.losses import LOSSES
from closerthan.objective.gpu.objective import GPU
from closerthan.objective.protocol import StepSchedule
from closerthan.objective.streaming.blocks import Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.solvers.visiting_order import visits
from closerthan.wording import percent

N_OBJECTS, N_DIMS = 1_000_000, 10
PIECE = 20_000_000  # answers drawn and written at a time
TIMES = 3  # measurements, of which the best counts
PEER = Size(1_000, 1_000_000, n_dims=10)
PATIENCE = 100  # seconds for each of the peers' fits


def truth(where: torch.device) -> torch.Tensor:
    generator = torch.Generator(where).manual_seed(0)
    return torch.randn(N_OBJECTS, N_DIMS, generator=generator, device=where)


def best(work: Callable[[], Any]) -> float:
    """Seconds, the best of a few."""
    found = math.inf
    for _ in range(TIMES):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found = min(found, time.perf_counter() - began)
    return found


def streamed_seconds(objective: StreamedObjective, before: Callable[[], None] = lambda: None) -> dict[str, float]:
    """A pass of Polyak steps, and one that measures a map."""
    x = 0.1 * np.random.default_rng(0).standard_normal((N_OBJECTS, N_DIMS))
    rng, n_terms = np.random.default_rng(0), objective.n_terms
    objective.prepare(frozenset({"Polyak walk"}), N_DIMS)
    walk = objective.polyak_walk(x, StepSchedule(0.01, 10.0 * N_OBJECTS, 4.0), -(-n_terms // 8))
    orders = [next(iter(visits("shuffled", rng, objective, n_terms, 1, n_terms))) for _ in range(TIMES)]
    found = {"walk": math.inf, "value": math.inf}
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
            found[name] = min(found[name], time.perf_counter() - began)
    return found


def host(n_answers: int, _: Path, *, weighted: bool = False) -> dict[str, Any]:
    """From memory, pinned where it lies; perhaps with weights, which are drawn by."""
    where = torch.device("cuda")
    rows = np.empty((n_answers, 3), np.int32)
    true = truth(where)
    for first in range(0, n_answers, PIECE):
        rows[first : first + PIECE] = drawn(true, min(PIECE, n_answers - first), 0.0, first + 1).cpu().numpy()
    weights = np.random.default_rng(0).random(n_answers) if weighted else None
    with GPU(memory=1).streamed(Source(rows, weights=weights), N_OBJECTS, LOSSES["ste"]()) as objective:
        pinned, on_card = torch.from_numpy(rows), torch.empty(n_answers, 3, dtype=torch.int32, device=where)
        assert pinned.is_pinned(), "the rows could not be pinned where they lie"
        plain = best(functools.partial(on_card.copy_, pinned, non_blocking=True))
        if weights is not None:
            to_card = torch.empty(n_answers, dtype=torch.float64, device=where)
            plain += best(functools.partial(to_card.copy_, torch.from_numpy(weights), non_blocking=True))
            del to_card
        del on_card
        found = streamed_seconds(objective)
    return said("host, weighted" if weighted else "host", n_answers, plain, found, 20 if weighted else 12)


def disk(n_answers: int, folder: Path) -> dict[str, Any]:
    """From a file that the system has not in its memory."""
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
        found = streamed_seconds(objective, lambda: forget(path))
        again = streamed_seconds(objective)
    return said("disk", n_answers, plain, found) | {"cached": said("disk, cached", n_answers, warm, again)}


def said(name: str, n_answers: int, plain: float, found: dict[str, float], row_bytes: int = 12) -> dict[str, Any]:
    """Print a comparison, and return it."""
    gigabytes = n_answers * row_bytes / 1e9
    print(
        f"{name}: plain {plain:.3f} s ({gigabytes / plain:.1f} GB/s); a walk {found['walk']:.3f} s "
        f"({percent(plain / found['walk'], 0)}), a value {found['value']:.3f} s "
        f"({percent(plain / found['value'], 0)})",
        flush=True,
    )
    return {"plain": plain, **found, "gigabytes": gigabytes}


def written(n_answers: int, folder: Path) -> Path:
    """The answers as a .npy file; one that is there is used again."""
    path = folder / f"answers-{n_answers}.npy"
    if not path.exists():
        true = truth(torch.device("cuda"))
        with open(path, "wb") as file:
            head = {"descr": "<i4", "fortran_order": False, "shape": (n_answers, 3)}
            np.lib.format.write_array_header_1_0(file, head)  # type: ignore[arg-type]
            for first in range(0, n_answers, PIECE):
                rows: NDArray[np.int32] = drawn(true, min(PIECE, n_answers - first), 0.0, first + 1).cpu().numpy()
                file.write(memoryview(rows).cast("B"))
            file.flush()
            os.fsync(file.fileno())
    return path


def forget(path: Path) -> None:
    """Let the system have nothing of a file in its memory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def file(n_answers: int, folder: Path) -> dict[str, Any]:
    """The command line, end to end; the peak of memory is that of its process."""
    path = written(n_answers, folder)
    forget(path)
    command = [
        sys.executable, "-m", "closerthan", "fit", str(path), "--device", "cuda", "--dims", str(N_DIMS),
        "--loss", "ste", "--epochs", "4", "--out", str(folder / "map"), "--force",
    ]  # fmt: skip
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(done.stdout[-3000:], done.stderr[-3000:], sep="\n")
    print(f"file: {seconds:.1f} s, peak of memory {peak / 1e9:.2f} GB, exit code {done.returncode}", flush=True)
    return {"seconds": seconds, "peak_bytes": peak, "code": done.returncode, "said": done.stdout[-3000:]}


def peers(_: int, folder: Path) -> dict[str, Any]:
    """cblearn's estimators on the GPU, each in a process of its own, Adam, and ours, with the same answers."""
    where = torch.device("cuda")
    answers, test = problem(PEER, where)
    fitted(PEER, answers, test)  # compiles
    own = fitted(PEER, answers, test)
    print(f"peers: closerthan {own['error'][-1]:.4f} after {own['seconds'][-1]:.3f} s", flush=True)
    with_adam = adam(PEER, answers, test, 5.0)
    print(f"peers: Adam {min(with_adam['error']):.4f} within {with_adam['seconds'][-1]:.1f} s", flush=True)
    data = folder / "peers.npz"
    np.savez(
        data, train=answers.rows.cpu().numpy(), test=test.rows.cpu().numpy(), n_dims=PEER.n_dims,
        n_objects=PEER.n_objects,
    )  # fmt: skip
    found: dict[str, Any] = {"closerthan": own, "adam": with_adam}
    for estimator, options in {"STE": {}, "SOE": {"n_init": 1}, "CKL": {}}.items():
        found[f"cblearn {estimator}"] = _cblearn(estimator, options, data)
        print(f"peers: cblearn {estimator}: {found[f'cblearn {estimator}']}", flush=True)
    return found


def _cblearn(estimator: str, options: dict[str, Any], data: Path) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "cblearn_fits.py"
    request = {"data": str(data), "estimator": estimator, "seed": 0, "options": {"backend": "torch", "device": "cuda"}}
    request["options"] |= options  # type: ignore[operator]
    try:
        done = subprocess.run(
            [sys.executable, str(script)], input=json.dumps(request) + "\n", capture_output=True, text=True,
            check=False, timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {PATIENCE} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{") and "started" not in line]
    return dict(json.loads(lines[-1])) if lines else {"failed": done.stderr[-300:]}


PARTS = {"host": host, "weights": functools.partial(host, weighted=True), "disk": disk, "file": file, "peers": peers}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    options.add_argument("--answers", type=float, default=1e9)
    options.add_argument("--folder", type=Path, default=Path("build/benchmarks"))
    options.add_argument("--out", type=Path, default=Path("build/benchmarks/streaming.json"))
    given = options.parse_args()
    for folder in (given.folder, given.out.parent):
        folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    found |= {"machine": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name in given.only:
        began = time.perf_counter()
        found[name] = PARTS[name](int(given.answers), given.folder) | {"answers": given.answers}
        print(f"{name}: {time.perf_counter() - began:.0f} s in all", flush=True)
        given.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
