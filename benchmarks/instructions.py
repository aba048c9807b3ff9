"""Instructions per comparison of each kernel, counted by callgrind and therefore independent of the machine's load.

    python -m benchmarks.instructions            # needs valgrind; some minutes

One process under callgrind makes a pass over the comparisons with each kernel and loss; another makes twenty more
passes with one of them. The difference is twenty passes of that kernel and hardly anything else.
"""

import os
import re
import subprocess
import sys
import tempfile

from benchmarks.measured import ROOT
from benchmarks.results import FOLDER, Results

N_OBJECTS, N_ROWS, MORE = 1_000, 20_000, 20  # large enough that the rest of a process hardly counts
KERNELS, LOSSES = ("inner step", "gradient", "Polyak step"), ("ste", "gnmds", "tste")
PROGRAM = f"""
import sys
import numpy as np
from benchmarks.kernels import N_DIMS, in_order, random_rows
from closerthan.compiled.kernels.polyak import polyak_steps
from closerthan.compiled.simd import padded
from closerthan.losses import loss_named
from closerthan.objective.cpu.objective import CPUObjective
rows = random_rows({N_OBJECTS}, {N_ROWS})
x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
order = np.arange(len(rows))
for loss in {LOSSES}:
    with CPUObjective(rows, loss_named(loss).in_dims(N_DIMS)) as objective:
        snapshot = objective.at(x)
        walk = objective.walk(snapshot, 1)
        moving = padded(x)
        passes = {{
            "inner step": lambda: walk.take(in_order(order), 1e-7),
            "gradient": lambda: objective.at(x),
            "Polyak step": lambda: polyak_steps(objective.shared_argument, objective.rows, order, 16, 1e-4, moving),
        }}
        for kernel in {KERNELS}:
            for _ in range({MORE} + 1 if sys.argv[1:] == [kernel, loss] else 1):
                passes[kernel]()
"""


def main() -> None:
    """Count, and store the counts with the other raw results, from which ``python -m benchmarks --page`` reads them."""
    results = Results(FOLDER / "results.jsonl", keep=lambda record: record["part"] != "instructions")
    # Compile outside callgrind, where that takes seconds instead of minutes; the code is cached on disk.
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=_environment(), cwd=ROOT)
    once = _counted("", "")
    for kernel in KERNELS:
        for loss in LOSSES:
            each = (_counted(kernel, loss) - once) / (MORE * N_ROWS)
            results.add(part="instructions", kernel=kernel, loss=loss, instructions=round(each))
            print(f"{kernel}, {loss}: {each:.0f} instructions per comparison", flush=True)


def _counted(kernel: str, loss: str) -> int:
    """Return the instructions of a process in which one kernel with one loss makes more passes than the others."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, "-c", PROGRAM]
        process = subprocess.run(
            [*command, kernel, loss],
            check=True,
            capture_output=True,
            text=True,
            env=_environment(),
            cwd=ROOT,
        )
    match = re.search(r"Collected : (\d+)", process.stderr)
    assert match is not None, process.stderr
    return int(match[1])


def _environment() -> dict[str, str]:
    # The same processor type inside and outside, so that cached code is used: callgrind does not support AVX-512.
    return os.environ | {
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",  # its threads would spin, and be counted
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2",
    }


if __name__ == "__main__":
    main()
