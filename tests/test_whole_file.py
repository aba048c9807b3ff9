"""Files and folders that appear under their names only once they are complete."""

import errno
import os

import pytest

from closerthan.saving import TakenError, whole_file, whole_folder


def test_a_finished_file_has_its_content_and_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    with whole_file(tmp_path / "whole") as file:
        file.write(b"all of it")
        assert not (tmp_path / "whole").exists()
    assert (tmp_path / "whole").read_bytes() == b"all of it"
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "whole").write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(tmp_path / "whole") as file:
        file.writelines([b"half of", "it"])
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("whole", b"old")]


@pytest.mark.parametrize("code", [errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES], ids=errno.errorcode.get)
def test_a_name_that_was_taken_meanwhile_costs_nothing(tmp_path, monkeypatch, code):
    """Systems say it in different ways: there is a folder, it is not empty, there is a file, or that it must not be."""
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
