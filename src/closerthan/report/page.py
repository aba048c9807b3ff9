"""write_report(): from a result to a page that needs nothing but a browser."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import MOST_SHOWN, Fact
from closerthan.evaluate.facts import facts as facts_of
from closerthan.objects.central_objects import centrality
from closerthan.objects.clusters import Clustering
from closerthan.report.content import content, embeddable
from closerthan.report.findings import Findings
from closerthan.report.methods import methods_paragraph
from closerthan.result import Result
from closerthan.saving import whole_file
from closerthan.uncertainty.replicates import Replicates

__all__ = ["write_report"]

# Each uses those before it.
SCRIPTS = (
    "numbers.js", "svg.js", "points.js", "labels.js", "uncertain.js", "scatter.js", "curves.js", "groups.js",
    "believe.js", "page.js",
)  # fmt: skip

_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)


@checked
def write_report(
    result: Result,
    comparisons: Comparisons | ArrayLike,
    path: str | Path,
    *,
    test: Comparisons | ArrayLike | None = None,
    labels: Any = None,
    thumbnails: Any = None,
    title: str | None = None,
    command: str | None = None,
    python: str | None = None,
    facts: Sequence[Fact] | None = None,
    findings: Findings | Replicates | None = None,
    groups: Clustering | None = None,
) -> None:
    """Write an interactive page about a fit: one HTML file that works offline.

    It shows the map (to pan, zoom, search and colour), how well each object's answers fit, the most violated answers,
    the curves of the fit, and how to repeat it. The file appears whole or not at all.

    Parameters
    ----------
    result
        What :func:`closerthan.embed` returned.
    comparisons
        The answers that it was given.
    path
        Where to write; a file there is replaced.
    test
        Answers that the fit never saw, for the held-out error.
    labels
        To colour by: one category or number per object, or several such columns by name (a mapping or a DataFrame).
    thumbnails
        Image files or arrays, one per object (None: no picture), or a mapping from names.
    title
        Of the page.
    command, python
        The command line and the Python that make the fit again; put together from the settings if not given, left out
        if empty.
    facts
        The lines of the table at the head of the page, if others than the usual ones.
    findings
        What can be believed: replicates of the fit, or they and more.
    groups
        What :func:`closerthan.cluster` found, to show with its tree and to colour by.

    Examples
    --------
    >>> import closerthan as ct, pathlib, tempfile
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     ct.write_report(ct.embed(answers, seed=0), answers, path, title="21 cities")
    ...     "<title>21 cities</title>" in path.read_text(encoding="utf-8")
    True
    """
    answers = Comparisons.of(comparisons)
    n_objects = len(result.embedding)
    if answers.n_objects > n_objects:
        raise ValueError(f"the comparisons speak of {answers.n_objects} objects, but the map has {n_objects}")
    held_out = None
    if test is not None:
        held_out = test if isinstance(test, Comparisons) else Comparisons.of(test, n_objects=n_objects)
    table, answers_of_fit = facts, answers
    if answers.on_disk is not None:
        table = facts or facts_of(result, answers, held_out)
        answers = answers.sample(MOST_SHOWN, np.random.default_rng(0))
    shown = title or f"A map of {n_objects:,} objects"
    found = Findings(findings) if isinstance(findings, Replicates) else findings
    page = content(
        result,
        answers,
        test=held_out,
        labels=labels,
        thumbnails=thumbnails,
        title=shown,
        findings=found,
        groups=groups,
    )
    page |= {name: code for name, code in (("command", command), ("python", python)) if code is not None}
    if table is not None:
        page["facts"] = [fact._asdict() for fact in table]
    known_facts = table or facts_of(result, answers, held_out)
    page["methods"] = methods_paragraph(result, answers_of_fit, known_facts, test=held_out, findings=found)
    if found is not None:
        # What has a place of its own further down would push the map off the first screen.
        known = found.facts()
        below = [fact._asdict() for fact in known if fact.name != "Decided" and fact not in found.left_out]
        above = [] if facts is not None else [fact._asdict() for fact in known]
        page["facts"] = [fact for fact in (*page["facts"], *above) if fact not in below]
    page["facts"] += [fact._asdict() for fact in _central(answers, result.names)]
    text = _assembled(shown, embeddable(page))
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def _central(answers: Comparisons, names: tuple[str, ...] | None) -> list[Fact]:
    """Which object is the most central and which lie far out, from the answers alone."""
    found = replace(centrality(answers), names=names or answers.names)
    far = [] if found.outliers is None else [found.called(int(one)) for one in found.outliers[:3]]
    note = f"by the answers alone ({found.measure})" + (f"; far from all others: {', '.join(far)}" if far else "")
    return [Fact("Most central", found.in_words.removeprefix("medoid "), note)]


def _assembled(title: str, data: str) -> str:
    from closerthan import __version__

    script = "\n".join(['"use strict";', *(_compact(_part(name)) for name in SCRIPTS)])
    # A content security policy: only this script may run, and nothing may be loaded from anywhere.
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": html.escape(policy),
        "TITLE": html.escape(title),
        "VERSION": html.escape(__version__),
        "STYLE": _part("page.css"),
        "DATA": data,
        "SCRIPT": script,
    }
    # One pass from the template's own marks, so that a title or a name which looks like a mark is left alone.
    first, *rest = _part("page.html").split("{{")
    pieces = [first]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


def _part(name: str) -> str:
    return resources.files("closerthan.report").joinpath(name).read_text(encoding="utf-8")


def _compact(script: str) -> str:
    """Remove comment lines and indentation, a third of the bytes.

    Examples
    --------
    >>> _compact("/** Twice.\\n * @param {number} x */\\nconst twice = (x) => {\\n  // fast\\n  return 2 * x;\\n};\\n")
    'const twice = (x) => {\\nreturn 2 * x;\\n};\\n'
    """
    return re.sub(r"^[ \t]+", "", _COMMENT.sub("", script), flags=re.MULTILINE)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
