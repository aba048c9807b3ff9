"""The summary of a file of answers."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from closerthan.comparisons import Comparisons, pair_questions
from closerthan.files.formats.tables import abbreviated
from closerthan.files.meaning.interpretation import RULES
from closerthan.messages import prefixed
from closerthan.representation import tabulated
from closerthan.wording import counts_in_words, percent

_MAX_LISTED = 12  # unused columns listed in the text


@tabulated
@dataclasses.dataclass(frozen=True)
class Summary:
    """The content of a file of answers, and how it was used; ``str`` gives a short text.

    Attributes
    ----------
    path, format
        Path and format of the file.
    kind
        Kind of question that was answered.
    columns
        Columns that were used, by role.
    numbering, numbering_reason
        How the file refers to objects ("0-based", "1-based" or "names"), and how that was determined.
    n_objects, n_mentioned
        Number of objects, and number of objects that occur in a comparison.
    n_rows, n_used
        Numbers of rows read and used. A row is an answer unless a column assigns several rows to one answer.
    n_answers
        Number of answers in the rows used.
    n_comparisons, n_test
        Number of comparisons derived from the answers, and number of those that are marked as test.
    n_repeated
        Number of comparisons that repeat an earlier one; None if the file is too large to count them.
    n_contradictory
        Number of comparisons whose reverse is also in the file; None if the file is too large to count them.
    dropped
        Numbers of answers left out, by reason.
    n_participants
        Number of people who answered, or None if the file does not name them.
    median_time
        Median response time in seconds, or None if the file has no response times.
    share_left
        Fraction of answers in which the near object was shown on the left, or None if the file has no sides.
    not_used
        Columns that were not used.
    notes
        Further remarks.
    """

    path: str
    format: str
    kind: str
    columns: Mapping[str, str]
    numbering: str
    numbering_reason: str
    n_objects: int
    n_mentioned: int
    n_rows: int
    n_used: int
    n_answers: int
    n_comparisons: int
    n_test: int
    n_repeated: int | None = None
    n_contradictory: int | None = None
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    n_participants: int | None = None
    median_time: float | None = None
    share_left: float | None = None
    not_used: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the lines of the text."""
        numbering = {"0-based": "numbers from 0", "1-based": "numbers from 1", "names": "names"}[self.numbering]
        unseen = self.n_objects - self.n_mentioned
        unmentioned = f", of which {unseen:,} never occur{'s' * (unseen == 1)}" if unseen else ""
        dropped = counts_in_words(self.dropped)
        lines = {
            "file": f"{self.path} ({self.format})",
            "question": f"{self.kind}: {RULES[self.kind]}" if self.kind in RULES else self.kind,
            "columns": ", ".join(f"{role} = {column}" for role, column in self.columns.items()),
            "objects": f"{self.n_objects:,}{unmentioned}; in the file they are {numbering} ({self.numbering_reason})",
            "answers"
            if self.n_answers == self.n_used
            else "rows": f"{self.n_rows:,} read, {self.n_used:,} used, {self.n_rows - self.n_used:,} dropped"
            + (f" ({dropped})" if dropped else "")
            + (f"; they are {self.n_answers:,} answers" if self.n_answers != self.n_used else ""),
            "comparisons": f"{self.n_comparisons:,}"
            + (f", {self.n_test:,} of them marked as test" if self.n_test else ""),
        }
        if self.n_repeated is not None:
            lines["comparisons"] += f"; {self.n_repeated:,} repeat another, {self.n_contradictory:,} contradict another"
        if self.n_participants is not None:
            lines["participants"] = f"{self.n_participants:,}"
        if self.median_time is not None:
            time = f"{self.median_time:.3g}" if self.median_time < 1000 else f"{self.median_time:,.0f}"
            lines["times"] = f"half of the answers took at most {time} s"
        if self.share_left is not None:
            lines["sides"] = f"the near object was shown on the left in {percent(self.share_left)} of the answers"
        if self.not_used:
            lines["not used"] = abbreviated(self.not_used, _MAX_LISTED)
        text = [f"{name:<13}{value}" for name, value in lines.items()]
        return text + [prefixed(f"{'note':<13}", note) for note in self.notes]


def repeated_and_contradictory(comparisons: Comparisons) -> tuple[int, int]:
    """Count the comparisons that repeat an earlier one, and those whose reverse also occurs.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]])
    >>> repeated_and_contradictory(answers)
    (1, 3)
    """
    # Sorting brings equal questions together and, among these, equal answers.
    key, answer = pair_questions(comparisons)
    key <<= 1
    key |= answer
    key.sort()
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    counts = np.diff(np.append(starts, len(key)))
    question = key[starts] >> 1
    both_ways = question[1:] == question[:-1]
    contradictory = counts[:-1][both_ways].sum() + counts[1:][both_ways].sum()
    return len(key) - len(starts), int(contradictory)
