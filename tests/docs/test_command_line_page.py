"""The pages about the command line: their examples run, and they explain every option."""

import re
import shlex

import numpy as np
import pytest
import typer
from paths import ROOT
from typer.testing import CliRunner

from closerthan.cli import app
from closerthan.losses import LOSSES

PAGES = (
    "command-line",
    "fit-command",
    "judging-commands",
    "other-commands",
)  # the examples of the later ones continue the first
TEXT = "\n".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def words(text):
    """The words in their order, except that a table of losses, which is sorted by error, is sorted by name."""
    lines = text.splitlines()
    losses = [number for number, line in enumerate(lines) if line.partition(" ")[0] in LOSSES]
    for number, line in zip(losses, sorted(lines[number] for number in losses), strict=True):
        lines[number] = line
    return " ".join(lines).split()


def differences(printed, shown):
    """Differences that are larger than those between kinds of processors."""
    if [NUMBER.sub("#", word) for word in printed] != [NUMBER.sub("#", word) for word in shown]:
        return [(" ".join(printed), " ".join(shown))]
    found = []
    for place, both in enumerate(zip(printed, shown, strict=True)):
        before, after = shown[max(place - 1, 0)], shown[min(place + 1, len(shown) - 1)]
        numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(word)] for word in both]
        if after == "s" or before in ("after", "epoch", "start"):  # seconds; how long a fit took, and which was best
            allowed = 1e9
        elif (
            after == "%"
            or re.fullmatch(r"-?\d+\.\d|0\.\d{2,}\)?:?", shown[place])
            or after == "percentage"
            or before in ("interval", "to")
        ):  # per cent, percentage points; the p-value of a test
            allowed = 1.0
        else:  # what a map says to each question, or a count
            allowed = 100 if after in ("as", "the") else 0
        if not np.allclose(*numbers, rtol=0, atol=allowed):
            found.append((" ".join(printed[place - 3 : place + 4]), " ".join(shown[place - 3 : place + 4])))
    return found


@pytest.mark.slow
def test_the_examples_give_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    blocks = re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL)
    examples = [example for block in blocks for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(examples) > 8
    for example in examples:
        command, _, output = example.partition("\n")
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert differences(words(done.stdout), words(output)) == [], command


@pytest.fixture
def options():
    """All options of all commands, without those that only heavy imports would reveal."""
    commands = list(typer.main.get_command(app).commands.values())
    commands += [inner for command in commands for inner in getattr(command, "commands", {}).values()]
    return {option for command in commands for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts) if option.startswith("-")}  # fmt: skip


def test_every_option_is_explained(options):
    said = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", TEXT))
    assert options - {"--help"} <= said
    assert said - options <= {"--debug", "--version", "--help", "-map"}


@pytest.fixture
def meanings():
    """The placeholder of each option (none for a flag), by the commands that have the option."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        for one in getattr(command, "commands", {name: command}).values():
            for parameter in one.params:
                if parameter.param_type_name == "option":
                    takes = "" if parameter.is_flag else parameter.metavar.removesuffix("|auto")
                    found.setdefault(max(parameter.opts, key=len), {}).setdefault(takes, []).append(one.name)
    return found


def test_an_option_takes_the_same_kind_of_value_wherever_it_occurs(meanings):
    several = {name: takes for name, takes in meanings.items() if len(takes) > 1}
    # A result is one file or a folder; a new study is told where its objects come from.
    assert set(several) <= {"--out", "--objects"}


def test_switches_are_shown_without_a_value():
    for words in (["fit"], ["collect", "export"], ["datasets", "get"]):
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "120"}).stdout
        assert "--force" in shown
        assert "bool" not in shown.lower()


def test_the_help_of_fit_begins_with_ten_common_options():
    shown = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "120"}).stdout
    panels = re.split(r"╭─ ([^─]+) ─+╮", shown)[1:]
    titles, texts = panels[::2], panels[1::2]
    assert titles[:2] == ["Arguments", "Common options"]
    common = re.findall(r"^│ (--[a-z-]+)", texts[1], flags=re.MULTILINE)
    assert len([name for name in common if name != "--help"]) == 10
    assert {"--out", "--dims", "--loss", "--replicates"} <= set(common)
    assert "Options" not in titles


def test_the_default_of_by_is_the_one_that_dims_uses():
    shown = CliRunner().invoke(app, ["dims", "--help"], env={"COLUMNS": "200"}).stdout
    assert "people if there are at least ten, otherwise as for fit" in " ".join(shown.split())


def test_every_command_is_listed():
    commands = {*typer.main.get_command(app).commands}
    listed = set(re.findall(r"^\| `([a-z-]+)[ `]", TEXT, flags=re.MULTILINE))
    assert commands <= listed
