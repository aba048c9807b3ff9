"""A short study in a real browser: how tests get through its pages."""

import dataclasses

from accessibility import focus
from studies import picture, study_of

from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Codes, Shares
from closerthan.collect.study.stimuli import Stimulus

SHOWN = "document.querySelector('.asking') && !document.querySelector('.asking').classList.contains('blank')"
READY = f"(document.body.dataset.stage || document.querySelector('.reading .main') || ({SHOWN}))"
ENDED = "document.body.dataset.stage || ''"


def small(folder, **settings):
    """A short study with pictures."""
    objects = tuple(
        Stimulus(f"object {number}", f"square {number}", picture(folder / f"{number}.png", (25 * number, 90, 200)))
        for number in range(8)
    )
    values = {
        "number": 6,
        "practice": 1,
        "pause_ms": 50,
        "codes": Codes("DONE", "NO", "FAILED"),
        "shares": Shares(0.2, 0.2, 0, 0),
        **settings,
    }
    return dataclasses.replace(study_of(folder, **values), objects=objects)


def stored(folder, query="SELECT count(*) FROM answers"):
    with Store(folder / FILE) as store:
        return store.value(query)


def go_through(browser, act, begin):
    """Answer until the end: act(number) answers a question, begin() presses the button to continue."""
    number = 0
    while True:
        browser.wait_for(READY)
        if browser.ask(ENDED):
            return number
        if browser.ask("!!document.querySelector('.reading .main')"):
            browser.ask("document.querySelector('.reading .main').dataset.old = ''")
            begin()
            browser.wait_for("!document.querySelector('[data-old]')")
            continue
        browser.wait_for("current && current.since")
        place = browser.ask("current.question.id")
        act(number)
        number += 1
        browser.wait_for(f"!current || current.question.id !== {place!r} || document.body.dataset.stage")


def press_main(browser):
    while not focus(browser)["what"].endswith("main"):
        browser.press("Tab")
    assert focus(browser)["visible"]
    browser.press("Enter")


def open_first_question(browser, server, condition="current && current.since"):
    """Go through consent and instructions to the first question, until a condition holds."""
    browser.open(server.address)
    press_main(browser)
    browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
    press_main(browser)
    browser.wait_for(condition)
