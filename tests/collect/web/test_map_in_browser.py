"""The map on the researcher's page in a real browser, with many names and large ellipses."""

import dataclasses
import json

import numpy as np
import pytest
from accessibility import problems
from chromium import find_chromium
from study_pages import small

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.stimuli import Stimulus

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

BOXES = """[...document.querySelectorAll('#map text')].filter((one) => getComputedStyle(one).visibility === 'visible')
    .map((one) => (({ x, y, width, height }) => [x, y, width, height])(one.getBoundingClientRect()))"""


def mapped(folder, half_axes, n_objects=60):
    """A study about texts, with a map whose ellipses have these semi-axes."""
    objects = tuple(
        Stimulus(f"a text about object {number}", "", None, f"text {number}") for number in range(n_objects)
    )
    study = dataclasses.replace(small(folder), objects=objects)
    places = np.random.default_rng(0).normal(size=(n_objects, 2)).round(4).tolist()
    judgement = {"drawn": places, "spread": [[*half_axes, 30.0]] * n_objects, "accuracy": [], "enough": "Not yet."}
    with Store(folder / FILE) as store:
        store.name_objects([stimulus.name for stimulus in objects])
        values = {"answers": 500, "places": json.dumps(places), "judgement": json.dumps(judgement)}
        store.insert("maps", version=1, made_at=1e9, **values)
    return study


def overlaps(boxes):
    return [
        (one, other)
        for index, one in enumerate(boxes)
        for other in boxes[:index]
        if all(one[axis] < other[axis] + other[axis + 2] - 2 and other[axis] < one[axis] + one[axis + 2] - 2
               for axis in (0, 1))
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1400, 375])
def test_the_names_of_sixty_objects_do_not_overlap(browser, tmp_path, width):
    study = mapped(tmp_path, (0.1, 0.05))
    with serving(study) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=width)
        browser.wait_for("document.querySelectorAll('#map circle').length === 60")
        boxes = browser.ask(BOXES)
        assert len(boxes) > (30 if width > 1000 else 5)
        assert not overlaps(boxes)
        assert all(box[3] > 10 for box in boxes)  # the letters are as large on a phone
        omitted = browser.ask("document.querySelectorAll('#map .omitted').length")
        assert len(boxes) + omitted == 60
        assert f"{omitted} names would overlap others" in browser.ask("document.getElementById('map-note').textContent")
        assert problems(browser) == []
        assert not browser.complaints()


def test_a_name_without_room_is_shown_beside_the_dot_under_the_mouse(browser, tmp_path):
    with serving(mapped(tmp_path, (0.1, 0.05))) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=700)
        browser.wait_for("document.querySelector('#map .omitted')")
        browser.ask("document.getElementById('map').scrollIntoView({ block: 'start' })")
        dot = "document.querySelector('#map .omitted').previousElementSibling"
        x, y = browser.ask(f"(({{ x, y }}) => [x + 4, y + 4])({dot}.getBoundingClientRect())")
        before = len(browser.ask(BOXES))
        browser.point_at(x, y)
        browser.wait_for(f"{BOXES}.length === {before + 1}")
        assert browser.ask("document.querySelectorAll('#map .ellipse.pointed').length") == 1


@pytest.mark.parametrize(("half_axes", "wide"), [((0.1, 0.05), 0), ((1.5, 0.8), 60)])
def test_wide_ellipses_are_only_outlines_below_the_points(browser, tmp_path, half_axes, wide):
    with serving(mapped(tmp_path, half_axes)) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        browser.wait_for("document.querySelectorAll('#map circle').length === 60")
        assert browser.ask("document.querySelectorAll('#map .ellipse.wide').length") == wide
        assert browser.ask("[...document.querySelector('#map svg').children].map((one) => one.tagName)") == [
            *["ellipse"] * 60, *["g"] * 60
        ]  # fmt: skip
        # The points still fill most of the drawing, in whose middle they are.
        for axis, size in (("x", "width"), ("y", "height")):
            first, last = browser.ask(f"""(() => {{ const places = [...document.querySelectorAll('#map circle')]
                .map((one) => one.getBoundingClientRect().{axis} + 4);
                return [Math.min(...places), Math.max(...places)]; }})()""")
            drawing = "document.querySelector('#map svg').getBoundingClientRect()"
            edge, extent = browser.ask(f"(({{ {axis}, {size} }}) => [{axis}, {size}])({drawing})")
            assert last - first > 0.5 * extent
            assert abs((first + last) / 2 - (edge + extent / 2)) < 5


def test_ellipses_are_above_pictures_because_small_ones_would_be_hidden(browser, tmp_path):
    study = mapped(tmp_path, (0.1, 0.05), n_objects=8)
    pictures = small(tmp_path).objects
    objects = tuple(
        dataclasses.replace(stimulus, file=picture.file, text="")
        for stimulus, picture in zip(study.objects, pictures, strict=True)
    )
    with serving(dataclasses.replace(study, objects=objects)) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        browser.wait_for("document.querySelectorAll('#map image').length === 8")
        tags = browser.ask("[...document.querySelector('#map svg').children].map((one) => one.tagName)")
        assert tags == [*["g"] * 8, *["ellipse"] * 8]


def test_the_map_disappears_if_too_few_answers_are_left_for_one(browser, tmp_path):
    with serving(mapped(tmp_path, (0.1, 0.05), n_objects=8)) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        browser.wait_for("document.querySelectorAll('#map circle').length === 8")
        with Store(tmp_path / FILE) as store:
            store.insert("maps", version=2, made_at=1e9, answers=0, places="[]", judgement="{}")
        browser.wait_for("!document.querySelector('#map svg')")
        assert "There is no map" in browser.ask("document.getElementById('enough').textContent")
        assert not browser.complaints()
