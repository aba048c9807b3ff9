"""The participant's page in other languages, in a real browser."""

import dataclasses

import pytest
from accessibility import problems
from chromium import find_chromium
from studies import sound
from study_pages import go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.study.languages import LANGUAGES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_fits_on_a_narrow_screen_in_every_language(browser, tmp_path, language):
    study = small(tmp_path, language=language, skip=True, tie=True, must_play=False)
    tone = sound(tmp_path / "tone.wav")
    objects = tuple(dataclasses.replace(stimulus, file=tone) for stimulus in study.objects)
    with serving(dataclasses.replace(study, objects=objects)) as server:
        open_first_question(browser, server)
        browser.size(320, 568)
        browser.ask("say(study.texts.waiting)")
        assert browser.ask("document.documentElement.lang") == language
        fits = "(one) => one.scrollWidth <= one.clientWidth"
        assert browser.ask(f"[...document.querySelectorAll('.thing')].every({fits})")
        assert problems(browser) == []


def test_in_a_language_from_right_to_left_the_left_option_is_still_on_the_left(browser, tmp_path):
    with serving(small(tmp_path, language="ar", number=2, practice=0)) as server:
        open_first_question(browser, server)
        assert browser.ask("document.documentElement.dir") == "rtl"
        assert browser.ask("getComputedStyle(document.querySelector('h1')).direction") == "rtl"
        left, right = browser.ask("[...document.querySelectorAll('.option')].map((o) => o.getBoundingClientRect().x)")
        assert left < right
        browser.press("ArrowLeft")
        go_through(browser, lambda number: browser.press("ArrowRight"), lambda: press_main(browser))
    assert stored(tmp_path, "SELECT choice FROM answers JOIN questions ON question = id WHERE place = 1") == 0
    assert stored(tmp_path, "SELECT choice FROM answers JOIN questions ON question = id WHERE place = 2") == 1
