"""Do two groups of answers, such as two conditions of an experiment, have different maps?

A map is fitted to each group and predicts the answers of the other group. Under the null hypothesis of one common map,
the grouping of the answers is irrelevant. A permutation test assigns people (or answers, if people are not known) to
two groups of the same sizes at random, fits both maps, and counts how often these predict each other at least as badly
as the real ones, by the mean log loss. People who took part in both groups are their own controls: their two parts are
swapped at random.

For single objects, both maps are aligned with the map of all answers by a robust method, so that a few objects that
moved do not shift the others. The displacement of each object is compared with its displacements between random groups.
A random grouping that resembles the real one shows a part of the real difference, which is removed first. The p values
are adjusted for the number of objects by the method of Westfall and Young: each displacement, relative to its usual
size, is compared with the largest one of any object between random groups.

References
----------
P. Good, Permutation, Parametric, and Bootstrap Tests of Hypotheses, 3rd ed., Springer 2005.
D. Freedman and D. Lane, A nonstochastic interpretation of reported significance levels, JBES 1983.
P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley 1993.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.comparisons.parsing import ComparisonOptions
from closerthan.fit.progress import trials_bar
from closerthan.geometry import procrustes_rotation
from closerthan.messages import value_error
from closerthan.metrics import log_odds, procrustes, triplet_error
from closerthan.result import Result
from closerthan.saving import whole_csv
from closerthan.settings import ENDED, FitOptions, Settings, lists_options
from closerthan.uncertainty.refitter import Fitter, Refitter, plan_refits
from closerthan.wording import counted, first_few, html_table, p_number, p_value, percent

__all__ = ["MapDifference", "Moved", "compare_maps"]

SIGNIFICANT = 0.05
FALSELY_NAMED = "5 % to 12 %"  # measured by ``python -m benchmarks.contrast``; a test checks that the two agree
FEWEST_PERMUTATIONS = 19  # the smallest possible p value is then 0.05
ROUNDS = 15  # number of reweighting rounds in the robust alignment; set by judgement
MOST_NAMED = 8  # objects named in a sentence
MOST_ROWS = 20  # objects in the table of a notebook


class Moved(NamedTuple):
    """Displacement of an object between the two maps, in units of the spread of the map of all answers.

    Attributes
    ----------
    name
        Name of the object, or its number.
    distance, expected
        Displacement, and its mean over random groups.
    p_value
        p value of the displacement, adjusted for the number of objects.
    """

    name: str
    distance: float
    expected: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class MapDifference:
    """The result of :func:`compare_maps`.

    Attributes
    ----------
    maps
        The two maps, fitted to the answers of each group.
    aligned
        Both maps, aligned with the map of all answers by the objects that did not move.
    cross_error
        Mean error of each map on the answers of the other group.
    expected_error
        The same under the null hypothesis of one common map: the mean over random groups.
    distance, expected_distance
        Procrustes distance between the two maps, and its mean over random groups.
    p_value
        p value of the permutation test: the fraction of groupings whose maps predict each other's answers at least as
        badly as the real ones, by their mean log loss.
    objects
        Displacement of each object, the most significant first.
    by, n_units
        The unit of the permutation, "people" or "answers", and the number of units.
    n_permutations
        Number of random groupings that were fitted.
    n_left_out
        Number of objects that occur in one group only and cannot be compared.
    stopped_by
        "interrupted" (by Ctrl-C) or "time_limit" if the computation ended early, otherwise "".
    """

    maps: tuple[Result, Result]
    aligned: tuple[Array, Array]
    cross_error: float
    expected_error: float
    distance: float
    expected_distance: float
    p_value: float
    objects: tuple[Moved, ...]
    by: str
    n_units: int
    n_permutations: int
    n_left_out: int = 0
    stopped_by: str = ""

    @property
    def differ(self) -> bool:
        """True if the two maps differ more than maps of random groups do, at the 5 % level."""
        return self.p_value <= SIGNIFICANT

    @property
    def moved(self) -> tuple[Moved, ...]:
        """Objects that moved farther than expected between random groups; none unless the maps as a whole differ."""
        return tuple(one for one in self.objects if self.differ and one.p_value <= SIGNIFICANT)

    @property
    def sentences(self) -> list[str]:
        """The result in words."""
        groupings = f"{counted(self.n_permutations, 'random grouping')} of the {self.n_units:,} {self.by}"
        compared = (
            f"each map gets {percent(self.cross_error)} of the other group's answers wrong, and would get about "
            f"{percent(self.expected_error)} wrong if both groups shared one map ({p_value(self.p_value)}, {groupings})"
        )
        verdict = "the two maps differ" if self.differ else "these answers do not show that the two maps differ"
        lines = [f"{verdict}: {compared}"]
        if self.differ and self.moved:
            named = first_few([one.name for one in self.moved], MOST_NAMED)
            lines.append(
                f"{counted(len(self.moved), 'object')} moved farther than between random groups: {named} "
                f"(adjusted p at most {SIGNIFICANT}; in {FALSELY_NAMED} of simulated studies with a real difference, "
                "an object that did not move was named, too)"
            )
        elif self.differ:
            lines.append(
                "no single object moved significantly farther than between random groups: the difference may be spread "
                "over many objects"
            )
        if self.n_left_out:
            occur = "occurs" if self.n_left_out == 1 else "occur"
            lines.append(f"{counted(self.n_left_out, 'object')} {occur} in one group only and cannot be compared")
        if self.stopped_by:
            lines.append(
                f"{ENDED[self.stopped_by]} after {counted(self.n_permutations, 'random grouping')}: with more, the p "
                "value would be more precise"
            )
        return lines

    def _repr_html_(self) -> str:
        rows = [
            (one.name, f"{one.distance:.2f}", f"{one.expected:.2f}", p_number(one.p_value))
            for one in self.objects[:MOST_ROWS]
        ]
        titles = ("object", "displacement", "expected by chance", "adjusted p")
        return html_table(repr(self), titles, rows, len(self.objects))

    def __repr__(self) -> str:
        return (
            f"MapDifference({len(self.objects):,} objects, {p_value(self.p_value)} by "
            f"{counted(self.n_permutations, 'permutation')} of {self.n_units:,} {self.by})"
        )

    def to_csv(self, path: str | Path) -> None:
        """Write the displacement of each object as a CSV file."""
        rows = [(one.name, repr(one.distance), repr(one.expected), f"{one.p_value:.4g}") for one in self.objects]
        whole_csv(path, ("name", "distance", "expected", "p_value"), rows)

    @checked
    def plot(
        self,
        *,
        groups: tuple[str, str] = ("reference", "map, aligned"),
        title: str | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw the second map over the first; see :func:`closerthan.plotting.overlay_figure`."""
        from closerthan.plotting import overlay_figure

        one, two = self.aligned
        return overlay_figure(two, one, self.maps[0].names, aligned=True, groups=groups, title=title, ax=ax)


