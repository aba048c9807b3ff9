"""``closerthan collect``: make a study, serve it, and take its answers out."""

from pathlib import Path
from typing import Annotated

import typer

collect = typer.Typer(
    name="collect",
    no_args_is_help=True,
    help="Ask people: a study in a folder, and the page that collects the answers.",
)

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.", show_default=False)]


@collect.command()
def new(
    study: StudyFolder,
    objects: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER-OR-CSV",
            help="Pictures, short videos, sounds or texts: a folder of files, or a CSV file with columns name, file or "
            "text, and alt.",
            show_default=False,
        ),
    ],
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Of the study; by default the folder's name.")
    ] = None,
) -> None:
    """Make a folder with study.toml, to be filled in by hand, and all that is shown."""
    from collections import Counter

    from closerthan.collect.new import HEAVY, make_study
    from closerthan.wording import counted

    stimuli = make_study(study, objects, title=title)
    forms = Counter(one.form for one in stimuli)
    typer.echo(f"{study}  a study about {counted(len(stimuli), 'object')}: "
               f"{', '.join(counted(number, form) for form, number in forms.items())}")  # fmt: skip
    heavy = [one for one in stimuli if one.file is not None and one.file.stat().st_size > HEAVY]
    if heavy:
        typer.echo(
            f"note: {counted(len(heavy), 'file')} larger than 1 MB ({heavy[0].name}, ...): people on phones will wait; "
            "make them smaller",
            err=True,
        )
    if any(one.file is not None for one in stimuli):
        typer.echo("note: alternative texts in objects.csv are made from file names; say there what is seen", err=True)
    typer.echo(f"1. fill in {study / 'study.toml'}: consent, instructions, question")
    typer.echo(f"2. try it:  closerthan collect serve {study}")
