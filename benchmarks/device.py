"""Fits on a GPU, with the answers on the card.

    python -m benchmarks.device [--only NAME ...]      writes build/benchmarks/device.json (a few minutes on an H200)

Answers are generated on the card: which of two random objects is closer to a third, according to the true map. Seconds
are those of the solver; the time to evaluate the held-out error (on noise-free answers) is not counted.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.losses import LOSSES
from closerthan.objective.gpu.objective import ComparisonsOnGPU, GPUObjective
from closerthan.objective.protocol import StepSchedule
from closerthan.objective.visits import Visits
from closerthan.solvers.polyak import Polyak
from closerthan.solvers.visiting_order import visits

N_TEST = 1_000_000
GOALS = (0.05, 0.01, 0.006)
AT_ONCE = 20_000_000  # answers generated at a time


class Size(NamedTuple):
    """A workload."""

    n_objects: int
    n_answers: int
    n_dims: int = 10
    flipped: float = 0.0
    epochs: int = 6


SIZES = {
    "thousand": Size(1_000, 50_000_000),
    "hundred-thousand": Size(100_000, 100_000_000),
    "million": Size(1_000_000, 1_000_000_000),
    "million-flipped": Size(1_000_000, 1_000_000_000, flipped=0.1),
    "ten-billion": Size(1_000_000, 9_900_000_000, epochs=2),
    "small-flipped": Size(10_000, 2_000_000, flipped=0.1, epochs=10),
}


def simulate(truth: torch.Tensor, n_answers: int, flipped: float, seed: int) -> torch.Tensor:
    """Return answers according to the true map, some of them reversed."""
    generator = torch.Generator(truth.device).manual_seed(seed)
    rows = torch.empty(n_answers, 3, dtype=torch.int32, device=truth.device)
    n_objects = len(truth)
    for first in range(0, n_answers, AT_ONCE):
        part = rows[first : first + AT_ONCE]
        i = torch.randint(n_objects, (len(part),), generator=generator, device=truth.device)
        j = (i + torch.randint(1, n_objects, (len(part),), generator=generator, device=truth.device)) % n_objects
        k = (i + torch.randint(1, n_objects - 1, (len(part),), generator=generator, device=truth.device)) % n_objects
        k = torch.where(k == j, (i - 1) % n_objects, k)
        near = ((truth[i] - truth[j]) ** 2).sum(1)
        far = ((truth[i] - truth[k]) ** 2).sum(1)
        swap = far < near
        if flipped:
            swap ^= torch.rand(len(part), generator=generator, device=truth.device) < flipped
        part[:, 0] = i
        part[:, 1] = torch.where(swap, k, j)
        part[:, 2] = torch.where(swap, j, k)
    return rows


def problem(size: Size, where: torch.device, seed: int = 0) -> tuple[ComparisonsOnGPU, ComparisonsOnGPU]:
    """Return answers to fit, and noise-free answers to test with."""
    generator = torch.Generator(where).manual_seed(seed)
    truth = torch.randn(size.n_objects, size.n_dims, generator=generator, device=where)
    train = simulate(truth, size.n_answers, size.flipped, seed + 1)
    return ComparisonsOnGPU(train), ComparisonsOnGPU(simulate(truth, N_TEST, 0.0, seed + 2))


class TrackedWalk:
    """A walk whose held-out error is evaluated after each eighth of a pass, without counting the time for it."""

    def __init__(self, walk: Any, objective: GPUObjective, curve: dict[str, list[float]]) -> None:
        self._walk, self._objective, self._curve = walk, objective, curve
        self._spent, self._since = 0.0, math.nan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._walk, name)

    def take(self, part: Visits) -> None:
        torch.cuda.synchronize()
        now = time.perf_counter()
        self._since = now if math.isnan(self._since) else self._since
        self._walk.take(part)
        torch.cuda.synchronize()
        self._spent += time.perf_counter() - self._since
        self._curve["seconds"].append(self._spent)
        self._curve["error"].append(self._objective.held_out_error(self._walk.mean))
        self._since = time.perf_counter()


class TrackedObjective(GPUObjective):
    """An objective whose walks are tracked."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.curve: dict[str, list[float]] = {"seconds": [], "error": []}

    def polyak_walk(self, *arguments: Any) -> Any:
        return TrackedWalk(super().polyak_walk(*arguments), self, self.curve)


