import pytest

from closerthan.collect.store.access import Access


def test_an_empty_secret_gives_no_access(tmp_path):
    (tmp_path / Access.FILES[0]).write_text("")
    with pytest.raises(ValueError, match=r"researcher-token\.txt contains no secret"):
        Access(tmp_path).allows("")
