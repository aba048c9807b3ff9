"""The program of each process in tests/objective/distributed: ``several_processes.py SCENARIO FOLDER``."""

import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

import closerthan as ct
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.distributed.launch import Launch
from closerthan.objective.distributed.objective import Distributed
from closerthan.objective.distributed.process_group import ProcessGroup
from closerthan.solvers import SVRG

N_OBJECTS = 200
N_ANSWERS = 40_000
FIT = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "tolerance": None}
SVRG_FIT = {**FIT, "solver": SVRG(batch_size=1000), "epochs": 4}
POLYAK_FIT = {**FIT, "solver": "polyak", "epochs": 4}
PENALIZED_FIT = {**FIT, "solver": "polyak", "penalty": 1.0, "epochs": 8}
WHOLE_FIT = {**PENALIZED_FIT, "likelihood": "answers", "epochs": 20}
ENDLESS_FIT = {**POLYAK_FIT, "epochs": 1_000_000}
CUTS = {
    1: (0, N_ANSWERS),
    2: (0, 30_000, N_ANSWERS),
    3: (0, 15_000, 15_000, N_ANSWERS),
}  # parts of unequal size; of three processes, the second has no comparisons


def answers(weighted=False):
    data = ct.datasets.synthetic(N_OBJECTS, 2, N_ANSWERS, 2_000, flipped=0.05, seed=2)
    weights = np.random.default_rng(1).integers(0, 4, N_ANSWERS).astype(float) if weighted else None
    return ct.Comparisons(data.train.rows, N_OBJECTS, weights=weights), data.test


def part_of(everything, launch):
    cuts = CUTS[launch.n]
    rows = slice(cuts[launch.rank], cuts[launch.rank + 1])
    weights = None if everything.weights is None else everything.weights[rows]
    return ct.Comparisons(everything.rows[rows], N_OBJECTS, weights=weights)


def few(answers):
    """Return every eighth answer: few enough that the default solver finishes a fit with a penalty by L-BFGS."""
    return ct.Comparisons(answers.rows[::8], N_OBJECTS)


def odd_one_out():
    x = np.random.default_rng(2).standard_normal((N_OBJECTS, 2))
    return ct.answers_from(x, 6_000, similarity="euclidean", question="odd-one-out", temperature=0.2)


def on_a_file(rows, path):
    np.save(path, rows)
    return np.load(path, mmap_mode="r" if len(rows) else None)


def fits(device, launch, folder):
    """Write the maps and errors of several fits, as each process has them."""
    own = part_of(answers()[0], launch)
    svrg = ct.embed(own, device=device, **SVRG_FIT)
    weighted = ct.embed(part_of(answers(weighted=True)[0], launch), device=device, **SVRG_FIT)
    polyak = ct.embed(own, device=device, validation=answers()[1], **POLYAK_FIT)
    held_out = ct.embed(own, device=device, validation=0.1, **{**POLYAK_FIT, "epochs": 2})
    many_threads = Distributed(CPU(2, least_part=100), device.processes)
    in_blocks = Distributed(CPU(1, least_part=1000, stream_from=1, block_bytes=12 * 4000), device.processes)
    mapped = ct.Comparisons(on_a_file(own.rows, folder / f"own-{launch.rank}.npy"), N_OBJECTS)
    with_weights = ct.Comparisons(mapped.rows, N_OBJECTS, weights=part_of(answers(weighted=True)[0], launch).weights)
    np.savez(
        folder / f"fits-{launch.rank}.npz", in_blocks=ct.embed(mapped, device=in_blocks, **POLYAK_FIT).embedding,
        weighted_blocks=ct.embed(with_weights, device=in_blocks, **POLYAK_FIT).best_record.objective,
        hogwild=ct.embed(own, device=many_threads, **{**POLYAK_FIT, "solver": "hogwild"}).embedding,
        svrg=svrg.embedding, weighted=weighted.embedding, polyak=polyak.embedding,
        errors=polyak.history.train_error, share=held_out.history.validation_error,
        polyak_weighted=ct.embed(part_of(answers(weighted=True)[0], launch), device=device, **POLYAK_FIT).embedding,
    )  # fmt: skip


