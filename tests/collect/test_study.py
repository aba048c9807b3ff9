import re

import pytest
from studies import picture, study_folder
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.collect.study.description import SETTINGS, Codes, Shares, Study, read_study
from closerthan.collect.study.languages import TEXTS
from closerthan.collect.study.new import make_study
from closerthan.collect.study.stimuli import read_folder, read_table


@pytest.fixture
def folder(tmp_path):
    return study_folder(tmp_path)


def changed(folder, pattern, line):
    """Replace a line of study.toml and return its number."""
    path = folder / "study.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    (number,) = [number for number, text in enumerate(lines) if re.match(pattern, text)]
    lines[number] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    return number + 1


def test_a_new_study_can_be_read_and_has_the_default_settings(folder):
    study = read_study(folder)
    assert study.title == "study"
    assert (study.number, study.practice, study.kind, study.keys) == (60, 3, "closer", True)
    assert (study.shares, study.codes) == (Shares(), Codes())
    assert study.checks_wrong == Study.checks_wrong
    assert [study.count_of(kind) for kind in ("chosen", "random", "shared", "repeat", "check")] == [42, 9, 3, 3, 3]
    assert [one.text for one in study.objects[:2]] == ["word 0", "word 1"]


def test_every_setting_is_in_the_commented_file(folder):
    text = (folder / "study.toml").read_text(encoding="utf-8")
    for section, settings in SETTINGS.items():
        assert not section or f"[{section}]" in text
        for name in settings if section != "buttons" else ("agree",):
            assert re.search(rf"^(# )?(\[recruiter\.)?{name}( =|\])", text, re.MULTILINE), f"{section}.{name}"


MISTAKES = {
    "number is not a number": ("number =", 'number = "sixty"', 'number is "sixty"; it must be a whole number'),
    "out of range": ("number =", "number = 0", "number is 0; it must be from 1 to 2000"),
    "a word": ("skip =", 'skip = "no"', 'skip is "no"; it must be true or false'),
    "true for a number": ("practice =", "practice = true", "practice is true; it must be a whole number"),
    "a slip": ("skip =", "skpi = true", "skpi is unknown in [question]; did you mean skip?"),
    "a section": (r"\[checks\]", "[cheks]", "[cheks] is unknown; did you mean checks?"),
    "a kind": ("kind =", 'kind = "nearest"', 'kind is "nearest"; it must be one of closer, odd'),
    "shares": ("random =", "random = 0.9", "the sum of the shares is larger than 1; lower some of them"),
    "a recruiter": ("name =", 'name = "prolofic"', "it must be one of none, prolific, mturk, sona"),
    "http": ("# redirect =", 'redirect = "http://x.org"', "it must be an address that starts with https://, or empty"),
    "a role": ("# redirect =", 'redirect = "https://x.org?c={cod}"', "{cod} is unknown; use one of {code}"),
    "an empty text": ('text = "Which', 'text = " "', "it must be a text that is not empty"),
    "too many": ("number =", "number = 1999", "10 objects allow 360; lower number, or add objects"),
    "no quotes": ("language =", "language = en", "it cannot be read at column 12"),
    "a date": ("number =", "number = 2020-01-01", "number is 2020-01-01; it must be a whole number"),
    "twice": ("title =", 'title = "a"\ntitle = "b"', "the name occurs twice; keep one of them"),
    "an open quote": ("title =", 'title = "a', "a closing quote is missing"),
    "two brackets": (r"\[checks\]", "[[checks]]", "checks must be a section; write [checks] on a line of its own"),
    "a section inside": (r"\[checks\]", "[checks.more]", "more is unknown in [checks]"),
    "a dot": ("language =", 'language.x = "en"', "[language] is unknown"),
    "a parameter": (
        r"\[recruiter\]",
        "[recruiter]\nparameters = { person = 3 }",
        "the name of a parameter must be a text",
    ),
    "dimensions": ("dimensions =", "dimensions = 10", "dimensions is 10, but there are only 10 objects"),
    "a button": ("# agree =", 'agree = ""', 'agree is ""; it must be a text that is not empty'),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_a_remedy(folder, mistake):
    pattern, line, message = MISTAKES[mistake]
    if mistake == "a button":
        changed(folder, r"# \[buttons\]", "[buttons]")
    number = changed(folder, pattern, line)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_study(folder)
    lines_later = mistake in ("twice", "a parameter")  # the second of two lines
    assert f"study.toml, line {number + lines_later}:" in str(error.value)


def test_a_study_in_another_encoding_is_reported_with_the_line(folder):
    path = folder / "study.toml"
    path.write_bytes(path.read_bytes().replace(b"title = ", b"# caf\xe9\ntitle = "))
    number = path.read_bytes().split(b"\n").index(b"# caf\xe9") + 1
    with pytest.raises(ValueError, match=f"study.toml, line {number}: the file is not in UTF-8"):
        read_study(folder)


def test_a_missing_table_of_objects_is_reported(folder):
    (folder / "objects.csv").unlink()
    with pytest.raises(ValueError, match=r"objects\.csv does not exist; it lists the stimuli"):
        read_study(folder)


def test_a_missing_text_is_reported(folder):
    changed(folder, "title =", "")
    with pytest.raises(ValueError, match="title is missing"):
        read_study(folder)


def test_for_a_folder_without_a_study_the_error_says_how_to_create_one(tmp_path):
    with pytest.raises(ValueError, match="closerthan collect new"):
        read_study(tmp_path)


def test_all_languages_have_all_texts_with_the_same_placeholders():
    for texts in TEXTS.values():
        assert list(texts) == list(TEXTS["en"])
        for name, text in texts.items():
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", TEXTS["en"][name])), name


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


def test_addresses_of_pictures_reveal_nothing_about_the_object(tmp_path):
    for name in ("cat", "dog", "owl", "fox"):
        picture(tmp_path / f"{name}.png", (0, 0, 0))
    cat = read_folder(tmp_path)[0]
    assert re.fullmatch(r"[0-9a-f]{20}\.png", cat.address(b"key"))
    assert cat.address(b"key") != cat.address(b"other key")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,price\nant,3\n", "line 1: the columns are name, price; expected name, file or text, and alt"),
        ("name,text\na,x\na,y\nb,z\nc,w\n", "'a' occurs twice"),
        ("name,text\na,x\nb,\nc,z\nd,w\n", "line 3: write either a file or a text"),
        ("name,text\na,x\nb,y\n", "has 2 objects; a study needs at least 4"),
        ("name,text\na,x\nNA,y\nb,z\nc,w\n", "the name 'NA' denotes a missing value"),
        ("name,text\na,x\n7,y\nb,z\nc,w\n", r"some names are numbers \(7\) and others are not"),
        ("name,file\na,../secret.png\n", "is outside "),
        ("name,file\na,missing.png\n", "line 2: the file missing.png does not exist"),
        ("name,file\na,objects.csv\n", "browsers cannot show objects.csv"),
        ("name,text\na,x,y\n", "the number of cells differs"),
    ],
)
def test_a_mistake_in_the_table_of_objects_is_reported(tmp_path, text, message):
    path = tmp_path / "objects.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_table(path)


