"""The researcher's own list of questions, in a CSV file in the folder of the study."""

from collections.abc import Collection
from pathlib import Path

from closerthan.collect.study.tables import check_cells, open_table
from closerthan.comparisons.screen import Screen

__all__ = ["read_questions"]


def read_questions(path: Path, screen: Screen, names: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Read a list of questions, one per row: the names of their objects in the columns of the kind of question.

    ``closerthan questions`` writes such tables.
    """
    with open_table(path, "write the questions to this file, one per row") as (columns, table):
        missing = [column for column in screen.columns if column not in columns]
        if missing:
            raise ValueError(
                f"{path}, line 1: the column {missing[0]} is missing; expected {', '.join(screen.columns)}, "
                "separated by commas"
            )
        lines: dict[str, int] = {}
        questions = []
        for row in table:
            check_cells(row, f"{path}, line {table.line_num}")
            objects = tuple(row[column].strip() for column in screen.columns)
            _check(objects, screen, names, f"{path}, line {table.line_num}")
            content = screen.content(objects)
            if content in lines:
                raise ValueError(
                    f"{path}, line {table.line_num}: this question is also in line {lines[content]}; remove one of "
                    "them, since nobody is asked a question twice"
                )
            lines[content] = table.line_num
            questions.append(objects)
    if not questions:
        raise ValueError(f"{path} has no questions; write one per row, below the names of the columns")
    return tuple(questions)


def _check(objects: tuple[str, ...], screen: Screen, names: Collection[str], place: str) -> None:
    for column, name in zip(screen.columns, objects, strict=True):
        if name not in names:
            raise ValueError(f"{place}: {column} is {name!r}; it must be the name of an object in objects.csv")
    if len(set(objects)) < len(objects):
        raise ValueError(f"{place}: an object occurs twice in this question; its objects must differ")
