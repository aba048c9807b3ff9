"""Findings: what replicates say, in one place for the command line, the report and a methods section."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from closerthan.evaluate.facts import Fact
from closerthan.uncertainty.ellipses import Ellipses
from closerthan.uncertainty.replicates import Replicates
from closerthan.wording import counted, percent

__all__ = ["Findings", "Neighbour"]

NEAR = 3  # neighbours that the graph shows
LEAST = 0.05  # probability of a neighbour that is listed
MOST_LISTED = 2_000  # objects whose neighbours are listed
MOST_NAMED = 5


class Neighbour(NamedTuple):
    """How sure it is that one object is near another."""

    object: int
    neighbour: int
    nearest: float  # probability that it is the nearest
    near: float  # probability that it is among the nearest few


@dataclass(frozen=True)
class Findings:
    """What replicates say about a map, computed when asked for.

    Examples
    --------
    >>> import closerthan as ct
    >>> found = Findings(ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=20, loss="soe", seed=0))
    >>> found.neighbours()[0].nearest > 0.5, sorted(found.figures())
    (True, ['calibration.png', 'ellipses.png', 'neighbours.png'])
    """

    replicates: Replicates

    @property
    def names(self) -> tuple[str, ...]:
        """The objects' names, or their numbers."""
        result = self.replicates.result
        return result.names or tuple(str(number) for number in range(len(result.embedding)))

    @property
    def k(self) -> int:
        """How many neighbours count as near."""
        return min(NEAR, len(self.names) - 1)

    def ellipses(self, level: float = 0.95) -> Ellipses:
        """Where each object's true place may be."""
        return self.replicates.ellipses(level)

    def neighbours(self) -> list[Neighbour]:
        """Pairs of which one is near the other with a probability of at least 5 %, the surest of each object first.

        Of more than 2,000 objects none are listed.
        """
        n_objects = len(self.names)
        if n_objects > MOST_LISTED:
            return []
        nearest, near = (self.replicates.neighbour_probability(k) for k in (1, self.k))
        found = []
        for number in range(n_objects):
            others = [other for other in range(n_objects) if near[number, other] >= LEAST]
            others.sort(key=lambda other: (-nearest[number, other], -near[number, other]))
            found += [Neighbour(number, o, float(nearest[number, o]), float(near[number, o])) for o in others]
        return found

    def facts(self) -> list[Fact]:
        """What a reader wants to know, in words."""
        replicates = self.replicates
        other = "other people" if replicates.by == "people" else "other answers"
        lines = [
            Fact(
                "Replicates",
                counted(len(replicates), "map"),
                f"each fitted to {replicates.n_units:,} {replicates.by} with random weights: "
                f"what {other} might have shown" + ("; interrupted" if replicates.interrupted else ""),
            ),
            Fact(
                "Decided",
                f"{percent(replicates.share_decided, digits=0)} of all triplets",
                "95 % of the replicates agree on them; rely on these alone",
            ),
        ]
        unsettled = replicates.unsettled
        if len(unsettled):
            named = ", ".join(self.names[number] for number in unsettled[:MOST_NAMED])
            more = f" and {len(unsettled) - MOST_NAMED:,} more" if len(unsettled) > MOST_NAMED else ""
            note = "less than half of the triplets about them are decided: ask more about them"
            lines.append(Fact("Not settled", f"{named}{more}", note))
        else:
            lines.append(Fact("Not settled", "none", "of each object at least half of the triplets are decided"))
        return lines

    def figures(self) -> dict[str, Any]:
        """The pictures, by the name of their file."""
        from closerthan.plotting import calibration_figure, ellipses_figure, neighbours_figure

        replicates = self.replicates
        x, names = replicates.result.embedding, self.names
        flat = min(x.shape[1], 2)
        half, most = self.ellipses(0.5), self.ellipses(0.95)
        made = {
            "ellipses.png": ellipses_figure(
                x,
                most.moments,
                {"50 %": half.radius(flat), "95 %": most.radius(flat)},
                names,
                unsettled=replicates.unsettled,
                title="Where objects may lie: ellipses that overlap are not told apart",
            )
        }
        if len(names) <= MOST_LISTED:
            made["neighbours.png"] = neighbours_figure(
                x,
                replicates.neighbour_probability(self.k),
                names,
                k=self.k,
                title="Which neighbours are sure: trust the strong lines",
            )
        if replicates.calibration is not None:
            title = "Are probabilities right? Dots on the line: yes"
            made["calibration.png"] = calibration_figure(replicates.calibration.tenths, title=title)
        return made
