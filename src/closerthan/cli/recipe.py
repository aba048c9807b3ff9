"""Recipe: the commands and the Python code that repeat a fit."""

import dataclasses
import inspect
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from closerthan.cli.options import AnswersReader, reading

if TYPE_CHECKING:
    from closerthan.report.repeat import Code, FileSource
    from closerthan.settings import Settings
    from closerthan.uncertainty.replicates import Replicates


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Text to paste that repeats a fit and inspects its answers.

    Attributes
    ----------
    command
        The command that repeats the fit.
    answers, early_stopping
        Sources from which Python code reads the answers, and those for early stopping.
    commands
        Other commands about the same answers, by their names.
    python_after
        Python code that follows the fit.
    """

    command: str
    answers: "FileSource | Code"
    early_stopping: "FileSource | None" = None
    commands: Mapping[str, str] = dataclasses.field(default_factory=dict)
    python_after: str = ""

    @classmethod
    def of(
        cls,
        context: typer.Context,
        reading: AnswersReader,
        validation_file: Path | None,
        names: Sequence[str] | None,
    ) -> "Recipe":
        """Return the recipe for a fit that was started from the command line."""
        from closerthan.cli.output import readable

        commands = {name: command_about(context, name) for name in ("info", "dims")}
        sources = _sources(context, reading, validation_file, names)
        return cls(readable(repeating_command(context)), *sources, commands)

    def python(self, settings: "Settings", replicates: "Replicates | None" = None) -> str:
        """Return Python code for the same fit and, if there are any, its replicates."""
        from closerthan.report.repeat import python_code

        return python_code(settings, self.answers, self.early_stopping, replicates) + self.python_after


def repeating_command(context: typer.Context) -> str:
    """Return the command that writes the same files again, with every option that differs from its default.

    Options that say where to write, or that change only how the command runs, are left out.
    """
    left_out = {"out", "force", "checkpoint", "resume", "progress", "threads"}
    names = [str(parameter.name) for parameter in context.command.params if parameter.name not in left_out]
    always = ("dims", "loss", "solver", "seed")
    return shlex.join(["closerthan", "fit", _file(context), *_option_words(context, names, always)])


def command_about(context: typer.Context, name: str) -> str:
    """Return another command about the same answers, with the same reading options and the same split unit."""
    options = list(inspect.signature(reading).parameters) + ["by"] * (name == "dims")
    return shlex.join(["closerthan", name, _file(context), *_option_words(context, options)])


def _sources(
    context: typer.Context, reading: AnswersReader, validation_file: Path | None, names: Sequence[str] | None
) -> "tuple[FileSource, FileSource | None]":
    """Return the sources from which Python code reads the answers, and those for early stopping."""
    from closerthan.files.meaning.matching import about
    from closerthan.report.repeat import Code, FileSource

    options = dict(reading.arguments)
    if "names" in options:  # the code reads the file of names, since there may be many names
        lines = f'pathlib.Path({str(context.params["names"])!r}).read_text(encoding="utf-8-sig").splitlines()'
        options["names"] = Code(f"[name for name in {lines} if name]")
    answers = FileSource(str(context.params["file"]), options)
    if validation_file is None:
        return answers, None
    code = {"names": Code("comparisons.names"), "n_objects": Code("comparisons.n_objects")}
    same = {name: code.get(name, value) for name, value in about(validation_file, 1, names).items()}
    return answers, FileSource(str(validation_file), {**same, **options})


def _file(context: typer.Context) -> str:
    """Return the file as a word that cannot be mistaken for an option."""
    file = str(context.params["file"])
    return f"./{file}" if file.startswith("-") else file


def _option_words(context: typer.Context, names: Sequence[str], always: Sequence[str] = ()) -> list[str]:
    """Return those options among ``names`` that differ from their defaults, or are in ``always``."""
    words: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        if name == "file" or name not in names or value is None or (value == parameter.default and name not in always):
            continue
        option = max(parameter.opts, key=len)
        if value is False and parameter.secondary_opts:
            words.append(parameter.secondary_opts[0])
        elif isinstance(value, bool):
            words.append(option)
        else:
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [option, str(one)]
    return words
