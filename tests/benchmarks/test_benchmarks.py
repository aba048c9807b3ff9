"""The arithmetic of the benchmarks; the measurements themselves are not tested."""

import math

import pytest
from benchmarks import overview, page, targets, whole_command
from benchmarks.results import Results
from benchmarks.summary import fits_on
from paths import ROOT


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "results.jsonl", keep=lambda record: True)


def fit(results, method, loss="ste", **measured):
    key = {"part": "fits", "workload": "cars", "method": method, "loss": loss, "threads": 1}
    results.add(**key, run=len(results.where(**key)), **measured)


def curve(seconds, errors, setup=0.5):
    return {
        "seconds": seconds[-1] + setup,
        "error": errors[-1],
        "setup": setup,
        "curve_seconds": seconds,
        "curve_error": errors,
    }


def test_a_broken_last_line_is_measured_again(tmp_path):
    path = tmp_path / "results.jsonl"
    Results(path, keep=lambda record: True).add(part="kernels", ns=1.0)
    path.write_text(path.read_text() + '{"part": "grow')
    again = Results(path, keep=lambda record: True)
    assert [record["part"] for record in again] == ["kernels"]
    assert again.once(lambda: {"ns": 2.0}, part="kernels")["ns"] == 1.0
    assert again.once(lambda: {"ns": 2.0}, part="growth")["ns"] == 2.0


def test_the_time_to_an_error_is_the_first_such_time_and_includes_setup(results):
    fit(results, "closerthan", **curve([0.0, 1.0, 2.0, 3.0], [0.5, 0.2, 0.1, 0.15]))
    (ours,) = fits_on(results, "cars")
    assert ours.seconds_to(0.2).middle == 1.5
    assert ours.seconds_to(0.12).middle == 2.5
    assert math.isinf(ours.seconds_to(0.05).middle)


@pytest.mark.parametrize(
    ("peer", "verdict"),
    [
        ({"seconds": 50.0, "error": 0.2}, "met"),
        ({"seconds": 15.0, "error": 0.2}, "missed by a factor of 2"),
        ({"seconds": 50.0, "error": 0.05}, "missed: error not reached"),
        ({"over_limit": 60.0}, "met"),
        ({"over_limit": 10.0}, "open: the bound is lower than the target"),
    ],
)
def test_the_same_loss_is_compared_by_our_time_to_the_final_error_of_the_peer(results, peer, verdict):
    fit(results, "closerthan", **curve([0.0, 1.0, 2.0], [0.5, 0.2, 0.1]))
    fit(results, "cblearn", **peer)
    first, *_ = targets.evaluated(results)
    assert first.target.startswith("(a)")
    assert first.verdict == verdict


@pytest.mark.parametrize(
    ("error", "seconds", "met"), [(0.101, 1.0, True), (0.103, 1.0, False), (0.101, 3.0, False), (0.05, 1.0, True)]
)
def test_auto_must_be_as_good_as_the_best_peer_in_a_twentieth_of_the_time_of_all(results, error, seconds, met):
    for loss in ("gnmds", "ckl", "tste", "ste"):
        fit(results, "cblearn", loss=loss, seconds=2.5, error=0.2)
    fit(results, "cblearn", loss="soe", seconds=30.0, error=0.1)
    fit(results, "auto", loss="auto", seconds=seconds, error=error)
    (finding,) = (one for one in targets.evaluated(results) if one.target.startswith("(b)"))
    assert finding.met is met


@pytest.mark.parametrize(("seconds", "met"), [(1.0, True), (3.0, None)])
def test_the_time_of_the_peers_is_a_bound_if_not_all_of_them_were_run(results, seconds, met):
    fit(results, "cblearn", loss="soe", seconds=30.0, error=0.1)
    fit(results, "auto", loss="auto", seconds=seconds, error=0.1)
    (finding,) = (one for one in targets.evaluated(results) if one.target.startswith("(b)"))
    assert finding.met is met
    assert "> " in finding.measured
    assert "1 estimator of 5" in finding.measured


def test_targets_are_counted_and_the_missed_workloads_are_listed():
    verdicts = [("(a)", "here", "met"), ("(a)", "there", "missed by a factor of 2"), ("(b)", "here", "open: no peer")]
    findings = [targets.Finding(target, where, "", "", verdict) for target, where, verdict in verdicts]
    assert [(one["target"], one["met"], one["of"], one["missed"]) for one in overview.target_counts(findings)] == [
        ("(a)", 1, 2, ["there by a factor of 2"]),
        ("(b)", 0, 1, []),
    ]


def test_the_page_in_the_guide_is_generated_from_the_numbers_beside_it():
    docs = ROOT / "docs"
    numbers = overview.read(docs / "benchmarks" / "summary.json")
    assert page.text(numbers, "benchmarks/whole-fits.png") == (docs / "benchmarks.md").read_text(encoding="utf-8")


def test_an_overview_compares_whole_fits_and_times_to_the_peers_error(results, tmp_path):
    results.add(part="run", machine={}, settings={}, load=None)
    fit(results, "closerthan", **curve([0.0, 1.0, 2.0], [0.5, 0.2, 0.1]))
    fit(results, "cblearn", seconds=15.0, error=0.2)
    fit(results, "auto", loss="auto", seconds=5.0, error=0.1)
    overview.write(tmp_path / "summary.json", overview.overview(results, targets.evaluated(results)))
    (cars,) = overview.read(tmp_path / "summary.json")["workloads"]
    assert cars["losses"] == [{"loss": "ste", "whole_fit": 6.0, "to_its_error": 10.0, "error": 0.1, "peer_error": 0.2}]
    assert cars["auto"] == {"seconds": 5.0, "error": 0.1}
    assert cars["cblearn"] == {"estimators": 1, "seconds": 15.0, "error": 0.2, "bound": True}


def test_all_stages_of_the_whole_command_exist():
    with whole_command.timed_stages({}):
        pass
