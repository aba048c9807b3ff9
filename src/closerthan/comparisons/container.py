"""Comparisons: the one container of answers. Everything is parsed and checked here, once.

A comparison (i, j, l, k) says that objects i and j are closer to each other than l and k are. A triplet
(i, j, k) is the common case l = i: "i is closer to j than to k". Nothing checks indices again afterwards.

One answer may make several comparisons: "of these three objects this is the odd one" makes two, "of
these six this is the nearest" makes five. So comparisons carry which answer each is from and, where that is known,
which person gave it and in which block of dependent trials.
"""

import dataclasses
import html
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import frozen
from closerthan.checks import checked, whole
from closerthan.comparisons.grouping import AUTO, check_by, groups, mixed, numbered, questions, split_unit
from closerthan.comparisons.on_disk import FileRows, Stored, in_blocks, large_file, surveyed, weighed
from closerthan.comparisons.parsing import (
    CHUNK,
    called,
    checked_labels,
    checked_sources,
    checked_weights,
    count_objects,
    first_where,
    in_order_of_appearance,
    numbered_objects,
    table_of,
    whole_numbers,
)
from closerthan.comparisons.rows import pair_numbers, pairs_of, reversed_rows, same_pair, self_pair
from closerthan.comparisons.trials import Trials
from closerthan.wording import counted

__all__ = ["Comparisons", "pair_questions"]

