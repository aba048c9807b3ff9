"""Answers: from a file to comparisons, with a summary of what happened on the way."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked
from closerthan.comparisons import Comparisons, in_order, most_objects
from closerthan.comparisons.column_names import known, plain
from closerthan.comparisons.sides import share_on_the_left, without_one_sided
from closerthan.comparisons.trials import Trials
from closerthan.files.formats.frames import FrameTable, is_frame
from closerthan.files.formats.lists import with_lists
from closerthan.files.formats.names import opened
from closerthan.files.formats.opening import naming_the_file
from closerthan.files.formats.tables import MISSING, Column, Table
from closerthan.files.maps import is_map
from closerthan.files.meaning.blocks import with_blocks
from closerthan.files.meaning.catch_trials import (
    CATCH,
    CatchColumn,
    Checked,
    catch_column,
    catch_columns,
    catch_trials,
    checks_of,
    sum_of_checks,
    unmarked_checks,
)
from closerthan.files.meaning.choosing import ChosenRows, Conditions, chosen_rows, where_columns
from closerthan.files.meaning.columns import EXTRAS, Layout
from closerthan.files.meaning.exports import Export
from closerthan.files.meaning.folders import opened_folder
from closerthan.files.meaning.numbering import BadLabelError, Numbered, numbered
from closerthan.files.meaning.questions import Problem, Question
from closerthan.files.meaning.summary import Summary, repeated_and_contradictory
from closerthan.files.meaning.trials import sides_of, times_of
from closerthan.files.stored.large import read_large

_TRAIN = frozenset({"train", "training", "fit"})
_TEST = frozenset({"test", "testing", "held_out", "heldout", "validation", "valid", "val", "eval"})


@dataclasses.dataclass(frozen=True)
class Answers:
    """What :func:`read_answers` returns.

    Attributes
    ----------
    comparisons
        The comparisons, without those marked as test; they know which answer and person they are from.
    test
        The comparisons from answers that a train/test column marks as test, or None; of the same objects.
    summary
        What was in the file, and what became of it.
    checks
        How many catch trials each person had and passed, where the file has some and their right answer is known.
    """

    comparisons: Comparisons
    test: Comparisons | None
    summary: Summary
    checks: Mapping[str, Checked] = dataclasses.field(default_factory=dict)

    @property
    def participants(self) -> NDArray[Any] | None:
        """Who gave the answer, one per comparison (in ``comparisons``), or None if the file does not say."""
        people, names = self.comparisons.people, self.comparisons.person_names
        return None if people is None or names is None else Column(people, list(names)).array()


@checked
@naming_the_file
def read_answers(
    path: str | os.PathLike[str] | Any,
    *,
    kind: str | None = None,
    columns: Mapping[str, str | int | Sequence[str | int] | None] | None = None,
    numbering: Literal["0-based", "1-based", "names"] | None = None,
    names: Sequence[str] | None = None,
    n_objects: int | None = None,
    ties: Literal["error", "drop"] = "error",
    self_pairs: Literal["error", "drop"] = "error",
    missing: Literal["error", "drop"] = "error",
    where: Mapping[str | int, Any] | None = None,
    catch: Literal["drop", "keep"] = "drop",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    variable: str | None = None,
) -> Answers:
    """Read a file of answers.

    Parameters
    ----------
    path
        CSV, TSV, text with spaces between columns, JSON (each also as .gz, or alone in a .zip), Parquet, .npy, .npz or
        MATLAB .mat; a folder of such files, one per person; or a DataFrame of pandas or polars, or an Arrow table,
        with the same columns.
    kind
        The question: "triplet", "quadruplet", "odd-one-out", "most-central", "rank" or "nearest"; None: find out from
        the columns.
    columns
        The columns that are not found by their usual names, by role: ``{"anchor": "q", "near": "yes", "far": "no"}``.
        A column is a name or a position from 0; several of one role are a list; None means that there is none. The
        role "catch" is a column that marks catch trials, by true or 1 or by words: ``{"catch": "kind=attention"}``.
    numbering
        What the objects are in the file: "0-based" or "1-based" numbers, or "names"; None: find out.
    names
        The objects' names in the order of their numbers.
    n_objects
        Number of objects, if some may not occur in the file.
    ties, self_pairs, missing
        What to do with answers that are a tie, that compare an object with itself, or that have an empty cell.
    where
        Read only rows that have a certain value (or one of several, in a list) in a column, ``{"block": [1, 2]}``, or
        that fulfil conditions, which begin with !=, <, <=, > or >=: ``{"worker": "!=w7", "rt": [">=300", "<5000"]}``.
    catch
        "drop" leaves out catch trials, questions with one right answer that test attention, where a column marks them
        as such, and counts them; "keep" reads them as answers.
    header, delimiter, encoding
        How a text file is written; None: find out.
    variable
        The array to read from a .npz or .mat file with several, or the table in a .zip.

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
    if not (is_frame(path) or isinstance(path, str | os.PathLike)):
        raise ValueError(f"path is {path!r}; it must be the path of a file or a folder, or a DataFrame")
    drop = {"ties": ties, "self_pairs": self_pairs, "missing": missing}
    for option, choice in drop.items():
        if choice not in ("error", "drop"):
            raise ValueError(f'{option} is {choice!r}; it can be "error" or "drop"')
    if catch not in CATCH:
        raise ValueError(f'catch is {catch!r}; it can be "drop" or "keep"')
    marking = (columns or {}).get("catch")
    if marking is not None and not isinstance(marking, str | int):
        raise ValueError(
            f'columns has {marking!r} for "catch"; one column is expected, as in "is_catch" or "kind=check"'
        )
    if marking is None and "catch" in (columns or {}):
        catch = "keep"
    columns = {role: wanted for role, wanted in (columns or {}).items() if role != "catch"}

    plainly = not is_frame(path) and where is None and variable is None and "drop" not in drop.values()
    plainly = plainly and marking is None
    if plainly and Path(path).is_file():
        asked = {"kind": kind, "numbering": numbering, "names": names, "n_objects": n_objects}
        large = read_large(Path(path), asked, columns)
        if large is not None:
            return Answers(large[0], None, large[1])

    def is_column(name: str) -> bool:
        asked = [*(where or {}), *(one for wanted in (columns or {}).values() for one in _several(wanted))]
        asked += [] if not isinstance(marking, str) else [marking, marking.partition("=")[0]]
        return known(name) or any(isinstance(one, str) and plain(one) == plain(name) for one in asked)

    how: Any = {"header": header, "delimiter": delimiter, "encoding": encoding, "variable": variable}
    try:
        export = Export(FrameTable(path) if is_frame(path) else _opened(Path(path), is_column, how), kind, columns)
    except ValueError as error:
        if not is_frame(path) and is_map(path):
            raise ValueError(f"{path} is a map; a file of answers is expected") from error
        raise
    table, layout = export.table, export.layout
    wanted, marks = where_columns(table, where), catch_columns(table, [*layout.objects, *layout.labels])
    own_mark = catch_column(table, marking)
    marks = marks if own_mark is None else [own_mark.position]
    told = numbering is not None or any(role not in EXTRAS for role in columns or {})
    naming = () if told else export.naming
    others = [column for column in {*wanted, *marks, *naming} if column not in {*layout.objects, *layout.labels}]
    table.read(layout.objects, [*layout.labels, *others], layout.columns.get("weight", ()))
    if not table.n_rows:
        raise ValueError(f"{table.path} is empty: it has no answer")
    table = export.named(names) if naming else table
    chosen = _chosen(table, wanted, export.other_screens())
    n_read = table.n_rows
    if catch == "drop":
        chosen = _without_catch_trials(chosen, layout, [mark for mark in marks if mark not in wanted], own_mark)
    chosen.table.check_cells()
    question = Question(
        chosen.table, layout, own_names := [*(() if names is None else names), *table.settings.get("names", ())]
    )
    unmarked = unmarked_checks(question, chosen.checks) if catch == "drop" else None
    if unmarked is not None:
        chosen = _without_unmarked_checks(chosen, *unmarked)
        question = Question(chosen.table, layout, own_names)
    table = chosen.table
    question.notes += chosen.notes
    weights = _weights(table, layout, question.problems)
    said = _labelled(table, layout, "answer", "which answer it is from", question.problems)
    block = _labelled(table, layout, "block", "which block it is from", question.problems)
    split, layout = _split(table, layout, "split" in (columns or {}), question)
    keep, dropped = _kept(table, question.problems, drop)
    rows, source = question.comparisons(keep)
    numbers = _numbers(table, layout, question, numbering, names, n_objects)
    rows = numbers.numbers[rows]
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    n_used = table.n_rows - sum(dropped.values())
    people, person_names, n_participants = _participants(table, layout, question.notes)
    trials, layout = _trials(table, layout, question, columns or {})
    comparisons = make(
        rows,
        weights=None if weights is None else weights[source],
        n_objects=numbers.n_objects,
        names=numbers.names,
        answers=said[source] if said is not None else source if len(source) > n_used else None,
        people=None if people is None else people[source],
        blocks=None if block is None else block[source],
        trials=trials.take(source) if len(trials) else None,
    )
    if comparisons.person_names is not None:
        occurring = tuple(person_names[int(number)] for number in comparisons.person_names)
        comparisons = comparisons.replace(person_names=occurring)
    comparisons, one_sided = without_one_sided(comparisons)
    if one_sided:
        question.notes.append(one_sided)
        layout = Layout(layout.form, {role: places for role, places in layout.columns.items() if role != "side"})
    if "block" not in {**layout.columns, **(columns or {})}:
        used = [*wanted, *naming, *chosen.marks, *layout.objects, *layout.labels]
        comparisons, block_column, note = with_blocks(comparisons, table, used, source)
        question.notes += note
        if block_column is not None:
            layout = Layout(layout.form, {**layout.columns, "block": (block_column,)})
    repeated, contradictory = repeated_and_contradictory(comparisons)
    test = _test(table, layout, comparisons, None if split is None else split[source], question.notes)
    summary = Summary(
        path=str(table.path),
        format=table.format,
        kind=question.kind,
        columns={role: ", ".join(_name(table, place) for place in places) for role, places in layout.columns.items()},
        numbering=numbers.numbering,
        numbering_reason=numbers.why,
        n_objects=comparisons.n_objects,
        n_mentioned=int(comparisons.mentioned.sum()),
        n_rows=n_read,
        n_used=n_used,
        n_answers=comparisons.n_answers,
        n_comparisons=len(comparisons),
        n_test=0 if test is None else int(test.sum()),
        n_repeated=repeated,
        n_contradictory=contradictory,
        dropped={**chosen.left_out, **dropped},
        n_participants=n_participants,
        median_time=_median_time(comparisons),
        share_left=share_on_the_left(comparisons),
        not_used=_not_used(
            table, [*wanted, *naming, *chosen.marks, *(one for found in layout.columns.values() for one in found)]
        ),
        notes=tuple(dict.fromkeys([*table.notes, *question.notes])),
    )
    if test is None:
        return Answers(comparisons, None, summary, chosen.checks)
    return Answers(comparisons.take(~test), comparisons.take(test), summary, chosen.checks)


