"""Pages about sparse dimensions: an overview, a page for each dimension and a page for each object.

The pages share a style sheet and the pictures, so that a thousand pages stay small. They need nothing but a browser,
and links between them work wherever the folder is.
"""

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from closerthan.checks import checked
from closerthan.dimensions.result import SparseDimensions
from closerthan.evaluate.facts import Fact
from closerthan.plotting.maps.thumbnails import thumbnail, thumbnail_sources
from closerthan.report.packing import encoded
from closerthan.report.static_page import facts_list, static_page, style_sheet
from closerthan.saving import whole_folder
from closerthan.wording import counted, joined, percent

__all__ = ["write_dimension_pages"]

ON_OVERVIEW = 8  # objects of a dimension on the overview
ON_PAGE = 36  # objects on the page of a dimension
NEAREST = 10  # most similar objects on the page of an object
PIXELS = 144  # longer side of a picture
BINS = 30  # bars of the histogram of weights
STYLE_FILE = "style.css"

STYLE = """
a { color: var(--accent); }
dl, header .notice { margin-bottom: 1rem; }
nav { margin: 0 0 1rem; }
section { border-top: 1px solid var(--line); padding: 0.9rem 0 0.4rem; }
section h2 { border: 0; padding: 0; margin: 0 0 0.2rem; font-size: 1.05rem; }
.objects { display: grid; gap: 0.6rem; grid-template-columns: repeat(auto-fill, minmax(7.2rem, 1fr));
  list-style: none; padding: 0; margin: 0.6rem 0 0; }
.objects li { background: var(--panel); border-radius: 6px; padding: 0.45rem; overflow-wrap: anywhere;
  font-size: 0.88rem; }
.objects img { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; background: #fff; border-radius: 4px;
  margin-bottom: 0.3rem; }
i { display: block; height: 5px; border-radius: 3px; background: var(--accent); margin-top: 0.3rem; }
.unsure i { background: var(--faint); }
.profile { display: grid; grid-auto-flow: dense; grid-template-columns: minmax(8rem, 22rem) 1fr 3rem;
  gap: 0.25rem 0.8rem; align-items: center; }
.profile i { height: 0.9rem; margin: 0; }
.profile a, .profile span { overflow-wrap: anywhere; }
small { color: var(--faint); font-size: 0.9em; }
.mark { color: var(--warn); font-size: 0.85em; }
img.object { max-width: 12rem; border-radius: 6px; background: #fff; }
svg { display: block; max-width: 100%; height: auto; }
.axis { display: flex; justify-content: space-between; max-width: 640px; margin: 0.2rem 0 0; }
.index { columns: 11rem; padding-left: 1.1rem; overflow-wrap: anywhere; }
@media (max-width: 34rem) { .profile { grid-template-columns: 1fr 3rem; } .profile div { grid-column: 1 / -1; } }
"""
"""Styles in addition to those of the report."""


class _Pages(NamedTuple):
    """The dimensions, and the file of the picture of each object that has one, relative to the overview."""

    dimensions: SparseDimensions
    pictures: dict[int, str]
    title: str

    def name(self, number: int) -> str:
        return html.escape(self.dimensions.name_of(number))


@checked
def write_dimension_pages(
    dimensions: SparseDimensions,
    folder: str | Path,
    *,
    thumbnails: Any = None,
    title: str | None = None,
    replace: bool = False,
) -> None:
    """Write a folder of pages: index.html, a page for each dimension, and a page for each object.

    The page of a dimension shows the objects with the largest weights, which is what people look at to name it; the
    page of an object shows its weights on all dimensions and the most similar objects.

    Parameters
    ----------
    dimensions
        A result of :func:`closerthan.sparse_dimensions`.
    folder
        Folder to write.
    thumbnails
        Image files or arrays, one per object (None where there is no picture), or a mapping from names to pictures.
    title
        Title of the overview.
    replace
        Whether an existing folder is replaced.

    Examples
    --------
    >>> import closerthan as ct, tempfile
    >>> x = np.kron(np.eye(2), np.ones((6, 1))) * 2
    >>> answers = ct.answers_from(x, 1000, similarity="dot", question="odd-one-out", temperature=1.0)
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     pages = Path(parent) / "pages"
    ...     write_dimension_pages(ct.sparse_dimensions(answers, 4, penalty=0.1, n_refits=1), pages)
    ...     sorted(path.name for path in pages.glob("*.html"))
    ['dimension-01.html', 'dimension-02.html', 'index.html']
    """
    target = Path(folder)
    if target.exists() and any(target.iterdir()) and not replace:
        raise ValueError(f"{target} exists; pass replace=True to replace it, or another folder")
    names = [dimensions.name_of(number) for number in range(dimensions.n_objects)]
    sources = {} if thumbnails is None else thumbnail_sources(thumbnails, names)
    pictures = {number: encoded(thumbnail(source, PIXELS)) for number, source in sources.items()}
    pages = _Pages(
        dimensions,
        {number: f"pictures/{number}.{kind}" for number, (_, kind) in pictures.items()},
        title or f"Dimensions of {dimensions.n_objects:,} objects",
    )
    with whole_folder(target, replace=replace) as draft:
        (draft / STYLE_FILE).write_text(style_sheet(STYLE), encoding="utf-8")
        if pictures:
            (draft / "pictures").mkdir()
        for number, (image, _) in pictures.items():
            (draft / pages.pictures[number]).write_bytes(image)
        (draft / "index.html").write_text(_overview(pages), encoding="utf-8")
        for k in range(dimensions.n_dims):
            (draft / _file_of(k)).write_text(_dimension_page(pages, k), encoding="utf-8")
        (draft / "objects").mkdir()
        for number in range(dimensions.n_objects):
            (draft / "objects" / f"{number}.html").write_text(_object_page(pages, number), encoding="utf-8")


