"""``python -m reproduction NAME``: run an experiment of the paper."""

import typer

from reproduction.command import reproduce_command

if __name__ == "__main__":
    typer.run(reproduce_command)
