"""What can be believed: findings as the page shows them, each with a sentence that says what to do."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.calibration import reliability
from closerthan.metrics import error_interval
from closerthan.people.groups import PeopleGroups
from closerthan.people.person import Person
from closerthan.people.quality import PeopleAssessment
from closerthan.plotting.maps.ellipses import are_readable
from closerthan.report.findings import ELLIPSES_HELD, Findings, Neighbour, trust_in_decided
from closerthan.report.packing import packed, rounded
from closerthan.uncertainty.learning_curve import LearningCurve
from closerthan.uncertainty.replicates import Replicates
from closerthan.wording import percent, percent_if_known

__all__ = ["believe"]

MOST_NUMBERS = 500_000  # of ellipses in a page: axes beyond that have none
MOST_AXES = 8  # that have ellipses
MOST_NEIGHBOURS = 6  # of an object, the surest
MOST_PEOPLE = 2_000  # in the table
POINTS = 40  # of the fitted curve


def believe(findings: Findings, rotation: NDArray[np.float64]) -> dict[str, Any] | None:
    """Findings as plain lists and texts; None if nothing was found out. ``rotation`` is how the map is shown."""
    parts = {
        "replicates": findings.replicates and _replicates(findings, findings.replicates, rotation),
        "people": findings.people and _people(findings.people),
        "groups": findings.groups and _groups(findings.groups),
        "curve": findings.curve and _curve(findings.curve),
    }
    return parts if any(parts.values()) else None


def _replicates(findings: Findings, replicates: Replicates, rotation: NDArray[np.float64]) -> dict[str, Any]:
    n_objects, n_dims = replicates.result.embedding.shape
    ellipses = findings.ellipses(0.95)
    most = next((p for p in range(min(n_dims, MOST_AXES), 0, -1) if n_objects * p * (p + 1) // 2 <= MOST_NUMBERS), 0)
    shown = rotation[:, :most]
    moments = np.einsum("da,ode,eb->oab", shown, ellipses.moments, shown)
    shown_map = replicates.result.embedding @ shown
    sides = np.tril_indices(most)
    pairs = _surest(findings.neighbours)
    share = percent(replicates.share_decided, digits=0)
    calibration = replicates.calibration
    trust = trust_in_decided(replicates.result)
    return {
        "number": len(replicates),
        "near": findings.k,
        "ellipses": {
            "axes": most,
            "moments": packed(moments[:, sides[0], sides[1]].ravel()),
            "radii": [ellipses.radius(dims) for dims in (1, 2)],
            "areShown": most > 0 and are_readable(shown_map[:, :2], moments[:, :2, :2], ellipses.radius(min(most, 2))),
            "held": ELLIPSES_HELD,
        },
        "trust": f"{trust[0].upper()}{trust[1:]}.",
        "decided": packed(replicates.decided_by_object),
        "shareDecided": share,
        "unsettled": replicates.unsettled.tolist(),
        "pairs": {
            "from": packed(np.array([pair.object for pair in pairs], dtype=np.int64)),
            "to": packed(np.array([pair.neighbour for pair in pairs], dtype=np.int64)),
            "nearest": packed(np.array([pair.nearest for pair in pairs])),
            "near": packed(np.array([pair.near for pair in pairs])),
        },
        "calibration": [
            {"said": tenth.said, "right": tenth.right, "number": tenth.number}
            | error_interval(tenth.right, tenth.effective_number)._asdict()
            for tenth in (() if calibration is None else calibration.tenths)
        ],
        "reliability": "" if calibration is None else reliability(calibration.tenths),
    }


def _surest(pairs: Sequence[Neighbour]) -> list[Neighbour]:
    """A few of each object."""
    kept: list[Neighbour] = []
    counts: dict[int, int] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.object, -pair.near, -pair.nearest)):
        counts[pair.object] = counts.get(pair.object, 0) + 1
        if counts[pair.object] <= MOST_NEIGHBOURS:
            kept.append(pair)
    return kept


def _people(people: PeopleAssessment) -> dict[str, Any]:
    def row(person: Person) -> dict[str, str]:
        return {
            "Person": person.name,
            "Verdict": person.verdict,
            "Answers": f"{person.answers:,}",
            "Lapses": person.lapses,
            "Error": percent_if_known(person.others_error, 0),
            "Same again": percent_if_known(person.consistency, 0),
            "Agree": percent_if_known(person.agreement, 0),
            "Checks": f"{person.checks_passed} of {person.checks}" if person.checks else "",
            "Left": percent_if_known(person.left, 0),
            "Median time": "" if math.isnan(person.median_seconds) else f"{person.median_seconds:.1f} s",
            "In a hurry": percent_if_known(person.hurried, 0),
            "Why": person.reasons,
        }

    rows = [row(person) for person in people.people[:MOST_PEOPLE]]
    known = [title for title in rows[0] if any(cells[title] for cells in rows)]
    return {
        "titles": known,
        "rows": [[cells[title] for title in known] for cells in rows],
        "doubtful": sum(person.verdict not in ("fine", "few", "unclear") for person in people.people),
        "total": len(people.people),
        "sentences": people.sentences,
    }


def _groups(groups: PeopleGroups) -> dict[str, Any]:
    return {
        "sentence": groups.sentence,
        "number": groups.n_groups,
        "names": list(groups.matrix_people),
        "total": len(groups.group),
        "groups": [groups.group[name] for name in groups.matrix_people],
        "matrix": packed(groups.matrix.ravel()),
        "errors": [rounded(row) for row in groups.group_matrix],
    }


def _curve(curve: LearningCurve) -> dict[str, Any]:
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
            if ceiling.is_known  # otherwise the band would fill the chart
        ],
        "sentences": curve.sentences(),
    }
