"""Whole studies in a real browser, with a real server on the loopback address."""

import dataclasses
import json
import time

import pytest
from accessibility import focus, problems
from chromium import find_chromium
from study_pages import SHOWN, go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.choosing.refit import refit
from closerthan.collect.choosing.refit_process import RefitProcess
from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.study.description import Shares
from closerthan.collect.study.recruiters import Recruiter
from closerthan.collect.study.stimuli import Stimulus

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]


def test_a_whole_study_with_the_keyboard_alone(browser, tmp_path):
    keys = ["ArrowLeft", "2", "1", "ArrowRight"]
    with serving(small(tmp_path)) as server:
        browser.open(server.address)
        assert "You agree." in browser.ask("document.body.innerText")

        def act(number):
            if number == 4:  # choose with Tab and Enter, as without the keys for choices
                while "option" not in focus(browser)["what"]:
                    browser.press("Tab")
                assert focus(browser)["visible"]
                browser.press("Enter")
            else:
                browser.press(keys[number % 4])

        press_main(browser)
        browser.wait_for("document.body.innerText.includes('Look.')")
        assert go_through(browser, act, lambda: press_main(browser)) == 7
        assert "DONE" in browser.ask("document.body.innerText")
        assert not browser.complaints()
    assert stored(tmp_path) == 7
    assert stored(tmp_path, "SELECT min(rt_ms) FROM answers") >= 0
    # The stored choice is that of the key: the first was left.
    assert stored(tmp_path, "SELECT choice FROM answers JOIN questions ON question = id WHERE place = 0") == 0


def test_a_whole_study_with_touch_on_a_phone(browser, tmp_path):
    with serving(small(tmp_path, skip=True, tie=True)) as server:
        browser.phone()
        browser.call("Page.navigate", url=server.address)
        browser.wait_for("document.body && document.body.dataset.ready === 'yes'")
        taps = [".option", ".option:last-child", ".tie", ".skip"]

        def act(number):
            assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
            browser.tap(taps[number % 4])

        assert go_through(browser, act, lambda: browser.tap(".reading .main")) == 7
        assert "DONE" in browser.ask("document.body.innerText")
    assert stored(tmp_path) == 7
    responses = stored(tmp_path, "SELECT group_concat(said) FROM (SELECT DISTINCT said FROM answers ORDER BY said)")
    assert responses == "choice,skip,tie"


@pytest.mark.parametrize("size", [(1400, 1000), (390, 844), (320, 640)], ids=str)
@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_the_participants_page_is_accessible(browser, tmp_path, size, kind):
    with serving(small(tmp_path, skip=True, tie=True, kind=kind)) as server:
        browser.open(server.address, width=size[0], height=size[1])
        assert problems(browser) == []  # consent
        press_main(browser)
        browser.wait_for("document.querySelectorAll('.buttons button').length === 1")
        assert problems(browser) == []  # instructions
        press_main(browser)
        browser.wait_for(SHOWN)
        assert problems(browser) == []
        assert browser.ask("[...document.querySelectorAll('.option')].map((one) => one.tagName)") == ["BUTTON"] * (
            2 + (kind == "odd")
        )
        assert browser.ask("document.getElementById('region').getAttribute('aria-live')") == "polite"
        assert browser.ask("document.getElementById('region').textContent") == "Practice 1 of 1"


