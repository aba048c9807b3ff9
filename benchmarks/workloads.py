"""Workloads: the data sets that all methods are run on."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import closerthan as ct

ALL_LOSSES = ("gnmds", "ste", "tste", "ckl", "soe")
Parts = tuple[ct.Comparisons, ct.Comparisons]


@dataclass(frozen=True)
class Workload:
    """Training answers, held-out answers, and the losses to run on them."""

    name: str
    title: str
    n_dims: int
    make: Callable[[], Parts]
    losses: tuple[str, ...] = ALL_LOSSES
    peer_losses: tuple[str, ...] = ALL_LOSSES  # of cblearn's estimators; if empty, ``losses`` with --full only
    large: bool = False  # few runs of each method unless --full is given
    real: bool = False  # answers of real people, or measured distances

    def saved(self, folder: Path) -> Path:
        """Return the .npz file of the answers that all methods read, which is written if necessary."""
        path = folder / f"{self.name}.npz"
        if not path.exists():
            train, test = self.make()
            folder.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".draft.npz")
            np.savez(draft, train=train.rows, test=test.rows, n_objects=train.n_objects, n_dims=self.n_dims)
            draft.replace(path)
        return path


def _synthetic(n_objects: int, n_dims: int, n_train: int, **options: float | bool) -> Callable[[], Parts]:
    def make() -> Parts:
        data = ct.datasets.synthetic(n_objects, n_dims, n_train, 10_000, seed=1, **options)  # type: ignore[arg-type]
        return data.train, data.test

    return make


def _split(read: Callable[[], ct.Comparisons], share: float) -> Callable[[], Parts]:
    return lambda: read().split(share, np.random.default_rng(1))


def _eurodist() -> ct.Comparisons:
    return ct.datasets.eurodist().comparisons()


def _music() -> ct.Comparisons:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # 12 artists occur only in answers that are dropped
        return ct.read_comparisons(data_folder() / "music_triplets.mat", self_pairs="drop")


def _cars() -> ct.Comparisons:
    return ct.read_comparisons(data_folder() / "cars_most_central.csv")


def data_folder() -> Path:
    """Return the folder of the real data sets, which are not part of the project."""
    return Path(os.environ.get("CLOSERTHAN_DATA", "data"))


_FEW = ("ste", "gnmds")

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "table1",
            "Table 1's synthetic set: n = 100, 10,000 triplets, p = 10",
            10,
            _synthetic(100, 10, 10_000),
        ),
        Workload(
            "thousand",
            "n = 1,000, 200,000 triplets, p = 10, clean",
            10,
            _synthetic(1_000, 10, 200_000),
        ),
        Workload(
            "thousand-flipped",
            "n = 1,000, 200,000 triplets, p = 10, 10 % flipped",
            10,
            _synthetic(1_000, 10, 200_000, flipped=0.1),
        ),
        Workload(
            "ten-thousand",
            "n = 10,000, 2,000,000 triplets, p = 10, clean",
            10,
            _synthetic(10_000, 10, 2_000_000),
            losses=_FEW,
            large=True,
        ),
        Workload(
            "ten-thousand-flipped",
            "n = 10,000, 2,000,000 triplets, p = 10, 10 % flipped",
            10,
            _synthetic(10_000, 10, 2_000_000, flipped=0.1),
            losses=_FEW,
            peer_losses=(),
            large=True,
        ),
        Workload(
            "plane",
            "noisy answers in 2-D: 100 objects, 200,000 triplets, 20 % flipped",
            2,
            _synthetic(100, 2, 200_000, flipped=0.2),
        ),
        Workload(
            "few",
            "few answers in 2-D: 300 objects, 2,400 triplets, 10 % flipped",
            2,
            _synthetic(300, 2, 2_400, flipped=0.1),
        ),
        Workload("music-2", "music, p = 2", 2, _split(_music, 0.2), real=True),
        Workload("music-9", "music, p = 9", 9, _split(_music, 0.2), real=True),
        Workload("cars", "cars, p = 2", 2, _split(_cars, 0.2), real=True),
        Workload(
            "eurodist", "eurodist, p = 2: 2,000 triplets train", 2, _split(_eurodist, 1 - 2_000 / 3_986), real=True
        ),
        Workload(
            "quadruplets",
            "quadruplets: n = 200, 50,000 of them, p = 3, 10 % flipped",
            3,
            _synthetic(200, 3, 50_000, flipped=0.1, quadruplets=True),
            peer_losses=("soe",),
        ),
    )
}
NEEDS_DATA = ("music-2", "music-9", "cars")


def available() -> dict[str, Workload]:
    """Return all workloads whose data are available."""
    here = data_folder().is_dir()
    return {name: workload for name, workload in WORKLOADS.items() if here or name not in NEEDS_DATA}
