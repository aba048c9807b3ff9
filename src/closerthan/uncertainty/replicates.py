"""Replicates: maps fitted to resampled answers, and the uncertainty of the fitted map that follows from them."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.evaluate.diagnostics import different_mentions, mentions
from closerthan.metrics import margins
from closerthan.result import Result
from closerthan.saved_arrays import read_and_parse
from closerthan.saving import whole_file
from closerthan.settings import ENDED, FitOptions, Settings, lists_options
from closerthan.uncertainty.alignment import align, size_is_free
from closerthan.uncertainty.committee import Committee
from closerthan.uncertainty.ellipses import Ellipses
from closerthan.uncertainty.neighbours import NeighbourCalibration, neighbour_probability
from closerthan.uncertainty.refitter import plan_refits
from closerthan.uncertainty.resampling import replicate_refitter, resample, resampling_unit
from closerthan.wording import counted, html_table, percent

__all__ = ["Replicates", "replicate"]

SAMPLED = 20_000  # triplets from which the fraction of decided triplets is estimated
FEWEST_PER_OBJECT = 20  # sampled triplets per object
MOST_ROWS = 20  # objects in the table of a notebook
SETTLED = 0.5  # fraction of the triplets with an object as the anchor that must be decided for it to be settled


@checked
@lists_options(FitOptions)
def replicate(
    answers: Comparisons | ArrayLike,
    n_dims: int | None = None,
    *,
    n_replicates: int = 100,
    scaling: bool | None = None,
    settings: Settings | None = None,
    result: Result | None = None,
    **options: Unpack[FitOptions],
) -> "Replicates":
    """Fit a map, and many more to resampled answers: would the map look the same with other people, or other answers?

    Parameters
    ----------
    answers, n_dims, settings
        As in :func:`closerthan.embed`.
    n_replicates
        Number of replicates: 100 are enough for ellipses, 1,000 for 95 % statements about single triplets.
    scaling
        Whether maps are also scaled when they are aligned. None means only with ckl and tste, where answers do not
        determine the size of a map.
    result
        An existing fit to the same answers, which saves fitting them again.
    options
        As in :func:`closerthan.embed`. ``by`` is the resampling unit: "people", for statements about other people
        (the default where at least five are known), "answers", for statements about other answers of the same people,
        or whole "blocks" of answers (the default where answers have blocks and fewer than five people are known).
        With ``loss="auto"`` the losses race once; replicates use the winner. All fits share the time limit.

    Returns
    -------
    Replicates
        Ctrl-C and a time limit end the computation early and keep the completed replicates, if there are at least two.

    Examples
    --------
    >>> import closerthan as ct
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> answers = ct.datasets.simulated(points, 2000, noise="ste", seed=0)
    >>> replicates = ct.replicate(answers, n_replicates=20, loss="ste", seed=0)
    >>> replicates
    Replicates(20 maps of 20 objects in 2 dimensions, 2,000 answers resampled)
    >>> bool(replicates.ellipses(0.95).contain(replicates.result.embedding).all())
    True
    """
    comparisons = Comparisons.of(answers)
    default = AUTO if settings is None else settings.by
    by = resampling_unit(comparisons, options.pop("by", default) or default)
    plan = plan_refits(comparisons, n_dims, settings, result, {**options, "by": by})
    if result is None:
        result = plan.fit(comparisons, progress=plan.progress)
    # The first fit draws from the seed itself; replicates must not repeat its draws.
    rng = np.random.default_rng(None if plan.settings.seed is None else [plan.settings.seed, 1])
    refitter = replicate_refitter(comparisons, plan, result)
    resampled = resample(refitter, result, comparisons, n_replicates, by, rng, progress=bool(plan.progress))
    counts = mentions(comparisons)
    scaling = size_is_free(result.loss) if scaling is None else scaling
    return Replicates(
        result,
        align(resampled.maps, result.embedding, counts.astype(np.float64), scaling=scaling),
        by,
        {"people": comparisons.n_people, "blocks": comparisons.n_blocks}.get(by) or comparisons.n_answers,
        different_mentions(comparisons) if comparisons.cheap_to_enumerate else counts,
        resampled.committee,
        n_replicates,
        resampled.stopped_by,
        resampled.simulated,
        plan.settings.seed,
    )


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Replicates:
    """Maps of the same objects, each fitted to resampled answers.

    Attributes
    ----------
    result
        The fit to the original answers.
    maps
        The replicates, (n_replicates, n_objects, n_dims), aligned with each other and with the fitted map.
    by, n_units
        The resampling unit, "people", "blocks" or "answers", and the number of units.
    mentions
        For each object, the number of different questions about it; repetitions of a question do not count. For a large
        file on disk, the number of comparisons.
    committee
        The maps that predict new answers: each is fitted to a part of the answers, from its own random start. If the
        computation ended before they were fitted, or if there are too few answers, these are the replicates themselves.
    n_requested
        Number of replicates that were requested.
    stopped_by
        The reason for an early end, "interrupted" (by Ctrl-C) or "time_limit"; otherwise "".
    simulated
        Replicates of studies simulated from the fitted map, (n_studies, n_replicates, n_objects, n_dims), by which
        :meth:`neighbour_probability` is calibrated. None if the computation ended early, or if there are too few
        answers to calibrate probabilities, or more than 200,000 comparisons.
    seed
        Seed of the resampling; None in files of earlier versions. It differs from the seed in the settings of
        ``result`` if the loss or its penalty was chosen, since those settings then store the seed of the best start.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = ct.datasets.eurodist().comparisons()
    >>> result = ct.embed(answers, loss="soe", seed=0)
    >>> replicates = ct.replicate(answers, result=result, n_replicates=10, seed=0)
    >>> replicates.maps.shape, bool(replicates.share_decided > 0.5)
    ((10, 21, 2), True)
    """

    result: Result
    maps: Array
    by: str
    n_units: int
    mentions: NDArray[np.int64]
    committee: Committee
    n_requested: int = 0
    stopped_by: str = ""
    simulated: Array | None = None
    seed: int | None = None

    def __len__(self) -> int:
        return len(self.maps)

    def __repr__(self) -> str:
        n_objects, n_dims = self.result.embedding.shape
        return (
            f"Replicates({counted(len(self), 'map')} of {n_objects:,} objects in {counted(n_dims, 'dimension')}, "
            f"{self.n_units:,} {self.by} resampled{f', {self.cut}' * bool(self.cut)})"
        )

    def _repr_html_(self) -> str:
        names = self.result.names or [str(number) for number in range(len(self.mentions))]
        order = np.argsort(self.decided_by_object, kind="stable").tolist()
        rows = [
            (names[one], f"{self.mentions[one]:,}", percent(self.decided_by_object[one], 0))
            for one in order[:MOST_ROWS]
        ]
        titles = ("object", "different questions", "decided triplets")
        return html_table(f"{self!r}; the least settled objects first", titles, rows, len(names))

    @property
    def calibration(self) -> Calibration | None:
        """Calibration curve of the committee, fitted to held-out answers; None if there are too few answers."""
        return self.committee.calibration

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the computation early."""
        return self.stopped_by == "interrupted"

    @property
    def cut(self) -> str:
        """Reason for an early end, in words; empty if the computation is complete."""
        if not self.stopped_by:
            return ""
        if len(self) < self.n_requested:
            return f"{ENDED[self.stopped_by]} after {len(self):,} of {self.n_requested:,}"
        return f"{ENDED[self.stopped_by]} before all probabilities were calibrated"

    @checked
    def ellipses(self, level: float = 0.95) -> Ellipses:
        """Return, for each object, an ellipse that contains its true position with this nominal probability.

        Positions are relative to the other objects and do not include the size of the whole map. The guide shows
        simulations in which the 95 % ellipse contains the true position less often. An object with too few answers
        (:attr:`placed`) has no ellipse: its numbers are NaN.
        """
        ellipses = Ellipses.around(self.result.embedding, self.maps, level)
        moments = np.where(self.placed[:, np.newaxis, np.newaxis], ellipses.moments, np.nan)
        return dataclasses.replace(ellipses, moments=moments)

    @checked
    def neighbour_probability(self, k: int = 1, of: Sequence[int] | None = None) -> Array:
        """Return the probability that object j is among the k nearest neighbours of i: row i, column j.

        This is the fraction of the replicates in which j is near, calibrated on studies simulated from the fitted map
        (:class:`~closerthan.uncertainty.neighbours.NeighbourCalibration`). Without :attr:`simulated` studies it is the
        fraction itself, which is overconfident. Pairs that are near in no replicate have probability 0, as do all
        pairs with an object that has too few answers (:attr:`placed`).

        Examples
        --------
        >>> import closerthan as ct
        >>> answers = ct.datasets.eurodist().comparisons()
        >>> replicates = ct.replicate(answers, n_replicates=10, loss="soe", seed=0)
        >>> athens, rome = (answers.names.index(city) for city in ("Athens", "Rome"))
        >>> bool(replicates.neighbour_probability(1)[athens, rome] > 0.5)
        True
        """
        placed = self.placed
        if placed.all():
            return self._calibrated(neighbour_probability(self.maps, k, of), k)
        maps = self.maps.copy()
        maps[:, ~placed] += 1e6 * (1.0 + np.abs(maps).max())  # too far away to be a neighbour of any other object
        probability = self._calibrated(neighbour_probability(maps, k, of), k)
        probability[~placed if of is None else ~placed[np.asarray(of)]] = 0.0
        return probability

    def _calibrated(self, fractions: Array, k: int) -> Array:
        """Convert fractions of the replicates to probabilities; with k = n - 1 all objects are near for certain."""
        if self.simulated is None or k == len(self.mentions) - 1:
            return fractions
        curve = NeighbourCalibration.fitted(self.simulated, self.result.embedding, k)
        return curve.probability(fractions, len(self))

    @checked
    def agreement(self, rows: Comparisons | ArrayLike) -> Array:
        """Return, for each row, a triplet or a quadruplet, the fraction of the replicates that agree with it."""
        questions = self.result.questions(rows)
        agreement = np.zeros(len(questions))
        for x in self.maps:
            agreement += margins(questions, x) > 0
        agreement /= max(len(self), 1)
        agreement[self._about(questions, self.mentions == 0)] = 0.5
        return agreement

    @checked
    def decided(self, rows: Comparisons | ArrayLike, level: float = 0.95) -> NDArray[np.bool_]:
        """Return, for each row, True if at least this fraction of the replicates agree on it or on its reverse.

        No row about an object with too few answers (:attr:`placed`) is decided.

        Examples
        --------
        >>> import closerthan as ct
        >>> replicates = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=20, loss="soe", seed=0)
        >>> replicates.decided([["Athens", "Rome", "Lisbon"]]).tolist()
        [True]
        """
        if not 0.5 < level <= 1:
            raise ParameterError("level", level, "it must lie between 0.5 and 1, as in 0.95")
        questions = self.result.questions(rows)
        agreement = self.agreement(questions)
        is_decided: NDArray[np.bool_] = np.maximum(agreement, 1.0 - agreement) >= level - 1e-12
        return is_decided & ~self._about(questions, ~self.placed)

    @checked
    def probability(self, rows: Comparisons | ArrayLike) -> Array:
        """Return the probability that a new answer agrees with each row, a triplet or a quadruplet.

        It is derived from the mean log odds of the :attr:`committee`, calibrated on held-out answers, and predicts new
        answers better than the single map does.

        Examples
        --------
        >>> import closerthan as ct
        >>> replicates = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=10, loss="soe", seed=0)
        >>> bool(replicates.probability([["Athens", "Rome", "Lisbon"]])[0] > 0.95)
        True
        """
        questions = self.result.questions(rows)
        probability = self.committee.probability(questions, self.result.loss)
        probability[self._about(questions, self.mentions == 0)] = 0.5
        return probability

    def _about(self, questions: Comparisons, objects: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the questions about any of these objects."""
        return np.asarray(objects[questions.rows].any(axis=1))

    # ---- decided triplets, settled objects ---------------------------------------------------------------------------

    @property
    def placed(self) -> NDArray[np.bool_]:
        """True for each object that takes part in enough different questions to have a meaningful position.

        The answer to a question is one bit, and p log2(n) bits are needed to find one of n ranks in each of p
        dimensions. With fewer questions, however often they are repeated, replicates agree on a position that only
        reflects the start of the fit.
        """
        n_objects, n_dims = self.result.embedding.shape
        enough: NDArray[np.bool_] = self.mentions >= n_dims * math.log2(n_objects)
        return enough

    @cached_property
    def decided_by_object(self) -> Array:
        """For each object i, the fraction of the questions "is i closer to j or to k?" that are decided at 95 %.

        The fraction is estimated from a sample of all questions, which is always the same.
        """
        n_objects = len(self.mentions)
        each = max(FEWEST_PER_OBJECT, -(-SAMPLED // n_objects))
        rng = np.random.default_rng(0)
        anchor = np.repeat(np.arange(n_objects), each)
        near = rng.integers(n_objects - 1, size=len(anchor))
        far = rng.integers(n_objects - 2, size=len(anchor))
        near += near >= anchor  # all three objects differ
        low, high = np.minimum(anchor, near), np.maximum(anchor, near)
        far += far >= low
        far += far >= high
        rows = np.stack([anchor, near, far], axis=1).astype(np.int32)
        questions = Comparisons.from_triplets(rows, n_objects=n_objects, unmentioned="ignore")
        fractions: Array = self.decided(questions).reshape(n_objects, each).mean(axis=1)
        return fractions

    @property
    def share_decided(self) -> float:
        """The fraction of all triplets on which 95 % of the replicates agree."""
        return float(self.decided_by_object.mean())

    @property
    def unsettled(self) -> NDArray[np.int64]:
        """Objects i for which fewer than half of the questions "is i closer to j or to k?" are decided at 95 %.

        The least settled come first. All objects with too few answers (:attr:`placed`) are among them.
        """
        fractions = self.decided_by_object
        order = np.argsort(fractions, kind="stable")
        return order[fractions[order] < SETTLED]

    # ---- files -------------------------------------------------------------------------------------------------------

    @checked
    def save(self, path: str | Path) -> None:
        """Write the replicates to an .npz file, atomically; :meth:`load` reads it.

        Examples
        --------
        >>> import closerthan as ct, tempfile, pathlib
        >>> replicates = ct.replicate(ct.datasets.eurodist().comparisons(), n_replicates=10, loss="soe", seed=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     replicates.save(pathlib.Path(folder) / "replicates.npz")
        ...     loaded = ct.Replicates.load(pathlib.Path(folder) / "replicates.npz")
        >>> bool((loaded.maps == replicates.maps).all())
        True
        """
        about = {
            "by": self.by,
            "n_units": self.n_units,
            "n_asked": self.n_requested,
            "seed": self.seed,
            "stopped_by": self.stopped_by,
            "calibration": None if self.calibration is None else self.calibration.to_data(),
        }
        arrays: dict[str, Any] = {f"result_{name}": array for name, array in self.result.to_arrays().items()}
        if self.simulated is not None:
            arrays["simulated"] = self.simulated
        with whole_file(path) as file:
            np.savez_compressed(
                file,
                maps=self.maps,
                mentions=self.mentions,
                committee=self.committee.maps,
                spreads=self.committee.spreads,
                about=np.array(json.dumps(about)),
                **arrays,
            )

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote."""
        return read_and_parse(path, "file of replicates", cls._from_arrays)

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        if "maps" in arrays and "committee" not in arrays:
            raise ValueError(
                "it was written by an earlier version, without the committee that predicts answers; create it again "
                "with closerthan fit --replicates or ct.replicate"
            )
        about = json.loads(str(arrays["about"]))
        parts = {name.removeprefix("result_"): array for name, array in arrays.items() if name.startswith("result_")}
        result, maps, members = Result.from_arrays(parts), arrays["maps"], arrays["committee"]
        lengths = {"mentions": len(result.embedding), "spreads": len(members)}
        for some in (maps, members):
            if some.ndim != 3 or some.shape[1:] != result.embedding.shape or not np.isfinite(some).all():
                raise ValueError(f"its maps have shape {some.shape}, which does not match its fitted map")
        simulated = arrays.get("simulated")
        if simulated is not None and (
            simulated.ndim != 4 or simulated.shape[2:] != result.embedding.shape or not np.isfinite(simulated).all()
        ):
            raise ValueError(f"its simulated maps have shape {simulated.shape}, which does not match its fitted map")
        if any(arrays[name].shape != (length,) for name, length in lengths.items()):
            raise ValueError("its arrays have lengths that do not match each other")
        return cls(
            result,
            maps,
            str(about["by"]),
            int(about["n_units"]),
            arrays["mentions"],
            Committee(members, arrays["spreads"], Calibration.from_data(about["calibration"])),
            int(about["n_asked"]),
            str(about["stopped_by"]),
            simulated,
            None if about.get("seed") is None else int(about["seed"]),
        )
