"""The readable result of an experiment: text, tables, pictures and verdicts, as Markdown or as one HTML page."""

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Text(NamedTuple):
    """A paragraph, which may contain `code` and **bold** text."""

    text: str


class Table(NamedTuple):
    """A table of strings with a caption."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Picture(NamedTuple):
    """A figure stored beside the page as ``stem``.png and ``stem``.svg."""

    stem: str
    caption: str


def verdict(cases: Mapping[str, bool]) -> str:
    """Summarise in which cases a claim holds.

    Examples
    --------
    >>> verdict({"ste": True, "ckl": False})
    'holds for ste; not for ckl'
    """
    if not cases:
        return "could not be judged"
    yes, no = [", ".join(name for name, holds in cases.items() if bool(holds) is kind) for kind in (True, False)]
    return "holds" if not no else "does not hold" if not yes else f"holds for {yes}; not for {no}"


class Claim(NamedTuple):
    """A claim of the paper, our measurements, and the cases in which it holds."""

    says: str
    measured: str
    cases: Mapping[str, bool]
    setting: str = ""  # distinguishes several checks of the same claim

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return verdict(self.cases)

    def row(self) -> tuple[str, str, str]:
        """Return the claim as a row of a table."""
        return self.says, f"{self.setting}. {self.measured}" if self.setting else self.measured, self.verdict


class Finding(NamedTuple):
    """An observation that is not in the paper: one or two sentences, and the numbers behind them."""

    says: str
    measured: str = ""

    @property
    def text(self) -> str:
        """The sentences followed by the numbers."""
        return f"{self.says} {self.measured}".strip()


Block = Text | Table | Picture


class Section(NamedTuple):
    """The complete result of one experiment."""

    name: str
    title: str
    blocks: Sequence[Block]
    claims: Sequence[Claim]
    findings: Sequence[Finding] = ()


CLAIMS_HEADER = ("the paper says", "we measured", "verdict")


def markdown(section: Section, folder: str = "", level: int = 1) -> str:
    """Return a section as Markdown that links to the pictures in ``folder``.

    Examples
    --------
    >>> print(markdown(Section("demo", "A demo", [Table("Sizes.", ["n"], [["3"]])], [])))
    # A demo
    <BLANKLINE>
    Sizes.
    <BLANKLINE>
    | n |
    | --- |
    | 3 |
    <BLANKLINE>
    """
    parts = [f"{'#' * level} {section.title}"]
    if section.claims:
        parts.append(markdown_table(CLAIMS_HEADER, (claim.row() for claim in section.claims)))
    parts += [finding.text for finding in section.findings]
    for block in section.blocks:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Table):
            parts += [block.caption, markdown_table(block.header, block.rows)]
        else:
            parts += [f"![{_plain(block.caption)}]({folder}{block.stem}.png)", f"*{block.caption}*"]
    return "\n\n".join(parts) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("`", "").replace("*", "")


STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfc; --line: #d5d9de; --soft: #f1f3f5; --mark: #205c8c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --paper: #16191d; --line: #3a4048; --soft: #20252b; --mark: #7fb6e0; }
  img { background: #fff; border-radius: 4px; }
}
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
p, figcaption { max-width: 48rem; } .caption { font-size: .9rem; margin-bottom: 0; }
nav a { margin-right: 1rem; } a { color: var(--mark); }
.wide { overflow-x: auto; margin: .5rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid var(--line); text-align: left; }
td { white-space: nowrap; } .number { text-align: right; }
thead th { background: var(--soft); vertical-align: bottom; }
table.claims { table-layout: fixed; width: 100%; }
table.claims td { white-space: normal; vertical-align: top; }
table.claims th:nth-child(2) { width: 48%; } table.claims th:nth-child(3) { width: 17%; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: .9rem; }
code { background: var(--soft); padding: 0 .2em; border-radius: 3px; }
"""


def page(title: str, introduction: Sequence[str], sections: Sequence[Section], folder: Path) -> str:
    """Return one self-contained HTML page; the pictures of a section are in its folder under ``folder``."""
    body = [f"<h1>{html.escape(title)}</h1>", *(f"<p>{_inline(text)}</p>" for text in introduction)]
    body.append("<nav>" + "".join(f'<a href="#{s.name}">{html.escape(s.name)}</a>' for s in sections) + "</nav>")
    claims = [claim for section in sections for claim in section.claims]
    if claims:
        body += ["<h2>Claim by claim</h2>", _html_table("", CLAIMS_HEADER, [claim.row() for claim in claims], "claims")]
    for section in sections:
        body.append(f'<h2 id="{section.name}">{html.escape(section.title)}</h2>')
        body += [f"<p>{_inline(finding.text)}</p>" for finding in section.findings]
        for block in section.blocks:
            if isinstance(block, Text):
                body.append(f"<p>{_inline(block.text)}</p>")
            elif isinstance(block, Table):
                body.append(_html_table(block.caption, block.header, block.rows))
            else:
                image = base64.b64encode((folder / section.name / f"{block.stem}.png").read_bytes()).decode()
                caption = _inline(block.caption)
                body.append(
                    f'<figure><img alt="{html.escape(_plain(block.caption))}" src="data:image/png;base64,{image}">'
                    f"<figcaption>{caption}</figcaption></figure>"
                )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n"
        "<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    lines = list(rows)
    numeric = [column > 0 and any(_is_number(line[column]) for line in lines) for column in range(len(header))]
    sides = [' class="number"' if number else "" for number in numeric]
    head = "".join(f'<th scope="col"{side}>{_inline(cell)}</th>' for side, cell in zip(sides, header, strict=True))
    cells = [
        "".join(f"<td{side}>{_inline(cell)}</td>" for side, cell in zip(sides, line, strict=True)) for line in lines
    ]
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    title = f'<p class="caption">{_inline(caption)}</p>' if caption else ""
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'{title}<div class="wide">{table}</div>'


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip("*%"))
    except ValueError:
        return cell == "-"  # a missing number
    return True


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)
