import errno
import hashlib
import io
import os
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from closerthan.datasets import cars, fetching, music
from closerthan.datasets.answers.cars import REMOTE as CARS
from closerthan.datasets.answers.music import REMOTE as MUSIC
from closerthan.datasets.fetching import Remote

CONTENT = b"some data"
KNOWN = Remote("some.data", "https://example.invalid/some.data", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSERTHAN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.fixture
def downloads(monkeypatch):
    """The content of a simulated download, followed by the addresses that were requested."""
    log = []

    class Response(io.BytesIO):
        headers: ClassVar = {}

    def urlopen(address, **_):
        log.append(address)
        return Response(log[0])

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    return log


def test_a_file_in_the_users_folder_is_not_downloaded(folder, downloads):
    folder.mkdir()
    (folder / "some.data").write_bytes(CONTENT)
    assert KNOWN.path() == folder / "some.data"
    assert downloads == []


def test_a_download_is_verified_and_stored(folder, downloads):
    downloads.append(CONTENT)
    assert KNOWN.path().read_bytes() == CONTENT
    assert KNOWN.path() == folder / "some.data"
    assert downloads[1:] == [KNOWN.address]


def test_a_download_goes_to_the_cache_if_no_folder_is_named(folder, downloads, monkeypatch):
    monkeypatch.delenv("CLOSERTHAN_DATA")
    downloads.append(CONTENT)
    assert KNOWN.path() == folder.parent / "cache" / "closerthan" / "some.data"


def test_a_download_goes_to_the_cache_if_the_folder_cannot_be_written(folder, downloads, monkeypatch):
    """Simulated by an error, since permissions do not apply to the superuser."""
    downloads.append(CONTENT)
    mkdir = Path.mkdir

    def refuse(path, *arguments, **options):
        if path == folder:
            raise OSError(errno.EROFS, "Read-only file system")
        mkdir(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert KNOWN.path() == folder.parent / "cache" / "closerthan" / "some.data"


def test_size_and_licence_are_printed_before_a_download(folder, downloads, capsys):
    downloads.append(CONTENT)
    with pytest.raises(ValueError, match="it ended after"):
        KNOWN._replace(size=4_200_000, licence="CC0").path()
    assert "downloading some.data (4.2 MB; licence: CC0) from https://example.invalid" in capsys.readouterr().err


def test_the_size_from_the_server_is_printed(folder, tmp_path, capsys):
    (tmp_path / "source").write_bytes(CONTENT)
    KNOWN._replace(address=(tmp_path / "source").as_uri()).path()
    assert "(9 bytes; licence: not stated)" in capsys.readouterr().err
    assert (folder / "some.data").read_bytes() == CONTENT


@pytest.mark.parametrize("checksum_source", [None, "cblearn"])
def test_a_download_with_another_checksum_is_refused_and_discarded(folder, downloads, checksum_source):
    downloads.append(b"something else")
    with pytest.raises(ValueError, match="it is not the expected file"):
        KNOWN._replace(checksum_source=checksum_source).path()
    assert list(folder.iterdir()) == []


def test_an_interrupted_download_is_discarded(folder, monkeypatch):
    class Broken:
        headers: ClassVar = {"Content-Length": "100"}
        pieces: ClassVar = [CONTENT]

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def read(self, _):
            if not self.pieces:
                raise ConnectionResetError("connection reset")
            return self.pieces.pop()

    monkeypatch.setattr(fetching.urllib.request, "urlopen", lambda *_, **__: Broken())
    with pytest.raises(ValueError, match=r"cannot be read \(connection reset\); download it by other means and save"):
        KNOWN.path()
    assert list(folder.iterdir()) == []


def test_an_incomplete_download_is_a_clear_error(folder, downloads):
    downloads.append(CONTENT[:4])
    with pytest.raises(ValueError, match="it ended after 4 of 9 bytes"):
        KNOWN._replace(size=9).path()
    assert list(folder.iterdir()) == []


def test_a_damaged_file_is_an_error_that_says_what_to_do(folder):
    folder.mkdir()
    (folder / "some.data").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="delete it, and it will be downloaded again"):
        KNOWN.path()


def test_a_local_copy_with_another_checksum_is_used_with_a_warning_if_others_published_it(folder):
    folder.mkdir()
    (folder / "some.data").write_bytes(b"another version")
    with pytest.warns(UserWarning, match="which cblearn published; it is another version of the file, or damaged"):
        assert KNOWN._replace(checksum_source="cblearn").path() == folder / "some.data"


@pytest.mark.usefixtures("folder")
def test_no_network_is_an_error_that_names_the_way_out(monkeypatch):
    def urlopen(*_, **__):
        raise fetching.urllib.error.URLError("no network")

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    with pytest.raises(ValueError, match="in the folder named by the environment variable CLOSERTHAN_DATA"):
        KNOWN.path()


def here(remote):
    place = Path(os.environ.get("CLOSERTHAN_DATA", "")) / remote.name
    return pytest.mark.skipif(not place.is_file(), reason=f"{remote.name} is not in CLOSERTHAN_DATA")


@here(MUSIC)
def test_music_has_400_artists_and_no_self_comparisons():
    answers = music()
    assert (len(answers), answers.n_objects) == (9_090, 400)
    assert answers.dropped == {"self_pairs": 17}
    assert answers.names is not None
    assert int(answers.names[-1]) <= 412
    # The file's first row, in its own numbers.
    assert [answers.names[number] for number in answers.rows[0]] == ["3", "47", "206"]


@here(CARS)
def test_a_central_car_is_closer_to_both_others_than_they_are_to_each_other():
    answers = cars()
    assert (len(answers), answers.n_objects) == (2 * 7_097, 60)
    assert answers.names is not None
    # The file's first answer: 32 is the most central of 32, 16 and 30.
    first = [[answers.names[number] for number in row] for row in answers.rows[:2]]
    assert first == [["16", "32", "30"], ["30", "32", "16"]]
    assert (np.bincount(answers.rows.ravel(), minlength=60) > 0).all()
