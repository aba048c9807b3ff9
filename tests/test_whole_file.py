"""whole_file: a file appears under its name only once it is complete."""

import pytest

from closerthan.saving import whole_file


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
