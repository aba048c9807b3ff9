"""Read answers from a file: the comparisons, and a summary of the file."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons, most_objects, sort_names
from closerthan.comparisons.column_names import is_usual_name, plain
from closerthan.comparisons.positions import fraction_on_left, without_artefacts
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.comparisons.trials import Trials
from closerthan.files.formats.frames import FrameTable, is_frame
from closerthan.files.formats.opening import name_file_in_errors
from closerthan.files.formats.readers import FileOptions, open_table
from closerthan.files.formats.study import marks_ties
from closerthan.files.formats.tables import MISSING, Column, Table
from closerthan.files.formats.text.delimited_text import ARROW_FROM
from closerthan.files.formats.text.lists import expand_lists
from closerthan.files.maps import is_map
from closerthan.files.meaning.attributes.blocks import find_blocks
from closerthan.files.meaning.attributes.catch_trials import (
    CatchColumn,
    CheckCount,
    catch_column,
    catch_columns,
    catch_trials,
    count_checks,
    total_checks,
    unmarked_checks,
)
from closerthan.files.meaning.attributes.conditions import Conditions, SelectedRows, matching_rows, parse_conditions
from closerthan.files.meaning.attributes.exclusions import (
    excluded_rows,
    exclusion_column,
    kind_and_reply,
    unanswered_rows,
)
from closerthan.files.meaning.attributes.random_questions import WRITTEN_KIND, kind_columns, random_questions
from closerthan.files.meaning.attributes.times_and_sides import option_positions, response_times
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.exports import TOOL_COLUMNS, Export
from closerthan.files.meaning.folders import open_folder
from closerthan.files.meaning.interpretation import Interpretation, Problem
from closerthan.files.meaning.numbering import BadLabelError, Numbering, number_objects
from closerthan.files.meaning.reading import Reading, ReadingOptions
from closerthan.files.meaning.several_kinds import all_cells_filled, combined_layout, interpret
from closerthan.files.meaning.summary import Summary, repeated_and_contradictory
from closerthan.files.stored.large import Portion, read_large
from closerthan.messages import Message, Suggested, message_of, value_error
from closerthan.representation import shows_fields
from closerthan.signatures import lists_keywords
from closerthan.wording import counted, counts_in_words

__all__ = ["Answers", "read", "read_answers", "read_comparisons"]

_TRAIN = frozenset({"train", "training", "fit"})
_TEST = frozenset({"test", "testing", "held_out", "heldout", "validation", "valid", "val", "eval"})


@shows_fields
@dataclasses.dataclass(frozen=True)
class Answers:
    """The result of :func:`read_answers`.

    Attributes
    ----------
    comparisons
        The comparisons, without those marked as test; each row records its answer and, if available, its person.
    test
        The comparisons from answers that a train/test column marks as test, about the same objects; or None.
    summary
        The content of the file, and how it was used.
    checks
        Numbers of catch trials that each person saw and passed, if the file has catch trials with a known answer.
    ties
        The questions in which two pairs were called equal, as comparisons in either direction, about the same
        objects, if ``ties="keep"`` or if closerthan collected the answers; None if there are none.
    """

    comparisons: Comparisons
    test: Comparisons | None
    summary: Summary
    checks: Mapping[str, CheckCount] = dataclasses.field(default_factory=dict)
    ties: Comparisons | None = None

    @property
    def participants(self) -> NDArray[Any] | None:
        """The person who gave each comparison in ``comparisons``, or None if the file has no such column."""
        people, names = self.comparisons.people, self.comparisons.person_names
        return None if people is None or names is None else Column(people, list(names)).array()


@lists_keywords(ReadingOptions, Reading)
@checked
def read_answers(path: str | os.PathLike[str] | Any, **options: Unpack[ReadingOptions]) -> Answers:
    """Read a file of answers.

    Parameters
    ----------
    path
        CSV, TSV, text with spaces between columns, JSON (each also as .gz, or as the only table in a .zip), Parquet,
        .npy, .npz or MATLAB .mat; a folder of such files, one per person; the folder of a study that
        ``closerthan collect`` serves; or a DataFrame of pandas or polars, or an Arrow table, with the same columns.
    kind
        The question: "triplet", "quadruplet", "odd-one-out", "most-central", "rank" or "nearest". By default
        it is detected from the columns.
    columns
        Columns that do not have their usual names, by role: ``{"anchor": "q", "near": "yes", "far": "no"}``. A column
        is a name or a position from 0; several columns with one role are a list; None means that there is no such
        column. The role "catch" is a column that marks catch trials, by true or 1 or by words:
        ``{"catch": "kind=attention"}``.
    numbering
        How the file refers to objects: by "0-based" or "1-based" numbers, or by "names". By default it is detected.
    names
        Names of the objects, in the order of their numbers.
    n_objects
        Number of objects, if some may not occur in the file.
    ties, self_pairs, missing
        What to do with ties, with answers that compare an object with itself, and with answers that have an empty
        cell: raise an "error" or "drop" them. With ``ties="keep"``, ties between two options are read as well, apart
        from the other answers (:attr:`Answers.ties`); other ties are dropped. The ties of a study that closerthan
        collected are always kept, unless they are dropped.
    where
        Read only rows that have a certain value (or one of a list) in a column, ``{"block": [1, 2]}``, or that satisfy
        conditions, which begin with !=, <, <=, > or >=: ``{"worker": "!=w7", "rt": [">=300", "<5000"]}``.
    catch
        Catch trials are questions with one correct answer that test attention. "drop" leaves out and counts the rows
        that a column marks as catch trials; "keep" reads them as answers.
    header, delimiter, encoding
        Format of a text file; by default it is detected.
    variable
        The array to read from a .npz or .mat file with several, or the table to read from a .zip.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "cats.csv"
    ...     _ = file.write_text("head,winner,loser,worker\\nlion,tiger,ant,w1\\nant,bee,lion,w2\\n")
    ...     answers = read_answers(file)
    >>> answers.comparisons, answers.participants.tolist()
    (Comparisons(2 triplets of 4 objects), ['w1', 'w2'])
    >>> answers.summary.columns
    {'anchor': 'head', 'near': 'winner', 'far': 'loser', 'participant': 'worker'}
    """
    return read(path, Reading.of(options))


@name_file_in_errors
def read(path: Any, reading: Reading, *, arrow_from: int = ARROW_FROM, portion: Portion | None = None) -> Answers:
    """Read a file of answers with checked options.

    Text of at least ``arrow_from`` bytes is read by pyarrow, and a file that is large according to ``portion`` in
    blocks.
    """
    if not (is_frame(path) or isinstance(path, str | os.PathLike)):
        raise ValueError(f"path is {path!r}; it must be the path of a file or a folder, or a DataFrame")
    if not is_frame(path) and reading.keeps_all_rows and Path(path).is_file():
        large = read_large(Path(path), reading, portion)
        if large is not None:
            return Answers(large[0], None, large[1])
    return _answers(_open_export(path, reading, arrow_from), reading)


@lists_keywords(ReadingOptions, Reading)
@checked
def read_comparisons(path: str | os.PathLike[str] | Any, **options: Unpack[ReadingOptions]) -> Comparisons:
    """Read all comparisons of a file or a DataFrame; the options are those of :func:`read_answers`.

    A train/test column is ignored; use :func:`read_answers` to separate the two.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "answers.txt"
    ...     _ = file.write_text("1 2 3\\n3 2 1\\n")
    ...     comparisons = read_comparisons(file)
    >>> comparisons.rows.tolist(), comparisons.names
    ([[0, 1, 2], [2, 1, 0]], ('1', '2', '3'))
    >>> import pandas
    >>> table = pandas.DataFrame({"far": ["ant", "bee"], "near": ["bee", "cat"], "anchor": ["cat", "ant"]})
    >>> read_comparisons(table).names
    ('ant', 'bee', 'cat')
    """
    columns = Reading.of(options).columns or {}
    if columns.get("split") is not None:
        raise ValueError("read_comparisons does not separate train and test; use closerthan.files.read_answers")
    options["columns"] = {**columns, "split": None}
    return read_answers(path, **options).comparisons


def _open_export(path: Any, reading: Reading, arrow_from: int) -> Export:
    """Open a DataFrame, a file, or all files of a folder, and find the meaning of the columns."""
    marking = reading.catch_column
    mentioned = [*(reading.where or {}), *(column for choice in reading.roles.values() for column in _several(choice))]
    mentioned += [marking, marking.partition("=")[0]] if isinstance(marking, str) else []
    named_columns = {WRITTEN_KIND, *TOOL_COLUMNS, *(plain(column) for column in mentioned if isinstance(column, str))}

    def is_column(name: str) -> bool:
        return is_usual_name(name) or plain(name) in named_columns

    try:
        table = (
            FrameTable(path)
            if is_frame(path)
            else _open(Path(path), is_column, reading.file._replace(arrow_from=arrow_from))
        )
        return Export(table, reading.kind, reading.roles)
    except ValueError as error:
        if not is_frame(path) and is_map(path):
            raise ValueError(f"{path} is a map; a file of answers is expected") from error
        raise


def _open(path: Path, is_column: Callable[[str], bool], options: FileOptions) -> Table:
    if path.is_dir():
        return open_folder(path, is_column, options)
    return expand_lists(open_table(path, is_column, options))


def _several(choice: str | int | Sequence[str | int] | None) -> Sequence[str | int]:
    if choice is None:
        return ()
    return [choice] if isinstance(choice, str | int) else choice


class _DerivedComparisons(NamedTuple):
    """The comparisons of a table, and how they were derived from its rows.

    Attributes
    ----------
    comparisons
        All comparisons, including those marked as test.
    is_test
        Mask of the comparisons marked as test, or None.
    layout
        Layout without columns that turned out to be unusable, and with the column that defines the blocks.
    numbering
        Numbering of the objects.
    dropped
        Numbers of dropped rows, by reason.
    n_participants
        Number of people who are named in the table, or None.
    ties
        The ties that are kept, or None.
    """

    comparisons: Comparisons
    is_test: NDArray[np.bool_] | None
    layout: Layout
    numbering: Numbering
    dropped: Mapping[str, int]
    n_participants: int | None
    ties: Comparisons | None


def _derive(selection: "_Selection", reading: Reading) -> _DerivedComparisons:
    """Derive comparisons from the selected rows."""
    interpretation = selection.interpretation
    table, layout, notes = interpretation.table, interpretation.layout, interpretation.notes
    weights = _weights(interpretation)
    answer_ids = _group_ids(interpretation, "answer")
    block_ids = _group_ids(interpretation, "block")
    split = _split(interpretation, explicit="split" in reading.roles)
    layout = layout if split is not None else layout.without("split")
    keep, is_tie, dropped = _usable_rows(interpretation, reading)
    derived = interpretation.comparisons(keep)
    codes, source = derived
    numbering = _number_objects(interpretation, reading)
    rows = numbering.numbers[codes]
    n_used = table.n_rows - sum(dropped.values())
    people, person_names, n_participants = _participants(interpretation)
    times = response_times(table, layout, "time" in reading.roles, notes)
    positions = option_positions(interpretation, derived, explicit="side" in reading.roles)
    layout = layout.without(*(role for role, values in (("time", times), ("side", positions)) if values is None))
    random = random_questions(table, selection.kinds)
    if random is not None:
        layout = Layout(layout.form, {**layout.columns, "random": (random.column,)})
        n_random = int(random.rows.sum())
        if n_random < table.n_rows:
            notes.append(
                f"{n_random:,} of {table.n_rows:,} questions were drawn at random "
                f"({table.title(random.column)}); errors on held-out answers are measured on these"
            )
    of_rows = Trials(times, None, table.lines, None if random is None else random.rows)
    trials = of_rows.take(source) if len(of_rows) else of_rows
    if positions is not None and len(source):
        trials = dataclasses.replace(trials, positions=positions)
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    comparisons = make(
        rows,
        weights=None if weights is None else weights[source],
        n_objects=numbering.n_objects,
        names=numbering.names,
        answers=answer_ids[source] if answer_ids is not None else source if len(source) > n_used else None,
        people=None if people is None else people[source],
        blocks=None if block_ids is None else block_ids[source],
        trials=trials if len(trials) else None,
    )
    if comparisons.person_names is not None:
        occurring = tuple(person_names[int(number)] for number in comparisons.person_names)
        comparisons = comparisons.replace(person_names=occurring)
    ties, tied = None, np.zeros(len(source), dtype=bool) if is_tie is None else is_tie[source]
    answers, artefact = without_artefacts(comparisons.take(~tied) if tied.any() else comparisons)
    if artefact:
        notes.append(artefact)
        layout = layout.without("side")
    if not tied.any():
        comparisons = answers
    if "block" not in {**layout.columns, **reading.roles}:
        used = [*selection.columns, *layout.objects, *layout.labels]
        comparisons, block_column, block_notes = find_blocks(comparisons, table, used, source)
        notes += block_notes
        if block_column is not None:
            layout = Layout(layout.form, {**layout.columns, "block": (block_column,)})
    if tied.any():
        ties, source = comparisons.take(tied), source[~tied]
        comparisons = answers.replace(blocks=comparisons.take(~tied).blocks)
        notes.append(f"{counted(len(ties), 'tie')} are kept apart from the other answers")
    is_test = _test_rows(table, layout, comparisons, None if split is None else split[source], notes)
    return _DerivedComparisons(comparisons, is_test, layout, numbering, dropped, n_participants, ties)


def _answers(export: Export, reading: Reading) -> Answers:
    """Read the answers of an open table, and summarise them."""
    selection = _select_rows(export, reading)
    interpretation = selection.interpretation
    table, notes = interpretation.table, interpretation.notes
    comparisons, is_test, layout, numbering, dropped, n_participants, ties = _derive(selection, reading)
    n_repeated, n_contradictory = repeated_and_contradictory(comparisons)
    used_columns = {*selection.columns, *(place for places in layout.columns.values() for place in places)}
    summary = Summary(
        path=str(table.path),
        format=table.format,
        kind=interpretation.kind,
        columns={role: ", ".join(_name(table, place) for place in places) for role, places in layout.columns.items()},
        numbering=numbering.numbering,
        numbering_reason=numbering.reason,
        n_objects=comparisons.n_objects,
        n_mentioned=int(comparisons.mentioned.sum()),
        n_rows=export.table.n_rows,
        n_used=table.n_rows - sum(dropped.values()),
        n_answers=comparisons.n_answers,
        n_comparisons=len(comparisons),
        n_test=0 if is_test is None else int(is_test.sum()),
        n_repeated=n_repeated,
        n_contradictory=n_contradictory,
        dropped={**selection.left_out, **dropped},
        n_participants=n_participants,
        median_time=_median_time(comparisons),
        share_left=fraction_on_left(comparisons),
        not_used=tuple(name for place, name in enumerate(table.names) if name and place not in used_columns),
        notes=tuple(dict.fromkeys([*table.notes, *notes])),
    )
    if is_test is None:
        return Answers(comparisons, None, summary, selection.checks, ties)
    return Answers(comparisons.take(~is_test), comparisons.take(is_test), summary, selection.checks, ties)


def _name(table: Table, position: int) -> str:
    return table.names[position] or f"column {position + 1}"


# ---- selecting rows ----


class _Selection(NamedTuple):
    """The interpreted rows, the numbers of rows left out by reason, and the columns used for the selection."""

    interpretation: Interpretation
    left_out: Mapping[str, int]
    columns: Sequence[int]
    checks: Mapping[str, CheckCount]
    kinds: Sequence[int]  # columns that may hold the kind of question


class _Rows(NamedTuple):
    """The rows selected so far, and counts of the rows left out by reason."""

    table: Table
    left_out: Mapping[str, int]
    marks: Sequence[int] = ()
    checks: Mapping[str, CheckCount] = {}
    notes: Sequence[str] = ()


def _select_rows(export: Export, reading: Reading) -> _Selection:
    """Load the columns, and leave out rows by conditions, screens without a question, and catch trials."""
    table, layout = export.table, export.layout
    conditions = parse_conditions(table, reading.where)
    explicit_mark = catch_column(table, reading.catch_column)
    answer_columns = {*layout.objects, *layout.labels}
    marks = catch_columns(table, answer_columns) if explicit_mark is None else [explicit_mark.position]
    kinds = kind_columns(table, answer_columns)
    name_columns = [] if reading.identifies_objects else export.name_columns
    exclusion = exclusion_column(table)
    exclusions = [] if exclusion is None or exclusion in conditions else [exclusion]
    study_columns = kind_and_reply(table)
    groups = [] if exclusion is None else [place for place, name in enumerate(table.names) if name == "condition"]
    others = [
        column
        for column in {*conditions, *marks, *kinds, *exclusions, *groups, *name_columns, *(study_columns or ())}
        if column not in answer_columns
    ]
    table.read(layout.objects, [*layout.labels, *others], layout.columns.get("weight", ()))
    if not table.n_rows:
        raise ValueError(f"{table.path} is empty: it has no answers")
    layouts = [layout]
    n_roles = len(layout.form.roles)
    has_rivals = any(len(other.form.roles) == n_roles for other in export.other_layouts)  # neither is more complete
    if export.other_layouts and (has_rivals or not all_cells_filled(table, layout).all()):
        layouts = [layout, *export.other_layouts]
        combined = combined_layout(layouts)
        answer_columns = {*combined.objects, *combined.labels}
        others = [column for column in others if column not in answer_columns]
        table.read(combined.objects, [*combined.labels, *others], combined.columns.get("weight", ()))
    table = export.named(reading.names) if name_columns else table
    rows = _matching(table, conditions, export.other_screens())
    for position in exclusions:
        rows = _without_excluded(rows, position)
    if study_columns is not None and not {*study_columns} & {*conditions}:
        rows = _without_unanswered(rows, *study_columns)
    for position in groups:
        rows = rows._replace(notes=[*rows.notes, *_note_on_conditions(rows.table, position)])
    if reading.drops_catch_trials:
        # A user who selects rows by a column that marks catch trials wants to read these rows.
        marks = [mark for mark in marks if mark not in conditions]
        rows = _without_catch_trials(rows, layouts, marks, explicit_mark)
    rows.table.check_cells()
    object_names = [*(() if reading.names is None else reading.names), *table.object_info.get("names", ())]
    interpretation = interpret(rows.table, layouts, object_names)
    unmarked = unmarked_checks(interpretation, rows.checks) if reading.drops_catch_trials else None
    if unmarked is not None:
        rows = _without_unmarked_checks(rows, *unmarked)
        interpretation = interpret(rows.table, layouts, object_names)
    interpretation.notes += rows.notes
    used = [*conditions, *exclusions, *groups, *name_columns, *rows.marks, *(study_columns or ())]
    return _Selection(interpretation, rows.left_out, used, rows.checks, kinds)


def _matching(table: Table, conditions: Mapping[int, Conditions], other_screens: NDArray[np.bool_] | None) -> _Rows:
    left_out: dict[str, int] = {}
    keep = matching_rows(table, conditions)
    if keep is not None:
        left_out["excluded_by_where"] = int((~keep).sum())
    if other_screens is not None:
        with_question = ~other_screens if keep is None else keep & ~other_screens
        left_out["other_screens"] = int((table.n_rows if keep is None else keep.sum()) - with_question.sum())
        keep = with_question
    if keep is not None:
        if not keep.any():
            raise ValueError(f"{table.path}: no row is left after dropping {counts_in_words(left_out)}")
        table = SelectedRows(table, np.flatnonzero(keep))
    return _Rows(table, left_out)


def _without_excluded(rows: _Rows, position: int) -> _Rows:
    """Leave out the rows that a column marks as excluded."""
    excluded = excluded_rows(rows.table, position)
    if excluded is None:
        return rows
    title = rows.table.title(position)
    if excluded.all():
        raise ValueError(
            f"{rows.table.path}: every row is marked as excluded in {title}; change the marks, or remove the column"
        )
    note = f"rows that are marked in {title} are left out"
    return rows._replace(
        table=SelectedRows(rows.table, np.flatnonzero(~excluded)),
        left_out={**rows.left_out, "marked_as_excluded": int(excluded.sum())},
        notes=[*rows.notes, note],
    )


def _without_unanswered(rows: _Rows, kind: int, said: int) -> _Rows:
    """Leave out the rows of a study's table of all answers that its usual export does not have."""
    unanswered = unanswered_rows(rows.table, kind, said)
    if not unanswered.any():
        return rows
    if unanswered.all():
        raise ValueError(f"{rows.table.path}: every row is practice or has no choice, so no answer is left")
    return rows._replace(
        table=SelectedRows(rows.table, np.flatnonzero(~unanswered)),
        left_out={**rows.left_out, "practice_or_without_a_choice": int(unanswered.sum())},
        notes=[*rows.notes, "practice questions, and questions without a choice, are left out"],
    )


