"""The tables of docs/large-data.md, from what was measured on a GPU.

    python -m benchmarks.large_data [--device FILE] [--streaming FILE]

The files are those that ``python -m benchmarks.device --adam 5`` and ``python -m benchmarks.streaming`` write; without
them the page is made again from what it was made of last.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from closerthan.wording import percent

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "large-data.md"
GOALS = ("0.05", "0.01", "0.006")
PRICE = 4.0  # dollars an hour, assumed


def gpu_table(device: dict[str, Any]) -> str:
    """Seconds to an error, by size."""
    lines = [
        "| answers | objects | flipped | memory of the answers | a pass | 5 % | 1 % | .6 % | to the last of these, if an hour costs $4 |",  # noqa: E501
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for work in device["workloads"].values():
        times = [work[goal] for goal in GOALS]
        reached = [time for time in times if time is not None]
        cost = f"${reached[-1] * PRICE / 3600:.4f}" if reached else f"error {work['best_error']:.3f} at best"
        said = " | ".join("-" if time is None else f"{time:.2g} s" for time in times)
        size = f"{work['n_answers']:,} | {work['n_objects']:,} | {percent(work['flipped'], 0)}"
        lines.append(f"| {size} | {work['n_answers'] * 12 / 1e9:.3g} GB | {work['pass']:.2g} s | {said} | {cost} |")
    return "\n".join(lines)


def processes_table(found: dict[str, Any]) -> str:
    """Efficiency by machine and network."""
    lines = ["| each machine | network | 8 machines | 64 machines |", "| --- | --- | --- | --- |"]
    rows: dict[tuple[str, str], dict[int, float]] = {}
    for one in found["simulated"]:
        rows.setdefault((one["machine"], one["network"]), {})[one["n"]] = one["efficiency"]
    lines += [
        f"| {machine} | {net} | {percent(by[8], 0)} | {percent(by[64], 0)} |" for (machine, net), by in rows.items()
    ]
    two = found["two"]
    lines += [
        "",
        f"Two processes of one thread each on one machine, measured ({two['n_objects']:,} objects): "
        f"{percent(two['efficiency'], 0)} of the time is left for the fit, so use threads there.",
    ]
    return "\n".join([*lines, "", found["made"]] if "made" in found else lines)


def streaming_table(found: dict[str, Any]) -> str:
    """How fast answers come from where they are."""
    lines = [
        "| from | a plain copy or read | a pass of the default solver | of that speed |",
        "| --- | --- | --- | --- |",
    ]
    parts = {
        "pinned memory": found["host"],
        "pinned memory, weighted answers": found["weights"],
        "disk": found["disk"],
        "disk, cached": found["disk"]["cached"],
    }
    for name, part in parts.items():
        plain = f"{part['gigabytes']:g} GB in {part['plain']:.2f} s, {part['gigabytes'] / part['plain']:.1f} GB/s"
        lines.append(f"| {name} | {plain} | {part['walk']:.2f} s | {percent(part['plain'] / part['walk'], 0)} |")
    whole = found["file"]
    lines += [
        "",
        f"From that file to a map by the command line, with four epochs, a second fit, figure and report: "
        f"{whole['seconds']:.0f} s, and {whole['peak_bytes'] / 1e9:.1f} GB of memory at its peak.",
    ]
    return "\n".join(lines)


def peers_table(found: dict[str, Any]) -> str:
    """Others on the same GPU."""
    lines = ["| on the GPU | error on new answers | seconds |", "| --- | --- | --- |"]
    for name, one in found["peers"].items():
        called = {"adam": "PyTorch, Adam"}.get(name, name)
        said = f"- | {one['failed']}" if "failed" in one else f"{percent(one['error'], 2)} | {one['seconds']:.2g}"
        lines.append(f"| {called} | {said} |")
    return "\n".join(lines)


def kept_of_device(measured: dict[str, Any]) -> dict[str, Any]:
    """What the page says of what ``python -m benchmarks.device`` wrote."""
    found: dict[str, Any] = {name: measured[name] for name in ("machine", "torch")}
    found["workloads"] = {}
    for name, one in measured.items():
        if not isinstance(one, dict):
            continue
        said = {key: one[key] for key in ("n_objects", "n_answers", "n_dims", "flipped")} | {"pass": one["pass"]}
        for goal in GOALS:
            said[goal] = reached(one["walk"], float(goal))
            said[f"adam {goal}"] = reached(one["adam"], float(goal))
        said["best_error"], said["adam_best"] = min(one["walk"]["error"]), min(one["adam"]["error"])
        said["adam_seconds"] = one["adam"]["seconds"][-1]
        found["workloads"][name] = said
    return found


def reached(curve: dict[str, list[float]], goal: float) -> float | None:
    """After how many seconds an error was that low."""
    return next((at for at, error in zip(curve["seconds"], curve["error"], strict=True) if error <= goal), None)


def kept_of_streaming(measured: dict[str, Any]) -> dict[str, Any]:
    """What the page says of what ``python -m benchmarks.streaming`` wrote."""
    found: dict[str, Any] = {name: measured[name] for name in ("machine", "torch", "host", "weights", "disk")}
    found["file"] = {name: measured["file"][name] for name in ("seconds", "peak_bytes", "code", "answers")}
    found["peers"] = {}
    for name, one in measured["peers"].items():
        if not isinstance(one, dict):
            continue
        if "failed" in one:
            found["peers"][name] = {"failed": one["failed"]}
            continue
        error, seconds = one["error"], one["seconds"]
        if isinstance(error, list):  # of a curve, its lowest point
            error, seconds = min(zip(error, seconds, strict=True))
        found["peers"][name] = {"error": error, "seconds": seconds}
    return found


def page(text: str) -> str:
    """The page with its tables as they were measured."""
    tables = {
        "gpu": gpu_table(json.loads((DOCS / "benchmarks" / "device.json").read_text())),
        "processes": processes_table(json.loads((DOCS / "benchmarks" / "processes.json").read_text())),
    }
    streaming = DOCS / "benchmarks" / "streaming.json"
    if streaming.exists():
        found = json.loads(streaming.read_text())
        tables |= {"streaming": streaming_table(found), "peers": peers_table(found)}
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _, t=begin + table + end: t, text, flags=re.S)  # type: ignore[misc]
    return text


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", type=Path, help="what benchmarks.device wrote")
    options.add_argument("--streaming", type=Path, help="what benchmarks.streaming wrote")
    given = options.parse_args()
    for name, path, kept in (
        ("device", given.device, kept_of_device),
        ("streaming", given.streaming, kept_of_streaming),
    ):
        if path is not None:
            found = kept(json.loads(path.read_text()))
            (DOCS / "benchmarks" / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
