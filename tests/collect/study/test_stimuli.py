import re

import pytest
from studies import picture

from closerthan.collect.study.new import make_study
from closerthan.collect.study.stimuli import read_folder, read_table


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


def test_a_file_that_browsers_cannot_show_is_reported(tmp_path):
    (tmp_path / "scan.tiff").write_text("")
    with pytest.raises(ValueError, match=r"scan\.tiff: browsers cannot show \.tiff; convert it to one of \.png"):
        read_folder(tmp_path)


def test_files_keep_their_extensions_if_only_some_names_are_numbers(tmp_path):
    for name in ("1.png", "2.png", "ant.png", "bee.png"):
        picture(tmp_path / name, (0, 0, 0))
    assert [one.name for one in read_folder(tmp_path)] == ["1.png", "2.png", "ant.png", "bee.png"]
