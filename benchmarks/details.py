"""Details: all tables and figures of a run, as Markdown beside the raw results."""

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks import startup
from benchmarks.fits import ENOUGH, ENOUGH_OF_LARGE, ENOUGH_OF_REAL, FEWEST_RUNS, LARGE_LIMIT, LARGE_RUNS
from benchmarks.results import Record, Results
from benchmarks.summary import Fits, Spread, fits_on
from benchmarks.tables import counted, table
from benchmarks.targets import Finding
from benchmarks.workloads import NEEDS_DATA, WORKLOADS

KERNELS = (
    "inner step",
    "inner step, in sequence",
    "inner step, permuted",
    "inner step, uniform",
    "gradient",
    "Polyak step",
)
METHODS = {"closerthan": "closerthan", "lbfgs": "L-BFGS, our objective", "cblearn": "cblearn", "auto": "closerthan"}


def write(path: Path, results: Results, findings: Sequence[Finding], figures: Sequence[tuple[Path, str]]) -> None:
    """Write the file; figures are linked relative to it."""
    runs = results.where(part="run")
    parts = [
        "# Benchmarks: all tables",
        "Written by `python -m benchmarks`, beside the raw results (`results.jsonl`).",
        _machine(runs, results.where(part="end")),
        _rules(runs[-1]),
        "## Targets",
        counted(findings),
        table(
            ("target", "where", "wanted", "measured", "verdict"),
            ((f.target, f.where, f.goal, f.measured, _bold(f)) for f in findings),
        ),
    ]
    images = {file.stem: f"![{caption}]({file.name})\n\n*{caption}*" for file, caption in figures}
    parts += ["## Fits", images.get("fits", "Not measured.")]
    parts += [_workload(results, name) for name in WORKLOADS if fits_on(results, name)]
    missing = [name for name in NEEDS_DATA if not fits_on(results, name)]
    if missing and results.where(part="fits"):
        parts.append(f"Not measured because the data is missing (`CLOSERTHAN_DATA`): {', '.join(missing)}.")
    parts += ["## Kernels", images.get("kernels", "Not measured."), _kernels(results), _instructions(results)]
    parts += ["## Growth", images.get("growth", "Not measured."), _growth(results)]
    parts += ["## Memory", _memory(results), "## Startup", _startup(results)]
    parts += ["## 10^8 triplets", images.get("large", "Not measured (`--large`)."), _large(results)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def _machine(runs: Sequence[Record], ends: Sequence[Record]) -> str:
    last = runs[-1]
    facts = ", ".join(f"{name} {value}" for name, value in last["machine"].items())
    first = min(record["at"] for record in runs)
    when = first if first == last["at"] else f"{first} (parts again until {last['at']})"
    took = f" It took {ends[-1]['seconds'] / 60:.0f} minutes." if ends and len(runs) == 1 else ""
    busy = f" Load of the machine when it began: {last['load']}." if last["load"] is not None else ""
    return f"Measured {when} on: {facts}.{took}{busy}"


def _rules(run: Record) -> str:
    settings = run["settings"]
    lines = [
        "All methods read the same files in the same run. Times are medians, with the lowest and the highest in "
        "brackets. Peers run with their defaults in environments of their own (cblearn 0.4.0 with NumPy below 2). A "
        f'fit that takes longer than the limit ({settings["limit"]:.0f} s) is shown as "> limit" and enters the '
        "targets as a bound. Our times include setting up and solving, but neither compilation (see Startup) nor the "
        "evaluation of held-out answers, which no fit sees. Adam is shown with learning rates 0.01 and 0.1; its "
        "default is too slow here.",
    ]
    if not settings["full"]:
        lines.append(
            f"Shortened (`--full` measures everything): at most {settings['runs']} runs, and no further run once a "
            f"method has taken {ENOUGH:.0f} s in total ({ENOUGH_OF_REAL:.0f} s on real answers, of which few are held "
            f"out), but at least {FEWEST_RUNS} on one core. At n = 10,000: at most {LARGE_RUNS} runs of closerthan and "
            f"of L-BFGS ({ENOUGH_OF_LARGE:.0f} s), one of the others, two of our losses for at most "
            f"{LARGE_LIMIT:.0f} s each, and cblearn on the clean answers only. On all cores: our ste and auto, and "
            "cblearn on one workload. Left out: cblearn's estimators that need PyTorch (FORTE, OENN, LORE). Adam runs "
            "on two workloads for 3 s, L-BFGS on one core."
        )
    if settings["quick"]:
        lines.append("**A rehearsal (`--quick`): these times mean nothing.**")
    return "\n\n".join(lines)


def _bold(finding: Finding) -> str:
    return f"**{finding.verdict}**" if finding.met is False else finding.verdict


def _spread(spread: Spread, form: str) -> str:
    middle, low, high = (format(number, form) for number in (spread.middle, spread.low, spread.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def _workload(results: Results, name: str) -> str:
    fits = fits_on(results, name)
    goal = _common_error(fits)
    rows = [_fit(one, goal) for one in fits]
    header = ("method", "loss", "threads", "runs", "held-out error", "seconds to fit", f"seconds to {goal:.3f}", "MB")
    return f"### {name}\n\n{WORKLOADS[name].title}.\n\n" + table(header, rows)


def _common_error(fits: Sequence[Fits]) -> float:
    """Return an error that most methods reach: the median final error of cblearn's estimators, or of ours."""
    ends = [one.error.middle for one in fits if one.method == "cblearn" and one.done]
    ends = ends or [one.error.middle for one in fits if one.done]
    return math.ceil(1000 * sorted(ends)[len(ends) // 2]) / 1000 if ends else math.nan


def _fit(one: Fits, goal: float) -> Sequence[str]:
    method = METHODS.get(one.method, f"{one.method.capitalize()}, our objective")
    start = (method, one.loss, str(one.threads), str(len(one.done)))
    if not one.done:
        if one.over_limit is not None:
            return (*start, "", f"> {one.over_limit:.0f}", "", "")
        return (*start, f"failed: {one.failed}", "", "", "")
    reached = ""
    if one.done[0].get("curve_error"):
        seconds = one.seconds_to(goal)
        reached = "never" if math.isinf(seconds.middle) else _spread(seconds, ".3g").replace("inf", "never")
    size = "" if math.isnan(one.megabytes) else f"{one.megabytes:,.0f}"
    return (*start, _spread(one.error, ".4f"), _spread(one.seconds, ".3g"), reached, size)


def _kernels(results: Results) -> str:
    stream = results.where(part="kernels", kernel="stream")
    if not stream:
        return ""
    bandwidth = stream[-1]["gb_per_second"]
    rows = [
        (
            record["kernel"],
            record["loss"],
            f"{record['n_objects']:,}",
            str(record.get("threads", 1)),
            f"{record['ns']:.1f} ({record['lowest']:.1f} to {record['highest']:.1f})",
            f"{record['bytes']}",
            f"{record['bytes'] / record['ns']:.1f}",
        )
        for kernel in KERNELS
        for record in results.where(part="kernels", kernel=kernel)
    ]
    header = ("kernel", "loss", "n", "threads", "ns per term and thread", "bytes touched", "GB/s per thread")
    return (
        f"A plain stream (`c = a + b` over arrays beyond any cache) moves {bandwidth:.1f} GB/s on one thread. Bytes "
        "touched counts rows read and written and the comparison itself, wherever they come from (mostly caches).\n\n"
        + table(header, rows)
    )


def _instructions(results: Results) -> str:
    rows = [
        (record["kernel"], record["loss"], str(record["instructions"])) for record in results.where(part="instructions")
    ]
    return table(("kernel, p = 10, AVX2", "loss", "instructions per comparison"), rows) if rows else ""


def _growth(results: Results) -> str:
    rows = [
        (
            record["axis"],
            f"{record['size']:,}",
            str(record["threads"]),
            f"{1e3 * record['seconds']:.3g} ({1e3 * record['lowest']:.3g} to {1e3 * record['highest']:.3g})",
        )
        for record in results.where(part="growth")
    ]
    return table(("quantity", "grows to", "threads", "ms per epoch"), rows) if rows else ""


def _memory(results: Results) -> str:
    rows = [
        (
            f"{record['n_objects']:,}",
            f"{record['n_rows']:,}",
            str(record["n_dims"]),
            str(record["threads"]),
            f"{record['peak_bytes'] / 1e6:.1f}",
            f"{record['maps_per_thread']:.1f}",
        )
        for record in results.where(part="memory")
    ]
    header = ("n", "comparisons", "p", "threads", "peak beyond the data, MB", "in maps (n p float64) per thread")
    return table(header, rows) if rows else "Not measured."


def _startup(results: Results) -> str:
    names = {
        "numpy": "`import numpy`",
        "import": "`import numpy; import closerthan`",
        "import all": "import everything that a fit needs",
    }
    for loss in startup.LOSSES:
        names[loss] = f'fit eurodist, loss="{loss}", compiled code on disk'
        names[f"{loss}, compiling"] = f'fit eurodist, loss="{loss}", nothing compiled yet'
    rows = [(names[record["program"]], f"{record['seconds']:.2f}") for record in results.where(part="startup")]
    return table(("a new process, start to finish", "seconds"), rows) if rows else "Not measured."


def _large(results: Results) -> str:
    rows = [
        (
            f"{record['n_rows']:,}",
            f"{record['peak_gb']:.2f}",
            f"{record['checking_seconds']:.1f}",
            str(len(record["curve_seconds"]) - 1),
            f"{record['curve_seconds'][-1]:.0f}",
            f"{min(record['curve_error']):.4f}",
        )
        for record in results.where(part="large")
    ]
    header = ("triplets", "peak memory, GB", "seconds to check them", "epochs", "seconds", "best held-out error")
    return table(header, rows) if rows else ""