@checked
@lists_options(FitOptions)
def compare_maps(
    answers: Comparisons | ArrayLike,
    other: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    n_permutations: int = 199,
    settings: Settings | None = None,
    **options: Unpack[FitOptions],
) -> MapDifference:
    """Test whether two groups of answers about the same objects have different maps.

    Groups must be defined before the answers are seen, such as conditions or kinds of people. For groups found in the
    answers themselves, such as those of :func:`closerthan.group_people`, the test is not valid.

    Parameters
    ----------
    answers, other
        The answers of each group. Objects are matched by their names, or by their numbers if they have none.
    n_dims, settings
        As in :func:`closerthan.embed`.
    n_permutations
        Number of random groupings, for each of which two maps are fitted.
    options
        As in :func:`closerthan.embed`. ``by`` is the unit that is permuted: "people", the default where they are
        known in both groups, or "answers". Answers of one person are correlated, so a permutation of answers may
        mistake differences between people for a difference between the groups. With ``loss="auto"`` the loss is chosen
        once, on all answers. All fits share the time limit.

    Returns
    -------
    MapDifference
        Ctrl-C and a time limit end the test early and keep the completed permutations, if there are at least 19.

    Examples
    --------
    >>> import closerthan as ct, numpy as np
    >>> places = np.random.default_rng(0).standard_normal((12, 2))
    >>> moved = places.copy()
    >>> moved[:3] += 2.0
    >>> one, other = (ct.datasets.simulated(x, 800, noise="ste", seed=seed) for seed, x in enumerate((places, moved)))
    >>> difference = ct.compare_maps(one, other, loss="ste", n_permutations=19)
    >>> difference.differ, difference.p_value
    (True, 0.05)
    """
    whole("n_permutations", n_permutations, least=FEWEST_PERMUTATIONS)
    pooled, group, n_left_out = _pooled(Comparisons.of(answers), Comparisons.of(other))
    units = _Units.of(pooled, group, options.pop("by", AUTO if settings is None else settings.by) or AUTO)
    plan = plan_refits(pooled, n_dims, settings, None, {**options, "by": units.by})
    with trials_bar(bool(plan.progress), "comparing maps", n_permutations + 2, 0) as tick:
        common = plan.fit(pooled)
        refitter = Refitter.of(pooled, plan, common)
        tick()
        rng = np.random.default_rng(refitter.seed)
        shuffled = [units.shuffled(rng) for _ in range(n_permutations)]
        jobs = [
            functools.partial(_pair, pooled, labels, common.embedding, refitter.seed) for labels in (group, *shuffled)
        ]
        outcome = refitter.run(jobs, tick)
    pairs = [pair for pair in outcome.results if pair is not None]
    if outcome.results[0] is None or len(pairs) - 1 < FEWEST_PERMUTATIONS:
        raise outcome.error("random groupings")
    fitted_groupings = [labels for labels, pair in zip(shuffled, outcome.results[1:], strict=True) if pair is not None]
    correlation = np.array([_correlation(group, labels) for labels in fitted_groupings])
    objects, aligned = _moved(pairs, correlation, common.embedding, common.names)
    real, *random = pairs
    return MapDifference(
        real.maps,
        aligned,
        real.error,
        float(np.mean([pair.error for pair in random])),
        real.distance,
        float(np.mean([pair.distance for pair in random])),
        _p_value(np.array([pair.log_loss for pair in random]), real.log_loss),
        tuple(objects),
        units.by,
        units.number,
        len(random),
        n_left_out,
        outcome.stopped_by,
    )