def test_single_keys_can_be_switched_off(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        browser.ask("document.querySelector('button.keys').click()")
        browser.press("1")
        assert browser.ask("unsent.length === 0 && current.since !== null && !document.querySelector('.chosen')")


def test_participants_continue_after_a_reload_and_in_a_new_tab(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        browser.press("1")
        browser.wait_for("document.querySelector('.reading .main')")  # the practice is over
        press_main(browser)
        browser.wait_for("current && current.since")
        question = browser.ask("current.question.id")
        browser.open(server.address)  # the same tab
        browser.wait_for("current && current.since")
        assert browser.ask("current.question.id") == question
        browser.ask("sessionStorage.clear()")  # as in another tab of the same browser
        browser.open(server.address)
        assert "Welcome back!" in browser.ask("document.body.innerText")
        press_main(browser)
        browser.wait_for("current && current.since")
        assert browser.ask("current.question.id") == question
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 1


def test_participants_continue_after_a_lost_connection(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.open(server.address)

        def act(number):
            if number == 2:
                browser.connection(on=False)
            browser.press("1")
            if number == 3:  # two answers are waiting, and there is no further question
                browser.wait_for("document.getElementById('notice').textContent.startsWith('No connection')")
                assert browser.ask("unsent.length") == 2
                browser.connection(on=True)

        assert go_through(browser, act, lambda: press_main(browser)) == 7
    assert stored(tmp_path) == 7
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 1


def test_participants_continue_after_a_restart_of_the_server_and_a_reload(browser, tmp_path):
    study = small(tmp_path)
    with serving(study) as server:
        port = server.port
        open_first_question(browser, server)
    browser.press("2")  # the server is not running
    browser.wait_for("unsent.length === 1")
    with serving(study, port) as server:
        browser.open(server.address)
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 6
    assert stored(tmp_path) == 7
    assert stored(tmp_path, "SELECT choice FROM answers JOIN questions ON question = id WHERE place = 0") == 1


def test_without_consent_there_are_no_questions_but_a_code(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.open(server.address)
        browser.ask("document.querySelector('.buttons button:last-child').click()")
        browser.wait_for("document.body.dataset.stage === 'declined'")
        assert "NO" in browser.ask("document.querySelector('.code').textContent")
    assert stored(tmp_path, "SELECT count(*) FROM questions") == 0


def test_at_the_end_participants_are_redirected_with_the_code_and_see_a_link(browser, tmp_path):
    recruiter = Recruiter({"person": "PROLIFIC_PID"}, "https://recruiter.invalid/done?cc={code}&who={person}")
    with serving(small(tmp_path, recruiter=recruiter, number=1, practice=0, shares=Shares(0, 0, 0, 0))) as server:
        browser.open(f"{server.address}?PROLIFIC_PID=a%26b")
        go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser))
        link = browser.ask("document.querySelector('a.button').href")
        assert link == "https://recruiter.invalid/done?cc=DONE&who=a%26b"
        assert "You will be redirected in" in browser.ask("document.body.innerText")
        assert problems(browser) == []
        browser.ask("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Stay here').click()")
        assert "You will be redirected" not in browser.ask("document.body.innerText")
    assert stored(tmp_path, "SELECT value FROM identities WHERE role = 'person'") == "a&b"


HOSTILE = "<img src=x onerror='window.ran = 1'><script>window.ran = 2</script>"


def test_hostile_names_texts_and_pictures_are_shown_and_not_run(browser, tmp_path):
    svg = tmp_path / "evil.svg"
    svg.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80" onload="parent.ran = 3">'
        "<script>parent.ran = 4; fetch('/study')</script><image href='https://elsewhere.invalid/x.png'/>"
        "<rect width='80' height='80' fill='red'/></svg>"
    )
    objects = (
        Stimulus(HOSTILE, HOSTILE, svg),
        *(Stimulus(f"{HOSTILE} {number}", "", None, f"{number} {HOSTILE}") for number in range(4)),
    )
    study = dataclasses.replace(
        small(tmp_path, number=8),
        objects=objects,
        title=HOSTILE,
        consent=HOSTILE,
        instructions=HOSTILE,
        question=HOSTILE,
    )
    with serving(study) as server:
        browser.open(f"{server.address}?x={HOSTILE}")
        assert HOSTILE in browser.ask("document.body.innerText")
        go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser))
        with Store(tmp_path / FILE) as store:
            refit(study, store)
        token = Access(tmp_path).token
        browser.open(f"{server.address}researcher/#{token}")
        browser.wait_for("document.querySelectorAll('#map image, #map circle').length === 5")
        assert browser.ask("document.getElementById('title').textContent") == HOSTILE
        assert browser.ask("typeof window.ran") == "undefined"
        hosts = {request.split("/")[2] for request in browser.requests() if request.startswith("http")}
        assert hosts == {f"127.0.0.1:{server.port}"}


def test_a_hostile_picture_opened_by_itself_does_nothing(browser, tmp_path):
    svg = tmp_path / "evil.svg"
    svg.write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><title>quiet</title><script>document.title = 'ran'</script></svg>"
    )
    study = small(tmp_path)
    study = dataclasses.replace(study, objects=(Stimulus("evil", "evil", svg), *study.objects))
    with serving(study) as server:
        address = study.objects[0].address(Access(tmp_path).key)
        browser.call("Page.navigate", url=f"{server.address}media/{address}")
        # Not even timers of the test run there, so the page is polled from outside.
        for _ in range(1000):
            if browser.ask("document.readyState === 'complete' && document.documentElement.tagName === 'svg'"):
                break
        assert browser.ask("document.querySelector('title').textContent") == "quiet"


