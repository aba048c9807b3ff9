"""Read and write files of answers and maps."""

from closerthan.files.features import Features, read_features
from closerthan.files.maps import read_map, write_map, write_vice_folder
from closerthan.files.meaning.answers import Answers, read_answers, read_comparisons
from closerthan.files.meaning.summary import Summary
from closerthan.files.writing.comparisons import write_comparisons
from closerthan.files.writing.for_r import write_for

__all__ = [
    "Answers",
    "Features",
    "Summary",
    "read_answers",
    "read_comparisons",
    "read_features",
    "read_map",
    "write_comparisons",
    "write_for",
    "write_map",
    "write_vice_folder",
]
