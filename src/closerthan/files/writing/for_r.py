"""Write comparisons for the R packages tripletTools and loe."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from closerthan.checks import checked
from closerthan.comparisons import Comparisons, sort_names
from closerthan.files.writing.comparisons import cell_of
from closerthan.saving import whole_file

__all__ = ["PROGRAMS", "write_for"]

_TITLES = "head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg,sampleSet"


@checked
def write_for(program: str, comparisons: Comparisons, path: str | Path) -> list[str]:
    """Write a CSV file for an R package, and return remarks about information that the file does not contain.

    ============  =============================================================================================
    tripletTools  one row per triplet: ``head``, ``winner`` and ``loser`` numbered from 0 in alphabetical order,
                  ``worker_id``, ``rt`` in milliseconds, ``Center``, ``Left``, ``Right``, ``Answer``, and
                  ``sampleSet``, which is always train
    loe           ``i``, ``j``, ``k``, ``l`` numbered from 1: object i is closer to j than k is to l, which is the
                  matrix ``CM`` of ``SOE``; with names, a second file ``...-objects.csv`` lists them
    ============  =============================================================================================

    Examples
    --------
    >>> import tempfile
    >>> answers = Comparisons.from_triplets([["cat", "ant", "bee"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_for("loe", answers, Path(folder) / "cm.csv")
    ...     print((Path(folder) / "cm.csv").read_text(), (Path(folder) / "cm-objects.csv").read_text(), sep="")
    i,j,k,l
    3,1,3,2
    number,name
    1,ant
    2,bee
    3,cat
    <BLANKLINE>
    """
    if program not in PROGRAMS:
        raise ValueError(f"unknown program {program!r}; choose from: {', '.join(PROGRAMS)}")
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise ValueError(f"{path}: for {program}, comparisons are written as .csv")
    return PROGRAMS[program](comparisons, path)


def _triplet_tools(comparisons: Comparisons, path: Path) -> list[str]:
    if comparisons.rows.shape[1] != 3:
        raise ValueError("tripletTools supports only triplets, and these are quadruplets; write them for loe")
    names = comparisons.names or tuple(str(number) for number in range(comparisons.n_objects))
    # R's sort numbers the objects that occur in the order of their names, or of their values if they are numbers.
    mentioned = np.flatnonzero(comparisons.mentioned).tolist()
    position_of = {name: position for position, name in enumerate(sort_names({names[item] for item in mentioned}))}
    number = {item: position_of[names[item]] for item in mentioned}
    cells = [cell_of(name, ",") for name in names]
    people = [cell_of(name, ",") if name else "" for name in comparisons.person_names or ("",)]
    n_rows = len(comparisons)
    person_of_row = np.zeros(n_rows, int) if comparisons.people is None else comparisons.people
    times = np.full(n_rows, np.nan) if comparisons.times is None else comparisons.times
    right = np.zeros(n_rows, bool) if comparisons.sides is None else comparisons.sides == 1
    text = io.StringIO()
    text.write(f"{_TITLES}\n")
    columns = (*comparisons.rows.T.tolist(), person_of_row.tolist(), times.tolist(), right.tolist())
    for anchor, near, far, person, time, is_right in zip(*columns, strict=True):
        on_left, on_right = (far, near) if is_right else (near, far)
        rt = "" if time != time else repr(time * 1000)
        text.write(
            f"{number[anchor]},{number[near]},{number[far]},{people[person]},{rt},"
            f"{cells[anchor]},{cells[on_left]},{cells[on_right]},{cells[near]},,train\n"
        )
    with whole_file(path) as file:
        file.write(text.getvalue().encode())
    sides = comparisons.sides
    lost = _lost(comparisons, ("weights", "answers"))
    if sides is None or (sides < 0).any():
        lost.append("the near object is written as the left one if its side is unknown")
    return lost


def _loe(comparisons: Comparisons, path: Path) -> list[str]:
    rows = comparisons.rows if comparisons.rows.shape[1] == 4 else comparisons.rows[:, [0, 1, 0, 2]]
    text = io.StringIO()
    text.write("i,j,k,l\n")
    np.savetxt(text, rows + 1, fmt="%d", delimiter=",")
    with whole_file(path) as file:
        file.write(text.getvalue().encode())
    if comparisons.names is not None:
        lines = [f"{number},{cell_of(name, ',')}" for number, name in enumerate(comparisons.names, 1)]
        with whole_file(path.with_name(f"{path.stem}-objects.csv")) as file:
            file.write("\n".join(["number,name", *lines, ""]).encode())
    return _lost(comparisons, ("weights", "answers", "people", "blocks", "times", "sides"))


def _lost(comparisons: Comparisons, kinds: tuple[str, ...]) -> list[str]:
    words = {"answers": "which comparisons belong to one answer"}
    lost = [words.get(kind, kind) for kind in kinds if getattr(comparisons, kind) is not None]
    return [f"the file does not contain: {', '.join(lost)}"] if lost else []


PROGRAMS: dict[str, Callable[[Comparisons, Path], list[str]]] = {"tripletTools": _triplet_tools, "loe": _loe}
"""Functions that write comparisons, by R package."""
