"""The CKL rows of Table 1: CKL as printed in the paper, which is STE, and as defined by Tamuz et al. (2011)."""

from collections.abc import Sequence

import numpy as np

from reproduction.bench import Bench
from reproduction.drawing import Axes, draw_lines
from reproduction.methods import DEFAULTS, PAPER, UNTUNED, Setting, tuning_table
from reproduction.page import Block, Claim, Finding, Picture, Section, Table, Text
from reproduction.printed import TABLE1, TABLE1_DASHES
from reproduction.synthetic_runs import Runs, synthetic_runs
from reproduction.table1 import SPEEDUP, curves, speedups
from reproduction.target import TARGET, TimesByMethod, all_target_times
from reproduction.trial_log import Row

PRINTED, DEFINED = "ste", "ckl"  # the paper's formula for CKL is that of STE
NAMES = {PRINTED: "as printed", DEFINED: "as defined"}
YARDSTICK = "SVRG-SBB_eps-1"  # times on different machines are compared in multiples of its time
FLAT = 0.01  # a curve that falls by less than this over its second half has levelled off


def run(bench: Bench) -> Section:
    """Run all methods with both formulas."""
    runs = synthetic_runs(bench, "ckl", (PRINTED, DEFINED))
    bench.log.write_csv(runs.rows)
    times = all_target_times(runs.rows)
    blocks: list[Block] = [
        Text(
            "The paper gives exp(far)/(exp(near) + exp(far)) as the probability of CKL, which is that of STE. "
            "CKL is (mu + far)/(2 mu + near + far) (Tamuz et al. 2011). Both run here on the synthetic set of Table 1, "
            f"{runs.n_trials} trials each; the paper's CKL rows are compared with those of the printed formula."
        ),
        *(_table(setting, times) for setting in (PAPER, DEFAULTS)),
    ]
    for setting in (PAPER, DEFAULTS):
        stem = f"ckl-{setting.name}"
        draw_lines(
            bench.log.folder,
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
            f"Step sizes of the competitors, the best of a grid on {runs.size.n_tuning} separate trials.",
            runs.reaches,
            runs.size.grid,
        )
    )
    claims = [_speed_claim(runs, times, setting, rival) for setting in (PAPER, DEFAULTS) for rival in ("SVRG", UNTUNED)]
    findings = [_about_rows(), _about_defined(runs.rows, times)]
    return Section("ckl", "Table 1's CKL rows: as printed and as defined", blocks, claims, findings)


def _table(setting: Setting, times: TimesByMethod) -> Table:
    header = ["CKL", "paper: mean s", f"in {YARDSTICK}", "as printed: mean s", f"in {YARDSTICK}", "passes", "reached"]
    header += ["as defined: reached", "lowest error"]
    unit = TABLE1["ckl"][YARDSTICK].mean
    own = times[setting.name, PRINTED, YARDSTICK]
    lines = []
    for (setting_name, loss, method), reached in times.items():
        if (setting_name, loss) != (setting.name, PRINTED):
            continue
        paper = TABLE1["ckl"].get(method)
        dash = "-" if method in TABLE1_DASHES["ckl"] else ""
        cells = [f"{paper.mean:.4f}", f"{paper.mean / unit:.2f}"] if paper else [dash, dash]
        seconds = float(np.mean(reached.seconds)) if reached.seconds else None
        cells += [f"{seconds:.4f}"] if seconds else ["-"]
        cells += [f"{seconds / np.mean(own.seconds):.2f}"] if seconds and own.seconds else ["-"]
        cells += [f"{np.mean(reached.passes):.1f}"] if reached.passes else ["-"]
        other = times[setting.name, DEFINED, method]
        cells += [f"{len(reached.seconds)} of {reached.n_trials}", f"{len(other.seconds)} of {other.n_trials}"]
        lines.append([method, *cells, f"{min(other.best_errors):.3f}"])
    return Table(
        f"CKL, {setting.name}: time until the held-out error is below {TARGET}, over the trials that reached it; also "
        f"in multiples of {YARDSTICK}, which are comparable across machines. A dash means that no trial reached it; "
        "empty cells are not in the paper's table.",
        header,
        lines,
    )


def _speed_claim(runs: Runs, times: TimesByMethod, setting: Setting, rival: str) -> Claim:
    paper = TABLE1["ckl"]
    best = min(spread.mean for method, spread in paper.items() if method.startswith("SVRG-SBB_eps"))
    measured, cases = speedups(times, runs.size, setting.name, rival, NAMES)
    how = "tuned SVRG" if rival == "SVRG" else "untuned SVRG"
    return Claim(
        f"with CKL, SVRG-SBB_eps (best b) is at least {SPEEDUP:g} times faster than SVRG",
        f"the paper: {paper['SVRG'].mean / best:.1f} times in seconds; " + "; ".join(measured),
        cases,
        f"{setting.name}, {how}",
    )


def _about_rows() -> Finding:
    """Compare the CKL and STE rows of the paper's own table."""
    shared = [method for method in TABLE1["ckl"] if method.startswith("SVRG-SBB") and method in TABLE1["ste"]]
    ratios = {method: TABLE1["ckl"][method].mean / TABLE1["ste"][method].mean for method in shared}
    return Finding(
        "By its printed formula, the paper's CKL is STE, so we compare its CKL rows with our STE runs. The paper's own "
        f"Table 1 is consistent with this: the CKL rows of SVRG-SBB take {min(ratios.values()):.2f} to "
        f"{max(ratios.values()):.2f} times as long as the STE rows.",
        f"Time of CKL over time of STE: {'; '.join(f'{method} {ratio:.2f}' for method, ratio in ratios.items())}.",
    )


def _about_defined(rows: Sequence[Row], times: TimesByMethod) -> Finding:
    defined = {key: runs for key, runs in times.items() if key[1] == DEFINED}
    n_reached = sum(len(runs.seconds) for runs in defined.values())
    n_runs = sum(runs.n_trials for runs in defined.values())
    lowest = min(error for runs in defined.values() for error in runs.best_errors)
    best = min(defined, key=lambda key: float(np.median(defined[key].best_errors)))
    errors = np.array([row["errors"] for row in rows if (row["setting"], row["loss"], row["method"]) == best])
    halfway = (errors.shape[1] - 1) // 2
    middle, last = np.median(errors[:, [halfway, -1]], axis=0)
    conclusion = (
        f"It levels off above {TARGET} on this set."
        if n_reached == 0 and last > middle - FLAT
        else f"The paper's rows, which all reach {TARGET}, can therefore not come from this loss."
    )
    return Finding(
        f"CKL as defined is a different loss: {n_reached:,} of {n_runs:,} runs reached an error below {TARGET}, and "
        f"the lowest held-out error is {lowest:.3f}. {conclusion}",
        f"The method with the lowest error ({best[2]}, {best[0]}) has a median error of {middle:.3f} after {halfway} "
        f"passes and of {last:.3f} after {errors.shape[1] - 1}.",
    )
