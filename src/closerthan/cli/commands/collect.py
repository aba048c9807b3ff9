"""``closerthan collect``: create a study, serve it, and export its answers."""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.options import Force, out_option
from closerthan.cli.switches import App

if TYPE_CHECKING:
    from closerthan.collect.store.access import Access
    from closerthan.collect.store.database import Store
    from closerthan.collect.study.description import Study

collect = App(
    name="collect",
    no_args_is_help=True,
    help="Collect answers: create a study, serve its web page, and export the answers.",
)

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.", show_default=False)]


@collect.command()
def new(
    study: StudyFolder,
    objects: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER-OR-CSV",
            help="Pictures, short videos, sounds or texts: a folder of files, or a CSV file with the columns name, "
            "file or text, and alt.",
            show_default=False,
        ),
    ],
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title of the study; by default the name of the folder.")
    ] = None,
) -> None:
    """Create a folder with the stimuli and a study.toml to fill in."""
    from collections import Counter

    from closerthan.collect.study.new import HEAVY, make_study
    from closerthan.wording import counted

    stimuli = make_study(study, objects, title=title)
    forms = Counter(stimulus.form for stimulus in stimuli)
    typer.echo(f"{study}  a study about {counted(len(stimuli), 'object')}: "
               f"{', '.join(counted(number, form) for form, number in forms.items())}")  # fmt: skip
    heavy = [item for item in stimuli if item.file is not None and item.file.stat().st_size > HEAVY]
    if heavy:
        typer.echo(
            f"note: {counted(len(heavy), 'file')} larger than 1 MB, such as {heavy[0].name}; large files load slowly "
            "on phones, so reduce their size",
            err=True,
        )
    if any(stimulus.file is not None for stimulus in stimuli):
        typer.echo(
            "note: the alternative texts in objects.csv come from the file names; describe there what the files show",
            err=True,
        )
    typer.echo(f"1. fill in {study / 'study.toml'}: consent, instructions, question")
    typer.echo(f"2. try it:  closerthan collect serve {study}")


@collect.command()
def serve(
    study: StudyFolder,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on: 127.0.0.1 serves this computer only, 0.0.0.0 serves everyone.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = 8000,
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Public address behind a proxy, as in https://lab.example.org/animals/."),
    ] = None,
) -> None:
    """Serve the participants' page and the researcher's page until Ctrl-C."""
    _serving().serve(study, host=host, port=port, address=address)


def _serving() -> ModuleType:
    try:
        from closerthan.collect.web import serving
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ImportError(
            f"{error.name} is not installed; the server needs: pip install 'closerthan[collect]'"
        ) from None
    return serving


@collect.command()
def plan(
    study: StudyFolder,
    goal: Annotated[
        float,
        typer.Option(metavar="FRACTION", min=0.5, max=1, help="Accuracy of the map to reach."),
    ] = 0.9,
    level: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Noise of perceived distances: standard deviation relative to a typical distance.",
        ),
    ] = 0.2,
    lapses: Annotated[
        float, typer.Option(metavar="FRACTION", min=0, max=1, help="Fraction of questions that are answered at random.")
    ] = 0.1,
    most: Annotated[
        int, typer.Option("--most", metavar="NUMBER", min=1, help="Largest number of people to simulate.")
    ] = 200,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="Random seed; the same seed gives the same simulation.")
    ] = 0,
) -> None:
    """Simulate the study to estimate the number of people that it needs for an accurate map."""
    import statistics
    import sys

    from closerthan.collect.study.description import read_study
    from closerthan.collect.study.plan import RUNS, SimulatedPeople, simulate_runs
    from closerthan.fit.progress import phases
    from closerthan.wording import counted, percent

    description = read_study(study)
    typer.echo(f"people   answers   accuracy on other questions: median of {RUNS} runs (lowest to highest)")
    simulations = simulate_runs(description, SimulatedPeople(level, lapses), most, seed)
    while True:
        with phases(sys.stderr.isatty()) as say:
            say("simulating more people")
            runs = next(simulations, None)
        if runs is None:
            verb = "does" if most == 1 else "do"
            typer.echo(f"{_people(most)} {verb} not reach {percent(goal)}; lower --goal or raise --most")
            return
        low, *_, high = accuracies = sorted(step.accuracy for step in runs)
        median, step = statistics.median(accuracies), runs[0]
        typer.echo(f"{step.people:>6,}{step.answers:>10,}   {percent(median)} ({percent(low)} to {percent(high)})")
        if median >= goal:
            break
    typer.echo(
        f"{_people(step.people)} with {counted(description.number, 'question')} each "
        f"{'reaches' if step.people == 1 else 'reach'} {percent(goal)}; recruit a few more, as not everyone finishes"
    )


