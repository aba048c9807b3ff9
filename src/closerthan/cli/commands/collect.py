"""``closerthan collect``: create a study, serve it, and export its answers."""

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.cli.options import Force, out_option
from closerthan.cli.switches import App

if TYPE_CHECKING:
    from collections.abc import Iterable

    from closerthan.collect.store.access import Access
    from closerthan.collect.store.database import Store
    from closerthan.collect.study.description import Study

collect = App(
    name="collect",
    no_args_is_help=True,
    help="Collect answers: create a study, serve its web page, and export the answers.",
)

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder of the study.", show_default=False)]

StudyFolders = Annotated[
    list[Path],
    typer.Argument(
        metavar="STUDY",
        help="The folder of a study, the folders of several, or a folder that contains several. The addresses of "
        "several end in their names.",
        show_default=False,
    ),
]

PersonName = Annotated[
    str,
    typer.Argument(
        metavar="PERSON",
        help="The recruiter's id, the name in an export, or the withdrawal code.",
        show_default=False,
    ),
]


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
    studies: StudyFolders,
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
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Trust proxies in the private network, as a container must; those on this computer always are. "
            "Proxies report participants' addresses in X-Forwarded-For, so no other computer may be able to reach the "
            "port.",
        ),
    ] = False,
) -> None:
    """Serve the participants' page and the researcher's page until Ctrl-C."""
    _serving().serve(studies, host=host, port=port, address=address, behind_proxy=behind_proxy)


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
def translate(
    study: StudyFolder,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The language, such as it or pt-BR.", show_default=False)],
) -> None:
    """Write a file with the words of the participant's page, to be translated."""
    from closerthan.collect.study.description import FILE
    from closerthan.collect.study.languages import is_language_tag, template
    from closerthan.saving import whole_file

    if not is_language_tag(tag):
        raise ValueError(f"{tag} is not a language tag; examples are it and pt-BR")
    if not (study / FILE).is_file():
        raise ValueError(f"{study} has no {FILE}; pass the folder of a study")
    path = study / f"{tag}.toml"
    if path.exists():
        raise ValueError(f"{path} already exists; edit it, or remove it first")
    with whole_file(path) as file:
        file.write(template(tag).encode())
    typer.echo(f'{path}  translate the texts in quotes, and write language = "{tag}" in {study / FILE}')


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
    if description.conditions:
        typer.echo(
            f"Each of the {len(description.conditions)} conditions has a map of its own and needs this number of "
            "people; the simulation uses all objects."
        )
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
    psych_ds: Annotated[
        bool,
        typer.Option("--psych-ds", help="Write a Psych-DS dataset, by default to psych-ds in the folder of the study."),
    ] = False,
    force: Force = False,
) -> None:
    """Write the answers as a CSV file for `closerthan fit`, and participants.csv beside it."""
    if psych_ds:
        if identities:
            raise ValueError("--psych-ds writes a dataset to be published, without recruiters' ids; omit --identities")
        _export_psych_ds(study, out or study / "psych-ds", force)
        return
    from closerthan.collect.choosing.participant_table import participant_lines
    from closerthan.collect.store.export import answer_lines
    from closerthan.wording import counted

    target = out or study / ("all-answers.csv" if everything else "answers.csv")
    people_target = target.with_name("participants.csv")
    if target == people_target:
        raise ValueError(
            f"{target} is the name of the table of participants, which is written too; choose another name"
        )
    for path in (target, people_target):
        _check_target(path, study, force)
    description, store, access = _opened(study)
    with store:
        answers = answer_lines(store, description, access, everything=everything, identities=identities)
        participants = participant_lines(store, description, access, identities=identities)
        for path, lines, noun in ((target, answers, "answer"), (people_target, participants, "participant")):
            typer.echo(f"{path}  {counted(_write_lines(path, lines), noun)}")


def _export_psych_ds(study: Path, target: Path, force: bool) -> None:
    from closerthan.collect.store.psych_ds import write_psych_ds

    if target.exists() and not force:
        raise ValueError(f"{target} exists; pass --force to replace it, or choose another folder with --out")
    description, store, access = _opened(study)
    with store:
        for line in write_psych_ds(store, description, access, target, replace=force):
            typer.echo(f"{target / line}")
    typer.echo(f"{target / 'dataset_description.json'}  add the authors and a licence before you publish it")


def _write_lines(path: Path, lines: "Iterable[str]") -> int:
    """Write a header and rows atomically, and return the number of rows."""
    from closerthan.saving import whole_file

    number = -1
    with whole_file(path) as file:
        for line in lines:
            file.write(line.encode())
            number += 1
    return number


