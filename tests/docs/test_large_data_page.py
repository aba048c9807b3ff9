"""The pages about large data contain the measured tables."""

from benchmarks.large_data import PAGES, page


def test_the_tables_are_those_that_were_measured():
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    assert sum(text.count("| --- |") for text in texts) >= 4
    assert [page(text) for text in texts] == texts
