"""Joining the processes that torchrun or srun started."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from closerthan.checks import checked
from closerthan.objective.devices import has_gpu, local_device
from closerthan.objective.distributed.launch import Launch
from closerthan.objective.protocol import Device

if TYPE_CHECKING:
    from closerthan.objective.distributed.objective import Distributed

__all__ = ["join", "processes"]


@checked
@contextlib.contextmanager
def processes(device: str = "cpu", n_threads: int | None = None) -> Iterator[Device]:
    """Connect the processes that torchrun or Slurm's srun started, so that they share fits.

    Each process passes its own part of the answers to :func:`closerthan.embed`, made with the same ``n_objects`` or
    ``names``, and all of them get the same map. They disconnect at the end of the ``with`` block. A script that was
    started without a launcher is a single process and gets the plain device.

    If the block ends with an exception, this process does not wait for the others, which end with an error as well.

    Parameters
    ----------
    device
        Where each process computes: "cpu", "cuda", or "auto" for a GPU if there is one.
    n_threads
        Number of threads of each process; by default one per core.

    Yields
    ------
    The device to pass to :func:`closerthan.embed`. ``device.processes`` has the ``rank`` of this process and their
    number ``n``.

    Examples
    --------
    Without a launcher there is one process:

    >>> import closerthan as ct
    >>> with ct.processes() as device:
    ...     result = ct.embed([[0, 1, 2], [1, 0, 2]], n_dims=1, loss="ste", device=device, seed=0)
    ...     if device.processes.rank == 0:
    ...         print(result.embedding.shape)
    (3, 1)
    """
    launch = Launch.of(os.environ)
    if launch is None:
        yield local_device("cuda" if device == "auto" and has_gpu() else device, n_threads)
        return
    joined = join(launch, device, n_threads)
    yield joined
    joined.processes.leave()  # not after an error: the others learn of it when this process ends


def join(launch: Launch, device: str = "cpu", n_threads: int | None = None) -> "Distributed":
    """Connect this process with the others of its launch; return the device that they share."""
    if importlib.util.find_spec("torch") is None:
        raise ValueError(
            f"this is process {launch.rank + 1} of {launch.n}, and sharing a fit needs PyTorch, which is not "
            'installed; run: pip install "closerthan[torch]", or start one process'
        )
    import torch

    from closerthan.objective.distributed.objective import Distributed
    from closerthan.objective.distributed.process_group import ProcessGroup

    on_gpu = device.startswith("cuda") or (device == "auto" and has_gpu())
    if on_gpu and torch.cuda.is_available():
        torch.cuda.set_device(launch.local_rank % torch.cuda.device_count())
    torch.set_num_threads(1)  # PyTorch only adds maps; walks use our own threads
    return Distributed(local_device("cuda" if on_gpu else "cpu", n_threads), ProcessGroup(launch, on_gpu=on_gpu))
