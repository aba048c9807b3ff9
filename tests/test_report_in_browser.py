import json

import numpy as np
import pytest
from chromium import Chromium, find_chromium

import closerthan as ct

pytest.importorskip("plotly", reason="a report needs plotly")
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = Chromium(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")

    def write(name, result, comparisons, **options):
        ct.write_report(result, comparisons, folder / f"{name}.html", **options)

    cities = ct.datasets.eurodist().comparisons()
    kinds = {"kind": ["north", "south", "west"] * 7, "height": np.linspace(3, 9, 21)}
    picture = np.random.default_rng(0).random((20, 30, 3))
    write("2", ct.embed(cities, seed=0), cities, labels=kinds, thumbnails={"Paris": picture}, title="Cities")
    write("1", ct.embed(cities, n_dims=1, seed=0), cities)
    for n_dims in (3, 5):
        data = ct.datasets.synthetic(60, n_dims, 4000, 1000, flipped=0.1, quadruplets=n_dims == 5, seed=0)
        write(str(n_dims), ct.embed(data.train, n_dims, seed=0, epochs=10), data.train, test=data.test)
    data = ct.datasets.synthetic(10_000, 2, 150_000, 1000, seed=0)
    many = ct.Comparisons.from_triplets(data.train.rows, names=[f"object {number}" for number in range(10_000)])
    write("many", ct.embed(many, seed=0, epochs=5), many)
    n_hostile = len(HOSTILE)
    rows = [[i, j, k] for i in range(n_hostile) for j in range(n_hostile) for k in range(n_hostile)]
    rows = [row for row in rows if abs(row[0] - row[1]) < abs(row[0] - row[2]) and row[0] != row[1]]
    hostile = ct.Comparisons.from_triplets(rows, names=HOSTILE)
    options = {
        "labels": {"<i>kind</i>": ["<b>x</b>", "</script>"] * (n_hostile // 2)},
        "title": "</title><script>ran = 4</script>",
    }
    write("hostile", ct.embed(hostile, seed=0), hostile, **options)
    return folder


@pytest.mark.slow
def test_every_kind_of_map_opens_without_complaint_and_without_any_request(browser, reports):
    for name in ("1", "2", "3", "5", "many", "hostile"):
        browser.open(reports / f"{name}.html")
        assert browser.complaints() == []
        outside = [url for url in browser.requests() if not url.startswith(("data:", "blob:"))]
        assert outside == [(reports / f"{name}.html").as_uri()]


@pytest.mark.slow
def test_many_objects_are_drawn_by_webgl_and_named_when_searched(browser, reports):
    browser.open(reports / "many.html")
    assert browser.ask("document.getElementById('map').data[0].type") == "scattergl"
    assert "WebGL is not supported" not in browser.ask("document.body.innerText")
    assert browser.ask("document.getElementById('map').dataset.labelled") == "0"
    search(browser, "object 4321")
    shown = browser.ask("document.getElementById('map').data[2].text")
    assert "object 4321" in shown
    assert len(shown) > 5


def search(browser, name):
    browser.ask("document.getElementById('search').value = ''; document.getElementById('search').focus()")
    browser.type(name)
    browser.press("Enter")
    browser.wait_for(f"document.querySelector('#object h3')?.textContent === {json.dumps(name)}")


def choose(browser, control, value):
    browser.ask(
        f"(() => {{ const control = document.getElementById('{control}'); control.value = '{value}';"
        "control.dispatchEvent(new Event('change')); return new Promise((resolve) => setTimeout(resolve)); })()"
    )


def test_searching_shows_the_true_neighbours(browser, reports):
    browser.open(reports / "5.html")
    data = ct.datasets.synthetic(60, 5, 4000, 1000, flipped=0.1, quadruplets=True, seed=0)
    x = ct.embed(data.train, 5, seed=0, epochs=10).embedding
    search(browser, "17")
    near = np.argsort(np.linalg.norm(x - x[17], axis=1))[1:11]
    shown = browser.ask("Array.from(document.querySelectorAll('#object ol button'), (button) => button.textContent)")
    assert shown == [str(number) for number in near]


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
    assert "no object has such a name" in browser.ask("document.getElementById('found').innerText")


def test_the_chosen_axes_are_drawn(browser, reports):
    browser.open(reports / "5.html")
    axes = browser.ask("JSON.parse(document.getElementById('data').textContent).axes")
    choose(browser, "axis-x", 3)
    assert browser.ask("Array.from(document.getElementById('map').data[0].x)") == axes[3]
    assert browser.ask("document.getElementById('map').layout.xaxis.title.text").startswith("principal axis 4 (")
    choose(browser, "axis-y", 3)
    assert browser.ask("document.getElementById('axis-x').value") == "1"
    assert browser.ask("Array.from(document.getElementById('map').data[0].x)") == axes[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3", "5"])
def test_three_axes_are_drawn_in_space(browser, reports, name):
    browser.open(reports / f"{name}.html")
    choose(browser, "view", 3)
    browser.wait_for(
        "document.querySelector('#map canvas') && document.getElementById('map').data[0].type === 'scatter3d'"
    )
    assert "WebGL is not supported" not in browser.ask("document.body.innerText")
    search(browser, "9")
    assert len(browser.ask("document.getElementById('map').layout.scene.annotations")) == 11
    choose(browser, "view", 2)
    assert browser.ask("document.getElementById('map').data[0].type") == "scatter"
    assert browser.complaints() == []


def pointed_at(browser, number):
    """Move the pointer to an object on the map."""
    place = browser.ask(
        "(() => { const map = document.getElementById('map'); map.scrollIntoView();"
        "const area = map.getBoundingClientRect();"
        "const {xaxis, yaxis, margin} = map.layout; const points = map.data[0];"
        "const [wide, high] = [area.width - margin.l - margin.r, area.height - margin.t - margin.b];"
        f"const at = (points.x[{number}] - xaxis.range[0]) / (xaxis.range[1] - xaxis.range[0]);"
        f"const up = (points.y[{number}] - yaxis.range[0]) / (yaxis.range[1] - yaxis.range[0]);"
        "return [area.left + margin.l + at * wide, area.top + margin.t + (1 - up) * high]; })()"
    )
    browser.point_at(place[0] - 3, place[1])
    browser.point_at(*place)
    browser.wait_for("!document.getElementById('tip').hidden")
    return place


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


def test_colours_follow_the_chosen_column(browser, reports):
    browser.open(reports / "2.html")
    assert browser.ask("Array.from(document.querySelectorAll('#legend li'), (line) => line.innerText.trim())") == [
        "north (7)",
        "south (7)",
        "west (7)",
    ]
    assert len(set(browser.ask("document.getElementById('map').data[0].marker.color"))) == 3
    choose(browser, "colour", "column1")
    assert len(set(browser.ask("document.getElementById('map').data[0].marker.color"))) == 21
    assert browser.ask("document.querySelector('#legend .ends').innerText").split() == ["3", "9"]


def test_a_name_in_a_violated_answer_leads_to_the_object(browser, reports):
    browser.open(reports / "2.html")
    name = browser.ask("document.querySelector('#violated .name').title")
    browser.ask("document.querySelector('#violated .name').click()")
    assert browser.ask("document.querySelector('#object h3').textContent") == name
    assert browser.ask("document.getElementById('map').data[2].text")[0] == name


@pytest.mark.slow
def test_zooming_in_brings_more_names(browser, reports):
    browser.open(reports / "many.html")
    for _ in range(5):
        browser.ask("document.querySelector('.modebar-btn[data-title=\"Zoom in\"]').click()")
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
    drawn = browser.ask("Array.from(document.querySelectorAll('#map .textpoint'), (label) => label.textContent)")
    assert "<b>bold</b> &lt;i&gt; & co" in drawn
    assert "<br>break<sub>sub</sub>" in drawn
    assert browser.ask("document.querySelectorAll('#map a, #map sub, main script, main img, main b').length") == 0


@pytest.mark.slow
def test_a_script_that_slips_in_is_not_run(browser, reports, tmp_path):
    page = (reports / "2.html").read_text("utf-8")
    changed = page.replace("<main>", "<main><script>window.ran = 1</script><img src='https://example.org/x.png'>")
    assert changed != page
    (tmp_path / "changed.html").write_text(changed, encoding="utf-8")
    browser.open(tmp_path / "changed.html")
    assert browser.ask("typeof window.ran") == "undefined"
    assert any("Content Security Policy" in str(complaint) for complaint in browser.complaints())


def test_no_button_sends_the_data_away(browser, reports):
    for name in ("2", "5"):
        browser.open(reports / f"{name}.html")
        titles = browser.ask("Array.from(document.querySelectorAll('.modebar-btn'), (button) => button.dataset.title)")
        assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out"]
    assert browser.ask("Plotly.toImage('map').then((address) => address.slice(0, 14))") == "data:image/png"
    assert browser.complaints() == []


def test_the_page_follows_dark_mode(browser, reports):
    def brightness():
        colour = browser.ask("document.getElementById('map').layout.paper_bgcolor")
        return int(colour[1:3], 16)

    browser.open(reports / "2.html", dark=True)
    assert brightness() < 60
    browser.media(dark=False)
    browser.wait_for("document.getElementById('map').layout.paper_bgcolor === '#ffffff'")


@pytest.mark.parametrize("name", ["2", "5", "hostile", "many"])
def test_a_narrow_window_needs_no_sideways_scrolling(browser, reports, name):
    browser.open(reports / f"{name}.html", width=360, height=700)
    assert browser.ask("document.documentElement.scrollWidth") <= 360


def test_curves_can_be_drawn_against_time(browser, reports):
    browser.open(reports / "2.html")
    history = browser.ask("JSON.parse(document.getElementById('data').textContent).history")
    for key in ("gradients", "seconds", "epoch"):
        choose(browser, "against", key)
        assert browser.ask("Array.from(document.getElementById('objective').data[0].x)") == history[key]
    assert browser.ask("Array.from(document.getElementById('steps').data[0].y)")[1:] == history["step"][1:]


def test_a_dark_page_is_printed_in_ink_on_paper(browser, reports):
    browser.open(reports / "2.html", dark=True)
    browser.ask("dispatchEvent(new Event('beforeprint'))")
    layout = browser.ask("(({paper_bgcolor, width}) => [paper_bgcolor, width])(document.getElementById('map').layout)")
    assert layout == ["#ffffff", 680]
    browser.ask("dispatchEvent(new Event('afterprint'))")
    assert browser.ask("document.getElementById('map').layout.paper_bgcolor") != "#ffffff"
    assert browser.ask("document.getElementById('map').layout.width") != 680
    assert browser.complaints() == []


def test_the_wheel_zooms(browser, reports):
    browser.open(reports / "2.html")
    width = "(({xaxis}) => xaxis.range[1] - xaxis.range[0])(document.getElementById('map').layout)"
    before = browser.ask(width)
    x, y = browser.ask(
        "(({left, top}) => [left + 350, top + 300])(document.getElementById('map').getBoundingClientRect())"
    )
    browser.point_at(x, y)
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-300)
    browser.wait_for(f"{width} < {0.95 * before}")
