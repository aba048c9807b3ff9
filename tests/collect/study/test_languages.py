import re

import pytest

from closerthan.collect.study.languages import ENGLISH, LANGUAGES, find_language, template


def test_all_languages_have_all_words_with_the_same_placeholders(tmp_path):
    assert len(LANGUAGES) >= 7
    for tag in LANGUAGES:
        words = find_language(tag, tmp_path).words
        assert list(words) == list(ENGLISH.words)
        for name, text in words.items():
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", ENGLISH.words[name])), name


def test_a_variant_uses_the_words_of_its_language(tmp_path):
    assert find_language("de-AT", tmp_path) == find_language("de", tmp_path)


def test_a_study_can_have_a_language_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="closerthan collect translate"):
        find_language("eo", tmp_path)
    (tmp_path / "eo.toml").write_text(template("eo").replace('"Start"', '"Komencu"'), encoding="utf-8")
    words = find_language("eo", tmp_path).words
    assert (words["start"], words["decline"]) == ("Komencu", "I do not agree")


def test_the_file_of_a_language_from_right_to_left_has_that_direction(tmp_path):
    for tag in ("he", "fa-IR", "eo"):
        (tmp_path / f"{tag}.toml").write_text(template(tag), encoding="utf-8")
    assert [find_language(tag, tmp_path).direction for tag in ("he", "fa-IR", "eo")] == ["rtl", "rtl", "ltr"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[words]\nstrat = 'x'", "strat is unknown"),
        ("[words]\nplace = 'x'", "place is 'x'; it must be a text with number, place in braces"),
        ("direction = 'up'", "direction is 'up'"),
        ("[words", "cannot be read"),
    ],
)
def test_mistakes_in_a_language_file_are_named(tmp_path, content, problem):
    (tmp_path / "eo.toml").write_text(content)
    with pytest.raises(ValueError, match=problem):
        find_language("eo", tmp_path)
