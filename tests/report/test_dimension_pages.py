"""Pages about sparse dimensions."""

import dataclasses
import re
from urllib.parse import urldefrag

import numpy as np
import pytest

import closerthan as ct
from closerthan.report.dimension_pages import write_dimension_pages

NAMES = ["<b>ant</b>", *(f"object {number}" for number in range(1, 16))]


@pytest.fixture(scope="module")
def dimensions():
    x = np.kron(np.eye(2), np.ones((8, 1))) * 2
    answers = ct.answers_from(x, 1500, similarity="dot", question="odd-one-out", temperature=1.0, names=NAMES)
    return ct.sparse_dimensions(answers, 4, penalty=0.1, n_refits=1)


@pytest.fixture(scope="module")
def pages(dimensions, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "pages"
    pictures = [np.full((20, 30, 3), 200, dtype=np.uint8), *[None] * 15]
    write_dimension_pages(dimensions, folder, thumbnails=pictures, title="Animals & others")
    return folder


def test_there_is_a_page_for_each_dimension_and_each_object(pages, dimensions):
    assert len(list(pages.glob("dimension-*.html"))) == dimensions.n_dims
    assert len(list((pages / "objects").glob("*.html"))) == 16


def test_all_links_lead_to_pages(pages):
    for page in pages.rglob("*.html"):
        for link in re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / urldefrag(link)[0]).is_file(), f"{page.name}: {link}"


def test_pictures_and_styles_are_shared_files(pages):
    for page in pages.rglob("*.html"):
        for source in re.findall(r'src="([^"]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / source).read_bytes().startswith(b"\xff\xd8"), f"{page.name}: {source}"
    assert len(list((pages / "pictures").iterdir())) == 1
    sizes = [path.stat().st_size for path in (pages / "objects").iterdir()]
    assert max(sizes) < 5000


def test_pages_load_nothing_from_elsewhere(pages):
    for page in pages.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", text)
        assert "default-src 'none'" in text


def test_names_are_escaped(pages):
    text = (pages / "objects" / "0.html").read_text(encoding="utf-8")
    assert "<b>ant" not in text
    assert "&lt;b&gt;ant" in text
    assert "Animals &amp; others" in (pages / "index.html").read_text(encoding="utf-8")


def test_the_page_of_a_dimension_lists_its_objects_in_descending_order(pages, dimensions):
    text = (pages / "dimension-01.html").read_text(encoding="utf-8")
    shown = [int(number) for number in re.findall(r'href="objects/(\d+)\.html"', text)]
    assert shown == dimensions.top_objects(0, 36)


def test_numbered_objects_are_listed_in_the_order_of_their_numbers(dimensions, tmp_path):
    write_dimension_pages(dataclasses.replace(dimensions, names=None), tmp_path / "pages")
    index = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8").partition("All objects")[2]
    assert re.findall(r">(\d+)<", index) == [str(number) for number in range(16)]


def test_a_folder_with_files_is_replaced_on_request_only(pages, dimensions):
    with pytest.raises(ValueError, match="exists; pass replace=True"):
        write_dimension_pages(dimensions, pages)
