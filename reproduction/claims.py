"""The page docs/reproduction.md: each claim of the paper with its verdict, generated from a file of numbers.

    python -m reproduction.claims build/reproduction docs/reproduction.md

reads what ``python -m reproduction NAME --out build/reproduction`` measured, for one NAME or for all, and writes the
page, with its figures, ``summary.json`` and ``claims.csv`` (the numbers behind each verdict) in a folder beside it.
Experiments that were not run again stay as they are.

    python -m reproduction.claims docs/reproduction docs/reproduction.md

writes the page again from the saved ``summary.json``.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closerthan import __version__
from closerthan.saving import whole_csv, whole_file
from reproduction import EXPERIMENTS
from reproduction.page import Claim, Finding, Picture, Section, markdown_table

TITLE = "Reproduction of the paper"
FILE = "summary.json"
EVIDENCE = "claims.csv"
COLUMNS = ("number", "claim", "verdict", "setting", "where", "measured")
HEADER = ("", "the paper says", "verdict", "where", "figure")
FIRST = slice(1, 2)  # Figure 2, the paper's main result, comes before the table of claims
# The page shows one figure of each experiment: this one, or the first if an experiment is not listed here.
PAGE_FIGURES = {"table1": "figure2-paper", "ckl": "ckl-paper", "table2": "figure5-synthetic", "theory": "linear"}

Summary = dict[str, Any]


def part(section: Section, rows: Sequence[Mapping[str, Any]], command: str) -> Summary:
    """Return the claims of an experiment with their numbers, its findings, one figure, and how it was run."""
    dates = sorted({row["date"] for row in rows})
    return {
        "name": section.name,
        "title": section.title,
        "command": command,
        "version": __version__,
        "dates": [dates[0], dates[-1]],
        "machines": sorted({row["machine"] for row in rows}),
        "picture": _page_figure(section)._asdict(),
        "claims": [
            {**claim._asdict(), "cases": {name: bool(holds) for name, holds in claim.cases.items()}}
            for claim in section.claims
        ],
        "findings": [finding._asdict() for finding in section.findings],
    }


def _page_figure(section: Section) -> Picture:
    pictures = [block for block in section.blocks if isinstance(block, Picture)]
    stem = PAGE_FIGURES.get(section.name, section.name)
    return next((picture for picture in pictures if picture.stem == stem), pictures[0])


def write(folder: Path, numbers: Summary) -> None:
    """Write the numbers of one or all experiments to a folder."""
    _write_text(folder / FILE, json.dumps(numbers, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def read(folder: Path) -> Summary:
    """Read the numbers in a folder."""
    numbers: Summary = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return numbers


def in_short(cases: Mapping[str, bool]) -> str:
    """Return a verdict in at most three words.

    Examples
    --------
    >>> in_short({"ste": True, "ckl": False})
    'holds in part'
    """
    holds = [bool(case) for case in cases.values()]
    if not holds:
        return "could not be judged"
    return "holds" if all(holds) else "holds in part" if any(holds) else "does not hold"


VERDICTS = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "could not be judged": "could not be judged",
}
"""Each verdict in the singular and in the plural."""


class _Judged(NamedTuple):
    """A claim with its verdict, in all settings in which it was checked."""

    number: int
    figure: str
    parts: list[Claim]
    verdict: str

    @property
    def says(self) -> str:
        return self.parts[0].says


def page(numbers: Summary, folder: str) -> str:
    """Return the page as Markdown; the figures and the evidence are in ``folder``."""
    claims = _judged(numbers)
    verdicts = [claim.verdict for claim in claims]
    counts = ", ".join(f"{verdicts.count(kind)} {words}" for kind, words in VERDICTS.items() if kind in verdicts)
    in_words = "\n".join(
        f"- **{verdicts.count(kind)} {words}:** {'; '.join(_named(claims, kind))}."
        for kind, words in VERDICTS.items()
        if kind in verdicts
    )
    table = [
        (str(claim.number), _plain(claim.says), f"**{claim.verdict}**", _where(claim.parts), claim.figure)
        for claim in claims
    ]
    figures = [
        f"![{experiment['title']}]({folder}{experiment['name']}/{experiment['picture']['stem']}.png)\n\n"
        f"*{_caption(experiment)}*"
        for experiment in numbers["experiments"]
    ]
    findings = [f"- {_plain(finding.says)}" for finding in _findings(numbers)]
    parts = [
        f"# {TITLE}",
        "This page reproduces the tables, figures and theorems of *Fast Stochastic Ordinal Embedding with Variance "
        "Reduction and Adaptive Step Size* (Ma, Zeng, Xiong, Xu, Cao, Liu, Yao) with this package. Each verdict is "
        "computed from the measurements.",
        f"**Of {len(claims)} claims, {counts}.** The number after a claim is its row in the table below.",
        in_words,
        *figures[FIRST],
        "## Claim by claim",
        markdown_table(HEADER, table),
        "*Where*: the losses, settings and data for which a claim holds or does not hold; empty if all agree. "
        "*Paper*: the paper's step sizes and start; *defaults*: those of this package. The numbers behind each "
        f"verdict and finding are in [{EVIDENCE}]({folder}{EVIDENCE}).",
        *(["## Additional findings", "\n".join(findings)] if findings else []),
        "## The other figures",
        *(figure for number, figure in enumerate(figures) if number not in range(len(figures))[FIRST]),
        "## Run it yourself",
        "The experiments are not part of the installed package. Run them from the root of a checkout, with closerthan "
        "installed (`pip install .`):",
        "```text\n"
        "python -m reproduction                       list the experiments\n"
        "python -m reproduction table1 --quick        run a small version of one of them\n"
        "python -m reproduction table1                run it in full, as for this page\n"
        "python -m reproduction all                   run everything, which takes hours\n"
        "```",
        "Each experiment writes its tables, figures and single trials to `build/reproduction/NAME` (`NAME.md`, "
        "`trials.csv`), or to another folder with `--out`; `all` also writes one page with everything "
        "(`build/reproduction.html`). After an interruption, the same command resumes where it stopped. "
        "`python -m reproduction.claims build/reproduction docs/reproduction.md` writes this page from the results.",
        "## Details",
        "\n".join(_how(numbers)),
        "Seconds depend on the machine and its load; compare them only with each other. Errors in the printed paper "
        "are listed under [notation](notation.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _how(numbers: Summary) -> list[str]:
    """List the commands with their dates and machines; commands run under the same conditions share a line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for experiment in numbers["experiments"]:
        first, last = experiment["dates"]
        when = f"on {first}" if first == last else f"from {first} to {last}"
        how = (experiment["version"], when, "; ".join(experiment["machines"]))
        lines.setdefault(how, []).append(f"`{experiment['command']}`")
    return [
        f"- {', '.join(commands)}: closerthan {version}, trials run {when} on {machines}."
        for (version, when, machines), commands in lines.items()
    ]


