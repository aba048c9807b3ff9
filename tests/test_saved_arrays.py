"""Reading .npz files, which may be damaged."""

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
def test_no_array_is_larger_than_its_bytes_in_the_file(member, tmp_path):
    """A damaged header may ask for any amount of memory."""
    with zipfile.ZipFile(tmp_path / "file.npz", "w") as archive:
        archive.writestr("x.npy", member)
    with pytest.raises(ValueError, match=r"file.npz is not a checkpoint: \S"):
        read_archive(tmp_path / "file.npz", "checkpoint")


def test_an_array_with_a_wrong_checksum_is_refused(tmp_path):
    np.savez(tmp_path / "file.npz", x=np.arange(1000.0))
    whole = bytearray((tmp_path / "file.npz").read_bytes())
    whole[4000] ^= 1
    (tmp_path / "file.npz").write_bytes(whole)
    with pytest.raises(ValueError, match="Bad CRC"):
        read_archive(tmp_path / "file.npz", "checkpoint")


def test_compressed_and_uncompressed_arrays_are_read(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "file.npz", zeros=np.zeros((100, 7)), text=np.array("é"), nothing=np.empty((0, 3)))
        found = read_archive(tmp_path / "file.npz", "checkpoint")
        assert {name: array.shape for name, array in found.items()} == {
            "zeros": (100, 7),
            "text": (),
            "nothing": (0, 3),
        }
        assert str(found["text"]) == "é"


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "none.npz", "checkpoint")