@pytest.mark.parametrize(
    "first",
    [b"\x89PNG\r\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"\0\0\0\x20ftypmif1\0\0\0\0mif1avif"],
    ids=["png", "jpg", "gif", "webp", "avif"],
)
def test_pictures_are_recognised_by_their_first_bytes(tmp_path, first):
    for name in ("ant", "bee", "cat", "dog"):
        (tmp_path / f"{name}.avif").write_bytes(first + bytes(80))
    assert [one.name for one in read_folder(tmp_path)] == ["ant", "bee", "cat", "dog"]


def test_a_file_that_is_not_a_picture_is_reported(tmp_path):
    (tmp_path / "ant.png").write_bytes(b"not a picture")
    with pytest.raises(ValueError, match=r"ant\.png is not a picture that browsers can show"):
        read_folder(tmp_path)
    (tmp_path / "objects.csv").write_text("name,file\nant,ant.png\n")
    with pytest.raises(ValueError, match=r"ant\.png is not a picture that browsers can show"):
        read_table(tmp_path / "objects.csv")


def test_nested_folders_other_encodings_and_other_files_are_reported(tmp_path):
    (tmp_path / "in" / "side").mkdir(parents=True)
    with pytest.raises(ValueError, match="contains only folders, which are not searched"):
        read_folder(tmp_path / "in")
    (tmp_path / "in" / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"a\.txt is not a text in UTF-8"):
        read_folder(tmp_path / "in")
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"table\.xlsx is neither a folder nor a \.csv file"):
        make_study(tmp_path / "study", tmp_path / "table.xlsx")


def test_a_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "words.csv").write_text("text\na\nb\nc\nd\n")
    with pytest.raises(ValueError, match=r"cannot be created .*; choose another place"):
        make_study(tmp_path / "words.csv" / "study", tmp_path / "words.csv")


def test_a_file_that_browsers_cannot_show_is_reported(tmp_path):
    (tmp_path / "scan.tiff").write_text("")
    with pytest.raises(ValueError, match=r"scan\.tiff: browsers cannot show \.tiff; convert it to one of \.png"):
        read_folder(tmp_path)


def test_collect_new_prints_the_next_steps_and_replaces_nothing(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("text\na\nb\nc\nd\n")
    command = ["collect", "new", str(tmp_path / "study"), "--objects", str(words), "--title", 'A "new" study']
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "a study about 4 objects: 4 texts" in result.output
    assert "closerthan collect serve" in result.output
    study = read_study(tmp_path / "study")
    assert (study.title, study.number) == ('A "new" study', 9)  # four objects make twelve questions
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2
    assert "already exists; choose another name" in again.output


def test_files_keep_their_extensions_if_only_some_names_are_numbers(tmp_path):
    for name in ("1.png", "2.png", "ant.png", "bee.png"):
        picture(tmp_path / name, (0, 0, 0))
    assert [one.name for one in read_folder(tmp_path)] == ["1.png", "2.png", "ant.png", "bee.png"]
