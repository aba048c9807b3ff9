"""Thumbnails come from untrusted files: few decoders are used, and every problem is a one-sentence error."""

import os
import sys

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from closerthan.files.labels import find_pictures
from closerthan.plotting.maps.thumbnails import FORMATS, check_pictures, thumbnail, thumbnail_box

unix = pytest.mark.skipif(sys.platform == "win32", reason="as on Unix")


@pytest.mark.parametrize("kind", FORMATS)
def test_five_formats_can_be_read(kind, tmp_path):
    Image.new("RGB", (40, 20), (255, 0, 0)).save(tmp_path / "ant", format=kind)
    small = thumbnail(tmp_path / "ant", 10)
    assert small.size == (10, 5)
    red, green, blue = np.asarray(small.convert("RGB"))[2, 2].tolist()
    assert red > 250
    assert max(green, blue) < 5
    check_pictures([tmp_path / "ant"])


@pytest.mark.parametrize("kind", ["EPS", "TIFF", "PPM", "TGA", "PCX"])
def test_no_other_decoder_is_used_whatever_the_extension(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("a program was run"))
    Image.new("RGB", (40, 20)).save(tmp_path / "3.png", format=kind)
    with pytest.raises(ValueError, match=r"3\.png is not an image that can be read .*use PNG, JPEG, GIF, WEBP or BMP"):
        thumbnail(tmp_path / "3.png", 10)


@pytest.mark.parametrize(("pixels", "expected"), [(8, [8.0, 8.0]), (300, [40.0, 40.0])])
def test_a_large_picture_is_scaled_down_and_a_small_one_is_not_enlarged(pixels, expected):
    _, size = thumbnail_box(np.zeros((pixels, pixels, 3)), (0.0, 0.0), side=40.0, dpi=120.0)
    assert size.tolist() == expected


@unix
def test_a_pipe_is_not_read_because_that_may_never_end(tmp_path):
    os.mkfifo(tmp_path / "ant.png")
    with pytest.raises(ValueError, match="it is not a regular file"):
        thumbnail(tmp_path / "ant.png", 10)


@pytest.mark.parametrize("side", [11_000, 14_000])
def test_a_small_file_with_too_many_pixels_is_refused(side, tmp_path):
    Image.new("1", (side, side)).save(tmp_path / "ant.png")
    with pytest.raises(ValueError, match=r"ant\.png .*(11000 x 11000 pixels|far too many pixels)"):
        check_pictures([tmp_path / "ant.png"])


def test_a_large_file_is_not_opened(tmp_path):
    with open(tmp_path / "ant.png", "wb") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(ValueError, match="larger than 100 MB"):
        thumbnail(tmp_path / "ant.png", 10)


def test_damaged_files_are_a_one_sentence_error(tmp_path):
    rng = np.random.default_rng(0)
    for kind in FORMATS:
        Image.fromarray(rng.integers(256, size=(12, 12, 3), dtype=np.uint8)).save(tmp_path / "ant", format=kind)
        whole = (tmp_path / "ant").read_bytes()
        for size in range(0, len(whole), max(len(whole) // 20, 1)):
            damaged = bytearray(whole)
            damaged[size] ^= 0xFF
            for content in (whole[:size], bytes(damaged)):
                (tmp_path / "ant").write_bytes(content)
                try:
                    thumbnail(tmp_path / "ant", 10)
                except ValueError as error:
                    assert "is not an image that can be read" in str(error)  # noqa: PT017 - other errors propagate


@unix
def test_links_that_leave_the_folder_are_not_followed(tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / "real.png")
    (tmp_path / "pictures" / "ant.png").symlink_to("real.png")
    assert set(find_pictures(tmp_path / "pictures", ["ant", "bee"])) == {"ant"}
    (tmp_path / "pictures" / "bee.png").symlink_to("../secret.png")
    with pytest.raises(ValueError, match=r"bee\.png is a link to a file outside .*pictures"):
        find_pictures(tmp_path / "pictures", ["ant", "bee"])
