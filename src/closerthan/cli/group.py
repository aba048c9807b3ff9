"""The group of all commands, which prints errors and warnings and handles Ctrl-C."""

import codecs
import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from closerthan.checks import ParameterError
from closerthan.cli.screen import as_option, in_terms_of_options, option
from closerthan.cli.switches import Group
from closerthan.messages import Suggested, as_argument, message_of

ERROR = 2
INTERRUPTED = 130  # exit status that shells use for a command ended by Ctrl-C

# Reached through a public name, since some versions of typer bundle click and others depend on it.
_ClickError: Any = typer.BadParameter.__mro__[2]


class CommandGroup(Group):
    """The group of all commands; an error is printed as one sentence.

    The exit status is 2, or the attribute ``exit_status`` of the exception.
    """

    def main(self, args: Sequence[str] | None = None, **options: Any) -> Any:  # type: ignore[override]
        _open_streams()
        words = list(sys.argv[1:] if args is None else args)
        debug = "--debug" in words
        words = [word for word in words if word != "--debug"]
        if not options.pop("standalone_mode", True):
            return super().main(words, standalone_mode=False, **options)
        _print_anywhere()
        with _warnings_in_one_line():
            try:
                code = super().main(words, standalone_mode=False, **options)
            except BrokenPipeError:
                # The reader of the output has closed the pipe; without this, Python would complain again at exit.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                code = 1
            except Exception as error:
                if debug:
                    raise
                typer.echo(f"error: {self._sentence(error)}", err=True)
                code = getattr(error, "exit_status", ERROR)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("\ninterrupted: nothing was written", err=True)
            raise typer.Exit(INTERRUPTED) from None

    def _sentence(self, error: Exception) -> str:
        """Return an error as one sentence, in terms of the options of the command line."""
        if isinstance(error, _ClickError):
            return str(error.format_message())
        if isinstance(error, ParameterError):
            return " ".join(error.in_terms_of(self._option_or_argument).split("\n"))
        if isinstance(error, OSError) and error.strerror:
            place = f"{error.filename}: " if error.filename else ""
            return f"{place}{error.strerror}"
        if isinstance(error, ValueError | OSError | ImportError):
            return " ".join(in_terms_of_options(message_of(error), self._option_or_argument).split("\n"))
        if isinstance(error, MemoryError):
            return f"there is not enough memory ({error})" if str(error) else "there is not enough memory"
        return f"something unexpected happened ({type(error).__name__}: {error}); --debug shows where"

    def _option_or_argument(self, parameter: str, value: Suggested = None) -> str:
        """Return the option for a parameter, or an argument of Python if no command has such an option."""
        options = {name for command in self.commands.values() for one in command.params for name in one.opts}
        return (as_option if option(parameter) in options else as_argument)(parameter, value)


def _print_anywhere() -> None:
    """Replace characters that the output cannot encode: ± by +-, others by escape sequences."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELLED)


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] == "±":
        return "+-", error.start + 1
    if isinstance(error, UnicodeEncodeError):  # replace one character, since a ± may follow
        error = UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, error.reason)
    return codecs.backslashreplace_errors(error)


_SPELLED = "closerthan.spelled"
codecs.register_error(_SPELLED, _spelled)


def _open_streams() -> None:
    """Redirect standard streams that the shell has closed, as in ``2>&-``, to the null device.

    The descriptor of a closed stream is free: the next file that is opened would get it, and messages would be written
    into that file.
    """
    closed = []
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.write(number, b"") if number else os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            closed.append(name)
    for name in closed:
        setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_terms_of_options(message if isinstance(message, str) else message_of(message))
        if text not in printed:  # several figures may lack the same glyph
            typer.echo(f"warning: {text}", err=True)
        printed.add(text)

    printed: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
