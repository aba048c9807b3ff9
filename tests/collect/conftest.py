import pytest
from studies import study_folder


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a new study about ten words."""
    return study_folder(tmp_path)