def _note_on_conditions(table: Table, position: int) -> list[str]:
    """Return a note if the answers come from several conditions of a study, whose questions may differ."""
    column = table.column(position)
    names = [str(column.labels[code]) for code in np.unique(column.codes)]
    if len(names) < 2:
        return []
    problem = f"the answers come from {len(names)} conditions ({', '.join(name or '(none)' for name in names)})"
    return [Message(problem, "pass {where} to read those of one", where={"condition": names[-1]})]


def _without_catch_trials(
    rows: _Rows, layouts: Sequence[Layout], marks: Sequence[int], explicit: CatchColumn | None
) -> _Rows:
    """Leave out the rows that a column marks as catch trials."""
    table = rows.table
    if not marks:
        return rows
    catch = catch_trials(table, marks, explicit, with_people="participant" in layouts[0].columns)
    if catch is None:
        return rows
    checks = count_checks(table, layouts, catch.rows)
    total = total_checks(checks)
    note = f"rows in which {catch.words} are catch trials and are left out" + (
        f"; {total.n_passed:,} of {total.n_trials:,} were answered correctly" if total.n_trials else ""
    )
    return _Rows(
        SelectedRows(table, np.flatnonzero(~catch.rows)),
        {**rows.left_out, "catch_trials": int(catch.rows.sum())},
        [catch.column],
        checks,
        [*rows.notes, Message(note, "pass {catch} to keep them", catch="keep")],
    )


