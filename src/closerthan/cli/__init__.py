"""The command line ``closerthan``.

``--help`` must be fast, so nothing here imports NumPy; commands import what they need when they run.
"""

import typer

from closerthan.cli.commands.ask import ask
from closerthan.cli.commands.collect import collect
from closerthan.cli.commands.contrast import contrast
from closerthan.cli.commands.data import convert, info, simulate
from closerthan.cli.commands.datasets import datasets
from closerthan.cli.commands.effects import effects
from closerthan.cli.commands.fit import demo, fit
from closerthan.cli.commands.individuals import individuals
from closerthan.cli.commands.judge import compare, dims, evaluate, predict
from closerthan.cli.commands.models import align, answers_from, score
from closerthan.cli.commands.objects import central, cluster, place
from closerthan.cli.commands.plot import plot
from closerthan.cli.commands.questions import questions
from closerthan.cli.commands.scale import scale
from closerthan.cli.commands.sparse import sparse
from closerthan.cli.commands.trust import enough, people
from closerthan.cli.commands.views import views
from closerthan.cli.group import CommandGroup
from closerthan.cli.switches import App

__all__ = ["app", "main"]

app = App(
    name="closerthan",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help='Answers to "is i closer to j than to k?" go in, a map comes out.',
    epilog="Errors are printed in one sentence, with exit code 2; with [bold]--debug[/bold], a traceback follows.",
)

# The panels of `closerthan --help`, in order. A new command belongs to one of them.
FIT = "Fit a map"
JUDGE = "Judge a map"
PEOPLE = "People"
OBJECTS = "Objects"
MODELS = "Models and features"
COLLECT = "Collect and convert answers"

COMMANDS = {
    FIT: (fit, plot, dims, views, sparse, scale, demo),
    JUDGE: (evaluate, predict, compare, enough),
    PEOPLE: (people, individuals, effects, contrast),
    OBJECTS: (place, cluster, central),
    MODELS: (answers_from, ask, score, align, simulate),
    COLLECT: (questions, info, convert),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(collect, rich_help_panel=COLLECT)
app.add_typer(datasets, rich_help_panel=COLLECT)


def _version(requested: bool) -> None:
    if requested:
        from closerthan import __version__

        typer.echo(f"closerthan {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