def _file_of(dimension: int) -> str:
    return f"dimension-{dimension + 1:02}.html"


def _overview(pages: _Pages) -> str:
    dimensions = pages.dimensions
    notes = "".join(f'<p class="notice">{html.escape(one)}</p>' for one in dimensions.advice)
    sections = "".join(_section(pages, k) for k in range(dimensions.n_dims))
    listed = _in_alphabetical_order([dimensions.name_of(number) for number in range(dimensions.n_objects)])
    index = "".join(f'<li><a href="objects/{number}.html">{pages.name(number)}</a></li>' for number in listed)
    return static_page(
        pages.title,
        f"<header><h1>{html.escape(pages.title)}</h1>{facts_list(_facts(dimensions))}{notes}</header>"
        f'<main>{sections}<h2>All objects</h2><ul class="index">{index}</ul></main>',
        style_file=STYLE_FILE,
    )


def _in_alphabetical_order(names: Sequence[str]) -> list[int]:
    """Return the order of names; numbers are in the order of their values."""
    are_numbers = all(name.isdecimal() for name in names)
    return sorted(range(len(names)), key=lambda place: int(names[place]) if are_numbers else names[place].casefold())


def _facts(dimensions: SparseDimensions) -> Iterator[Fact]:
    accuracy = dimensions.accuracy
    yield Fact("Answers", f"{dimensions.n_answers:,}", f"about {dimensions.n_objects:,} objects")
    reproducible = int(dimensions.is_reproducible.sum())
    note = f"{reproducible} found again in most of {dimensions.n_refits} refits" if dimensions.n_refits else ""
    yield Fact("Dimensions", f"{dimensions.n_dims}", note)
    yield Fact(
        "Predicted",
        accuracy.interval,
        f"of {accuracy.n_answers:,} held-out answers; chance {percent(accuracy.chance)}; {accuracy.bits_in_words}",
    )
    for ceiling in accuracy.ceilings:
        if ceiling.is_known:
            yield Fact("Noise ceiling", ceiling.in_words)
    yield Fact("Penalty", f"{dimensions.penalty:.3g}")


def _about(dimensions: SparseDimensions, k: int) -> str:
    """Return the sum, the number of objects and the reproducibility of a dimension, in words."""
    weights = dimensions.weights[:, k]
    parts = [f"sum {weights.sum():,.1f}", f"{int((weights > 0).sum()):,} objects above zero"]
    if dimensions.n_refits:
        count = round(float(dimensions.recurrence[k]) * dimensions.n_refits)
        parts.append(
            f"found again in {count} of {dimensions.n_refits} refits (median r {dimensions.reproducibility[k]:.2f})"
        )
    return "; ".join(parts) + _mark(dimensions, k)


def _mark(dimensions: SparseDimensions, k: int) -> str:
    is_unsure = dimensions.n_refits and not dimensions.is_reproducible[k]
    return ' <strong class="mark">not reproducible</strong>' if is_unsure else ""


def _class(dimensions: SparseDimensions, k: int) -> str:
    return ' class="unsure"' if dimensions.n_refits and not dimensions.is_reproducible[k] else ""


def _section(pages: _Pages, k: int) -> str:
    dimensions = pages.dimensions
    return (
        f'<section{_class(dimensions, k)}><h2><a href="{_file_of(k)}">Dimension {k + 1}</a></h2>'
        f'<p class="faint">{_about(dimensions, k)}</p>'
        f"{_gallery(pages, dimensions.top_objects(k, ON_OVERVIEW), dimensions.weights[:, k])}</section>"
    )


