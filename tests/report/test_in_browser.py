import base64
import dataclasses
import json
import re
import zlib

import numpy as np
import pytest
from chromium import Chromium, find_chromium

import closerthan as ct
from closerthan.evaluate.repeats import NoiseCeiling
from closerthan.report.findings import Findings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

HOSTILE = [
    "<script>window.ran = 1; alert(1)</script>",
    "</script><script>window.ran = 2; alert(2)</script>",
    "<img src=x onerror='window.ran = 3'>",
    "<b>bold</b> &lt;i&gt; & co",
    "<a href='javascript:alert(4)'>click</a>",
    "line\u2028separator",
    "$x_1^2$ %{x}",
    "{{DATA}}",
    "<br>break<sub>sub</sub>",
    "",
]
SCATTER = "document.getElementById('map').scatter"
PICTURE = np.random.default_rng(0).random((20, 30, 3))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = Chromium(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")

    def write(name, result, comparisons, **options):
        ct.write_report(comparisons, result, folder / f"{name}.html", **options)

    cities = ct.datasets.eurodist().comparisons()
    kinds = {"kind": ["north", "south", "west"] * 7, "height": np.linspace(3, 9, 21)}
    write("2", ct.embed(cities, seed=0), cities, labels=kinds, thumbnails={"Paris": PICTURE}, title="Cities")
    write("1", ct.embed(cities, n_dims=1, loss="ste", penalty=0, seed=0), cities)
    fit = ct.embed(cities, loss="ste", penalty=0, seed=0)
    for name, scale in (("large", 1e5), ("huge", 1e12), ("tiny", 1e-9)):
        write(name, dataclasses.replace(fit, embedding=scale * fit.embedding), cities)
    for n_dims in (3, 5):
        data = ct.datasets.synthetic(60, n_dims, 4000, 1000, flipped=0.1, quadruplets=n_dims == 5, seed=0)
        fit = ct.embed(data.train, n_dims, loss="ste", penalty=0, seed=0, epochs=10)
        write(str(n_dims), fit, data.train, test=data.test)
        np.save(folder / f"{n_dims}.npy", fit.embedding)
    data = ct.datasets.synthetic(10_000, 2, 150_000, 1000, seed=0)
    many = ct.Comparisons.from_triplets(data.train.rows, names=[f"object {number}" for number in range(10_000)])
    write("many", ct.embed(many, loss="ste", penalty=0, seed=0, epochs=5), many)
    n_hostile = len(HOSTILE)
    rows = [[i, j, k] for i in range(n_hostile) for j in range(n_hostile) for k in range(n_hostile)]
    rows = [row for row in rows if abs(row[0] - row[1]) < abs(row[0] - row[2]) and row[0] != row[1]]
    hostile = ct.Comparisons.from_triplets(rows, names=HOSTILE)
    options = {
        "labels": {"<i>kind</i>": ["<b>x</b>", "</script>"] * (n_hostile // 2)},
        "title": "</title><script>ran = 4</script>",
    }
    write("hostile", ct.embed(hostile, loss="ste", penalty=0, seed=0), hostile, **options)
    return folder


def search(browser, name):
    browser.ask("document.getElementById('search').value = ''; document.getElementById('search').focus()")
    browser.type(name)
    browser.press("Enter")
    browser.wait_for(f"document.querySelector('#object h3')?.textContent === {json.dumps(name)}")


def choose(browser, control, value):
    browser.ask(
        f"(() => {{ const control = document.getElementById('{control}'); control.value = '{value}';"
        "control.dispatchEvent(new Event('change')); })()"
    )


def labelled(browser):
    """The names that are written on the map."""
    return browser.ask(f"{SCATTER}.labels.map((label) => label.text)")


def width_of_frame(browser):
    return browser.ask(f"{SCATTER}.frame.x[1] - {SCATTER}.frame.x[0]")


def is_map_in_sight(browser):
    return browser.ask(
        "(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.getElementById('map').getBoundingClientRect())"
    )


def pointed_at(browser, number):
    """Move the pointer to an object on the map."""
    x, y = browser.ask(
        "(() => { document.getElementById('map').scrollIntoView();"
        "const area = document.getElementById('map').getBoundingClientRect();"
        f"const [x, y] = {SCATTER}.where({number}); return [area.left + x + 1, area.top + y + 1]; }})()"
    )
    browser.point_at(x - 3, y)
    browser.point_at(x, y)
    browser.wait_for("!document.getElementById('tip').hidden")
    return x, y


@pytest.mark.slow
def test_every_kind_of_map_opens_without_complaint_and_without_any_request(browser, reports):
    for name in ("1", "2", "3", "5", "many", "hostile"):
        browser.open(reports / f"{name}.html")
        assert browser.complaints() == []
        outside = [url for url in browser.requests() if not url.startswith("data:")]
        assert outside == [(reports / f"{name}.html").as_uri()]


def inked(browser):
    """Return the number of drawn pixels of the map, by layer."""
    return browser.ask(
        f"{SCATTER}.layers.map((layer) => {{ const copy = document.createElement('canvas');"
        "[copy.width, copy.height] = [layer.width, layer.height]; const pen = copy.getContext('2d');"
        "pen.drawImage(layer, 0, 0); const {data} = pen.getImageData(0, 0, copy.width, copy.height); let inked = 0;"
        "for (let at = 0; at < data.length; at += 4) inked += data[at + 3] > 0 && data[at] < 200; return inked; })"
    )


@pytest.mark.slow
def test_many_objects_are_drawn_by_webgl_and_named_when_searched(browser, reports):
    browser.open(reports / "many.html")
    assert browser.ask(f"{SCATTER}.painter !== null")
    assert inked(browser)[1] > 10_000
    assert labelled(browser) == []
    search(browser, "object 4321")
    assert labelled(browser)[0] == "object 4321"
    assert len(labelled(browser)) > 5
    browser.ask(f"{SCATTER}.layers[1].dispatchEvent(new Event('webglcontextlost')); {SCATTER}.home()")
    below, points, _ = inked(browser)
    assert below > 10_000  # drawn without WebGL
    assert browser.ask(f"{SCATTER}.layers[1].hidden") or points == 0


def test_searching_shows_the_true_neighbours(browser, reports):
    browser.open(reports / "5.html")
    x = np.load(reports / "5.npy")
    search(browser, "17")
    near = np.argsort(np.linalg.norm(x - x[17], axis=1))[1:11]
    names = browser.ask("Array.from(document.querySelectorAll('#object ol button'), (button) => button.textContent)")
    assert names == [str(number) for number in near]
    ringed = browser.ask(f"{SCATTER}.marks.map((mark) => mark.object)")
    assert ringed == [17, *near.tolist()]


def test_the_search_lists_what_it_finds_and_a_click_chooses(browser, reports):
    browser.open(reports / "2.html")
    browser.ask("document.getElementById('search').focus()")
    browser.type("LY")
    hits = browser.ask("Array.from(document.querySelectorAll('#found button'), (button) => button.textContent)")
    assert hits == ["Lyons"]
    browser.ask("document.querySelector('#found button').click()")
    assert browser.ask("document.querySelector('#object h3').textContent") == "Lyons"
    browser.ask("document.getElementById('search').value = ''; document.getElementById('search').focus()")
    browser.type("atlantis")
    assert "no object has a name like this" in browser.ask("document.getElementById('found').innerText")


@pytest.mark.parametrize("size", [(390, 844), (1400, 1000)])
def test_an_object_that_is_searched_for_is_brought_into_view(browser, reports, size):
    browser.open(reports / "2.html", width=size[0], height=size[1])
    search(browser, "Paris")
    assert is_map_in_sight(browser)


@pytest.mark.parametrize("size", [(390, 844), (1400, 1000)])
def test_the_map_fills_its_box(browser, reports, size):
    browser.open(reports / "2.html", width=size[0], height=size[1])
    assert browser.ask(
        f"(() => {{ const {{x, y}} = {SCATTER}.frame; const [across, up] = {SCATTER}.extent;"
        "const shares = [(across[1] - across[0]) / (x[1] - x[0]), (up[1] - up[0]) / (y[1] - y[0])];"
        "return Math.min(...shares) > 0.6; })()"
    )


def test_the_chosen_axes_are_drawn_with_their_titles(browser, reports):
    browser.open(reports / "5.html")
    stored = browser.ask("JSON.parse(document.getElementById('data').textContent).axes")
    axes = [np.frombuffer(base64.b64decode(axis["bytes"]), "<f4") for axis in stored]
    choose(browser, "axis-x", 3)
    np.testing.assert_array_equal(browser.ask(f"Array.from({SCATTER}.axes[0])"), axes[3])
    assert browser.ask(f"{SCATTER}.titles[0]").startswith("principal axis 4 (")
    choose(browser, "axis-y", 3)
    assert browser.ask("document.getElementById('axis-x').value") == "1"
    np.testing.assert_array_equal(browser.ask(f"Array.from({SCATTER}.axes[0])"), axes[1])


def texts_within(browser):
    """Texts that the map draws, and whether all of each is inside."""
    return browser.ask(
        f"(() => {{ const scatter = {SCATTER}; const pen = scatter.layers[2].getContext('2d'); const seen = [];"
        "const original = pen.fillText; pen.fillText = function (text, x, y, most) {"
        "  const {a, b, c, d, e, f} = this.getTransform();"
        "  const wide = Math.min(this.measureText(text).width, most ?? Infinity);"
        "  const left = {center: x - wide / 2, right: x - wide, left: x}[this.textAlign];"
        "  const corners = [[left, y - 6], [left + wide, y + 6]]"
        "    .map(([u, v]) => [a * u + c * v + e, b * u + d * v + f]);"
        "  const {width, height} = this.canvas;"
        "  seen.push([text, corners.every(([u, v]) => u >= -1 && v >= -1 && u <= width + 1 && v <= height + 1)]);"
        "  return original.apply(this, arguments); };"
        "scatter.draw(); delete pen.fillText; return seen; })()"
    )


@pytest.mark.parametrize("size", [(390, 844), (1400, 1000)])
@pytest.mark.parametrize("view", [2, 3])
def test_no_title_of_an_axis_is_cut_off(browser, reports, size, view):
    browser.open(reports / "5.html", width=size[0], height=size[1])
    choose(browser, "view", view)
    texts = texts_within(browser)
    assert sum("axis" in text for text, _ in texts) == view
    assert [text for text, is_inside in texts if not is_inside] == []


@pytest.mark.parametrize("name", ["1", "large", "huge", "tiny"])
def test_no_number_beside_an_axis_is_cut_off(browser, reports, name):
    browser.open(reports / f"{name}.html", width=390, height=844)
    assert [text for text, is_inside in texts_within(browser) if not is_inside] == []
    for _ in range(8):
        browser.ask(f"{SCATTER}.zoom(1.7)")
    assert [text for text, is_inside in texts_within(browser) if not is_inside] == []
    assert browser.complaints() == []


@pytest.mark.parametrize("name", ["3", "5"])
def test_three_axes_are_drawn_in_space_and_turned(browser, reports, name):
    browser.open(reports / f"{name}.html")
    choose(browser, "view", 3)
    assert browser.ask(f"{SCATTER}.view") == 3
    search(browser, "9")
    assert labelled(browser)[0] == "9"
    before = browser.ask(f"{SCATTER}.where(9)")
    browser.ask("document.getElementById('map').focus()")
    browser.press("ArrowRight")
    assert np.hypot(*np.subtract(browser.ask(f"{SCATTER}.where(9)"), before)[:2]) > 3
    choose(browser, "view", 2)
    assert browser.ask(f"{SCATTER}.view") == 2
    assert browser.complaints() == []


def test_pointing_at_an_object_shows_name_picture_and_fit(browser, reports):
    browser.open(reports / "2.html")
    cities = ct.datasets.eurodist().comparisons()
    result = ct.embed(cities, seed=0)
    paris = cities.names.index("Paris")
    place = pointed_at(browser, paris)
    text = browser.ask("document.getElementById('tip').innerText")
    agreed = 1 - ct.metrics.object_errors(cities, result.embedding)[paris]
    assert text.startswith("Paris")
    assert f"{100 * agreed:.1f} % of its {np.sum(cities.rows == paris)} answers agree" in text
    assert "kind:" in text
    assert browser.ask("document.querySelector('#tip img').naturalWidth") > 0
    browser.point_at(*place, click=True)
    browser.wait_for("document.querySelector('#object h3')?.textContent === 'Paris'")


def test_a_picture_has_a_frame_in_the_colour_of_its_object(browser, reports):
    browser.open(reports / "2.html")
    paris = ct.datasets.eurodist().comparisons().names.index("Paris")
    browser.wait_for(f"{SCATTER}.pictured.has({paris})")
    colour = browser.ask(f"Array.from({SCATTER}.looks.colours.subarray({4 * paris}, {4 * paris + 3}))")
    x, y = browser.ask(f"{SCATTER}.where({paris}).map(Math.round)")[:2]
    wide = browser.ask(f"{SCATTER}.pictured.get({paris}).width")
    edge = browser.ask(
        f"Array.from({SCATTER}.layers[2].getContext('2d').getImageData({round(x - wide / 2)}, {y}, 1, 1).data)"
    )
    assert edge[:3] == pytest.approx(colour, abs=3)
    search(browser, "Paris")
    assert (
        browser.ask("document.querySelector('#object img').style.borderColor") == f"rgb({', '.join(map(str, colour))})"
    )


def test_colours_follow_the_chosen_column(browser, reports):
    browser.open(reports / "2.html")
    colours = f"Array.from({{length: 21}}, (_, at) => {SCATTER}.looks.colours.subarray(4 * at, 4 * at + 3).join())"
    assert browser.ask("Array.from(document.querySelectorAll('#legend li'), (line) => line.innerText.trim())") == [
        "north (7)",
        "south (7)",
        "west (7)",
    ]
    assert len(set(browser.ask(colours))) == 3
    choose(browser, "colour", "column1")
    assert len(set(browser.ask(colours))) == 21
    assert browser.ask("document.querySelector('#legend .ends').innerText").split() == ["3", "9"]


def test_a_name_in_a_violated_answer_leads_to_the_object_and_back(browser, reports):
    browser.open(reports / "2.html", width=1400, height=1000)
    button = "document.querySelector('#violated tr:nth-child(9) .name')"
    name = browser.ask(f"{button}.title")
    browser.ask(f"{button}.scrollIntoView({{block: 'end'}}); {button}.click()")
    assert browser.ask("document.querySelector('#object h3').textContent") == name
    assert labelled(browser)[0] == name
    assert is_map_in_sight(browser)
    browser.ask("document.getElementById('back').click()")
    assert browser.ask(f"document.activeElement === {button}")


@pytest.mark.parametrize(("name", "size"), [("2", (390, 844)), ("5", (1400, 1000))])
def test_a_violated_answer_is_drawn_on_the_map(browser, reports, name, size):
    browser.open(reports / f"{name}.html", width=size[0], height=size[1])
    objects = browser.ask("JSON.parse(document.getElementById('data').textContent).violations[0].objects")
    button = "document.querySelector('#violated td:last-child button')"
    browser.ask(f"{button}.scrollIntoView({{block: 'end'}}); {button}.click()")
    assert is_map_in_sight(browser)
    near, far = browser.ask(f"{SCATTER}.lines.map(({{from, to}}) => [from, to])")
    assert near == objects[:2]
    assert far == ([objects[0], objects[2]] if len(objects) == 3 else objects[2:])


def test_the_keyboard_moves_zooms_and_chooses(browser, reports):
    browser.open(reports / "2.html")
    browser.ask("document.getElementById('map').focus()")
    before = browser.ask(f"{SCATTER}.frame")
    browser.press("ArrowRight")
    assert browser.ask(f"{SCATTER}.frame.x[0]") > before["x"][0]
    browser.press("+")
    assert width_of_frame(browser) < 0.8 * (before["x"][1] - before["x"][0])
    browser.press("0")
    assert browser.ask(f"{SCATTER}.frame") == before
    browser.press("ArrowUp", shift=True)
    first = browser.ask(f"{SCATTER}.marks[0].object")
    browser.press("ArrowUp", shift=True)
    second = browser.ask(f"{SCATTER}.marks[0].object")
    assert browser.ask(f"{SCATTER}.where({second})[1] < {SCATTER}.where({first})[1]")
    browser.press("Escape")
    assert browser.ask(f"{SCATTER}.marks") == []


def test_a_drag_moves_the_map_and_is_not_a_click(browser, reports):
    browser.open(reports / "2.html")
    place = pointed_at(browser, 3)
    before = browser.ask(f"{SCATTER}.where(3)")
    browser.drag(*place, place[0] + 40, place[1] + 30)
    assert np.subtract(browser.ask(f"{SCATTER}.where(3)"), before)[:2] == pytest.approx([40, 30], abs=2)
    assert browser.ask(f"{SCATTER}.marks") == []


@pytest.mark.slow
def test_zooming_in_brings_more_names(browser, reports):
    browser.open(reports / "many.html")
    for _ in range(6):
        browser.ask("document.getElementById('zoom-in').click()")
    browser.wait_for("Number(document.getElementById('map').dataset.labelled) > 5")


def test_hostile_names_are_shown_and_not_run(browser, reports):
    browser.open(reports / "hostile.html")
    for view in range(len(HOSTILE)):
        if HOSTILE[view]:
            search(browser, HOSTILE[view])
    pointed_at(browser, 0)
    assert browser.ask("document.querySelector('#tip strong').textContent") == HOSTILE[0]
    assert browser.ask("typeof window.ran") == "undefined"
    assert browser.complaints() == []
    assert browser.ask("document.title") == "</title><script>ran = 4</script>"
    assert "<b>bold</b> &lt;i&gt; & co" in labelled(browser)
    assert "<br>break<sub>sub</sub>" in labelled(browser)
    assert browser.ask("document.querySelectorAll('main :is(a, sub, script, img, b)').length") == 0


@pytest.mark.slow
def test_a_script_that_slips_in_is_not_run(browser, reports, tmp_path):
    page = (reports / "2.html").read_text("utf-8")
    changed = page.replace("<main>", "<main><script>window.ran = 1</script><img src='https://example.org/x.png'>")
    assert changed != page
    (tmp_path / "changed.html").write_text(changed, encoding="utf-8")
    browser.open(tmp_path / "changed.html")
    assert browser.ask("typeof window.ran") == "undefined"
    assert any("Content Security Policy" in str(complaint) for complaint in browser.complaints())


@pytest.mark.parametrize("name", ["2", "many"])
def test_the_map_can_be_saved_as_a_picture(browser, reports, name):
    browser.open(reports / f"{name}.html")
    picture = browser.ask(f"{SCATTER}.picture().toDataURL('image/png')")
    assert picture.startswith("data:image/png")
    assert len(picture) > 10_000
    assert browser.complaints() == []


def paper(browser):
    """The colour of the map's corner."""
    return browser.ask(f"Array.from({SCATTER}.layers[0].getContext('2d').getImageData(1, 1, 1, 1).data)")[:3]


def test_the_page_follows_dark_mode(browser, reports):
    browser.open(reports / "2.html", dark=True)
    assert max(paper(browser)) < 60
    browser.media(dark=False)
    browser.wait_for(f"{SCATTER}.layers[0].getContext('2d').getImageData(1, 1, 1, 1).data[0] === 255")


@pytest.mark.parametrize("name", ["2", "5", "hostile", "many"])
def test_a_narrow_window_needs_no_sideways_scrolling(browser, reports, name):
    browser.open(reports / f"{name}.html", width=360, height=700)
    assert browser.ask("document.documentElement.scrollWidth") <= 360


def test_curves_can_be_drawn_against_time(browser, reports):
    browser.open(reports / "2.html")
    history = browser.ask("JSON.parse(document.getElementById('data').textContent).history")
    charts = []
    for key in ("gradients", "seconds", "epoch"):
        choose(browser, "against", key)
        charts.append(browser.ask("document.querySelector('#objective svg').textContent"))
        marks = browser.ask("document.querySelectorAll('#objective circle').length")
        assert marks == len(history["objective"])
    assert len(set(charts)) == 3
    heights = browser.ask(
        "Array.from(document.querySelectorAll('#objective circle'), (mark) => -mark.getAttribute('cy'))"
    )
    assert np.argsort(heights).tolist() == np.argsort(history["objective"]).tolist()


def test_a_dark_page_is_printed_in_ink_on_paper(browser, reports):
    browser.open(reports / "2.html", dark=True)
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    assert paper(browser) == [255, 255, 255]
    assert browser.ask(f"{SCATTER}.size.width") == 680
    browser.ask("dispatchEvent(new Event('afterprint'))")
    assert paper(browser) != [255, 255, 255]
    assert browser.ask(f"{SCATTER}.size.width") != 680
    assert browser.complaints() == []


def test_the_wheel_zooms(browser, reports):
    browser.open(reports / "2.html")
    before = width_of_frame(browser)
    x, y = browser.ask(
        "(({left, top}) => [left + 350, top + 300])(document.getElementById('map').getBoundingClientRect())"
    )
    browser.point_at(x, y)
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-300)
    browser.wait_for(f"{SCATTER}.frame.x[1] - {SCATTER}.frame.x[0] < {0.95 * before}")


def test_two_fingers_zoom_and_a_tap_chooses(browser, reports):
    browser.open(reports / "2.html", width=390, height=844)
    before = width_of_frame(browser)
    x, y = browser.ask(
        "(() => { const map = document.getElementById('map'); map.scrollIntoView();"
        "const area = map.getBoundingClientRect(); return [area.left + 150, area.top + 100]; })()"
    )
    browser.touch("touchStart", (x - 20, y), (x + 20, y))
    for apart in (30, 40, 60):
        browser.touch("touchMove", (x - apart, y), (x + apart, y))
    browser.touch("touchEnd")
    browser.wait_for(f"{SCATTER}.frame.x[1] - {SCATTER}.frame.x[0] < {0.6 * before}")
    browser.ask("document.getElementById('whole').click()")
    x, y = browser.ask(
        "(() => { const area = document.getElementById('map').getBoundingClientRect();"
        f"const [x, y] = {SCATTER}.where(0); return [area.left + x, area.top + y]; }})()"
    )
    browser.touch("touchStart", (x, y))
    browser.touch("touchEnd")
    browser.wait_for("document.querySelector('#object h3')?.textContent === 'Athens'")


@pytest.fixture(scope="module")
def doubtful(tmp_path_factory):
    """A page with replicates, in which one object has no answers."""
    x = np.random.default_rng(0).standard_normal((15, 2))
    rows = ct.datasets.simulated(x, 2000, noise="ste", seed=0).rows
    rows = rows[(rows != 14).all(axis=1)]
    people = np.arange(len(rows)) % 6
    answers = ct.Comparisons.from_triplets(rows, n_objects=15, people=people, unmentioned="ignore")
    many = ct.replicate(answers, n_replicates=20, loss="ste", penalty=0, seed=0)
    people = ct.assess_people(answers, loss="ste", penalty=0, seed=0)
    path = tmp_path_factory.mktemp("doubt") / "report.html"
    ct.write_report(answers, many.result, path, findings=Findings(many, people))
    return path


def test_uncertain_objects_are_drawn_and_listed(browser, doubtful):
    browser.open(doubtful)
    assert browser.complaints() == []
    assert browser.ask(f"{SCATTER}.ellipses.objects.length") == 15
    assert browser.ask(
        "Array.from(document.querySelectorAll('.unsettled button'), (button) => button.textContent)"
    ) == ["14"]
    assert browser.ask(f"Array.from({SCATTER}.doubtful)") == [14]
    titles = browser.ask("Array.from(document.querySelectorAll('.finding h3'), (title) => title.textContent)")
    assert "Are the probabilities right?" in titles
    assert "Can the people be trusted?" in titles
    assert "Are the answers enough?" not in titles


def test_ellipses_and_neighbours_are_switched_by_keyboard(browser, doubtful):
    browser.open(doubtful)
    for name in ("ellipses", "graph"):
        before = inked(browser)[0]
        browser.ask(f"document.getElementById('{name}').focus()")
        browser.call(
            "Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", text=" ", windowsVirtualKeyCode=32
        )
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space", windowsVirtualKeyCode=32)
        assert browser.ask(f"document.getElementById('{name}').checked") == (name == "graph")
        assert inked(browser)[0] != before
    search(browser, "3")
    assert browser.ask(f"{SCATTER}.ellipses.objects") == [3]  # the ellipse of the chosen object is always drawn
    assert "of the triplets about it are decided" in browser.ask("document.getElementById('object').textContent")


def test_a_page_without_replicates_has_no_switches(browser, reports):
    browser.open(reports / "1.html")
    assert browser.ask("document.getElementById('ellipses-choice').hidden && document.getElementById('believe').hidden")


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, {"width": 390, "height": 844}])
def test_groups_are_listed_and_their_tree_leads_to_objects(browser, tmp_path_factory, size):
    cities = ct.datasets.eurodist().comparisons()
    fit = ct.embed(cities, loss="ste", penalty=0, seed=0)
    path = tmp_path_factory.mktemp("groups") / "report.html"
    noisy = [fit.embedding + np.random.default_rng(seed).normal(size=(21, 2)) for seed in range(5)]
    ct.write_report(cities, fit, path, groups=ct.cluster(fit, 3, maps=noisy))
    browser.open(path, **size)
    assert browser.complaints() == []
    assert browser.ask("document.querySelectorAll('#groups tbody tr').length") == 3
    assert browser.ask("document.getElementById('colour').selectedOptions[0].textContent") == "group"
    leaves = browser.ask("Array.from(document.querySelectorAll('#groups .leaf'), (leaf) => leaf.firstChild.data)")
    assert sorted(leaves) == sorted(fit.names)
    middle = "getComputedStyle(document.querySelector('#groups tbody td:nth-child(2)'))"
    assert browser.ask(f"{middle}.whiteSpace") == "nowrap"  # a name of several words stays in its line
    tree = "document.querySelector('#groups .tree svg')"
    assert browser.ask(  # no name is cut off
        f"Array.from(document.querySelectorAll('#groups .leaf')).every((leaf) => "
        f"leaf.getBoundingClientRect().right <= {tree}.getBoundingClientRect().right + 1)"
    )
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    browser.ask("document.querySelector('#groups .leaf').focus()")
    browser.press("Enter")
    browser.wait_for(f"document.querySelector('#object h3')?.textContent === {json.dumps(leaves[0])}")


