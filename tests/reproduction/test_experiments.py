"""The reproduction of the paper: its parts, and the quick version of every experiment."""

import csv
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import typer
from paths import ROOT
from reproduction import EXPERIMENTS, claims, printed
from reproduction.command import reproduce, reproduce_command
from reproduction.figure3 import classical_mds
from reproduction.finite_sums import Quadratic, ShiftedSines
from reproduction.methods import DEFAULTS, PAPER, TUNED, methods
from reproduction.page import Claim, Finding, Picture, Section, Table, Text, markdown, page
from reproduction.tracking import Plan, track
from reproduction.trial_log import Job, TrialLog
from typer.testing import CliRunner

import closerthan as ct
from closerthan.datasets.answers.music import REMOTE as MUSIC
from closerthan.fit.monitor import Monitor
from closerthan.fit.stopping import Limits
from closerthan.metrics import triplet_error
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.solvers.steps import BarzilaiBorwein, Constant, StabilizedBB

HAS_MUSIC = (Path(os.environ.get("CLOSERTHAN_DATA", "")) / MUSIC.name).is_file()


# ---- trials ----------------------------------------------------------------------------------------------------------


def test_finished_trials_are_not_run_again(tmp_path):
    runs = []

    def job(trial):
        return Job({"trial": trial}, lambda: runs.append(trial) or {"error": trial / 10, "curve": [trial]})

    TrialLog(tmp_path).run("first", [job(0), job(1)])
    rows = TrialLog(tmp_path).run("second", [job(0), job(1), job(2)])
    assert runs == [0, 1, 2]
    assert [row["error"] for row in rows] == [0.0, 0.1, 0.2]
    assert [row["curve"] for row in rows] == [[0], [1], [2]]


def test_trials_with_other_settings_are_run(tmp_path):
    log = TrialLog(tmp_path)
    log.run("", [Job({"trial": 0, "solver": "a"}, lambda: {"error": 1.0})])
    assert log.run("", [Job({"trial": 0, "solver": "b"}, lambda: {"error": 2.0})])[0]["error"] == 2.0


def test_a_solver_is_identified_by_its_parameters(tmp_path):
    def job(first):
        return Job({"trial": 0, "solver": ct.solvers.SVRG(step=StabilizedBB(first=first))}, lambda: {"error": first})

    row, other = TrialLog(tmp_path).run("", [job(0.5), job(0.25)])
    assert (row["error"], other["error"]) == (0.5, 0.25)
    assert row["solver"]["name"] == "svrg-sbb"
    assert row["solver"]["step"]["first"] == 0.5
    again = TrialLog(tmp_path)
    never = job(0.5)._replace(work=lambda: pytest.fail("a trial was run again"))
    assert again.run("", [never]) == [row]
    again.write_csv([row])
    with open(tmp_path / "trials.csv", newline="") as file:
        assert [json.loads(line["solver"]) for line in csv.DictReader(file)] == [row["solver"]]


