"""Files and folders appear under their names only when they are complete, and existing ones are never lost."""

import csv
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import closerthan as ct
from closerthan import saving
from closerthan.saving import TakenError, whole_csv, whole_file, whole_folder

OURS = {**os.environ, "PYTHONPATH": str(Path(ct.__file__).parents[1])}
unix = pytest.mark.skipif(sys.platform == "win32", reason="folders are locked as on Unix")


def test_a_finished_file_has_its_content_and_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    with whole_file(tmp_path / "whole") as file:
        file.write(b"all of it")
        assert not (tmp_path / "whole").exists()
    assert (tmp_path / "whole").read_bytes() == b"all of it"
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_table_is_read_as_it_was_written_whatever_its_cells_contain(tmp_path):
    rows = [["plain", "a,b", 'a "quoted" word'], ["lone\rcarriage return", "two\nlines", "\r\n"]]
    whole_csv(tmp_path / "table.csv", ["one", "two", "three"], rows)
    with open(tmp_path / "table.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, strict=True)) == [["one", "two", "three"], *rows]
    assert (tmp_path / "table.csv").read_bytes().startswith(b"one,two,three\nplain,")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "whole").write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(tmp_path / "whole") as file:
        file.writelines([b"half of", "it"])
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("whole", b"old")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("failed", [False, True])
def test_a_full_disk_leaves_the_old_file_and_no_draft(failed, tmp_path):
    """The buffer is written when the file is closed, so closing it fails."""
    (tmp_path / "whole").write_bytes(b"old")

    def write():
        with whole_file(tmp_path / "whole") as file:
            os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())
            file.write(b"new")
            if failed:
                raise RuntimeError

    with pytest.raises((OSError, RuntimeError)):
        write()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("whole", b"old")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("size", [3, 1_000_000])
def test_a_full_disk_is_an_error_that_names_the_file(size, tmp_path):
    def write():
        with whole_file(tmp_path / "whole") as file:
            os.dup2(os.open("/dev/full", os.O_WRONLY), file.fileno())
            file.write(b"x" * size)

    with pytest.raises(OSError, match=r"No space left on device: '.*/whole'$") as caught:
        write()
    assert caught.value.filename == str(tmp_path / "whole")


@pytest.mark.parametrize("part", [None, "map.csv"])
def test_errors_name_files_by_their_final_names_and_not_by_those_of_drafts(part, tmp_path):
    target = tmp_path / "missing" / "whole"

    def write():
        if part is None:
            with whole_file(target):
                pass
        else:
            with whole_folder(tmp_path / "folder", replace=False) as draft, whole_file(draft / "missing" / part):
                pass

    with pytest.raises(FileNotFoundError) as caught:
        write()
    expected = target if part is None else tmp_path / "folder" / "missing" / part
    assert caught.value.filename == str(expected)


def test_a_file_is_synced_before_and_its_folder_after_the_rename(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        plain = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, plain=plain, name=name: (done.append(name), plain(*given)))
    with whole_file(tmp_path / "whole") as file:
        file.write(b"all of it")
    assert done == ["fsync", "replace", "fsync"]


@unix
def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real.csv")
    with whole_folder(tmp_path / "link", replace=True) as draft:
        (draft / "map.csv").write_text("new")
    with whole_file(tmp_path / "file") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "real" / "map.csv").read_text() == (tmp_path / "real.csv").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "real", "real.csv"]


# ---- a folder that is replaced ---------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "map.csv").write_text("old")
    return tmp_path / "map"


def replaced(folder):
    with whole_folder(folder, replace=True) as draft:
        (draft / "map.csv").write_text("new")