def _without_unmarked_checks(rows: _Rows, is_check: NDArray[np.bool_], checks: Mapping[str, CheckCount]) -> _Rows:
    """Leave out rows that are evidently catch trials although no column marks them."""
    n_checks, total = int(is_check.sum()), total_checks(checks)
    sums = {
        name: CheckCount(*np.add(rows.checks.get(name, (0, 0)), checks.get(name, (0, 0))).tolist())
        for name in {**rows.checks, **checks}
    }
    note = (
        f"{n_checks:,} answers compare an object with itself; they are taken to be catch trials and are left out; "
        f"{total.n_passed:,} of {total.n_trials:,} were answered correctly"
    )
    return rows._replace(
        table=SelectedRows(rows.table, np.flatnonzero(~is_check)),
        left_out={**rows.left_out, "catch_trials": rows.left_out.get("catch_trials", 0) + n_checks},
        checks=sums,
        notes=[*rows.notes, note],
    )


def _usable_rows(
    interpretation: Interpretation, reading: Reading
) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None, dict[str, int]]:
    """Return a mask of the usable rows (None for all), a mask of the ties among them, and the numbers of dropped rows.

    The first row with a problem that is not to be dropped raises an error.
    """
    table, problems = interpretation.table, interpretation.problems
    if not problems:
        return None, None, {}
    policy = {"ties": reading.ties, "self_pairs": reading.self_pairs, "missing": reading.missing}
    if reading.ties == "error" and marks_ties(table.names):
        policy["ties"] = "keep"
    if policy["ties"] == "keep" and interpretation.kind not in ("triplet", "quadruplet"):
        policy["ties"] = "drop"
    keep = np.ones(table.n_rows, dtype=bool)
    is_tie = np.zeros(table.n_rows, dtype=bool)
    dropped: dict[str, int] = {}
    for problem in problems:
        if policy[problem.option] == "keep":
            is_tie |= problem.rows
            continue
        new = problem.rows & keep
        if policy[problem.option] == "drop" and new.any():
            dropped[problem.option] = dropped.get(problem.option, 0) + int(new.sum())
            keep &= ~new
    fatal = [
        (int(np.argmax(problem.rows & keep)), problem)
        for problem in problems
        if policy[problem.option] != "keep" and (problem.rows & keep).any()
    ]
    if fatal:
        row, problem = min(fatal, key=lambda pair: pair[0])
        way_out = f"correct the file or pass {{{problem.option}}}"
        arguments: dict[str, Suggested] = {problem.option: "drop"}
        if interpretation.has_unnamed_pairs and problem.option == "self_pairs":
            way_out += (
                "; if the last column is the person, pass {columns}, and {kind} if the third object is the odd one"
            )
            arguments |= {"columns": {"participant": 3}, "kind": "odd-one-out"}
        raise table.error(row, Message(problem.message(row), way_out, **arguments))
    if not keep.any():
        raise ValueError(f"{table.path}: no answer is left after dropping {counts_in_words(dropped)}")
    if not (keep & ~is_tie).any():
        raise ValueError(f"{table.path}: all answers are ties, which say nothing about distances")
    return keep, is_tie, dropped


