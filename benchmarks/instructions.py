"""Instructions: how many a kernel executes per comparison, counted by callgrind, so alike on a busy machine.

    python -m benchmarks.instructions            # needs valgrind; a few minutes

A process under callgrind walks over the comparisons once, another one eleven times; the difference is ten passes of
the kernel and nothing else.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

N_OBJECTS, N_ROWS, MORE = 1_000, 5_000, 10
PROGRAM = f"""
import sys
import numpy as np
from benchmarks.kernels import N_DIMS, random_rows
from closerthan.losses import loss_named
from closerthan.objective import Objective
kernel, loss, passes = sys.argv[1], sys.argv[2], int(sys.argv[3])
rows = random_rows({N_OBJECTS}, {N_ROWS})
x = 0.3 * np.random.default_rng(1).standard_normal((rows.n_objects, N_DIMS))
order = np.arange(len(rows))
with Objective(rows, loss_named(loss).in_dims(N_DIMS)) as objective:
    snapshot = objective.at(x)
    walk = objective.walk(snapshot, 1)
    for _ in range(passes):
        objective.at(x) if kernel == "gradient" else walk.take(order, 1e-7)
"""


def main() -> None:
    for kernel in ("inner step", "gradient"):
        for loss in ("ste", "gnmds", "tste"):
            _counted(kernel, loss, 1)  # compiles for the processor that callgrind plays, and keeps that on disk
            few, many = (_counted(kernel, loss, passes) for passes in (1, 1 + MORE))
            print(f"{kernel}, {loss}: {(many - few) / (MORE * N_ROWS):.0f} instructions per comparison", flush=True)


def _counted(kernel: str, loss: str, passes: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            [*command, kernel, loss, str(passes)],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": "0"},
            cwd=Path(__file__).parent.parent,
        )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1])


if __name__ == "__main__":
    main()