def _gallery(
    pages: _Pages, numbers: Sequence[int], values: Any, to_objects: str = "objects/", to_overview: str = ""
) -> str:
    """Return a grid of objects, each with its picture, its name and a bar.

    ``to_objects`` and ``to_overview`` are the paths, relative to the page, of the folder with the pages of objects and
    of the folder of the overview.
    """
    largest = max((float(values[number]) for number in numbers), default=1.0) or 1.0
    items = []
    for number in numbers:
        picture = f'<img alt="" src="{to_overview}{pages.pictures[number]}">' if number in pages.pictures else ""
        items.append(
            f'<li>{picture}<a href="{to_objects}{number}.html">{pages.name(number)}</a>'
            f" <small>{float(values[number]):.2f}</small>{_bar(float(values[number]) / largest)}</li>"
        )
    return f'<ul class="objects">{"".join(items)}</ul>'


def _bar(fraction: float) -> str:
    return f'<i style="width:{100 * fraction:.0f}%"></i>'


def _dimension_page(pages: _Pages, k: int) -> str:
    dimensions = pages.dimensions
    links = ['<a href="index.html">All dimensions</a>']
    if k > 0:
        links.append(f'<a href="{_file_of(k - 1)}">Dimension {k}</a>')
    if k + 1 < dimensions.n_dims:
        links.append(f'<a href="{_file_of(k + 1)}">Dimension {k + 2}</a>')
    weights = dimensions.weights[:, k]
    return static_page(
        f"Dimension {k + 1}",
        f"<header><nav>{' · '.join(links)}</nav><h1>Dimension {k + 1}</h1><p>{_about(dimensions, k)}</p></header>"
        f"<main{_class(dimensions, k)}><h2>Objects with the largest weights</h2>"
        f"{_gallery(pages, dimensions.top_objects(k, ON_PAGE), weights)}"
        f"<h2>Weights of all objects above zero</h2>{_histogram(weights[weights > 0])}</main>",
        style_file=STYLE_FILE,
    )


def _histogram(values: Any) -> str:
    """Return a histogram as SVG."""
    if not len(values):
        return ""
    counts, edges = np.histogram(values, BINS, (0.0, float(values.max())))
    width, height = 640, 150
    step = width / BINS
    bars = "".join(
        f'<rect x="{place * step + 1:.1f}" y="{height * (1 - count / counts.max()):.1f}" width="{step - 2:.1f}" '
        f'height="{height * count / counts.max():.1f}" fill="var(--accent)"><title>{edges[place]:.2f} to '
        f"{edges[place + 1]:.2f}: {count}</title></rect>"
        for place, count in enumerate(counts.tolist())
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="Histogram of weights">{bars}'
        f'<line x1="0" x2="{width}" y1="{height}" y2="{height}" stroke="var(--line)"/></svg>'
        f'<p class="axis faint"><span>0</span><span>weight (highest bar: {counted(int(counts.max()), "object")})</span>'
        f"<span>{float(values.max()):.2f}</span></p>"
    )


def _object_page(pages: _Pages, number: int) -> str:
    dimensions = pages.dimensions
    weights = dimensions.weights[number]
    largest = float(weights.max(initial=0.0)) or 1.0
    rows = []
    for k in np.argsort(-weights, kind="stable").tolist():
        if weights[k] <= 0:
            break
        top = html.escape(joined([name for name, _ in dimensions.top(k, 4)]))
        rows.append(
            f'<span><a href="../{_file_of(k)}">Dimension {k + 1}</a> <small>{top}</small>{_mark(dimensions, k)}</span>'
            f"<div{_class(dimensions, k)}>{_bar(weights[k] / largest)}</div><span>{weights[k]:.2f}</span>"
        )
    similar = dimensions.weights @ weights
    similar[number] = -np.inf
    order = [one for one in np.argsort(-similar, kind="stable")[:NEAREST].tolist() if similar[one] > 0]
    picture = f'<img class="object" alt="" src="../{pages.pictures[number]}">' if number in pages.pictures else ""
    profile = f'<div class="profile">{"".join(rows)}</div>' if rows else "<p>All its weights are zero.</p>"
    return static_page(
        dimensions.name_of(number),
        f'<header><nav><a href="../index.html">All dimensions</a></nav><h1>{pages.name(number)}</h1>{picture}</header>'
        f"<main><h2>Weights</h2>{profile}<h2>Most similar objects</h2>"
        f'<p class="faint">by the dot product of their weights</p>{_gallery(pages, order, similar, "", "../")}</main>',
        style_file=f"../{STYLE_FILE}",
    )