FIRST_ROWS = 5  # shown in a notebook
MOST_SPLIT_OFF = 1_000_000  # comparisons of a large file: they tell an error to a few hundredths of a percent
_COLUMNS = ("rows", "weights", "answers", "people", "blocks")
_WEIGHTLESS = "all comparisons in this part have weight zero; leave them out, or take another part"
_READING = {
    3: "a triplet (i, j, k) says that i is closer to j than to k",
    4: "a quadruplet (i, j, l, k) says that i and j are closer than l and k",
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """Answers of the form "this pair is closer than that pair", checked and ready for the kernels.

    Make one with :meth:`from_triplets` or :meth:`from_quadruplets`.

    Attributes
    ----------
    rows
        (m, 3) triplets or (m, 4) quadruplets of object numbers; int32, contiguous, read-only.
    n_objects
        How many objects there are, mentioned or not.
    weights
        How much each row counts, or None if all count the same.
    names
        The objects' names, or None.
    dropped
        How many rows were left out because the caller asked for it, by reason.
    answers
        Which answer each row is from: numbers from 0; None if each row is an answer of its own.
    people, person_names
        Who gave the answer of each row: numbers that point at names; None if that is not known.
    blocks
        The block of dependent trials that each row is from, such as the screens of one sequence: numbers, different
        ones for different people; None if there are no such blocks.
    trials
        How the answer of each row was given (:class:`~closerthan.comparisons.trials.Trials`), or None. What it knows is
        also here: ``times`` in seconds, ``sides``, 0 for left, and ``lines`` of the file.
    skipped
        Rows of a large file that a fit must not see, in ascending order; None for other rows. To leave
        them out otherwise, all others would have to be copied.

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
    skipped: NDArray[np.int64] | None = None
    blocks: NDArray[np.int32] | None = None

    @classmethod
    @checked
    def from_triplets(
        cls,
        triplets: ArrayLike,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        n_objects: int | None = None,
        names: Sequence[str] | None = None,
        answers: Sequence[Any] | NDArray[Any] | None = None,
        people: Sequence[Any] | NDArray[Any] | None = None,
        blocks: Sequence[Any] | NDArray[Any] | None = None,
        trials: Trials | None = None,
        ties: Literal["error", "drop"] = "error",
        self_pairs: Literal["error", "drop"] = "error",
        unmentioned: Literal["warn", "ignore"] = "warn",
    ) -> Self:
        """From rows (i, j, k), each saying that i is closer to j than to k.

        Parameters
        ----------
        triplets
            (m, 3) array or list of object numbers from 0, or of object names; or a DataFrame with the columns anchor,
            near and far in any order (a table with more columns is for :func:`closerthan.read_comparisons`).
        y
            +1 or True: as written; -1 or False: reversed; 0: a tie.
        weights
            Non-negative numbers, one per row.
        n_objects
            Number of objects, if some may be missing from the rows.
        names
            Names of the objects, in the order of their numbers.
        answers
            One label per row, a name or a number: rows with the same label are from one answer, and are never
            separated when some are held out. None: each row is an answer of its own. Equal labels of different people
            are different answers, so that each person's trials may be numbered from 1.
        people
            One label per row, a name or a number: who gave the answer.
        blocks
            One label per row, a name or a number: the block of trials that the answer is from. Pass it where
            neighbouring trials depend on each other; whole blocks are then held out. Equal labels of different people
            are different blocks.
        trials
            How each answer was given: response times, sides; see :class:`~closerthan.comparisons.trials.Trials`.
        ties, self_pairs
            What to do with rows labelled 0, and with rows that compare an object with itself.
        unmentioned
            Whether to warn of objects that occur in no row. In a test set that says nothing about the map: "ignore".

        Examples
        --------
        >>> Comparisons.from_triplets([["red", "orange", "blue"]]).names
        ('blue', 'orange', 'red')
        >>> odd_ones = [[0, 1, 2], [1, 0, 2], [3, 4, 0], [4, 3, 0]]
        >>> answers = Comparisons.from_triplets(odd_ones, answers=[1, 1, 2, 2], people=["ann", "ann", "bob", "bob"])
        >>> answers.n_answers, answers.n_people
        (2, 2)
        """
        sources = (answers, blocks, people, trials)
        return cls._parsed(triplets, 3, y, weights, n_objects, names, sources, ties, self_pairs, unmentioned)

    @classmethod
    @checked
    def from_quadruplets(
        cls,
        quadruplets: ArrayLike,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        n_objects: int | None = None,
        names: Sequence[str] | None = None,
        answers: Sequence[Any] | NDArray[Any] | None = None,
        people: Sequence[Any] | NDArray[Any] | None = None,
        blocks: Sequence[Any] | NDArray[Any] | None = None,
        trials: Trials | None = None,
        ties: Literal["error", "drop"] = "error",
        self_pairs: Literal["error", "drop"] = "error",
        unmentioned: Literal["warn", "ignore"] = "warn",
    ) -> Self:
        """From rows (i, j, l, k), each saying that i and j are closer than l and k.

        The parameters are those of :meth:`from_triplets`.

        Examples
        --------
        >>> Comparisons.from_quadruplets([[0, 1, 2, 3]], y=[False]).rows.tolist()
        [[2, 3, 0, 1]]
        """
        sources = (answers, blocks, people, trials)
        return cls._parsed(quadruplets, 4, y, weights, n_objects, names, sources, ties, self_pairs, unmentioned)

    @classmethod
    @checked
    def of(
        cls,
        data: Any,
        y: ArrayLike | None = None,
        *,
        unmentioned: Literal["warn", "ignore"] = "warn",
        **options: Any,
    ) -> Self:
        """From triplets or quadruplets, told apart by their number of columns; comparisons pass through.

        Examples
        --------
        >>> Comparisons.of([[0, 1, 2, 3]])
        Comparisons(1 quadruplet of 4 objects)
        """
        if isinstance(data, cls):
            if y is not None or any(option is not None for option in options.values()):
                raise ValueError(
                    "labels, weights, names, answers, people, blocks and trials belong to the Comparisons: "
                    "pass them when you make it"
                )
            return data
        table = table_of(data)
        if table.shape[1] not in _READING:
            raise ValueError(f"comparisons have {table.shape[1]} columns; {_READING[3]} (3 columns), {_READING[4]} (4)")
        return (cls.from_triplets if table.shape[1] == 3 else cls.from_quadruplets)(
            table, y, unmentioned=unmentioned, **options
        )

    @classmethod
    def _parsed(
        cls,
        data: Any,
        n_columns: int,
        y: ArrayLike | None,
        weights: ArrayLike | None,
        n_objects: int | None,
        names: Sequence[str] | None,
        sources: tuple[Any, Any, Any, Trials | None],
        ties: str,
        self_pairs: str,
        unmentioned: str,
    ) -> Self:
        for option, choice, known in (
            ("ties", ties, ("error", "drop")),
            ("self_pairs", self_pairs, ("error", "drop")),
            ("unmentioned", unmentioned, ("warn", "ignore")),
        ):
            if choice not in known:
                raise ValueError(f'{option} is {choice!r}; it can be "{known[0]}" or "{known[1]}"')
        table = table_of(data)
        if table.shape[1] != n_columns:
            raise ValueError(f"rows have {table.shape[1]} columns, not {n_columns}: {_READING[n_columns]}")
        table, names = numbered_objects(table, names)
        rows = whole_numbers(table)
        n_objects = count_objects(rows, n_objects, names)

        signs = checked_labels(y, len(rows))
        weight = checked_weights(weights, len(rows))
        answers, blocks, people, trials = sources
        answers, blocks, people, person_names = checked_sources(answers, blocks, people, len(rows))
        trials = None if trials is None else trials.of_rows(len(rows))
        dropped: dict[str, int] = {}
        keep = np.ones(len(rows), dtype=bool) if "drop" in (ties, self_pairs) else None
        if signs is not None and (signs == 0).any():
            if ties == "error":
                raise ValueError(
                    f'row {np.argmax(signs == 0)}: y is 0, a tie; remove the row or pass ties="drop" '
                    '(if 0 means "reversed", pass booleans)'
                )
            assert keep is not None
            keep &= signs != 0
            dropped["ties"] = int((signs == 0).sum())
        survey = surveyed(rows)
        unclear = survey is None or (survey.self_pair, survey.same_pair) != (None, None)
        row, found = first_where(rows, self_pair) if unclear else (None, rows[:0])
        if row is not None:
            if self_pairs == "error":
                twice = next(int(a) for a, b in pairs_of(found) if a == b)
                raise ValueError(
                    f"row {row}: object {called(twice, names)} is compared with itself; "
                    'drop the row or pass self_pairs="drop"'
                )
            assert keep is not None
            selfish = self_pair(rows)
            dropped["self_pairs"] = int((keep & selfish).sum())
            keep &= ~selfish
        if dropped:
            rows, signs = rows[keep], None if signs is None else signs[keep]
            weight = None if weight is None else weight[keep]
            answers = None if answers is None else answers[keep]
            blocks = None if blocks is None else blocks[keep]
            people = None if people is None else people[keep]
            trials = None if trials is None else trials.take(keep)
            if not len(rows):
                raise ValueError(f"no comparison is left: {dropped} were dropped; a fit needs at least one")
        if n_objects < 3:
            raise ValueError(f"there are {n_objects} objects; a map needs at least 3")
        row, found = first_where(rows, same_pair) if unclear else (None, rows[:0])
        if row is not None:
            row = row if keep is None else int(np.flatnonzero(keep)[row])
            pair = " and ".join(called(int(number), names) for number in found[:2])
            raise ValueError(f"row {row}: both pairs are {pair}, so it says nothing; remove the row")

        if signs is not None and (signs < 0).any():
            rows = np.where((signs < 0)[:, None], reversed_rows(rows), rows)
        if weight is not None and not weight.any():
            raise ValueError("all weights are zero; at least one comparison must count")
        numbers = None if answers is None else in_order_of_appearance(answers)
        if numbers is not None and numbers.max(initial=-1) + 1 == len(numbers):  # each row is an answer of its own
            numbers = None
        comparisons = cls(
            frozen(rows),
            n_objects,
            frozen(weight),
            tuple(names) if names else None,
            dropped,
            frozen(numbers),
            frozen(people),
            person_names,
            trials,
            blocks=frozen(None if blocks is None else in_order_of_appearance(blocks)),
        )
        if unmentioned == "warn":
            _warn_of_unmentioned(comparisons)
        return comparisons

    def __post_init__(self) -> None:
        """Kernels trust these arrays, so that their types, shapes and ranges are checked however they came about."""
        rows = np.asarray(self.rows)
        if rows.ndim != 2 or rows.shape[1] not in _READING:
            raise ValueError(f"rows have shape {rows.shape}; expected m rows of 3 or 4 object numbers")
        if rows.dtype != np.int32 or not rows.flags.c_contiguous or rows.flags.writeable:
            object.__setattr__(self, "rows", frozen(whole_numbers(rows)))
        survey = surveyed(self.rows)
        if survey is not None and survey.least >= 0 and survey.largest < whole("n_objects", self.n_objects):
            pass
        # As unsigned numbers negative ones are the largest, so that one pass finds both ends of the range.
        elif int(self.rows.view(np.uint32).max(initial=0)) >= whole("n_objects", self.n_objects):
            whole_numbers(self.rows)
            count_objects(self.rows, self.n_objects, None)
        if self.names is not None and len(self.names) != self.n_objects:
            raise ValueError(f"n_objects is {self.n_objects}, but there are {len(self.names)} names; they must agree")
        for name in _COLUMNS[1:]:
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickled array loses its read-only flag.
        self.__dict__.update(state, **{name: frozen(state.get(name)) for name in _COLUMNS})

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        kind = "triplet" if self.rows.shape[1] == 3 else "quadruplet"
        return f"Comparisons({counted(len(self), kind)} of {self.n_objects:,} objects)"

    def _repr_html_(self) -> str:
        """In a notebook: how many there are, and the first rows."""
        titles = ("anchor", "near", "far") if self.rows.shape[1] == 3 else ("near 1", "near 2", "far 1", "far 2")
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(self._called(number))}</td>" for number in row) + "</tr>"
            for row in self.rows[:FIRST_ROWS].tolist()
        )
        more = len(self) - FIRST_ROWS
        after = f"<p>and {more:,} more</p>" if more > 0 else ""
        about = html.escape(repr(self))
        return f"<div><p>{about}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}</div>"

    def _called(self, number: int) -> str:
        return str(number) if self.names is None else self.names[number]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows; with indexing, it is what scikit-learn needs to split comparisons."""
        return self.rows.shape

    def __getitem__(self, selection: Any) -> Self:
        """The same as :meth:`take`."""
        if isinstance(selection, tuple) and selection[1:] == (...,):
            selection = selection[0]
        if isinstance(selection, tuple) or (np.ndim(selection) == 0 and not isinstance(selection, slice)):
            raise TypeError(f"comparisons are taken by a slice, a mask or row numbers, not by {selection!r}")
        if isinstance(selection, slice):
            return self.take(selection)
        rows = np.asarray(selection)
        return self.take(rows if rows.size else rows.astype(np.intp))  # an empty list has numbers of no kind

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self)) if self.weights is None else weighed(self.weights).total

    @property
    def mentioned(self) -> NDArray[np.bool_]:
        """For each object, whether it occurs in a row.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 3]], n_objects=4, unmentioned="ignore").mentioned.tolist()
        [True, True, False, True]
        """
        mentioned = np.zeros(self.n_objects, dtype=bool)
        survey = surveyed(self.rows, exactly=True)
        if survey is not None and survey.least >= 0:
            mentioned[: len(survey.mentioned)] = survey.mentioned
            return mentioned
        for start in range(0, len(self), CHUNK):
            mentioned[self.rows[start : start + CHUNK].ravel()] = True
        return mentioned

    @property
    def n_answers(self) -> int:
        """How many answers the rows are from."""
        if self.answers is None:
            return len(self)
        return _changes(self.answers) if large_file(self.answers) else int(np.count_nonzero(np.bincount(self.answers)))

    @property
    def n_blocks(self) -> int | None:
        """How many blocks of dependent trials the answers are from; None if there are no blocks."""
        return None if self.blocks is None else int(np.count_nonzero(_counts(self.blocks)))

    @property
    def n_people(self) -> int | None:
        """How many people gave the answers; None if that is not known."""
        return None if self.people is None else len(self.present_people())

    def present_people(self) -> NDArray[np.int64]:
        """The numbers of the people who gave the answers, if these are known."""
        return np.flatnonzero([] if self.people is None else _counts(self.people))

    @property
    def times(self) -> NDArray[np.float64] | None:
        """The seconds that the answer of each row took (NaN: not known), or None."""
        return None if self.trials is None else self.trials.times

    @property
    def sides(self) -> NDArray[np.int8] | None:
        """The side on which the near object of each row was shown, 0 left and 1 right (-1: not known), or None."""
        return None if self.trials is None else self.trials.sides

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """The line of the file, from 1, that each row is from, or None."""
        return None if self.trials is None else self.trials.lines

    @checked
    def take(self, selection: NDArray[Any] | Sequence[int] | Sequence[bool] | slice) -> Self:
        """The comparisons at some row numbers (or a mask, or a slice), of the same objects.

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
        if self.skipped is not None:
            chosen = np.arange(*selection.indices(len(self))) if isinstance(selection, slice) else selection
            return dataclasses.replace(self, skipped=None).take(chosen[~np.isin(chosen, self.skipped)])
        taken = {
            name: frozen(column[selection]) for name in _COLUMNS[1:] if (column := getattr(self, name)) is not None
        }
        weights = taken.get("weights")
        if weights is not None and len(weights) and not weights.sum() > 0:
            raise ValueError(_WEIGHTLESS)
        rows = frozen(
            self.rows.take(selection, axis=0)
            if isinstance(selection, np.ndarray) and selection.dtype != bool
            else self.rows[selection]
        )
        trials = None if self.trials is None else self.trials.take(selection)
        return dataclasses.replace(self, rows=rows, **taken, trials=trials, dropped={})

    @checked
    def weighted(self, weights: ArrayLike) -> Self:
        """The same comparisons, each counting so much of what it counts now; one number per row.

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
        return dataclasses.replace(self, weights=frozen(weight))

    @checked
    def split_unit(self, by: str = AUTO) -> str:
        """Return what is held out whole: ``by``, where "auto" means blocks if there are some, otherwise answers.

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
        """For each row, the number of its group: rows of a group are held out together.

        Parameters
        ----------
        by
            "answers": whole answers, and with them all other answers about the same set of objects; "blocks": all
            answers of a block; "people": all answers of a person; "comparisons": each row alone; "auto": blocks where
            the answers have them, otherwise answers.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [2, 0, 1], [0, 1, 3]]).groups().tolist()
        [0, 0, 1]
        """
        return groups(self.rows, self.n_objects, self.answers, self.people, by, self.blocks)

    @checked
    def split(self, share: float, rng: np.random.Generator, *, by: str = AUTO) -> tuple[Self, Self]:
        """Two random parts; the second has ``share`` of the answers, or of the people.

        Parameters
        ----------
        share
            Of the answers (or people), as nearly as whole groups allow.
        rng
            Decides which.
        by
            What is held out whole: "auto", "answers", "blocks", "people" or (single) "comparisons"; see
            :meth:`groups`.

        Examples
        --------
        >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 3], [2, 0, 3], [1, 2, 3]])
        >>> answers.split(0.25, np.random.default_rng(0))
        (Comparisons(3 triplets of 4 objects), Comparisons(1 triplet of 4 objects))
        """
        by = self.split_unit(by)
        if self.on_disk is not None:
            return self._split_on_disk(share, rng, by)
        if by == "comparisons":
            held_out = _share_of(share, len(self), by)
            order = rng.permutation(len(self))
            return self.take(np.sort(order[held_out:])), self.take(np.sort(order[:held_out]))
        group = self.groups(by)
        sizes = self._sizes(group, by)
        wanted = _share_of(share, int(sizes.sum()), by)
        if len(sizes) == 1:
            together = "from one block" if by == "blocks" else "about the same objects"
            raise ValueError(
                f"all {int(sizes[0])} answers are {together} and stay together, so that one part would be empty"
            )
        second = _drawn(sizes, wanted, rng)[group]
        return self.take(~second), self.take(second)

    # ---- in a file that is too large to be copied --------------------------------------------------------------------

    @property
    def on_disk(self) -> FileRows | None:
        """The file that these rows are in, if it is memory-mapped and so large that rows should be read in blocks.

        Which answers the rows are from must be in a file too, in ascending order; the usual columns of trials are not.
        """
        if self.trials is not None or (self.answers is not None and large_file(self.answers) is None):
            return None
        return large_file(self.rows)

    @checked
    def sample(self, number: int, rng: np.random.Generator) -> Self:
        """About so many rows at random, in memory, from all over; all rows if there are no more.

        Examples
        --------
        >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
        >>> len(answers.sample(2, np.random.default_rng(0))), len(answers.sample(5, np.random.default_rng(0)))
        (2, 3)
        """
        if number >= len(self):
            return self
        if self.on_disk is None:
            return self.take(np.sort(rng.permutation(len(self))[:number]))
        parts = []
        for first, block in self._in_blocks():
            picked = rng.random(len(block["rows"])) < number / len(self)
            if self.skipped is not None:
                begin, end = np.searchsorted(self.skipped, [first, first + len(picked)])
                picked[self.skipped[begin:end] - first] = False
            parts.append({name: column[picked] for name, column in block.items()})
        return self._of_parts(parts)

    def _in_blocks(self, size: int | None = None) -> Iterator[tuple[int, dict[str, Stored]]]:
        """Blocks of rows with what belongs to each; one that several rows of an answer are in has all of them."""
        columns = {name: getattr(self, name) for name in _COLUMNS if getattr(self, name) is not None}
        several = zip(*(in_blocks(column, size) for column in columns.values()), strict=True)
        left: dict[str, Stored] = {}
        for blocks in several:
            first, last = blocks[0][0], blocks[0][0] + len(blocks[0][1])
            whole = {name: block for name, (_, block) in zip(columns, blocks, strict=True)}
            if left:
                first -= len(left["rows"])
                whole = {name: np.concatenate([left[name], block]) for name, block in whole.items()}
                left = {}
            if self.answers is not None and last < len(self):
                end = int(np.flatnonzero(np.diff(whole["answers"], prepend=~whole["answers"][:1]))[-1])
                left = {name: column[end:].copy() for name, column in whole.items()}
                whole = {name: column[:end] for name, column in whole.items()}
            if len(whole["rows"]):
                yield first, whole

    def _of_parts(self, parts: Sequence[Mapping[str, Stored]]) -> Self:
        """Some rows of these, in memory."""
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if "answers" in found:  # numbers from 0 again: beyond 2^31 those of a file wrap around
            begins = np.diff(found["answers"], prepend=found["answers"][:1]) != 0
            found["answers"] = np.cumsum(begins).astype(np.int32)
        columns = {name: frozen(column) for name, column in found.items()}
        return dataclasses.replace(self, **columns, skipped=None, dropped={})

    def _split_on_disk(self, share: float, rng: np.random.Generator, by: str) -> tuple[Self, Self]:
        """Split by a hash of the question, which is then in one part alone; or by a hash of the block, or by people."""
        salt = rng.integers(2**64, dtype=np.uint64)
        limit = np.uint64(min(share, MOST_SPLIT_OFF / len(self)) * 2.0**64)
        aside = self._people_aside(share, rng) if by == "people" else None
        places, parts, is_left = [], [], self.weights is None
        for first, block in self._in_blocks():
            if aside is not None:
                chosen = np.flatnonzero(aside[block["people"]])
            elif by == "blocks":
                chosen = np.flatnonzero(mixed(block["blocks"].astype(np.uint64) ^ salt) < limit)
            else:
                said = block.get("answers")
                asked = questions(block["rows"], self.n_objects, None if said is None else said - said[:1])
                chosen = np.flatnonzero(mixed(asked ^ salt) < limit)
            places.append(first + chosen)
            parts.append({name: column[chosen] for name, column in block.items()})
            is_left = is_left or bool(np.delete(block["weights"], chosen).any())
        skipped, second = np.concatenate(places), self._of_parts(parts)
        if not 0 < len(skipped) < len(self):
            raise ValueError(
                f"a share of {share} of {len(self)} comparisons leaves one part empty; choose another share"
            )
        if not is_left or not (second.weights is None or second.weights.any()):
            raise ValueError(_WEIGHTLESS)
        if self.skipped is not None:
            second = second.take(~np.isin(skipped, self.skipped))
            skipped = np.union1d(skipped, self.skipped)
        return dataclasses.replace(self, skipped=frozen(skipped), dropped={}), second

    def _people_aside(self, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """For each person, whether to hold out: a share of them, but no more than have a million answers together."""
        assert self.people is not None
        counts = _counts(self.people)
        known = rng.permutation(np.flatnonzero(counts))
        wanted = known[: _share_of(share, len(known), "people")]
        few = max(int(np.searchsorted(np.cumsum(counts[wanted]), MOST_SPLIT_OFF, side="right")), 1)
        aside = np.zeros(len(counts), dtype=bool)
        aside[wanted[:few]] = True
        return aside

    def _sizes(self, group: NDArray[Any], by: str) -> NDArray[np.int64]:
        """How many answers (or, by people, people) are in each group."""
        if by == "people":
            return np.ones(int(group.max()) + 1, dtype=np.int64)
        if self.answers is None:
            return np.bincount(group)
        group_of = np.full(int(self.answers.max()) + 1, -1)
        group_of[self.answers] = group
        return np.bincount(group_of[group_of >= 0])


def _counts(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """How often each number occurs."""
    counts = np.zeros(1, np.int64)
    for _, block in in_blocks(numbers):
        found = np.bincount(block, minlength=len(counts))
        found[: len(counts)] += counts
        counts = found
    return counts


def _changes(numbers: NDArray[np.int32]) -> int:
    """How many different numbers there are, if each stands in one place."""
    count, last = 0, -1
    for _, block in in_blocks(numbers):
        count += int(np.count_nonzero(np.diff(block, prepend=last)))
        last = int(block[-1])
    return count


def _share_of(share: float, number: int, by: str) -> int:
    wanted = round(share * number) if 0 < share < 1 else 0
    if not 0 < wanted < number:
        raise ValueError(f"a share of {share} of {number} {by} leaves one part empty; choose another share")
    return wanted


def _drawn(sizes: NDArray[np.int64], wanted: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Groups at random that together are about as large as wanted."""
    order = rng.permutation(len(sizes))
    # A group that is larger than wanted (a question that everybody was asked) is taken only if there is no other.
    order = order[np.argsort(np.where(sizes[order] > wanted, sizes[order], 0), kind="stable")]
    total = np.cumsum(sizes[order])
    number = int(np.searchsorted(total, wanted))
    if number and total[number] - wanted > wanted - total[number - 1]:
        number -= 1
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[: min(number + 1, len(sizes) - 1)]] = True
    return chosen


