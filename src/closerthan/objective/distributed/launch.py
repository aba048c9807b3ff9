"""Launch: how torchrun or srun started this process, read from environment variables."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Launch"]


class Launch(NamedTuple):
    """The rank of this process, the number of processes, and the address at which they connect."""

    rank: int
    n: int
    local_rank: int  # among the processes of this machine
    address: str  # address of rank 0
    port: int

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> "Launch | None":
        """Read the variables that torchrun or Slurm's srun set; None for a process without a launcher.

        A single process of torchrun counts as a launch too, so that it can resume the checkpoint of several.

        Slurm's SLURM_NTASKS is not read: inside a batch script it is the number of tasks of the job, while a command
        that srun did not start runs only once.

        Examples
        --------
        >>> Launch.of({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29400"})
        Launch(rank=1, n=2, local_rank=1, address='10.0.0.1', port=29400)
        >>> slurm = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_NODELIST": "gpu[07-08,11]"}
        >>> Launch.of({**slurm, "SLURM_LOCALID": "1", "SLURM_JOB_ID": "70001"})
        Launch(rank=3, n=4, local_rank=1, address='gpu07', port=25001)
        >>> Launch.of({"HOME": "/root"}) is None
        True
        """
        rank_text = environment.get("RANK", environment.get("SLURM_PROCID"))
        n_text = environment.get("WORLD_SIZE", environment.get("SLURM_STEP_NUM_TASKS"))
        if rank_text is None or n_text is None:
            return None
        try:
            rank, n = int(rank_text), int(n_text)
            local = int(environment.get("LOCAL_RANK", environment.get("SLURM_LOCALID", rank)))
            # Each step of a job needs its own port, since several may share a machine.
            job, step = int(environment.get("SLURM_JOB_ID", 14500)), int(environment.get("SLURM_STEP_ID", 0))
            port = int(environment.get("MASTER_PORT", 15000 + (job + 1000 * step) % 20000))
        except ValueError as error:
            raise ValueError(
                f"environment variables say that this is process {rank_text} of {n_text}, which cannot be parsed "
                f"({error}); start with torchrun or srun, or unset RANK and WORLD_SIZE"
            ) from None
        if n <= 1 and "TORCHELASTIC_RUN_ID" not in environment:
            return None
        nodes = environment.get("SLURM_STEP_NODELIST", environment.get("SLURM_JOB_NODELIST", "127.0.0.1"))
        return cls(rank, n, local, environment.get("MASTER_ADDR", _first_host(nodes)), port)


def _first_host(nodes: str) -> str:
    """Return the first host of a list in Slurm's notation.

    Examples
    --------
    >>> _first_host("gpu[07-08,11],big"), _first_host("a1,a2")
    ('gpu07', 'a1')
    """
    match = re.match(r"([^,\[]+)(?:\[(\w+)[^\]]*\])?([^,]*)", nodes)
    return nodes if match is None else f"{match[1]}{match[2] or ''}{match[3]}"
