"""Findings: what can be believed of a map, in one place for the command line, the report and a methods section."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import Fact
from closerthan.fit.plan import FitPlan
from closerthan.people.groups import PeopleGroups, group_people
from closerthan.people.quality import PeopleAssessment, assess_people
from closerthan.result import Result
from closerthan.settings import FitOptions, Settings, lists_options
from closerthan.uncertainty.ellipses import Ellipses, check_number, fewest
from closerthan.uncertainty.learning_curve import LearningCurve, learning_curve
from closerthan.uncertainty.replicates import Replicates, replicate
from closerthan.wording import counted, percent

__all__ = ["Findings", "FindingsRequest", "Neighbour", "trust_in_decided"]

NEAR = 3  # neighbours that the graph shows
# How replicates fared in simulated worlds, by ``python -m benchmarks.trust worlds``; a test compares the page it makes.
ELLIPSES_HELD = "69 % to 97 %"  # true places that lie inside the 95 % ellipse
DECIDED_WRONG = "0.2 % to 1.3 %"  # decided triplets that are wrong
INTERRUPTED = "it was interrupted"
LEAST = 0.05  # probability of a neighbour that is listed
MOST_LISTED = 2_000  # objects whose neighbours are listed
MOST_NAMED = 5
FITS = {"people": 40, "groups": 50, "enough": 70}  # of all answers, that each part takes about as long as
ENOUGH = {
    "chance": "no better than chance",
    "more": "more are worth it",
    "unsettled": "to predict answers, but not to interpret all places",
    "enough": "yes",
}
"""Verdicts of a learning curve, in words."""
COMMANDS = {"people": "people", "groups": "people", "enough": "enough"}  # that do one part alone


class Neighbour(NamedTuple):
    """How probable it is that one object is near another."""

    object: int
    neighbour: int
    nearest: float  # probability that it is the nearest
    near: float  # probability that it is among the nearest few


@dataclass(frozen=True)
class FindingsRequest:
    """Which analyses of a fit to run.

    Attributes
    ----------
    n_replicates
        Number of replicates; 0 for none.
    people
        Whether to assess people and to look for groups of them, where they are known.
    enough
        Whether to measure the learning curve.
    checks
        As in :func:`closerthan.assess_people`.
    assessment
        An assessment of the people that was made before, which is then not repeated.
    most_seconds
        Longest time that one part may take, as estimated from the duration of the fit; a longer part is left out.
    """

    n_replicates: int = 100
    people: bool = True
    enough: bool = True
    checks: Mapping[str, tuple[int, int]] | None = None
    assessment: PeopleAssessment | None = None
    most_seconds: float = 60.0


@dataclass(frozen=True)
class Findings:
    """What is known about a map beyond its places; what is None was not asked for, or could not be had.

    Attributes
    ----------
    replicates
        Many maps of resampled answers.
    people, groups
        What the answers say of those who gave them, and whether some have maps of their own.
    curve
        Whether the answers are enough.
    left_out
        What was to be found out and was not, and why.

    Examples
    --------
    >>> import closerthan as ct
    >>> found = Findings(ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=20, loss="soe", seed=0))
    >>> found.neighbours[0].nearest > 0.5, sorted(found.figures())
    (True, ['calibration.png', 'ellipses.png', 'neighbours.png'])
    """

    replicates: Replicates | None = None
    people: PeopleAssessment | None = None
    groups: PeopleGroups | None = None
    curve: LearningCurve | None = None
    left_out: tuple[Fact, ...] = ()

    @classmethod
    @lists_options(FitOptions)
    def of(
        cls,
        answers: Comparisons,
        result: Result,
        request: "FindingsRequest",
        *,
        settings: Settings | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Analyse how far a fit can be trusted. Parts that would take too long, or follow Ctrl-C, are left out.

        Parameters
        ----------
        answers, result
            The answers, and the fit to them. It is not repeated.
        request
            What to analyse.
        settings, options
            Those of :func:`closerthan.embed` for the fits to subsets of the answers; by default the settings of
            ``result``. The loss is always that of ``result``. A time limit is that of all parts together.
        """
        if settings is None and result.settings is not None:
            settings = result.settings.for_subsets()
        plan = FitPlan.of(settings, result.embedding.shape[1], {**options, "validation": None})
        # Early stopping would hold out other answers in each fit, and the time is shared.
        base = plan.settings.replace(time_limit=None)
        run: dict[str, Any] = {"device": plan.device, "n_threads": plan.n_threads, "progress": plan.progress}
        parts: dict[str, Any] = {"people": request.assessment}
        left_out: list[Fact] = []

        def analyse(name: str, title: str, analysis: Callable[..., Any], **arguments: Any) -> None:
            seconds = FITS.get(name, 0) * result.history[-1].seconds
            if any(fact.note == INTERRUPTED for fact in left_out) or _is_interrupted(parts["people"]):
                return
            if seconds > request.most_seconds:
                why = f"it would take about {seconds / 60:,.0f} minutes; closerthan {COMMANDS[name]} does it"
                left_out.append(Fact(title, "left out", why))
                return
            arguments |= {"result": result, "time_limit": plan.budget.seconds_left, **run}
            try:
                parts[name] = analysis(answers, **arguments)
            except KeyboardInterrupt:
                left_out.append(Fact(title, "left out", INTERRUPTED))
            except ValueError as error:  # such as too few answers: the other parts must not be lost
                left_out.append(Fact(title, "left out", str(error)))

        if request.n_replicates:
            n_replicates = request.n_replicates
            analyse("replicates", "Replicates", _replicated, n_replicates=n_replicates, seed=base.seed)
        if _is_interrupted(parts.get("replicates")):
            return cls(parts["replicates"], request.assessment)
        if request.people and (answers.n_people or 0) > 1:
            if request.assessment is None:
                analyse("people", "People", assess_people, checks=request.checks, settings=base)
            if parts["people"] is not None:
                analyse("groups", "Maps needed", group_people, settings=base)
        if request.enough:
            analyse("enough", "Enough?", learning_curve, settings=base)
            if parts.get("enough") is not None and parts.get("replicates") is not None:
                parts["enough"] = parts["enough"].with_replicates(parts["replicates"])
        return cls(parts.get("replicates"), parts["people"], parts.get("groups"), parts.get("enough"), tuple(left_out))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it early."""
        parts = [part for part in (self.replicates, self.people, self.curve) if part is not None]
        return any(fact.note == INTERRUPTED for fact in self.left_out) or any(map(_is_interrupted, parts))

    @property
    def n_replicates(self) -> int:
        """Number of replicates that were requested; 0 if none were made."""
        return 0 if self.replicates is None else self.replicates.n_requested or len(self.replicates)

    @property
    def names(self) -> tuple[str, ...]:
        """The objects' names, or their numbers."""
        result = self._replicates.result
        return result.names or tuple(str(number) for number in range(len(result.embedding)))

    @property
    def k(self) -> int:
        """How many neighbours count as near."""
        return min(NEAR, len(self.names) - 1)

    @property
    def _replicates(self) -> Replicates:
        if self.replicates is None:
            raise ValueError("there are no replicates; make some with closerthan.replicate")
        return self.replicates

    def ellipses(self, level: float = 0.95) -> Ellipses:
        """Ellipses in which the true place of each object may be, relative to the others."""
        return self._replicates.ellipses(level)

    @cached_property
    def _near(self) -> Array:
        return self._replicates.neighbour_probability(self.k)

    @cached_property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """Pairs of which one is near the other with a probability of at least 5 %, the surest of each object first.

        Of more than 2,000 objects none are listed.
        """
        n_objects = len(self.names)
        if n_objects > MOST_LISTED:
            return ()
        nearest, near = self._replicates.neighbour_probability(1), self._near
        found: list[Neighbour] = []
        for number in range(n_objects):
            others = np.flatnonzero(near[number] >= LEAST)
            others = others[np.lexsort((-near[number, others], -nearest[number, others]))]
            found += [Neighbour(number, int(o), float(nearest[number, o]), float(near[number, o])) for o in others]
        return tuple(found)

    def facts(self) -> list[Fact]:
        """What a reader wants to know, in words."""
        lines = [] if self.replicates is None else self._replicate_facts(self.replicates)
        if self.people is not None:
            said = ", ".join(f"{number} {verdict}" for verdict, number in self.people.verdicts.items())
            cut = f"; {self.people.cut}" * bool(self.people.cut)
            lines.append(Fact("People", said, f"judged by the map of the others; nobody was left out{cut}"))
        if self.groups is not None:
            lines.append(Fact("Maps needed", counted(self.groups.n_groups, "map"), self.groups.sentence))
        if self.curve is not None:
            lines.append(Fact("Enough?", ENOUGH[self.curve.verdict], self.curve.advice))
        return [*lines, *self.left_out]

    def _replicate_facts(self, replicates: Replicates) -> list[Fact]:
        other = "other people" if replicates.by == "people" else "other answers"
        lines = [
            Fact(
                "Replicates",
                counted(len(replicates), "map"),
                f"each fitted to {replicates.n_units:,} resampled {replicates.by}: "
                f"what {other} might have shown" + f"; {replicates.cut}" * bool(replicates.cut),
            ),
            Fact(
                "Decided",
                f"{percent(replicates.share_decided, digits=0)} of all triplets",
                f"95 % of the replicates agree on them; {trust_in_decided(replicates.result)}",
            ),
        ]
        unsettled = replicates.unsettled
        if len(unsettled):
            named = ", ".join(self.names[number] for number in unsettled[:MOST_NAMED])
            more = f" and {len(unsettled) - MOST_NAMED:,} more" if len(unsettled) > MOST_NAMED else ""
            note = "less than half of the triplets about them are decided: ask more about them"
            lines.append(Fact("Not settled", f"{named}{more}", note))
        else:
            lines.append(Fact("Not settled", "none", "at least half of the triplets about every object are decided"))
        return lines

    def figures(self) -> dict[str, Any]:
        """The pictures, by the name of their file."""
        from closerthan.plotting import learning_curve_figure, people_figure, people_maps_figure, people_matrix_figure

        made = {} if self.replicates is None else self._replicate_figures(self.replicates)
        if self.people is not None:
            made["people.png"] = people_figure(self.people)
        if self.groups is not None:
            made["people-matrix.png"] = people_matrix_figure(self.groups)
            if self.groups.n_groups > 1:
                made["people-maps.png"] = people_maps_figure(self.groups)
        if self.curve is not None:
            made["learning-curve.png"] = learning_curve_figure(self.curve)
        return made

    def _replicate_figures(self, replicates: Replicates) -> dict[str, Any]:
        from closerthan.plotting import calibration_figure, ellipses_figure, neighbours_figure

        shape = "intervals" if replicates.result.embedding.shape[1] == 1 else "ellipses"
        title = f"Where objects may lie: do not distinguish those in each other's {shape}"
        made = {"ellipses.png": ellipses_figure(replicates, title=title)}
        if len(self.names) <= MOST_LISTED:
            title = "Which objects are probably neighbours: strong lines are the most probable"
            made["neighbours.png"] = neighbours_figure(replicates, k=self.k, title=title)
        if replicates.calibration is not None:
            title = "Are the probabilities right? With 95 % intervals"
            made["calibration.png"] = calibration_figure(replicates, title=title)
        return made


def _replicated(answers: Comparisons, **arguments: Any) -> Replicates:
    """Return replicates, if there are enough of them for ellipses."""
    replicates = replicate(answers, **arguments)
    n_dims = replicates.result.embedding.shape[1]
    if replicates.interrupted and len(replicates) < fewest(n_dims):
        raise KeyboardInterrupt
    check_number(len(replicates), n_dims)
    return replicates


def trust_in_decided(result: Result) -> str:
    """Say how far triplets on which the replicates of a fit agree can be trusted."""
    if result.different_starts:
        return "but all replicates start at this map, and other starts lead to different maps: do not rely on them"
    return f"in simulations {DECIDED_WRONG} of such triplets were wrong"


def _is_interrupted(part: PeopleAssessment | Replicates | LearningCurve | None) -> bool:
    return part is not None and part.stopped_by == "interrupted"
