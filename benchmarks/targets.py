"""Targets: the goals of the project, compared with the measurements."""

import math
from dataclasses import dataclass

from benchmarks.fits import CBLEARN
from benchmarks.machine import n_cores
from benchmarks.results import Results
from benchmarks.summary import Fits, fits_of, fits_on
from benchmarks.workloads import WORKLOADS
from closerthan.wording import percent

AT_LEAST = {"loss for loss": 20.0, "auto": 20.0, "lbfgs": 5.0, "threads": 1.7}
CLOSE_ENOUGH = 0.002  # difference in error between one call and the best of all peers


@dataclass(frozen=True)
class Finding:
    """One target on one workload."""

    target: str
    where: str
    goal: str
    measured: str
    verdict: str  # "met", "missed by ...", or the reason why it is open

    @property
    def met(self) -> bool | None:
        return True if self.verdict.startswith("met") else False if self.verdict.startswith("missed") else None


def evaluated(results: Results) -> list[Finding]:
    """Return the verdicts on all targets for which there are results."""
    findings = []
    for name in WORKLOADS:
        fits = fits_on(results, name)
        for threads in dict.fromkeys(one.threads for one in fits):
            findings += _loss_for_loss(name, fits, threads)
    for name in WORKLOADS:
        fits = fits_on(results, name)
        for threads in dict.fromkeys(one.threads for one in fits):
            findings += _auto(name, fits, threads)
    for name in WORKLOADS:
        if "thousand" in name:
            findings += _lbfgs(name, fits_on(results, name))
    return findings + _threads(results) + _kernels(results) + _core(results)


def as_text(findings: list[Finding]) -> str:
    """Return a table for the terminal."""
    rows = [(f.target, f.where, f.goal, f.measured, f.verdict) for f in findings]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _at_least(ratio: float, least: float) -> str:
    return "met" if ratio >= least else f"missed by a factor of {least / ratio:.4g}" if ratio > 0 else "missed"


def _below(number: float, limit: float) -> str:
    return "met" if number < limit else f"missed by {percent(number / limit - 1, 0)}"


def _place(workload: str, loss: str, threads: int) -> str:
    return (
        f"{workload}, {loss}, {threads} thread{'s' * (threads > 1)}"
        if loss
        else f"{workload}, {threads} thread" + ("s" * (threads > 1))
    )


def _loss_for_loss(workload: str, fits: list[Fits], threads: int) -> list[Finding]:
    """Evaluate target (a): our time to the final held-out error of cblearn's estimator."""
    findings = []
    least = AT_LEAST["loss for loss"]
    for peer in (one for one in fits if one.method == "cblearn" and one.threads == threads):
        ours = fits_of(fits, "closerthan", peer.loss, threads)
        if ours is None or not ours.done or (not peer.done and peer.over_limit is None):
            continue
        if peer.done:
            goal, theirs = peer.error.middle, peer.seconds.middle
            seconds = ours.seconds_to(goal).middle
            if math.isinf(seconds):
                measured = (
                    f"{goal:.4f} reached in {ours.reached(goal)} of {len(ours.done)} runs, which is too few for a "
                    f"median (ours end at {ours.error.middle:.4f})"
                )
                verdict = "missed: error not reached"
            else:
                measured = f"{theirs / seconds:,.0f} x ({seconds:.3g} s and {theirs:.3g} s to {goal:.4f})"
                verdict = _at_least(theirs / seconds, least)
        else:
            assert peer.over_limit is not None
            # The peer's final error is unknown, so our time to nearly our own final error counts.
            goal = ours.error.middle + CLOSE_ENOUGH
            seconds = ours.seconds_to(goal).middle
            ratio = peer.over_limit / seconds
            measured = (
                f"> {ratio:,.1f} x ({seconds:.3g} s to {goal:.4f}, {CLOSE_ENOUGH} above our end; "
                f"cblearn not done after {peer.over_limit:.0f} s)"
            )
            verdict = "met" if ratio >= least else "open: the bound is lower than the target"
        findings.append(
            Finding(
                "(a) Time to cblearn's error, same loss:",
                _place(workload, peer.loss, threads),
                f">= {least:.0f} x",
                measured,
                verdict,
            )
        )
    return findings


