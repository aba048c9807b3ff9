"""``closerthan contrast``: do two groups of answers, such as two conditions, have different maps?"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import AnswersReader, Fitting, OutputFolder, fitting_options, reading, with_options
from closerthan.registry import JsonObject

if TYPE_CHECKING:
    from closerthan.files.meaning.answers import Answers
    from closerthan.uncertainty.map_difference import MapDifference

MOST_LINES = 15
CONTRAST = {
    "objects.csv": "the distance that each object moved, and its p value",
    "overlay.png": "the second map over the first",
    "map-1.csv": "the first map: names and coordinates, aligned with the map of all answers",
    "map-2.csv": "the second map, aligned in the same way",
    "contrast.json": "all numbers of the comparison",
}
"""The files of closerthan contrast."""


@dataclass(frozen=True)
class Contrast:
    """Two groups of answers, and how to compare them."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers of one group.", show_default=False)]
    other: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OTHER]", help="The answers of the other group; leave it out with --between.", show_default=False
        ),
    ] = None
    between: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=ONE,OTHER", help="Two values of a column of FILE, as in condition=upright,inverted."
        ),
    ] = None
    permutations: Annotated[
        int, typer.Option(metavar="NUMBER", min=19, help="Number of random groupings; each takes two fits.")
    ] = 199


@with_options(
    pair=Contrast,
    output=OutputFolder,
    fitting=fitting_options(by_default="people if they are identified, otherwise answers"),
    reading=reading,
)
def contrast(
    *,
    pair: Contrast,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Test whether two groups of answers, such as two conditions, have different maps, and which objects moved.

    Each map predicts the answers of the other group; people (or answers) are assigned to groups at random to see how
    well maps predict each other if the groups do not differ. Choose the groups before you see the answers: for groups
    that were derived from the answers, the test is not valid.
    """
    import closerthan as ct
    from closerthan.cli.output import save_figures, written_folder
    from closerthan.cli.screen import end_with_folder
    from closerthan.files import write_map
    from closerthan.saving import json_text

    fitting.refuse_file()
    folder = output.path(pair.file, "contrast", CONTRAST)
    titles, groups = _groups(pair.file, pair.other, pair.between, reading)
    one, two = (group.comparisons for group in groups)
    difference = ct.compare_maps(
        one,
        two,
        n_permutations=pair.permutations,
        settings=fitting.settings,
        **fitting.run_options(sys.stderr.isatty()),
    )
    with written_folder(folder, replace=output.force) as draft:
        difference.to_csv(draft / "objects.csv")
        for number, one in enumerate(difference.aligned, start=1):
            write_map(one, difference.maps[0].names, draft / f"map-{number}.csv")
        (draft / "contrast.json").write_text(f"{json_text(_numbers(difference, titles))}\n", encoding="utf-8")
        save_figures(draft, {"overlay.png": difference.plot(groups=titles)}, output.figure_format)
    _print_difference(difference)
    remark = "the comparison uses the random groupings that were completed"
    end_with_folder(folder, CONTRAST, difference.stopped_by, remark)


def _groups(
    file: Path, other: Path | None, between: str | None, reading: AnswersReader
) -> "tuple[tuple[str, str], tuple[Answers, Answers]]":
    """Return the names of the two groups, and their answers."""
    from closerthan.cli.screen import print_summary

    if (other is None) == (between is None):
        raise ValueError("pass two files, or one file and --between COLUMN=ONE,OTHER")
    if between is None:
        assert other is not None
        sources = [(path.stem, path, reading) for path in (file, other)]
    else:
        column, sign, values = between.partition("=")
        pair = values.split(",")
        if not (sign and column and len(pair) == 2 and pair[0] != pair[1]):
            raise ParameterError("between", between, "expected COLUMN=ONE,OTHER, as in condition=upright,inverted")
        key = int(column) if column.isdecimal() else column
        sources = [(value, file, reading.only(key, value)) for value in pair]
    answers = []
    for _, path, options in sources:
        answers.append(options.read(path))
        print_summary(answers[-1].summary)
    return (sources[0][0], sources[1][0]), (answers[0], answers[1])


def _print_difference(difference: "MapDifference") -> None:
    """Print the objects with the smallest p values, the meaning of the columns, and the result in words."""
    from closerthan.cli.screen import print_first, print_sentences, print_wrapped
    from closerthan.wording import p_number

    objects = difference.objects
    rows = [(one.name, f"{one.distance:.2f}", f"{one.expected:.2f}", p_number(one.p_value)) for one in objects]
    print_first(("object", "moved", "by chance", "p"), rows, "more, with larger p values", most=MOST_LINES)
    print_wrapped(
        "moved: distance between the object's two positions, as a fraction of the map's spread; by chance: the same "
        "between random groups; p: adjusted for the number of objects.",
        indent=0,
    )
    typer.echo("")
    print_sentences(difference.sentences)


def _numbers(difference: "MapDifference", titles: tuple[str, str]) -> JsonObject:
    from closerthan import __version__

    names = (
        "p_value", "cross_error", "expected_error", "distance", "expected_distance", "by", "n_units", "n_permutations",
        "n_left_out", "stopped_by",
    )  # fmt: skip
    return {
        "closerthan": __version__,
        "groups": list(titles),
        **{name: getattr(difference, name) for name in names},
        "settings": [result.settings.to_data() for result in difference.maps if result.settings is not None],
        "sentences": difference.sentences,
    }
