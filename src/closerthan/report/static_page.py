"""Pages without scripts: their frame, tables of facts and figures, and the summary page of a command."""

import html
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closerthan.evaluate.facts import Fact
from closerthan.report.packing import data_url
from closerthan.report.page import page_file
from closerthan.saving import whole_file
from closerthan.wording import html_table

__all__ = ["Section", "facts_list", "figure_image", "static_page", "style_sheet", "write_summary_page"]

STYLE = """
section > img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; margin-top: 0.8rem; }
td { overflow-wrap: anywhere; }
"""
"""Styles of a summary page in addition to those of the report."""


class Section(NamedTuple):
    """A section of a summary page; parts without content are left out.

    Attributes
    ----------
    heading
        The heading.
    facts
        Rows of names and values.
    titles, rows
        A table.
    sentences
        Remarks below it.
    """

    heading: str
    facts: Sequence[tuple[str, str]] = ()
    titles: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    sentences: Sequence[str] = ()


def static_page(title: str, body: str, *, style: str = "", style_file: str = "") -> str:
    """Return a page without scripts.

    Parameters
    ----------
    title
        Title of the page.
    body
        HTML of the page, without the footer.
    style
        Styles in addition to those of the report, inside the page.
    style_file
        A file with all styles instead, relative to the page, so that several pages can share it. Such pages can show
        images in other files, too.
    """
    from closerthan import __version__

    # Of a page that is opened from a disk, some browsers do not count neighbouring files as its own ('self').
    files = "'self' file:" if style_file else ""
    sources = f"style-src 'unsafe-inline' {files}; img-src {files or 'data:'}"
    styles = (
        f'<link rel="stylesheet" href="{html.escape(style_file)}">'
        if style_file
        else f"<style>{style_sheet(style)}</style>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; {sources}">'
        f"<title>{html.escape(title)}</title>{styles}</head><body>{body}"
        f'<footer class="faint">Made with closerthan {html.escape(__version__)}</footer></body></html>\n'
    )


def style_sheet(style: str) -> str:
    """Return the styles of the report, followed by others."""
    return page_file("page.css") + style


def facts_list(facts: Iterable[Fact]) -> str:
    """Return facts as a list of names and values.

    Examples
    --------
    >>> facts_list([Fact("Objects", "21"), Fact("Views", "2", "as requested")])
    '<dl><dt>Objects</dt><dd>21</dd><dt>Views</dt><dd>2<small>as requested</small></dd></dl>'
    """
    rows = "".join(
        f"<dt>{html.escape(fact.name)}</dt><dd>{html.escape(fact.value)}"
        + f"<small>{html.escape(fact.note)}</small>" * bool(fact.note)
        + "</dd>"
        for fact in facts
    )
    return f"<dl>{rows}</dl>"


def figure_image(figure: Any, description: str) -> str:
    """Return a matplotlib figure as an image inside the page."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=160)
    return f'<img alt="{html.escape(description)}" src="{data_url(file.getvalue(), "png")}">'


def write_summary_page(
    path: str | Path, title: str, sections: Sequence[Section], figures: Mapping[str, Any] | None = None
) -> None:
    """Write what a command found as one self-contained page.

    Parameters
    ----------
    path
        File to write.
    title
        Title of the page.
    sections
        The sections.
    figures
        Matplotlib figures by their description. They come before the sections.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_summary_page(path, "Two models", [Section("Accuracy", titles=("model",), rows=[("a < b",)])])
    ...     "<td>a &lt; b</td>" in path.read_text(encoding="utf-8")
    True
    """
    pictures = "".join(figure_image(figure, description) for description, figure in (figures or {}).items())
    body = (
        f"<header><h1>{html.escape(title)}</h1></header><main>"
        + f"<section>{pictures}</section>" * bool(pictures)
        + f"{''.join(_section(one) for one in sections)}</main>"
    )
    with whole_file(path) as file:
        file.write(static_page(title, body, style=STYLE).encode("utf-8"))


def _section(section: Section) -> str:
    table = f'<div class="scroll">{html_table("", section.titles, section.rows)}</div>' if section.rows else ""
    facts = facts_list(Fact(name[:1].upper() + name[1:], value) for name, value in section.facts)
    return (
        f"<section><h2>{html.escape(section.heading)}</h2>"
        + facts * bool(section.facts)
        + table
        + "".join(f"<p>{html.escape(one)}</p>" for one in section.sentences)
        + "</section>"
    )
