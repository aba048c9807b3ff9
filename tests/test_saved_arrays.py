"""Files of arrays that anybody may have written."""

import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from closerthan.saved_arrays import read_archive


def header(shape, kind="<f8"):
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize(
    "member", [header((2**40,)), header((3,)) + bytes(16), header((1,), "|O") + bytes(8), b"", b"text"]
)
def test_an_array_is_as_large_as_the_bytes_that_there_are(member, tmp_path):
    """Its header may ask for any amount of memory."""
    with zipfile.ZipFile(tmp_path / "file.npz", "w") as archive:
        archive.writestr("x.npy", member)
    with pytest.raises(ValueError, match=r"file.npz is not a checkpoint: \S"):
        read_archive(tmp_path / "file.npz", "checkpoint")


def test_what_does_not_match_its_check_sum_is_refused(tmp_path):
    np.savez(tmp_path / "file.npz", x=np.arange(1000.0))
    whole = bytearray((tmp_path / "file.npz").read_bytes())
    whole[4000] ^= 1
    (tmp_path / "file.npz").write_bytes(whole)
    with pytest.raises(ValueError, match="Bad CRC"):
        read_archive(tmp_path / "file.npz", "checkpoint")


def test_what_is_there_is_read_packed_or_not(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "file.npz", zeros=np.zeros((100, 7)), text=np.array("é"), nothing=np.empty((0, 3)))
        found = read_archive(tmp_path / "file.npz", "checkpoint")
        assert {name: array.shape for name, array in found.items()} == {
            "zeros": (100, 7),
            "text": (),
            "nothing": (0, 3),
        }
        assert str(found["text"]) == "é"


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "none.npz", "checkpoint")