class _Pair(NamedTuple):
    """The maps of two groups, with the mean log loss and error of each map on the other group's answers."""

    maps: tuple[Result, Result]
    log_loss: float
    error: float
    distance: float


def _pair(pooled: Comparisons, group: NDArray[np.int64], start: Array, seed: int, fit_map: Fitter) -> _Pair:
    parts = [pooled.take(np.flatnonzero(group == number)) for number in (0, 1)]
    # All fits start at the map of all answers; with random starts, the same answers could lead to different maps.
    one, other = (fit_map(part, np.random.default_rng(seed), start, starts=1) for part in parts)
    crossed = ((one, parts[1]), (other, parts[0]))
    log_losses = [
        float(np.logaddexp(0, -log_odds(part, result.embedding, result.loss)).mean()) for result, part in crossed
    ]
    errors = [triplet_error(part, result.embedding) for result, part in crossed]
    distance = procrustes(other.embedding, one.embedding).distance
    return _Pair((one, other), float(np.mean(log_losses)), float(np.mean(errors)), distance)


def _moved(
    pairs: list[_Pair], correlation: Array, reference: Array, names: tuple[str, ...] | None
) -> tuple[list[Moved], tuple[Array, Array]]:
    """Return the displacement of each object, the most significant first, and the two aligned maps.

    A random grouping whose correlation with the real one is r, from -1 to 1, shows the fraction r of the real
    difference, which is removed (as Freedman and Lane do in regression). The remainder, divided by the square
    root of 1 - r**2, is the displacement by chance. Objects that moved are identified one by one: maps are aligned by
    the objects that have not been identified yet, since one that moved far would shift all others.
    """
    n_objects = len(reference)
    labels = names or tuple(str(number) for number in range(n_objects))
    rest, least = np.ones(n_objects, dtype=bool), 0.0
    moved: list[Moved] = []
    remainder = np.maximum(1.0 - correlation**2, 1e-3)[:, np.newaxis, np.newaxis]
    while True:
        aligned = [
            tuple(_aligned_robustly(result.embedding, reference, rest) for result in pair.maps) for pair in pairs
        ]
        shifts = np.stack([(two - one) / _spread(reference) for one, two in aligned])
        chance = np.linalg.norm(
            (shifts[1:] - correlation[:, np.newaxis, np.newaxis] * shifts[0]) / np.sqrt(remainder), axis=2
        )
        far = np.linalg.norm(shifts[0], axis=1)
        # A displacement is divided by its root mean square over the random groupings other than its own.
        total = (chance**2).sum(axis=0)
        standing = far / np.sqrt(np.maximum(total / len(chance), 1e-300))
        by_chance = chance / np.sqrt(np.maximum((total - chance**2) / (len(chance) - 1), 1e-300))
        largest = by_chance[:, rest].max(axis=1)
        p_values = [max(_p_value(largest, one), least) for one in standing]
        order = [int(number) for number in np.argsort(-standing, kind="stable") if rest[number]]
        listed = [Moved(labels[one], float(far[one]), float(chance[:, one].mean()), p_values[one]) for one in order]
        if p_values[order[0]] > SIGNIFICANT or rest.sum() <= n_objects / 2:
            return [*moved, *listed], (aligned[0][0], aligned[0][1])
        moved.append(listed[0])
        rest[order[0]], least = False, p_values[order[0]]


