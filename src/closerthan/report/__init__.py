"""The report: one self-contained HTML page per fit that works offline."""

from closerthan.report.page import write_report

__all__ = ["write_report"]
