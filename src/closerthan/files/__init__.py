"""Read and write files of answers and maps."""

from closerthan.files.maps import read_map, write_map
from closerthan.files.meaning.answers import Answers, read_answers, read_comparisons
from closerthan.files.meaning.summary import Summary
from closerthan.files.writing.comparisons import write_comparisons
from closerthan.files.writing.for_r import write_for

__all__ = [
    "Answers",
    "Summary",
    "read_answers",
    "read_comparisons",
    "read_map",
    "write_comparisons",
    "write_for",
    "write_map",
]
