# ruff: noqa: E501 - prose
"""Sensitivity to the defaults: held-out errors of the defaults and of neighbouring values, over shapes of data.

    python -m benchmarks.defaults            writes docs/defaults.md and its tables in docs/measured (about ten minutes)
    python -m benchmarks.defaults --races    only the tables about ``loss="auto"``, docs/measured/defaults-*.md

Errors are the same on any machine. These tables have a column of seconds of processor time, for which the machine should be idle.
"""

import argparse
import contextlib
import dataclasses
import datetime
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import closerthan as ct
from benchmarks.measured import DOCS, measured_on, write_measured
from benchmarks.tables import table
from closerthan.fit import loss_race
from closerthan.solvers.steps import EPSILON, FIRST_STEP, LONGEST
from closerthan.solvers.svrg import LEAST_SHARED_BATCH
from closerthan.wording import percent

EPOCHS = 20
STARTS = (1, 2, 4, 8)
TOLERANCES = (1e-2, 1e-3, 1e-4, None)
WINDOWS = (1, 3, 6)
PATIENCES = (5, 20, 40)
WORTHWHILE = (0.01, 0.03, 0.1)
RACE: dict[str, tuple[Any, ...]] = {  # numbers of fit/loss_race.py, and their neighbours
    "SURVIVORS": (3, 8),
    "ROUNDS": (1, 3),
    "LONGER": (1, 4),
    "EPOCHS": (1, 3),
    "MOST_ITERATIONS": (8, 20),
    "ITERATED": (40_000, 160_000),
    "HELD_OUT": (0.1,),
    "CLEARLY": (0.5, 2.0),
    "FEW_ANSWERS": (0, 1_000_000),
    "PENALTY_GRID": (
        (0.1,),
        (0.001, 0.1),
        (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    ),
    "FIRST": ((("tste-2", 0.1),),),
    "FITTED": (3_000,),
    "STARTS": (1, 2, 16),
}
WITH_PENALTY: tuple[dict[str, Any], ...] = (  # rules of the default solver, in fits whose penalty the race chose
    {"finish": 1e-9},
    {"finish": 100.0},
    {"enough": 1e-9},
    {"enough": 1e9},
    {"small_start": 1.0},
    {"extra_dimensions": None},
    {"worthwhile": 0.01},
    {"worthwhile": 0.1},
    {"tolerance": 1e-2},
    {"tolerance": 1e-4},
)
MANY: tuple[dict[str, Any], ...] = (  # the same for shapes of many answers
    {"enough": 1e-9},
    {"enough": 1e9},
    {"EPOCHS": 1},
    {"EPOCHS": 3},
    {"CANDIDATE_EPOCHS": 2},
    {"CANDIDATE_EPOCHS": 4},
    {"ENOUGH": 10},
    {"FIRST": (("tste-2", 0.1),)},
    {"STRONG_PENALTIES": ()},
)
RACES = 2  # factor on the number of seeds, because the winner of a race depends on chance
SMALL = 1e-3  # smaller objectives count as this value


class Batches(ct.solvers.SVRG):
    """SVRG-SBB in 32 batches per epoch, however small the data."""

    def run(self, objective: Any, start: Any, rng: Any, monitor: Any, state: Any = None) -> Any:
        batched = ct.solvers.SVRG(batch_size=max(objective.n_terms // 32, 1))
        return batched.run(objective, start, rng, monitor, state)


class Shape(NamedTuple):
    """A kind of data set."""

    n_objects: int
    n_dims: int
    n_triplets: int
    flipped: float

    @property
    def cells(self) -> list[str]:
        """The first cells of its row in a table, under ``SHAPE_HEADER``."""
        return [f"{self.n_objects:,}", f"{self.n_dims}", f"{self.n_triplets:,}", percent(self.flipped, digits=0)]


SHAPE_HEADER = ("objects", "dimensions", "triplets", "flipped")
SHAPES = [
    Shape(20, 2, 2_000, 0.0),
    Shape(20, 2, 400, 0.1),
    Shape(50, 3, 500, 0.1),
    Shape(100, 10, 10_000, 0.0),
    Shape(100, 2, 20_000, 0.1),
    Shape(200, 5, 2_000, 0.1),
    Shape(200, 50, 200_000, 0.0),
    Shape(300, 2, 2_400, 0.0),
    Shape(300, 5, 20_000, 0.3),
    Shape(1_000, 1, 50_000, 0.0),
    Shape(1_000, 2, 12_000, 0.1),
    Shape(1_000, 2, 100_000, 0.2),
    Shape(1_000, 10, 200_000, 0.0),
    Shape(10_000, 10, 2_000_000, 0.0),
    Shape(100_000, 5, 1_000_000, 0.0),
    Shape(100_000, 2, 3_000_000, 0.1),
]


class Setting(NamedTuple):
    """A way to fit: a solver and the scale of its start."""

    name: str
    solver: ct.solvers.Solver = ct.solvers.Polyak()
    scale: float = 0.1  # of the start

    def fit(self, shape: Shape, data: ct.datasets.Synthetic, loss: str, seed: int) -> tuple[list[float], float, bool]:
        """Return the held-out error after each epoch, the final objective, and whether the fit diverged."""
        # A separate stream, because with the same seed the data and the start would use the same random numbers.
        start = self.scale * np.random.default_rng([seed, 1]).standard_normal((shape.n_objects, shape.n_dims))
        errors: list[float] = []

        def watch(_: ct.history.Record, x: np.ndarray) -> None:
            errors.append(ct.triplet_error(data.test, x) if np.isfinite(x).all() else 1.0)

        result = ct.embed(
            data.train, shape.n_dims, loss=loss, penalty=0, solver=self.solver, start=start, seed=seed, epochs=EPOCHS,
            tolerance=None, callback=watch, n_threads=1,
        )  # fmt: skip
        return errors, result.best_record.objective, result.stopped_by == "diverged"


def _changed(**changed: Any) -> ct.solvers.Solver:
    return dataclasses.replace(DEFAULTS, **changed)


DEFAULTS = ct.solvers.Polyak()
DEFAULT = Setting("the default (`polyak`)")
NEIGHBOURS = [
    DEFAULT,
    Setting("SVRG-SBB (`svrg-sbb`)", ct.solvers.SVRG()),
    Setting("share of Polyak steps * 2", _changed(share=2 * DEFAULTS.share)),
    Setting("share of Polyak steps / 2", _changed(share=DEFAULTS.share / 2)),
    Setting("reach of Polyak steps * 2", _changed(reach=2 * DEFAULTS.reach)),
    Setting("reach of Polyak steps / 2", _changed(reach=DEFAULTS.reach / 2)),
    Setting("lateness of the average * 2", _changed(lateness=2 * DEFAULTS.lateness)),
    Setting("lateness of the average / 2", _changed(lateness=DEFAULTS.lateness / 2)),
    Setting("one pass per epoch", _changed(passes=1)),
    Setting("four passes per epoch", _changed(passes=4)),
    Setting("16 maps per pass in the average", _changed(snapshots=16)),
    Setting("4 maps per pass in the average", _changed(snapshots=4)),
    Setting("no extra dimensions for random starts", _changed(extra_dimensions=None)),
    Setting("extra dimensions for twice as long", _changed(extra_dimensions=24.0)),
    Setting("extra dimensions for half as long", _changed(extra_dimensions=6.0)),
    Setting("few answers: starts as large as with many", _changed(small_start=1.0)),
    Setting("maps are never enlarged", _changed(enough=1e9)),
    Setting("enough answers to enlarge a map * 2", _changed(enough=2 * DEFAULTS.enough)),
    Setting("enough answers to enlarge a map / 2", _changed(enough=DEFAULTS.enough / 2)),
    Setting("start ten times smaller", scale=0.01),
    Setting("start five times larger", scale=0.5),
]
ALONE = [
    Setting("its default", ct.solvers.SVRG()),
    Setting("epsilon / 5", ct.solvers.SVRG(step=ct.solvers.StabilizedBB(per_object=EPSILON / 5))),
    Setting("epsilon * 5", ct.solvers.SVRG(step=ct.solvers.StabilizedBB(per_object=EPSILON * 5))),
    Setting("no bound along single comparisons", ct.solvers.SVRG(step=ct.solvers.StabilizedBB(longest=1e12))),
    Setting("a bound of 1/16", ct.solvers.SVRG(step=ct.solvers.StabilizedBB(longest=1 / 16))),
    Setting("independent draws", ct.solvers.SVRG(sampling="uniform")),
    Setting("in batches, 32 per epoch", Batches()),
    Setting("start ten times smaller", ct.solvers.SVRG(), scale=0.01),
]


def shape_row(number: int) -> list[str]:
    """Return the held-out error of the default for a shape, with each loss."""
    shape, cells = SHAPES[number], []
    data = data_of(shape, number)
    for loss in ct.losses.LOSSES:
        errors, _, diverged = DEFAULT.fit(shape, data, loss, seed=0)
        cells.append(" / ".join(f"{errors[min(epoch, len(errors) - 1)]:.3f}" for epoch in (5, 10, 20)))
        cells[-1] += " (diverged)" * diverged
    return [*shape.cells, *cells]


def fits_of(setting: Setting, seeds: int) -> list[tuple[list[float], float, bool]]:
    """Return the fits of a setting to all shapes of up to 200,000 triplets, with all losses."""
    fits = []
    for number, shape in enumerate(SHAPES):
        if shape.n_triplets <= 200_000:
            data = data_of(shape, number)
            for loss in ct.losses.LOSSES:
                few = shape.n_triplets <= 20_000
                fits += [setting.fit(shape, data, loss, seed) for seed in range(seeds if few else 1)]
    return fits


def neighbours_table(settings: list[Setting], fits: list[list[tuple[list[float], float, bool]]]) -> str:
    """Return the held-out errors of each setting, averaged over all shapes and losses."""
    header = ["setting", "fits", "diverged", "held-out error after 5 epochs", "after 20 epochs"]
    rows = []
    for setting, outcomes in zip(settings, fits, strict=True):
        after = [np.mean([errors[min(epoch, len(errors) - 1)] for errors, _, _ in outcomes]) for epoch in (5, 20)]
        ends = np.maximum([[one[1], other[1]] for one, other in zip(outcomes, fits[0], strict=True)], SMALL)
        ratio = np.exp(np.mean(np.log(ends[:, 0] / ends[:, 1])))
        n_diverged = sum(diverged for _, _, diverged in outcomes)
        cells = [f"{len(outcomes)}", f"{n_diverged}", f"{after[0]:.4f}", f"{after[1]:.4f}", f"{ratio:.2f}"]
        rows.append([setting.name, *cells])
    return table([*header, "objective against the first row's"], rows)


def sizes_table(seeds: int) -> str:
    """Return errors of whole gnmds fits for several rules of enlargement; its loss is 0 on clean answers if a map is large."""
    rules = {"as far as fits best": 1e-9, "the default": DEFAULTS.enough, "never": 1e9}
    rows = []
    for number, shape in enumerate(SHAPES):
        if shape not in (Shape(100, 10, 10_000, 0.0), Shape(1_000, 10, 200_000, 0.0)):
            continue
        data, cells = data_of(shape, number), []
        for enough in rules.values():
            solver = _changed(enough=enough)
            fits = [
                ct.embed(data.train, shape.n_dims, loss="gnmds", penalty=0, solver=solver, seed=seed, n_threads=1)
                for seed in range(seeds)
            ]
            error = np.mean([ct.triplet_error(data.test, fit.embedding) for fit in fits])
            cells.append(f"{error:.3f}, {np.mean([fit.history[-1].epoch for fit in fits]):.0f} epochs")
        rows.append([*shape.cells, *cells])
        print(shape, cells, flush=True)
    return table([*SHAPE_HEADER, *rules], rows)


def starts_table(seeds: int) -> str:
    """Return the error of the start with the lowest objective, for several numbers of starts."""
    rows = []
    for number, shape in enumerate(SHAPES):
        if shape.n_triplets > 20_000:
            continue
        data = data_of(shape, number)
        means = []
        for n_starts in STARTS:
            errors = [
                ct.triplet_error(
                    data.test,
                    ct.embed(
                        data.train, shape.n_dims, loss=loss, penalty=0, n_starts=n_starts, seed=seed, n_threads=1
                    ).embedding,
                )
                for loss in ct.losses.LOSSES
                for seed in range(seeds)
            ]
            means.append(f"{np.mean(errors):.4f}")
        rows.append([*shape.cells, *means])
        print(shape, means, flush=True)
    return table([*SHAPE_HEADER, *(f"{k} starts" for k in STARTS)], rows)


def stopping_table(seeds: int) -> str:
    """Return the number of epochs and the error for several stopping rules."""
    limits: list[dict[str, Any]] = [
        *[{"tolerance": tolerance} for tolerance in TOLERANCES],
        *[{"window": window} for window in WINDOWS],
        *[{"worthwhile": share} for share in WORTHWHILE],
        *[{"validation": 0.1, "patience": patience} for patience in PATIENCES],
    ]
    rows = []
    for changed in limits:
        settings = {"solver": _changed(**changed)} if "worthwhile" in changed else changed
        fits = list(_whole_fits(seeds, list(ct.losses.LOSSES), penalty=0, **settings))
        epochs = np.mean([fit.history[-1].epoch for _, fit in fits])
        rows.append([_change_text(changed), f"{epochs:.0f}", f"{_mean_error(fits):.4f}"])
        print(changed, epochs, flush=True)
    return table(["changed", "epochs run", "held-out error"], rows)


def auto_fits(changed: dict[str, Any], seeds: int, *, many: bool = False) -> tuple[np.ndarray, float]:
    """Return errors and seconds of ``loss="auto"`` with constants of the race (in capitals) or settings changed."""
    list(_whole_fits(1, ["auto"], many=many))  # compiles the kernels
    settings: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        for name, value in changed.items():
            if name.isupper():
                stack.enter_context(mock.patch.object(loss_race, name, value))
        if not any(map(str.isupper, changed)):
            settings = changed if "tolerance" in changed else {"solver": _changed(**changed)}
        began = time.process_time()
        fits = list(_whole_fits(seeds if many else RACES * seeds, ["auto"], many=many, **settings))
        seconds = time.process_time() - began
    return np.array([ct.triplet_error(data.test, fit.embedding) for data, fit in fits]), seconds


def auto_table(changes: list[dict[str, Any]], outcomes: list[tuple[np.ndarray, float]]) -> str:
    """Return a table of errors and seconds of ``loss="auto"``; the first row has the defaults."""
    rows = []
    (base, base_seconds), *_ = outcomes
    for changed, (errors, seconds) in zip(changes, outcomes, strict=True):
        each = errors - base
        more = f"{each.mean():.4f} ± {each.std() / np.sqrt(len(each)):.4f}" if changed else ""
        rows.append([_change_text(changed), f"{errors.mean():.4f}", more, f"{seconds / base_seconds:.2f}"])
    return table(["changed", "held-out error", "more than in the first row", "seconds against the first row's"], rows)


def _whole_fits(
    seeds: int, losses: list[str], *, many: bool = False, **changed: Any
) -> Iterator[tuple[ct.datasets.Synthetic, ct.Result]]:
    for number, shape in enumerate(SHAPES):
        if shape.n_triplets <= 20_000 if not many else 20_000 < shape.n_triplets <= 200_000:
            data = data_of(shape, number)
            for loss in losses:
                for seed in range(seeds):
                    yield data, ct.embed(data.train, shape.n_dims, loss=loss, seed=seed, n_threads=1, **changed)


def _mean_error(fits: list[tuple[ct.datasets.Synthetic, ct.Result]]) -> float:
    return float(np.mean([ct.triplet_error(data.test, fit.embedding) for data, fit in fits]))


def _change_text(changed: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` = {value}" for name, value in changed.items()) or "the default"


def data_of(shape: Shape, number: int) -> ct.datasets.Synthetic:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # objects without triplets are expected in small data sets
        return ct.datasets.synthetic(
            shape.n_objects, shape.n_dims, shape.n_triplets, 10_000, flipped=shape.flipped, seed=number
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, default=DOCS / "defaults.md")
    options.add_argument("--races", action="store_true", help='only the tables about loss="auto"')
    options.add_argument("--seeds", type=int, default=5, help="seeds for shapes of at most 20,000 triplets")
    arguments = options.parse_args()
    seeds = arguments.seeds
    with ProcessPoolExecutor() as pool:
        write_races(pool, seeds)
        if not arguments.races:
            write_page(pool, seeds, arguments.out)


def write_races(pool: ProcessPoolExecutor, seeds: int) -> None:
    """Write the tables about ``loss="auto"``."""
    changes = {
        "penalty": [{}, *WITH_PENALTY],
        "race": [{}, *({name: value} for name, values in RACE.items() for value in values)],
        "many": [{}, *MANY],
    }
    jobs = {
        name: [pool.submit(auto_fits, one, seeds, many=name == "many") for one in some]
        for name, some in changes.items()
    }
    for name, some in jobs.items():
        rows = auto_table(changes[name], [one.result() for one in some])
        write_measured(f"defaults-{name}", f"{rows}\n\n{measured_on('python -m benchmarks.defaults --races')}")


def write_page(pool: ProcessPoolExecutor, seeds: int, path: Path) -> None:
    """Measure everything else and write the page."""
    settings = {"neighbours": NEIGHBOURS, "alone": ALONE}
    rows = [pool.submit(shape_row, number) for number in reversed(range(len(SHAPES)))]  # the largest first
    fits = {name: [pool.submit(fits_of, one, seeds) for one in some] for name, some in settings.items()}
    whole = {
        name: pool.submit(job, number)
        for name, job, number in (
            ("sizes", sizes_table, seeds), ("starts", starts_table, 3), ("stopping", stopping_table, 3)
        )
    }  # fmt: skip
    tables = {name: neighbours_table(settings[name], [one.result() for one in some]) for name, some in fits.items()}
    tables |= {name: one.result() for name, one in whole.items()}
    tables["shapes"] = table([*SHAPE_HEADER, *ct.losses.LOSSES], [one.result() for one in reversed(rows)])
    page = [
        "# Defaults that need no tuning",
        "",
        f"Made by `python -m benchmarks.defaults` on {datetime.date.today()}, closerthan {ct.__version__}; a table with such a line below it was made by the command named there. Errors are the fraction of "
        "noise-free test triplets that the map contradicts.",
        "",
        "[How it works](how-it-works.md) explains the parameters of the default solver, `polyak`. Those of the paper's solver (`svrg-sbb`) are:",
        "",
        "- The objective is a *mean* over comparisons, so the gradient and the curvature of one object's row shrink like "
        "1/n. A step size that suits 100 objects is far too small for 10,000. The epsilon of the paper's solver, a lower bound on the "
        f"curvature, therefore scales with the data: it is the larger of {EPSILON:g} / n and {1 / LONGEST:g} / |Q|. The second value bounds the step "
        f"along any single comparison by {LONGEST:g}, and applies below {1 / LONGEST / EPSILON:g} comparisons per object.",
        f"- The first epoch of SVRG-SBB has a total step size of {FIRST_STEP:g} n (that is eta_0 = {FIRST_STEP:g} n / |Q|), and starts are drawn from N(0, 0.1^2).",
        "",
        "## Held-out error after 5 / 10 / 20 epochs, one start",
        "",
        tables["shapes"],
        "",
        "A few noisy answers are overfitted with any step size: use a penalty, as `loss=\"auto\"` does.",
        "",
        "## Neighbouring values",
        "",
        "One setting is changed at a time; means over all losses and over the shapes above with at most 200,000 triplets. The last "
        f"column is the geometric mean of the final objective relative to that of the first row (values below {SMALL:g} count as {SMALL:g}): above 1 is worse.",
        "",
        tables["neighbours"],
        "",
        "The rule for enlarging a map matters little in these means, but it does on single data sets (whole fits, gnmds):",
        "",
        tables["sizes"],
        "",
        "The same for SVRG-SBB:",
        "",
        tables["alone"],
        "",
        "## Batch size and sampling",
        "",
        "For SVRG, single comparisons and batches of 1/32 of the data differ little per epoch (see the rows above), and so do shuffled "
        "passes and independent draws. Speed decides: single comparisons touch three rows of the map, in passes over runs of neighbouring "
        "answers that are read once; batches can be divided among threads. The default is therefore one comparison per step, or 1/32 of the data "
        f"if that is at least {LEAST_SHARED_BATCH:,} comparisons and two per object. Polyak steps always follow single comparisons; two threads take one half "
        "of a long stretch each.",
        "",
        "## Starts",
        "",
        "Mean held-out error, over all losses without a penalty, of the start with the lowest objective:",
        "",
        tables["starts"],
        "",
        "Without a penalty, one start is the default, because starts with extra dimensions differ little. If the penalty is chosen, there are more, which are compared "
        "after a few epochs, and only the best one is completed: one from 65,536 comparisons on, otherwise four.",
        "",
        "## Stopping",
        "",
        "A fit ends after 100 epochs, or when three epochs have lowered the best objective by less than the tolerance, as a fraction of the total gain over a map with all objects in one place. The table shows means over the "
        "shapes with at most 20,000 triplets and all losses (`patience` applies only with `validation=`). `worthwhile` is the gain that an epoch must have at first, as the same fraction; "
        "otherwise the default solver halves its steps:",
        "",
        tables["stopping"],
        "",
        "## Fits with a penalty",
        "",
        "`loss=\"auto\"` on the same shapes, with twice the number of seeds; one rule of the default solver is changed at a time. `finish` is the number of comparisons "
        "per coordinate below which L-BFGS finishes a fit (± the standard error over seeds, on the same answers):",
        "",
        "```{include} measured/defaults-penalty.md",
        "```",
        "",
        "## The race of losses and penalties",
        "",
        "`loss=\"auto\"` on the same shapes, with twice the number of seeds; one constant of `fit/loss_race.py` is changed at a time "
        "(± the standard error over seeds, on the same answers):",
        "",
        "```{include} measured/defaults-race.md",
        "```",
        "",
        "Rows without an effect above can have one elsewhere. `MOST_ITERATIONS` = 8 lowers the accuracy after chosen questions about 90 eggs on a line from 95.3 to 94.6 % (4 studies). `LONGER` = 1 raises the errors of six sets of people's answers by .0007 ± .0003. `CLEARLY` saves up to a tenth of the time on clean answers, `SURVIVORS` up to a fifth on people's. `small_start` = 1 raises errors by .001 ± .0006 on average over 22 sets of simulated answers, by .004 ± .003 on a line, and by .003 for losses without a penalty on the ten shapes of `benchmarks.better_maps`. More starts than one do not lower the errors of people's answers either; four show whether different starts lead to the same map.",
        "",
        f"The same with half the number of seeds for the {sum(20_000 < shape.n_triplets <= 200_000 for shape in SHAPES)} shapes with 50,000 to 200,000 triplets:",
        "",
        "```{include} measured/defaults-many.md",
        "```",
        "",
        "STRONG_PENALTIES (2 and 4) race from MANY_ANSWERS (65,536 comparisons) on, and only where 1 is better than weaker ones. On THINGS (127,304 odd-one-out answers, a tenth held out, two splits), "
        "the held-out errors are .3005 and .2954 for tste in 20 dimensions if the grid ends at 1, and .2863 and .2841 if it ends at 2 or 4; for ste .3284 if it ends at 1, .3147 at 2 and .2958 at 4 (first split). These fits race one or two candidates more. With few answers, chance often favours them: with 400 simulated odd-one-out answers about 20 objects (ste), six sets, the map is .49 instead of .41 from the true points, and 47 instead of 68 % of these are inside the 95 % ellipses.",
        "",
        "ENOUGH (20 per coordinate), MOST_HELD_OUT (20,000) and MOST_DRAWN (60 million comparisons) limit the race on large files only: with 20,000 answers, an error of "
        "10 % has a standard error of .002, which is the smallest difference that matters.",
        "",
        "## The learning curve",
        "",
        "One constant is changed at a time:",
        "",
        "```{include} measured/enough-constants.md",
        "```",
        "",
        "## Constants without a row",
        "",
        "The default solver has 24 constants, including those of starts and stopping. The race of losses has its own, and so has the use of the processor.",
        "",
        "- Geometry of a step: at most 1/8 of 1 / slope, which keeps a pair from losing more than half of its difference; the count of comparisons is multiplied by four after an epoch "
        "with little progress, which halves steps that shrink with its square root.",
        "- A start is smaller if there are more extra dimensions than dimensions, which is the case for one to three dimensions.",
        "- Factors for the size of a map after a pass: a half to four, in quarters of an octave (in octaves, down to 1/16, when the extra dimensions are dropped); 1,024 "
        "answers determine them, which gives a mean loss to a thirtieth of its spread. An error above 40 % counts as chance.",
        "- The processor: rows of 8 single-precision numbers (a vector); 16 comparisons at a time (their losses fill vectors), but at most a quarter of the number of objects, because the same objects would otherwise move repeatedly; rows prefetched 8 comparisons ahead; "
        "orders copied 1,024 at a time (8 KB); 16 neighbours read in succession (three cache lines); 64 runs visited in turn; at most 2^14 runs (drawing their order takes a tenth of a pass); a map added to the "
        "average at most once in an eighth of its number of coordinates (a tenth of a pass) and at least once in 2^17 comparisons (an order of 1 MB); parts of at least 2^14 comparisons per thread (0.2 ms) "
        "and at most 16 of them; 1 ms of spinning before a thread sleeps; and parallel fits from 16,000 comparisons on (shorter ones would wait for Python), on Linux in one forked process per 20,000 comparisons to fit (forking takes about as long, 15 ms).",
        "",
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(page), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
