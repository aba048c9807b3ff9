"""Table 1's CKL rows: CKL as the paper prints it, which is STE, and as its authors define it (Tamuz et al. 2011)."""

from collections.abc import Sequence

import numpy as np

from reproduction.bench import Bench
from reproduction.drawing import Axes, draw_lines
from reproduction.methods import DEFAULTS, PAPER, UNTUNED, Setting, tuning_table
from reproduction.page import Block, Claim, Finding, Picture, Section, Table, Text
from reproduction.printed import TABLE1, TABLE1_DASHES
from reproduction.reaching import TARGET, Found, all_reached
from reproduction.synthetic_runs import Runs, synthetic_runs
from reproduction.table1 import SPEEDUP, curves, speedups
from reproduction.trials import Row

PRINTED, DEFINED = "ste", "ckl"  # the paper's formula for CKL is that of STE
NAMES = {PRINTED: "as printed", DEFINED: "as defined"}
YARDSTICK = "SVRG-SBB_eps-1"  # seconds of another machine are compared in multiples of its
FLAT = 0.01  # a curve that falls by less over its second half has levelled off


def run(bench: Bench) -> Section:
    """Run all methods with both formulas."""
    runs = synthetic_runs(bench, "ckl", (PRINTED, DEFINED))
    bench.trials.write_csv(runs.rows)
    found = all_reached(runs.rows)
    blocks: list[Block] = [
        Text(
            "The paper prints exp(far)/(exp(near) + exp(far)) as CKL's probability, which is STE's in other letters. "
            "CKL is (mu + far)/(2 mu + near + far) (Tamuz et al. 2011). Both run here on Table 1's synthetic set, "
            f"{runs.n_trials} trials each; the paper's CKL rows stand beside those of the formula that it prints."
        ),
        *(_table(setting, found) for setting in (PAPER, DEFAULTS)),
    ]
    for setting in (PAPER, DEFAULTS):
        stem = f"ckl-{setting.name}"
        draw_lines(
            bench.trials.folder,
            stem,
            {f"ckl {name}": curves(runs.rows, setting.name, loss) for loss, name in NAMES.items()},
            Axes("gradients / |Q|", "held-out error", y_limits=(0.0, 0.6)),
        )
        blocks.append(
            Picture(
                stem,
                f"{setting.title[0].upper()}{setting.title[1:]}. Held-out error against gradients/|Q|; median and "
                f"quartiles of {runs.n_trials} trials.",
            )
        )
    blocks.append(
        tuning_table(
            f"Steps of the competitors, the best of a grid on {runs.size.n_tuning} trials of their own.",
            runs.reaches,
            runs.size.grid,
        )
    )
    claims = [_speed_claim(runs, found, setting, rival) for setting in (PAPER, DEFAULTS) for rival in ("SVRG", UNTUNED)]
    findings = [_about_rows(), _about_defined(runs.rows, found)]
    return Section("ckl", "Table 1's CKL rows: as printed and as defined", blocks, claims, findings)


def _table(setting: Setting, found: Found) -> Table:
    header = ["CKL", "paper: mean s", f"in {YARDSTICK}", "as printed: mean s", f"in {YARDSTICK}", "passes", "reached"]
    header += ["as defined: reached", "least error"]
    unit = TABLE1["ckl"][YARDSTICK].mean
    own = found[setting.name, PRINTED, YARDSTICK]
    lines = []
    for (setting_name, loss, method), mine in found.items():
        if (setting_name, loss) != (setting.name, PRINTED):
            continue
        paper = TABLE1["ckl"].get(method)
        dash = "-" if method in TABLE1_DASHES["ckl"] else ""
        cells = [f"{paper.mean:.4f}", f"{paper.mean / unit:.2f}"] if paper else [dash, dash]
        seconds = float(np.mean(mine.seconds)) if mine.seconds else None
        cells += [f"{seconds:.4f}"] if seconds else ["-"]
        cells += [f"{seconds / np.mean(own.seconds):.2f}"] if seconds and own.seconds else ["-"]
        cells += [f"{np.mean(mine.passes):.1f}"] if mine.passes else ["-"]
        other = found[setting.name, DEFINED, method]
        cells += [f"{len(mine.seconds)} of {mine.n_trials}", f"{len(other.seconds)} of {other.n_trials}"]
        lines.append([method, *cells, f"{min(other.best_errors):.3f}"])
    return Table(
        f"CKL, {setting.name}: until the held-out error is below {TARGET}, over the trials that got there; in "
        f"multiples of {YARDSTICK}, which carry over to other machines. A dash: none got there. Empty: not printed.",
        header,
        lines,
    )


def _speed_claim(runs: Runs, found: Found, setting: Setting, rival: str) -> Claim:
    paper = TABLE1["ckl"]
    best = min(spread.mean for method, spread in paper.items() if method.startswith("SVRG-SBB_eps"))
    measured, cases = speedups(found, runs.size, setting.name, rival, NAMES)
    how = "tuned SVRG" if rival == "SVRG" else "untuned SVRG"
    return Claim(
        f"with CKL, SVRG-SBB_eps (best b) beats SVRG by {SPEEDUP:g} times or more",
        f"the paper: {paper['SVRG'].mean / best:.1f} times in seconds; " + "; ".join(measured),
        cases,
        f"{setting.name}, {how}",
    )


def _about_rows() -> Finding:
    """What the paper's own numbers say about its formula."""
    shared = [method for method in TABLE1["ckl"] if method.startswith("SVRG-SBB") and method in TABLE1["ste"]]
    ratios = {method: TABLE1["ckl"][method].mean / TABLE1["ste"][method].mean for method in shared}
    return Finding(
        "The paper's CKL is STE by its printed formula, so our STE runs stand beside its CKL rows. Its own Table 1 "
        f"agrees: SVRG-SBB's CKL rows take {min(ratios.values()):.2f} to {max(ratios.values()):.2f} times the seconds "
        "of its STE rows.",
        f"Seconds of CKL over those of STE: {'; '.join(f'{method} {ratio:.2f}' for method, ratio in ratios.items())}.",
    )


def _about_defined(rows: Sequence[Row], found: Found) -> Finding:
    mine = {key: runs for key, runs in found.items() if key[1] == DEFINED}
    got_there = sum(len(runs.seconds) for runs in mine.values())
    n_runs = sum(runs.n_trials for runs in mine.values())
    lowest = min(error for runs in mine.values() for error in runs.best_errors)
    best = min(mine, key=lambda key: float(np.median(mine[key].best_errors)))
    errors = np.array([row["errors"] for row in rows if (row["setting"], row["loss"], row["method"]) == best])
    halfway = (errors.shape[1] - 1) // 2
    then, at_last = np.median(errors[:, [halfway, -1]], axis=0)
    ends = (
        f"It levels off above {TARGET} on this set."
        if got_there == 0 and at_last > then - FLAT
        else f"So its rows cannot be those of a loss that always gets below {TARGET}."
    )
    return Finding(
        f"CKL as defined is another loss: {got_there:,} of {n_runs:,} runs got below {TARGET}, and the lowest held-out "
        f"error is {lowest:.3f}. {ends}",
        f"The method that came lowest ({best[2]}, {best[0]}) has a median error of {then:.3f} after {halfway} passes "
        f"and of {at_last:.3f} after {errors.shape[1] - 1}.",
    )
