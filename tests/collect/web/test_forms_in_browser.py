"""Questionnaires, Markdown, feedback, breaks and debriefing in a real browser."""

import dataclasses
import json

import pytest
from accessibility import problems
from chromium import find_chromium
from study_pages import SHOWN, go_through, open_first_question, press_main, small, stored

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.study.questionnaire import Comprehension, Item
from closerthan.collect.study.recruiters import Recruiter

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

ITEMS = (
    Item("gender", "before", "choice", "Your *gender*", options=("female", "male", "other")),
    Item("age", "before", "number", "Your age", least=18, most=120),
    Item("pets", "before", "several", "Your pets", options=("cat", "dog"), required=False),
    Item("effort", "after", "scale", "How hard was it?", least=1, most=7, labels=("not at all", "very")),
    Item("remarks", "after", "text", "Remarks?", required=False),
)


def check(browser, name, value):
    browser.ask(f"document.querySelector('[name={name}][value=\"{value}\"]').click()")


def submit(browser):
    browser.ask("document.querySelector('form .main').click()")


@pytest.mark.parametrize("width", [1200, 320])
def test_questionnaires_are_accessible_check_their_input_and_are_stored(browser, tmp_path, width):
    with serving(small(tmp_path, number=2, practice=0, questionnaire=ITEMS)) as server:
        browser.open(server.address, width=width)
        browser.ask("document.querySelector('.reading .main').click()")
        browser.wait_for("document.querySelector('form')")
        assert problems(browser) == []
        check(browser, "gender", "female")
        browser.ask("document.querySelector('[name=age]').value = '7'")
        submit(browser)
        assert "Please enter a number from 18 to 120." in browser.ask("document.body.innerText")
        assert browser.ask("document.activeElement.name") == "age"
        assert problems(browser) == []
        browser.ask("document.querySelector('[name=age]').value = '30'")
        submit(browser)
        browser.wait_for("document.body.innerText.includes('Look.')")
        browser.ask("document.querySelector('.reading .main').click()")
        for _ in range(2):
            browser.wait_for("current && current.since")
            browser.press("1")
            browser.wait_for("!current || !current.since")
        browser.wait_for("document.querySelector('form')")
        assert problems(browser) == []
        check(browser, "effort", 6)
        submit(browser)
        browser.wait_for("document.body.dataset.stage === 'complete'")
        assert not browser.complaints()
    answers = stored(tmp_path, "SELECT group_concat(item || '=' || value, ' ') FROM responses ORDER BY item")
    assert sorted(answers.split()) == ["age=30", "effort=6", 'gender="female"', "pets=null", "remarks=null"]


NUMBERS = {
    **dict.fromkeys(["7", "0,125", "-7", "−7"], "at least 18."),
    **dict.fromkeys(["x", "1,000", "-1,000", "−1,000"], "a number."),
    **dict.fromkeys(["٢٥", "２５", "२५,५", "25.5"], ""),
}


def test_numbers_may_have_the_digits_of_any_script(browser, tmp_path):
    age = Item("age", "before", "number", "Your age", least=18)
    with serving(small(tmp_path, questionnaire=(age,))) as server:
        browser.open(server.address)
        browser.ask("document.querySelector('.reading .main').click()")
        browser.wait_for("document.querySelector('form')")
        for typed, error in NUMBERS.items():
            browser.ask(
                "var form = forms.questionnaire(study.before, study.texts, (values) => { window.sent = values.age; });"
                f"main.replaceChildren(form); form.elements.age.value = {typed!r}; form.requestSubmit()"
            )
            assert browser.ask("document.querySelector('form .error').textContent").endswith(error)
            if not error:
                assert browser.ask("window.sent") == (25.5 if len(typed) > 2 else 25)


