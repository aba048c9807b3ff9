"""The researcher's decisions, made on the researcher's page in a real browser."""

import dataclasses

import pytest
from accessibility import problems
from chromium import find_chromium
from studies import study_of
from study_pages import small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]


def take_part(server, letter="a"):
    """Answer all questions of the study through the API."""
    me = {"Authorization": "Bearer " + letter * 32}
    body = {"consent": server.get("/study").json()["version"], "address": {}}
    state = server.post("/join", json=body, headers=me).json()
    while state["stage"] == "questions":
        answer = {"question": state["questions"][0]["id"], "choice": 0, "rt_ms": 900}
        state = server.post("/answer", json=answer, headers=me).json()
    return state


@pytest.mark.parametrize("width", [1400, 390])
def test_a_person_is_excluded_with_a_reason_and_included_again(browser, tmp_path, width):
    with serving(small(tmp_path)) as server:
        take_part(server)
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=width)
        browser.wait_for("document.querySelector('#people button')")
        assert problems(browser) == []
        browser.ask("document.querySelector('#people button').click()")
        browser.wait_for("document.querySelector('#exclusion[open]')")
        browser.press("Enter")  # without a reason, the form is not sent
        assert browser.ask("document.querySelector('#exclusion').open")
        browser.type("fell asleep")
        assert problems(browser) == []
        browser.press("Enter")
        browser.wait_for("document.querySelector('#people').innerText.includes('no: fell asleep')")
        browser.wait_for("document.querySelector('#tiles').innerText.includes('excluded by you')")
        assert problems(browser) == []
        assert stored(tmp_path, "SELECT reason FROM exclusions") == "fell asleep"
        browser.ask("document.querySelector('#people button').click()")
        browser.wait_for("!document.querySelector('#people').innerText.includes('fell asleep')")
        assert stored(tmp_path, "SELECT count(*) FROM exclusions") == 0
        assert not browser.complaints()


def test_the_page_of_an_empty_study_shows_no_controls_without_use(browser, tmp_path):
    objects = study_of(tmp_path).objects  # texts
    with serving(dataclasses.replace(small(tmp_path), objects=objects)) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        browser.wait_for("document.getElementById('more').innerText.includes('No participant')")
        hidden = "['newer', 'older', 'thumbnails-label'].map((id) => document.getElementById(id).hidden)"
        assert browser.ask(hidden) == [True] * 3
        assert "no answers" in browser.ask("document.getElementById('hours').textContent")
        assert problems(browser) == []


def test_many_people_are_shown_in_pages(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        with Store(tmp_path / FILE) as store, store.writing():
            for number in range(1, 61):
                store.insert("participants", number=number, state="complete", joined_at=0.0)
            store.insert("exclusions", participant=3, reason="too young", at=0.0)
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        rows = "document.querySelectorAll('#people tr').length"
        browser.wait_for(f"{rows} === 50")
        assert "1 to 50 of 60" in browser.ask("document.getElementById('more').innerText")
        assert problems(browser) == []
        browser.ask("document.getElementById('older').click()")
        browser.wait_for(f"{rows} === 10")
        assert browser.ask("document.getElementById('older').disabled && !document.getElementById('newer').disabled")
        browser.ask("document.getElementById('only').value = 'excluded'")
        browser.ask("document.getElementById('only').dispatchEvent(new Event('change'))")
        browser.wait_for(f"{rows} === 1 && document.getElementById('people').innerText.includes('too young')")
        assert not browser.complaints()
