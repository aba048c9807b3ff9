"""Summary: what was in a file, and what became of it."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from closerthan.comparisons import Comparisons, pair_questions
from closerthan.files.meaning.questions import RULES
from closerthan.wording import percent

_SHOWN = 12  # columns that are not used are listed up to this number


@dataclasses.dataclass(frozen=True)
class Summary:
    """What was in a file, and what became of it; ``str`` gives a short text.

    Attributes
    ----------
    path, format
        The file, and how it was read.
    kind
        The question that was answered.
    columns
        The columns that were used, by role.
    numbering, numbering_reason
        "0-based", "1-based" or "names": what the objects are in the file, and how that was decided.
    n_objects, n_mentioned
        How many objects there are, and how many of them occur in a comparison.
    n_rows, n_used
        How many rows were read and used; a row is an answer unless a column says that some are of one.
    n_answers
        How many answers the used rows are.
    n_comparisons, n_test
        How many comparisons were made of them, and how many of these are marked as test.
    n_repeated
        How many comparisons say what an earlier one already said; None if the file is too large to count them.
    n_contradictory
        How many comparisons have their reverse in the file too; None as above.
    dropped
        How many answers were left out, by reason.
    n_participants
        How many people answered, if the file says.
    median_time
        Seconds that half of the answers took at most, if the file says.
    share_left
        In which fraction of the answers the near object was shown on the left, if the file says.
    not_used
        The columns that were not used.
    notes
        Anything else that one should know.
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
        numbering = {"0-based": "numbers from 0", "1-based": "numbers from 1", "names": "names"}[self.numbering]
        unseen = self.n_objects - self.n_mentioned
        unmentioned = f", of which {unseen:,} never occur{'s' * (unseen == 1)}" if unseen else ""
        dropped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in self.dropped.items())
        lines = {
            "file": f"{self.path} ({self.format})",
            "question": f"{self.kind}: {RULES[self.kind]}",
            "columns": ", ".join(f"{role} = {column}" for role, column in self.columns.items()),
            "objects": f"{self.n_objects:,}{unmentioned}; in the file they are {numbering} ({self.numbering_reason})",
            "answers"
            if self.n_answers == self.n_used
            else "rows": f"{self.n_rows:,} read, {self.n_used:,} used, {self.n_rows - self.n_used:,} dropped"
            + (f" ({dropped})" if dropped else "")
            + (f"; they are {self.n_answers:,} answers" if self.n_answers != self.n_used else ""),
            "comparisons": f"{self.n_comparisons:,}{f', of which {self.n_test:,} for test' if self.n_test else ''}",
        }
        if self.n_repeated is not None:
            said = f"; {self.n_repeated:,} repeat another, {self.n_contradictory:,} contradict another"
            lines["comparisons"] += said
        if self.n_participants is not None:
            lines["participants"] = f"{self.n_participants:,}"
        if self.median_time is not None:
            time = f"{self.median_time:.3g}" if self.median_time < 1000 else f"{self.median_time:,.0f}"
            lines["times"] = f"half of the answers took at most {time} s"
        if self.share_left is not None:
            lines["sides"] = f"the near object was shown on the left in {percent(self.share_left)} of the answers"
        if self.not_used:
            lines["not used"] = ", ".join(self.not_used[:_SHOWN]) + ", ..." * (len(self.not_used) > _SHOWN)
        text = [f"{name:<13}{value}" for name, value in lines.items()]
        return "\n".join(text + [f"{'note':<13}{note}" for note in self.notes])


def repeated_and_contradictory(comparisons: Comparisons) -> tuple[int, int]:
    """How many comparisons repeat an earlier one, and how many have their reverse among the others.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]])
    >>> repeated_and_contradictory(answers)
    (1, 3)
    """
    # A sort puts equal questions together, and of these the equal answers.
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
