"""The layout of the participant's page on screens from small phones to large monitors, in a real browser."""

import dataclasses

import pytest
from accessibility import problems
from chromium import find_chromium
from studies import sound
from study_pages import open_first_question, small

pytest.importorskip("uvicorn", reason="a server needs uvicorn")
from local_server import serving

from closerthan.collect.study.stimuli import Stimulus

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium found: install it or set CLOSERTHAN_CHROMIUM"),
]

# Of a phone held sideways, the bars of the browser may leave less than 300 pixels.
SIZES = ((320, 568), (375, 667), (667, 375), (667, 290), (768, 1024), (1280, 800), (1920, 1080))
BOXES = """[...document.querySelectorAll('.thing')].map((one) => {
    const box = one.getBoundingClientRect();
    return [Math.round(box.width), Math.round(box.height), box.right <= innerWidth && box.bottom <= innerHeight];
})"""


def screens(browser):
    """Show the page on screens of different sizes, of which the smaller ones are touched and have no mouse."""
    for width, height in SIZES:
        is_phone = min(width, height) < 400
        browser.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )
        browser.ask("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        yield width, height


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_a_question_about_pictures_needs_no_scrolling(browser, tmp_path, kind, language):
    with serving(small(tmp_path, kind=kind, language=language, skip=True, tie=True)) as server:
        open_first_question(browser, server)
        for width, height in screens(browser):
            overflow = browser.ask("document.documentElement.scrollHeight - innerHeight")
            # Three pictures below each other, with two rows of buttons, are larger than the smallest phone.
            assert overflow <= 0 or (kind, width) == ("odd", 320), (width, height)
            boxes = browser.ask(BOXES)
            assert len({tuple(box) for box in boxes}) == 1, (width, height, boxes)  # all have the same size
            assert boxes[0][0] >= 90, (width, height, boxes)
            assert boxes[0][2], (width, height, boxes)  # in view
            assert problems(browser) == [], (width, height)


def test_long_texts_are_shown_completely(browser, tmp_path):
    text = "A text that is much longer than a hundred characters has to be readable to its end on every screen. " * 4
    objects = tuple(Stimulus(f"object {number}", "", None, f"{text}{number}") for number in range(8))
    with serving(dataclasses.replace(small(tmp_path), objects=objects)) as server:
        open_first_question(browser, server)
        for size in screens(browser):
            inside = browser.ask("""[...document.querySelectorAll('.thing')].map((thing) => {
                const [outer, inner] = [thing, thing.firstElementChild].map((one) => one.getBoundingClientRect());
                return inner.top >= outer.top && inner.bottom <= outer.bottom && inner.right <= outer.right
                    && thing.scrollHeight <= thing.clientHeight;
            })""")
            assert inside == [True] * 3, size
            assert problems(browser) == [], size


@pytest.mark.parametrize(("form", "shown"), [("text and picture", 8), ("sound", 12), ("picture", 20), ("picture", 3)])
def test_nothing_is_cut_off_in_a_question_with_many_options(browser, tmp_path, form, shown):
    text = "Texts of about sixty characters are common, like this one. " * 3
    study = small(tmp_path, kind="rank", shown=shown, picks=2, must_play=False, number=4, language="de")
    of_form = {
        "picture": lambda number: dataclasses.replace(study.objects[number % 8], name=f"picture {number}"),
        "text": lambda number: Stimulus(f"text {number}", "", None, f"{text}{number}"),
        "sound": lambda number: Stimulus(f"tone {number}", f"tone {number}", sound(tmp_path / f"{number}.wav")),
    }
    forms = form.split(" and ")
    objects = tuple(of_form[forms[number % len(forms)]](number) for number in range(shown + 1))
    with serving(dataclasses.replace(study, objects=objects)) as server:
        open_first_question(browser, server)
        browser.press("2")
        browser.press("3")
        for size in screens(browser):
            # The marks of the options that are picked stand out of their cards.
            boxes = "document.querySelectorAll('.thing, .play, .option[aria-pressed=false]')"
            cut = browser.ask(f"""[...{boxes}].filter((one) =>
                one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1
                || one.getBoundingClientRect().right > innerWidth).map((one) => one.className)""")
            assert cut == [], size
            covered = browser.ask("""[...document.querySelectorAll('[aria-pressed=true]')].some((one) => {
                const [words, mark] = ['.words', '.mark'].map((name) => one.querySelector(name));
                return words && words.getBoundingClientRect().right > mark.getBoundingClientRect().left; })""")
            assert not covered, size
            tallest = browser.ask("""Math.max(0, ...[...document.querySelectorAll('.thing:has(img)')].map((one) =>
                one.getBoundingClientRect().height / innerHeight))""")
            assert "text" not in form or tallest < 0.23, size  # no more room than they need, although texts are wide
            assert form != "picture" or min(box[0] for box in browser.ask(BOXES)) > 45, size
            assert problems(browser) == [], size


@pytest.mark.parametrize("kind", ["nearest", "rank"])
def test_seven_pictures_to_pick_from_fit_on_a_phone_held_sideways(browser, tmp_path, kind):
    study = small(tmp_path, kind=kind, shown=7, picks=2, number=4, skip=True, tie=True)
    with serving(study) as server:
        open_first_question(browser, server)
        for size in screens(browser):
            if size[0] > size[1]:
                assert browser.ask("document.documentElement.scrollHeight <= innerHeight"), size
                assert problems(browser) == [], size


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_sounds_have_cards_of_the_same_size_as_pictures(browser, tmp_path, kind):
    study = small(tmp_path, kind=kind, must_play=False)
    sounds = [
        dataclasses.replace(stimulus, file=sound(tmp_path / f"{number}.wav"))
        for number, stimulus in enumerate(study.objects)
    ]
    # Half of the objects are pictures and half are sounds, so some questions have both.
    objects = tuple(both[number % 2] for number, both in enumerate(zip(study.objects, sounds, strict=True)))
    with serving(dataclasses.replace(study, objects=objects, number=20)) as server:
        open_first_question(browser, server)
        while browser.ask("new Set([...document.querySelectorAll('.thing')].map((one) => !!one.querySelector('img')))"
                          ".size === 1"):  # fmt: skip
            question = browser.ask("current.question.id")
            browser.press("1")
            browser.wait_for(f"!current || current.question.id !== {question!r}")
            browser.ask("document.querySelector('.reading .main')?.click()")
            browser.wait_for("current && current.since")
        for width, height in screens(browser):
            boxes = browser.ask(BOXES)
            # On the smallest screens, each sound has its button beside it.
            if ((kind, width < height) != ("odd", True) and (kind, height) != ("closer", 290)) or width > 700:
                assert len({tuple(box[:2]) for box in boxes}) == 1, (width, height, boxes)
            cut = "[...document.querySelectorAll('.play')].filter((one) => one.scrollWidth > one.clientWidth).length"
            assert browser.ask(cut) == 0, (width, height)
            assert all(box[2] for box in boxes), (width, height)
            assert browser.ask("document.documentElement.scrollHeight <= innerHeight"), (width, height)
            assert problems(browser) == [], (width, height)


def test_messages_are_visible_without_scrolling(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        browser.ask("say(study.texts.waiting)")
        for size in screens(browser):
            top, bottom = browser.ask(
                "(({ top, bottom }) => [top, bottom])(document.getElementById('notice').getBoundingClientRect())"
            )
            assert 0 <= top < bottom < size[1] / 3
            assert browser.ask("document.documentElement.scrollHeight <= innerHeight"), size
            assert problems(browser) == [], size


def test_an_option_under_a_resting_mouse_does_not_stand_out(browser, tmp_path):
    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        looks = """[...document.querySelectorAll('.option')].map((one) => {
            const { borderColor, boxShadow } = getComputedStyle(one); return borderColor + boxShadow; })"""
        x, y = browser.ask("""(({ x, y, width, height }) => [x + width / 2, y + height / 2])(
            document.querySelector('.option').getBoundingClientRect())""")
        browser.point_at(x, y)
        browser.press("1")
        browser.wait_for("document.querySelector('.reading .main')")
        browser.ask("document.querySelector('.reading .main').click()")
        browser.wait_for("current && current.since")
        browser.point_at(x, y)  # an event without movement, as browsers send when the page below the mouse changes
        browser.wait_for("document.querySelector('.option').matches(':hover')")
        left, right = browser.ask(looks)
        assert left == right
        browser.point_at(x + 5, y)
        browser.wait_for("document.querySelector('.pointed')")
        browser.wait_for(f"new Set({looks}).size === 2")


def test_the_name_of_an_option_contains_its_visible_number(browser, tmp_path):
    def names():
        nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
        buttons = [node["name"]["value"] for node in nodes if node.get("role", {}).get("value") == "button"]
        return [name for name in buttons if "square" in name]

    with serving(small(tmp_path)) as server:
        open_first_question(browser, server)
        left, right = browser.ask("current.question.options.map(({ alt }) => alt)")
        assert names() == [f"Left: {left} 1", f"Right: {right} 2"]
        browser.ask("document.querySelector('button.keys').click()")  # without keys, there are no numbers
        assert names() == [f"Left: {left}", f"Right: {right}"]
