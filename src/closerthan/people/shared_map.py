"""The map of all people, at which models of whole answers start."""

from closerthan.checks import ParameterError
from closerthan.comparisons import Comparisons
from closerthan.fit.plan import FitPlan
from closerthan.losses import Loss, loss_named
from closerthan.result import Result
from closerthan.settings import Settings

__all__ = ["check_whole_answers", "shared_map"]


def check_whole_answers(settings: Settings, purpose: str) -> None:
    """Raise an error unless held-out whole answers of the same people can be predicted with these settings."""
    if settings.by in ("people", "comparisons"):
        rule = "each person's answers are predicted from others of the same person, and answers are held out whole"
        raise ParameterError("by", settings.by, rule, "leave {by} out")
    if settings.stops_by_held_out:
        raise ParameterError(
            "validation", settings.validation, f"{purpose} are fitted without early stopping", "leave {validation} out"
        )
    if not settings.is_auto and not (isinstance(settings.loss, Loss) and settings.loss.is_choice_rule):
        rule = f"it has no probabilities of whole answers, which {purpose} need; pass ste, tste or ckl"
        raise ParameterError("loss", settings.loss_name, rule)


def shared_map(answers: Comparisons, plan: FitPlan) -> Result:
    """Fit a map for all people with a loss that is a choice rule."""
    result = plan.fit(answers, progress=plan.progress)
    if result.loss.is_choice_rule:
        return result
    # The loss that predicts best gives no probabilities to whole answers: use the best one that does.
    rules = [one for one in result.candidates if loss_named(one.loss).in_dims(plan.settings.n_dims).is_choice_rule]
    loss, penalty = (rules[0].loss, rules[0].penalty) if rules else ("ste", result.penalty)
    return plan.replace(loss=loss, penalty=penalty).fit(answers, progress=plan.progress)
