"""Table 2 and Figure 5: retrieval of images of the same class, on a map learnt from noisy comparisons."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.datasets import Labelled, digits, labelled_file, synthetic_classes
from closerthan.losses import LOSSES
from closerthan.metrics import Retrieval, retrieval, triplet_error
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.objects.from_features import FeatureRegression
from closerthan.solvers import Solver
from closerthan.wording import percent
from reproduction.bench import Bench
from reproduction.drawing import Axes, Line, draw_lines
from reproduction.methods import DEFAULTS, GRID, LOSS_NAMES, QUICK_GRID, Tuning, methods, tuned, tuning_table
from reproduction.page import Block, Claim, Finding, Picture, Section, Table, Text
from reproduction.printed import TABLE2
from reproduction.tracking import Plan, TrackedRun, track
from reproduction.trial_log import Job, Row

CUTOFFS = tuple(range(40, 101, 10))
FIGURE_NOISE = 0.10  # the noise level of Figure 5
MAIN_METHOD = "SVRG-SBB_eps-1"  # the method that the findings are about
TRIAL_SEED, TUNING_SEED = 51, 52
END, EARLY = "", "early_"  # prefixes for the last map of a run, and for the last one with the lowest held-out error


class Size(NamedTuple):
    """The size of the experiment."""

    n_train: int  # per class
    n_test: int
    n_answers: int
    n_held_out: int  # of these answers, to tune the competitors
    noises: tuple[float, ...]
    batch_sizes: tuple[int, ...]
    grid: tuple[float, ...]
    plan: Plan


FULL = Size(60, 40, 70_000, 10_000, (0.05, 0.10), (1, 5, 10, 20), GRID[3:], Plan(45, 45))
QUICK = Size(12, 8, 4_000, 500, (0.05, 0.10), (1, 20), QUICK_GRID, Plan(9, 9))


class Scene(NamedTuple):
    """The objects and answers of one trial."""

    train: Labelled
    test: Labelled
    answers: Comparisons
    held_out: Comparisons
    n_dims: int

    def objective(self, loss: str) -> CPUObjective:
        """Return the objective to minimise."""
        return CPUObjective(self.answers, LOSSES[loss]().in_dims(self.n_dims))


def run(bench: Bench) -> Section:
    """Run all methods, losses and noise levels on all sets of features."""
    size = QUICK if bench.quick else FULL
    n_trials = bench.count(5, quick=1)
    sources = _sources(bench)
    rows: list[Row] = []
    bare: dict[str, Retrieval] = {}
    reaches: dict[str, dict[str, float]] = {}
    for name, objects in sources.items():
        n_objects = objects.n_classes * size.n_train
        n_terms = size.n_answers - size.n_held_out
        scene = _scene(objects, size, 0.0, [TRIAL_SEED, 0])
        bare[name] = retrieval(scene.test.features, scene.test.labels, scene.train.features, scene.train.labels)
        jobs = []
        solvers: dict[str, dict[str, Solver]] = {}
        for loss in LOSS_NAMES:
            tune = functools.partial(_tracked_run, objects, size, size.noises[0], loss, TUNING_SEED)
            common = {"set": name, "loss": loss, **_size_settings(size, objects)}
            label = f"table2, {name}, {loss}: tuning"
            tuning = Tuning(DEFAULTS, n_objects, n_terms, size.grid, n_trials=1, by="last_error")
            best = tuned(bench.log, label, common, tuning, tune)
            reaches[f"{loss}, {name}"] = best
            solvers[loss] = methods(DEFAULTS, loss, n_objects, n_terms, best, size.batch_sizes)
        for trial in range(n_trials):
            for noise in size.noises:
                for loss in LOSS_NAMES:
                    for method, solver in solvers[loss].items():
                        settings = {
                            "stage": "trial",
                            "set": name,
                            "loss": loss,
                            **_size_settings(size, objects),
                            "noise": noise,
                            "method": method,
                            "solver": solver,
                            "trial": trial,
                        }
                        jobs.append(Job(settings, functools.partial(_trial, objects, size, noise, loss, solver, trial)))
        rows += bench.log.run(f"table2, {name}", jobs)
    bench.log.write_csv(rows)
    return _section(bench, size, sources, rows, bare, reaches, n_trials)


def _sources(bench: Bench) -> dict[str, Labelled]:
    if bench.features is not None:
        return {bench.features.stem: labelled_file(bench.features)}
    if bench.quick:
        return {"synthetic": synthetic_classes(6, 20, 100, seed=5)}
    return {"synthetic": synthetic_classes(seed=5), "digits": digits()}


def _size_settings(size: Size, objects: Labelled) -> dict[str, Any]:
    return {
        "n_classes": objects.n_classes,
        "n_features": objects.features.shape[1],
        "n_train": size.n_train,
        "n_answers": size.n_answers,
        "passes": size.plan.curve_passes,
    }


def _scene(objects: Labelled, size: Size, noise: float, seed: Sequence[int]) -> Scene:
    rng = np.random.default_rng(seed)
    train, test = objects.split(size.n_train, size.n_test, rng)
    answers = train.comparisons(size.n_answers, noise, rng)
    training, held_out = answers.split(size.n_held_out / size.n_answers, rng, by="comparisons")
    return Scene(train, test, training, held_out, objects.n_classes)


def _tracked_run(
    objects: Labelled, size: Size, noise: float, loss: str, seed: int, solver: Solver, trial: int
) -> TrackedRun:
    return _fit(_scene(objects, size, noise, [seed, trial]), size, loss, solver, [seed, trial, 1])


def _fit(scene: Scene, size: Size, loss: str, solver: Solver, seed: Sequence[int]) -> TrackedRun:
    rng = np.random.default_rng(seed)
    start = DEFAULTS.start((len(scene.train.labels), scene.n_dims), rng)
    with scene.objective(loss) as objective:
        return track(solver, objective, start, rng, scene.held_out, size.plan)


def _trial(objects: Labelled, size: Size, noise: float, loss: str, solver: Solver, trial: int) -> Mapping[str, Any]:
    scene = _scene(objects, size, noise, [TRIAL_SEED, trial])
    tracked = _fit(scene, size, loss, solver, [TRIAL_SEED, trial, 1])
    return {
        "triplet_error": tracked.last_error,
        "least_triplet_error": tracked.best_error,
        "seconds": tracked.seconds,
        "stopped_by": tracked.stopped_by,
        **{f"{END}{name}": value for name, value in _scores(scene, tracked.x).items()},
        **{f"{EARLY}{name}": value for name, value in _scores(scene, tracked.best_x).items()},
    }


def _scores(scene: Scene, x: Array) -> dict[str, float]:
    """Return the retrieval scores of a map, its training error, and the fraction of its variance within classes."""
    n_gallery = len(scene.train.labels)
    if not np.isfinite(x).all() or np.abs(x).max() > 1e100:
        # A map that has diverged retrieves nothing: all objects rank equally.
        chance = 1 / len(set(scene.train.labels.tolist()))
        recalls = {f"recall_{k}": min(k / n_gallery, 1.0) for k in CUTOFFS}
        return {"map": chance, **{f"precision_{k}": chance for k in CUTOFFS}, **recalls, "learnt": 0.5, "within": 1.0}
    queries = FeatureRegression().fit(scene.train.features, x)(scene.test.features)
    scores = retrieval(queries, scene.test.labels, x, scene.train.labels)
    last = len(scores.precision) - 1
    return {
        "map": scores.mean_average_precision,
        **{f"precision_{k}": float(scores.precision[min(k - 1, last)]) for k in CUTOFFS},
        **{f"recall_{k}": float(scores.recall[min(k - 1, last)]) for k in CUTOFFS},
        "learnt": triplet_error(scene.answers, x),
        "within": _within(x, scene.train.labels),
    }


def _within(x: Array, labels: Any) -> float:
    """Return the fraction of a map's variance that is within classes: 0 if each class is one point."""
    centred = x - x.mean(axis=0)
    total = float(np.sum(centred**2))
    for label in np.unique(labels):
        members = labels == label
        centred[members] -= centred[members].mean(axis=0)
    return float(np.sum(centred**2)) / total if total > 0 else 1.0


