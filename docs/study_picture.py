"""Make docs/images/collect.png: a participant's and the researcher's page of a study with made-up answers.

python docs/study_picture.py          # needs Chromium, Pillow, and the extra collect
"""

import colorsys
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from chromium import Chromium, find_chromium  # noqa: E402
from local_server import serving  # noqa: E402

from closerthan.collect.choosing.refit import refit  # noqa: E402
from closerthan.collect.store.access import Access  # noqa: E402
from closerthan.collect.store.database import FILE, Store  # noqa: E402
from closerthan.collect.study.description import read_study  # noqa: E402
from closerthan.collect.study.new import make_study  # noqa: E402
from closerthan.collect.web.interview import Interview  # noqa: E402

N_SHAPES, N_PEOPLE = 24, 40
# Past the practice, and no check question.
TYPICAL = """current?.question && !current.question.practice && current.question.place > 8
  && current.question.options.every((one) => one.source !== current.question.anchor.source)"""
PARTICIPANT, RESEARCHER = (900, 900), (1280, 1180)


def draw_shapes(folder: Path) -> None:
    folder.mkdir()
    for number in range(N_SHAPES):
        picture = Image.new("RGB", (960, 960), "white")
        hue, corners, size = number / N_SHAPES, 3 + number % 6, 380 - 40 * (number % 3)
        colour = tuple(int(255 * one) for one in colorsys.hsv_to_rgb(hue, 0.62, 0.86))
        angles = [2 * math.pi * corner / corners - math.pi / 2 for corner in range(corners)]
        points = [(480 + size * math.cos(angle), 480 + size * math.sin(angle)) for angle in angles]
        ImageDraw.Draw(picture).polygon(points, fill=colour)
        picture.resize((320, 320)).save(folder / f"shape-{number:02d}.png")


def answer(study, rng: random.Random) -> None:
    """People who judge by colour, and one who does not look."""
    with Store(study.folder / FILE) as store:
        store.change("PRAGMA synchronous = OFF")
        now = time.time() - 40 * 3600
        interview = Interview(study, store, Access(study.folder).key, clock=lambda: now)
        place = {f"media/{one.address(Access(study.folder).key)}": number for number, one in enumerate(study.objects)}
        for person in range(N_PEOPLE):
            key = f"person {person:08d}"
            now += 3600 * rng.random() * 40 / N_PEOPLE * 1.9
            state = interview.join(key, study.consent_version, {})
            while state["stage"] == "questions" and not (person == 8 and rng.random() < 0.04):
                question = state["questions"][0]
                hues = [2 * math.pi * place[one["source"]] / N_SHAPES for one in
                        (question["anchor"], *question["options"])]  # fmt: skip
                far = [1 - math.cos(hue - hues[0]) + rng.gauss(0, 0.15) for hue in hues[1:]]
                choice = 0 if person == 35 else int(far[1] < far[0])
                state = interview.answer(key, question["id"], choice, int(rng.lognormvariate(7.3, 0.4)))
            if person % 8 == 7:
                refit(study, store)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw_shapes(folder / "shapes")
        make_study(folder / "study", folder / "shapes", title="Which shapes look alike?")
        study = read_study(folder / "study")
        answer(study, random.Random(0))
        browser = Chromium(find_chromium() or "", folder / "profile")
        try:
            with serving(study) as server:
                browser.open(server.address, width=PARTICIPANT[0], height=PARTICIPANT[1])
                for _ in range(2):
                    browser.wait_for("document.querySelector('.reading .main:not([data-old])')")
                    browser.ask("(() => { const one = document.querySelector('.reading .main');"
                                "one.dataset.old = ''; one.click(); })()")  # fmt: skip
                while not browser.ask(TYPICAL):
                    browser.wait_for("document.querySelector('.reading .main') || (current && current.since)")
                    browser.ask("document.querySelector('.reading .main')?.click()")
                    browser.wait_for("current && current.since")
                    number = browser.ask("current.question.id")
                    browser.press("1")
                    browser.wait_for(f"!current || current.question.id !== {number!r}")
                browser.wait_for("current && current.since")
                browser.screenshot(folder / "participant.png", whole=False)
                width, height = RESEARCHER
                browser.open(f"{server.address}researcher/#{Access(study.folder).token}", width=width, height=height)
                browser.wait_for("document.querySelectorAll('#map image').length === " + str(N_SHAPES))
                browser.ask("new Promise((resolve) => setTimeout(resolve, 500))")
                browser.screenshot(folder / "researcher.png", whole=False)
        finally:
            browser.close()
        pages = [Image.open(folder / f"{one}.png").convert("RGB") for one in ("participant", "researcher")]
        height = 700
        pages = [page.resize((page.width * height // page.height, height), Image.Resampling.LANCZOS) for page in pages]
        both = Image.new("RGB", (sum(page.width for page in pages) + 30, height + 2), "white")
        x = 0
        for page in pages:
            both.paste("#b9bec7", (x, 0, x + page.width + 2, height + 2))
            both.paste(page, (x + 1, 1))
            x += page.width + 28
        both.quantize(256).save(ROOT / "docs" / "images" / "collect.png", optimize=True)


if __name__ == "__main__":
    main()
