"""Experimental conditions in a real browser: what participants read, and the map of each condition."""

import dataclasses

import pytest
from accessibility import problems
from chromium import find_chromium
from studies import KEY, answer_all, closer_by_number, joined, study_of
from study_pages import press_main

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.choosing.refit import refit
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.conditions import Condition
from closerthan.collect.web.interview import Interview

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

TWO = (
    Condition("colour", "Which has a similar colour?", "Look at colours."),
    Condition("shape", "Which has a similar shape?", "Look at shapes."),
)


def test_participants_read_the_texts_of_their_condition(browser, tmp_path):
    study = dataclasses.replace(study_of(tmp_path, practice=0, pause_ms=0), conditions=TWO)
    with serving(study) as server:
        browser.open(server.address)
        press_main(browser)
        browser.wait_for("document.body.innerText.includes('Look at')")
        name = "colour" if browser.ask("document.body.innerText.includes('Look at colours.')") else "shape"
        press_main(browser)
        browser.wait_for("current && current.since")
        assert browser.ask("document.getElementById('question').textContent") == f"Which has a similar {name}?"
        browser.open(server.address)  # the texts are the same after a reload
        browser.wait_for("document.querySelector('.reading .main')")
        press_main(browser)
        browser.wait_for("current && current.since || document.querySelector('.reading .main')")
        assert f"similar {name}" in browser.ask("study.question")


def test_the_researcher_sees_all_conditions_and_chooses_a_map(browser, tmp_path):
    study = dataclasses.replace(study_of(tmp_path), conditions=TWO)
    with Store(tmp_path / FILE) as store:
        interview = Interview(study, store)
        for number in range(4):
            joined(interview, KEY + str(number))
            answer_all(interview, KEY + str(number), choose=closer_by_number)
        assert refit(study, store) == 2
    with serving(study) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=1280, height=900)
        browser.wait_for("document.querySelectorAll('#conditions tbody tr').length === 2")
        rows = "[...document.querySelectorAll('#conditions tbody tr')].map((row) => row.innerText.split(/\\s+/))"
        assert browser.ask(rows) == [["colour", "2", "2", "2"], ["shape", "2", "2", "2"]]
        assert browser.ask("document.getElementById('enough').textContent.startsWith('colour: ')")
        browser.ask("(({ select }) => { select.value = 'shape'; select.dispatchEvent(new Event('change')); })"
                    "({ select: document.getElementById('condition') })")  # fmt: skip
        assert browser.ask("document.getElementById('enough').textContent.startsWith('shape: ')")
        assert browser.ask("document.getElementById('map-file').dataset.file") == "map.csv?condition=shape"
        browser.wait_for("document.querySelectorAll('#people tr').length === 4")
        people = browser.ask("[...document.querySelectorAll('#people td.condition')].map((cell) => cell.textContent)")
        assert sorted(people) == ["colour", "colour", "shape", "shape"]
        assert problems(browser) == []
