"""Content of the section "What can be believed": findings, each with a sentence that says what to do."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.calibration import reliability
from closerthan.metrics import error_interval
from closerthan.people.effects import AnswerEffects
from closerthan.people.groups import PeopleGroups
from closerthan.people.maps import PeopleMaps
from closerthan.people.person import Person
from closerthan.people.quality import PeopleAssessment
from closerthan.plotting.maps.ellipses import are_readable
from closerthan.registry import JsonObject
from closerthan.report.findings import ELLIPSES_HELD, Findings, Neighbour
from closerthan.report.packing import packed, rounded
from closerthan.uncertainty.learning_curve import LearningCurve
from closerthan.uncertainty.replicates import Replicates
from closerthan.wording import percent, percent_if_known

__all__ = ["findings_content"]

MOST_NUMBERS = 500_000  # maximum number of coefficients of ellipses; it limits the principal axes that have ellipses
MOST_AXES = 8  # principal axes with ellipses
MOST_NEIGHBOURS = 6  # neighbours per object, the most probable first
MOST_PEOPLE = 2_000  # rows of the table of people
POINTS = 40  # points on the fitted curve


def findings_content(findings: Findings, rotation: NDArray[np.float64]) -> JsonObject | None:
    """Return findings as plain lists and strings, or None if there are none.

    ``rotation`` is the rotation that was applied to the map.
    """
    parts = {
        "replicates": None if findings.replicates is None else _replicates(findings, findings.replicates, rotation),
        "people": None if findings.people is None else _people(findings.people),
        "groups": None if findings.groups is None else _groups(findings.groups),
        "individuals": None if findings.individuals is None else _individuals(findings.individuals),
        "effects": None if findings.effects is None else _effects(findings.effects),
        "curve": None if findings.curve is None else _curve(findings.curve),
    }
    return parts if any(parts.values()) else None


def _replicates(findings: Findings, replicates: Replicates, rotation: NDArray[np.float64]) -> JsonObject:
    n_objects, n_dims = replicates.result.embedding.shape
    ellipses = findings.ellipses(0.95)
    counts = range(min(n_dims, MOST_AXES), 0, -1)
    n_axes = next((count for count in counts if n_objects * count * (count + 1) // 2 <= MOST_NUMBERS), 0)
    axes = rotation[:, :n_axes]
    moments = np.einsum("da,ode,eb->oab", axes, ellipses.moments, axes)
    rotated_map = replicates.result.embedding @ axes
    lower = np.tril_indices(n_axes)
    pairs = _most_probable(findings.neighbours)
    calibration = replicates.calibration
    return {
        "number": len(replicates),
        "near": findings.k,
        "ellipses": {
            "axes": n_axes,
            "moments": packed(moments[:, lower[0], lower[1]].ravel()),
            "radii": [ellipses.radius(dims) for dims in (1, 2)],
            "areShown": n_axes > 0
            and are_readable(rotated_map[:, :2], moments[:, :2, :2], ellipses.radius(min(n_axes, 2))),
            "held": ELLIPSES_HELD,
        },
        "trust": f"{_capitalized(findings.trust_in_decided)}.",
        "decided": packed(replicates.decided_by_object),
        "shareDecided": percent(replicates.share_decided, digits=0),
        "unsettled": replicates.unsettled.tolist(),
        "pairs": {
            "from": packed(np.array([pair.object for pair in pairs], dtype=np.int64)),
            "to": packed(np.array([pair.neighbour for pair in pairs], dtype=np.int64)),
            "nearest": packed(np.array([pair.nearest for pair in pairs])),
            "near": packed(np.array([pair.near for pair in pairs])),
        },
        "calibration": [
            {"predicted": tenth.predicted, "right": tenth.right, "number": tenth.number}
            | error_interval(tenth.right, tenth.effective_number)._asdict()
            for tenth in (() if calibration is None else calibration.tenths)
        ],
        "reliability": "" if calibration is None else reliability(calibration.tenths),
    }


def _most_probable(pairs: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the most probable neighbours of each object."""
    ranked = sorted(pairs, key=lambda pair: (pair.object, -pair.near, -pair.nearest))
    by_object = itertools.groupby(ranked, key=lambda pair: pair.object)
    return [pair for _, neighbours in by_object for pair in itertools.islice(neighbours, MOST_NEIGHBOURS)]


