"""Commands that judge maps (``evaluate``, ``predict``), numbers of dimensions (``dims``) and losses (``compare``)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from closerthan.cli.options import (
    AnswersFile,
    AnswersReader,
    Fitting,
    Force,
    MapFile,
    OutputFolder,
    fitting_options,
    out_option,
    reading,
    with_options,
)

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.cross_validation import Scores
    from closerthan.evaluate.facts import Fact
    from closerthan.files.meaning.answers import Answers

FOLDS_HELP = "Number of parts; each is held out once. By default 5, or the number of people if it is smaller."

DIMS_BY = "people if there are at least ten, otherwise as for fit"


@with_options(reading=reading)
def evaluate(
    map: Annotated[
        Path,
        typer.Argument(
            metavar="MAP", help="A map, the folder of a fit, or an embedding as .npy, .txt or .csv.", show_default=False
        ),
    ],
    file: AnswersFile,
    similarity: Annotated[
        str,
        typer.Option(
            metavar="euclidean|dot|cosine",
            help="Similarity of two objects: by distance, or the dot product or cosine of their coordinates.",
        ),
    ] = "euclidean",
    *,
    reading: AnswersReader,
) -> None:
    """Measure how many of the answers in FILE a map predicts: whole answers and the comparisons that they imply."""
    from closerthan.accuracy import SIMILARITIES
    from closerthan.checks import ParameterError
    from closerthan.cli.output import map_file
    from closerthan.cli.screen import print_facts, print_summary, print_wrapped
    from closerthan.evaluate.answer_accuracy import imply_several_comparisons
    from closerthan.evaluate.facts import Fact
    from closerthan.files import read_map
    from closerthan.fit.progress import phases

    if similarity not in SIMILARITIES:
        raise ParameterError("similarity", similarity, f"it must be one of {', '.join(SIMILARITIES)}")
    embedding, names = read_map(map_file(map))
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        answers, embedding, note = _read_about_embedding(file, embedding, names, reading)
    print_summary(answers.summary)
    if note:
        print_wrapped(f"{map}: {note}", indent=2)
    n_objects, n_dims = embedding.shape
    facts = [Fact("Map", f"{n_objects:,} objects in {n_dims:,} dimension{'s' * (n_dims != 1)}")]
    if similarity != "euclidean":
        facts.append(Fact("Similarity", {"dot": "dot product"}.get(similarity, similarity)))
    parts = {"": answers.comparisons}
    if answers.test is not None:
        parts = {", training": answers.comparisons, ", test": answers.test}
    for name, part in parts.items():
        facts += _accuracy_facts(name, part, embedding, similarity)
    is_one = not any(imply_several_comparisons(part) for part in parts.values())
    facts.append(Fact("Chance level", "50.0 %", "" if is_one else "of the comparisons"))
    print_facts(facts)


def _read_about_embedding(
    file: Path, embedding: Any, names: "tuple[str, ...] | None", reading: AnswersReader
) -> "tuple[Answers, Any, str]":
    """Read answers about the objects of an embedding, whose rows may turn out to be dimensions; then it is transposed.

    Return the answers, the embedding with one row per object, and a sentence if it was transposed.
    """
    n_rows, n_columns = embedding.shape
    try:
        return reading.read_about(file, n_rows, names), embedding, ""
    except ValueError:
        if names is not None or n_columns <= n_rows:
            raise
        try:
            answers = reading.read_about(file, n_columns, None)
        except ValueError:
            pass
        else:
            sentence = f"the answers name more than {n_rows:,} objects, so its {n_columns:,} columns are the objects"
            return answers, embedding.T.copy(), sentence
        raise


def _accuracy_facts(name: str, answers: "Comparisons", embedding: Any, similarity: str) -> "list[Fact]":
    """Return the facts about one part of the answers; accuracy is left out if it would only repeat the error."""
    from closerthan.evaluate.answer_accuracy import answer_accuracy, comparison_accuracy, imply_several_comparisons
    from closerthan.evaluate.diagnostics import least_error
    from closerthan.evaluate.facts import Fact, amount, source
    from closerthan.metrics import effective_number, error_interval, triplet_error
    from closerthan.wording import percent, percent_interval

    facts = []
    several = imply_several_comparisons(answers)
    whole = answer_accuracy(answers, embedding, similarity=similarity) if several or similarity != "euclidean" else None
    if several and whole is not None:
        note = f"right choices of {whole.n_answers:,} whole answers {source(answers).partition(' answers')[2].strip()}"
        facts.append(Fact(f"Accuracy{name}", whole.interval, f"{note.strip()}; chance is {percent(whole.chance)}"))
    if whole is not None:
        note = "probabilities by Luce's choice rule, with a slope and a lapse rate fitted to these answers"
        facts.append(Fact("Information", whole.bits_in_words, note))
        facts += [Fact("Noise ceiling", one.bracket_in_words, str(one)) for one in whole.ceilings if several]
    if similarity == "euclidean":  # also for files that are larger than memory
        error = triplet_error(answers, embedding)
        low, high = error_interval(error, effective_number(answers, embedding))
    else:
        single = comparison_accuracy(answers, embedding, similarity=similarity)
        error, low, high = 1 - single.accuracy, 1 - single.high, 1 - single.low
    facts.append(Fact(f"Error{name}", percent_interval(error, low, high), f"of {amount(answers)}"))
    least = least_error(answers)
    if least > 0:
        facts.append(
            Fact("Least possible", percent(least), "of these comparisons contradict others; no map can do better")
        )
    return facts


@with_options(reading=reading)
def predict(
    map: MapFile,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The questions.", show_default=False)],
    out: Annotated[Path | None, out_option("A .csv or .parquet; by default FILE's name with -predictions.csv.")] = None,
    force: Force = False,
    *,
    reading: AnswersReader,
) -> None:
    """Predict the answer to each question in FILE: 1 if it is as written in its row, -1 if it is the opposite.

    Each row of the output has the line of the question in FILE and the certainty of the prediction. With the folder of
    a fit there is also a probability; if the fit has replicates (fit --replicates 100), predictions combine all their
    maps.

    A question is written like an answer: anchor, near and far. If it has no answer yet, near and far are just the
    two candidates: with columns called left and right, pass --column near=left --column far=right.
    """
    from closerthan.cli.output import check_file, map_file, stem
    from closerthan.cli.screen import print_summary, print_wrapped
    from closerthan.evaluate.choices import KINDS
    from closerthan.files import read_map
    from closerthan.files.formats.extras import extra
    from closerthan.fit.progress import phases

    target = out or Path(f"{stem(file)}-predictions.csv")
    check_file(target, force)
    if target.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"{target}: predictions are written as .csv or .parquet")
    if target.suffix.lower() == ".parquet":
        extra("pyarrow", "writing Parquet")  # fail before a large file is read, not after
    embedding, names = read_map(map_file(map))
    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        # A split into training and test answers does not matter here, and rows keep their order.
        answers = reading.without_split().read_about(file, len(embedding), names)
    print_summary(answers.summary)
    probability, source = _probability(map)
    several = answers.summary.kind in KINDS and answers.comparisons.answers is not None
    columns = (
        _choices(answers.summary.kind, answers.comparisons, embedding, probability)
        if several
        else _sides(answers.comparisons, embedding, probability)
    )
    whole = _whole_answers(answers.comparisons, embedding)
    if whole is not None and not several:
        columns |= whole.columns
    _write_columns(target, columns)
    agreed, total = columns["prediction"].count(1), len(columns["prediction"])
    other = "otherwise" if several else "the other way round"
    rows = "comparisons" if whole is not None and not several else "questions"
    typer.echo(f"{total:,} {rows}: {agreed:,} as written, {total - agreed:,} {other}")
    if whole is not None:
        typer.echo(f"{whole.accuracy} of whole answers as written; chance is {whole.chance}")
    line = "the line of the file, " * ("line" in columns)
    choice = "choice (of the map), " * ("choice" in columns)
    what = f"{line}the objects, prediction, {choice}margin (the difference of the two distances)"
    answer = ", answer (its number) and answer_prediction (of the whole answer)" * ("answer" in columns)
    print_wrapped(f"{target}  columns: {what}{source * ('probability' in columns)}{answer}", indent=2)


class _WholeAnswers(NamedTuple):
    """Accuracy of whole answers and of random choices, and columns with one cell per comparison."""

    accuracy: str
    chance: str
    columns: dict[str, list[Any]]


def _whole_answers(comparisons: "Comparisons", embedding: Any) -> _WholeAnswers | None:
    """Predict the whole answers that comparisons are from; None if each comparison is an answer."""
    import numpy as np

    from closerthan.accuracy import chance_levels, correct_choices, pair_similarities
    from closerthan.comparisons import Choices
    from closerthan.evaluate.answer_accuracy import imply_several_comparisons
    from closerthan.wording import percent

    if comparisons.answers is None or not imply_several_comparisons(comparisons):
        return None
    choices = Choices.of(comparisons)
    right = correct_choices(choices, pair_similarities(choices, embedding))
    number = np.unique(comparisons.answers, return_inverse=True)[1]
    columns = {"answer": (number + 1).tolist(), "answer_prediction": np.where(right == 1, 1, -1)[number].tolist()}
    accuracy, chance = (
        percent(float(np.average(one, weights=choices.weights))) for one in (right, chance_levels(choices))
    )
    return _WholeAnswers(accuracy, chance, columns)


def _probability(map: Path) -> "tuple[Callable[[Any], Any] | None, str]":
    """Return a function for the probability of rows, and a description of its source; None if the loss is unknown."""
    from closerthan.losses import Loss
    from closerthan.result import Result
    from closerthan.uncertainty.replicates import Replicates

    if not map.is_dir():
        return None, ""
    if (map / "replicates.npz").exists():
        replicates = Replicates.load(map / "replicates.npz")
        return replicates.probability, f", probability of being right (from {len(replicates.committee.maps)} maps)"
    if not (map / "result.npz").exists():
        return None, ""
    result = Result.load(map / "result.npz")
    measured = "calibrated on held-out answers"
    if result.calibration is None:
        measured = "according to the loss, not calibrated"
        if result.settings is None or not isinstance(result.settings.loss, Loss) or not result.loss.is_likelihood:
            return None, ""
    return result.probability, f", probability of being right ({measured})"


def _sides(
    comparisons: "Comparisons", embedding: Any, probability: "Callable[[Any], Any] | None"
) -> dict[str, list[Any]]:
    """Return the columns of predictions for questions with two sides."""
    import numpy as np

    from closerthan.metrics import distances

    near, far = distances(comparisons, embedding)
    sure = None if probability is None else probability(comparisons)
    as_written = far > near if sure is None else sure > 0.5
    rows = np.asarray(comparisons.rows)
    titles = ("anchor", "near", "far") if rows.shape[1] == 3 else ("near_1", "near_2", "far_1", "far_2")
    names = np.array(comparisons.names or range(comparisons.n_objects))
    columns = {} if comparisons.lines is None else {"line": comparisons.lines.tolist()}
    columns |= {title: names[rows[:, place]].tolist() for place, title in enumerate(titles)}
    columns |= {"prediction": np.where(as_written, 1, -1).tolist(), "margin": (far - near).tolist()}
    return columns if sure is None else {**columns, "probability": np.maximum(sure, 1.0 - sure).tolist()}


def _choices(
    kind: str, comparisons: "Comparisons", embedding: Any, probability: "Callable[[Any], Any] | None"
) -> dict[str, list[Any]]:
    """Return the columns of predictions for questions with several candidates."""
    import math

    from closerthan.evaluate.choices import predicted_choices

    choices = predicted_choices(kind, comparisons, embedding, probability)
    names = comparisons.names or tuple(str(number) for number in range(comparisons.n_objects))
    columns: dict[str, list[Any]] = {}
    if comparisons.lines is not None:
        columns["line"] = [int(comparisons.lines[one.row]) for one in choices]
    has_anchor = kind in ("nearest", "rank")
    widest = max((len(one.objects) for one in choices), default=0)
    titles = [*["anchor"] * has_anchor, *(f"object_{place + 1}" for place in range(widest - has_anchor))]
    for place, title in enumerate(titles):
        columns[title] = [names[one.objects[place]] if place < len(one.objects) else "" for one in choices]
    columns["prediction"] = [1 if one.as_written else -1 for one in choices]
    columns["choice"] = ["; ".join(names[number] for number in one.chosen) for one in choices]
    columns["margin"] = [one.margin for one in choices]
    if any(not math.isnan(one.probability) for one in choices):
        columns["probability"] = [None if math.isnan(one.probability) else one.probability for one in choices]
    return columns


def _write_columns(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as CSV or Parquet, completely or not at all."""
    from closerthan.files.formats.extras import extra
    from closerthan.saving import whole_csv, whole_file

    if path.suffix.lower() == ".parquet":
        arrow, parquet = extra("pyarrow", "writing Parquet"), extra("pyarrow.parquet", "writing Parquet")
        with whole_file(path) as file:
            parquet.write_table(arrow.table(dict(columns)), file)
        return
    as_text = {"probability": lambda cell: "" if cell is None else f"{cell:.4f}", "margin": repr}
    cells = [
        [as_text[title](cell) for cell in column] if title in as_text else column for title, column in columns.items()
    ]
    whole_csv(path, list(columns), zip(*cells, strict=True))


