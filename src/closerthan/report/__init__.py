"""The report: a self-contained HTML page about a fit, which works offline."""

from closerthan.report.page import write_report

__all__ = ["write_report"]
