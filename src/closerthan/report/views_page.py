"""A page about several views: their maps side by side, and the answers that distinguish them."""

import html
from pathlib import Path

from closerthan.comparisons import Comparisons, pairs_of
from closerthan.evaluate.facts import Fact
from closerthan.objects.views import Views
from closerthan.plotting import views_figure
from closerthan.report.static_page import facts_list, figure_image, static_page
from closerthan.saving import whole_file
from closerthan.wording import counted, percent

__all__ = ["in_words", "write_views_page"]

MOST_ANSWERS = 8  # distinguishing answers of each view

STYLE = """
.views { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
.views ul { padding-left: 1.2rem; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; margin-top: 0.8rem; }
"""
"""Styles in addition to those of the report."""


def in_words(answers: Comparisons, row: int) -> str:
    """Return a comparison as a sentence.

    Examples
    --------
    >>> in_words(Comparisons.from_triplets([["ant", "bee", "cat"]]), 0)
    'ant is closer to bee than to cat'
    """
    (i, j), (l, k) = pairs_of(answers.rows[row])  # noqa: E741
    names = [str(number) if answers.names is None else answers.names[number] for number in (i, j, l, k)]
    if answers.rows.shape[1] == 3:
        return f"{names[0]} is closer to {names[1]} than to {names[3]}"
    return f"{names[0]} and {names[1]} are closer than {names[2]} and {names[3]}"


def write_views_page(views: Views, answers: Comparisons, path: str | Path, title: str | None = None) -> None:
    """Write a self-contained page with the map of each view and the answers that only this map gets right.

    Examples
    --------
    >>> import closerthan as ct, numpy as np, tempfile
    >>> answers = ct.datasets.simulated(np.random.default_rng(0).normal(size=(10, 1)), 200, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_views_page(ct.embed_views(answers, 1, n_dims=1), answers, Path(folder) / "views.html")
    ...     "view 1: 100 % of the answers" in (Path(folder) / "views.html").read_text(encoding="utf-8")
    True
    """
    heading = title or f"{counted(views.n_views, 'view')} of {views.maps.shape[1]:,} objects"
    with_titles = zip(views.maps, views.titles, strict=True)
    pictures = [
        figure_image(views_figure([embedding], views.names, titles=[view_title]), view_title)
        for embedding, view_title in with_titles
    ]
    parts = []
    for view_title, rows in zip(views.titles, views.distinguishing(answers, MOST_ANSWERS), strict=True):
        items = "".join(f"<li>{html.escape(in_words(answers, int(row)))}</li>" for row in rows)
        parts.append(f"<section><h3>{html.escape(view_title)}</h3><ul>{items}</ul></section>")
    differences = (
        "<h2>What distinguishes the views</h2><p>Answers that the map of this view gets right and all other maps get "
        f'wrong, the clearest first.</p><div class="views">{"".join(parts)}</div>'
        if views.n_views > 1
        else ""
    )
    page = static_page(
        heading,
        f"<header><h1>{html.escape(heading)}</h1>{facts_list(_facts(views, answers))}</header>"
        f"<main><h2>Maps</h2><p>{html.escape(views.advice)}</p>"
        f'<div class="views">{"".join(pictures)}</div>{differences}</main>',
        style=STYLE,
    )
    with whole_file(path) as file:
        file.write(page.encode("utf-8"))


def _facts(views: Views, answers: Comparisons) -> list[Fact]:
    """Return the rows of the table at the top of the page."""
    scores = [f"{number}: {value:.3f}" for number, value in views.held_out.items()]
    note = f"chosen by the log likelihood of held-out answers ({', '.join(scores)})" if scores else "as requested"
    return [
        Fact("Objects", f"{views.maps.shape[1]:,}"),
        Fact("Comparisons", f"{len(answers):,}"),
        Fact("Dimensions", f"{views.maps.shape[2]}", "per map"),
        Fact("Views", f"{views.n_views}", note),
        Fact("Guesses", percent(views.guesses, digits=0), "fraction of the answers that no map explains"),
    ]
