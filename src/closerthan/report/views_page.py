"""Several views on one page: the maps side by side, and the answers that tell them apart."""

import base64
import html
import io
from pathlib import Path

from closerthan.comparisons import Comparisons, pairs_of
from closerthan.objects.views import Views
from closerthan.saving import whole_file
from closerthan.wording import counted

__all__ = ["in_words", "write_views_page"]

SHOWN = 8  # answers of each view

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfc; --line: #d5d9de; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --paper: #16191d; --line: #3a4048; } }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
.views { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
li { margin: .25rem 0; overflow-wrap: anywhere; } h2 { border-top: 1px solid var(--line); padding-top: 1rem; }
"""


def in_words(answers: Comparisons, row: int) -> str:
    """What a comparison says.

    Examples
    --------
    >>> in_words(Comparisons.from_triplets([["ant", "bee", "cat"]]), 0)
    'ant is closer to bee than to cat'
    """
    (i, j), (l, k) = pairs_of(answers.rows[row])  # noqa: E741
    names = [str(one) if answers.names is None else answers.names[one] for one in (i, j, l, k)]
    if answers.rows.shape[1] == 3:
        return f"{names[0]} is closer to {names[1]} than to {names[3]}"
    return f"{names[0]} and {names[1]} are closer than {names[2]} and {names[3]}"


def write_views_page(views: Views, answers: Comparisons, path: str | Path, title: str | None = None) -> None:
    """Write one self-contained page: what each view is like, and which answers only its map gets right.

    Examples
    --------
    >>> import closerthan as ct, numpy as np, tempfile
    >>> answers = ct.datasets.simulated(np.random.default_rng(0).normal(size=(10, 1)), 200, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_views_page(ct.embed_views(answers, 1, n_dims=1), answers, Path(folder) / "views.html")
    ...     "view 1: 100 % of the answers" in (Path(folder) / "views.html").read_text(encoding="utf-8")
    True
    """
    picture = io.BytesIO()
    views.plot().savefig(picture, format="png", dpi=160)
    shown = html.escape(title or f"{counted(views.n_views, 'view')} of {views.maps.shape[1]:,} objects")
    image = base64.b64encode(picture.getvalue()).decode("ascii")
    parts = []
    for heading, rows in zip(views.titles, views.telling(answers, SHOWN), strict=True):
        said = "".join(f"<li>{html.escape(in_words(answers, int(row)))}</li>" for row in rows)
        parts.append(f"<section><h3>{html.escape(heading)}</h3><ul>{said}</ul></section>")
    apart = (
        "<h2>What tells them apart</h2><p>Answers that the map of this view gets right and every other map wrong, the "
        f'clearest first.</p><div class="views">{"".join(parts)}</div>'
        if views.n_views > 1
        else ""
    )
    alt = html.escape("; ".join(views.titles))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">'
        f"<title>{shown}</title><style>{STYLE}</style></head><body><h1>{shown}</h1>"
        f'<img alt="{alt}" src="data:image/png;base64,{image}">{apart}</body></html>\n'
    )
    with whole_file(path) as file:
        file.write(page.encode("utf-8"))