# ---- columns other than objects ----


def _weights(interpretation: Interpretation) -> NDArray[np.float64] | None:
    table, places = interpretation.table, interpretation.layout.columns.get("weight")
    if places is None:
        return None
    (position,) = places
    weights = table.number(position)
    empty = np.isnan(weights)
    if empty.any():
        problem = Problem(empty, "missing", lambda _: f"the weight in {table.title(position)} is empty")
        interpretation.problems.append(problem)
    invalid = np.isinf(weights) | (weights < 0)
    if invalid.any():
        row = int(np.argmax(invalid))
        raise table.error(row, f"the weight is {weights[row]:g}; weights must be finite and not negative")
    return weights


def _group_ids(interpretation: Interpretation, role: str) -> NDArray[np.int32] | None:
    """Return the answer (or block) that each row belongs to, or None if there is no such column."""
    table, places = interpretation.table, interpretation.layout.columns.get(role)
    if places is None:
        return None
    (position,) = places
    column = table.column(position)
    empty = column.is_empty()
    if role == "answer" and table.files is not None:  # a file in which each row is an answer may have no numbers
        empty &= (np.bincount(table.files, ~empty) > 0)[table.files]
    if empty.any():
        problem = Problem(empty, "missing", lambda _: f"the {role} identifier in {table.title(position)} is empty")
        interpretation.problems.append(problem)
    if role == "answer" and table.files is not None:  # each file may number its answers from 1
        own = np.where(column.is_empty(), len(column.labels) + np.arange(table.n_rows), column.codes)
        numbers: NDArray[np.int32] = consecutive_numbers(table.files * (len(column.labels) + table.n_rows) + own)
        return numbers
    return column.codes