def test_an_interruption_loses_only_the_current_trial(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TrialLog(tmp_path).run("", [Job({"trial": 0}, lambda: {"error": 0.5}), Job({"trial": 1}, interrupted)])
    assert [row["trial"] for row in TrialLog(tmp_path).rows()] == [0]


def test_a_truncated_line_is_dropped_and_its_trial_is_run_again(tmp_path):
    jobs = [Job({"trial": trial}, lambda trial=trial: {"error": trial}) for trial in range(2)]
    TrialLog(tmp_path).run("", jobs)
    path = tmp_path / "trials.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert [row["error"] for row in TrialLog(tmp_path).run("", jobs)] == [0, 1]
    assert [json.loads(line)["row"]["error"] for line in path.read_text().splitlines()] == [0, 1]


def test_infinite_numbers_are_stored_exactly(tmp_path):
    job = Job({"trial": 0}, lambda: {"passes": float("inf")})
    TrialLog(tmp_path).run("", [job])
    assert TrialLog(tmp_path).run("", [job])[0]["passes"] == float("inf")


# ---- tracking --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return ct.datasets.synthetic(25, 3, 600, 600, seed=0)


@pytest.mark.parametrize("batch_size", [1, 7, 600])
def test_tracking_does_not_change_svrg(data, batch_size):
    start = 0.1 * np.random.default_rng(1).standard_normal((25, 3))
    solver = ct.solvers.SVRG(batch_size=batch_size)
    maps = []
    with CPUObjective(data.train, ct.losses.STE()) as objective:
        tracked = track(solver, objective, start, np.random.default_rng(2), data.test, Plan(12, 12))
        keep = (lambda _, x: maps.append(x.copy()),)
        monitor = Monitor(objective, Limits(4), listeners=keep)
        solver.run(objective, start, np.random.default_rng(2), monitor)
    np.testing.assert_array_equal(tracked.x, maps[-1])
    # Snapshot s is the map after 3 s passes (the epoch's gradient and walk) and after one more (the next gradient).
    ends = [triplet_error(data.test, x) for x in maps]
    assert [tracked.errors[3 * s] for s in range(1, 5)] == pytest.approx(ends[1:], abs=1e-6)
    assert [tracked.errors[3 * s + 1] for s in range(4)] == pytest.approx(ends[:4], abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ct.solvers.SOLVERS)
def test_tracking_changes_no_solver(solver, weighted, data):
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 600) if weighted else None
    answers = ct.Comparisons(data.train.rows, 25, weights=weights)
    start, chosen = 0.1 * np.random.default_rng(1).standard_normal((25, 3)), ct.solvers.solver_named(solver)
    with CPUObjective(answers, ct.losses.STE()) as objective:
        tracked = track(chosen, objective, start, np.random.default_rng(2), data.test, Plan(9, 9))
        maps = []
        monitor = Monitor(objective, Limits(len(tracked.steps)), listeners=(lambda _, x: maps.append(x.copy()),))
        chosen.run(objective, start, np.random.default_rng(2), monitor)
    np.testing.assert_array_equal(tracked.x, maps[-1])


@pytest.mark.parametrize("solver", [ct.solvers.SVRG(), ct.solvers.SGD(), ct.solvers.Gram()])
def test_the_map_with_the_lowest_error_is_returned(data, solver):
    flipped = np.where(np.random.default_rng(3).random(600) < 0.3, 1, 0)[:, None]
    noisy = ct.Comparisons(np.where(flipped, data.train.rows[:, [0, 2, 1]], data.train.rows).astype(np.int32), 25)
    start = 0.1 * np.random.default_rng(1).standard_normal((25, 3))
    with CPUObjective(noisy, ct.losses.STE()) as objective:
        tracked = track(solver, objective, start, np.random.default_rng(2), data.test, Plan(30, 30))
    assert triplet_error(data.test, tracked.best_x) == pytest.approx(tracked.best_error)
    assert tracked.best_error <= tracked.last_error == pytest.approx(triplet_error(data.test, tracked.x))


def test_the_error_is_evaluated_in_the_middle_of_a_walk(data):
    start = 0.1 * np.random.default_rng(1).standard_normal((25, 3))
    with CPUObjective(data.train, ct.losses.STE()) as objective:
        tracked = track(
            ct.solvers.SVRG(batch_size=1), objective, start, np.random.default_rng(2), data.test, Plan(4, 4)
        )
        snapshot = objective.at(start)
        walk = objective.walk(snapshot, 1)
        rng = np.random.default_rng(2)
        (visits,) = ct.solvers.svrg.SAMPLINGS["shuffled"](rng, 600, 600, 1, 2048)
        walk.take(visits[:300], 0.5 * 25 / 600)
    assert tracked.errors[2] == pytest.approx(triplet_error(data.test, walk.x), abs=1e-6)