@collect.command()
def status(study: StudyFolder) -> None:
    """Print the progress of a study."""
    from closerthan.cli.screen import print_wrapped
    from closerthan.collect.choosing.quality import people
    from closerthan.collect.store.admission import admission, study_state
    from closerthan.collect.store.progress import progress
    from closerthan.wording import counted

    description, store, access = _opened(study)
    with store:
        counts = progress(store)
        flagged = [person for person in people(store, description, access) if person.needs_attention]
        judgements = {name: store.latest_judgement(name) for name in description.condition_names}
        state, who_may_join = study_state(store), admission(description, store)
    closed_by = "the study is full or over" if state == "open" and who_may_join == "full" else state
    if closed_by != "open":
        print_wrapped(f"{'state':<13}{closed_by}")
    print_wrapped(
        f"{'people':<13}{counts.started:,} started, {counts.finished:,} finished"
        + (f" ({counts.failed:,} of them failed checks)" if counts.failed else "")
        + f", {counts.running:,} active, {counts.dropped:,} dropped out, {counts.declined:,} declined"
        + (f"; {counts.excluded:,} excluded" if counts.excluded else "")
        + (f"; {counts.withdrawn:,} withdrew" if counts.withdrawn else "")
        + (f"; {counted(counts.pilots, 'pilot')} not counted" if counts.pilots else "")
    )
    print_wrapped(
        f"{'answers':<13}{counts.answers:,} ({counts.skipped:,} skipped, {counts.ties:,} ties), "
        f"{counts.last_hour:,} in the last hour"
        + ("" if counts.median_ms is None else f"; median response time {counts.median_ms / 1000:.1f} s")
    )
    for condition, judgement in judgements.items():
        if judgement:
            print_wrapped(f"{'enough?':<13}{condition and condition + ': '}{judgement['enough']}")
    for person in flagged:
        print_wrapped(f"{'check':<13}{person.name}: {person.reasons}")
    if flagged:
        typer.echo(f"{'':<13}{_people(len(flagged))} to check; no one is excluded automatically")


@collect.command()
def pause(study: StudyFolder) -> None:
    """Pause a study: nobody gets further questions until `resume`."""
    _set_state(study, "paused", "paused: participants wait, and nobody new can join")


@collect.command()
def resume(study: StudyFolder) -> None:
    """Resume a study that was paused or closed."""
    _set_state(study, "open", "open: participants can join and continue")


@collect.command()
def close(study: StudyFolder) -> None:
    """Close a study: nobody new can join, and those who have begun can finish."""
    _set_state(study, "closed", "closed: nobody new can join, and those who have begun can finish")


def _set_state(study: Path, state: str, message: str) -> None:
    from closerthan.collect.store.admission import admission, set_state

    description, store, _ = _opened(study)
    with store:
        set_state(store, state)
        is_full = state == "open" and admission(description, store) == "full"
    typer.echo("open: those who have begun can continue, but the study is full or over" if is_full else message)


@collect.command()
def exclude(
    study: StudyFolder,
    person: PersonName,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which exports include.", show_default=False)],
) -> None:
    """Leave a person's answers out of the map. They are kept, exports mark them, and `include` counts them again."""
    from closerthan.collect.store.participants import exclude as exclude_person

    _, store, access = _opened(study)
    with store:
        name = exclude_person(store, access, person, reason)
    typer.echo(
        f"excluded: {name}; the answers are kept, and count again after: closerthan collect include {study} {name}"
    )


@collect.command()
def include(study: StudyFolder, person: PersonName) -> None:
    """Count the answers of an excluded person again."""
    from closerthan.collect.store.participants import include as include_person

    _, store, access = _opened(study)
    with store:
        name = include_person(store, access, person)
    typer.echo(f"included: {name}; the answers count again")


@collect.command()
def forget(
    study: StudyFolder,
    person: PersonName,
) -> None:
    """Delete a person and all of their answers; earlier backups and exports still contain them."""
    from closerthan.collect.store.participants import forget as forget_person
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


@collect.command()
def deploy(
    studies: StudyFolders,
    address: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Public address, as in https://lab.example.org/animals/; for several studies, without their names.",
            show_default=False,
        ),
    ],
    port: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=1024, max=65535, help="Port at which the web server reaches the studies."),
    ] = 8000,
    user: Annotated[str, typer.Option(metavar="NAME", help="User who owns the folders of the studies.")] = "study",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="By default deploy, in the folder passed or beside several folders."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
) -> None:
    """Write files for a server: a systemd unit, a Dockerfile, and snippets for nginx and Caddy."""
    from closerthan.collect.deployment.writing import Deployment, write_deployment
    from closerthan.collect.study.description import read_study
    from closerthan.collect.study.folders import studies_in

    for folder in studies_in(studies).values():
        read_study(folder)
    target = out or (studies[0] if len(studies) == 1 else studies[0].parent) / "deploy"
    if target.exists() and not force:
        raise ValueError(f"{target} exists; pass --force to replace it, or choose another folder with --out")
    for path in write_deployment(Deployment(studies, address, port, user), target, replace=force):
        typer.echo(f"{path}")
    typer.echo("the comments at the top of each file say where it belongs")


token = App(name="token", no_args_is_help=True, help="Give other researchers access to the page, or revoke it.")
collect.add_typer(token)

ResearcherName = Annotated[str, typer.Argument(metavar="NAME", help="The researcher's name.", show_default=False)]


@token.command("add")
def add_token(study: StudyFolder, name: ResearcherName) -> None:
    """Print a new token for a researcher. Only its hash is stored, so it is shown only once."""
    typer.echo(f"{_access(study).add_researcher(name)}")
    typer.echo(f"note: give this token to {name}; it cannot be shown again", err=True)


@token.command("remove")
def remove_token(study: StudyFolder, name: ResearcherName) -> None:
    """Revoke the token of a researcher, at once even if the study is being served."""
    _access(study).remove_researcher(name)
    typer.echo(f"{name} no longer has access")


@token.command("list")
def list_tokens(study: StudyFolder) -> None:
    """List the researchers who have a token of their own."""
    names = _access(study).researchers
    typer.echo("\n".join(names) if names else "only the token in researcher-token.txt gives access")


def _access(folder: Path) -> "Access":
    from closerthan.collect.store.access import Access
    from closerthan.collect.study.description import read_study

    read_study(folder)
    return Access(folder)


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