# ---- rows as two pairs of objects ------------------------------------------------------------------------------------


def pair_questions(comparisons: Comparisons) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A number for each row's question, "which of these two pairs is closer?", and which way it was answered.

    Rows with the same number and different answers contradict each other. (i, j) and (j, i) are the same pair.

    Examples
    --------
    >>> question, answer = pair_questions(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [1, 0, 2]]))
    >>> bool(question[0] == question[1] != question[2]), answer.tolist()
    (True, [False, True, False])
    """
    n_objects = comparisons.n_objects
    if comparisons.rows.shape[1] == 3 and n_objects < 1 << 20:  # three numbers fit in 60 bits
        i, j, k = comparisons.rows.T
        question: NDArray[np.int64] = i.astype(np.int64)
        question *= n_objects**2
        question += pair_numbers(j, k, n_objects)
        return question, j > k
    near, far = (pair_numbers(*pair, n_objects) for pair in pairs_of(comparisons.rows))
    # Pairs get consecutive numbers where the product of two of them would not fit in 64 bits.
    if max(int(near.max()), int(far.max())) >= 1 << 30:
        both = numbered(np.concatenate([near, far])).astype(np.int64)
        near, far = both[: len(near)], both[len(near) :]
    return pair_numbers(near, far, max(int(near.max()), int(far.max())) + 1), near > far


# ---- from what users have to checked arrays --------------------------------------------------------------------------


def _warn_of_unmentioned(comparisons: Comparisons) -> None:
    missing = np.flatnonzero(~comparisons.mentioned)
    if len(missing):
        first = ", ".join(called(int(number), comparisons.names) for number in missing[:5])
        warnings.warn(
            f"{len(missing)} of {comparisons.n_objects} objects occur in no comparison "
            f"({first}{', ...' * (len(missing) > 5)}); their places on the map mean nothing",
            stacklevel=4,
        )
