"""Answers of real people, from files in the folder CLOSERTHAN_DATA; an OSError says which file is missing."""

import os
from pathlib import Path

import closerthan as ct


def data_file(name: str) -> Path:
    """Return the path of a file in the folder CLOSERTHAN_DATA."""
    folder = os.environ.get("CLOSERTHAN_DATA")
    if folder is None or not (Path(folder) / name).exists():
        raise OSError(f"there is no {name} in the folder CLOSERTHAN_DATA")
    return Path(folder) / name


def cars() -> ct.Comparisons:
    return ct.read_comparisons(data_file("cars_most_central.csv"), self_pairs="drop")


def music() -> ct.Comparisons:
    return ct.read_comparisons(data_file("music_triplets.mat"), self_pairs="drop")


def faces() -> ct.Comparisons:
    """Return the answers of 39 people about 36 faces."""
    columns = {"anchor": "head", "near": "winner", "far": "loser", "participant": "worker_id", "split": None}
    return ct.read_comparisons(data_file("cfd36_people.csv"), columns=columns, self_pairs="drop")