def test_a_page_without_groups_has_no_section_of_them(browser, reports):
    browser.open(reports / "1.html")
    assert browser.ask("document.getElementById('groups').hidden")


def ink_in_printed_map(browser):
    """The fraction of the printed map that has ink, by the images of the PDF that the browser prints."""
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    ink = 0.0
    for match in re.finditer(rb"/Subtype\s*/Image\s+/Width (\d+)\s+/Height (\d+)(.*?)>>\s*stream\r?\n", pdf, re.S):
        width, height = int(match[1]), int(match[2])
        if width < 600:
            continue  # such as the bar of the legend
        data = zlib.decompress(pdf[match.end() : pdf.index(b"endstream", match.end())])
        pixels = np.frombuffer(data, dtype=np.uint8).reshape(height, width, -1)
        if pixels.shape[2] == 1:  # how opaque a layer of the map is
            ink += float((pixels > 100).mean())
        elif b"/SMask" not in match[3]:
            ink += float((pixels.min(axis=2) < 250).mean())
    return ink


@pytest.mark.parametrize("name", ["2", pytest.param("many", marks=pytest.mark.slow)])
def test_the_printed_map_has_its_points(browser, reports, name):
    browser.open(reports / f"{name}.html")
    before = ink_in_printed_map(browser)
    browser.ask("document.getElementById('map').focus()")
    browser.ask(f"{SCATTER}.pan(100000, 0)")  # only the grid remains
    assert ink_in_printed_map(browser) < before - 0.005