def _opened(path: Path, is_column: Callable[[str], bool], how: Mapping[str, Any]) -> Table:
    """The table of a file, or that of all files in a folder."""
    return opened_folder(path, is_column, **how) if path.is_dir() else with_lists(opened(path, is_column, **how))


@checked
def read_comparisons(path: str | os.PathLike[str] | Any, **options: Any) -> Comparisons:
    """Read all comparisons of a file or a DataFrame; the options are those of :func:`read_answers`.

    A train/test column is ignored; :func:`read_answers` uses it.

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
    columns = dict(options.pop("columns", None) or {})
    if columns.get("split") is not None:
        raise ValueError("read_comparisons does not keep train and test apart; use closerthan.files.read_answers")
    columns["split"] = None
    return read_answers(path, columns=columns, **options).comparisons


def _several(wanted: str | int | Sequence[str | int] | None) -> Sequence[str | int]:
    if wanted is None:
        return ()
    return [wanted] if isinstance(wanted, str | int) else wanted


def _name(table: Table, position: int) -> str:
    return table.names[position] or f"column {position + 1}"


class _Chosen(NamedTuple):
    """The rows to read, and what is to be said of the others."""

    table: Table
    left_out: Mapping[str, int]
    marks: Sequence[int] = ()
    checks: Mapping[str, Checked] = {}
    notes: Sequence[str] = ()


def _chosen(table: Table, wanted: Mapping[int, Conditions], other_screens: NDArray[np.bool_] | None) -> _Chosen:
    left_out: dict[str, int] = {}
    keep = chosen_rows(table, wanted)
    if keep is not None:
        left_out["excluded_by_where"] = int((~keep).sum())
    if other_screens is not None:
        with_question = ~other_screens if keep is None else keep & ~other_screens
        left_out["other_screens"] = int((table.n_rows if keep is None else keep.sum()) - with_question.sum())
        keep = with_question
    if keep is not None:
        if not keep.any():
            raise ValueError(f"{table.path}: no row is left, {left_out} were dropped")
        table = ChosenRows(table, np.flatnonzero(keep))
    return _Chosen(table, left_out)


def _without_catch_trials(chosen: _Chosen, layout: Layout, marks: Sequence[int], asked: CatchColumn | None) -> _Chosen:
    """Leave out the rows that a column marks as catch trials.

    A column by which rows are chosen marks none: whoever chooses catch trials wants to read them.
    """
    table = chosen.table
    if not marks:
        return chosen
    catch = catch_trials(table, marks, asked, with_people="participant" in layout.columns)
    if catch is None:
        return chosen
    checks = checks_of(table, layout, catch.rows)
    right = sum_of_checks(checks)
    note = f"rows in which {catch.words} are catch trials, and left out" + (
        f"; {right.passed:,} of {right.asked:,} were answered correctly" if right.asked else ""
    )
    return _Chosen(
        ChosenRows(table, np.flatnonzero(~catch.rows)),
        {**chosen.left_out, "catch_trials": int(catch.rows.sum())},
        [catch.column],
        checks,
        [*chosen.notes, f'{note}; pass catch="keep" to keep them'],
    )


def _without_unmarked_checks(chosen: _Chosen, rows: NDArray[np.bool_], checks: Mapping[str, Checked]) -> _Chosen:
    """Leave out rows that are evidently checks although no column marks them."""
    number, (asked, passed) = int(rows.sum()), sum_of_checks(checks)
    together = {
        name: Checked(*np.add(chosen.checks.get(name, (0, 0)), checks.get(name, (0, 0))).tolist())
        for name in {**chosen.checks, **checks}
    }
    note = (
        f"{number:,} answers compare an object with itself; they are taken to be catch trials, and left out; "
        f"{passed:,} of {asked:,} were answered correctly"
    )
    return chosen._replace(
        table=ChosenRows(chosen.table, np.flatnonzero(~rows)),
        left_out={**chosen.left_out, "catch_trials": chosen.left_out.get("catch_trials", 0) + number},
        checks=together,
        notes=[*chosen.notes, note],
    )


def _trials(table: Table, layout: Layout, question: Question, asked: Mapping[str, Any]) -> tuple[Trials, Layout]:
    """How the answers were given, and the layout without columns that turned out to say nothing about it."""
    times = times_of(table, layout, "time" in asked, question.notes)
    sides = sides_of(table, layout, question, "side" in asked)
    empty = {role for role, found in (("time", times), ("side", sides)) if found is None}
    rest = {role: places for role, places in layout.columns.items() if role not in empty}
    return Trials(times, sides, table.lines), Layout(layout.form, rest)


def _median_time(comparisons: Comparisons) -> float | None:
    """The median over answers, some of which make more comparisons than others."""
    times = comparisons.times
    if times is None or np.isnan(times).all():
        return None
    if comparisons.answers is not None:
        times = times[np.unique(comparisons.answers, return_index=True)[1]]
    return None if np.isnan(times).all() else float(np.nanmedian(times))


def _not_used(table: Table, used: Sequence[int]) -> tuple[str, ...]:
    return tuple(name for place, name in enumerate(table.names) if name and place not in used)


def _weights(table: Table, layout: Layout, problems: list[Problem]) -> NDArray[np.float64] | None:
    if "weight" not in layout.columns:
        return None
    (position,) = layout.columns["weight"]
    weights = table.number(position)
    empty = np.isnan(weights)
    if empty.any():
        problems.append(Problem(empty, "missing", lambda _: f"the weight in {table.title(position)} is empty"))
    bad = np.isinf(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise table.error(row, f"the weight is {weights[row]:g}; weights are finite and not negative")
    return weights


def _split(table: Table, layout: Layout, asked: bool, question: Question) -> tuple[NDArray[np.bool_] | None, Layout]:
    """Which rows are for test; a column that merely has a usual name for this, but other content, is not used."""
    if "split" not in layout.columns:
        return None, layout
    (position,) = layout.columns["split"]
    column = table.column(position)
    meaning: list[bool | None] = []
    name = plain(table.names[position] or "")
    for label in column.labels:
        word = plain(label)
        if word in _TRAIN or word in _TEST:
            meaning.append(word in _TEST)
        elif word in ("true", "false", "1", "0") and name in ("test", "is_test", "train", "is_train"):
            meaning.append((word in ("true", "1")) == name.endswith("test"))
        else:
            meaning.append(None)
    if None not in meaning:
        return np.array(meaning, dtype=bool)[column.codes], layout
    bad = meaning.index(None)
    row = int(np.argmax(column.codes == bad))
    if asked:
        raise table.error(row, f"{table.title(position)} is {column.labels[bad]!r}; expected train or test")
    question.notes.append(
        f"column {table.title(position)} is not used: it holds {column.labels[bad]!r}, where train or test is expected"
    )
    rest = {role: places for role, places in layout.columns.items() if role != "split"}
    return None, Layout(layout.form, rest)


def _test(
    table: Table, layout: Layout, comparisons: Comparisons, marked: NDArray[np.bool_] | None, notes: list[str]
) -> NDArray[np.bool_] | None:
    """Which comparisons are for test; None if there are none."""
    if marked is None or not marked.any():
        return None
    if marked.all():
        raise ValueError(f"{table.path}: all answers are marked as test in {table.title(layout.columns['split'][0])}")
    unseen = int((comparisons.mentioned & ~comparisons.take(~marked).mentioned).sum())
    if unseen:
        notes.append(f"{unseen:,} objects occur only in answers marked as test")
    return marked


def _participants(
    table: Table, layout: Layout, notes: list[str]
) -> tuple[NDArray[np.int32] | None, list[str], int | None]:
    """Who gave each answer, as numbers that point at names, and how many people there are.

    Answers that do not say who gave them belong to one person with an empty name.
    """
    if "participant" not in layout.columns:
        return None, [], None
    column = table.column(layout.columns["participant"][0])
    unknown = np.array([name in MISSING for name in column.labels])
    nobody = int(unknown[column.codes].sum())
    if nobody:
        notes.append(f"{nobody:,} rows do not say who gave the answer")
    labels = ["" if name in MISSING else name for name in column.labels]
    names = in_order(set(labels))
    number = {name: position for position, name in enumerate(names)}
    people = np.array([number[name] for name in labels], dtype=np.int32)[column.codes]
    return people, names, int((~unknown).sum())


def _labelled(table: Table, layout: Layout, role: str, what: str, problems: list[Problem]) -> NDArray[np.int32] | None:
    """Which answer (or block) each row is from, if a column says so."""
    if role not in layout.columns:
        return None
    (position,) = layout.columns[role]
    column = table.column(position)
    empty = np.array([name in MISSING for name in column.labels])[column.codes]
    if empty.any():
        problems.append(Problem(empty, "missing", lambda _: f"{what}, {table.title(position)}, is empty"))
    return column.codes


def _kept(
    table: Table, problems: Sequence[Problem], drop: Mapping[str, str]
) -> tuple[NDArray[np.bool_] | None, dict[str, int]]:
    """The rows to use, and how many are not, by reason; the first row that may not be dropped is an error."""
    if not problems:
        return None, {}
    keep = np.ones(table.n_rows, dtype=bool)
    dropped: dict[str, int] = {}
    for problem in problems:
        new = problem.rows & keep
        if drop[problem.option] == "drop" and new.any():
            dropped[problem.option] = dropped.get(problem.option, 0) + int(new.sum())
            keep &= ~new
    fatal = [(int(np.argmax(problem.rows & keep)), problem) for problem in problems if (problem.rows & keep).any()]
    if fatal:
        row, problem = min(fatal, key=lambda found: found[0])
        raise table.error(row, f'{problem.message(row)}; correct the file or pass {problem.option}="drop"')
    if not keep.any():
        raise ValueError(f"{table.path}: no answer is left, {dropped} were dropped")
    return keep, dropped


def _numbers(
    table: Table,
    layout: Layout,
    question: Question,
    numbering: str | None,
    names: Sequence[str] | None,
    n_objects: int | None,
) -> Numbered:
    labels = question.labels
    try:
        own = _as_the_file_says(table, question, n_objects) if numbering is None else None
        if own is not None and names is None and n_objects in (None, own.n_objects):
            return own
        if own is not None and own.names is not None:
            # If the file lists names, objects are known by these names and not by what is in the cells.
            labels, numbering = [own.names[number] for number in own.numbers], "names"
        return numbered(labels, numbering, names, n_objects)
    except BadLabelError as error:
        written = question.labels[labels.index(error.label)]
        raise table.error(_first_row_with(table, layout, written), str(error)) from None


def _as_the_file_says(table: Table, question: Question, n_objects: int | None) -> Numbered | None:
    """The numbering by a list of objects in the file itself, if it has one."""
    if not table.settings:
        return None
    number = table.settings.get("n_objects", 0)
    if "names" not in table.settings and number != n_objects and number > most_objects(len(question.labels)):
        raise ValueError(
            f"{table.path} says that there are {number:,} objects, of which {len(question.labels):,} occur; "
            f"pass n_objects={number} if that is right"
        )
    try:
        own = numbered(question.labels, **table.settings)
        # Comparisons without names that closerthan wrote, counted from 1 for MATLAB, have no names afterwards either.
        return own if "names" in table.settings or "numbering" not in table.settings else own._replace(names=None)
    except ValueError as error:
        if "numbering" in table.settings:  # closerthan wrote it, so it must be right
            raise
        question.notes.append(f"{' and '.join(table.settings)} in the file are not used: {error}")
        return None


def _first_row_with(table: Table, layout: Layout, label: str) -> int:
    """The first row in which an object has this label."""
    rows = []
    for position in layout.objects:
        column = table.column(position)
        if label in column.labels:
            hits = column.codes == column.labels.index(label)
            rows += [int(np.argmax(hits))] if hits.any() else []  # columns may share labels that not all of them have
    return min(rows)
