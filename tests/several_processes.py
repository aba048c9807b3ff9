"""What each process of tests/objective/test_distributed.py does: ``python several_processes.py SCENARIO FOLDER``."""

import errno
import os
import signal
import sys
from pathlib import Path

import numpy as np

import closerthan as ct
from closerthan.fit import checkpoint as checkpoints
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.distributed.group import Group
from closerthan.objective.distributed.launch import Launch
from closerthan.objective.distributed.objective import Distributed
from closerthan.solvers import SVRG

N_OBJECTS = 200
N_ANSWERS = 40_000
FIT = {"n_dims": 2, "loss": "ste", "seed": 0, "tolerance": None}
SVRG_FIT = {**FIT, "solver": SVRG(batch_size=1000), "epochs": 4}
POLYAK_FIT = {**FIT, "solver": "polyak", "epochs": 4}
CUTS = {
    1: (0, N_ANSWERS),
    2: (0, 30_000, N_ANSWERS),
    3: (0, 15_000, 15_000, N_ANSWERS),
}  # uneven; of three processes, the second has nothing


def answers(weighted=False):
    data = ct.datasets.synthetic(N_OBJECTS, 2, N_ANSWERS, 2_000, flipped=0.05, seed=2)
    weights = np.random.default_rng(1).integers(0, 4, N_ANSWERS).astype(float) if weighted else None
    return ct.Comparisons(data.train.rows, N_OBJECTS, weights=weights), data.test


def part_of(everything, launch):
    cuts = CUTS[launch.n]
    rows = slice(cuts[launch.rank], cuts[launch.rank + 1])
    weights = None if everything.weights is None else everything.weights[rows]
    return ct.Comparisons(everything.rows[rows], N_OBJECTS, weights=weights)


def on_a_file(rows, path):
    np.save(path, rows)
    return np.load(path, mmap_mode="r" if len(rows) else None)


def fits(device, launch, folder):
    """Maps and errors of several fits, as each process has them."""
    own = part_of(answers()[0], launch)
    svrg = ct.embed(own, device=device, **SVRG_FIT)
    weighted = ct.embed(part_of(answers(weighted=True)[0], launch), device=device, **SVRG_FIT)
    polyak = ct.embed(own, device=device, validation=answers()[1], **POLYAK_FIT)
    held_out = ct.embed(own, device=device, validation=0.1, **{**POLYAK_FIT, "epochs": 2})
    in_blocks = Distributed(CPU(1, least_part=1000, stream_from=1, block_bytes=12 * 4000), device.processes)
    mapped = ct.Comparisons(on_a_file(own.rows, folder / f"own-{launch.rank}.npy"), N_OBJECTS)
    with_weights = ct.Comparisons(mapped.rows, N_OBJECTS, weights=part_of(answers(weighted=True)[0], launch).weights)
    np.savez(
        folder / f"fits-{launch.rank}.npz", in_blocks=ct.embed(mapped, device=in_blocks, **POLYAK_FIT).embedding,
        weighted_blocks=ct.embed(with_weights, device=in_blocks, **POLYAK_FIT).best_record.objective,
        svrg=svrg.embedding, weighted=weighted.embedding, polyak=polyak.embedding,
        errors=polyak.history.train_error, share=held_out.history.validation_error,
        polyak_weighted=ct.embed(part_of(answers(weighted=True)[0], launch), device=device, **POLYAK_FIT).embedding,
    )  # fmt: skip


def interrupted(device, launch, folder):
    """Ctrl-C in the last process alone."""

    def press(record, embedding):
        if record.epoch == 2 and launch.rank == launch.n - 1:
            signal.raise_signal(signal.SIGINT)

    result = ct.embed(part_of(answers()[0], launch), device=device, callback=press, **{**POLYAK_FIT, "epochs": 50})
    (folder / f"interrupted-{launch.rank}").write_text(f"{result.stopped_by} {result.history[-1].epoch}")


def full_disk(device, launch, folder):
    """From its second writing on, the checkpoint cannot be written."""
    kept = checkpoints.Checkpoint._write
    writings = []

    def write(self):
        writings.append(1)
        if len(writings) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        kept(self)

    checkpoints.Checkpoint._write = write
    result = ct.embed(part_of(answers()[0], launch), device=device, checkpoint=folder / "full.npz", **POLYAK_FIT)
    checkpoints.Checkpoint._write = kept
    (folder / f"full-{launch.rank}").write_text(f"{result.stopped_by} {len(writings)}")


def killed(device, launch, folder):
    """The last process dies in its third epoch; the others hear of it."""
    checkpoints.SECONDS = 0.0
    checkpoints.Checkpoint.__init__.__kwdefaults__["seconds"] = 0.0

    def die(record, embedding):
        if record.epoch == 3 and launch.rank == launch.n - 1:
            os.kill(os.getpid(), signal.SIGKILL)

    file = folder / "killed.npz"
    ct.embed(part_of(answers()[0], launch), device=device, callback=die, checkpoint=file, **{**POLYAK_FIT, "epochs": 6})


def resumed(device, launch, folder):
    """Another number of processes goes on."""
    epochs = []
    result = ct.embed(
        part_of(answers()[0], launch), device=device, callback=lambda record, _: epochs.append(record.epoch),
        checkpoint=folder / "killed.npz", resume=True, **{**POLYAK_FIT, "epochs": 6},
    )  # fmt: skip
    (folder / f"resumed-{launch.rank}").write_text(
        f"{epochs[0]} {result.history[-1].epoch} {result.history[-1].train_error}"
    )


def main():
    folder = Path(sys.argv[2])
    launch = Launch.of(os.environ)
    group = Group(launch)
    device = Distributed(CPU(1, least_part=1000), group)
    for name in sys.argv[1].split(","):
        {"fits": fits, "interrupted": interrupted, "full": full_disk, "killed": killed, "resumed": resumed}[name](
            device, launch, folder
        )
    group.leave()


if __name__ == "__main__":
    main()
