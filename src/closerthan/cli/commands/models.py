"""Commands about models: ``answers-from`` features or a matrix, ``score`` features, and ``align`` them with people."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from closerthan.checks import ParameterError
from closerthan.cli.options import (
    SEED,
    AnswersFile,
    AnswersReader,
    Force,
    OutputFolder,
    Seed,
    Threads,
    out_option,
    reading,
    with_options,
)
from closerthan.messages import message_of, prefixed, with_full_stop

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.files import Features

ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="FEATURES|MATRIX",
        help="One row of numbers per object (.csv, .npy, .npz, .parquet), or a square matrix with names.",
        show_default=False,
    ),
]
FeatureFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FEATURES", help="One file per model or layer: a row of numbers per object.", show_default=False
    ),
]
MATRICES = ("similarities", "dissimilarities")
PAGE = "all of this on one page: open it in a browser"
SCORES = {
    "scores.csv": "accuracy of each model, with its interval",
    "scores.png": "the same as a bar chart",
    "report.html": PAGE,
}
"""The files of closerthan score."""
ALIGNED = {
    "aligned.csv": "accuracy of the features of each model, as they are and aligned, on held-out answers",
    "aligned.png": "the same as a bar chart",
    "report.html": PAGE,
}
"""The files of closerthan align, beside the positions and the map of each model."""


@dataclass(frozen=True)
class Measure:
    """The similarity of two objects according to the model."""

    similarity: Annotated[
        str | None,
        typer.Option(metavar="euclidean|dot|cosine", help="Similarity of features; by default cosine."),
    ] = None
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="similarities|dissimilarities",
            help="Read a square matrix of these instead of features; empty cells are missing values.",
        ),
    ] = None

    def of(self, model: "Features", file: Path) -> str:
        """Return the similarity to pass to the library; raise an error if ``--matrix`` is missing for a matrix."""
        if self.matrix is not None:
            if self.similarity is not None:
                raise ValueError("--similarity is for features and --matrix for a matrix; leave one of them out")
            if self.matrix not in MATRICES:
                raise ParameterError("matrix", self.matrix, f"it can be {' or '.join(MATRICES)}")
            return self.matrix
        if model.is_matrix and self.similarity is None:
            raise ValueError(
                f"{file} is a matrix of objects; pass --matrix similarities or --matrix dissimilarities, or "
                "--similarity if its rows are features"
            )
        return self.similarity or "cosine"


@dataclass(frozen=True)
class ModelQuestions:
    """The questions that the model answers, and the temperature of its answers."""

    answers: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="Number of answers; by default 100 per object.")
    ] = None
    question: Annotated[
        str,
        typer.Option(
            metavar="QUESTION",
            help="triplet, quadruplet, odd-one-out, most-central, 'nearest 2 of 8' or 'rank 2 of 8' (any numbers).",
        ),
    ] = "triplet"
    same_as: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's answers: the model answers the same questions."),
    ] = None
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Draw answers with probabilities exp(similarity / NUMBER); by default ties are left out.",
        ),
    ] = None


@with_options(measure=Measure, questions=ModelQuestions, reading=reading)
def answers_from(
    *,
    file: ModelFile,
    measure: Measure,
    questions: ModelQuestions,
    out: Annotated[
        Path | None, out_option("The answers to write; by default the input's name with -answers.csv.")
    ] = None,
    seed: Seed = SEED,
    force: Force = False,
    reading: AnswersReader,
) -> None:
    """Let a model (features of objects, or a matrix of similarities) answer questions, for closerthan fit."""
    import closerthan as ct
    from closerthan.cli.output import check_file, stem
    from closerthan.cli.screen import print_wrapped
    from closerthan.files import write_comparisons
    from closerthan.files.writing.comparisons import check_format
    from closerthan.models.scores import UNNAMED
    from closerthan.wording import counted, counts_in_words

    target = out or Path(f"{stem(file)}-answers.csv")
    check_format(target)
    check_file(target, force)
    model = _features(file, is_matrix=measure.matrix is not None)
    similarity = measure.of(model, file)
    people = None
    if questions.same_as is not None:
        if questions.answers is not None or questions.question != "triplet":
            raise ValueError("--same-as takes the questions of a file; leave --answers and --question out")
        people = _people(questions.same_as, [model], reading)
    with _named_in_errors(file):
        answers = ct.answers_from(
            model.table,
            questions.answers if people is None else people,
            similarity=similarity,
            question=questions.question,
            temperature=questions.temperature,
            names=model.names,
            seed=seed,
        )
    write_comparisons(answers, target)
    typer.echo(
        f"{counted(answers.n_answers, 'answer')} about {answers.n_objects:,} objects, by {similarity}"
        + (f"; left out: {counts_in_words(answers.dropped)}" if answers.dropped else "")
    )
    if people is not None:
        scores = ct.score_features(model.table, people, similarity=similarity, names=model.names)
        print_wrapped(f"predicts {scores[UNNAMED]}", indent=0)
    typer.echo(f"{target}  {answers.description}")


def _people(path: Path, models: "Iterable[Features]", reading: AnswersReader) -> "Comparisons":
    from closerthan.cli.screen import print_summary

    # The objects of features without names are numbered from 0.
    is_numbered = any(model.names is None for model in models) and path.suffix.lower() != ".mat"
    numbering = {"numbering": "0-based"} if is_numbered else {}
    contents = reading.without_split().read(path, **numbering)
    print_summary(contents.summary)
    return contents.comparisons


@contextlib.contextmanager
def _named_in_errors(file: Path) -> Iterator[None]:
    """Name the file in errors about the features or the matrix in it."""
    try:
        yield
    except ParameterError as error:
        raise error.renamed(dict.fromkeys(("model", "features"), str(file))) from None
    except ValueError as error:
        raise ValueError(prefixed(f"{file}: ", message_of(error))) from None


def _models(files: list[Path], *, is_matrix: bool = False) -> "dict[str, Features]":
    """Read the features of several models, by the names of the files."""
    from closerthan.checks import distinct
    from closerthan.cli.output import stem

    titles = [stem(path) for path in files]
    if len(set(titles)) < len(titles):
        titles = [str(path) for path in files]
    distinct(titles, "FEATURES")
    return {title: _features(path, is_matrix) for title, path in zip(titles, files, strict=True)}


def _features(path: Path, is_matrix: bool) -> "Features":
    """Read features, which have no gaps, or a matrix, which may have some."""
    import numpy as np

    from closerthan.files import read_features

    model = read_features(path)
    has_gap = ~np.isfinite(model.table).all(axis=1)
    if not is_matrix and not model.is_matrix and has_gap.any():
        row = int(np.argmax(has_gap))
        name = f"object {row}" if model.names is None else repr(model.names[row])
        raise ValueError(f"{path}: {name} lacks a feature; fill the gap, or leave the object out")
    return model


@with_options(measure=Measure, output=OutputFolder, reading=reading)
def score(
    *,
    file: AnswersFile,
    features: FeatureFiles,
    measure: Measure,
    output: OutputFolder,
    reading: AnswersReader,
) -> None:
    """Measure how many of people's answers the features of models predict, as a table and a bar chart."""
    import closerthan as ct
    from closerthan.cli.output import save_figures, stem, written_folder
    from closerthan.cli.screen import end_with_folder, print_columns, print_sentences
    from closerthan.models.scores import TITLES, UNNAMED, FeatureScores
    from closerthan.report.static_page import Section, write_summary_page

    folder = output.path(file, "scores", SCORES)
    models = _models(features, is_matrix=measure.matrix is not None)
    measures = [measure.of(model, path) for model, path in zip(models.values(), features, strict=True)]
    similarity = measures[0]
    people = _people(file, models.values(), reading)
    parts = {}
    for path, (title, model) in zip(features, models.items(), strict=True):
        with _named_in_errors(path):
            parts[title] = ct.score_features(model.table, people, similarity=similarity, names=model.names)
    scores = FeatureScores(
        {title: one[UNNAMED] for title, one in parts.items()},
        similarity,
        next(iter(parts.values())).ceilings,
        {title: one.left_out[UNNAMED] for title, one in parts.items()},
    )
    with written_folder(folder, replace=output.force) as draft:
        scores.to_csv(draft / "scores.csv")
        figure = scores.plot(title=f"Accuracy by {similarity}")
        save_figures(draft, {"scores.png": figure}, output.figure_format)
        section = Section("Accuracy", titles=TITLES, rows=scores.rows(), sentences=scores.remarks)
        title = f"Accuracy of models on the answers in {stem(file)}"
        write_summary_page(draft / "report.html", title, [section], {"Accuracy of each model": figure})
    print_columns(TITLES, scores.rows())
    typer.echo("")
    print_sentences(scores.remarks)
    end_with_folder(folder, SCORES, "")


