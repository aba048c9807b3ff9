"""Make the pictures that the README and the pages show, in docs/images: eurodist, report and sparse-dimensions.

python docs/pictures.py          # needs Chromium for the last two, and Pillow
"""

import dataclasses
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import closerthan as ct
from closerthan.datasets.eurodist import north_up
from closerthan.report.dimension_pages import write_dimension_pages

DOCS = Path(__file__).resolve().parent
IMAGES, EXAMPLES = DOCS / "images", DOCS.parent / "examples"
BROWSER_WINDOW = (1180, 1340)


def main() -> None:
    answers = ct.datasets.eurodist().comparisons()
    result = ct.embed(answers, n_dims=2, seed=0, n_starts=4, validation=0.1)
    result = dataclasses.replace(result, embedding=north_up(result.embedding))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        title = f"{answers.n_objects} European cities, from {len(answers):,} comparisons and no distances"
        figure = ct.plotting.map_figure(result, title=title)
        figure.savefig(folder / "eurodist.png", bbox_inches="tight")
        ct.write_report(answers, result, folder / "report.html", title="21 European cities")
        photograph(folder / "report.html", folder / "report.png")
        example = runpy.run_path(str(EXAMPLES / "plot_23_sparse_dimensions.py"))
        write_dimension_pages(example["dimensions"], folder / "pages", title="Dimensions of 30 objects")
        photograph(folder / "pages" / "index.html", folder / "sparse-dimensions.png")
        for picture in ("eurodist.png", "report.png", "sparse-dimensions.png"):
            Image.open(folder / picture).convert("RGB").quantize(256).save(IMAGES / picture, optimize=True)


def photograph(page: Path, picture: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("there is no Chromium on the path; install one")
    width, height = BROWSER_WINDOW
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},{height}",
         "--virtual-time-budget=8000", f"--screenshot={picture}", page.as_uri()],
        check=True, capture_output=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
