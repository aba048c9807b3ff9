"""Commands whose help shows no types of flags and arguments, and lists common options first."""

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["COMMON", "App", "Group"]

Function = TypeVar("Function", bound=Callable[..., Any])

COMMON = "Common options"
"""Title of the first panel of a command with many options."""


class _Switches:
    """Show no types of switches such as ``--force``, which take no value, and of arguments, whose names say enough."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        has_common = any(getattr(one, "rich_help_panel", None) == COMMON for one in parameters)
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda **_: None  # "<list[Path]>" in versions of typer that have it
            if has_common and parameter.name == "help":
                parameter.rich_help_panel = COMMON
        return parameters


class Command(_Switches, TyperCommand):
    """A command."""


class Group(_Switches, TyperGroup):
    """A group of commands."""


class App(typer.Typer):
    """A typer application that uses :class:`Command` and :class:`Group`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"cls": Group, **options})

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        """Register a command; its help is its docstring, without the line breaks inside paragraphs."""

        def register(function: Function) -> Function:
            text = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(function.__doc__ or ""))
            return super(App, self).command(name, **{"cls": Command, "help": text or None, **options})(function)

        return register
