"""``closerthan collect``: make a study, serve it, and take its answers out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from closerthan.cli.switches import App

collect = App(
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

    from closerthan.collect.study.new import HEAVY, make_study
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


@collect.command()
def serve(
    study: StudyFolder,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Who can reach it: 127.0.0.1 is this computer alone, 0.0.0.0 everybody."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="NUMBER", min=0, max=65535, help="0: any that is free.")] = 8000,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="What participants see behind a proxy, as in https://lab.example.org/animals/."
        ),
    ] = None,
) -> None:
    """Ask people: serve the participants' and the researcher's page until Ctrl-C."""
    _serving().serve(study, host=host, port=port, address=address)


def _serving() -> Any:
    try:
        from closerthan.collect.web import serving
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ImportError(f"{error.name} is not installed; a server needs: pip install 'closerthan[collect]'") from None
    return serving


@collect.command()
def plan(
    study: StudyFolder,
    goal: Annotated[
        float,
        typer.Option(metavar="SHARE", min=0.5, max=1, help="How often the map is to be right."),
    ] = 0.9,
    level: Annotated[
        float,
        typer.Option(metavar="NUMBER", min=0, help="How unsurely people see a distance, relative to a typical one."),
    ] = 0.2,
    lapses: Annotated[float, typer.Option(metavar="SHARE", min=0, max=1, help="Answers given by chance.")] = 0.1,
    most: Annotated[int, typer.Option("--most", metavar="NUMBER", min=1, help="The most people to simulate.")] = 200,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The same seed, the same people.")] = 0,
) -> None:
    """Simulate the study a few times: how many people are needed until the map is right often enough?"""
    import statistics
    import sys

    from closerthan.collect.study.description import read_study
    from closerthan.collect.study.plan import RUNS, SimulatedPeople, several
    from closerthan.fit.progress import phases
    from closerthan.wording import counted, percent

    about = read_study(study)
    typer.echo(f"people   answers   right about other questions: median of {RUNS} runs, lowest to highest")
    found = several(about, SimulatedPeople(level, lapses), most, seed)
    while True:
        with phases(sys.stderr.isatty()) as say:
            say("simulating more people")
            runs = next(found, None)
        if runs is None:
            who = "person" if most == 1 else "people"
            typer.echo(f"{percent(goal)} is not reached by up to {most:,} {who}; lower --goal or raise --most")
            return
        low, *_, high = right = sorted(step.right for step in runs)
        middle, step = statistics.median(right), runs[0]
        typer.echo(f"{step.people:>6,}{step.answers:>10,}   {percent(middle)} ({percent(low)} to {percent(high)})")
        if middle >= goal:
            break
    typer.echo(
        f"{counted(step.people, 'person')} of {about.number} questions each".replace("persons", "people")
        + f" reach {percent(goal)}; plan for some more, as not everybody finishes"
    )


@collect.command()
def export(
    study: StudyFolder,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="By default answers.csv in the study's folder.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Practice, skipped questions and ties too.")] = False,
    identities: Annotated[
        bool, typer.Option("--identities", help="The recruiter's ids of people instead of their keyed hashes.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Write the answers as a CSV file that `closerthan fit` reads as it is."""
    from closerthan.collect.store.export import answer_lines
    from closerthan.saving import whole_file
    from closerthan.wording import counted

    target = out or study / ("all-answers.csv" if everything else "answers.csv")
    _check_target(target, study, force)
    about, store, access = _opened(study)
    with store, store.reading(), whole_file(target) as file:
        number = -1
        for line in answer_lines(store, about, access, everything=everything, identities=identities):
            file.write(line.encode())
            number += 1
    typer.echo(f"{target}  {counted(number, 'answer')}")


@collect.command()
def status(study: StudyFolder) -> None:
    """Say how a study is going."""
    from closerthan.cli.screen import print_wrapped
    from closerthan.collect.choosing.quality import people
    from closerthan.collect.store.progress import progress
    from closerthan.wording import counted

    about, store, access = _opened(study)
    with store:
        found = progress(store)
        noted = [person for person in people(store, about, access) if person.needs_attention]
        judgement = store.value("SELECT judgement FROM maps WHERE judgement IS NOT NULL ORDER BY version DESC LIMIT 1")
    print_wrapped(
        f"{'people':<13}{found['started']:,} started, {found['finished']:,} finished, {found['running']:,} at it, "
        f"{found['dropped']:,} dropped out, {found['declined']:,} did not agree"
    )
    print_wrapped(
        f"{'answers':<13}{found['answers']:,} ({found['skipped']:,} skipped, {found['ties']:,} ties), "
        f"{found['last_hour']:,} in the last hour"
        + ("" if found["median_ms"] is None else f"; half of them took at most {found['median_ms'] / 1000:.1f} s")
    )
    if judgement:
        import json

        print_wrapped(f"{'enough?':<13}{json.loads(judgement)['enough']}")
    for person in noted:
        print_wrapped(f"{'look at':<13}{person.name}: {person.reasons}")
    if noted:
        typer.echo(
            f"{'':<13}{counted(len(noted), 'person')} to look at; nobody is left out by itself".replace(
                "persons", "people"
            )
        )


@collect.command()
def forget(
    study: StudyFolder,
    person: Annotated[
        str, typer.Argument(metavar="PERSON", help="The recruiter's id, or the name in an export.", show_default=False)
    ],
) -> None:
    """Delete a person and all his answers; backups and exports that were made before still have them."""
    from closerthan.collect.store.export import forget as forget_person
    from closerthan.wording import counted

    _, store, access = _opened(study)
    with store:
        number = forget_person(store, access, person)
    typer.echo(f"forgotten: {person} and {counted(number, 'answer')}; not in backups and exports made before")


@collect.command()
def backup(
    study: StudyFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="By default backup-DATE.sqlite in the study's folder."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Copy the file of answers, also while people answer."""
    from datetime import datetime

    target = out or study / f"backup-{datetime.now():%Y-%m-%d-%H%M%S}.sqlite"
    _check_target(target, study, force)
    _, store, _ = _opened(study)
    with store:
        store.backup(target)
        number = store.value("SELECT count(*) FROM answers")
    typer.echo(f"{target}  {number:,} answers; to go back, stop the server and put it in the place of answers.sqlite")


def _opened(folder: Path) -> Any:
    from closerthan.collect.store.access import Access
    from closerthan.collect.store.database import FILE, Store
    from closerthan.collect.study.description import read_study
    from closerthan.collect.web.interview import check_kind

    study, store = read_study(folder), Store(folder / FILE, create=False)
    with store.closed_on_error():
        check_kind(study, store)
        return study, store, Access(folder)


def _check_target(target: Path, study: Path, force: bool) -> None:
    from closerthan.cli.output import check_file
    from closerthan.collect.store.database import FILE

    check_file(target, force)
    if target.resolve() == (study / FILE).resolve():
        raise ValueError(f"{target} holds the answers themselves; choose another name")
