"""Parts of a report besides the map and the answers that it was fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import Fact
from closerthan.objects.clusters import Clustering
from closerthan.report.findings import Findings
from closerthan.uncertainty.replicates import Replicates

__all__ = ["ReportOptions", "ReportParts"]


class ReportOptions(TypedDict, total=False):
    """Keyword arguments of :func:`closerthan.write_report`."""

    test: Comparisons | ArrayLike | None
    labels: Any
    thumbnails: Any
    title: str | None
    command: str | None
    python: str | None
    facts: Sequence[Fact] | None
    findings: Findings | Replicates | None
    groups: Clustering | None


@dataclass(frozen=True)
class ReportParts:
    """Parts of a report besides the map; :func:`closerthan.write_report` explains each field."""

    test: Comparisons | None = None
    labels: Any = None
    thumbnails: Any = None
    title: str = ""
    command: str | None = None
    python: str | None = None
    facts: Sequence[Fact] | None = None
    findings: Findings | None = None
    groups: Clustering | None = None

    @classmethod
    def of(cls, options: ReportOptions, n_objects: int) -> "ReportParts":
        """Return the parts that the keyword arguments of :func:`closerthan.write_report` describe."""
        test, findings = options.get("test"), options.get("findings")
        if test is not None and not isinstance(test, Comparisons):
            test = Comparisons.of(test, n_objects=n_objects)
        parts: dict[str, Any] = {
            **options,
            "test": test,
            "title": options.get("title") or f"A map of {n_objects:,} objects",
            "findings": Findings(findings) if isinstance(findings, Replicates) else findings,
        }
        return cls(**parts)
