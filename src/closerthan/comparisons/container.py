"""Comparisons: the container of answers, parsed and checked once.

A comparison (i, j, l, k) says that objects i and j are closer to each other than l and k are. A triplet
(i, j, k) is the common case l = i: "i is closer to j than to k". Object numbers are not checked again afterwards.

One answer may yield several comparisons: "of these three objects, this is the odd one out" yields two, "of these six,
this is the nearest" yields five. So comparisons record which answer each row is from and, optionally, which person gave
it and in which block of dependent trials.
"""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import frozen
from closerthan.checks import checked, one_per_object, whole
from closerthan.comparisons.grouping import (
    AUTO,
    check_by,
    draw_groups,
    groups,
    none_can_be_held_out,
    number_of_units,
    split_unit,
)
from closerthan.comparisons.on_disk import array_bytes, count_numbers, large_file, survey_rows, weight_summary
from closerthan.comparisons.parsing import (
    CHUNK,
    COMPARISON_DEFAULTS,
    MEANING,
    Columns,
    ComparisonOptions,
    OptionalColumns,
    checked_weights,
    count_objects,
    name_in_message,
    parse,
    table_of,
    whole_numbers,
)
from closerthan.comparisons.trials import Trials
from closerthan.signatures import lists_keywords, readable
from closerthan.wording import counted, html_table

__all__ = ["COLUMNS", "NO_WEIGHT", "Comparisons"]

FIRST_ROWS = 5  # rows shown in a notebook
COLUMNS = ("rows", "weights", "answers", "people", "blocks")
"""The attributes of comparisons that have an entry for each row, besides trials."""
NO_WEIGHT = "all comparisons in this part have weight zero; leave them out, or take another part"