def test_the_printed_map_has_its_ellipses(browser, doubtful):
    browser.open(doubtful)
    with_ellipses = ink_in_printed_map(browser)
    browser.ask("document.getElementById('ellipses').click()")
    assert 0.005 < ink_in_printed_map(browser) < 0.7 * with_ellipses


def test_a_whole_map_is_printed_whole(browser, reports):
    browser.open(reports / "2.html", width=1500, height=500)
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    spans = browser.ask(f"[0, 1].map((axis) => [{SCATTER}.extent[axis], Object.values({SCATTER}.frame)[axis]])")
    browser.ask("dispatchEvent(new Event('afterprint'))")
    filled = [(high - low) / (end - start) for (low, high), (start, end) in spans]
    assert 0.8 < max(filled) < 1


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A page whose objects are too many to draw all their ellipses."""
    x = np.random.default_rng(0).standard_normal((90, 2))
    answers = ct.datasets.simulated(x, 2500, noise="ste", seed=0)
    many = ct.replicate(answers, n_replicates=6, loss="ste", penalty=0, seed=0)
    path = tmp_path_factory.mktemp("crowd") / "report.html"
    ct.write_report(answers, many.result, path, findings=many)
    return path


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A page with everything that a page can have: long names, groups, people, their maps and a learning curve."""
    x = np.random.default_rng(0).standard_normal((24, 2))
    rows = ct.datasets.simulated(x, 3000, noise="ste", seed=0).rows
    names = [f"a photograph with a long name {number}" for number in range(24)]
    answers = ct.Comparisons.from_triplets(rows, names=names, people=np.arange(len(rows)) % 20)
    many = ct.replicate(answers, n_replicates=8, loss="ste", penalty=0, seed=0)
    people = ct.assess_people(answers, loss="ste", penalty=0, seed=0)
    curve = ct.learning_curve(answers, loss="ste", penalty=0, n_folds=2, n_replicates=0, seed=0)
    curve = dataclasses.replace(curve, ceilings=(NoiseCeiling("a person", 0.8, 0.79, 0.81, 900),) * 2)
    path = tmp_path_factory.mktemp("complete") / "report.html"
    maps = ct.embed_people(answers, 2, loss="ste", penalty=0.1, spread=0.3, seed=0)
    findings = Findings(many, people, individuals=maps, curve=curve)
    ct.write_report(answers, many.result, path, findings=findings, groups=ct.cluster(many.result, 9))
    return path