def _auto(workload: str, fits: list[Fits], threads: int) -> list[Finding]:
    """Evaluate target (b): one call of embed(loss="auto") against all of cblearn's estimators."""
    peers = [one for one in fits if one.method == "cblearn" and one.threads == threads]
    peers = [one for one in peers if one.done or one.over_limit]
    auto = fits_of(fits, "auto", "auto", threads)
    if not peers:
        return []
    name = '(b) Whole fit, loss="auto" against all of cblearn:'
    place, goal = _place(workload, "", threads), f">= {AT_LEAST['auto']:.0f} x, error + {CLOSE_ENOUGH}"
    if auto is None or not auto.done:
        return [Finding(name, place, goal, 'not measured: loss="auto" did not run', "open")]
    estimators = ("soe",) if workload == "quadruplets" else tuple(CBLEARN)
    missing = [loss for loss in estimators if loss not in {one.loss for one in peers}]
    bound = bool(missing) or any(not one.done for one in peers)
    total = sum(one.seconds.middle if one.done else one.over_limit or 0.0 for one in peers)
    best = min((one.error.middle for one in peers if one.done), default=math.inf)
    ratio = total / auto.seconds.middle
    above = auto.error.middle - best
    measured = (
        f"{'> ' * bound}{ratio:,.1f} x ({auto.seconds.middle:.3g} s and {'> ' * bound}{total:.3g} s); "
        f"error {auto.error.middle:.4f} and {f'{best:.4f}' if math.isfinite(best) else 'none in time'}; "
        f"{len(peers)} estimator{'s' * (len(peers) > 1)}" + f" of {len(estimators)}" * bool(missing)
    )
    misses = []
    if ratio < AT_LEAST["auto"]:
        misses.append(f"a factor of {AT_LEAST['auto'] / ratio:.3g} in time")
    if above > CLOSE_ENOUGH:
        misses.append(f"{above - CLOSE_ENOUGH:.4f} in error")
    verdict = "missed by " + " and ".join(misses) if misses else "met"
    if bound and misses and above <= CLOSE_ENOUGH:
        verdict = "open: the bound is lower than the target"
    return [Finding(name, place, goal, measured, verdict)]


def _lbfgs(workload: str, fits: list[Fits]) -> list[Finding]:
    """Evaluate target (c): time to the error that both reach."""
    findings = []
    for peer in (one for one in fits if one.method == "lbfgs" and one.done):
        ours = fits_of(fits, "closerthan", peer.loss, peer.threads)
        if ours is None or not ours.done:
            continue
        interrupted = any(record["stopped_by"] == "time_limit" for record in peer.done)
        bound = interrupted and peer.error.middle > ours.error.middle + CLOSE_ENOUGH
        # A peer that was stopped above our final error would have needed longer than its limit to reach it.
        goal = ours.error.middle + CLOSE_ENOUGH if bound else max(peer.error.middle, ours.error.middle)
        seconds = ours.seconds_to(goal).middle
        theirs = peer.seconds.middle if bound else peer.seconds_to(goal).middle
        if math.isinf(seconds) or math.isinf(theirs):
            continue
        ratio = theirs / seconds
        verdict = _at_least(ratio, AT_LEAST["lbfgs"])
        if bound and verdict != "met":
            verdict = "open: the bound is lower than the target"
        findings.append(
            Finding(
                "(c) Time to L-BFGS's error, same loss:",
                _place(workload, peer.loss, peer.threads),
                f">= {AT_LEAST['lbfgs']:.0f} x",
                f"{'> ' * bound}{ratio:.3g} x ({seconds:.3g} s and {'> ' * bound}{theirs:.3g} s to {goal:.4f}; "
                f"ends: {ours.error.middle:.4f} and {peer.error.middle:.4f}; its whole fit takes "
                f"{peer.seconds.middle:.3g} s, {peer.seconds.middle / seconds:.1f} x)",
                verdict,
            )
        )
    return findings


def _threads(results: Results) -> list[Finding]:
    """Evaluate target (d): all cores against one; the target is for two cores."""
    findings = []
    for one in results.where(part="growth", threads=1):
        if not one["axis"].startswith("threads"):
            continue
        for more in results.where(part="growth", axis=one["axis"], size=one["size"]):
            if more["threads"] > 1:
                ratio = one["seconds"] / more["seconds"]
                findings.append(
                    Finding(
                        f"(d) An epoch on {more['threads']} threads against one:",
                        f"|Q| = {one['size']:,}, {one['axis'].removeprefix('threads at ')}",
                        f">= {AT_LEAST['threads']} x",
                        f"{ratio:.2f} x ({one['seconds']:.3g} s and {more['seconds']:.3g} s per epoch; the shortest "
                        f"{one['lowest'] / more['lowest']:.2f} x; a plain loop {more['alone']:.2f} x; cores were free "
                        f"in {more['free']} of {more['turns']} turns)",
                        _at_least(ratio, AT_LEAST["threads"]),
                    )
                )
    return findings


