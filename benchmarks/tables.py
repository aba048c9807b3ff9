"""Tables in Markdown, and the count of targets that were met."""

from collections.abc import Sequence

from reproduction.page import markdown_table as table

from benchmarks.targets import Finding

__all__ = ["counted", "table"]


def counted(findings: Sequence[Finding]) -> str:
    met = sum(f.met is True for f in findings)
    missed = sum(f.met is False for f in findings)
    return f"{met} met, {missed} missed, {len(findings) - met - missed} open."
