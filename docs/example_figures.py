"""Finds the figures that an example makes. They are not pyplot's, so sphinx-gallery would not see them."""

from typing import Any


def figures_of(_: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Save the figures among an example's variables that are new since the last block."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    saved = variables.setdefault("saved_figures", [])
    paths = []
    for value in list(variables["example_globals"].values()):
        if isinstance(value, Figure) and not any(value is figure for figure in saved):
            saved.append(value)
            paths.append(next(variables["image_path_iterator"]))
            value.savefig(paths[-1])  # at its own resolution: labels were placed for that one
    return figure_rst(paths, gallery["src_dir"])