def test_people_can_stop_at_a_form_and_go_on_with_what_they_filled_in(browser, tmp_path):
    with serving(small(tmp_path, questionnaire=ITEMS)) as server:
        browser.open(server.address)
        browser.ask("document.querySelector('.reading .main').click()")
        browser.wait_for("document.querySelector('form')")
        check(browser, "gender", "other")
        browser.ask("document.querySelector('.stop').click()")
        assert browser.ask("document.querySelector('.code').textContent.length") == 14
        assert problems(browser) == []
        browser.ask("document.querySelector('.reading .main').click()")
        assert browser.ask("document.querySelector('[name=gender][value=other]').checked")
        browser.ask("document.querySelector('.stop').click()")
        browser.ask("document.querySelector('.buttons button:last-child').click()")
        browser.wait_for("document.body.dataset.stage === 'withdrawn'")
    assert stored(tmp_path, "SELECT count(*) FROM participants") == 0


def test_a_questionnaire_may_change_after_the_page_was_opened(browser, tmp_path):
    study = small(tmp_path, number=1, practice=0)
    with serving(study) as server:
        port = server.port
        open_first_question(browser, server)
    with serving(dataclasses.replace(study, questionnaire=ITEMS[3:4]), port):
        browser.press("1")
        browser.wait_for("document.querySelector('form')")
        check(browser, "effort", 2)
        submit(browser)
        browser.wait_for("document.body.dataset.stage === 'complete'")
    assert stored(tmp_path, "SELECT value FROM responses") == "2"


def test_after_a_wrong_answer_about_the_instructions_they_are_shown_again(browser, tmp_path):
    question = Comprehension("What is the task?", ("sleep", "compare"), 1)
    with serving(small(tmp_path, comprehension=question)) as server:
        browser.open(server.address)
        press_main(browser)
        browser.wait_for("document.body.innerText.includes('Look.')")
        press_main(browser)
        browser.wait_for("document.querySelector('form')")
        assert problems(browser) == []
        check(browser, "answer", "sleep")
        submit(browser)
        browser.wait_for("document.querySelector('.error')?.textContent.includes('read the instructions again')")
        assert "Look." in browser.ask("document.body.innerText")
        assert problems(browser) == []
        press_main(browser)
        browser.wait_for("document.querySelector('form')")
        check(browser, "answer", "compare")
        submit(browser)
        browser.wait_for(SHOWN)


MARKDOWN = {
    "# A heading #\ntext\nmore": "<h2>A heading</h2><p>text\nmore</p>",
    "**bold**, *it* and `co*d*e`": "<p><strong>bold</strong>, <em>it</em> and <code>co*d*e</code></p>",
    "***both***, *a **b** c*": "<p><strong><em>both</em></strong>, <em>a <strong>b</strong> c</em></p>",
    "2 * 3 * 4, a_b_c, \\*x\\*": "<p>2 * 3 * 4, a_b_c, *x*</p>",
    "one  \ntwo\\\nthree": "<p>one<br>two<br>three</p>",
    "Now:\n- look\n  well\n- go\n\nEnd": "<p>Now:</p><ul><li>look\nwell</li><li>go</li></ul><p>End</p>",
    "1. a\n\n2. b\n\n# c\n3) d": '<ol start="1"><li>a</li><li>b</li></ol><h2>c</h2><ol start="3"><li>d</li></ol>',
    "It was in\n1990. Since then": "<p>It was in\n1990. Since then</p>",
    "![x](https://a.example/x.png)": "<p>![x](https://a.example/x.png)</p>",
    "[x](javascript:alert(1)), [y](data:,x)": "<p>[x](javascript:alert(1)), [y](data:,x)</p>",
    "<img src=x onerror='window.ran = 1'>": "<p>&lt;img src=x onerror='window.ran = 1'&gt;</p>",
}


