"""Pictures, videos and sounds in a real browser: loading them, playing them, and those that are missing."""

import dataclasses

import pytest
from accessibility import focus, problems
from chromium import find_chromium
from studies import sound, video
from study_pages import SHOWN, go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.store.access import Access
from closerthan.collect.study.stimuli import Stimulus

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]


def moving(folder, form):
    """A study about tiny videos or sounds."""

    def medium(number):
        if form == "video":
            return video(folder / f"{number}.webm", (25 * number, 90, 200))
        return sound(folder / f"{number}.wav", 300 + 50 * number)

    objects = tuple(Stimulus(f"object {number}", f"thing {number}", medium(number)) for number in range(5))
    return dataclasses.replace(small(folder, number=3, practice=0), objects=objects)


def test_videos_play_have_names_and_can_be_paused(browser, tmp_path):
    with serving(moving(tmp_path, "video")) as server:
        open_first_question(browser, server)
        videos = "[...document.querySelectorAll('video')]"
        browser.wait_for(f"{videos}.length === 3 && {videos}.every((one) => one.readyState >= 2 && !one.paused)")
        assert browser.ask(f"{videos}.map((one) => [one.videoWidth, one.muted, one.error])") == [[16, True, None]] * 3
        names = browser.ask(f"{videos}.map((one) => one.getAttribute('aria-label'))")
        assert all(name.startswith("thing ") for name in names)
        assert problems(browser) == []
        browser.ask("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Pause videos').click()")
        browser.wait_for(f"{videos}.every((one) => one.paused)")
        browser.ask("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Play videos').click()")
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 3
        assert not browser.complaints()


def test_videos_must_be_played_once_before_an_answer_and_then_go_on(browser, tmp_path):
    with serving(moving(tmp_path, "video")) as server:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        browser.call("Page.navigate", url=server.address)
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        press_main(browser)
        browser.wait_for("current && current.visible")
        videos = "[...document.querySelectorAll('video')]"
        assert browser.ask(f"{videos}.every((one) => one.paused)")  # as the participant prefers
        browser.press("1")
        assert browser.ask("unsent.length === 0 && notice.textContent.startsWith('Please play everything')")
        browser.ask(f"ends = 0; {videos}.forEach((one) => one.addEventListener('ended', () => {{ ends += 1; }}))")
        browser.ask("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Play videos').click()")
        browser.wait_for("current.since !== null")
        assert browser.ask("ends") == 3
        browser.wait_for(f"{videos}.every((one) => one.loop && !one.paused)")
        assert not browser.complaints()


def play(browser, number):
    """Play one of the sounds on the page to its end."""
    browser.ask(f"document.querySelectorAll('.play')[{number}].click()")
    browser.wait_for(f"document.querySelectorAll('.play')[{number}].classList.contains('played')")


def test_sounds_must_be_played_to_the_end_and_the_time_starts_there(browser, tmp_path):
    with serving(moving(tmp_path, "sound")) as server:
        open_first_question(browser, server, "current && current.visible")
        names = browser.ask("[...document.querySelectorAll('.play')].map((one) => one.ariaLabel)")
        assert all(name.startswith("Play: thing ") for name in names)
        assert browser.ask("document.querySelector('.option').getAttribute('aria-disabled')") == "true"
        assert problems(browser) == []
        while not focus(browser)["what"].endswith("play"):
            browser.press("Tab")
        browser.press("Enter")
        browser.wait_for("document.querySelector('.played')")
        assert browser.ask("document.querySelector('.played').ariaLabel") == f"{names[0]}, Played to the end"
        play(browser, 1)
        browser.press("1")  # one sound has not been heard
        assert "Please play everything to the end" in browser.ask("document.getElementById('notice').textContent")
        assert browser.ask("unsent.length === 0 && current.since === null")
        assert problems(browser) == []
        browser.ask("document.addEventListener('ended', () => { end = performance.now(); }, true)")
        play(browser, 2)
        browser.wait_for("current.since !== null")
        assert browser.ask("current.since - end") >= 0
        assert browser.ask("document.getElementById('notice').textContent") == ""
        assert not browser.ask("document.querySelector('.option').hasAttribute('aria-disabled')")
        browser.press("2")
        browser.wait_for("current && current.question.place === 2")
        assert not browser.complaints()
    assert stored(tmp_path, "SELECT choice FROM answers") == 1