CUT = """
(() => [...document.querySelectorAll(".scroll, .tree, pre")]
  .filter((box) => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth + 1)
  .map((box) => box.textContent.slice(0, 80)))()
"""
CUT_TEXTS = """
(() => [...document.querySelectorAll(".chart svg, .tree svg")].flatMap((picture) => {
  const {left, right} = picture.getBoundingClientRect();
  return [...picture.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < left - 1 || box.right > right + 1;
  }).map((text) => text.textContent);
}))()
"""


@pytest.mark.slow
def test_nothing_of_a_printed_page_is_cut(browser, complete):
    browser.open(complete, width=718, height=1000)  # A4 with Chromium's margins
    browser.media(printed=True)
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    assert browser.ask(CUT) == []
    assert browser.ask(CUT_TEXTS) == []
    is_visible = "(button) => button.offsetParent && !button.closest('#legend')"
    assert browser.ask(f"[...document.querySelectorAll('button:not(.name)')].filter({is_visible}).length") == 0
    browser.ask("dispatchEvent(new Event('afterprint'))")
    browser.media()


@pytest.mark.slow
def test_charts_and_groups_fit_on_a_phone(browser, complete):
    browser.open(complete, width=390, height=844)
    assert browser.ask(CUT_TEXTS) == []
    assert browser.ask("document.querySelector('.stacked').closest('.scroll').scrollWidth") <= 390
    # One group is not more than a third of the screen: its names stand beside each other.
    assert (
        browser.ask("Math.max(...Array.from(document.querySelectorAll('.stacked tr'), (row) => row.offsetHeight))")
        < 280
    )


