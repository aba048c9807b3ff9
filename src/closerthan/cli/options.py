"""Options that several commands share, in groups: a group is a function whose parameters are the options."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

READING = "Reading the file"
FITTING = "The fit"


def with_options(**groups: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of groups; it is called with what each group makes of them, under its name."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [parameter for name, parameter in signature.parameters.items() if name not in groups]
        members = {name: inspect.signature(group).parameters for name, group in groups.items()}
        shared = [parameter for parameters in members.values() for parameter in parameters.values()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{option: given.pop(option) for option in members[name]})
            command(**given)

        everything = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *shared)
        ]  # fmt: skip
        run.__signature__ = signature.replace(parameters=everything)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
        return run

    return extended


def reading(
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            rich_help_panel=READING,
            help="The question: triplet, quadruplet, odd-one-out, most-central, rank, nearest. Found out if not said.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN",
            rich_help_panel=READING,
            help="Which column is which, as in anchor=probe or near=1 (counted from 0); weight= for none. Repeatable.",
        ),
    ] = None,
    numbering: Annotated[
        str | None,
        typer.Option(metavar="NUMBERING", rich_help_panel=READING, help="Objects are 0-based, 1-based or names."),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=READING, help="A text file with the objects' names, one a line."),
    ] = None,
    objects: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=3, rich_help_panel=READING, help="Number of objects, if some never occur."),
    ] = None,
    ties: Annotated[
        str, typer.Option(metavar="error|drop", rich_help_panel=READING, help="What to do with ties.")
    ] = "error",
    self_pairs: Annotated[
        str,
        typer.Option(metavar="error|drop", rich_help_panel=READING, help="Answers that compare an object with itself."),
    ] = "error",
    missing: Annotated[
        str, typer.Option(metavar="error|drop", rich_help_panel=READING, help="Answers with an empty cell.")
    ] = "error",
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            rich_help_panel=READING,
            help="Whether the first line is a header.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="TEXT", rich_help_panel=READING, help="What stands between columns.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel=READING, help="Of a text file, as in latin-1.")
    ] = None,
    variable: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=READING, help="The array to read from a .npz or .mat file."),
    ] = None,
) -> dict[str, Any]:
    """How to read a file of answers: arguments of :func:`closerthan.files.read_answers`."""
    said = {
        "kind": kind,
        "columns": _columns(column or []),
        "numbering": numbering,
        "names": None if names is None else _lines(names),
        "n_objects": objects,
        "ties": ties,
        "self_pairs": self_pairs,
        "missing": missing,
        "header": header,
        "delimiter": None if delimiter is None else delimiter.replace("\\t", "\t"),
        "encoding": encoding,
        "variable": variable,
    }
    return {name: value for name, value in said.items() if value is not None}


def fitting(
    loss: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=FITTING, help="gnmds, ckl, ste, tste, soe or auto.")
    ] = "ste",
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            rich_help_panel=FITTING,
            help="polyak, svrg-sbb, svrg-sbb0, svrg-bb, svrg, sgd, batch, gram or lbfgs.",
        ),
    ] = "polyak",
    starts: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            rich_help_panel=FITTING,
            help="Random starts; the best is kept. By default one, two with --loss auto.",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|FILE",
            rich_help_panel=FITTING,
            help="Stop early, by the error on a share of the answers kept aside (as in 0.1) or on those in a file.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="answers|people",
            rich_help_panel=FITTING,
            help="What is held out whole, wherever answers are: answers, or all answers of a person.",
        ),
    ] = "answers",
    epochs: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, rich_help_panel=FITTING, help="The most epochs to run.")
    ] = 100,
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="SHARE|none",
            rich_help_panel=FITTING,
            help="Stop when the objective fell by less than this share in five epochs.",
        ),
    ] = "0.001",
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", rich_help_panel=FITTING, help="Stop after so long, with the best map so far."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=0, rich_help_panel=FITTING, help="The same seed gives the same map."),
    ] = 0,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            rich_help_panel=FITTING,
            help="Threads to use; by default one a core.",
        ),
    ] = None,
) -> dict[str, Any]:
    """How to fit: arguments of :func:`closerthan.embed`; ``validation`` may still be the name of a file."""
    from closerthan.grouping import check_by
    from closerthan.losses import loss_named
    from closerthan.solvers import solver_named

    check_by(by, ())
    # A slip of the pen is better known before a large file is read than after it.
    solver_named(solver)
    if loss != "auto":
        loss_named(loss)
    return {
        "loss": loss,
        "solver": solver,
        "n_starts": starts,
        "validation": _share_or_file(validation),
        "by": by,
        "epochs": epochs,
        "tolerance": _number_or_none("tolerance", tolerance),
        "time_limit": time_limit,
        "seed": seed,
        "n_threads": threads,
    }


def without(group: Callable[..., dict[str, Any]], *names: str) -> Callable[..., dict[str, Any]]:
    """A group less some of its options, for a command that goes through all their values."""
    signature = inspect.signature(group)

    @functools.wraps(group)
    def smaller(**given: Any) -> dict[str, Any]:
        full = group(**given, **{name: signature.parameters[name].default for name in names})
        return {name: value for name, value in full.items() if name not in names}

    kept = [parameter for name, parameter in signature.parameters.items() if name not in names]
    smaller.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return smaller


def _columns(pairs: list[str]) -> dict[str, Any] | None:
    if not pairs:
        return None
    columns: dict[str, Any] = {}
    for pair in pairs:
        role, sign, name = pair.partition("=")
        if not sign or not role:
            raise ValueError(f"--column is {pair!r}; expected ROLE=COLUMN, as in anchor=probe")
        found: Any = int(name) if name.isdecimal() else name or None
        before = columns.get(role)
        columns[role] = found if role not in columns else [*(before if isinstance(before, list) else [before]), found]
    return columns


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} cannot be read as names, one a line: {error}") from None
    return [line for line in lines if line]


def _share_or_file(text: str | None) -> float | Path | None:
    if text is None or text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return Path(text)


def _number_or_none(name: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}; it can be a number or none") from None
