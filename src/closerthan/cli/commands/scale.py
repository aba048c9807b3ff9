"""``closerthan scale``: a perceptual scale of physical levels (difference scaling, MLDS)."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import SEED, AnswersFile, AnswersReader, OutputFolder, Seed, reading, with_options
from closerthan.messages import message_of, prefixed, with_full_stop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from closerthan.comparisons import Comparisons
    from closerthan.scaling.difference_scaling import Scale

SCALE = {
    "scale.csv": "the scale: level, value and 95 % interval",
    "scale.png": "the scale as a figure",
    "scale.json": "all numbers",
    "report.html": "all of this on one page: open it in a browser",
}
"""The files of closerthan scale."""

PEOPLE = "people"


@dataclass(frozen=True)
class Scaling:
    """Options for estimating a scale."""

    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Names of the levels in ascending order, or their physical values, separated by commas ('\"a, b\",c' "
            "if names have commas); not needed if the levels in the file are numbers.",
        ),
    ] = None
    each: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|people",
            help="A scale for each value of a column, such as observer or condition, on one page.",
        ),
    ] = None
    fit_lapses: Annotated[bool, typer.Option("--fit-lapses", help="Estimate the fraction of guesses, too.")] = False
    replicates: Annotated[
        int, typer.Option(metavar="NUMBER", help="Number of simulated studies for intervals and goodness of fit.")
    ] = 1000
    unit: Annotated[
        str, typer.Option(metavar="TEXT", help="Title of the physical axis, as in 'contrast' or 'luminance (cd/m²)'.")
    ] = ""


@with_options(scaling=Scaling, output=OutputFolder, reading=reading)
def scale(
    *,
    file: AnswersFile,
    scaling: Scaling,
    output: OutputFolder,
    seed: Seed = SEED,
    reading: AnswersReader,
) -> None:
    """Estimate a perceptual scale of ordered physical levels from triads or quadruples (difference scaling, MLDS)."""
    import closerthan as ct
    from closerthan.cli.output import save_figures, stem, written_folder
    from closerthan.cli.screen import end_with_folder, print_sentences, print_summary
    from closerthan.plotting import scale_figure
    from closerthan.saving import json_text, whole_csv

    folder = output.path(file, "scale", SCALE)
    if scaling.each not in (None, PEOPLE):
        columns = {**reading.arguments.get("columns", {}), "participant": scaling.each}
        reading = reading.with_arguments(columns=columns)
    contents = reading.without_split().read(file)
    print_summary(contents.summary)
    groups = _groups(contents.comparisons, scaling.each)
    scales, remarks = _estimated(groups, scaling, seed)
    if scaling.each is None and (contents.comparisons.n_people or 1) > 1:
        text = f"The answers of {contents.comparisons.n_people:,} people were pooled, as if one observer had answered"
        remarks.append(f"{text}; --each {PEOPLE} makes a scale for each.")
    with written_folder(folder, replace=output.force) as draft:
        titles = ("level", "value", "scale", "low", "high")
        if scaling.each is None:
            whole_csv(draft / "scale.csv", titles, scales[""].table())
        else:
            rows = [(name, *row) for name, one in scales.items() for row in one.table()]
            whole_csv(draft / "scale.csv", (scaling.each, *titles), rows)
        data = {"closerthan": ct.__version__, "scales": {name or "all": one.to_data() for name, one in scales.items()}}
        (draft / "scale.json").write_text(f"{json_text(data)}\n", encoding="utf-8")
        figure = scale_figure(scales if scaling.each else scales[""], unit=scaling.unit)
        save_figures(draft, {"scale.png": figure}, output.figure_format)
        _write_page(draft / "report.html", scales, remarks, figure, f"Difference scaling of {stem(file)}")
    _print_scales(scales)
    if remarks:
        typer.echo("")
        print_sentences(remarks)
    end_with_folder(folder, SCALE, "")


def _groups(answers: "Comparisons", each: str | None) -> "Mapping[str, Comparisons]":
    """Return the answers of each group, by its name; a single group has an empty name."""
    if each is None:
        return {"": answers}
    if answers.people is None or answers.person_names is None:
        raise ParameterError("each", each, "the file does not say who gave which answer; pass the name of a column")
    return {name: answers.take(answers.people == number) for number, name in enumerate(answers.person_names)}


def _estimated(
    groups: "Mapping[str, Comparisons]", scaling: Scaling, seed: int | None
) -> "tuple[dict[str, Scale], list[str]]":
    """Return the scale of each group, and sentences about groups whose answers determine none."""
    import closerthan as ct

    levels = _levels(scaling.levels)
    scales: dict[str, Scale] = {}
    problems: list[str] = []
    for name, answers in groups.items():
        try:
            scales[name] = ct.scale(
                answers, levels, fit_lapses=scaling.fit_lapses, n_replicates=scaling.replicates, seed=seed
            )
        except ParameterError:
            raise
        except ValueError as error:
            if not name:
                raise
            problems.append(prefixed(f"{scaling.each} {name}: ", message_of(error)))
    if not scales:
        raise ValueError(problems[0])
    return scales, [with_full_stop(prefixed("No scale for ", problem)) for problem in problems]


def _levels(text: str | None) -> list[str] | list[float] | None:
    if text is None:
        return None
    words = [word.strip() for word in next(csv.reader([text], skipinitialspace=True))]
    try:
        return [float(word) for word in words]
    except ValueError:
        return words


def _print_scales(scales: "Mapping[str, Scale]") -> None:
    """Print each scale as a table, its noise and its goodness of fit."""
    from closerthan.cli.screen import print_columns, print_sentences, print_wrapped
    from closerthan.scaling.difference_scaling import TITLES

    for number, (name, one) in enumerate(scales.items()):
        if number:
            typer.echo("")
        if name:
            typer.echo(_heading(name, one))
        print_columns(TITLES, one.rows())
        typer.echo("")
        for label, value in one.findings():
            print_wrapped(f"{label:<13}{value}")
        if one.advice:
            typer.echo("")
            print_sentences(one.advice)


def _heading(name: str, one: "Scale") -> str:
    return f"{name}, {one.n_answers:,} answers" if name else f"Scale of {len(one.levels)} levels"


def _write_page(
    path: Path, scales: "Mapping[str, Scale]", remarks: "Sequence[str]", figure: object, title: str
) -> None:
    """Write the scales as a page."""
    from closerthan.cli.screen import in_terms_of_options
    from closerthan.report.static_page import Section, write_summary_page
    from closerthan.scaling.difference_scaling import TITLES

    sections = [
        Section(
            _heading(name, one),
            [("answers", f"{one.n_answers:,}"), *one.findings()],
            TITLES,
            one.rows(),
            [in_terms_of_options(sentence) for sentence in one.advice],
        )
        for name, one in scales.items()
    ]
    if remarks:
        sections.append(Section("Remarks", sentences=[in_terms_of_options(sentence) for sentence in remarks]))
    write_summary_page(path, title, sections, {"Scale values with 95 % intervals": figure})