def penalized(device, launch, folder):
    """Write the map, and the number and values of the epochs, of a fit with a penalty."""
    result = ct.embed(few(part_of(answers()[0], launch)), device=device, **PENALIZED_FIT)
    np.savez(
        folder / f"penalized-{launch.rank}.npz", embedding=result.embedding, objectives=result.history.objective,
        gradient_norms=result.history.gradient_norm,
    )  # fmt: skip


def whole_answers(device, launch, folder):
    """Write the end of a fit to whole answers."""
    everything, cuts = odd_one_out(), CUTS[launch.n]
    begin, end = (cut * everything.n_answers // N_ANSWERS for cut in cuts[launch.rank : launch.rank + 2])
    own = everything.take((everything.answers >= begin) & (everything.answers < end))
    best = ct.embed(own, device=device, **WHOLE_FIT).history[-1]
    np.savez(folder / f"whole-{launch.rank}.npz", objective=best.objective, gradient_norm=best.gradient_norm)


def interrupted(device, launch, folder):
    """Press Ctrl-C in the last process only."""

    def press(record, embedding):
        if record.epoch == 2 and launch.rank == launch.n - 1:
            signal.raise_signal(signal.SIGINT)

    result = ct.embed(part_of(answers()[0], launch), device=device, callback=press, **{**POLYAK_FIT, "epochs": 50})
    (folder / f"interrupted-{launch.rank}").write_text(f"{result.stopped_by} {result.history[-1].epoch}")


def unwritable(device, launch, folder):
    """Remove the folder of the checkpoint during the fit."""
    removed = folder / "removed"
    removed.mkdir(exist_ok=True)

    def remove(record, embedding):
        if launch.rank == 0 and record.epoch == 1:
            shutil.rmtree(removed)

    own, file = part_of(answers()[0], launch), removed / "fit.npz"
    result = ct.embed(own, device=device, checkpoint=file, callback=remove, **POLYAK_FIT)
    (folder / f"unwritable-{launch.rank}").write_text(result.stopped_by)


def killed(device, launch, folder):
    """Kill the last process once a checkpoint with some epochs has been written; the others notice."""
    file, times_written = folder / "killed.npz", set()

    def die(record, embedding):
        if launch.rank == launch.n - 1:
            times_written.add(file.stat().st_mtime_ns)  # the first file has no epochs yet
            if record.epoch >= 3 and len(times_written) > 1:
                os.kill(os.getpid(), signal.SIGKILL)

    ct.embed(part_of(answers()[0], launch), device=device, callback=die, checkpoint=file, **ENDLESS_FIT)


def resumed(device, launch, folder):
    """Resume with another number of processes, for three epochs."""
    epochs = []

    def stop(record, embedding):
        epochs.append(record.epoch)
        return len(epochs) == 3

    result = ct.embed(
        part_of(answers()[0], launch), device=device, callback=stop,
        checkpoint=folder / "killed.npz", resume=True, **ENDLESS_FIT,
    )  # fmt: skip
    (folder / f"resumed-{launch.rank}").write_text(
        f"{epochs[0]} {result.history[-1].epoch} {result.history[-1].train_error}"
    )


def main():
    folder = Path(sys.argv[2])
    launch = Launch.of(os.environ)
    group = ProcessGroup(launch)
    device = Distributed(CPU(1, least_part=1000), group)
    scenarios = {
        one.__name__: one for one in (fits, penalized, whole_answers, interrupted, unwritable, killed, resumed)
    }
    for name in sys.argv[1].split(","):
        scenarios[name](device, launch, folder)
    group.leave()


if __name__ == "__main__":
    main()
