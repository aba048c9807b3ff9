"""The tables of docs/large-data.md and docs/several-processes.md, from measurements.

    python -m benchmarks.large_data [--device FILE] [--streaming FILE]

The files are those that ``python -m benchmarks.device --adam 5`` and ``python -m benchmarks.streaming`` write. Without
them, the pages are generated again from their previous numbers.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from benchmarks.measured import DOCS
from benchmarks.tables import table
from closerthan.wording import percent

PAGES = (DOCS / "large-data.md", DOCS / "several-processes.md")
GOALS = ("0.05", "0.01", "0.006")
PRICE = 4.0  # dollars per hour, an assumption


def gpu_table(device: dict[str, Any]) -> str:
    """Return the table of seconds to several errors, by size."""
    header = ["answers", "objects", "flipped", "memory of the answers", "a pass", "5 %", "1 %", ".6 %"]
    rows = []
    for work in device["workloads"].values():
        times = [work[goal] for goal in GOALS]
        reached = [time for time in times if time is not None]
        cost = f"${reached[-1] * PRICE / 3600:.4f}" if reached else f"error {work['best_error']:.3f} at best"
        size = [f"{work['n_answers']:,}", f"{work['n_objects']:,}", percent(work["flipped"], 0)]
        cells = ["-" if time is None else f"{time:.2g} s" for time in times]
        rows.append([*size, f"{work['n_answers'] * 12 / 1e9:.3g} GB", f"{work['pass']:.2g} s", *cells, cost])
    return table([*header, "to the last of these, if an hour costs $4"], rows)


def processes_table(numbers: dict[str, Any]) -> str:
    """Return the table of efficiency by machine and network."""
    by_network: dict[tuple[str, str], dict[int, float]] = {}
    for one in numbers["simulated"]:
        by_network.setdefault((one["machine"], one["network"]), {})[one["n"]] = one["efficiency"]
    rows = [
        [machine, network, percent(efficiency[8], 0), percent(efficiency[64], 0)]
        for (machine, network), efficiency in by_network.items()
    ]
    two = numbers["two"]
    paragraphs = [
        table(["each machine", "network", "8 machines", "64 machines"], rows),
        f"Two processes of one thread each on one machine, measured ({two['n_objects']:,} objects): "
        f"{percent(two['efficiency'], 0)} of the time is left for the fit, so use threads there.",
    ]
    return "\n\n".join([*paragraphs, numbers["made"]] if "made" in numbers else paragraphs)


def streaming_table(numbers: dict[str, Any]) -> str:
    """Return the table of the speed of a pass, by where the answers are stored."""
    parts = {
        "pinned memory": numbers["host"],
        "pinned memory, weighted answers": numbers["weights"],
        "disk": numbers["disk"],
        "disk, cached": numbers["disk"]["cached"],
    }
    rows = []
    for name, part in parts.items():
        plain = f"{part['gigabytes']:g} GB in {part['plain']:.2f} s, {part['gigabytes'] / part['plain']:.1f} GB/s"
        rows.append([name, plain, f"{part['walk']:.2f} s", percent(part["plain"] / part["walk"], 0)])
    whole = numbers["file"]
    return "\n\n".join(
        [
            table(["from", "a plain copy or read", "a pass of the default solver", "of that speed"], rows),
            f"From that file to a map by the command line, with four epochs, a second fit, figure and report: "
            f"{whole['seconds']:.0f} s, and {whole['peak_bytes'] / 1e9:.1f} GB of memory at its peak.",
        ]
    )


def peers_table(numbers: dict[str, Any]) -> str:
    """Return the table of other programs on the same GPU."""
    rows = []
    for name, one in numbers["peers"].items():
        title = {"adam": "PyTorch, Adam"}.get(name, name)
        cells = ["-", one["failed"]] if "failed" in one else [percent(one["error"], 2), f"{one['seconds']:.2g}"]
        rows.append([title, *cells])
    return table(["on the GPU", "error on new answers", "seconds"], rows)


def device_summary(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers for the page from the output of ``python -m benchmarks.device``."""
    summary: dict[str, Any] = {name: measured[name] for name in ("machine", "torch")}
    summary["workloads"] = {}
    for name, one in measured.items():
        if not isinstance(one, dict):
            continue
        row = {key: one[key] for key in ("n_objects", "n_answers", "n_dims", "flipped")} | {"pass": one["pass"]}
        for goal in GOALS:
            row[goal] = seconds_to(one["walk"], float(goal))
            row[f"adam {goal}"] = seconds_to(one["adam"], float(goal))
        row["best_error"], row["adam_best"] = min(one["walk"]["error"]), min(one["adam"]["error"])
        row["adam_seconds"] = one["adam"]["seconds"][-1]
        summary["workloads"][name] = row
    return summary


def seconds_to(curve: dict[str, list[float]], goal: float) -> float | None:
    """Return the seconds until the error is at or below the goal, or None if it never is."""
    return next((at for at, error in zip(curve["seconds"], curve["error"], strict=True) if error <= goal), None)


def streaming_summary(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers for the page from the output of ``python -m benchmarks.streaming``."""
    summary: dict[str, Any] = {name: measured[name] for name in ("machine", "torch", "host", "weights", "disk")}
    summary["file"] = {name: measured["file"][name] for name in ("seconds", "peak_bytes", "code", "answers")}
    summary["peers"] = {}
    for name, one in measured["peers"].items():
        if not isinstance(one, dict):
            continue
        if "failed" in one:
            summary["peers"][name] = {"failed": one["failed"]}
            continue
        error, seconds = one["error"], one["seconds"]
        if isinstance(error, list):  # a curve is represented by its lowest point
            error, seconds = min(zip(error, seconds, strict=True))
        summary["peers"][name] = {"error": error, "seconds": seconds}
    return summary


def page(text: str) -> str:
    """Return the page with its tables replaced by the measured ones."""
    tables = {
        "gpu": gpu_table(json.loads((DOCS / "benchmarks" / "device.json").read_text())),
        "processes": processes_table(json.loads((DOCS / "benchmarks" / "processes.json").read_text())),
    }
    streaming = DOCS / "benchmarks" / "streaming.json"
    if streaming.exists():
        numbers = json.loads(streaming.read_text())
        tables |= {"streaming": streaming_table(numbers), "peers": peers_table(numbers)}
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _, t=begin + lines + end: t, text, flags=re.S)  # type: ignore[misc]
    return text


def write_pages() -> None:
    """Replace the tables in all pages."""
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", type=Path, help="output of benchmarks.device")
    options.add_argument("--streaming", type=Path, help="output of benchmarks.streaming")
    arguments = options.parse_args()
    for name, path, summarise in (
        ("device", arguments.device, device_summary),
        ("streaming", arguments.streaming, streaming_summary),
    ):
        if path is not None:
            summary = summarise(json.loads(path.read_text()))
            (DOCS / "benchmarks" / f"{name}.json").write_text(json.dumps(summary, indent=1) + "\n")
    write_pages()


if __name__ == "__main__":
    main()
