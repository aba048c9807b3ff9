"""Pausing, closing, piloting and withdrawing, in a real browser."""

import dataclasses

import pytest
from accessibility import problems
from chromium import find_chromium
from study_pages import go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.store.access import Access
from closerthan.collect.store.admission import set_state
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.study.description import Codes
from closerthan.collect.study.recruiters import RECRUITERS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]


def change_state(folder, state):
    with Store(folder / FILE) as store:
        set_state(store, state)


def press(browser, words):
    browser.ask(
        f"[...document.querySelectorAll('button')].find((button) => button.textContent.includes({words!r})).click()"
    )


def test_people_who_come_to_a_closed_study_see_the_code_for_it(browser, tmp_path):
    with serving(small(tmp_path, codes=Codes(study_full="FULL-1"))) as server:
        change_state(tmp_path, "closed")
        browser.open(server.address)
        browser.wait_for("document.body.dataset.stage === 'full'")
        text = browser.ask("document.body.innerText")
        assert "The study has all the participants that it needs" in text
        assert "FULL-1" in text
        assert problems(browser) == []
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID={{%PROLIFIC_PID%}}"])
def test_people_without_a_recruiters_id_are_told_what_to_do(browser, tmp_path, query):
    with serving(small(tmp_path, recruiter=RECRUITERS["prolific"])) as server:
        browser.open(server.address + query)
        browser.wait_for("document.body.dataset.stage === 'unidentified'")
        assert "your participant id is missing" in browser.ask("document.body.innerText")
        assert problems(browser) == []
        browser.open(f"{server.address}?PROLIFIC_PID=5f1")
        assert "You agree." in browser.ask("document.body.innerText")
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0


def test_a_changed_consent_text_is_asked_again(browser, tmp_path):
    study = small(tmp_path)
    with serving(study) as server:
        port = server.port
        open_first_question(browser, server)
    browser.press("1")  # the page of the old text is still open when the server restarts with the new one
    with serving(dataclasses.replace(study, consent="You agree to more."), port) as server:
        browser.wait_for("document.body.innerText.includes('You agree to more.')")
        assert "has changed since you agreed" in browser.ask("document.body.innerText")
        assert problems(browser) == []
        press(browser, "I do not agree")
        assert "Do you want to stop?" in browser.ask("document.body.innerText")
        press(browser, "Continue")
        browser.wait_for("document.body.innerText.includes('You agree to more.')")
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 6
    assert stored(tmp_path) == 7
    assert stored(tmp_path, "SELECT count(*) FROM agreements") == 2


def test_a_paused_study_continues_by_itself(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        change_state(tmp_path, "paused")
        browser.press("1")
        browser.wait_for("document.body.dataset.stage === 'paused'")
        assert "The study is paused. Your answers are saved." in browser.ask("document.body.innerText")
        assert browser.ask("document.querySelector('.code').textContent.length") == 14  # of the withdrawal code
        assert problems(browser) == []
        change_state(tmp_path, "open")
        browser.ask("window.dispatchEvent(new Event('online'))")  # look again at once
        browser.wait_for("!document.body.dataset.stage")
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 6
    assert stored(tmp_path) == 7


def test_a_pilot_sees_that_the_answers_do_not_count(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.open(f"{server.address}?pilot={pilot_ticket(Access(tmp_path).key)}")
        press_main(browser)
        browser.wait_for("document.querySelector('.pilot')")
        assert problems(browser) == []
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 7
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        assert "0\npeople started" in browser.ask("document.getElementById('tiles').innerText")
        assert "1\npilots, not counted" in browser.ask("document.getElementById('tiles').innerText")


def test_participants_can_stop_and_delete_their_answers(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        browser.press("1")
        browser.wait_for("document.querySelector('.reading .main')")
        press_main(browser)
        browser.wait_for("current && current.since")
        question = browser.ask("current.question.id")
        press(browser, "Stop")
        code = browser.ask("document.querySelector('.code').textContent")
        assert len(code) == 14
        assert problems(browser) == []
        press(browser, "Continue")  # a slip: the same question is shown again
        browser.wait_for("current && current.since")
        assert browser.ask("current.question.id") == question
        press(browser, "Stop")
        press(browser, "Stop and delete my answers")
        browser.wait_for("document.body.dataset.stage === 'withdrawn'")
        assert "All your answers have been deleted." in browser.ask("document.body.innerText")
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0
    assert stored(tmp_path) == 0


def test_participants_can_delete_their_answers_at_the_end_after_a_confirmation(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.open(server.address)
        go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser))
        assert browser.ask("document.querySelectorAll('.code').length") == 2  # completion and withdrawal
        assert problems(browser) == []
        press(browser, "Delete my answers")
        assert "This cannot be undone." in browser.ask("document.body.innerText")
        press(browser, "Keep my answers")
        assert stored(tmp_path) == 7
        assert browser.ask("document.querySelectorAll('.code').length") == 2
        press(browser, "Delete my answers")
        press(browser, "Delete my answers")
        browser.wait_for("document.body.dataset.stage === 'withdrawn'")
    assert stored(tmp_path) == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_the_researcher_pauses_resumes_and_closes_the_study(browser, tmp_path, width):
    with serving(small(tmp_path, places=5)) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=width)
        state = "document.getElementById('state').textContent"
        assert browser.ask(state).startswith(
            "Open: people can join and answer. Places taken by people who have finished"
        )
        press(browser, "Pause")
        browser.wait_for(f"{state}.startsWith('Paused')")
        assert stored(tmp_path, "SELECT value FROM about WHERE name = 'state'") == "paused"
        press(browser, "Resume")
        browser.wait_for(f"{state}.startsWith('Open')")
        press(browser, "Close")
        browser.wait_for(f"{state}.startsWith('Closed')")
        assert problems(browser) == []
        assert not browser.complaints()


def test_the_researcher_gets_a_fresh_address_for_each_pilot(tmp_path):
    with serving(small(tmp_path)) as server:
        me = {"Authorization": f"Bearer {Access(tmp_path).token}"}
        addresses = {server.post("/researcher/pilot", json={}, headers=me).json()["address"] for _ in range(3)}
        assert len(addresses) == 3
        assert server.post("/researcher/pilot", json={}).status_code == 401