def test_a_question_about_sounds_can_be_skipped_before_they_end_without_a_time(browser, tmp_path):
    with serving(dataclasses.replace(moving(tmp_path, "sound"), skip=True)) as server:
        open_first_question(browser, server, SHOWN)
        browser.wait_for("current.visible")
        browser.ask("document.querySelector('.skip').click()")
        browser.wait_for("current && current.question.place === 2")
    assert stored(tmp_path, "SELECT said FROM answers WHERE rt_ms IS NULL") == "skip"


def test_a_study_can_allow_answers_before_the_sounds_end(browser, tmp_path):
    with serving(dataclasses.replace(moving(tmp_path, "sound"), must_play=False)) as server:
        browser.open(server.address)
        assert go_through(browser, lambda number: browser.press("2"), lambda: press_main(browser)) == 3
        assert not browser.complaints()
    assert stored(tmp_path, "SELECT count(rt_ms) FROM answers") == 3


@pytest.mark.parametrize("form", ["image", "sound"])
def test_a_missing_file_is_reported_and_does_not_count(browser, tmp_path, form):
    study = small(tmp_path) if form == "image" else moving(tmp_path, form)
    with serving(dataclasses.replace(study, number=1, practice=0, must_play=False)) as server:
        browser.open(server.address)
        for stimulus in study.objects[1:]:
            stimulus.file.unlink()
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        press_main(browser)  # the instructions
        browser.wait_for("document.body.innerText.includes('this question does not count')")
        assert problems(browser) == []
        press_main(browser)
        browser.wait_for("document.body.dataset.stage === 'complete'")
        faults = stored(tmp_path, "SELECT count(*) FROM faults WHERE object > 0")
        assert faults >= 2
        assert stored(tmp_path, "SELECT said || ifnull(choice, '') FROM answers") == "fault"
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        text = browser.ask("document.getElementById('faults').innerText")
        assert text.startswith("1 question could not be shown")
        assert "object " in text
        assert browser.ask("document.getElementById('tiles').innerText").count("0\nanswers\n") == 1
        assert problems(browser) == []


def test_a_file_is_loaded_again_after_the_connection_was_lost(browser, tmp_path):
    with serving(small(tmp_path, practice=0)) as server:
        browser.open(server.address)
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        browser.wait_for("loading.done === study.media.length")
        browser.call("Network.clearBrowserCache")
        browser.connection(on=False)
        press_main(browser)
        browser.wait_for("document.getElementById('notice').textContent.startsWith('No connection')")
        browser.connection(on=True)
        browser.wait_for(SHOWN)
        assert browser.ask("document.getElementById('notice').textContent") == ""


def test_everything_is_loaded_before_the_first_question(browser, tmp_path):
    study = small(tmp_path)
    with serving(study) as server:
        open_first_question(browser, server)
        loaded = {request.rpartition("/")[2] for request in browser.requests() if "/media/" in request}
        assert loaded == {stimulus.address(Access(tmp_path).key) for stimulus in study.objects}


def test_a_progress_bar_shows_how_much_has_been_loaded_despite_failures(browser, tmp_path):
    study = small(tmp_path)
    with serving(study) as server:
        browser.open(server.address)
        study.objects[5].file.unlink()
        # The last file does not arrive until the test says so.
        browser.ask("""(() => { const real = window.fetch; fetch = (path, options) => path === study.media.at(-1)
            ? new Promise((resolve) => { release = resolve; }).then(() => real(path, options)) : real(path, options);
        })()""")
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        press_main(browser)
        browser.wait_for("document.getElementById('loading')?.value === 7")
        assert browser.ask("document.getElementById('loading').max") == 8
        assert "7 / 8" in browser.ask("document.body.innerText")
        assert problems(browser) == []
        browser.ask("release()")
        browser.wait_for("!document.getElementById('loading')")