def fitted(size: Size, answers: ComparisonsOnGPU, test: ComparisonsOnGPU, loss: str = "ste") -> dict[str, Any]:
    """Run the default solver; return seconds and held-out error after each eighth of a pass, and after each epoch."""
    objective = TrackedObjective(answers, size.n_objects, LOSSES[loss]().in_dims(size.n_dims), test)
    objective.prepare(Polyak.needs, size.n_dims)
    start = 0.1 * np.random.default_rng(0).standard_normal((size.n_objects, size.n_dims))
    monitor = Monitor(objective, Limits(size.epochs))
    Polyak().run(objective, start, np.random.default_rng(1), monitor)
    return {
        "walk": objective.curve,
        "seconds": [record.seconds for record in monitor.history],
        "error": [record.validation_error for record in monitor.history],
    }


def pass_seconds(size: Size, answers: ComparisonsOnGPU) -> float:
    """Return the time of the kernel alone for a pass over all answers, the best of three."""
    objective = GPUObjective(answers, size.n_objects, LOSSES["ste"]())
    x = 0.1 * np.random.default_rng(0).standard_normal((size.n_objects, size.n_dims))
    walk = objective.polyak_walk(x, StepSchedule(0.01, 10.0 * size.n_objects, 4.0), size.n_answers)
    rng, best = np.random.default_rng(0), math.inf
    for _ in range(3):
        order = next(iter(visits("shuffled", rng, objective, size.n_answers, 1, size.n_answers)))
        best = min(best, _timed(walk, order))
    return best


def _timed(walk: Any, order: Visits) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    walk.take(order)
    torch.cuda.synchronize()
    return time.perf_counter() - began


def adam(size: Size, answers: ComparisonsOnGPU, test: ComparisonsOnGPU, seconds: float) -> dict[str, Any]:
    """Run plain PyTorch, Adam on random batches, for this number of seconds."""
    where = answers.rows.device
    x = (0.1 * torch.randn(size.n_objects, size.n_dims, device=where)).requires_grad_()
    optimizer = torch.optim.Adam([x], lr=0.05)
    batch = min(len(answers), 1_000_000)
    judge = GPUObjective(test, size.n_objects, LOSSES["ste"]())
    spent, errors, times = 0.0, [], []
    while spent < seconds:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(20):
            i, j, k = answers.rows[torch.randint(len(answers), (batch,), device=where)].long().T
            optimizer.zero_grad()
            near, far = ((x[i] - x[j]) ** 2).sum(1), ((x[i] - x[k]) ** 2).sum(1)
            torch.nn.functional.softplus(near - far).mean().backward()
            optimizer.step()
        torch.cuda.synchronize()
        spent += time.perf_counter() - began
        times.append(spent)
        errors.append(judge.value(x.detach().cpu().double().numpy()).error)
    return {"seconds": times, "error": errors}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="*", default=list(SIZES), choices=list(SIZES))
    options.add_argument("--out", type=Path, default=Path("build/benchmarks/device.json"))
    options.add_argument("--adam", type=float, default=0.0, help="seconds of plain PyTorch Adam beside each fit")
    arguments = options.parse_args()
    where = torch.device("cuda")
    warm = Size(1_000, 100_000, epochs=2)
    fitted(warm, *problem(warm, where))  # compiles the kernels
    results: dict[str, Any] = {"machine": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name in arguments.only:
        size = SIZES[name]
        answers, test = problem(size, where)
        results[name] = {**size._asdict(), **fitted(size, answers, test), "pass": pass_seconds(size, answers)}
        if arguments.adam:
            results[name]["adam"] = adam(size, answers, test, arguments.adam)
        curve = ", ".join(
            f"{error:.4f} at {seconds:.3f}"
            for seconds, error in zip(results[name]["seconds"], results[name]["error"], strict=True)
        )
        print(f"{name}: a pass {results[name]['pass']:.4f} s; {curve}", flush=True)
        for goal in GOALS:
            reached = [at for at, error in zip(*results[name]["walk"].values(), strict=True) if error <= goal]
            print(f"    {goal:g}: {f'{reached[0]:.3f} s' if reached else 'not reached'}", flush=True)
        if arguments.adam:
            best = min(results[name]["adam"]["error"])
            print(f"    Adam: {best:.4f} within {arguments.adam:g} s", flush=True)
        del answers, test
        torch.cuda.empty_cache()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
