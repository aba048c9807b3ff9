"""Questions with several picks in a real browser: keyboard, touch, taking a pick back, and all sizes of screens."""

import pytest
from accessibility import problems
from chromium import find_chromium
from study_pages import go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

PRESSED = "[...document.querySelectorAll('.option')].map((one) => one.ariaPressed === 'true')"


def several(folder, kind="rank", **settings):
    return small(folder, kind=kind, shown=6, picks=2, **settings)


def pressed(browser):
    return [place for place, is_pressed in enumerate(browser.ask(PRESSED)) if is_pressed]


def test_a_whole_study_of_rankings_with_the_keyboard_alone(browser, tmp_path):
    with serving(several(tmp_path)) as server:
        browser.open(server.address)

        def act(number):
            if number % 2:
                browser.press("4")
                browser.press("2")
                browser.press("Enter")
                return
            for key in ("ArrowRight", "ArrowRight", " ", "ArrowLeft", "Enter"):  # the second option, then the first
                browser.press(key)
            while not browser.ask("document.activeElement.closest('.picking') !== null"):
                browser.press("Tab")
            browser.press("Enter")

        press_main(browser)
        browser.wait_for("document.body.innerText.includes('Look.')")
        assert go_through(browser, act, lambda: press_main(browser)) == 7
        assert not browser.complaints()
    picks = stored(
        tmp_path, "SELECT group_concat(picks) FROM (SELECT DISTINCT choice || ':' || more AS picks FROM answers)"
    )
    assert sorted(picks.split(",")) == ["1:0", "3:1"]


def test_a_pick_can_be_taken_back_and_no_more_than_allowed_are_picked(browser, tmp_path):
    with serving(several(tmp_path)) as server:
        open_first_question(browser, server)
        browser.press("Enter")  # nothing is picked yet, so there is nothing to confirm
        for key in "135":
            browser.press(key)
        assert pressed(browser) == [0, 2]
        assert browser.ask("document.getElementById('region').textContent") == "2 of 2 chosen"
        browser.press("1")
        assert pressed(browser) == [2]
        assert browser.ask("document.querySelectorAll('.option')[2].textContent.endsWith('1')")  # the first rank now
        browser.press("6")
        browser.press("Enter")
        browser.wait_for("unsent.length === 0 && questions.length")
    assert stored(tmp_path, "SELECT choice || ':' || more FROM answers") == "2:5"


@pytest.mark.parametrize("size", [(320, 568), (667, 375), (1280, 800)], ids=str)
def test_the_page_is_accessible_and_all_options_fit(browser, tmp_path, size):
    with serving(several(tmp_path, "nearest", skip=True, tie=True)) as server:
        browser.open(server.address, width=size[0], height=size[1])
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        press_main(browser)
        browser.wait_for("current && current.since")
        assert problems(browser) == []
        browser.press("2")
        browser.press("3")
        assert problems(browser) == []
        assert pressed(browser) == [1, 2]
        assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
        # The anchor, all options and the button to confirm are visible without scrolling.
        parts = "[document.querySelector('.anchor'), ...document.querySelectorAll('.option, .picking .main')]"
        assert browser.ask(f"{parts}.every((one) => one.getBoundingClientRect().bottom <= innerHeight)")


def test_options_are_picked_by_touch(browser, tmp_path):
    with serving(several(tmp_path, "nearest")) as server:
        browser.phone()
        browser.call("Page.navigate", url=server.address)
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")

        def act(_):
            browser.tap(".option:nth-child(5)")
            browser.tap(".option:nth-child(2)")
            browser.tap(".picking .main")

        assert go_through(browser, act, lambda: browser.tap(".reading .main")) == 7
    assert stored(tmp_path, "SELECT count(*) FROM answers WHERE choice = 4 AND more = '1'") == 7


def test_feedback_marks_the_expected_option(browser, tmp_path):
    with serving(several(tmp_path, "rank", feedback=True)) as server:
        open_first_question(browser, server)
        expected = browser.ask("current.question.expected")
        browser.press(str(expected + 1))
        browser.press(str((expected + 1) % 6 + 1))
        browser.press("Enter")
        browser.wait_for("document.querySelector('.feedback')")
        assert browser.ask("document.querySelector('.feedback').textContent") == "Correct!"
        assert (
            browser.ask("[...document.querySelectorAll('.option')].findIndex((one) => one.matches('.expected'))")
            == expected
        )
