"""Writers of comparisons, and of text that is safe in spreadsheets."""
