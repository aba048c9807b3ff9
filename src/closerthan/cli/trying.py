"""Cross-validation of several settings, with a progress bar."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.crossvalidation import Scores

Key = TypeVar("Key", str, int)


def tried(
    comparisons: "Comparisons", choices: Mapping[Key, dict[str, Any]], n_folds: int, noun: str
) -> "dict[Key, Scores]":
    """The scores of each choice of settings, on the same folds."""
    from closerthan.crossvalidation import cross_validate

    scores = {}
    with _bar(noun, len(choices)) as step:
        for name, settings in choices.items():
            step(str(name), False)
            scores[name] = cross_validate(comparisons, n_folds=n_folds, **settings)
            step(str(name), True)
    return scores


@contextlib.contextmanager
def _bar(noun: str, total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(noun, total=total)

        def step(name: str, done: bool) -> None:
            bar.update(task, advance=int(done), description=f"{noun} {name}")

        yield step
