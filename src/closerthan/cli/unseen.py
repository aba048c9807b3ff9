"""What cross-validation can and cannot hold out."""

from pathlib import Path
from typing import Any


def without_files(fitting: dict[str, Any]) -> None:
    """Early stopping by answers from a file would look at the same ones in each fold; a share is what is meant."""
    if isinstance(fitting["validation"], Path):
        raise ValueError(f"--validation is {str(fitting['validation'])!r}; here it must be a share, as in 0.1")