@readable
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """Answers of the form "this pair is closer than that pair", checked and ready for the kernels.

    Create one with :meth:`from_triplets` or :meth:`from_quadruplets`. Rows that are memory-mapped from a large file
    make a :class:`~closerthan.comparisons.stored.StoredComparisons`, which has the same methods.

    Attributes
    ----------
    rows
        (m, 3) triplets or (m, 4) quadruplets of object numbers; int32, contiguous, read-only.
    n_objects
        Number of objects, including those that occur in no row.
    weights
        Weight of each row, or None if all rows have the same weight.
    names
        Names of the objects, or None.
    dropped
        Number of rows that were dropped at the caller's request, by reason.
    answers
        Number of the answer that each row is from, counted from 0; None if each row is a separate answer.
    people, person_names
        The person who gave the answer of each row, as an index into the names; None if unknown.
    blocks
        The block of dependent trials that each row is from, such as the screens of one sequence. Different people have
        different block numbers. None if there are no such blocks.
    trials
        How the answer of each row was given (:class:`~closerthan.comparisons.trials.Trials`), or None. Its arrays are
        also available as ``times`` (in seconds), ``positions`` (on the screen), ``sides`` (0 is left), ``lines`` (of
        the file) and ``random`` (drawn at random).

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [2, 0, 1]], y=[1, -1], names=["ant", "bee", "cat"])
    >>> answers
    Comparisons(2 triplets of 3 objects)
    >>> answers.rows.tolist()
    [[0, 1, 2], [2, 1, 0]]
    """

    rows: NDArray[np.int32]
    n_objects: int
    weights: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    answers: NDArray[np.int32] | None = None
    people: NDArray[np.int32] | None = None
    person_names: tuple[str, ...] | None = None
    trials: Trials | None = None
    blocks: NDArray[np.int32] | None = None

    _questions: ClassVar[NDArray[Any] | None] = None  # cache of groups("answers") of an instance

    @classmethod
    @lists_keywords(ComparisonOptions, COMPARISON_DEFAULTS)
    @checked
    def from_triplets(
        cls, triplets: ArrayLike, y: ArrayLike | None = None, **options: Unpack[ComparisonOptions]
    ) -> "Comparisons":
        """Create comparisons from rows (i, j, k), each of which says that i is closer to j than to k.

        Parameters
        ----------
        triplets
            (m, 3) array or list of object numbers from 0, or of object names; or a DataFrame with the columns anchor,
            near and far in any order (use :func:`closerthan.read_comparisons` for a table with more columns).
        y
            Label of each row: +1 or True for a row as written, -1 or False for a reversed row, 0 for a tie.
        weights
            Non-negative weight of each row.
        n_objects
            Number of objects; needed if some may occur in no row.
        names
            Names of the objects, in the order of their numbers.
        answers
            Label (a name or a number) of the answer that each row is from. Rows of one answer are never separated when
            some rows are held out. By default each row is a separate answer. Equal labels of different people are
            different answers, so each person's trials may be numbered from 1.
        people
            Label (a name or a number) of the person who gave each answer.
        blocks
            Label (a name or a number) of the block of trials that each row is from. Pass it if neighbouring trials
            depend on each other; whole blocks are then held out. Equal labels of different people are different blocks.
        trials
            How each answer was given, such as response times and sides; see
            :class:`~closerthan.comparisons.trials.Trials`.
        ties, self_pairs
            Treatment of rows labelled 0, and of rows that compare an object with itself: "error" (the default) or
            "drop".
        unmentioned
            Treatment of objects that occur in no row: "warn" (the default) or "ignore", for a test set, where that is
            normal.

        Examples
        --------
        >>> Comparisons.from_triplets([["red", "orange", "blue"]]).names
        ('blue', 'orange', 'red')
        >>> odd_ones = [[0, 1, 2], [1, 0, 2], [3, 4, 0], [4, 3, 0]]
        >>> answers = Comparisons.from_triplets(odd_ones, answers=[1, 1, 2, 2], people=["ann", "ann", "bob", "bob"])
        >>> answers.n_answers, answers.n_people
        (2, 2)
        """
        return cls._parse(triplets, 3, y, options)

    @classmethod
    @lists_keywords(ComparisonOptions, COMPARISON_DEFAULTS)
    @checked
    def from_quadruplets(
        cls, quadruplets: ArrayLike, y: ArrayLike | None = None, **options: Unpack[ComparisonOptions]
    ) -> "Comparisons":
        """Create comparisons from rows (i, j, l, k), each of which says that i and j are closer than l and k.

        See :meth:`from_triplets` for the parameters.

        Examples
        --------
        >>> Comparisons.from_quadruplets([[0, 1, 2, 3]], y=[False]).rows.tolist()
        [[2, 3, 0, 1]]
        """
        return cls._parse(quadruplets, 4, y, options)

    @classmethod
    @lists_keywords(ComparisonOptions, COMPARISON_DEFAULTS)
    @checked
    def of(cls, data: Any, y: ArrayLike | None = None, **options: Unpack[ComparisonOptions]) -> "Comparisons":
        """Create comparisons from triplets or quadruplets, according to the number of columns.

        An instance of this class is returned unchanged. The options are those of :meth:`from_triplets`.

        Examples
        --------
        >>> Comparisons.of([[0, 1, 2, 3]])
        Comparisons(1 quadruplet of 4 objects)
        """
        if isinstance(data, Comparisons):
            if y is not None or any(value is not None for name, value in options.items() if name != "unmentioned"):
                raise ValueError(
                    "labels, weights, names, answers, people, blocks and trials belong to the Comparisons: "
                    "pass them when you create it"
                )
            return data
        table = table_of(data)
        if table.shape[1] not in MEANING:
            raise ValueError(f"comparisons have {table.shape[1]} columns; {MEANING[3]} (3 columns), {MEANING[4]} (4)")
        return (cls.from_triplets if table.shape[1] == 3 else cls.from_quadruplets)(table, y, **options)

    @classmethod
    def _parse(cls, data: Any, n_columns: int, y: ArrayLike | None, options: ComparisonOptions) -> "Comparisons":
        comparisons = cls.from_columns(**parse(data, n_columns, y, options))
        if options.get("unmentioned", "warn") == "warn":
            _warn_about_unmentioned(comparisons)
        return comparisons

    @classmethod
    @checked
    def from_columns(cls, rows: NDArray[np.int32], n_objects: int, **columns: Unpack[OptionalColumns]) -> "Comparisons":
        """Create comparisons from attributes that have been checked already.

        Rows in a large memory-mapped file make a :class:`~closerthan.comparisons.stored.StoredComparisons`, so that
        they are never all in memory.

        Examples
        --------
        >>> Comparisons.from_columns(np.array([[0, 1, 2]], dtype=np.int32), 3)
        Comparisons(1 triplet of 3 objects)
        """
        if large_file(rows) is None:
            return Comparisons(rows, n_objects, **columns)
        from closerthan.comparisons.stored import StoredComparisons  # a subclass, so it is imported late

        stored = StoredComparisons.can_hold({"rows": rows, **columns})
        return (StoredComparisons if stored else Comparisons)(rows, n_objects, **columns)

    def replace(self, **changes: Unpack[Columns]) -> "Comparisons":
        """Return the same comparisons with some attributes replaced.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2]], people=["ann"]).replace(person_names=("bob",)).person_names
        ('bob',)
        """
        attributes: Columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(Comparisons)}  # type: ignore[assignment]
        replaced = Comparisons.from_columns(**(attributes | changes))
        if not changes.keys() & {"rows", "n_objects", "answers"}:
            replaced._keep_questions(self._questions)
        return replaced

    def __post_init__(self) -> None:
        """Check types, shapes and ranges of the arrays, since kernels do not check them again."""
        rows = np.asarray(self.rows)
        if rows.ndim != 2 or rows.shape[1] not in MEANING:
            raise ValueError(f"rows have shape {rows.shape}; expected m rows of 3 or 4 object numbers")
        if rows.dtype != np.int32 or not rows.flags.c_contiguous or rows.flags.writeable:
            object.__setattr__(self, "rows", frozen(whole_numbers(rows)))
        survey, n_objects = survey_rows(self.rows), whole("n_objects", self.n_objects)
        is_valid = survey is not None and survey.least >= 0 and survey.largest < n_objects
        # Viewed as unsigned, negative numbers are the largest, so one pass checks both ends of the range.
        if not is_valid and int(self.rows.view(np.uint32).max(initial=0)) >= n_objects:
            whole_numbers(self.rows)
            count_objects(self.rows, self.n_objects, None)
        one_per_object(self.names, self.n_objects)
        for name in COLUMNS[1:]:
            column, kind = getattr(self, name), np.float64 if name == "weights" else np.int32
            if column is None:
                continue
            if np.shape(column) != (len(rows),):
                shape = np.shape(column)
                raise ValueError(
                    f"{name} have shape {shape}, but there are {len(rows)} comparisons; one per row is needed"
                )
            if not isinstance(column, np.ndarray) or column.dtype != kind or column.flags.writeable:
                object.__setattr__(self, name, frozen(np.array(column, dtype=kind)))
        if self.trials is not None:
            object.__setattr__(self, "trials", self.trials.of_rows(len(rows)))

    def __getstate__(self) -> dict[str, Any]:
        # The groups can be computed again, and would make a pickle larger.
        return {name: value for name, value in self.__dict__.items() if name != "_questions"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickled array loses its read-only flag.
        self.__dict__.update(state, **{name: frozen(state.get(name)) for name in COLUMNS})

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description})"

    @property
    def description(self) -> str:
        """The number of rows and objects in words.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]).description
        '2 triplets of 3 objects'
        """
        kind = "triplet" if self.rows.shape[1] == 3 else "quadruplet"
        return f"{counted(len(self), kind)} of {self.n_objects:,} objects"

    def _repr_html_(self) -> str:
        """Return the number of rows and the first of them, for a notebook."""
        titles = ("anchor", "near", "far") if self.rows.shape[1] == 3 else ("near 1", "near 2", "far 1", "far 2")
        rows = self.rows[:FIRST_ROWS].tolist()
        cells = [[str(number) if self.names is None else self.names[number] for number in row] for row in rows]
        return html_table(repr(self), titles, cells, len(self))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows. scikit-learn needs it, as well as indexing, to split comparisons."""
        return self.rows.shape

    def __getitem__(self, selection: Any) -> "Comparisons":
        """Return the comparisons at some rows, as :meth:`take` does."""
        if isinstance(selection, tuple) and selection[1:] == (...,):
            selection = selection[0]
        if isinstance(selection, tuple) or (np.ndim(selection) == 0 and not isinstance(selection, slice)):
            raise TypeError(f"comparisons are indexed by a slice, a mask or row numbers, not by {selection!r}")
        if isinstance(selection, slice):
            return self.take(selection)
        rows = np.asarray(selection)
        return self.take(rows if rows.size else rows.astype(np.intp))  # NumPy makes an empty list an array of floats

    @property
    def total_weight(self) -> float:
        """The sum of the weights; without weights, the number of rows."""
        return float(len(self)) if self.weights is None else weight_summary(self.weights).total

    @property
    def mentioned(self) -> NDArray[np.bool_]:
        """A mask of the objects that occur in a row.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 3]], n_objects=4, unmentioned="ignore").mentioned.tolist()
        [True, True, False, True]
        """
        mentioned = np.zeros(self.n_objects, dtype=bool)
        survey = survey_rows(self.rows, exactly=True)
        if survey is not None and survey.least >= 0:
            mentioned[: len(survey.mentioned)] = survey.mentioned
            return mentioned
        for start in range(0, len(self), CHUNK):
            mentioned[self.rows[start : start + CHUNK].ravel()] = True
        return mentioned

    @property
    def n_answers(self) -> int:
        """Number of answers from which the rows come."""
        return len(self) if self.answers is None else int(np.count_nonzero(np.bincount(self.answers)))

    @property
    def n_blocks(self) -> int | None:
        """Number of blocks of dependent trials; None if there are no blocks."""
        return None if self.blocks is None else int(np.count_nonzero(count_numbers(self.blocks)))

    @property
    def n_people(self) -> int | None:
        """Number of people who gave the answers; None if unknown."""
        return None if self.people is None else len(self.present_people())

    def present_people(self) -> NDArray[np.int64]:
        """Return the numbers of the people who gave at least one answer; empty if people are unknown."""
        return np.flatnonzero(self._rows_per_person())

    @property
    def times(self) -> NDArray[np.float64] | None:
        """Response time of each row's answer in seconds (NaN: unknown), or None."""
        return None if self.trials is None else self.trials.times

    @property
    def sides(self) -> NDArray[np.int8] | None:
        """Side on which the near object of each row was shown: 0 left, 1 right, -1 unknown; or None."""
        return None if self.trials is None else self.trials.sides

    @property
    def positions(self) -> NDArray[np.int8] | None:
        """Positions on the screen of the near and the far object of each row, from 0; -1 if unknown; or None."""
        return None if self.trials is None else self.trials.positions

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Line of the file, counted from 1, from which each row comes, or None."""
        return None if self.trials is None else self.trials.lines

    @property
    def random(self) -> NDArray[np.bool_] | None:
        """A mask of the rows whose question was drawn at random; None if unknown."""
        return None if self.trials is None else self.trials.random

    @checked
    def take(self, selection: NDArray[Any] | Sequence[int] | Sequence[bool] | slice) -> "Comparisons":
        """Return some of the comparisons, selected by row numbers, a mask or a slice; the objects stay the same.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]).take(slice(1))
        Comparisons(1 triplet of 3 objects)
        """
        if not isinstance(selection, slice):
            selection = np.asarray(selection)
            selection = selection if len(selection) else selection.astype(np.intp)
        if isinstance(selection, np.ndarray) and selection.dtype == bool and len(selection) == len(self):
            selection = np.flatnonzero(selection)  # faster than a mask
        return self._take_rows(selection)

    def _take_rows(self, selection: NDArray[Any] | slice) -> "Comparisons":
        columns = {
            name: frozen(column[selection]) for name in COLUMNS[1:] if (column := getattr(self, name)) is not None
        }
        weights = columns.get("weights")
        if weights is not None and len(weights) and not weights.sum() > 0:
            raise ValueError(NO_WEIGHT)
        rows = frozen(
            self.rows.take(selection, axis=0)
            if isinstance(selection, np.ndarray) and selection.dtype != bool
            else self.rows[selection]
        )
        trials = None if self.trials is None else self.trials.take(selection)
        return self.replace(rows=rows, **columns, trials=trials, dropped={})

    @checked
    def weighted(self, weights: ArrayLike) -> "Comparisons":
        """Return the same comparisons with each row's weight multiplied by a number.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], weights=[2.0, 4.0]).weighted([1.0, 0.5]).weights.tolist()
        [2.0, 2.0]
        """
        weight = checked_weights(weights, len(self))
        assert weight is not None
        if self.weights is not None:
            weight = weight * self.weights
        if not weight.any():
            raise ValueError("all weights are zero; at least one comparison must count")
        return self.replace(weights=frozen(weight))

    @checked
    def split_unit(self, by: str = AUTO) -> str:
        """Return the split unit: ``by``, where "auto" means blocks if the answers have some, otherwise answers.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]).split_unit()
        'answers'
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], blocks=[1, 1]).split_unit()
        'blocks'
        """
        check_by(by, self.people, self.blocks)
        return split_unit(by, self.blocks)

    @checked
    def groups(self, by: str = AUTO) -> NDArray[Any]:
        """Return the group number of each row; the rows of a group are held out together.

        Parameters
        ----------
        by
            The split unit. "answers" groups the rows of an answer with those of all other answers about the same set of
            objects, "blocks" the answers of a block and "people" the answers of a person; with "comparisons" each row
            is a separate group. "auto" means "blocks" if the answers have blocks, otherwise "answers".

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [2, 0, 1], [0, 1, 3]]).groups().tolist()
        [0, 0, 1]
        """
        if self.split_unit(by) != "answers":
            return groups(self.rows, self.n_objects, self.answers, self.people, by, self.blocks)
        if self._questions is None:
            self._keep_questions(groups(self.rows, self.n_objects, self.answers, self.people, "answers"))
        assert self._questions is not None
        return self._questions

    def _keep_questions(self, group: NDArray[Any] | None) -> None:
        """Cache the result of ``groups("answers")``, which many functions need and which is slow to compute."""
        if group is not None:
            object.__setattr__(self, "_questions", frozen(group))

    @checked
    def split(self, fraction: float, rng: np.random.Generator, *, by: str = AUTO) -> "tuple[Comparisons, Comparisons]":
        """Split at random into two parts, of which the second has ``fraction`` of the answers (or people).

        Parameters
        ----------
        fraction
            Fraction of the answers (or people) in the second part, as nearly as whole groups allow.
        rng
            Random number generator.
        by
            The split unit: "auto", "answers", "blocks", "people" or "comparisons" (single rows); see :meth:`groups`.

        Examples
        --------
        >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 3], [2, 0, 3], [1, 2, 3]])
        >>> answers.split(0.25, np.random.default_rng(0))
        (Comparisons(3 triplets of 4 objects), Comparisons(1 triplet of 4 objects))
        """
        by = self.split_unit(by)
        if by == "comparisons":
            held_out = number_of_units(fraction, len(self), by)
            order = rng.permutation(len(self))
            return self.take(np.sort(order[held_out:])), self.take(np.sort(order[:held_out]))
        group = self.groups(by)
        sizes = self._sizes(group, by)
        if len(sizes) == 1:
            raise ValueError(none_can_be_held_out(by))
        number = number_of_units(fraction, int(sizes.sum()), by)
        is_drawn = draw_groups(sizes, number, rng)
        second = is_drawn[group]
        parts = self.take(~second), self.take(second)
        if by == "answers":
            # Both parts consist of whole groups, which keep their order.
            for part, selected, inside in zip(parts, (~second, second), (~is_drawn, is_drawn), strict=True):
                number_of = np.cumsum(inside, dtype=group.dtype) - 1
                part._keep_questions(number_of[group[selected]])
        return parts

    @property
    def cheap_to_enumerate(self) -> bool:
        """True if an array with an entry for each row fits in memory; False for rows in a large file."""
        return True

    @checked
    def has_several_groups(self, by: str = AUTO) -> bool:
        """Return whether there are at least two groups (see :meth:`groups`), so that one can be held out.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]).has_several_groups()
        False
        """
        return bool(self.groups(by).max() >= 1)

    @checked
    def sample(self, number: int, rng: np.random.Generator) -> "Comparisons":
        """Return ``number`` random rows in memory (about ``number``, if the rows are in a large file).

        All rows are returned if there are no more than ``number``.

        Examples
        --------
        >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
        >>> len(answers.sample(2, np.random.default_rng(0))), len(answers.sample(5, np.random.default_rng(0)))
        (2, 3)
        """
        if number >= len(self):
            return self
        return self.take(np.sort(rng.permutation(len(self))[:number]))

    @checked
    def in_memory(self, most: int, rng: np.random.Generator) -> "Comparisons":  # noqa: ARG002
        """Return these comparisons or, if they are in a large file, a random sample of about ``most`` rows."""
        return self

    def byte_blocks(self) -> Iterator[Any]:
        """Yield everything that the comparisons hold as bytes, for a fingerprint."""
        for name in COLUMNS:
            yield from array_bytes(getattr(self, name))

    def _rows_per_person(self) -> NDArray[np.int64]:
        return count_numbers(np.empty(0, np.int32) if self.people is None else self.people)

    def _sizes(self, group: NDArray[Any], by: str) -> NDArray[np.int64]:
        """Return the number of answers (or of people, if ``by`` is "people") in each group."""
        if by == "people":
            return np.ones(int(group.max()) + 1, dtype=np.int64)
        if self.answers is None:
            return np.bincount(group)
        group_of = np.full(int(self.answers.max()) + 1, -1)
        group_of[self.answers] = group
        return np.bincount(group_of[group_of >= 0])


def _warn_about_unmentioned(comparisons: Comparisons) -> None:
    missing = np.flatnonzero(~comparisons.mentioned)
    if len(missing):
        first = ", ".join(name_in_message(int(number), comparisons.names) for number in missing[:5])
        warnings.warn(
            f"{len(missing)} of {comparisons.n_objects} objects occur in no comparison "
            f"({first}{', ...' * (len(missing) > 5)}); their positions on the map are arbitrary",
            stacklevel=4,
        )