@dataclass(frozen=True)
class AlignmentSearch:
    """How to align features with answers."""

    similarity: Annotated[str, typer.Option(metavar="euclidean|dot|cosine", help="Similarity of two positions.")] = (
        "cosine"
    )
    rank: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            help="Number of dimensions; by default as many as there are independent features, at most 100.",
        ),
    ] = None
    loss: Annotated[str, typer.Option(metavar="NAME", help="The loss, as for fit.")] = "ste"
    towards: Annotated[
        str,
        typer.Option(
            metavar="auto|identity|zero",
            help="Target of the penalty; auto: the one that predicts held-out answers better.",
        ),
    ] = "auto"
    strength: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Strength of the penalty; by default chosen by held-out answers."),
    ] = None
    hold_out: Annotated[
        str, typer.Option(metavar="answers|objects", help="Unit that is held out to choose the strength.")
    ] = "answers"
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Scale all features to the same variance first.")
    ] = False
    n_folds: Annotated[
        int, typer.Option("--folds", metavar="NUMBER", min=2, help="Number of parts; each is held out once.")
    ] = 5


@with_options(search=AlignmentSearch, output=OutputFolder, reading=reading)
def align(
    *,
    file: AnswersFile,
    features: FeatureFiles,
    search: AlignmentSearch,
    output: OutputFolder,
    seed: Seed = SEED,
    threads: Threads = None,
    reading: AnswersReader,
) -> None:
    """Find the linear map of features that predicts people's answers best, and what it gains on new objects.

    For each file of features, the positions of all its objects are written, including those without answers. Two
    cross-validations measure the accuracy on new answers, and on objects that no training answer mentions.
    """
    import sys

    import closerthan as ct
    from closerthan.cli.output import save_figures, stem, written_folder
    from closerthan.cli.screen import end_with_folder, in_terms_of_options, print_columns, print_sentences
    from closerthan.files import write_map
    from closerthan.models.aligned_scores import TITLES
    from closerthan.report.static_page import Section, write_summary_page

    models = _models(features)
    names = {title: title.replace("/", "-").replace("\\", "-") for title in models}
    contents = dict(ALIGNED)
    for name in names.values():
        contents |= {
            f"{name}-map.csv": f"positions of the objects of {name}",
            f"{name}-map.npz": "the same, and the map",
        }
    folder = output.path(file, "aligned", contents)
    people = _people(file, models.values(), reading)
    alignments = {}
    problems = []
    for path, (title, model) in zip(features, models.items(), strict=True):
        try:
            with _named_in_errors(path):
                alignments[title] = ct.align(
                    model.table,
                    people,
                    names=model.names,
                    **asdict(search),
                    n_threads=threads,
                    seed=seed,
                    progress=sys.stderr.isatty(),
                )
        except ParameterError:
            raise
        except ValueError as error:
            problems.append(message_of(error))
    if not alignments:
        raise ValueError(problems[0])
    scores = ct.AlignedScores(alignments)
    remarks = [*scores.remarks, *(with_full_stop(prefixed("Not aligned: ", problem)) for problem in problems)]
    with written_folder(folder, replace=output.force) as draft:
        scores.to_csv(draft / "aligned.csv")
        figure = scores.plot(title=f"Accuracy by {search.similarity}")
        save_figures(draft, {"aligned.png": figure}, output.figure_format)
        sentences = [in_terms_of_options(remark) for remark in remarks]
        section = Section("Accuracy on held-out answers", titles=TITLES, rows=scores.rows(), sentences=sentences)
        title = f"Features aligned with the answers in {stem(file)}"
        description = "Accuracy of each model on held-out answers"
        write_summary_page(draft / "report.html", title, [section], {description: figure})
        for title, alignment in scores.items():
            write_map(alignment.embedding, alignment.names, draft / f"{names[title]}-map.csv")
            alignment.save(draft / f"{names[title]}-map.npz")
    print_columns(TITLES, scores.rows())
    typer.echo("")
    print_sentences(remarks)
    end_with_folder(folder, contents, "")
