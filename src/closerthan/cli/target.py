"""Files that a command writes: an existing one is not overwritten by accident."""

from pathlib import Path


def check_file(path: Path, force: bool) -> None:
    """Complain now if the file exists or has nowhere to be."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is expected")
    if path.exists() and not force:
        raise ValueError(f"{path} exists; pass --force to replace it, or choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}; make it first")


def stem(path: Path) -> str:
    """The name of a file without what says its format: what comes of it is called after it.

    Examples
    --------
    >>> stem(Path("data/cars.2024.csv.gz")), stem(Path("answers.npz"))
    ('cars.2024', 'answers')
    """
    return Path(path.name.removesuffix(".gz")).stem


def map_file(path: Path) -> Path:
    """The map itself, where the folder of a fit is given."""
    if path.is_dir():
        for name in ("map.csv", "map.parquet", "map.npz"):
            if (path / name).exists():
                return path / name
        raise ValueError(f"{path} is a folder without a map; expected map.csv, map.parquet or map.npz in it")
    return path