def _aligned_robustly(x: Array, target: Array, rest: NDArray[np.bool_]) -> Array:
    """Return a map aligned with a target by some of the objects.

    Translation, rotation, reflection and scale minimise the sum of these objects' distances, not of their squares, so
    that objects that moved far shift the others less. The method is iteratively reweighted least squares.
    """
    weights, aligned = rest.astype(np.float64), x
    spread = _spread(target)
    for _ in range(ROUNDS):
        weight = weights / weights.sum()
        centre = weight @ target
        centred, goal = x - weight @ x, target - centre
        rotation, trace = procrustes_rotation((weight[:, np.newaxis] * centred).T @ goal)
        size = float(weight @ (centred**2).sum(axis=1))
        scale = float(trace) / size if size > 0 else 1.0
        aligned = scale * centred @ rotation + centre
        weights = rest / np.maximum(np.linalg.norm(aligned - target, axis=1) / spread, 1e-3)
    return aligned


def _spread(x: Array) -> float:
    return float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())) or 1.0


def _correlation(group: NDArray[np.int64], random: NDArray[np.int64]) -> float:
    """Return the correlation of a random grouping with the real one: 1 if equal, -1 if swapped, 0 on average."""
    return float(group[random == 1].mean() - group[random == 0].mean())


def _p_value(random: Array, real: float) -> float:
    """Return the p value of a permutation test, in which the real grouping counts as one of the permutations."""
    return float((1 + np.count_nonzero(random >= real)) / (1 + len(random)))