def _people(people: PeopleAssessment) -> JsonObject:
    def row(person: Person) -> dict[str, str]:
        return {
            "Person": person.name,
            "Verdict": person.verdict,
            "Answers": f"{person.answers:,}",
            "Lapses": person.lapses,
            "Error": percent_if_known(person.others_error, 0),
            "Consistency": percent_if_known(person.consistency, 0),
            "Agreement": percent_if_known(person.agreement, 0),
            "Checks": f"{person.checks_passed} of {person.checks}" if person.checks else "",
            "Left side": percent_if_known(person.left, 0),
            "Median time": "" if math.isnan(person.median_seconds) else f"{person.median_seconds:.1f} s",
            "In a hurry": percent_if_known(person.fast_sets, 0),
            "Why": person.reasons,
        }

    rows = [row(person) for person in people.people[:MOST_PEOPLE]]
    titles = [title for title in rows[0] if any(cells[title] for cells in rows)]
    return {
        "titles": titles,
        "rows": [[cells[title] for title in titles] for cells in rows],
        "doubtful": sum(person.verdict not in ("fine", "few", "unclear") for person in people.people),
        "total": len(people.people),
        "sentences": [_capitalized(sentence) for sentence in people.sentences],
    }


def _groups(groups: PeopleGroups) -> JsonObject:
    return {
        "sentence": _capitalized(groups.sentence),
        "number": groups.n_groups,
        "names": list(groups.matrix_people),
        "total": len(groups.group),
        "groups": [groups.group[name] for name in groups.matrix_people],
        "matrix": packed(groups.matrix.ravel()),
        "errors": [rounded(row) for row in groups.group_matrix],
    }


def _individuals(maps: PeopleMaps) -> JsonObject:
    return {
        "verdict": _capitalized(f"{maps.verdict}."),
        "sentences": [_capitalized(sentence) for sentence in maps.sentences],
        "models": {
            "titles": ["Model", "Held-out answers right", "Bits per answer"],
            "rows": [] if maps.evidence is None else [list(row) for row in maps.evidence.rows()],
        },
        "dimensions": {
            "titles": ["Dimension", "Variance", "Reliability", "One end", "Other end"],
            "rows": [list(row) for row in maps.dimension_rows()],
        },
        "people": {
            "titles": [_capitalized(title) for title in maps.titles],
            "rows": [list(row) for row in maps.rows()[:MOST_PEOPLE]],
        },
    }


def _effects(effects: AnswerEffects) -> JsonObject:
    return {
        "verdict": _capitalized(f"{effects.verdict}."),
        "sentences": [_capitalized(sentence) for sentence in effects.sentences],
        "models": {
            "titles": ["Model", "Held-out answers right", "Bits per answer"],
            "rows": [list(row) for row in effects.evidence.rows()],
        },
        "people": {
            "titles": [_capitalized(title) for title in effects.titles],
            "rows": [list(row) for row in effects.rows()[:MOST_PEOPLE]] if effects.terms else [],
        },
        "meanings": [f"{_capitalized(effect.name)}: {effect.meaning}." for effect in effects.effects],
    }


def _curve(curve: LearningCurve) -> JsonObject:
    low, high = curve.intervals
    reach = np.linspace(float(curve.numbers[0]), curve.twice.number, POINTS)
    return {
        "by": curve.by,
        "numbers": rounded(curve.numbers),
        "errors": rounded(curve.errors),
        "low": rounded(low),
        "high": rounded(high),
        "reach": rounded(reach),
        "fitted": rounded(curve.law.at(reach)),
        "twice": rounded(np.array(curve.twice)),
        "least": [
            [ceiling.noise, ceiling.least_error, *ceiling.least_error_interval]
            for ceiling in curve.ceilings
            if ceiling.is_known  # the band of an unknown ceiling would fill the chart
        ],
        "sentences": [_capitalized(sentence) for sentence in curve.sentences()],
    }


def _capitalized(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"
