"""The content of a report: everything that the page shows, as plain lists and strings."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons
from closerthan.evaluate.diagnostics import mentions
from closerthan.geometry import matrix_of, principal_axes
from closerthan.history import Record
from closerthan.metrics import margins, object_errors
from closerthan.plotting.canvas import names_of
from closerthan.plotting.labels.labels import LONGEST
from closerthan.plotting.labels.short_names import short_names
from closerthan.plotting.maps.thumbnails import thumbnail, thumbnail_sources
from closerthan.plotting.palette import COLOURS, GREY, palette_of
from closerthan.registry import JsonObject
from closerthan.report.believe import findings_content
from closerthan.report.groups import group_names, groups_content
from closerthan.report.packing import image_url, packed, rounded
from closerthan.report.parts import ReportParts
from closerthan.report.repeat import command_line, python_code, reproducibility_warning
from closerthan.report.violations import Violation, most_violated
from closerthan.result import Candidate, Result
from closerthan.wording import first_few

__all__ = ["content", "embeddable"]


def content(result: Result, comparisons: Comparisons, parts: ReportParts) -> JsonObject:
    """Return everything that the page shows, except the table at the top and the methods paragraph."""
    settings = result.settings
    x = matrix_of("embedding", result.embedding)
    names = result.names or comparisons.names
    all_names = names_of(names, len(x))
    short = short_names(names or (), LONGEST)
    axes, axis_titles, rotation = _axes(x)
    findings, groups = parts.findings, parts.groups
    n_replicates = 0 if findings is None else findings.n_replicates
    command, python, caution = parts.command, parts.python, None
    if settings is not None:
        command = command_line(settings, n_replicates=n_replicates) if command is None else command
        replicates = None if findings is None else findings.replicates
        python = python_code(settings, replicates=replicates) if python is None else python
        caution = reproducibility_warning(settings, result.stopped_by)
    return {
        "title": parts.title,
        "names": names and list(names),
        "shortNames": short.names if names and short.names != list(names) else None,
        "leftOut": short.left_out,
        "axes": [packed(axis) for axis in axes.T],
        "axisNames": axis_titles,
        "errors": packed(object_errors(comparisons, x)),
        "counts": packed(mentions(comparisons, len(x))),
        "columns": [
            *_columns(None if groups is None else {"group": group_names(groups, x, all_names)}, len(x)),
            *_columns(parts.labels, len(x)),
        ],
        "pictures": _pictures(parts.thumbnails, all_names),
        "violations": [_violation(violation) for violation in most_violated(comparisons, x)],
        "violated": int(np.count_nonzero(~(margins(comparisons, x) > 0))),
        "history": {name: rounded(getattr(result.history, name)) for name in Record._fields},
        "best": result.best_epoch,
        "race": list(map(_candidate, result.candidates, result.comparable_errors)),
        "python": python,
        "command": command,
        "caution": caution,
        "groups": None if groups is None else groups_content(groups, x),
        "believe": None if findings is None else findings_content(findings, rotation),
        "colours": list(COLOURS),
        "grey": GREY,
    }


def _violation(violation: Violation) -> JsonObject:
    lines = [f"{line:,}" for line in violation.lines]
    return violation._asdict() | {"people": first_few(violation.people, 3), "lines": first_few(lines, 3)}


def _candidate(candidate: Candidate, comparable_error: float) -> JsonObject:
    """Return a candidate as JSON; numbers that were not measured, as in older files, are null."""
    values = candidate._asdict() | {"held_out_error": comparable_error}
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in values.items()
    }


def embeddable(value: Any) -> str:
    """Return JSON that is safe inside a script element: no string, however hostile, can end the element or the line.

    Examples
    --------
    >>> print(embeddable({"name": "</script>"}))
    {"name":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _axes(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str], NDArray[np.float64]]:
    """Return the coordinates that are shown, the titles of their axes, and the rotation of the map."""
    if x.shape[1] == 1:
        return x, ["position"], np.eye(1)
    if x.shape[1] == 2:
        return x, ["first coordinate", "second coordinate"], np.eye(2)
    principal = principal_axes(x)
    return principal.coordinates, [principal.title(axis) for axis in range(x.shape[1])], principal.rotation


def _columns(labels: Any, n_objects: int) -> list[JsonObject]:
    if labels is None:
        return []
    columns: list[JsonObject] = []
    for name, column in _by_name(labels).items():
        try:
            palette = palette_of(column, n_objects)
        except ValueError as error:
            raise ValueError(f"label column {name!r}: {error}") from None
        categories = None if palette.categories is None else list(palette.categories)
        columns.append({"name": str(name), "values": packed(palette.values), "categories": categories})
    return columns


def _by_name(labels: Any) -> Mapping[str, Any]:
    """Return label columns by name, from a mapping, a DataFrame or a single column."""
    if isinstance(labels, Mapping):
        return labels
    if hasattr(labels, "items") and getattr(labels, "ndim", None) == 2:
        return dict(labels.items())
    return {getattr(labels, "name", None) or "label": labels}


def _pictures(thumbnails: Any, names: Sequence[str]) -> dict[str, str]:
    if thumbnails is None:
        return {}
    sources = thumbnail_sources(thumbnails, names)
    pixels = 96 if len(sources) <= 500 else 64 if len(sources) <= 2000 else 48
    return {str(number): image_url(thumbnail(source, pixels)) for number, source in sources.items()}
