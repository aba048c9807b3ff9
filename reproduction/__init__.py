"""The experiments of the paper: one module per table or figure, each with a function ``run(bench) -> Section``.

This package is run from a checkout, with closerthan installed, and is not part of the wheel:

    python -m reproduction                       list the experiments
    python -m reproduction table1 --quick        run a small version of one of them
    python -m reproduction all                   run everything (hours)
"""

import importlib
from collections.abc import Callable
from typing import NamedTuple

from reproduction.bench import Bench
from reproduction.page import Section
from reproduction.trial_log import TrialLog

__all__ = ["ALSO", "EXPERIMENTS", "Bench", "Experiment", "Section", "TrialLog", "experiment_named"]


class Experiment(NamedTuple):
    """One of the paper's tables or figures."""

    name: str
    module: str  # in this package; its run() does the work
    about: str

    @property
    def run(self) -> Callable[[Bench], Section]:
        """The function that runs the experiment."""
        function: Callable[[Bench], Section] = importlib.import_module(f"reproduction.{self.module}").run
        return function


EXPERIMENTS: dict[str, Experiment] = {
    name: Experiment(name, module, about)
    for name, module, about in (
        ("figure1", "figure1", "step sizes by epoch: BB, SBB_0 and several eps; the example diag(1, 0, -1)"),
        ("table1", "table1", "time to a held-out error of 0.15 on the synthetic set; the curves of Figure 2"),
        ("ckl", "printed_ckl", "the CKL rows of Table 1: CKL as printed in the paper, which is STE, and as defined"),
        ("figure3", "figure3", "maps of 21 European cities compared with classical MDS"),
        ("figure4", "figure4", "held-out error on the music data"),
        ("table2", "table2", "retrieval on a map learnt from noisy answers; the recall curves of Figure 5"),
        ("theory", "theory_checks", "bounds on step and batch sizes, the 1/T rate and the linear rate"),
    )
}

# Figures that are part of another experiment.
ALSO = {"figure2": "table1", "figure5": "table2"}


def experiment_named(name: str) -> Experiment:
    """Return the experiment with this name.

    Examples
    --------
    >>> experiment_named("figure2").name
    'table1'
    """
    name = ALSO.get(name, name)
    if name not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {name!r}; choose from: {', '.join([*EXPERIMENTS, *ALSO, 'all'])}")
    return EXPERIMENTS[name]
