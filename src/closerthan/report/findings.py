"""Findings: how far a map can be believed, for the command line, the report and the methods paragraph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.facts import Fact
from closerthan.fit.plan import FitPlan
from closerthan.people.answer_effects import answer_effects
from closerthan.people.effects import AnswerEffects
from closerthan.people.groups import PeopleGroups, group_people
from closerthan.people.individuals import embed_people
from closerthan.people.maps import PeopleMaps
from closerthan.people.quality import PeopleAssessment, assess_people
from closerthan.plotting.canvas import names_of
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, lists_options
from closerthan.uncertainty.ellipses import Ellipses, check_number, fewest
from closerthan.uncertainty.learning_curve import LearningCurve, learning_curve
from closerthan.uncertainty.replicates import Replicates, replicate
from closerthan.wording import approximate_duration, counted, first_few, percent

__all__ = ["Findings", "FindingsRequest", "Neighbour"]

NEAR = 3  # nearest objects that count as neighbours
# Results of ``python -m benchmarks.trust worlds`` on simulated studies; a test compares them with the page it writes.
ELLIPSES_HELD = "69 % to 97 %"  # fraction of true positions inside the 95 % ellipse
DECIDED_WRONG = "0.2 % to 1.3 %"  # fraction of decided triplets that are wrong
INTERRUPTED = "it was interrupted"
LEAST = 0.05  # smallest probability of a neighbour that is listed
MOST_LISTED = 2_000  # with more objects, no neighbours are listed
MOST_NAMED = 5  # objects named in a fact
FITS = {
    "people": 40,
    "groups": 50,
    "individuals": 60,
    "effects": 90,
    "enough": 70,
}  # approximate duration of each part, in fits to all answers
ENOUGH = {
    "chance": "no, predictions are not clearly better than chance",
    "more": "no, more would help",
    "unclear": "it is not clear yet",
    "unsettled": "enough to predict answers, but not to interpret all positions",
    "enough": "yes",
}
"""Verdicts of a learning curve, in words."""
COMMANDS = {
    "people": "people",
    "groups": "people",
    "individuals": "individuals",
    "effects": "effects",
    "enough": "enough",
}
"""Commands that run only one of the analyses."""


class Neighbour(NamedTuple):
    """Probability that one object is a neighbour of another."""

    object: int
    neighbour: int
    nearest: float  # probability that it is the nearest object
    near: float  # probability that it is among the few nearest objects


@dataclass(frozen=True)
class FindingsRequest:
    """Choice of the analyses that :meth:`Findings.of` runs.

    Attributes
    ----------
    n_replicates
        Number of replicates; 0 for none.
    people
        Whether to assess people, to look for groups of them, and to find out whether they weigh the dimensions of the
        map differently, if it is known who gave the answers.
    enough
        Whether to measure the learning curve.
    checks
        As in :func:`closerthan.assess_people`.
    assessment
        An existing assessment of the people, which is used instead of a new one.
    ties
        As in :func:`closerthan.answer_effects`.
    most_seconds
        Analyses of people, of groups and of the learning curve that would take longer are left out. Their time is
        estimated from the duration of the fit.
    """

    n_replicates: int = 100
    people: bool = True
    enough: bool = True
    checks: Mapping[str, tuple[int, int]] | None = None
    assessment: PeopleAssessment | None = None
    ties: Comparisons | None = None
    most_seconds: float = 60.0


@dataclass(frozen=True, repr=False)
class Findings:
    """Analyses of how far a map can be believed; those that were not requested or not possible are None.

    Attributes
    ----------
    replicates
        Maps fitted to resampled answers.
    people, groups
        Assessment of the people who gave the answers, and groups of people with maps of their own.
    individuals
        How much each person weighs the dimensions of the map; None if the loss has no probabilities of whole answers.
    effects
        What influences answers besides the map; None if the positions of the objects on the screen are unknown, or if
        the loss has no probabilities of whole answers.
    curve
        Learning curve: are the answers enough?
    left_out
        Analyses that were requested but left out, with the reason for each.

    Examples
    --------
    >>> import closerthan as ct
    >>> findings = Findings(ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=20, loss="soe", seed=0))
    >>> findings
    Findings(20 replicates)
    >>> findings.neighbours[0].nearest > 0.5, sorted(findings.figures())
    (True, ['calibration.png', 'ellipses.png', 'neighbours.png'])
    """

    replicates: Replicates | None = None
    people: PeopleAssessment | None = None
    groups: PeopleGroups | None = None
    individuals: PeopleMaps | None = None
    effects: AnswerEffects | None = None
    curve: LearningCurve | None = None
    left_out: tuple[Fact, ...] = ()

    def __repr__(self) -> str:
        parts = [] if self.replicates is None else [counted(len(self.replicates), "replicate")]
        others = (self.people, self.groups, self.individuals, self.effects, self.curve)
        parts += [repr(part) for part in others if part is not None]
        parts += [f"without {fact.name}" for fact in self.left_out]
        return f"Findings({', '.join(parts) or 'none'})"

    @classmethod
    @lists_options(FitOptions)
    def of(
        cls,
        answers: Comparisons,
        result: Result,
        request: FindingsRequest,
        *,
        settings: Settings | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Analyse how far a fit can be believed.

        Analyses that would take too long are left out, and so are those that follow an interruption by Ctrl-C.

        Parameters
        ----------
        answers, result
            The answers, and the result of a fit to them, which is not repeated.
        request
            The analyses to run.
        settings, options
            Settings of the fits to subsets of the answers, as in :func:`closerthan.embed`; by default those of
            ``result``. The loss is always that of ``result``. A time limit applies to all analyses together.
        """
        if settings is None and result.settings is not None:
            settings = result.settings.for_refits()
        plan = FitPlan.of(settings, result.embedding.shape[1], {**options, "validation": None})
        # Early stopping would hold out different answers in each fit. The time limit is divided among the analyses.
        base = plan.settings.replace(time_limit=None)
        run: dict[str, Any] = {"device": plan.device, "n_threads": plan.n_threads, "progress": plan.progress}
        parts: dict[str, Any] = {"people": request.assessment}
        left_out: list[Fact] = []

        def analyse(name: str, title: str, analysis: Callable[..., Any], **arguments: Any) -> None:
            seconds = FITS.get(name, 0) * result.history[-1].seconds
            if any(fact.note == INTERRUPTED for fact in left_out) or _is_interrupted(parts["people"]):
                return
            if seconds > request.most_seconds:
                duration = approximate_duration(seconds)
                why = f"it would take about {duration}; run closerthan {COMMANDS[name]} to compute it"
                left_out.append(Fact(title, "left out", why))
                return
            arguments |= {"result": result, "time_limit": plan.budget.seconds_left, **run}
            try:
                parts[name] = analysis(answers, **arguments)
            except KeyboardInterrupt:
                left_out.append(Fact(title, "left out", INTERRUPTED))
            except ValueError as error:  # for instance too few answers: the other findings must not be lost
                left_out.append(Fact(title, "left out", str(error)))

        if request.n_replicates:
            n_replicates = request.n_replicates
            analyse("replicates", "Replicates", _fit_replicates, n_replicates=n_replicates, seed=base.seed)
        if _is_interrupted(parts.get("replicates")):
            return cls(parts["replicates"], request.assessment)
        if request.people and (answers.n_people or 0) > 1:
            if request.assessment is None:
                analyse("people", "People", assess_people, checks=request.checks, settings=base)
            if parts["people"] is not None:
                analyse("groups", "Maps needed", group_people, settings=base)
                own = base.replace(by=AUTO) if base.by in ("people", "comparisons") else base
                if result.loss.is_choice_rule and (answers.positions is not None or request.ties is not None):
                    analyse("effects", "Effects besides the map", answer_effects, ties=request.ties, settings=own)
                if result.loss.is_choice_rule and result.embedding.shape[1] > 1:
                    analyse("individuals", "Weights of people", embed_people, settings=own)
        if request.enough:
            analyse("enough", "Enough?", learning_curve, settings=base)
            if parts.get("enough") is not None and parts.get("replicates") is not None:
                parts["enough"] = parts["enough"].with_replicates(parts["replicates"])
        return cls(
            parts.get("replicates"),
            parts["people"],
            parts.get("groups"),
            parts.get("individuals"),
            parts.get("effects"),
            parts.get("enough"),
            tuple(left_out),
        )

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C interrupted one of the analyses."""
        parts = [part for part in (self.replicates, self.people, self.individuals, self.curve) if part is not None]
        return any(fact.note == INTERRUPTED for fact in self.left_out) or any(map(_is_interrupted, parts))

    @property
    def n_replicates(self) -> int:
        """Number of replicates that were requested; 0 if there are none."""
        return 0 if self.replicates is None else self.replicates.n_requested or len(self.replicates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the objects, or their numbers if they have no names."""
        result = self._replicates.result
        return tuple(names_of(result.names, len(result.embedding)))

    @property
    def k(self) -> int:
        """Number of nearest objects that count as neighbours."""
        return min(NEAR, len(self.names) - 1)

    @property
    def _replicates(self) -> Replicates:
        if self.replicates is None:
            raise ValueError("there are no replicates; fit some with closerthan.replicate")
        return self.replicates

    def ellipses(self, level: float = 0.95) -> Ellipses:
        """Return the ellipses of :meth:`closerthan.Replicates.ellipses`."""
        return self._replicates.ellipses(level)

    @cached_property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Pairs of objects that are neighbours with a probability of at least 5 %, the most probable first.

        With more than 2,000 objects, no pairs are listed.
        """
        n_objects = len(self.names)
        if n_objects > MOST_LISTED:
            return ()
        nearest, near = (self._replicates.neighbour_probability(k) for k in (1, self.k))
        pairs: list[Neighbour] = []
        for number in range(n_objects):
            others = np.flatnonzero(near[number] >= LEAST)
            others = others[np.lexsort((-near[number, others], -nearest[number, others]))]
            pairs += [Neighbour(number, int(o), float(nearest[number, o]), float(near[number, o])) for o in others]
        return tuple(pairs)

    def facts(self) -> list[Fact]:
        """Return the findings in words, as rows of the table at the top of a report."""
        lines = [] if self.replicates is None else self._replicate_facts(self.replicates)
        if self.people is not None:
            cut = f"; {self.people.cut}" * bool(self.people.cut)
            note = f"each judged by a map fitted to the answers of the others; nobody was excluded{cut}"
            lines.append(Fact("People", self.people.verdicts_in_words, note))
        if self.groups is not None:
            lines.append(Fact("Maps needed", counted(self.groups.n_groups, "map"), self.groups.sentence))
        if self.individuals is not None:
            lines.append(Fact("Weights of people", self.individuals.summary, self.individuals.sentences[0]))
        if self.effects is not None:
            lines.append(Fact("Effects besides the map", self.effects.summary, self.effects.sentences[0]))
        if self.curve is not None:
            lines.append(Fact("Enough?", ENOUGH[self.curve.verdict], self.curve.advice))
        return [*lines, *self.left_out]

    def _replicate_facts(self, replicates: Replicates) -> list[Fact]:
        units = f"{replicates.n_units:,} resampled {replicates.by}"
        fitted_to, other = units, "other answers"
        if replicates.by == "people":
            fitted_to, other = f"the answers of {units}", "the answers of other people"
        lines = [
            Fact(
                "Replicates",
                counted(len(replicates), "map"),
                f"each fitted to {fitted_to}: maps that {other} might have produced"
                + f"; {replicates.cut}" * bool(replicates.cut),
            ),
            Fact(
                "Decided",
                f"{percent(replicates.share_decided, digits=0)} of all triplets",
                f"at least 95 % of the replicates agree on them; {self.trust_in_decided}",
            ),
        ]
        unsettled = replicates.unsettled
        if len(unsettled):
            value = first_few([self.names[number] for number in unsettled], MOST_NAMED)
            note = (
                'fewer than half of the questions "is it closer to j or to k?" are decided; collect more answers about '
                "them"
            )
            lines.append(Fact("Not settled", value, note))
        else:
            note = 'for every object, at least half of the questions "is it closer to j or to k?" are decided'
            lines.append(Fact("Not settled", "none", note))
        return lines

    @property
    def trust_in_decided(self) -> str:
        """How far triplets can be trusted if the replicates agree on them, in words."""
        if self.replicates is not None and self.replicates.result.different_starts:
            return "but all replicates start at this map, and other starts lead to different maps: do not rely on them"
        tested = self.people if self.curve is None else self.curve
        if tested is not None and tested.is_chance:
            return "but new answers are not predicted clearly better than by chance: do not rely on them"
        return f"in simulations, {DECIDED_WRONG} of such triplets were wrong"

    def figures(self) -> dict[str, Any]:
        """Return the figures, by the name of their file."""
        from closerthan.plotting import (
            learning_curve_figure,
            people_figure,
            people_maps_figure,
            people_matrix_figure,
            weights_figure,
        )

        figures = {} if self.replicates is None else self._replicate_figures(self.replicates)
        if self.people is not None:
            figures["people.png"] = people_figure(self.people)
        if self.groups is not None:
            figures["people-matrix.png"] = people_matrix_figure(self.groups)
            if self.groups.n_groups > 1:
                figures["people-maps.png"] = people_maps_figure(self.groups)
        if self.individuals is not None:
            figures["people-weights.png"] = weights_figure(self.individuals)
        if self.curve is not None:
            figures["learning-curve.png"] = learning_curve_figure(self.curve)
        return figures

    def _replicate_figures(self, replicates: Replicates) -> dict[str, Any]:
        from closerthan.plotting import calibration_figure, ellipses_figure, neighbours_figure

        shape = "intervals" if replicates.result.embedding.shape[1] == 1 else "ellipses"
        title = f"Possible positions of the objects: those in each other's {shape} cannot be told apart"
        figures = {"ellipses.png": ellipses_figure(replicates, title=title)}
        if len(self.names) <= MOST_LISTED:
            title = "Probable neighbours: the thicker the line, the more probable"
            figures["neighbours.png"] = neighbours_figure(replicates, k=self.k, title=title)
        if replicates.calibration is not None:
            title = "Are the probabilities right? (95 % intervals)"
            figures["calibration.png"] = calibration_figure(replicates, title=title)
        return figures


def _fit_replicates(answers: Comparisons, **arguments: Any) -> Replicates:
    """Return replicates, if there are enough of them for ellipses."""
    replicates = replicate(answers, **arguments)
    n_dims = replicates.result.embedding.shape[1]
    if replicates.interrupted and len(replicates) < fewest(n_dims):
        raise KeyboardInterrupt
    check_number(len(replicates), n_dims)
    return replicates


def _is_interrupted(part: PeopleAssessment | PeopleMaps | Replicates | LearningCurve | None) -> bool:
    return part is not None and part.stopped_by == "interrupted"