@pytest.mark.parametrize(
    "solver", [ct.solvers.SGD(), ct.solvers.Batch(), ct.solvers.Gram()], ids=lambda solver: type(solver).__name__
)
def test_other_solvers_are_evaluated_once_per_pass(data, solver):
    start = 0.1 * np.random.default_rng(1).standard_normal((25, 3))
    errors = []
    with CPUObjective(data.train, ct.losses.STE()) as objective:
        tracked = track(solver, objective, start, np.random.default_rng(2), data.test, Plan(6, 6))
        passes = []

        def listen(record, x):
            passes.append(record.gradients // 600)
            errors.append(triplet_error(data.test, x))

        solver.run(objective, start, np.random.default_rng(2), Monitor(objective, Limits(6), listeners=(listen,)))
    expected = [errors[int(np.searchsorted(passes, k, side="right")) - 1] for k in range(7)]
    assert tracked.errors == pytest.approx(expected, abs=1e-6)


def test_passes_steps_and_seconds_to_the_target_are_counted(data):
    start = 0.1 * np.random.default_rng(1).standard_normal((25, 3))
    with CPUObjective(data.train, ct.losses.STE()) as objective:
        tracked = track(
            ct.solvers.SVRG(batch_size=4), objective, start, np.random.default_rng(2), data.test, Plan(60, 60, 0.25)
        )
        never = track(ct.solvers.SVRG(), objective, start, np.random.default_rng(2), data.test, Plan(3, 9, 0.0))
    first = next(k for k, error in enumerate(tracked.errors) if error < 0.25)
    assert tracked.passes_to_target == pytest.approx(first)
    walks, rest = divmod(first - 1, 3)
    assert tracked.inner_steps_to_target == walks * 150 + {1: 75, 2: 150}[rest]
    assert 0 < tracked.seconds_to_target <= tracked.seconds
    assert never.passes_to_target == never.seconds_to_target == float("inf")
    assert len(never.errors) == 4


# ---- methods, finite sums, the paper's numbers -----------------------------------------------------------------------


def test_there_is_a_method_for_each_row_of_the_papers_tables():
    reaches = dict.fromkeys(TUNED, 0.5)
    names = list(methods(PAPER, "ste", 100, 10_000, reaches, (1, 5, 10, 20, 50, 100, 200)))
    named = {method for table in printed.TABLE1.values() for method in table} | {"cvx"}
    assert named <= set(names)
    assert {method for table in printed.TABLE2.values() for method in table} <= set(names)


def test_the_settings_differ_in_steps_sampling_and_start():
    reaches = dict.fromkeys(TUNED, 0.5)
    theirs = methods(PAPER, "tste", 100, 10_000, reaches, (1,))["SVRG-SBB_eps-1"]
    ours = methods(DEFAULTS, "tste", 100, 10_000, reaches, (1,))["SVRG-SBB_eps-1"]
    assert theirs == ct.solvers.SVRG(step=StabilizedBB(epsilon=0.005, first=0.05), batch_size=1, sampling="uniform")
    assert ours == ct.solvers.SVRG(batch_size=1)
    rng = np.random.default_rng(0)
    assert PAPER.start((50, 2), rng).min() >= 0
    assert DEFAULTS.start((50, 2), rng).min() < 0


def test_the_papers_rows_are_complete_and_consistent():
    for table in printed.TABLE1.values():
        assert all(row.least <= row.mean <= row.most for row in table.values())
    assert all(len(table) == 9 for table in printed.TABLE2.values())


@pytest.mark.parametrize("problem", [Quadratic((1.0, 0.0, -1.0)), ShiftedSines((-0.4, 0.1, 0.3))], ids=repr)
def test_the_gradient_of_a_finite_sum_matches_its_value_and_its_terms(problem):
    rng = np.random.default_rng(0)
    width = 3 if isinstance(problem, Quadratic) else 1
    x, anchor = rng.normal(size=(2, 1, width))
    point = problem.at(x)
    for axis in range(width):
        small = np.zeros((1, width))
        small[0, axis] = 1e-6
        slope = (problem.at(x + small).value - problem.at(x - small).value) / 2e-6
        assert point.gradient[0, axis] == pytest.approx(slope, abs=1e-6)
    (change,) = problem.gradient_changes(np.arange(problem.n_terms), x, anchor)
    np.testing.assert_allclose(change / problem.n_terms, point.gradient - problem.at(anchor).gradient)


def test_svrg_minimises_a_sum_other_than_an_embedding():
    problem = ShiftedSines((-0.4, -0.1, 0.1, 0.4))
    monitor = Monitor(problem, Limits(40))
    solver = ct.solvers.SVRG(step=StabilizedBB(epsilon=2.0, first=0.005), draws=40, batch_size=1, module_epochs=4)
    solver.run(problem, np.array([[2.5]]), np.random.default_rng(0), monitor)
    assert monitor.history[-1].gradient_norm < 1e-6
    assert abs(monitor.best[0, 0]) < 1e-6


class RecordingSines(ShiftedSines):
    """Shifted sines that record the walks of all epochs, with the snapshots they started from."""

    def walk(self, snapshot, batch_size):
        walk = super().walk(snapshot, batch_size)
        self.walks.append((snapshot.x.copy(), walk))
        return walk


@pytest.mark.parametrize("output", ["best", "last", "random"])
def test_a_module_starts_from_the_output_of_the_previous_one(output):
    problem = RecordingSines((-0.4, -0.1, 0.1, 0.4))
    object.__setattr__(problem, "walks", [])
    rule = StabilizedBB(epsilon=2.0, first=0.005)
    solver = ct.solvers.SVRG(step=rule, draws=20, batch_size=1, sampling="uniform", module_epochs=3, output=output)
    monitor = Monitor(problem, Limits(12))
    solver.run(problem, np.array([[2.5]]), np.random.default_rng(1), monitor)
    for epoch in range(1, 12):
        begins, ended = problem.walks[epoch][0], problem.walks[epoch - 1][1].x
        if output == "random" and epoch % 3 == 0:
            assert begins != ended
        else:
            assert begins == ended
    steps = monitor.history.step[1:]
    assert np.flatnonzero(steps == rule.first).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("n_modules", [1, 2])
def test_the_random_output_of_a_module_is_uniform_over_its_iterates(n_modules):
    # One term and a constant step: every step multiplies the position by 0.95, and a module has 8 steps.
    problem, start = Quadratic((1.0,)), np.array([[1.0]])
    solver = ct.solvers.SVRG(step=Constant(step=0.05), draws=4, batch_size=1, module_epochs=2, output="random")
    counts = np.zeros(8 * n_modules + 1, int)
    for seed in range(400):
        picked = solver.run(problem, start, np.random.default_rng(seed), Monitor(problem, Limits(2 * n_modules)))
        counts[round(np.log(picked[0, 0]) / np.log(0.95))] += 1
    uniform = np.array([0.0, *[1 / 8] * 8])  # the start is not an iterate
    expected = 400 * (uniform if n_modules == 1 else np.convolve(uniform, uniform))
    assert np.all(np.abs(counts - expected) <= 4.5 * np.sqrt(expected))


def test_bb_ascends_and_sbb_descends_in_the_papers_example():
    problem = Quadratic((1.0, 0.0, -1.0))
    start = np.array([[0.0, 0.0, 1.0]])
    values = {}
    for rule in (BarzilaiBorwein(first=0.5), StabilizedBB(epsilon=1.0, first=0.5)):
        monitor = Monitor(problem, Limits(2))
        ct.solvers.Batch(step=rule).run(problem, start, np.random.default_rng(0), monitor)
        values[type(rule).__name__] = monitor.history.objective
        assert monitor.history.step[2] == {"BarzilaiBorwein": -1.0, "StabilizedBB": 0.5}[type(rule).__name__]
    assert values["BarzilaiBorwein"][2] > values["BarzilaiBorwein"][1]
    assert values["StabilizedBB"][2] < values["StabilizedBB"][1]


def test_classical_mds_reproduces_the_distances_of_points_in_the_plane():
    points = np.random.default_rng(0).normal(size=(8, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    coordinates = classical_mds(distances, 2)
    np.testing.assert_allclose(np.linalg.norm(coordinates[:, None] - coordinates, axis=2), distances)


# ---- pages -----------------------------------------------------------------------------------------------------------


def test_a_page_embeds_its_pictures_and_escapes_its_text(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "dot.png").write_bytes(b"not really a picture")
    blocks = [Text("a < b, `code` and **bold**"), Table("T.", ["|x|"], [["1"]]), Picture("dot", "A dot [here].")]
    section = Section("demo", "A & B", blocks, [Claim("says", "measured", {"ste": True})])
    text = page("Title", ["Intro."], [section], tmp_path)
    assert "a &lt; b, <code>code</code> and <strong>bold</strong>" in text
    assert "data:image/png;base64," in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "\\|x\\|" in markdown(section)
    assert "![A dot (here).](dot.png)" in markdown(section)


DOCS = ROOT / "docs"


def test_the_page_in_the_guide_is_generated_from_the_numbers_beside_it():
    numbers = claims.read(DOCS / "reproduction")
    assert claims.page(numbers, "reproduction/") == (DOCS / "reproduction.md").read_text(encoding="utf-8")
    figures = {f"{one['name']}/{one['picture']['stem']}.png" for one in numbers["experiments"]}
    assert {
        path.relative_to(DOCS / "reproduction").as_posix() for path in (DOCS / "reproduction").rglob("*.png")
    } == figures


def test_the_evidence_beside_the_page_contains_the_numbers_of_each_verdict_and_finding():
    numbers = claims.read(DOCS / "reproduction")
    with open(DOCS / "reproduction" / "claims.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == claims.COLUMNS
    assert [tuple(row) for row in rows] == claims.evidence(numbers)
    measured = [one["measured"] for part in numbers["experiments"] for one in (*part["claims"], *part["findings"])]
    assert sorted(row[-1] for row in rows) == sorted(measured)
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert "(reproduction/claims.csv)" in page
    for number, claim, verdict, *_ in rows:
        says = claim.replace("*", "\\*")
        cell = says.replace("|", "\\|")
        assert f"| {number} | {cell} | **{verdict}** |" in page if number else f"- {says}\n" in page


@pytest.mark.parametrize(
    ("cases", "short"),
    [
        ([{"ste": True, "ckl": np.True_}], "**holds**"),
        ([{"ste": True, "ckl": np.False_}], "**holds in part** | for ste; not for ckl"),
        ([{"ste": True}, {"ste": False}], "**holds in part** | A: holds; B: does not hold"),
        ([{"ste": False}, {"ste": False}], "**does not hold**"),
        ([{}], "**could not be judged**"),
    ],
)
def test_a_claim_checked_in_several_settings_has_one_verdict(cases, short, tmp_path):
    settings = "AB" if len(cases) > 1 else [""]
    checked = [Claim("x < y", "1 and 2", case, setting) for case, setting in zip(cases, settings, strict=True)]
    section = Section("demo", "A demo", [Picture("dot", "A dot.")], checked)
    numbers = claims.part(section, [{"date": "2026-01-01", "machine": "m"}], "reproduce")
    claims.write(tmp_path, {"experiments": [numbers]})
    assert f"| 1 | x < y | {short} |" in claims.page(claims.read(tmp_path), "").replace(" |  | ", " | ")
    rows = claims.evidence(claims.read(tmp_path))
    assert [row[3] for row in rows] == list(settings)
    assert all(f"**{verdict}**" in short for _, _, verdict, *_ in rows)


def test_the_page_its_figures_and_its_numbers_are_written_to_the_guide(tmp_path):
    claims.write_guide(DOCS / "reproduction", tmp_path / "guide" / "reproduction.md")
    written = tmp_path / "guide" / "reproduction"
    assert claims.read(written) == claims.read(DOCS / "reproduction")
    assert (written / "claims.csv").read_bytes() == (DOCS / "reproduction" / "claims.csv").read_bytes()
    assert len(list(written.rglob("*.png"))) == len(EXPERIMENTS)


def test_an_experiment_that_was_run_again_replaces_its_part_of_the_guide(tmp_path):
    guide = tmp_path / "guide" / "reproduction.md"
    claims.write_guide(DOCS / "reproduction", guide)
    claimed, finding = Claim("x < y", "1", {"ste": True}), Finding("Because.", "A table of numbers.")
    section = Section("ckl", "Again", [Picture("dot", "A dot.")], [claimed], [finding])
    (tmp_path / "new" / "ckl").mkdir(parents=True)
    (tmp_path / "new" / "ckl" / "dot.png").write_bytes(b"not really a picture")
    rows = [{"date": "2026-01-01", "machine": "m"}]
    claims.write(tmp_path / "new" / "ckl", claims.part(section, rows, "python -m reproduction ckl"))
    before = {one["name"]: one for one in claims.read(guide.with_suffix(""))["experiments"]}
    claims.write_guide(tmp_path / "new", guide)
    after = {one["name"]: one for one in claims.read(guide.with_suffix(""))["experiments"]}
    assert after["ckl"]["title"] == "Again"
    assert {name: one for name, one in after.items() if name != "ckl"} == {
        name: one for name, one in before.items() if name != "ckl"
    }
    text = guide.read_text()
    assert "- Because.\n" in text
    assert "A table of numbers." in (guide.with_suffix("") / "claims.csv").read_text()
    assert "`python -m reproduction ckl`: closerthan" in text
    assert guide.with_suffix("").joinpath("ckl", "dot.png").exists()


# ---- the experiments themselves --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "reproduction"


def check_files(section, folder):
    pictures = [block.stem for block in section.blocks if isinstance(block, Picture)]
    assert pictures
    for stem in pictures:
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{stem}.svg").read_text()
    text = (folder / f"{section.name}.md").read_text()
    assert section.claims
    assert all(claim.verdict in text for claim in section.claims)
    assert not re.search(r"\bnan\b", text)
    with open(folder / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["trial"] and row["machine"] and row["date"] for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(HAS_MUSIC, reason="the next test runs all experiments")
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "figure4"])
def test_every_experiment_has_a_quick_version_that_writes_its_files(name, out):
    (section,) = reproduce(name, quick=True, out=out)
    check_files(section, out / name)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_MUSIC, reason="no music data")
def test_all_quick_experiments_write_their_files_and_one_page(out):
    sections = reproduce("all", quick=True, out=out)
    html, text = (out.with_name(f"{out.name}.{kind}").read_text() for kind in ("html", "md"))
    assert [section.name for section in sections] == list(EXPERIMENTS)
    for section in sections:
        check_files(section, out / section.name)
        assert f'id="{section.name}"' in html
        assert all(claim.says.replace("*", "\\*").replace("|", "\\|") in text for claim in section.claims)
    assert not re.search(r'(src|href)="(?!data:|#)', html)
    for link in re.findall(r"\]\(([^)]+\.png)\)", text):
        assert (out.parent / link).is_file()
    assert (out / "claims.csv").is_file()


@pytest.mark.slow
def test_a_second_run_gives_the_same_page_without_running_a_trial(out):
    (first,) = reproduce("figure3", quick=True, out=out)
    log = out / "figure3" / "trials.jsonl"
    before = log.read_bytes()
    assert reproduce("figure3", quick=True, out=out) == [first]
    assert log.read_bytes() == before  # a trial would have been appended


@pytest.mark.slow
def test_more_trials_are_added_to_the_first_ones(out):
    reproduce("figure3", trials=1, quick=True, out=out / "more")
    before = (out / "more" / "figure3" / "trials.jsonl").read_text()
    reproduce("figure3", trials=2, quick=True, out=out / "more")
    assert (out / "more" / "figure3" / "trials.jsonl").read_text().startswith(before)


@pytest.mark.slow
def test_a_users_features_are_used(tmp_path):
    objects = ct.datasets.synthetic_classes(3, 20, 10, seed=1)
    np.savez(tmp_path / "mine.npz", features=objects.features, labels=objects.labels)
    (section,) = reproduce("table2", quick=True, out=tmp_path / "out", features=tmp_path / "mine.npz")
    assert any(isinstance(block, Picture) and block.stem == "figure5-mine" for block in section.blocks)


# ---- the command -----------------------------------------------------------------------------------------------------

app = typer.Typer()
app.command()(reproduce_command)


def test_the_bare_command_lists_everything():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    for name in (*EXPERIMENTS, "figure2", "figure5", "all"):
        assert re.search(rf"^{name} ", result.output, re.MULTILINE)


@pytest.mark.slow
def test_the_command_runs_an_experiment_and_reports_its_verdicts(tmp_path):
    result = CliRunner().invoke(app, ["figure3", "--quick", "--trials", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert (tmp_path / "figure3" / "figure3.md").exists()
    assert "figure3: stochastic training does not hurt the eurodist map:" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "unknown experiment 'table9'; choose from: figure1"),
        (["figure3", "--features", "x.npz"], "features are for table2, not for figure3"),
        (["table2", "--features", "x.csv"], "features come in a .npz or .mat file"),
    ],
)
def test_a_wrong_command_is_explained(arguments, message, tmp_path):
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.output


class Interrupted(NamedTuple):
    """An experiment that is interrupted by Ctrl-C."""

    name: str = "figure3"

    def run(self, bench):
        raise KeyboardInterrupt


def test_ctrl_c_is_followed_by_a_message_that_finished_trials_are_kept(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "figure3", Interrupted())
    result = CliRunner().invoke(app, ["figure3", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "the finished trials are kept" in result.output
