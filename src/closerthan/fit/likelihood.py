"""The likelihood that a fit maximises: that of whole answers, or that of the comparisons that follow from them."""

from typing import Any

import numpy as np

from closerthan.checks import ParameterError
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import Loss, Penalized
from closerthan.objective.processes import Processes
from closerthan.objective.protocol import Device, Objective
from closerthan.settings import Settings
from closerthan.solvers import Solver

__all__ = ["objective_of"]


def objective_of(
    settings: Settings, device: Device, answers: Comparisons, held_out: Comparisons | None = None
) -> Objective[Any]:
    """Return the objective of a fit with a fixed loss, including its penalty.

    A loss without a similarity is always summed over comparisons; so are answers that are single comparisons, for which
    there is no difference. "auto" means "comparisons": docs/measured/whole-answers.md says why.
    """
    assert isinstance(settings.loss, Loss)
    processes, fits_answers = device.processes, settings.likelihood == "answers" and settings.loss.is_choice_rule
    if fits_answers:
        fits_answers = any(processes.all_gather(answers.answers is not None and answers.n_answers < len(answers)))
    if fits_answers and isinstance(settings.solver, Solver) and "Gram gradient" in settings.solver.needs:
        raise _comparisons_only(f"the solver {type(settings.solver).__name__} takes single comparisons only")
    by_comparisons = device.objective(answers, _penalized(settings, answers, processes), held_out)
    if not fits_answers:
        return by_comparisons
    in_memory = answers.cheap_to_enumerate and "whole answers" in by_comparisons.capabilities
    if not all(processes.all_gather(in_memory)):
        with by_comparisons:
            raise _comparisons_only("the answers are on disk, or too many for the memory of the device")
    from closerthan.objective.whole_answers import WholeAnswers

    choices = Choices.of(answers)
    weights = choices.choice_weights
    n_choices = choices.n_choices if weights is None else int(np.count_nonzero(weights))
    penalized = _with_penalty(settings, answers.n_objects, sum(processes.all_gather(n_choices)))
    return WholeAnswers(by_comparisons, choices, penalized)


def _comparisons_only(obstacle: str) -> ParameterError:
    rule = f"{obstacle}, so the answers can only be fitted as comparisons"
    return ParameterError("likelihood", "answers", rule, 'pass "comparisons"')


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