class _Units(NamedTuple):
    """Units of the permutation, people or answers.

    Attributes
    ----------
    by
        "people" or "answers".
    unit, group
        Unit and group of each row.
    paired
        True for each unit that is in both groups.
    """

    by: str
    unit: NDArray[np.int64]
    group: NDArray[np.int64]
    paired: NDArray[np.bool_]

    @property
    def number(self) -> int:
        """Number of units."""
        return len(self.paired)

    @classmethod
    def of(cls, pooled: Comparisons, group: NDArray[np.int64], by: str) -> "_Units":
        if by not in (AUTO, "people", "answers"):
            raise ParameterError("by", by, 'it can be "people" or "answers"')
        if by == "people" and pooled.people is None:
            raise ParameterError("by", by, "people are not known in both groups", "pass {by}", by="answers")
        if by == AUTO:
            by = "answers" if pooled.people is None else "people"
        label = pooled.people if by == "people" else pooled.answers
        unit = np.arange(len(pooled)) if label is None else np.unique(label, return_inverse=True)[1].reshape(-1)
        in_group = [np.bincount(unit[group == number], minlength=int(unit.max()) + 1) > 0 for number in (0, 1)]
        units = cls(by, unit.astype(np.int64), group, in_group[0] & in_group[1])
        alone = [int((one & ~units.paired).sum()) for one in in_group]
        n_ways = 2 ** min(int(units.paired.sum()), 64) * math.comb(sum(alone), alone[0])
        if n_ways < 1 + FEWEST_PERMUTATIONS:
            problem = f"{units.number} {by} can be divided into two groups in {n_ways:,} ways, too few for a test"
            way_out = "pass {by} to permute answers, if people can be assumed to be alike"
            raise value_error(problem, way_out, by="answers") if by == "people" else ValueError(problem)
        return units

    def shuffled(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return random groups of the rows: parts of paired units are swapped at random, other units are permuted."""
        swap = self.paired & (rng.random(self.number) < 0.5)
        where = np.zeros(self.number, dtype=np.int64)
        where[self.unit] = self.group
        alone = np.flatnonzero(~self.paired)
        where[alone] = rng.permutation(where[alone])
        return np.where(self.paired[self.unit], self.group ^ swap[self.unit], where[self.unit])


def _pooled(one: Comparisons, other: Comparisons) -> tuple[Comparisons, NDArray[np.int64], int]:
    """Return all answers about shared objects, the group of each row, and the number of objects in one group only."""
    if one.rows.shape[1] != other.rows.shape[1]:
        raise ValueError("one group has triplets and the other quadruplets; pass the same kind for both")
    if (one.names is None) != (other.names is None):
        raise ValueError(
            "the objects of one group have names, those of the other only numbers; name the objects of both groups"
        )
    if one.names is None and one.n_objects != other.n_objects:
        raise ValueError(f"the groups have {one.n_objects} and {other.n_objects} objects; these must be the same")
    labels: list[NDArray[Any]] = [
        np.arange(side.n_objects) if side.names is None else np.array(side.names) for side in (one, other)
    ]
    first, second = (label[np.unique(side.rows)] for label, side in zip(labels, (one, other), strict=True))
    shared = np.intersect1d(first, second)
    if len(shared) < 3:
        raise ValueError(f"the groups have {len(shared)} objects in common; at least three are needed")
    about = [label[side.rows] for label, side in zip(labels, (one, other), strict=True)]
    selected = [np.flatnonzero(np.isin(rows, shared).all(axis=1)) for rows in about]
    sides = [side.take(rows) for side, rows in zip((one, other), selected, strict=True)]
    rows = np.searchsorted(shared, np.concatenate([part[keep] for part, keep in zip(about, selected, strict=True)]))
    group = np.repeat([0, 1], [len(side) for side in sides])
    objects: Mapping[str, Any] = {"n_objects": len(shared)} if one.names is None else {"names": shared.tolist()}
    pooled = Comparisons.of(rows, **objects, **_beside(sides))
    return pooled, group, len(np.union1d(first, second)) - len(shared)


def _beside(sides: list[Comparisons]) -> ComparisonOptions:
    """Return the options of the pooled comparisons: answers, people and weights of the rows of both groups."""
    # Answers of the two groups are different, but people may be in both groups.
    answers = [np.arange(len(side)) if side.answers is None else np.asarray(side.answers) for side in sides]
    numbers = np.concatenate([answers[0], answers[1] + 1 + int(answers[0].max(initial=0))])
    columns: ComparisonOptions = {"answers": numbers, "unmentioned": "ignore"}
    people = [
        None if side.people is None or side.person_names is None else np.array(side.person_names)[side.people]
        for side in sides
    ]
    if all(part is not None for part in people):
        columns["people"] = np.concatenate([part for part in people if part is not None])
    if any(side.weights is not None for side in sides):
        weights = [np.ones(len(side)) if side.weights is None else side.weights for side in sides]
        columns["weights"] = np.concatenate(weights)
    return columns
