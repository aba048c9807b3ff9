"""Cross-validation of several settings, with a progress bar."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from closerthan.comparisons import Comparisons
    from closerthan.evaluate.cross_validation import Scores

Key = TypeVar("Key", str, int)


def tried(comparisons: "Comparisons", choices: Mapping[Key, dict[str, Any]], n_folds: int) -> "dict[Key, Scores]":
    """The scores of each choice of settings, on the same folds."""
    from closerthan.evaluate.cross_validation import cross_validate
    from closerthan.fit.progress import trials_bar

    scores = {}
    with trials_bar(sys.stderr.isatty(), "cross-validation", len(choices), 0) as done:
        for name, settings in choices.items():
            scores[name] = cross_validate(comparisons, n_folds=n_folds, **settings)
            done()
    return scores