def _split(interpretation: Interpretation, explicit: bool) -> NDArray[np.bool_] | None:
    """Return a mask of the rows marked as test, or None.

    A column with a usual name but other content is ignored unless the user chose it explicitly.
    """
    table, places = interpretation.table, interpretation.layout.columns.get("split")
    if places is None:
        return None
    (position,) = places
    column = table.column(position)
    is_test: list[bool | None] = []
    name = plain(table.names[position] or "")
    for label in column.labels:
        word = plain(label)
        if word in _TRAIN or word in _TEST:
            is_test.append(word in _TEST)
        elif word in ("true", "false", "1", "0") and name in ("test", "is_test", "train", "is_train"):
            is_test.append((word in ("true", "1")) == name.endswith("test"))
        else:
            is_test.append(None)
    if None not in is_test:
        return np.array(is_test, dtype=bool)[column.codes]
    code = is_test.index(None)
    title, label = table.title(position), column.labels[code]
    if explicit:
        raise table.error(column.first_row(code), f"{title} is {label!r}; expected train or test")
    interpretation.notes.append(f"column {title} is not used: it holds {label!r}, but train or test is expected")
    return None


def _test_rows(
    table: Table, layout: Layout, comparisons: Comparisons, marked: NDArray[np.bool_] | None, notes: list[str]
) -> NDArray[np.bool_] | None:
    """Return a mask of the comparisons marked as test; None if there are none."""
    if marked is None or not marked.any():
        return None
    if marked.all():
        raise ValueError(f"{table.path}: all answers are marked as test in {table.title(layout.columns['split'][0])}")
    n_unseen = int((comparisons.mentioned & ~comparisons.take(~marked).mentioned).sum())
    if n_unseen:
        notes.append(f"{n_unseen:,} objects occur only in answers marked as test")
    return marked