# ---- tables, figures and claims --------------------------------------------------------------------------------------

Key = tuple[str, str, float, str]


KINDS = {END: "at the end", EARLY: "stopped early"}


def _mean(rows: Sequence[Row], key: Key, what: str) -> float:
    values = [row[what] for row in rows if (row["set"], row["loss"], row["noise"], row["method"]) == key]
    return float(np.mean(values))


def _section(
    bench: Bench,
    size: Size,
    sources: Mapping[str, Labelled],
    rows: list[Row],
    bare: Mapping[str, Retrieval],
    reaches: Mapping[str, Mapping[str, float]],
    n_trials: int,
) -> Section:
    names = list(dict.fromkeys(row["method"] for row in rows))
    blocks: list[Block] = [
        Text(
            f"{size.n_train} objects per class for training and {size.n_test} for testing; {size.n_answers:,} triplets "
            f"(two objects of one class, one of another), a fraction of them reversed; {size.n_held_out:,} of them are "
            "held out (the competitors are tuned on such answers). p is the number of classes. All methods use the "
            f"same {size.plan.curve_passes} |Q| term gradients; {n_trials} trials. *Stopped early* is the same run, "
            "but with the last map that has the lowest error on the held-out answers. Kernel ridge regression "
            "(ridge 0.1, RBF kernel, width from the mean squared distance) maps the test features; each test object is "
            "a query against the training objects. The features of SUN397 are not available to us, so the paper's "
            "numbers are shown next to those of other data: compare the order of the methods, not the values. "
            "`--features FILE` uses your own features."
        )
    ]
    for name, objects in sources.items():
        scores = bare[name]
        blocks.append(
            Text(
                f"**{name}**: {objects.n_classes} classes, {objects.features.shape[1]:,} features. Retrieval from the "
                f"features alone, without a map, has a MAP of {scores.mean_average_precision:.3f} and a "
                f"precision@60 of {scores.precision[min(59, len(scores.precision) - 1)]:.3f} (chance: "
                f"{1 / objects.n_classes:.3f})."
            )
        )
        blocks += [_table(size, name, loss, names, rows) for loss in LOSS_NAMES]
        noise = FIGURE_NOISE if FIGURE_NOISE in size.noises else size.noises[0]
        for what, stem in (("recall", f"figure5-{name}"), ("precision", f"precision-{name}")):
            panels = {
                f"{loss}, {KINDS[kind]}": {
                    method: Line(
                        CUTOFFS, [_mean(rows, (name, loss, noise, method), f"{kind}{what}_{k}") for k in CUTOFFS]
                    )
                    for method in names
                }
                for kind in KINDS
                for loss in LOSS_NAMES
            }
            draw_lines(bench.log.folder, stem, panels, Axes("K", f"{what}@K"))
            label = "Figure 5" if what == "recall" else "The same for precision"
            blocks.append(
                Picture(stem, f"{label}, {name}: {what}@K with {percent(noise, digits=0)} of the answers reversed.")
            )
    blocks.append(
        tuning_table(
            "Step sizes of the competitors, tuned by the final held-out triplet error with "
            f"{percent(size.noises[0], digits=0)} noise (on one separate trial).",
            reaches,
            size.grid,
        )
    )
    claims = _claims(size, sources, names, rows)
    findings = [_why(size, name, rows, n_trials) for name in sources]
    return Section("table2", "Table 2 and Figure 5: retrieval", blocks, claims, findings)