def evidence(numbers: Summary) -> list[tuple[str, ...]]:
    """Return the rows of ``claims.csv``: each claim with its numbers in each setting, then the additional findings."""
    claims: list[tuple[str, ...]] = [
        (str(claim.number), claim.says, claim.verdict, part.setting, part.verdict, part.measured)
        for claim in _judged(numbers)
        for part in claim.parts
    ]
    findings = _findings(numbers)
    return claims + [("", finding.says, "additional finding", "", "", finding.measured) for finding in findings]


def _named(claims: Sequence[_Judged], kind: str) -> list[str]:
    return [f"{_plain(claim.says)} ({claim.number})" for claim in claims if claim.verdict == kind]


def _caption(experiment: Mapping[str, Any]) -> str:
    caption: str = experiment["picture"]["caption"]
    return caption if caption.startswith("Figure") else f"{experiment['title']}. {caption}"


def _plain(text: str) -> str:
    """Escape asterisks, which stand for products or starred variables here and never for emphasis."""
    return text.replace("*", "\\*")


def _judged(numbers: Summary) -> list[_Judged]:
    """Return all claims; those with the same wording are one claim in several settings."""
    claims: list[_Judged] = []
    for experiment in numbers["experiments"]:
        figure = experiment["title"].partition(":")[0].rpartition(" and ")[2].replace(" ", "\u00a0")
        groups: dict[str, list[Claim]] = {}
        for claim in experiment["claims"]:
            groups.setdefault(claim["says"], []).append(Claim(**claim))
        for parts in groups.values():
            claims.append(_Judged(len(claims) + 1, figure, parts, in_short(_all_cases(parts))))
    return claims


def _findings(numbers: Summary) -> list[Finding]:
    return [Finding(**finding) for experiment in numbers["experiments"] for finding in experiment["findings"]]


def _all_cases(parts: Sequence[Claim]) -> dict[str, bool]:
    return {f"{part.setting}: {name}": holds for part in parts for name, holds in part.cases.items()}


def _where(parts: Sequence[Claim]) -> str:
    if len(set(_all_cases(parts).values())) < 2:
        return ""
    return "; ".join(
        f"{part.setting}: {part.verdict}" if part.setting else part.verdict.removeprefix("holds ") for part in parts
    )


def collected(folder: Path, previous: Summary) -> Summary:
    """Return all experiments in the paper's order: from the folder if they are there, otherwise from ``previous``."""
    experiments = {one["name"]: one for one in previous["experiments"]}
    for name in EXPERIMENTS:
        if (folder / name / FILE).exists():
            experiments[name] = read(folder / name)
    return {"experiments": [experiments[name] for name in EXPERIMENTS if name in experiments]}


def write_page(path: Path, numbers: Summary) -> None:
    """Write the page, and write the numbers and the evidence to the folder of the same name beside it."""
    folder = path.with_suffix("")
    write(folder, numbers)
    whole_csv(folder / EVIDENCE, COLUMNS, evidence(numbers))
    _write_text(path, page(numbers, f"{folder.name}/"))


def write_guide(source: Path, path: Path) -> None:
    """Write the page of the guide, and write its figures and numbers to the folder beside it."""
    folder = path.with_suffix("")
    previous = read(folder) if (folder / FILE).exists() else {"experiments": []}
    numbers = collected(source, read(source) if (source / FILE).exists() else previous)
    folder.mkdir(parents=True, exist_ok=True)
    for experiment in numbers["experiments"]:
        picture = f"{experiment['name']}/{experiment['picture']['stem']}.png"
        if (source / picture).exists() and folder.resolve() != source.resolve():
            (folder / picture).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / picture, folder / picture)
    write_page(path, numbers)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m reproduction.claims FOLDER PAGE")
    write_guide(Path(sys.argv[1]), Path(sys.argv[2]))
