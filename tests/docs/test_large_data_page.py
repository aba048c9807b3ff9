"""docs/large-data.md contains the measured tables."""

from benchmarks.large_data import PAGE, page


def test_the_tables_are_those_that_were_measured():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("| --- |") >= 3
    assert page(text) == text