def _participants(interpretation: Interpretation) -> tuple[NDArray[np.int32] | None, list[str], int | None]:
    """Return the person of each row as an index into a list of names, that list, and the number of people.

    Rows without a name belong to one person with an empty name.
    """
    places = interpretation.layout.columns.get("participant")
    if places is None:
        return None, [], None
    column = interpretation.table.column(places[0])
    n_unnamed = int(column.is_empty().sum())
    if n_unnamed:
        interpretation.notes.append(f"{n_unnamed:,} rows do not say who gave the answer")
    labels = ["" if name in MISSING else name for name in column.labels]
    names = sort_names(set(labels))
    position_of = {name: position for position, name in enumerate(names)}
    people = np.array([position_of[name] for name in labels], dtype=np.int32)[column.codes]
    return people, names, sum(name not in MISSING for name in column.labels)


def _median_time(comparisons: Comparisons) -> float | None:
    """Return the median over answers, some of which give several comparisons."""
    times = comparisons.times
    if times is None or np.isnan(times).all():
        return None
    if comparisons.answers is not None:
        times = times[np.unique(comparisons.answers, return_index=True)[1]]
    return None if np.isnan(times).all() else float(np.nanmedian(times))


# ---- numbering objects ----


def _number_objects(interpretation: Interpretation, reading: Reading) -> Numbering:
    numbering, names, n_objects = reading.numbering, reading.names, reading.n_objects
    labels: Sequence[str] = interpretation.labels
    try:
        declared = _declared_numbering(interpretation, n_objects) if numbering is None else None
        if declared is not None and names is None and n_objects in (None, declared.n_objects):
            return declared
        if declared is not None and declared.names is not None:
            # If the file lists names, objects are identified by these names and not by the text in the cells.
            labels, numbering = [declared.names[number] for number in declared.numbers], "names"
        return number_objects(labels, numbering, names, n_objects)
    except BadLabelError as error:
        cell = interpretation.labels[labels.index(error.label)]
        raise interpretation.table.error(_first_row_with(interpretation, cell), message_of(error)) from None