@pytest.mark.slow
def test_the_names_of_lines_hide_nothing_of_a_chart(browser, complete):
    browser.open(complete)
    overlaps = """[...document.querySelectorAll(".chart svg")].flatMap((picture) => {
      const lines = [...picture.querySelectorAll("path")];
      const top = Math.min(...lines.map((line) => line.getBoundingClientRect().top));
      const isKey = (text) => /held out|measured|curve|noise/.test(text.textContent);
      const keys = [...picture.querySelectorAll("text")].filter(isKey);
      return keys.filter((key) => key.getBoundingClientRect().bottom > top + 1).map((key) => key.textContent);
    })"""
    assert browser.ask(overlaps) == []


def test_ellipses_that_would_hide_each_other_are_drawn_one_at_a_time(browser, crowded):
    browser.open(crowded)
    assert browser.ask(f"{SCATTER}.ellipses.objects") == []
    assert not browser.ask("document.getElementById('ellipses').checked")
    pointed_at(browser, 7)
    assert browser.ask(f"{SCATTER}.ellipses.objects") == [7]
    browser.point_at(5, 5)
    browser.wait_for(f"{SCATTER}.ellipses.objects.length === 0")
    browser.ask("document.getElementById('ellipses').click()")
    assert browser.ask(f"{SCATTER}.ellipses.objects.length") == 90


@pytest.mark.parametrize("page", ["doubtful", "crowded"])
def test_no_name_runs_over_a_point(browser, page, request):
    browser.open(request.getfixturevalue(page))
    hidden = browser.ask(
        f"(() => {{ const map = {SCATTER}, pen = map.layers[2].getContext('2d');"
        "pen.font = '12px system-ui, sans-serif';"
        "const half = map.pointSize / 2, all = Array.from({length: map.count}, (_, object) => map.where(object));"
        "return map.labels.filter(({object, text, right, down}) => { const [x, y] = map.where(object);"
        "const width = pen.measureText(text).width; return all.some(([a, b]) => a > x + right - half &&"
        "a < x + right + width + half && b > y + down - 7 - half && b < y + down + 7 + half); })"
        ".map(({text}) => text); })()"
    )
    assert hidden == []
    assert len(labelled(browser)) > 10
