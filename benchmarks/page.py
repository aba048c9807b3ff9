"""The page docs/benchmarks.md, generated from an overview alone."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from benchmarks.overview import Overview
from benchmarks.tables import table
from benchmarks.targets import CLOSE_ENOUGH
from closerthan.settings import Settings

PENALTIES_SINCE = "2026-11-18"  # pages measured before this date say so
CAPTION = (
    "Seconds for a whole fit on one core. Circles and crosses: one loss each. Square: all of cblearn's estimators "
    "together. Triangles: stopped at the time limit."
)
HEADER = (
    "answers",
    "closerthan, s",
    "error",
    "cblearn, s",
    "best error",
    "faster",
    "same loss, whole fit",
    "same loss, to cblearn's error",
)


def text(numbers: Overview, figure: str) -> str:
    """Return the page as Markdown, with its one figure."""
    parts = [
        "# Benchmarks",
        "\n".join(f"- {line}" for line in _lines(numbers)),
        f"![Seconds for a whole fit on each set of answers]({figure})\n\n*{CAPTION}*",
        "## Whole fit against whole fit",
        'One core. closerthan: one call with `loss="auto"`. cblearn: all its estimators, one after the other, and the '
        "best error among them. Same loss: the speed-up over cblearn's estimator with that loss, lowest to "
        "highest over the losses; first for whole fits, then until closerthan reaches the final "
        "error of cblearn. n objects, p dimensions.",
        table(HEADER, (_row(workload) for workload in numbers["workloads"])),
        "## CPU time against all of cblearn",
        "```{include} measured/auto-against-cblearn.md\n```",
        "## Targets",
        table(("target", "met"), map(_target, numbers["targets"])),
        "\n".join(
            f"- Missed: {one['target'].partition(':')[0]}: {'; '.join(one['missed'])}."
            for one in numbers["targets"]
            if one["missed"]
        ),
        "## How it was measured",
        *_rules(numbers),
        "## Details",
        "`python -m benchmarks` measures everything (about an hour) and writes this page, its figure and its numbers "
        "(`docs/benchmarks/summary.json`). The rest goes to `build/benchmarks/`, which is not under version control: "
        "`details.md` (each method, loss and workload; kernels, growth, memory, instruction counts) with figures, and "
        "`results.jsonl`, the raw results. `--page` writes all of it again from `results.jsonl` without measuring; "
        "`--results FOLDER` uses another folder. [Speed](speed.md) explains where the speed comes from.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(numbers: Overview) -> Iterable[str]:
    """Yield about ten lines in plain words; those without measurements are omitted."""
    workloads = numbers["workloads"]
    real = sum(one["real"] for one in workloads)
    yield (
        f"**What:** closerthan, cblearn and L-BFGS make maps from the same answers: {len(workloads)} sets, {real} of "
        "them real data and the others simulated. We compare the time for a whole fit, and the fraction of "
        "held-out answers that the map contradicts (the error)."
    )
    yield (
        f"**Where and when:** {_machine(numbers['machine'])}; {_dates(numbers['measured'])}. Times are medians on one "
        "core unless stated otherwise, without compilation, which happens once per machine."
    )
    solver = numbers["settings"].get("solver")
    if solver is not None and solver != Settings.solver:
        yield (
            f"**Out of date:** all this was measured with another default solver, `{solver}`. Today's is "
            f"`{Settings.solver}`; what it needs, and where its errors differ, is not on this page yet."
        )
    if numbers["measured"]["last"] < PENALTIES_SINCE:
        yield (
            "**Out of date:** all but the section on CPU time was measured before penalties were chosen by default, "
            'which changes errors and times of `loss="auto"` and of named losses.'
        )
    both = [one for one in workloads if one["auto"] and one["cblearn"]]
    if both:
        close = [one for one in both if one["cblearn"]["error"] is None or _above(one) <= CLOSE_ENOUGH]
        yield (
            f'**One call against all of cblearn:** `loss="auto"` is {_range(map(_faster, both))} as fast as all of '
            f"cblearn's estimators together (median {times(median(map(_faster, both)))}). Its error is at most "
            f"{CLOSE_ENOUGH:g} above cblearn's best in {len(close)} of {len(both)} sets."
        )
    people = [one for one in both if one["real"]]
    if people:
        yield (
            f"**On real data alone** ({len(people)} sets): {_range(map(_faster, people))} as fast (median "
            f"{times(median(map(_faster, people)))})."
        )
    pairs = [(one, pair) for one in workloads for pair in one["losses"]]
    if pairs:
        whole = [pair["whole_fit"] for _, pair in pairs]
        finished = [pair for _, pair in pairs if pair["peer_error"] is not None]
        worse = sum(pair["error"] > pair["peer_error"] + CLOSE_ENOUGH for pair in finished)
        yield (
            f"**Same loss, whole fit against whole fit:** closerthan is {_range(whole)} as fast as cblearn's "
            f"estimator (median {times(median(whole))}, {len(whole)} pairs). Its error is more than {CLOSE_ENOUGH:g} "
            f"higher in {worse} of {len(finished)} pairs in which cblearn finished."
        )
        soon = [pair["to_its_error"] for _, pair in pairs if pair["to_its_error"] is not None]
        yield (
            f"**Same loss, until cblearn's error is reached:** {_range(soon)} as fast (median "
            f"{times(median(soon))}). The table lists the cases in which it never is."
        )
    lbfgs = numbers["lbfgs"]
    if lbfgs:
        yield (
            f"**Against SciPy's L-BFGS on the same compiled objective:** whole fits are "
            f"{times(lbfgs['least'])} to {times(lbfgs['most'])} times as fast (median {times(lbfgs['middle'])}, "
            f"{lbfgs['fits']} pairs; below 1 means slower). The error is more than {CLOSE_ENOUGH:g} higher in "
            f"{lbfgs['above']} of them."
        )
    if numbers["threads"]:
        yield (
            f"**Two cores:** an epoch over a million comparisons is {_range(numbers['threads'], '.2f')} as fast as on "
            "one core."
        )
    if numbers["startup"]:
        startup = numbers["startup"]
        yield (
            f"**Starting up:** a new process imports the library and maps 21 cities in {startup['auto']:.1f} s "
            f"({startup['ste']:.1f} s if the loss is given); the very first one, which compiles, takes "
            f"{startup['auto, compiling']:.1f} s ({startup['ste, compiling']:.1f} s)."
        )
    if numbers["memory"] and numbers["large"]:
        large = numbers["large"]
        yield (
            f"**Memory:** at most {numbers['memory']['maps_per_thread']:.0f} copies of the map per thread beyond the "
            f"answers; {large['triplets']:,} triplets in a memory-mapped file need {large['gigabytes']:.1f} GB and "
            f"{large['seconds']:.0f} s for an error of {large['error']:.4f}."
        )


def _machine(machine: dict[str, str]) -> str:
    return (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory']}, {machine['system']}, Python "
        f"{machine['Python']}, closerthan {machine['closerthan']}, NumPy {machine['numpy']}, Numba {machine['numba']}"
    )


def _dates(measured: dict[str, str]) -> str:
    first, last = measured["first"], measured["last"]
    return first if first == last else f"{first} to {last}"


def _faster(workload: Overview) -> float:
    return float(workload["cblearn"]["seconds"] / workload["auto"]["seconds"])


def _above(workload: Overview) -> float:
    return float(workload["auto"]["error"] - workload["cblearn"]["error"])


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}"


def _range(ratios: Iterable[float], form: str = "") -> str:
    numbers = list(ratios)
    show: Callable[[float], str] = (lambda number: format(number, form)) if form else times
    low, high = show(min(numbers)), show(max(numbers))
    return f"{low} times" if low == high else f"{low} to {high} times"


def _row(workload: Overview) -> Sequence[str]:
    title = workload["title"]
    auto, peers = workload["auto"], workload["cblearn"]
    ours = (f"{auto['seconds']:.3g}", f"{auto['error']:.4f}") if auto else ("", "")
    if not peers:
        return (title, *ours, "not run", "", "", "", "")
    bound = ">\u00a0" * peers["bound"]
    best = "" if peers["error"] is None else f"{peers['error']:.4f}"
    faster = f"{bound}{times(_faster(workload))}\u00a0×" if auto else ""
    losses = workload["losses"]
    soon = [pair["to_its_error"] for pair in losses if pair["to_its_error"] is not None]
    return (
        title,
        *ours,
        f"{bound}{peers['seconds']:.3g}",
        best,
        faster,
        bound + _between([pair["whole_fit"] for pair in losses]),
        bound + _between(soon) + (f" ({len(losses) - len(soon)} never)" if len(soon) < len(losses) else ""),
    )


def _between(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    low, high = times(min(ratios)), times(max(ratios))
    return f"{low}\u00a0×" if low == high else f"{low} to {high}\u00a0×"


def _target(target: dict[str, Any]) -> Sequence[str]:
    goal = f" {target['wanted']}" if target["wanted"] else ""
    return f"{target['target']}{goal}", f"{target['met']} of {target['of']}"


def _rules(numbers: Overview) -> Iterable[str]:
    settings = numbers["settings"]
    yield (
        "All methods read the same files in the same run, with their default settings (cblearn 0.4.0 with NumPy below "
        "2). Our times include setup and solving. No fit uses the answers on which the error is measured. A fit "
        f"that has not finished after {settings['limit']:.0f} s is stopped and counts as a lower bound (>)."
    )
    if not settings["full"]:
        yield (
            f"Most numbers are medians of {settings['runs']} runs; slow methods ran at least three times, and once "
            "with two million triplets. `--full` repeats everything and adds cblearn's estimators that need PyTorch."
        )
    if settings["quick"]:
        yield "**A rehearsal (`--quick`): these times mean nothing.**"
