"""The jsPsych plugin in a real browser: a lab's own experiment, on another site, asks the server for questions."""

import contextlib
import dataclasses
import functools
import http.server
import shutil
import threading
from pathlib import Path

import pytest
from chromium import find_chromium
from paths import ROOT
from studies import sound
from study_pages import small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

JSPSYCH = Path(ROOT) / "node_modules" / "jspsych" / "dist" / "index.browser.min.js"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
    pytest.mark.skipif(not JSPSYCH.exists(), reason="jsPsych is not installed: run npm install"),
]

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Lab</title>
<script src="jspsych.js"></script><script src="{server}jspsych-closerthan.js"></script></head><body data-ready="yes">
<script>
const jsPsych = initJsPsych({{ on_finish: () => {{ document.body.dataset.finished = "yes"; }} }});
const ask = (settings) => ({{ type: jsPsychCloserThan, server: "{server}", ...settings }});
window.onload = () => jsPsych.run([{trials}]);
</script></body></html>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def lab(folder):
    """Serve the pages of a lab, and return their origin."""
    folder.mkdir()
    shutil.copyfile(JSPSYCH, folder / "jspsych.js")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(browser, key="1"):
    """Answer the question on the page, and wait for the next one or the end."""
    browser.wait_for("document.querySelector('.closerthan-card') || document.body.dataset.finished")
    browser.ask("document.querySelectorAll('.closerthan-card').forEach((one) => { one.dataset.old = ''; })")
    browser.ask("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    browser.press(key)
    browser.wait_for("!document.querySelector('.closerthan-card[data-old]')")


def values(browser):
    browser.wait_for("document.body.dataset.finished")
    return browser.ask("jsPsych.data.get().values()")


def test_a_timeline_asks_questions_of_a_study_in_several_trials(browser, tmp_path):
    with lab(tmp_path / "lab") as origin, serving(small(tmp_path, origins=(origin,), language="ar")) as server:
        trials = "ask({ consent: 'given', number: 3 }), ask({ consent: 'given' })"
        (tmp_path / "lab" / "index.html").write_text(PAGE.format(server=server.address, trials=trials))
        browser.open(f"{origin}/index.html")
        browser.wait_for("document.querySelector('.closerthan-card')")
        assert browser.ask("(({ lang, dir }) => [lang, dir])(document.querySelector('.closerthan'))") == ["ar", "rtl"]
        for number in range(7):
            answer(browser, "12"[number % 2])
        first, second = values(browser)
        assert [len(first["answers"]), len(second["answers"])] == [3, 4]
        assert [first["stage"], second["stage"]] == ["questions", "complete"]
        assert [first["code"], second["code"]] == ["", "DONE"]
        assert len(first["withdrawal"]) == 14
        assert [one["choice"] for one in first["answers"]] == [0, 1, 0]
        assert all(one["rt"] >= 0 for one in first["answers"] + second["answers"])
        assert stored(tmp_path) == 7
        assert stored(tmp_path, "SELECT count(*) FROM participants") == 1
        order = stored(tmp_path, "SELECT group_concat(id) FROM (SELECT id FROM questions ORDER BY place)").split(",")
        assert [one["question"] for one in first["answers"] + second["answers"]] == order


def test_the_plugin_can_ask_for_consent_itself(browser, tmp_path):
    with lab(tmp_path / "lab") as origin, serving(small(tmp_path, origins=(origin,))) as server:
        (tmp_path / "lab" / "index.html").write_text(PAGE.format(server=server.address, trials="ask({})"))
        browser.open(f"{origin}/index.html")
        browser.wait_for("document.querySelector('.closerthan button')")
        assert "You agree." in browser.ask("document.body.innerText")
        browser.ask("[...document.querySelectorAll('button')].find((one) => one.textContent.includes('not')).click()")
        (data,) = values(browser)
        assert (data["stage"], data["answers"]) == ("declined", [])
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0


def test_questions_are_continued_after_a_reload(browser, tmp_path):
    with lab(tmp_path / "lab") as origin, serving(small(tmp_path, origins=(origin,))) as server:
        (tmp_path / "lab" / "index.html").write_text(
            PAGE.format(server=server.address, trials="ask({ consent: 'given' })")
        )
        browser.open(f"{origin}/index.html")
        answer(browser)
        browser.open(f"{origin}/index.html")
        for _ in range(6):
            answer(browser)
        (data,) = values(browser)
        assert data["stage"] == "complete"
    assert stored(tmp_path) == 7
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 1


def test_missing_pictures_are_reported_and_sounds_must_be_played(browser, tmp_path):
    study = small(tmp_path, number=2, practice=0)
    with lab(tmp_path / "lab") as origin, serving(dataclasses.replace(study, origins=(origin,))) as server:
        for stimulus in study.objects[1:]:
            stimulus.file.unlink()
        (tmp_path / "lab" / "index.html").write_text(
            PAGE.format(server=server.address, trials="ask({ consent: 'given' })")
        )
        browser.open(f"{origin}/index.html")
        assert [set(one["choice"]) for one in values(browser)[0]["answers"]] == [{"fault"}, {"fault"}]
    assert stored(tmp_path, "SELECT count(DISTINCT question) FROM faults") == 2
    folder = tmp_path / "sounds"
    folder.mkdir()
    objects = tuple(
        dataclasses.replace(one, file=sound(folder / f"{number}.wav")) for number, one in enumerate(study.objects)
    )
    study = dataclasses.replace(study, objects=objects, folder=folder)
    with lab(tmp_path / "lab2") as origin, serving(dataclasses.replace(study, origins=(origin,))) as server:
        (tmp_path / "lab2" / "index.html").write_text(
            PAGE.format(server=server.address, trials="ask({ consent: 'given', number: 1 })")
        )
        browser.open(f"{origin}/index.html")
        browser.wait_for("document.querySelectorAll('audio').length === 3")
        browser.press("1")
        assert "Please play everything" in browser.ask("document.querySelector('[role=status]').textContent")
        browser.ask("""Promise.all([...document.querySelectorAll('audio')].map((one) => new Promise((resolve) => {
            one.addEventListener('ended', resolve); one.parentElement.querySelector('button').click(); })))""")
        browser.press("1")
        (data,) = values(browser)
        assert data["answers"][0]["choice"] == 0


def test_a_site_that_is_not_listed_can_neither_join_nor_read(browser, tmp_path):
    with lab(tmp_path / "lab") as origin, serving(small(tmp_path, origins=("https://lab.example.org",))) as server:
        (tmp_path / "lab" / "index.html").write_text(PAGE.format(server=server.address, trials=""))
        browser.open(f"{origin}/index.html")
        for path, body in (("study", "undefined"), ("join", "'{}'")):
            ask = f"fetch('{server.address}{path}', {{ method: {body} ? 'POST' : 'GET', body: {body} }})"
            assert browser.ask(f"{ask}.then(() => 'read', (error) => error.name)") == "TypeError"
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0