def test_a_folder_is_replaced(folder):
    replaced(folder)
    assert (folder / "map.csv").read_text() == "new"
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EBUSY])
@pytest.mark.parametrize("at", [1, 2])
def test_if_a_rename_fails_the_old_one_stays(at, number, folder, monkeypatch):
    """If another process may have been faster, the new folder is saved beside it."""
    plain, calls = os.rename, []

    def rename(*names):
        calls.append(names)
        if len(calls) == at:
            raise OSError(number, os.strerror(number))
        plain(*names)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises((OSError, TakenError)):
        replaced(folder)
    assert (folder / "map.csv").read_text() == "old"
    others = [path for path in folder.parent.iterdir() if path != folder]
    assert [(path.name, (path / "map.csv").read_text()) for path in others] == (
        [("map-2", "new")] if number == errno.EACCES else []
    )


KILLED = """
import os, shutil, sys
from pathlib import Path
from closerthan.saving import whole_folder
calls = []
def dying(plain):
    def call(*given, **options):
        calls.append(given)
        if len(calls) == {at}:
            os._exit(9)
        return plain(*given, **options)
    return call
os.rename, shutil.rmtree = dying(os.rename), dying(shutil.rmtree)
with whole_folder(Path(sys.argv[1]), replace=True) as draft:
    (draft / "map.csv").write_text("new")
"""


@unix
@pytest.mark.parametrize("at", range(1, 5))
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_folder_complete(at, folder):
    code = subprocess.run([sys.executable, "-c", KILLED.format(at=at), folder], env=OURS, check=False).returncode
    assert code == 9
    contents = [path.read_text() for path in folder.parent.glob("*/map.csv")]
    contents += [path.read_text() for path in folder.parent.glob(".*/map.csv")]
    assert contents
    assert set(contents) <= {"old", "new"}
    saving.writable_beside(folder)  # what the next fit asks first
    assert (folder / "map.csv").read_text() == ("old" if at <= 2 else "new")
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("code", [errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES], ids=errno.errorcode.get)
def test_nothing_is_lost_if_another_process_took_the_name(tmp_path, monkeypatch, code):
    """Systems report it by different errors: exists, not empty, not a folder, or permission denied."""
    plain = os.rename

    def taken(source, target):
        if os.path.basename(target) == "map":
            raise OSError(code, os.strerror(code))
        plain(source, target)

    monkeypatch.setattr("closerthan.saving.os.rename", taken)
    with pytest.raises(TakenError, match="map-2"), whole_folder(tmp_path / "map", replace=False) as draft:
        (draft / "map.csv").write_text("all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["map-2"]
    assert (tmp_path / "map-2" / "map.csv").read_text() == "all of it"


# ---- drafts ----------------------------------------------------------------------------------------------------------


@unix
def test_drafts_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path):
    """Files with similar names that are no drafts of this file stay too."""
    kept = (".other.csv.01234567.draft", ".map.csv.01234567", ".map.csv.0123.draft")
    for name in (".map.csv.01234567.draft", *kept):
        (tmp_path / name).write_text("left")
    with whole_file(tmp_path / "map.csv") as running:
        with whole_file(tmp_path / "map.csv") as other:
            other.write(b"first")
        running.write(b"second")
    assert (tmp_path / "map.csv").read_bytes() == b"second"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["map.csv", *kept])


@unix
def test_draft_folders_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path):
    left = tmp_path / ".map.01234567.draft"
    left.mkdir()
    (left / "map.csv").write_text("left")
    with whole_folder(tmp_path / "map", replace=True) as running:
        assert not left.exists()
        with whole_folder(tmp_path / "map", replace=True) as other:
            (other / "map.csv").write_text("first")
        assert running.exists()
        (running / "map.csv").write_text("second")
    assert (tmp_path / "map" / "map.csv").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["map"]


@unix
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_draft_that_another_process_removed_is_created_again(kind, tmp_path, monkeypatch):
    plain, taken = saving.try_lock, []

    def lock(number):
        if not taken:
            taken.extend(tmp_path.iterdir())
            for path in taken:
                path.rmdir() if path.is_dir() else path.unlink()
        return plain(number)

    monkeypatch.setattr(saving, "try_lock", lock)
    if kind == "folder":
        replaced(tmp_path / "map")
    else:
        with whole_file(tmp_path / "map") as file:
            file.write(b"whole")
    assert len(taken) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["map"]
