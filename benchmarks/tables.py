"""Tables in Markdown, and how targets are counted."""

from collections.abc import Iterable, Sequence

from benchmarks.targets import Finding


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def counted(findings: Sequence[Finding]) -> str:
    met = sum(f.met is True for f in findings)
    missed = sum(f.met is False for f in findings)
    return f"{met} met, {missed} missed, {len(findings) - met - missed} open."
