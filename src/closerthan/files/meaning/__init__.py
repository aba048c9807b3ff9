"""Interpretation of tables: from columns and rows to answers and comparisons."""