@dataclass(frozen=True)
class DimsSearch:
    """Options of the search for the number of dimensions."""

    most: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Largest number of dimensions to try.")] = 10
    folds: Annotated[int | None, typer.Option(metavar="NUMBER", min=2, help=FOLDS_HELP)] = None
    repeats: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Number of cross-validations, each with different folds.")
    ] = 4


@with_options(
    search=DimsSearch, output=OutputFolder, fitting=fitting_options(omit="n_dims", by_default=DIMS_BY), reading=reading
)
def dims(
    *,
    file: AnswersFile,
    search: DimsSearch,
    output: OutputFolder,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Find the number of dimensions that the answers support.

    Starting at 1, the number goes up as long as one or two more dimensions predict held-out answers significantly
    better. If there are ten or more people, all answers of a person are held out together. Ctrl-C
    keeps the results for the numbers of dimensions that are complete.
    """
    import closerthan as ct
    from closerthan.cli.output import DIMS, save_figures
    from closerthan.cli.screen import print_columns, print_summary

    fitting.refuse_file()
    folder = output.path(file, "dims", DIMS)
    answers = _read(file, reading)
    print_summary(answers.summary)
    choice = ct.choose_dims(
        answers.comparisons,
        most=search.most,
        n_folds=search.folds,
        n_repeats=search.repeats,
        settings=fitting.settings,
        **fitting.run_options(sys.stderr.isatty()),
    )
    print_columns(choice.titles, choice.table(), gap=3 - ("bits" in choice.titles))
    _print_notes(
        "gain: in percentage points over one dimension fewer, and p of its paired test",
        choice.sentences,
        choice.scores[1],
    )

    def write(draft: Path) -> None:
        choice.to_csv(draft / "dims.csv")
        save_figures(draft, {"dims.png": choice.plot()}, output.figure_format)

    _write(folder, DIMS, output.force, write, choice.stopped_by)


@with_options(fitting=fitting_options(omit="loss"), reading=reading)
def compare(
    file: AnswersFile,
    folds: Annotated[int | None, typer.Option(metavar="NUMBER", min=2, help=FOLDS_HELP)] = None,
    repeats: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Number of cross-validations, each with different folds.")
    ] = 2,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Output folder; by default FILE's name with -compare."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing folder.")] = False,
    *,
    fitting: Fitting,
    reading: AnswersReader,
) -> None:
    """Compare all losses by their error on held-out answers. Ctrl-C keeps the results so far."""
    import closerthan as ct
    from closerthan.cli.output import COMPARE, check_target, stem
    from closerthan.cli.screen import print_columns, print_summary

    fitting.refuse_file()
    folder = out or Path(f"{stem(file)}-compare")
    check_target(folder, force, COMPARE)
    answers = _read(file, reading)
    print_summary(answers.summary)
    comparison = ct.compare_losses(
        answers.comparisons,
        n_folds=folds,
        n_repeats=repeats,
        settings=fitting.settings,
        **fitting.run_options(sys.stderr.isatty()),
    )
    print_columns(comparison.titles, comparison.table(), gap=3 - ("bits" in comparison.titles))
    _print_notes(
        f"behind: percentage points above the error of {comparison.best}, and p of the paired test",
        comparison.sentences,
        comparison.scores[comparison.best],
    )
    _write(folder, COMPARE, force, lambda draft: comparison.to_csv(draft / "compare.csv"), comparison.stopped_by)


def _read(file: Path, reading: AnswersReader) -> "Answers":
    from closerthan.fit.progress import phases

    with phases(sys.stderr.isatty()) as say:
        say(f"reading {file}")
        return reading.read(file)


def _print_notes(columns: str, sentences: Sequence[str], scores: "Scores") -> None:
    """Print the meaning of the columns, the verdict, and why this error differs from that of other commands."""
    from closerthan.cli.screen import OTHER_ERRORS, print_sentences, print_wrapped
    from closerthan.wording import percent

    chance = "chance is 50 %"
    if scores.answers is not None:
        chance = (
            "error: held-out comparisons that are predicted wrongly, chance is 50 %; answers: held-out whole answers "
            f"that are predicted correctly, chance is {percent(scores.answers.chance)}; bits: -log2 of the probability "
            f"of a held-out whole answer, guessing is {scores.answers.guessing_bits:.2f}"
        )
    typer.echo("")
    print_wrapped(f"{columns}; {chance}", indent=0)
    typer.echo("")
    print_sentences([*sentences, OTHER_ERRORS])


def _write(folder: Path, files: Mapping[str, str], force: bool, write: Callable[[Path], None], stopped_by: str) -> None:
    """Write the files of a command and list them; after an interruption, exit with the code for it."""
    from closerthan.cli.output import written_folder
    from closerthan.cli.screen import end_with_folder

    with written_folder(folder, replace=force) as draft:
        write(draft)
    end_with_folder(folder, files, stopped_by)
