"""Files: answers and maps in the formats that people have, read and written."""

from closerthan.files.answers import Answers, read_answers, read_comparisons
from closerthan.files.summary import Summary

__all__ = ["Answers", "Summary", "read_answers", "read_comparisons"]
