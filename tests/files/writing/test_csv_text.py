"""Text that is safe in spreadsheets."""

import pytest

from closerthan.files.writing.csv_text import spreadsheet_safe


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx", "\rx", " =1", "＝1"])
def test_formulas_get_an_apostrophe(text):
    assert spreadsheet_safe(text) == f"'{text}"
