"""A worked study: from a file of people's answers to a paragraph for the methods section, by one command.

    python -m benchmarks.believe

runs ``closerthan fit FILE --dims auto --by people --replicates 100`` once on the answers of 39 people about 36 faces
(cfd36_people.csv in the folder CLOSERTHAN_DATA; if it is missing, simulated people are used and nothing is written).
All numbers in docs/measured/what-can-i-believe.md, and docs/images/what-can-i-believe.png, come from that run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct
from benchmarks.measured import DOCS, measured_on, write_measured
from closerthan.plotting import ellipses_figure, neighbours_figure

FILE = "cfd36_people.csv"
COMMAND = ("fit", FILE, "--dims", "auto", "--by", "people", "--replicates", "100")
N_PEOPLE, N_FACES, N_ANSWERS = 39, 36, 39_000


class Study(NamedTuple):
    """The output of one run of the command."""

    summary: str  # how the file was interpreted
    facts: str
    methods: str  # the paragraph at the end of the report
    replicates: ct.Replicates

    @property
    def page(self) -> str:
        """The part of the guide that is made from this output."""
        text = "\n\n".join([f"$ closerthan {' '.join(COMMAND)}", self.summary, self.facts])
        return "\n".join(
            ["```text", text, "```", "", "Its report ends with a paragraph to copy:", "", f"> {self.methods}"]
        )


def write_twin(path: Path, n_people: int = N_PEOPLE, n_faces: int = N_FACES, n_answers: int = N_ANSWERS) -> None:
    """Write a file of answers by simulated people, by default the number of people in the real study."""
    points = np.random.default_rng(0).standard_normal((n_faces, 3)) * [0.9, 0.7, 0.4]
    rows = ct.datasets.simulated(points, n_answers, noise="ste", seed=0).rows
    names = [f"person{number:02d}" for number in range(n_people)]
    lines = [f"{i},{j},{k},{names[number % n_people]}" for number, (i, j, k) in enumerate(rows.tolist())]
    path.write_text("\n".join(["head,winner,loser,worker_id", *lines]) + "\n", encoding="utf-8")


def study(folder: Path, words: tuple[str, ...] = COMMAND) -> Study:
    """Run the command in a folder that has the file, and read what it printed and wrote."""
    command = [sys.executable, "-m", "closerthan", *words, "--out", "map"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    # The summary of the file goes to stderr. In stdout the facts come first, then advice and the list of files.
    summary, facts = (_first_block(text) for text in (process.stderr, process.stdout))
    report = (folder / "map" / "report.html").read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', report, re.DOTALL)
    return Study(summary, facts, json.loads(data)["methods"], ct.Replicates.load(folder / "map" / "replicates.npz"))


def _first_block(text: str) -> str:
    """Return the lines before the first empty one."""
    return "\n".join(line.rstrip() for line in re.split(r"\n\s*\n", text.strip())[0].splitlines())


def draw(replicates: ct.Replicates) -> Figure:
    """Draw ellipses and neighbours side by side."""
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    ellipses_ax, neighbours_ax = figure.subplots(1, 2)
    ellipses_figure(replicates, title="Where objects may lie", ax=ellipses_ax)
    neighbours_figure(replicates, title="Which objects are probably neighbours", ax=neighbours_ax)
    return figure


def main() -> None:
    """Run the study, and write its page and its picture if the people are real."""
    real = Path(os.environ.get("CLOSERTHAN_DATA", "")) / FILE
    with tempfile.TemporaryDirectory() as name:
        if real.exists():
            shutil.copy(real, Path(name) / FILE)
        else:
            print(f"No {FILE} in CLOSERTHAN_DATA: {N_PEOPLE} simulated people instead; nothing is written.\n")
            write_twin(Path(name) / FILE)
        finished = study(Path(name))
    text = "\n\n".join([finished.page, measured_on("python -m benchmarks.believe")])
    print(text)
    if real.exists():
        draw(finished.replicates).savefig(DOCS / "images" / "what-can-i-believe.png", dpi=80)
        write_measured("what-can-i-believe", text)


if __name__ == "__main__":
    main()
