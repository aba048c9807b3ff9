"""Pages of measured numbers in docs/measured, each of which ends with a line that says how it was made."""

import datetime
from pathlib import Path

from reproduction.machine import machine

import closerthan

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def measured_on(command: str) -> str:
    """Return the last line of a page: the command, version, machine and date."""
    today = datetime.date.today()
    return f"*Made by `{command}` with closerthan {closerthan.__version__} on {machine()}, {today.day} {today:%B %Y}.*"


def write_measured(name: str, text: str) -> None:
    """Write the page ``docs/measured/NAME.md``, which then ends with one line break."""
    (DOCS / "measured" / f"{name}.md").write_text(text.rstrip("\n") + "\n", encoding="utf-8")
