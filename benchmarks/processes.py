"""Several processes: the cost of an exchange, and the fraction of the time that is left for the fit.

    python -m benchmarks.processes      writes docs/benchmarks/processes.json and the table in docs/several-processes.md

It needs PyTorch, two idle cores and a minute.

Measured are a pass of one process and of two (each with one thread, on this machine), and an exchange between the two.
8 and 64 machines are simulated. The model of a pass over m answers of n objects in p dimensions, by R machines:

    seconds  = m * seconds_per_answer / R + exchanges * seconds_per_exchange
    exchanges = integral over a pass of dt / (n * max(1, sqrt(t / (10 n)))), t the answers visited so far
    seconds_per_exchange = 2 * (R - 1) * latency + 2 * (R - 1) / R * 4 n p bytes / bandwidth    (a ring)

Efficiency is the first term divided by the sum. Seconds per answer are those of this machine, or those in MACHINES.
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large_data import processes_table, write_pages
from benchmarks.measured import measured_on

RESULTS = Path("docs/benchmarks/processes.json")
PATIENCE = 170  # seconds
N_OBJECTS, N_DIMS, N_ANSWERS = 20_000, 10, 4_000_000
REACH = 10.0  # answers per object after which steps become shorter: the default solver's
NETWORKS = {
    "10 Gbit/s": (1.25e9, 50e-6),
    "100 Gbit/s": (12.5e9, 10e-6),
    "400 Gbit/s": (50e9, 5e-6),
    "NVLink": (450e9, 5e-6),
}  # bytes/s, s
MACHINES = {"one core": None, "an H200": 0.115e-9}  # seconds per answer; None: as measured here


def exchanges(n_answers: float, n_objects: float, passed: float = 0.0) -> float:
    """Return the number of exchanges in a pass that begins after ``passed`` passes."""

    def until(t: float) -> float:
        reach = REACH * n_objects
        return t / n_objects if t <= reach else REACH + 2 * (math.sqrt(t * reach) - reach) / n_objects

    return until((passed + 1) * n_answers) - until(passed * n_answers)


def efficiency(n: int, seconds_per_answer: float, network: tuple[float, float], size: tuple[int, int]) -> float:
    """Return the efficiency of the first pass by n machines; ``size`` is the number of objects and of answers."""
    n_objects, n_answers = size
    bandwidth, latency = network
    work = n_answers * seconds_per_answer / n
    one = 2 * (n - 1) * latency + 2 * (n - 1) / n * 4 * n_objects * N_DIMS / bandwidth
    return work / (work + exchanges(n_answers, n_objects) * one)


def measured() -> dict[str, float]:
    """Run the measurements of one process; those of the first process count."""
    from closerthan.comparisons import Comparisons
    from closerthan.losses import LOSSES
    from closerthan.objective.cpu.objective import CPU
    from closerthan.objective.distributed.launch import Launch
    from closerthan.objective.distributed.objective import Distributed
    from closerthan.objective.distributed.process_group import ProcessGroup
    from closerthan.objective.protocol import StepSchedule
    from closerthan.objective.visits import ShuffledPass, Visits

    launch = Launch.of(os.environ)
    assert launch is not None
    group = ProcessGroup(launch)
    rng = np.random.default_rng(0)
    rows = rng.integers(N_OBJECTS - 2, size=(N_ANSWERS, 3), dtype=np.int32) + np.arange(3, dtype=np.int32)
    rows[:, 1:] = np.where(rows[:, 1:] == rows[:, :1], (rows[:, :1] + 1) % N_OBJECTS, rows[:, 1:])
    own = Comparisons(rows[launch.rank * N_ANSWERS // 2 : (launch.rank + 1) * N_ANSWERS // 2], N_OBJECTS)
    start, schedule = 0.1 * rng.standard_normal((N_OBJECTS, N_DIMS)), StepSchedule(0.1, REACH * N_OBJECTS, 4.0)
    seconds: dict[str, float] = {}

    def timed(device: Any, answers: Comparisons) -> float:
        with device.objective(answers, LOSSES["ste"]()) as objective:
            objective.prepare(frozenset({"Polyak walk"}), N_DIMS)
            walk = objective.polyak_walk(start, schedule, N_ANSWERS // 8)
            walk.take(Visits((ShuffledPass.draw(rng, objective.n_terms),))[:100_000])
            group.all_gather(None)
            began = time.perf_counter()
            walk.take(Visits((ShuffledPass.draw(np.random.default_rng(1), objective.n_terms),)))
            return time.perf_counter() - began

    if group.rank == 0:
        seconds["seconds_per_answer"] = timed(CPU(1), own) / len(own)
    else:
        group.all_gather(None)
    seconds["pass_of_two"] = timed(Distributed(CPU(1), group), own)
    import torch

    moves = torch.zeros(N_OBJECTS * N_DIMS + 2)
    group.all_gather(None)
    began = time.perf_counter()
    for _ in range(50):
        group.add(moves)
    seconds["exchange"] = (time.perf_counter() - began) / 50
    seconds["exchanges"] = exchanges(N_ANSWERS, N_OBJECTS)
    group.leave()
    return seconds


def main() -> None:
    if "RANK" in os.environ:
        numbers = measured()
        if os.environ["RANK"] == "0":
            print(json.dumps(numbers))
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    both = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.processes"]
    started = [
        subprocess.Popen(words, env={**both, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True) for rank in (0, 1)
    ]
    try:
        outputs = [process.communicate(timeout=PATIENCE)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    numbers = json.loads(outputs[0].splitlines()[-1])
    numbers["efficiency"] = numbers["seconds_per_answer"] * N_ANSWERS / 2 / numbers["pass_of_two"]
    simulated = [
        {"machine": machine, "network": network, "n": n, "efficiency": round(efficiency(
            n, seconds or numbers["seconds_per_answer"], speeds, (1_000_000, 10**10)), 3)}
        for machine, seconds in MACHINES.items() for network, speeds in NETWORKS.items() for n in (8, 64)
    ]  # fmt: skip
    sizes = {"n_objects": N_OBJECTS, "n_answers": N_ANSWERS, "n_dims": N_DIMS}
    last_line = measured_on("python -m benchmarks.processes")
    RESULTS.write_text(
        json.dumps({"made": last_line, "two": {**sizes, **numbers}, "simulated": simulated}, indent=1) + "\n"
    )
    write_pages()
    print(processes_table(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
