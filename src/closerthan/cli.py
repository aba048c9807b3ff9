"""The command line."""

import typer

from closerthan.experiments.command import reproduce_command

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help='Answers to "which is closer?" go in, a map comes out.'
)
app.command("reproduce")(reproduce_command)


@app.callback()
def _root() -> None:
    """Keep ``reproduce`` a subcommand while it is the only one."""


def main() -> None:
    """Run the command line."""
    app()
