"""Options for reading a file of answers: the meaning of its columns, and the treatment of unusable rows."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from closerthan.checks import ParameterError, check_keywords, checked
from closerthan.files.formats.readers import FileOptions
from closerthan.files.meaning.columns import EXTRAS

__all__ = ["ColumnChoice", "Reading", "ReadingOptions"]

ColumnChoice = str | int | Sequence[str | int] | None
"""A column by name or position, several columns, or None for no column."""


class ReadingOptions(TypedDict, total=False):
    """Keyword arguments of :func:`~closerthan.files.read_answers`: the fields of :class:`Reading`."""

    kind: str | None
    columns: Mapping[str, ColumnChoice] | None
    numbering: Literal["0-based", "1-based", "names"] | None
    names: Sequence[str] | None
    n_objects: int | None
    ties: Literal["error", "drop", "keep"]
    self_pairs: Literal["error", "drop"]
    missing: Literal["error", "drop"]
    where: Mapping[str | int, Any] | None
    catch: Literal["drop", "keep"]
    header: bool | None
    delimiter: str | None
    encoding: str | None
    variable: str | None


@dataclasses.dataclass(frozen=True)
class Reading:
    """All options for reading a file of answers; :func:`~closerthan.files.read_answers` documents them.

    Examples
    --------
    >>> reading = Reading.of({"ties": "drop", "columns": {"catch": "is_check", "near": "yes"}})
    >>> reading.changes()
    {'columns': {'catch': 'is_check', 'near': 'yes'}, 'ties': 'drop'}
    >>> reading.roles, reading.catch_column
    ({'near': 'yes'}, 'is_check')
    >>> Reading.of({"ties": "skip"})
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: ties is 'skip'; it must be "error" or "drop" or "keep"
    """

    kind: str | None = None
    columns: Mapping[str, ColumnChoice] | None = None
    numbering: Literal["0-based", "1-based", "names"] | None = None
    names: Sequence[str] | None = None
    n_objects: int | None = None
    ties: Literal["error", "drop", "keep"] = "error"
    self_pairs: Literal["error", "drop"] = "error"
    missing: Literal["error", "drop"] = "error"
    where: Mapping[str | int, Any] | None = None
    catch: Literal["drop", "keep"] = "drop"
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    variable: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Reading":
        """Create the options from keyword arguments, after checking their names and types."""
        check_keywords(options, [field.name for field in dataclasses.fields(cls)])
        reading = cls.__new__(cls)
        _CHECKED_INIT(reading, **options)
        marking = reading.catch_column
        if marking is not None and not isinstance(marking, str | int):
            rule = 'one column is expected, as in "is_catch" or "kind=check"'
            raise ParameterError("columns", marking, rule, problem=f'has {marking!r} for "catch"')
        return reading

    def changes(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in dataclasses.fields(self)}
        return {
            name: value
            for name, (value, default) in values.items()
            if (value is not None if default is None else value != default)
        }

    @property
    def roles(self) -> dict[str, ColumnChoice]:
        """Columns by role, without the one that marks catch trials."""
        return {role: choice for role, choice in (self.columns or {}).items() if role != "catch"}

    @property
    def catch_column(self) -> Any:
        """The column that marks catch trials, or None."""
        return (self.columns or {}).get("catch")

    @property
    def drops_catch_trials(self) -> bool:
        """True if catch trials are left out."""
        return self.catch == "drop" and not ("catch" in (self.columns or {}) and self.catch_column is None)

    @property
    def keeps_all_rows(self) -> bool:
        """True if no rows are selected or dropped, which is a condition for reading a file in blocks."""
        selects_rows = self.where is not None or self.variable is not None or self.catch_column is not None
        return not selects_rows and {self.ties, self.self_pairs, self.missing} == {"error"}

    @property
    def identifies_objects(self) -> bool:
        """True if the user specifies the numbering of the objects or the columns that hold them."""
        return self.numbering is not None or any(role not in EXTRAS for role in self.roles)

    @property
    def file(self) -> FileOptions:
        """Options about the format of the file."""
        return FileOptions(self.header, self.delimiter, self.encoding, self.variable)


_CHECKED_INIT = checked(Reading.__init__)