def test_texts_are_formatted_and_links_are_safe(browser, tmp_path):
    text = "[A *page*](https://example.org/a_(b)) and\n[mail](mailto:me@example.org). <b>x</b>"
    study = dataclasses.replace(small(tmp_path), consent=text, question="Which is **closer**?")
    with serving(study) as server:
        browser.open(server.address)
        links = browser.ask("[...document.querySelectorAll('.reading a')].map((a) => [a.href, a.target, a.rel])")
        safe = ["_blank", "noreferrer noopener"]
        assert links == [["https://example.org/a_(b)", *safe], ["mailto:me@example.org", *safe]]
        assert "A page and mail. <b>x</b>" in browser.ask("document.body.innerText")
        shown = browser.ask(
            f"{json.dumps(list(MARKDOWN))}.map((text) => markdown.blocks(text).map((one) => one.outerHTML).join(''))"
        )
        assert dict(zip(MARKDOWN, shown, strict=True)) == MARKDOWN
        assert browser.ask("typeof window.ran") == "undefined"
        assert problems(browser) == []
        open_first_question(browser, server)
        assert browser.ask("document.querySelector('h1').innerHTML") == "Which is <strong>closer</strong>?"


def test_practice_gives_feedback_and_marks_the_expected_option(browser, tmp_path):
    with serving(small(tmp_path, practice=2, feedback=True, number=2)) as server:
        open_first_question(browser, server)
        wrong = 1 - browser.ask("current.question.expected")
        browser.press(str(wrong + 1))
        browser.wait_for("document.querySelector('.feedback')")
        assert browser.ask("document.querySelector('.feedback').textContent").startswith("Not quite")
        assert browser.ask(f"document.querySelectorAll('.option')[{1 - wrong}].classList.contains('expected')")
        assert browser.ask("document.querySelectorAll('.expected, .chosen').length") == 1  # nothing else is marked
        assert problems(browser) == []
        browser.press("Enter")  # the button to continue has the focus
        browser.wait_for("current && current.since && current.question.place === 2")
        browser.press(str(browser.ask("current.question.expected") + 1))
        browser.wait_for("document.querySelector('.feedback')")
        assert browser.ask("document.querySelector('.feedback').textContent") == "Correct!"
        browser.press("Enter")
        assert go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser)) == 2
    assert stored(tmp_path) == 4


def test_a_break_is_offered_after_some_questions(browser, tmp_path):
    texts = []
    with serving(small(tmp_path, number=5, practice=0, break_after=2)) as server:
        browser.open(server.address)

        def begin():
            text = browser.ask("document.querySelector('.reading').innerText")
            texts.append(text)
            if "short break" in text:  # one may also stop, and return to the break
                browser.ask("document.querySelector('.stop').click()")
                browser.ask("document.querySelector('.reading .main').click()")
                assert browser.ask("document.querySelector('.reading').innerText") == text
            press_main(browser)

        assert go_through(browser, lambda number: browser.press("1"), begin) == 5
    breaks = [text for text in texts if "short break" in text]
    assert ["2 of 5" in breaks[0], "4 of 5" in breaks[1], len(breaks)] == [True, True, 2]


def test_a_debriefing_is_shown_without_a_countdown(browser, tmp_path):
    recruiter = Recruiter({"person": "PROLIFIC_PID"}, "https://recruiter.invalid/done?cc={code}")
    study = small(tmp_path, number=1, practice=0, debriefing="It was about **colours**.", recruiter=recruiter)
    with serving(study) as server:
        browser.open(f"{server.address}?PROLIFIC_PID=a")
        go_through(browser, lambda number: browser.press("1"), lambda: press_main(browser))
        assert "It was about colours." in browser.ask("document.body.innerText")
        assert "redirected" not in browser.ask("document.body.innerText")
        assert browser.ask("document.querySelector('a.button').href") == "https://recruiter.invalid/done?cc=DONE"
        assert problems(browser) == []


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_points_of_a_scale_are_in_one_row_on_every_screen(browser, tmp_path, language):
    scale = dataclasses.replace(ITEMS[3], when="before", least=0, most=10)
    with serving(small(tmp_path, questionnaire=(scale,), language=language)) as server:
        browser.open(server.address)
        browser.ask("document.querySelector('.reading .main').click()")
        browser.wait_for("document.querySelector('.scale')")
        for width in (320, 667, 1280):
            browser.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=False
            )
            tops = browser.ask("[...document.querySelectorAll('.scale input')].map((one) => "
                               "Math.round(one.getBoundingClientRect().top))")  # fmt: skip
            assert len(tops) == 11
            assert len(set(tops)) == 1, (width, tops)
