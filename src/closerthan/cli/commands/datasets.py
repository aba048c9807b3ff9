"""``closerthan datasets``: list public data sets and download them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.options import Force
from closerthan.cli.switches import App, Group


class _Names(Group):
    """The group of ``datasets`` commands; the error about an unknown command suggests ``get``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            raise ValueError(f"datasets has no command {args[0]!r}; closerthan datasets get NAME downloads a data set")
        return super().resolve_command(ctx, args)


datasets = App(
    name="datasets",
    cls=_Names,
    invoke_without_command=True,
    help="List public data sets of people's answers; [bold]get[/bold] downloads one.",
)


@datasets.callback()
def listed(context: typer.Context) -> None:
    """List public data sets of people's answers; [bold]get[/bold] downloads one."""
    if context.invoked_subcommand is None:
        from closerthan.cli.screen import print_columns
        from closerthan.datasets import list as catalogue

        columns = ("name", "answers", "objects", "download", "here", "licence")
        print_columns(
            columns,
            [
                (one.name, one.answers, f"{one.n_objects:,}", one.size, "yes" if one.is_here else "no", one.licence)
                for one in catalogue()
            ],
            gap=2,
        )


@datasets.command()
def get(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name from the list; the data set is downloaded if necessary.")
    ],
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT", help="A file for its comparisons, in a format of closerthan convert.", show_default=False
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Describe a data set, download it if necessary, and write it as comparisons."""
    from closerthan.cli.output import check_file
    from closerthan.datasets import list as catalogue
    from closerthan.files import write_comparisons
    from closerthan.files.writing.comparisons import check_format

    chosen = catalogue().named(name)
    if out is not None:
        check_file(out, force)
        check_format(out)
    for file in chosen.files:
        file.path()
    typer.echo(str(chosen))
    if out is not None:
        comparisons = chosen.load()
        write_comparisons(comparisons, out)
        typer.echo(f"{out}  {comparisons.description}")
