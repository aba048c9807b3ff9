"""docs/command-line.md says what the command line does: its examples run, and its options are all there."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from closerthan.cli import app, group

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"


def shape(text):
    """The words without numbers, which depend on the processor, and without order and breaks, which depend on those."""
    return sorted(re.sub(r"\d[\d.,]*(e[-+]\d+)?", "#", text).split())


def test_the_examples_give_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    examples = [example for block in blocks for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(examples) > 8
    for example in examples:
        command, _, output = example.partition("\n")
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert shape(done.stdout) == shape(output), command


@pytest.fixture
def options():
    """All options of all commands, without those that are only found by importing what is heavy."""
    commands = typer.main.get_command(app).commands
    return {option for command in commands.values() for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts) if option.startswith("-")}  # fmt: skip


def test_every_option_is_explained(options):
    said = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", PAGE.read_text(encoding="utf-8")))
    assert options - {"--help"} <= said
    assert said - options <= {"--debug", "--version", "--help", "-map"}


def test_every_command_is_listed():
    commands = {*typer.main.get_command(app).commands, *group.LATE}
    listed = set(re.findall(r"^\| `([a-z]+)[ `]", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert commands <= listed