def _why(size: Size, name: str, rows: Sequence[Row], n_trials: int) -> Finding:
    """Report whether maps overfit reversed answers, and the effect of early stopping."""
    noise = size.noises[0]

    def mean(loss: str, method: str, what: str) -> float:
        return _mean(rows, (name, loss, noise, method), what)

    def both(loss: str, method: str, what: str) -> str:
        return " / ".join(f"{mean(loss, method, f'{kind}{what}'):.3f}" for kind in KINDS)

    # A map that follows the classes contradicts the reversed answers, a fraction `noise` of the training answers.
    overfits = [loss for loss in LOSS_NAMES if mean(loss, MAIN_METHOD, "learnt") < noise / 2]
    gains = [mean(loss, MAIN_METHOD, f"{EARLY}map") - mean(loss, MAIN_METHOD, "map") for loss in LOSS_NAMES]
    gaps = [mean(loss, "cvx", f"{EARLY}map") - mean(loss, MAIN_METHOD, f"{EARLY}map") for loss in LOSS_NAMES]
    listed = "; ".join(
        f"{loss} {both(loss, MAIN_METHOD, 'learnt')}, {both(loss, MAIN_METHOD, 'within')} "
        f"({both(loss, 'cvx', 'within')}), {both(loss, MAIN_METHOD, 'map')} ({both(loss, 'cvx', 'map')})"
        for loss in LOSS_NAMES
    )
    tighter = all(
        mean(loss, "cvx", f"{EARLY}within") < mean(loss, MAIN_METHOD, f"{EARLY}within") for loss in LOSS_NAMES
    )
    return Finding(
        f"Retrieval, {name} data, {percent(noise, digits=0)} of the answers reversed, {n_trials} trials: the last map "
        f"of {MAIN_METHOD} fits most reversed answers (it overfits) with {', '.join(overfits) or 'no loss'}. Early "
        f"stopping changes its MAP by {min(gains):+.3f} to {max(gains):+.3f}. The MAP of the convex map, also stopped "
        f"early, differs from that by {min(gaps):+.3f} to {max(gaps):+.3f}"
        f"{', and its classes are tighter with every loss' if tighter else ''}.",
        f"A map that follows the classes contradicts the reversed answers, a fraction of {noise:g}. "
        "Training error, variance within classes (convex) and MAP (convex), each at the end / stopped early: "
        f"{listed}.",
    )


