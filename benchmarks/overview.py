"""Overview: the few numbers of a run that the page shows, stored beside it as JSON."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.fits import CBLEARN
from benchmarks.results import Results
from benchmarks.summary import Fits, fits_of, fits_on
from benchmarks.targets import CLOSE_ENOUGH, Finding
from benchmarks.workloads import WORKLOADS

Overview = dict[str, Any]


def overview(results: Results, findings: Sequence[Finding]) -> Overview:
    """Return the numbers of the page as plain data."""
    runs = results.where(part="run")
    startup = {record["program"]: record["seconds"] for record in results.where(part="startup")}
    memory = [record["maps_per_thread"] for record in results.where(part="memory")]
    large = results.where(part="large")
    return {
        "measured": {"first": min(run["at"] for run in runs)[:10], "last": runs[-1]["at"][:10]},
        "machine": runs[-1]["machine"],
        "settings": runs[-1]["settings"],
        "workloads": [_workload(results, name) for name in WORKLOADS if fits_on(results, name)],
        "lbfgs": _lbfgs(results),
        "threads": _threads(results),
        "memory": {"maps_per_thread": max(memory), "cases": len(memory)} if memory else None,
        "startup": startup if "auto, compiling" in startup else None,
        "large": {
            "triplets": large[-1]["n_rows"],
            "gigabytes": large[-1]["peak_gb"],
            "seconds": large[-1]["curve_seconds"][-1],
            "error": min(large[-1]["curve_error"]),
        }
        if large
        else None,
        "targets": target_counts(findings),
    }


def write(path: Path, numbers: Overview) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(numbers), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Overview:
    numbers: Overview = json.loads(path.read_text(encoding="utf-8"))
    return numbers


def _workload(results: Results, name: str) -> Overview:
    """Compare, on one core, a call with loss="auto" and each loss with cblearn's estimators."""
    fits = [one for one in fits_on(results, name) if one.threads == 1]
    auto = fits_of(fits, "auto", "auto", 1)
    peers = [one for one in fits if one.method == "cblearn" and (one.done or one.over_limit)]
    ours = {one.loss: one for one in fits if one.method == "closerthan" and one.done}
    estimators = ("soe",) if name == "quadruplets" else tuple(CBLEARN)
    return {
        "name": name,
        "title": WORKLOADS[name].title,
        "real": WORKLOADS[name].real,
        "auto": {"seconds": auto.seconds.middle, "error": auto.error.middle} if auto and auto.done else None,
        "cblearn": {
            "estimators": len(peers),
            "seconds": sum(_seconds(one) for one in peers),
            "error": min((one.error.middle for one in peers if one.done), default=None),
            "bound": len(peers) < len(estimators) or any(not one.done for one in peers),
        }
        if peers
        else None,
        "losses": [_pair(ours[peer.loss], peer) for peer in peers if peer.loss in ours],
        "fits": {
            "closerthan": {loss: one.seconds.middle for loss, one in ours.items()},
            "cblearn": {one.loss: _seconds(one) for one in peers},
        },
    }


def _seconds(peer: Fits) -> float:
    return peer.seconds.middle if peer.done else peer.over_limit or 0.0


def _pair(ours: Fits, peer: Fits) -> Overview:
    goal = peer.error.middle if peer.done else ours.error.middle + CLOSE_ENOUGH
    seconds = ours.seconds_to(goal).middle
    return {
        "loss": ours.loss,
        "whole_fit": _seconds(peer) / ours.seconds.middle,
        "to_its_error": _seconds(peer) / seconds if math.isfinite(seconds) else None,
        "error": ours.error.middle,
        "peer_error": peer.error.middle if peer.done else None,
    }


def _lbfgs(results: Results) -> Overview | None:
    """Compare whole fits on all workloads, on one core."""
    whole, above = [], 0
    for name in WORKLOADS:
        fits = fits_on(results, name)
        for peer in (one for one in fits if one.method == "lbfgs" and one.done and one.threads == 1):
            ours = fits_of(fits, "closerthan", peer.loss, 1)
            if ours is not None and ours.done:
                whole.append(peer.seconds.middle / ours.seconds.middle)
                above += ours.error.middle > peer.error.middle + CLOSE_ENOUGH
    if not whole:
        return None
    return {"fits": len(whole), "least": min(whole), "middle": median(whole), "most": max(whole), "above": above}


def _threads(results: Results) -> list[float]:
    """Return the speed-ups of an epoch on all cores."""
    return [
        one["seconds"] / more["seconds"]
        for one in results.where(part="growth", threads=1)
        if one["axis"].startswith("threads")
        for more in results.where(part="growth", axis=one["axis"], size=one["size"])
        if more["threads"] > 1
    ]


def target_counts(findings: Sequence[Finding]) -> list[Overview]:
    """Count the workloads on which each target is met, and list those on which it is missed."""
    listed = []
    for target in dict.fromkeys(finding.target for finding in findings):
        own = [finding for finding in findings if finding.target == target]
        missed = [f"{f.where} {f.verdict.removeprefix('missed ')}" for f in own if f.met is False]
        listed.append(
            {
                "target": target,
                "wanted": own[0].goal if len({f.goal for f in own}) == 1 else "",
                "met": sum(f.met is True for f in own),
                "of": len(own),
                "missed": missed,
            }
        )
    return listed


def _rounded(value: Any) -> Any:
    """Round to four digits, which is all that the page shows."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
