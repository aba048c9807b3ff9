"""How the site is built: ``sphinx-build -W -b html docs build/docs``. Nothing is fetched, now or by readers."""

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

import closerthan as ct
from closerthan.datasets.eurodist import north_up

sys.path.insert(0, str(Path(__file__).parent))  # for example_figures

project = "closerthan"
author = "the closerthan developers"
version = release = ct.__version__
language = "en"
html_title = "closerthan"
html_theme = "furo"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["closerthan.css"]
html_copy_source = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["measured", "gallery/**/*.ipynb", "gallery/**/*.md5", "gallery/**/*.json"]
# Pages that commands write, or that come with parts of the project; the menu does without those that are missing.
may_be_missing = ("benchmarks", "reproduction")

WIDE = 1_200  # pixels

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {
    "members": True,
    # Written by scikit-learn, about scikit-learn.
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, set_split_request",
}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False


# ---- the API page: everything public, module by module, so that it cannot fall behind --------------------------------


def _entry(owner: str, name: str, thing: Any) -> str:
    if isinstance(thing, type):
        return f".. autoclass:: {owner}.{name}\n\n"
    if callable(thing):
        return f".. autofunction:: {owner}.{name}\n\n"
    return f".. data:: {owner}.{name}\n\n   {', '.join(f'``{key}``' for key in thing)}\n\n"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n\n"


def _api() -> str:
    page = ":tocdepth: 2\n\n" + _heading("API", "=") + "Everything here is there after ``import closerthan as ct``.\n\n"
    page += _heading("ct", "-")
    page += "".join(_entry("closerthan", name, getattr(ct, name)) for name in ct._MODULES)
    for family in ct._SUBPACKAGES:
        page += _heading(f"ct.{family}", "-")
        module = getattr(ct, family)
        page += inspect.getdoc(module).partition("\n\n")[0] + "\n\n"
        own = [name for name in module.__all__ if name not in ct._MODULES]  # the others are described above
        page += "".join(_entry(f"closerthan.{family}", name, getattr(module, name)) for name in own)
    return page


_page = Path(__file__).parent / "api.rst"
if not _page.exists() or _page.read_text(encoding="utf-8") != _api():
    _page.write_text(_api(), encoding="utf-8")


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("example_figures.figures_of",),
    "reset_modules": (),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,  # times differ from build to build
    "matplotlib_animations": False,
}


def _formula(translator: Any, node: nodes.Element, *, as_block: bool) -> None:
    # MathML, which browsers draw themselves: a script for formulas would have to come from somewhere.
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def _leave_out_missing(app: Any, page: str, source: list[str]) -> None:
    if page == "index":
        lines = source[0].splitlines()
        there = [line not in may_be_missing or any(Path(app.srcdir).glob(f"{line}.md")) for line in lines]
        source[0] = "\n".join(line for line, keep in zip(lines, there, strict=True) if keep)


def _enlargeable(app: Any, tree: nodes.document) -> None:
    """Pictures that are wider than the text lead to themselves in full size."""
    for image in tree.findall(nodes.image):
        file = Path(app.srcdir) / image["uri"]
        if file.suffix == ".png" and file.exists() and int.from_bytes(file.read_bytes()[16:20], "big") > WIDE:
            image["width"] = "100%"


def _write_report(app: Any, failed: Exception | None) -> None:
    """A live report for the page that explains reports."""
    if failed or app.builder.format != "html":
        return
    answers = ct.datasets.eurodist().comparisons()
    result = ct.embed(answers, n_dims=2, seed=0, n_starts=4, validation=0.1)
    result = dataclasses.replace(result, embedding=north_up(result.embedding))
    ct.write_report(answers, result, Path(app.outdir) / "eurodist-report.html", title="21 European cities")


def _shorten_types(app: Any, *_: Any) -> None:
    """NumPy's types are written out in full by autodoc; readers know them by their names."""
    for types in app.env.current_document.autodoc_annotations.values():
        for name, text in types.items():
            shorter = text.replace(stringify_annotation(ArrayLike, "smart"), "array-like")
            types[name] = re.sub(r"~numpy\.ndarray\[.*?~numpy\.dtype\[~?([\w.]+)\]\]", r"array of ~\1", shorter)


def setup(app: Any) -> None:
    app.connect("object-description-transform", _shorten_types, priority=400)  # before autodoc writes them
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda translator, node: _formula(translator, node, as_block=False), None),
        block_renderers=(lambda translator, node: _formula(translator, node, as_block=True), None),
    )
    app.connect("source-read", _leave_out_missing)
    app.connect("doctree-read", _enlargeable)
    app.connect("build-finished", _write_report)


html_math_renderer = "mathml"