def _table(size: Size, name: str, loss: str, methods_run: Sequence[str], rows: Sequence[Row]) -> Table:
    header = [loss.upper(), "paper: MAP 5 %", "P@60", "MAP 10 %", "P@60"]
    for noise in size.noises:
        header += [f"ours: MAP {percent(noise, digits=0)}", "P@60", "triplet error", "stopped early: MAP", "P@60"]
    best = {
        (noise, kind): max(_mean(rows, (name, loss, noise, method), f"{kind}map") for method in methods_run)
        for noise in size.noises
        for kind in KINDS
    }
    lines = []
    for method in methods_run:
        printed = TABLE2[loss].get(method)
        cells = [f"{value:.4f}" for value in printed] if printed else [""] * 4
        for noise in size.noises:
            key = (name, loss, noise, method)
            for kind in KINDS:
                value = _mean(rows, key, f"{kind}map")
                cells.append(f"**{value:.4f}**" if value == best[noise, kind] else f"{value:.4f}")
                cells.append(f"{_mean(rows, key, f'{kind}precision_60'):.4f}")
                cells += [f"{_mean(rows, key, 'triplet_error'):.3f}"] if kind == END else []
        lines.append([method, *cells])
    return Table(
        f"{loss.upper()}, {name}: MAP and precision@60; the triplet error is on held-out answers, noise included.",
        header,
        lines,
    )


def _claims(size: Size, sources: Mapping[str, Labelled], names: Sequence[str], rows: Sequence[Row]) -> list[Claim]:
    claims = []
    ours = [method for method in names if method.startswith("SVRG-SBB_eps")]
    others = [method for method in names if method not in ours]
    for name, noise, kind in itertools.product(sources, size.noises, KINDS):
        measured, cases = [], {}
        for loss in LOSS_NAMES:
            values = {method: _mean(rows, (name, loss, noise, method), f"{kind}map") for method in names}
            best, rival = max(ours, key=values.__getitem__), max(others, key=values.__getitem__)
            cases[loss] = values[best] > values[rival]
            measured.append(f"{loss}: {values[best]:.3f} ({best}) against {values[rival]:.3f} ({rival})")
        claims.append(
            Claim(
                f"SVRG-SBB_eps leads in MAP at {percent(noise, digits=0)} noise for each loss",
                "; ".join(measured),
                cases,
                f"{name}, {KINDS[kind]}",
            )
        )
    return claims
