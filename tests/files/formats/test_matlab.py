"""MATLAB files that are damaged or refer to other files."""

import numpy as np
import pytest
from scipy import io

from closerthan.files import read_answers
from closerthan.files.formats.binary.second_process import read_arrays


@pytest.fixture
def path(tmp_path):
    io.savemat(tmp_path / "a.mat", {"triplets": np.array([[1, 2, 3]])})
    return tmp_path / "a.mat"


def test_a_file_that_crashes_the_reader_is_an_error_of_one_sentence(path):
    content = bytearray(path.read_bytes())
    content[184] = 0  # the type of the numbers, which SciPy 1.17 looks up beyond the end of a table
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.mat cannot be read as a MATLAB file"):
        read_answers(path)


@pytest.mark.parametrize(
    "program",
    ["import os; os.abort()", """print('{"names": []}'); raise SystemExit(3)""", "print('half of a line')"],
)
def test_a_reader_that_crashes_is_an_error_of_one_sentence(path, program):
    with pytest.raises(ValueError, match=r"a\.mat cannot be read as a MATLAB file: .* exited with code"):
        read_arrays(path, "MATLAB", program=program)


def test_a_reader_that_does_not_finish_is_stopped(path):
    endless = "import threading; threading.Event().wait()"
    with pytest.raises(ValueError, match=r"a\.mat cannot be read as a MATLAB file: reading it took longer"):
        read_arrays(path, "MATLAB", program=endless, timeout=0.2)


@pytest.mark.parametrize("program", ["", "/usr/bin/blender", "/no/such/python"])
def test_the_file_is_read_in_this_process_if_no_python_can_be_started(path, monkeypatch, program):
    monkeypatch.setattr("sys.executable", program)
    assert read_answers(path).comparisons.rows.tolist() == [[0, 1, 2]]


def test_a_module_in_the_current_folder_is_not_imported_by_the_reader(path, monkeypatch):
    for name in ("json.py", "numpy.py"):
        (path.parent / name).write_text("raise SystemExit('run')")
    monkeypatch.chdir(path.parent)
    assert read_answers(path).comparisons.rows.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("way", ["external storage", "external link", "soft link", "virtual", "behind a reference"])
def test_links_to_other_files_are_refused(tmp_path, way):
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["triplets"] = np.array([[1, 2, 3]], dtype="i4").T
    numbers = tmp_path / "secret.bin"
    numbers.write_bytes(np.array([1, 2, 3], dtype="i4").tobytes())
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:
        if way == "external storage":
            file.create_dataset("triplets", (3, 1), "i4", external=[(str(numbers), 0, 12)])
        elif way == "external link":
            file["triplets"] = h5py.ExternalLink(str(secret), "/triplets")
        elif way == "soft link":
            file["inner/link"] = h5py.ExternalLink(str(secret), "/")
            file["triplets"] = h5py.SoftLink("/inner/link/triplets")
        elif way == "virtual":
            layout = h5py.VirtualLayout((3, 1), "i4")
            layout[:] = h5py.VirtualSource(str(secret), "triplets", shape=(3, 1))
            file.create_virtual_dataset("triplets", layout)
        else:
            outside = file.create_dataset("inner/outside", (3, 1), "i4", external=[(str(numbers), 0, 12)])
            cells = file.create_dataset("answers", (3, 1), dtype=h5py.ref_dtype)
            cells[:, 0] = [outside.ref] * 3
    with pytest.raises(ValueError, match=r"a\.mat: .* other files are not read"):
        read_answers(path)