def test_no_request_leaves_the_machine(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.open(server.address)
        go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser))
        assert {request.split("/")[2] for request in browser.requests()} == {f"127.0.0.1:{server.port}"}
        # The page could not send a request to another host if it tried.
        refused = browser.ask("fetch('https://elsewhere.invalid/').then(() => 'sent', (error) => error.name)")
        assert refused == "TypeError"
        assert any("violates" in str(event) for event in browser.complaints())
        assert browser.ask("document.cookie") == ""


def test_everything_works_under_a_path_behind_a_proxy(browser, tmp_path):
    with serving(small(tmp_path), path="/lab/animals/") as server:
        browser.open(server.address)
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 7
        browser.open(f"{server.address}researcher#{Access(tmp_path).token}")
        assert "1\npeople started" in browser.ask("document.getElementById('tiles').innerText")
        assert all(f"127.0.0.1:{server.port}/lab/animals/" in request for request in browser.requests())


@pytest.mark.parametrize("size", [(1400, 1000), (390, 844)], ids=str)
@pytest.mark.parametrize("dark", [False, True])
def test_the_researchers_page_is_live_and_accessible(browser, tmp_path, size, dark):
    study = small(tmp_path, number=30, practice=0)
    with serving(study) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}", width=size[0], height=size[1], dark=dark)
        assert browser.ask("location.hash") == ""  # the token is removed from the address
        assert "0\npeople started" in browser.ask("document.getElementById('tiles').innerText")
        consent = server.get("/study").json()["version"]
        me = {"Authorization": "Bearer " + "a" * 32}
        state = server.post("/join", json={"consent": consent, "address": {}}, headers=me).json()
        while state["stage"] == "questions":
            body = {"question": state["questions"][0]["id"], "choice": 0, "rt_ms": 900}
            state = server.post("/answer", json=body, headers=me).json()
        with Store(tmp_path / FILE) as store:
            refit(study, store)
        browser.wait_for("document.querySelectorAll('#map image').length === 8")
        assert "1\npeople started" in browser.ask("document.getElementById('tiles').innerText")
        browser.wait_for("document.getElementById('people').innerText.includes('100 % on the left')")
        assert problems(browser) == []
        assert not browser.complaints()


def test_the_researchers_page_reports_a_map_that_cannot_be_updated(browser, tmp_path):
    study = small(tmp_path)
    judgement = {"drawn": [[n, n % 3] for n in range(8)], "spread": [[0.1, 0.1, 0]] * 8, "accuracy": [], "enough": ""}
    with Store(tmp_path / FILE) as store:
        store.name_objects([stimulus.name for stimulus in study.objects])
        values = {"answers": 50, "places": json.dumps(judgement["drawn"]), "judgement": json.dumps(judgement)}
        store.insert("maps", version=1, made_at=time.time() - 3 * 3600, **values)
    with serving(study, refits=RefitProcess(tmp_path, 1, [str(tmp_path / "no such program")])) as server:
        browser.open(f"{server.address}researcher/#{Access(tmp_path).token}")
        text = browser.ask("document.querySelector('#problem:not([hidden])').innerText")
        assert text.startswith("The map cannot be updated: the process that fits the map cannot be started")
        assert text.endswith("The map below is 3 hours old.")
        assert problems(browser) == []


def test_without_the_token_the_researchers_page_shows_only_a_form(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        browser.call("Page.navigate", url=f"{server.address}researcher/#guess")
        browser.wait_for("document.querySelector('#token')")
        assert "This token is wrong." in browser.ask("document.body.innerText")
        assert "A study" not in browser.ask("document.body.innerText")
        assert problems(browser) == []


def test_the_accessibility_checks_find_problems(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<title></title><body data-ready=yes><h1>one</h1><h1>two</h1><button></button><img src=x>"
        "<button aria-label=yes>no</button>"
        "<p style='color: #999; background: #fff'>faint</p><button>a<a href=x>b</a></button><b id=a></b><b id=a></b>"
        "<p style='width: 3000px'>wide</p>"
    )
    browser.open(page)
    reported = " ".join(problems(browser))
    for finding in (
        "no name",
        "no alt",
        "no language",
        "no title",
        "not one main",
        "not one h1",
        "contrast 2.8",
        "nested",
        "not in the name",
    ):
        assert finding in reported
    assert "duplicate id: #a" in reported
    assert "horizontal scrolling" in reported
