"""The command: ``python -m benchmarks`` measures and writes docs/benchmarks.md; details go to build/benchmarks."""

import argparse
from pathlib import Path

from benchmarks import (
    details,
    figures,
    fits,
    growth,
    kernels,
    large,
    machine,
    memory,
    overview,
    page,
    startup,
    targets,
    workloads,
)
from benchmarks.options import Options
from benchmarks.results import FOLDER, Record, Results
from closerthan.settings import Settings

PARTS = {"kernels": kernels, "startup": startup, "memory": memory, "growth": growth, "fits": fits, "large": large}


def main() -> None:
    names = [*PARTS, *workloads.WORKLOADS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        default=(),
        choices=names,
        help=f"measure only these parts: {', '.join(names)}",
    )
    parser.add_argument("--quick", action="store_true", help="a rehearsal: small, one run of each")
    parser.add_argument("--full", action="store_true", help="every peer on every workload, on one core and on all")
    parser.add_argument("--large", action="store_true", help="also fit 10^8 triplets from a memory-mapped file")
    parser.add_argument("--no-torch", action="store_true", help="leave out the peers that need PyTorch")
    parser.add_argument("--resume", action="store_true", help="measure only what is missing from the last run")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page from the last results")
    parser.add_argument("--runs", type=int, metavar="K", help="maximum number of runs of each fit (9)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="time limit for each fit (60)")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks.md"), metavar="PAGE", help="the page")
    parser.add_argument(
        "--results", type=Path, default=FOLDER, metavar="FOLDER", help="raw results and details (build/benchmarks)"
    )
    arguments = parser.parse_args()
    options = Options(
        only=tuple(arguments.only),
        quick=arguments.quick,
        full=arguments.full,
        large=arguments.large or "large" in arguments.only,
        torch=not arguments.no_torch,
        runs=arguments.runs or (1 if arguments.quick else 9),
        limit=arguments.limit or (5.0 if arguments.quick else 60.0),
    )

    def is_kept(record: Record) -> bool:
        if arguments.resume or arguments.page or record["part"] == "instructions":
            return True
        return bool(options.only) and not (
            options.wants(record["part"]) and options.wants(record.get("workload", record["part"]))
        )

    raw = arguments.results / "results.jsonl"
    if arguments.page and not raw.exists():
        parser.error(f"{raw} does not exist; measure first, or pass the folder of an earlier run with --results")
    results = Results(raw, is_kept)
    if not arguments.page:
        results.add(part="run", machine=machine.described(), load=machine.load(), settings=_settings(options))
        for name, part in PARTS.items():
            if options.wants(name):
                part.measure(options, results)
        results.add(part="end", seconds=options.seconds(), load=machine.load())
    findings = targets.evaluated(results)
    details.write(arguments.results / "details.md", results, findings, figures.draw(results, arguments.results))
    write_page(arguments.out, overview.overview(results, findings))
    print(targets.as_text(findings))
    print(f"written: {arguments.out}, and the details in {arguments.results}")


def write_page(path: Path, numbers: overview.Overview) -> None:
    """Write the page, and beside it its figure and the numbers that it is generated from."""
    folder = path.with_suffix("")
    overview.write(folder / "summary.json", numbers)
    stored = overview.read(folder / "summary.json")
    figures.draw_overview(stored, folder / "whole-fits.png")
    path.write_text(page.text(stored, f"{folder.name}/whole-fits.png"), encoding="utf-8")


def _settings(options: Options) -> dict[str, object]:
    names = ("only", "quick", "full", "large", "torch", "runs", "limit")
    return {name: getattr(options, name) for name in names} | {"solver": Settings.solver}


if __name__ == "__main__":
    main()