def _kernels(results: Results) -> list[Finding]:
    goals = (
        ("inner step", 1_000, 1, 55.0, "Kernel: ns per inner step (p = 10)"),
        ("inner step", 100_000, 1, 110.0, "Kernel: ns per inner step (p = 10)"),
        ("gradient", 1_000, 1, 36.0, "Kernel: full gradient per triplet and thread:"),
        ("gradient", 1_000, n_cores(), 36.0, "Kernel: full gradient per triplet and thread:"),
    )
    return [
        Finding(
            target,
            _place(f"n = {n_objects:,}", record["loss"], threads),
            f"< {limit:.0f} ns",
            f"{record['ns']:.1f} ns ({record['lowest']:.1f} to {record['highest']:.1f})",
            _below(record["ns"], limit),
        )
        for kernel, n_objects, threads, limit, target in dict.fromkeys(goals)
        for record in results.where(part="kernels", kernel=kernel, n_objects=n_objects)
        if record.get("threads", 1) == threads
    ]


def _core(results: Results) -> list[Finding]:
    """Evaluate the targets for the core of the library."""
    findings = []
    table1 = fits_on(results, "table1")
    for loss in ("ste", "gnmds", "tste"):
        ours = fits_of(table1, "closerthan", loss, 1)
        if ours is not None:
            setup = min(record["setup"] for record in ours.done)
            seconds = ours.seconds_to(0.15).middle - setup
            findings.append(
                Finding(
                    "Time to an error of 0.15 on Table 1's set:",
                    f"table1, {loss}",
                    "< 10 ms",
                    f"{1e3 * seconds:.1f} ms (and {1e3 * setup:.1f} ms to set up)",
                    _below(seconds, 0.010),
                )
            )
    growing = {record["size"]: record["seconds"] for record in results.where(part="growth", axis="n")}
    if {100, 100_000} <= growing.keys():
        ratio = growing[100_000] / growing[100]
        findings.append(
            Finding(
                "An epoch at n = 100,000 against n = 100:",
                "|Q| = 200,000, p = 10",
                "< 6 x",
                f"{ratio:.2f} x",
                _below(ratio, 6.0),
            )
        )
    memory = results.where(part="memory")
    if memory:
        worst = max(memory, key=lambda record: record["maps_per_thread"])
        findings.append(
            Finding(
                "Memory beyond the data, in maps per thread:",
                f"the worst of {len(memory)}: n = {worst['n_objects']:,}, |Q| = {worst['n_rows']:,}, "
                f"p = {worst['n_dims']}, {worst['threads']} threads",
                "< 20",
                f"{worst['maps_per_thread']:.1f}",
                _below(worst["maps_per_thread"], 20.0),
            )
        )
    startup = {record["program"]: record["seconds"] for record in results.where(part="startup")}
    for program, name, most in (
        ("ste, compiling", "The first fit ever, start to finish, loss given:", 3.0),
        ("auto, compiling", "The first fit ever, start to finish:", 7.0),
        ("ste", "A fit by a new process, start to finish, loss given:", 1.0),
        ("auto", "A fit by a new process, start to finish:", 1.2),
    ):
        if program in startup:
            seconds = startup[program]
            findings.append(Finding(name, "eurodist", f"< {most:g} s", f"{seconds:.2f} s", _below(seconds, most)))
    if {"numpy", "import"} <= startup.keys():
        over = startup["import"] - startup["numpy"]
        findings.append(Finding("Import time over NumPy's own:", "", "< 0.3 s", f"{over:.3f} s", _below(over, 0.3)))
    for name in ("thousand", "ten-thousand"):
        ours = fits_of(fits_on(results, name), "closerthan", "ste", 1)
        if ours is not None and ours.done:
            best = max(min(record["curve_error"][1:21]) for record in ours.done)
            findings.append(
                Finding(
                    "Error within 20 epochs, ste:",
                    name,
                    "< 0.03",
                    f"{best:.4f} (worst of {len(ours.done)} runs)",
                    _below(best, 0.03),
                )
            )
    large = [
        Finding(
            "Memory for 10^8 triplets in a memory-mapped file:",
            f"{record['n_rows']:,} triplets",
            "< 4 GB",
            f"{record['peak_gb']:.2f} GB",
            _below(record["peak_gb"], 4.0),
        )
        for record in results.where(part="large")
    ]
    return findings + large
