"""The content of a report: everything that the page shows, as plain lists and texts."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons
from closerthan.evaluate.diagnostics import mentions
from closerthan.evaluate.facts import facts
from closerthan.geometry import matrix_of, principal_axes
from closerthan.history import Record
from closerthan.metrics import margins, object_errors
from closerthan.objects.clusters import Clustering
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.maps.thumbnails import thumbnail, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY, palette_of
from closerthan.report.believe import believe
from closerthan.report.findings import Findings
from closerthan.report.groups import group_names, groups_content
from closerthan.report.packing import packed, rounded
from closerthan.report.repeat import command_line, python_code, repeatable
from closerthan.report.violations import Violation, most_violated
from closerthan.result import Candidate, Result

__all__ = ["content", "embeddable"]

_LONGEST_NAME = 28  # letters beside a point


def content(
    result: Result,
    comparisons: Comparisons,
    *,
    test: Comparisons | None,
    labels: Any,
    thumbnails: Any,
    title: str,
    findings: Findings | None = None,
    groups: Clustering | None = None,
) -> dict[str, Any]:
    """All that the page shows."""
    settings = result.settings
    x = matrix_of("embedding", result.embedding)
    names = result.names or comparisons.names
    short = short_names(names or (), _LONGEST_NAME)
    axes, axis_names, rotation = _axes(x)
    n_replicates = 0 if findings is None else findings.n_replicates
    wrong = int(np.count_nonzero(_is_wrong(comparisons, x)))
    return {
        "title": title,
        "names": names and list(names),
        "shortNames": short.names if names and short.names != list(names) else None,
        "leftOut": short.left_out,
        "axes": [packed(axis) for axis in axes.T],
        "axisNames": axis_names,
        "facts": [fact._asdict() for fact in facts(result, comparisons, test)],
        "errors": packed(object_errors(comparisons, x)),
        "counts": packed(mentions(comparisons, len(x))),
        "columns": [
            *_columns(None if groups is None else {"group": group_names(groups, x, names)}, len(x)),
            *_columns(labels, len(x)),
        ],
        "pictures": _pictures(thumbnails, names or tuple(str(number) for number in range(len(x)))),
        "violations": [_violation(violation) for violation in most_violated(comparisons, x)],
        "violated": wrong,
        "history": {name: rounded(getattr(result.history, name)) for name in Record._fields},
        "best": result.best_epoch,
        "race": [_candidate(candidate) for candidate in result.candidates],
        "python": None if settings is None else python_code(settings, n_replicates=n_replicates),
        "command": None if settings is None else command_line(settings, n_replicates=n_replicates),
        "caution": None if settings is None else repeatable(settings, result.stopped_by),
        "groups": groups and groups_content(groups, x),
        "believe": None if findings is None else believe(findings, rotation),
        "colours": list(COLOURS),
        "grey": GREY,
    }


def _violation(violation: Violation) -> dict[str, Any]:
    shown = violation._asdict()
    return shown | {"people": _some(violation.people), "lines": _some([f"{line:,}" for line in violation.lines])}


def _some(texts: Sequence[str], most: int = 3) -> str:
    """The first few, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def _candidate(candidate: Candidate) -> dict[str, Any]:
    """A candidate as JSON can say it: numbers that were not measured, as in older files, are null."""
    values = candidate._asdict()
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in values.items()
    }


def embeddable(value: Any) -> str:
    """JSON that can stand inside a script element: no name, whatever it is, can end the element or the line.

    Examples
    --------
    >>> print(embeddable({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _axes(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str], NDArray[np.float64]]:
    """Coordinates as they are shown, what they are called, and how the map was turned."""
    if x.shape[1] == 1:
        return x, ["position"], np.eye(1)
    if x.shape[1] == 2:
        return x, ["first coordinate", "second coordinate"], np.eye(2)
    principal = principal_axes(x)
    return principal.coordinates, [principal.title(axis) for axis in range(x.shape[1])], principal.rotation


def _is_wrong(comparisons: Comparisons, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~(margins(comparisons, x) > 0)


def _columns(labels: Any, n_objects: int) -> list[dict[str, Any]]:
    if labels is None:
        return []
    named = _named(labels)
    columns = []
    for name, column in named.items():
        try:
            colours = palette_of(column, n_objects)
        except ValueError as error:
            raise ValueError(f"label column {name!r}: {error}") from None
        shown = None if colours.categories is None else list(colours.categories)
        columns.append({"name": str(name), "values": packed(colours.values), "categories": shown})
    return columns


def _named(labels: Any) -> Mapping[str, Any]:
    """Label columns by name, from a mapping, a DataFrame or one plain column."""
    if isinstance(labels, Mapping):
        return labels
    if hasattr(labels, "items") and getattr(labels, "ndim", None) == 2:
        return dict(labels.items())
    return {getattr(labels, "name", None) or "label": labels}


def _pictures(thumbnails: Any, names: tuple[str, ...]) -> dict[str, str]:
    if thumbnails is None:
        return {}
    sources = thumbnail_sources(thumbnails, names)
    pixels = 96 if len(sources) <= 500 else 64 if len(sources) <= 2000 else 48
    return {str(number): _data_address(thumbnail(source, pixels)) for number, source in sources.items()}


def _data_address(image: Any) -> str:
    kind = "png" if image.mode == "RGBA" else "jpeg"
    file = io.BytesIO()
    image.convert("RGBA" if kind == "png" else "RGB").save(file, kind, quality=82)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