@collect.command()
def export(
    study: StudyFolder,
    out: Annotated[Path | None, out_option("By default answers.csv in the folder of the study.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include practice, skipped questions and ties.")] = False,
    identities: Annotated[
        bool, typer.Option("--identities", help="Write the recruiter's ids instead of their keyed hashes.")
    ] = False,
    force: Force = False,
) -> None:
    """Write the answers as a CSV file for `closerthan fit`."""
    from closerthan.collect.store.export import answer_lines
    from closerthan.saving import whole_file
    from closerthan.wording import counted

    target = out or study / ("all-answers.csv" if everything else "answers.csv")
    _check_target(target, study, force)
    description, store, access = _opened(study)
    with store, store.reading(), whole_file(target) as file:
        number = -1
        for line in answer_lines(store, description, access, everything=everything, identities=identities):
            file.write(line.encode())
            number += 1
    typer.echo(f"{target}  {counted(number, 'answer')}")


@collect.command()
def status(study: StudyFolder) -> None:
    """Print the progress of a study."""
    from closerthan.cli.screen import print_wrapped
    from closerthan.collect.choosing.quality import people
    from closerthan.collect.store.progress import progress

    description, store, access = _opened(study)
    with store:
        counts = progress(store)
        flagged = [person for person in people(store, description, access) if person.needs_attention]
        judgement = store.latest_judgement()
    print_wrapped(
        f"{'people':<13}{counts.started:,} started, {counts.finished:,} finished, {counts.running:,} active, "
        f"{counts.dropped:,} dropped out, {counts.declined:,} declined"
    )
    print_wrapped(
        f"{'answers':<13}{counts.answers:,} ({counts.skipped:,} skipped, {counts.ties:,} ties), "
        f"{counts.last_hour:,} in the last hour"
        + ("" if counts.median_ms is None else f"; median response time {counts.median_ms / 1000:.1f} s")
    )
    if judgement:
        print_wrapped(f"{'enough?':<13}{judgement['enough']}")
    for person in flagged:
        print_wrapped(f"{'check':<13}{person.name}: {person.reasons}")
    if flagged:
        typer.echo(f"{'':<13}{_people(len(flagged))} to check; no one is excluded automatically")


@collect.command()
def forget(
    study: StudyFolder,
    person: Annotated[
        str, typer.Argument(metavar="PERSON", help="The recruiter's id or the name in an export.", show_default=False)
    ],
) -> None:
    """Delete a person and all of their answers; earlier backups and exports still contain them."""
    from closerthan.collect.store.export import forget as forget_person
    from closerthan.wording import counted

    _, store, access = _opened(study)
    with store:
        number = forget_person(store, access, person)
    typer.echo(f"deleted: {person} and {counted(number, 'answer')}; earlier backups and exports still contain them")


@collect.command()
def backup(
    study: StudyFolder,
    out: Annotated[Path | None, out_option("By default backup-DATE.sqlite in the folder of the study.")] = None,
    force: Force = False,
) -> None:
    """Copy the database of answers, even while the study is running."""
    from datetime import datetime

    target = out or study / f"backup-{datetime.now():%Y-%m-%d-%H%M%S}.sqlite"
    _check_target(target, study, force)
    _, store, _ = _opened(study)
    with store:
        store.backup(target)
        number = store.value("SELECT count(*) FROM answers")
    typer.echo(f"{target}  {number:,} answers; to restore it, stop the server and replace answers.sqlite with it")


def _people(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"


def _opened(folder: Path) -> "tuple[Study, Store, Access]":
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
        raise ValueError(f"{target} is the database of the study; choose another name")
