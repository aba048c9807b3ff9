"""The paper, run again: one file per table or figure, each a ``run(bench) -> Section``."""

import importlib
from collections.abc import Callable
from typing import NamedTuple

from reproduction.bench import Bench
from reproduction.page import Section
from reproduction.trials import Trials

__all__ = ["ALSO", "EXPERIMENTS", "Bench", "Experiment", "Section", "Trials", "experiment_named"]


class Experiment(NamedTuple):
    """One of the paper's tables or figures."""

    name: str
    module: str  # in this package; its run() does the work
    about: str

    @property
    def run(self) -> Callable[[Bench], Section]:
        """What runs it."""
        found: Callable[[Bench], Section] = importlib.import_module(f"reproduction.{self.module}").run
        return found


EXPERIMENTS: dict[str, Experiment] = {
    name: Experiment(name, module, about)
    for name, module, about in (
        ("figure1", "figure1", "step sizes along epochs: BB, SBB_0 and several eps; the diag(1, 0, -1) example"),
        ("table1", "table1", "time until a held-out error of 0.15 on the synthetic set; with Figure 2's curves"),
        ("ckl", "printed_ckl", "Table 1's CKL rows: CKL as the paper prints it, which is STE, and as it is defined"),
        ("figure3", "figure3", "maps of 21 European cities beside classical MDS"),
        ("figure4", "figure4", "held-out error on the music data"),
        ("table2", "table2", "retrieval on a map learnt from noisy answers; with Figure 5's recall curves"),
        ("theory", "theory_checks", "bounds on steps and batches, the 1/T and the linear rate"),
    )
}

# Figures that come out of another experiment.
ALSO = {"figure2": "table1", "figure5": "table2"}


def experiment_named(name: str) -> Experiment:
    """An experiment from its name.

    Examples
    --------
    >>> experiment_named("figure2").name
    'table1'
    """
    name = ALSO.get(name, name)
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; known are: {', '.join([*EXPERIMENTS, *ALSO, 'all'])}")
    return EXPERIMENTS[name]
