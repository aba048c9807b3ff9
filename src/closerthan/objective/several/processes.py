"""The processes that make one fit together: how many there are, who decides, and what was started by whom.

Nothing here needs PyTorch: one process, the usual case, is :class:`Alone`.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["SEVERAL", "Alone", "Launch", "Processes"]

SEVERAL = "several processes"  # what the kind of a device ends with, if they make fits together

Told = TypeVar("Told")


class Processes(Protocol):
    """All processes of a fit, as one of them sees them."""

    @property
    def n(self) -> int:
        """How many there are."""

    @property
    def leads(self) -> bool:
        """Whether this one decides, writes files and shows the bar."""

    def told(self, value: Told) -> Told:
        """What the process that leads says; the others' values are not looked at."""

    def gathered(self, value: Told) -> list[Told]:
        """What each process says, in their order."""


class Alone:
    """A fit of one process.

    Examples
    --------
    >>> Alone().told(3), Alone().gathered("a")
    (3, ['a'])
    """

    n = 1
    leads = True

    def told(self, value: Told) -> Told:
        return value

    def gathered(self, value: Told) -> list[Told]:
        return [value]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alone)

    def __hash__(self) -> int:
        return hash(Alone)


class Launch(NamedTuple):
    """How this process was started together with others."""

    rank: int
    n: int
    local_rank: int  # among those of this machine
    address: str  # where the first process can be reached
    port: int

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> "Launch | None":
        """What torchrun or Slurm's srun say in environment variables; None for a process alone.

        One process of torchrun is a launch too: so it can go on from the checkpoint of several.

        Slurm's SLURM_NTASKS is not asked: inside a batch script it counts the tasks of the job, while a command that is
        not started by srun runs once.

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
        said = {
            "rank": environment.get("RANK", environment.get("SLURM_PROCID")),
            "n": environment.get("WORLD_SIZE", environment.get("SLURM_STEP_NUM_TASKS")),
        }
        if said["rank"] is None or said["n"] is None:
            return None
        try:
            rank, n = int(said["rank"]), int(said["n"])
            local = int(environment.get("LOCAL_RANK", environment.get("SLURM_LOCALID", rank)))
            # A port for each step of a job: several may share a machine.
            job, step = int(environment.get("SLURM_JOB_ID", 14500)), int(environment.get("SLURM_STEP_ID", 0))
            port = int(environment.get("MASTER_PORT", 15000 + (job + 1000 * step) % 20000))
        except ValueError as error:
            raise ValueError(
                f"the environment says that this is process {said['rank']} of {said['n']}, which is unclear ({error}); "
                "start with torchrun or srun, or unset RANK and WORLD_SIZE"
            ) from None
        if n <= 1 and "TORCHELASTIC_RUN_ID" not in environment:
            return None
        nodes = environment.get("SLURM_STEP_NODELIST", environment.get("SLURM_JOB_NODELIST", "127.0.0.1"))
        return cls(rank, n, local, environment.get("MASTER_ADDR", _first_host(nodes)), port)


def _first_host(nodes: str) -> str:
    """The first of a list of hosts as Slurm writes it.

    Examples
    --------
    >>> _first_host("gpu[07-08,11],big"), _first_host("a1,a2")
    ('gpu07', 'a1')
    """
    found = re.match(r"([^,\[]+)(?:\[(\w+)[^\]]*\])?([^,]*)", nodes)
    return nodes if found is None else f"{found[1]}{found[2] or ''}{found[3]}"
