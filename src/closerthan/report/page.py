"""Write the report: a page about a fit that needs nothing but a browser."""

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.evaluate.facts import MOST_SHOWN, Fact, check_about, facts
from closerthan.objects.central_objects import centrality
from closerthan.report.content import content, embeddable
from closerthan.report.findings import Findings
from closerthan.report.methods import methods_paragraph
from closerthan.report.parts import ReportOptions, ReportParts
from closerthan.result import Result
from closerthan.saving import whole_file
from closerthan.signatures import lists_keywords

__all__ = ["page_file", "write_report"]

# Each script uses those before it.
SCRIPTS = (
    "numbers.js", "svg.js", "points.js", "labels.js", "uncertain.js", "scatter.js", "curves.js", "groups.js",
    "believe.js", "page.js",
)  # fmt: skip

_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)


@lists_keywords(ReportOptions, ReportParts)
@checked
def write_report(
    answers: Comparisons | ArrayLike, result: Result, path: str | Path, **options: Unpack[ReportOptions]
) -> None:
    """Write an interactive page about a fit: one HTML file that works offline.

    The page shows the map (which can be panned, zoomed, searched and coloured), the error of each object, the answers
    that contradict the map most, the convergence of the fit, and how to reproduce it. The file is written completely
    or not at all.

    Parameters
    ----------
    answers
        The answers that the map was fitted to.
    result
        A result of :func:`closerthan.embed`.
    path
        File to write; an existing file is replaced.
    test
        Answers that were not used in the fit, for the held-out error.
    labels
        Labels to colour by: one category or number per object, or several such columns by name (a mapping or a
        DataFrame).
    thumbnails
        Image files or arrays, one per object (None where there is no picture), or a mapping from names to pictures.
    title
        Title of the page.
    command, python
        Command line and Python code that reproduce the fit; by default they are derived from its settings. With an
        empty string, they are omitted.
    facts
        Rows of the table at the top of the page; by default those of :func:`closerthan.evaluate.facts.facts`.
    findings
        Replicates of the fit, for the section on what can be believed, or replicates together with other findings.
    groups
        A result of :func:`closerthan.cluster`, to show with its tree and to colour by.

    Examples
    --------
    >>> import closerthan as ct, pathlib, tempfile
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     ct.write_report(answers, ct.embed(answers, seed=0), path, title="21 cities")
    ...     "<title>21 cities</title>" in path.read_text(encoding="utf-8")
    True
    """
    comparisons = Comparisons.of(answers)
    n_objects = len(result.embedding)
    if comparisons.n_objects > n_objects:
        raise ValueError(
            f"the answers are about {comparisons.n_objects} objects, but the map has {n_objects}; pass the answers "
            "that the map was fitted to"
        )
    parts = ReportParts.of(options, n_objects)
    for part in (comparisons, parts.test):
        check_about(result, part)
    lines = facts(result, comparisons, parts.test) if parts.facts is None else parts.facts
    methods = methods_paragraph(result, comparisons, lines, test=parts.test, findings=parts.findings)
    if not comparisons.cheap_to_enumerate:
        comparisons = comparisons.in_memory(MOST_SHOWN, np.random.default_rng(0))
    page = {**content(result, comparisons, parts), "methods": methods}
    if parts.findings is not None:
        lines = _with_findings(lines, parts.findings, were_passed=parts.facts is not None)
    lines = [*lines, _most_central(comparisons, result.names)]
    page["facts"] = [fact._asdict() for fact in lines]
    text = _assembled(parts.title, embeddable(page))
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def _with_findings(lines: Sequence[Fact], findings: Findings, *, were_passed: bool) -> list[Fact]:
    """Return the rows of the table and those of the findings, without those that the page repeats further down.

    More rows would push the map off the first screen. If the caller passed the rows, they contain the findings already.
    """
    about_findings = findings.facts()
    further_down = [fact for fact in about_findings if fact.name != "Decided" and fact not in findings.left_out]
    return [fact for fact in (*lines, *([] if were_passed else about_findings)) if fact not in further_down]


def _most_central(answers: Comparisons, names: tuple[str, ...] | None) -> Fact:
    """Return the most central object and the outliers, which are determined from the answers without the map."""
    central = replace(centrality(answers), names=names or answers.names)
    outliers = [] if central.outliers is None else [central.name_of(int(number)) for number in central.outliers[:3]]
    note = f"determined from the answers alone ({central.measure})"
    if outliers:
        note += f"; far from all others: {', '.join(outliers)}"
    return Fact("Most central", central.in_words.removeprefix("medoid "), note)


def _assembled(title: str, data: str) -> str:
    from closerthan import __version__

    script = "\n".join(['"use strict";', *(_compact(page_file(name)) for name in SCRIPTS)])
    # The content security policy allows this script and no other, and forbids loading anything.
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": html.escape(policy),
        "TITLE": html.escape(title),
        "VERSION": html.escape(__version__),
        "STYLE": page_file("page.css"),
        "DATA": data,
        "SCRIPT": script,
    }
    # The template is filled in one pass, so that a title or a name that looks like a placeholder is not replaced.
    first, *rest = page_file("page.html").split("{{")
    pieces = [first]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


def page_file(name: str) -> str:
    """Return the text of a script, style sheet or template of the report."""
    return resources.files("closerthan.report").joinpath(name).read_text(encoding="utf-8")


def _compact(script: str) -> str:
    """Remove comment lines and indentation, which are a third of the bytes.

    Examples
    --------
    >>> _compact("/** Twice.\\n * @param {number} x */\\nconst twice = (x) => {\\n  // fast\\n  return 2 * x;\\n};\\n")
    'const twice = (x) => {\\nreturn 2 * x;\\n};\\n'
    """
    return re.sub(r"^[ \t]+", "", _COMMENT.sub("", script), flags=re.MULTILINE)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