def _declared_numbering(interpretation: Interpretation, n_objects: int | None) -> Numbering | None:
    """Return the numbering that the file itself declares, or None."""
    table, labels = interpretation.table, interpretation.labels
    info = table.object_info
    if not info:
        return None
    number = info.get("n_objects", 0)
    if "names" not in info and number != n_objects and number > most_objects(len(labels)):
        raise value_error(
            f"{table.path} says that there are {number:,} objects, of which {len(labels):,} occur",
            "pass {n_objects} if that is correct",
            n_objects=number,
        )
    try:
        declared = number_objects(labels, **info)
        # Unnamed objects that closerthan wrote for MATLAB, counted from 1, remain unnamed.
        if "names" in info or "numbering" not in info:
            return declared
        if info["numbering"] == "names":
            return declared._replace(reason="as always in files of this kind")
        return declared._replace(names=None)
    except ValueError as error:
        if "numbering" in info:  # closerthan wrote the file, so an inconsistency is an error
            if isinstance(error, ParameterError):  # of the file, not of the arguments
                raise ValueError(str(error)) from error
            raise
        interpretation.notes.append(f"{' and '.join(info)} in the file are not used: {error}")
        return None


def _first_row_with(interpretation: Interpretation, label: str) -> int:
    """Return the first row in which an object has this label."""
    rows = []
    for position in interpretation.layout.objects:
        column = interpretation.table.column(position)
        if label in column.labels:
            code = column.labels.index(label)
            rows += [column.first_row(code)] if (column.codes == code).any() else []  # columns may share their labels
    return min(rows)
