import re

import pytest
from studies import picture

from closerthan.collect.study.description import SETTINGS, Codes, Shares, Study, read_study
from closerthan.collect.study.new import make_study, unfinished


def test_a_new_study_can_be_read_and_has_the_default_settings(folder):
    study = read_study(folder)
    assert study.title == "study"
    assert (study.number, study.practice, study.kind, study.keys) == (60, 3, "closer", True)
    assert (study.shares, study.codes) == (Shares(), Codes())
    assert study.checks_wrong == Study.checks_wrong
    assert [study.count_of(kind) for kind in ("chosen", "random", "shared", "repeat", "check")] == [42, 9, 3, 3, 3]
    assert [one.text for one in study.objects[:2]] == ["word 0", "word 1"]


def test_texts_of_the_template_that_do_not_fit_are_named(folder):
    assert unfinished(read_study(folder)) == ["the consent text still contains NAME, E-MAIL ADDRESS"]
    path = folder / "study.toml"
    text = path.read_text().replace("NAME, E-MAIL ADDRESS", "ann@lab.example.org")
    path.write_text(text)
    assert unfinished(read_study(folder)) == []
    path.write_text(text.replace('kind = "closer"', 'kind = "odd"').replace("Which one is more", "Which is the least"))
    assert unfinished(read_study(folder)) == ['the text of [instructions] is that for kind = "closer"']


def test_every_setting_is_in_the_commented_file(folder):
    text = (folder / "study.toml").read_text(encoding="utf-8")
    for section, settings in SETTINGS.items():
        assert not section or f"[{section}]" in text
        for name in settings if section != "buttons" else ("agree",):
            assert re.search(rf"^(# )?(\[recruiter\.)?{name}( =|\])", text, re.MULTILINE), f"{section}.{name}"


def test_pictures_of_a_folder_are_copied_and_named(tmp_path):
    source = tmp_path / "pictures"
    source.mkdir()
    for number, name in enumerate(("red_fox.png", "dog.png", "dog.jpg", "owl.png")):
        picture(source / name, (number * 50, 0, 0))
    (source / "words.txt").write_text("a text\n")
    (source / ".DS_Store").write_text("")
    stimuli = make_study(tmp_path / "deep" / "study", source)
    assert [one.name for one in stimuli] == ["dog.jpg", "dog.png", "owl", "red_fox", "words"]
    study = read_study(tmp_path / "deep" / "study")
    fox = study.objects[3]
    assert (fox.form, fox.alt, fox.file.name) == ("image", "red fox", "red_fox.png")
    assert fox.file.read_bytes() == (source / "red_fox.png").read_bytes()
    assert (study.objects[4].form, study.objects[4].text) == ("text", "a text")


def test_a_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "words.csv").write_text("text\na\nb\nc\nd\n")
    with pytest.raises(ValueError, match=r"cannot be created .*; choose another place"):
        make_study(tmp_path / "words.csv" / "study", tmp_path / "words.csv")
