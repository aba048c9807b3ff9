"""The likelihood that a fit maximises: that of whole answers, or that of the comparisons that follow from them."""

from typing import Any

import numpy as np

from closerthan.checks import ParameterError
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import Loss, Penalized
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.processes import Processes
from closerthan.objective.protocol import Capability, Device, Objective
from closerthan.settings import Settings
from closerthan.solvers import Solver

__all__ = ["objective_of"]

_COMPARISONS_ONLY: frozenset[Capability] = frozenset({"lock-free walk", "Gram gradient"})


def objective_of(
    settings: Settings, device: Device, answers: Comparisons, held_out: Comparisons | None = None
) -> Objective[Any]:
    """Return the objective of a fit with a fixed loss, including its penalty.

    A loss without a similarity is always summed over comparisons; so are answers that are single comparisons, for which
    there is no difference. "auto" means "comparisons": docs/measured/whole-answers.md says why.
    """
    assert isinstance(settings.loss, Loss)
    by_comparisons = device.objective(answers, _penalized(settings, answers, device.processes), held_out)
    choices = _choices_to_fit(settings, answers, device)
    if choices is None:
        return by_comparisons
    from closerthan.objective.whole_answers import WholeAnswers

    weights = choices.choice_weights
    n_choices = choices.n_choices if weights is None else int(np.count_nonzero(weights))
    return WholeAnswers(by_comparisons, choices, _with_penalty(settings, answers.n_objects, n_choices))


def _penalized(settings: Settings, answers: Comparisons, processes: Processes) -> Loss:
    """Return the loss of the settings, including its penalty, for a mean over comparisons."""
    n_here = len(answers) if answers.weights is None else np.count_nonzero(answers.weights)
    return _with_penalty(settings, answers.n_objects, sum(processes.all_gather(int(n_here))))


def _with_penalty(settings: Settings, n_objects: int, n_terms: int) -> Loss:
    """Return the loss of the settings, including its penalty, for a mean over ``n_terms`` terms.

    A Gaussian prior of fixed strength on the position of each object matters less the more terms there are per
    object. Terms without weight do not count, here as in the race that chose the penalty.
    """
    assert isinstance(settings.loss, Loss)
    if not settings.penalty_strength:
        return settings.loss
    return Penalized(settings.loss, settings.penalty_strength * n_objects / max(n_terms, 1))


def _choices_to_fit(settings: Settings, answers: Comparisons, device: Device) -> Choices | None:
    """Return the whole answers to fit, or None to fit comparisons."""
    assert isinstance(settings.loss, Loss)
    imply_several = answers.answers is not None and answers.n_answers < len(answers)
    if settings.likelihood != "answers" or not settings.loss.is_choice_rule or not imply_several:
        return None
    obstacle, solver = "", settings.solver
    if not answers.cheap_to_enumerate:
        obstacle = "the answers are on disk"
    elif device.processes.n > 1:
        obstacle = "several processes share the fit"
    elif not isinstance(device, CPU):
        obstacle = f"the device {device.name} fits comparisons only"
    elif isinstance(solver, Solver) and solver.needs & _COMPARISONS_ONLY:
        obstacle = f"the solver {type(solver).__name__} takes single comparisons only"
    if obstacle:
        rule = f"{obstacle}, so the answers can only be fitted as comparisons"
        raise ParameterError("likelihood", "answers", rule, 'pass "comparisons"')
    return Choices.of(answers)
