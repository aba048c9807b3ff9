"""Refitter: many fits that Ctrl-C or a time limit ends together, keeping those that are complete."""

import functools
import itertools
import signal
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.fit.plan import FitPlan
from closerthan.operating_system import can_fork
from closerthan.report.findings import Findings, FindingsRequest
from closerthan.uncertainty import refitter

POINTS = np.random.default_rng(0).standard_normal((12, 2))
ROWS = ct.datasets.simulated(POINTS, 400, noise="ste", seed=0).rows
STUDY = ct.Comparisons.from_triplets(ROWS, n_objects=12, people=np.arange(400) % 8)
QUICK = {"loss": "soe", "penalty": 0, "seed": 0}


@pytest.fixture
def after(monkeypatch):
    """Press Ctrl-C, or let the time end, in the middle of a fit, after a number of complete ones."""

    def ends(number, how):
        fit, count = refitter.fit, itertools.count()
        clock = [0.0]

        def sometimes(inputs, settings, run):
            if next(count) == number:
                if how == "interrupted":
                    signal.raise_signal(signal.SIGINT)
                else:
                    clock[0] = 1e9
                    settings = settings.replace(time_limit=1e-9)
            return fit(inputs, settings, run)

        monkeypatch.setattr(refitter, "fit", sometimes)
        if how == "time_limit":
            monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    return ends


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(STUDY, "study.csv")
    return tmp_path


def closerthan(*words):
    return CliRunner().invoke(app, [*map(str, words), "--loss", "soe", "--penalty", "0", "--threads", "1"])


LIMIT = {"interrupted": {}, "time_limit": {"time_limit": 1e6}}


@pytest.mark.parametrize("how", LIMIT)
def test_a_curve_through_the_folds_that_are_done_is_kept(after, how):
    whole = ct.learning_curve(STUDY, n_folds=4, **QUICK)
    after(17, how)  # two folds of seven sizes, and three more fits
    found = ct.learning_curve(STUDY, n_folds=4, **LIMIT[how], **QUICK)
    assert (found.stopped_by, found.after) == (how, "17 of 28 fits")
    assert found.sentences()[-1].startswith(f"{refitter.ENDED[how]} after 17 of 28 fits")
    assert abs(found.twice.error - whole.twice.error) < 0.15
    assert found.covariance[-1, -1] > 1.5 * whole.covariance[-1, -1]


def test_before_a_fold_is_done_there_is_no_curve(after):
    after(3, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        ct.learning_curve(STUDY, n_folds=4, **QUICK)


def test_the_error_at_the_time_limit_says_how_many_fits_were_done(after):
    after(3, "time_limit")
    with pytest.raises(ValueError, match="the time limit was reached after 3 of 28 fits; raise time_limit"):
        ct.learning_curve(STUDY, n_folds=4, time_limit=1e6, **QUICK)


@pytest.mark.parametrize("how", LIMIT)
def test_a_curve_is_kept_though_its_replicates_were_not_done(after, how):
    after(28, how)
    found = ct.learning_curve(STUDY, n_folds=4, n_replicates=10, **LIMIT[how], **QUICK)
    assert found.share_decided is None
    assert "before the decided triplets were estimated" in found.sentences()[-1]


def test_the_time_limit_is_that_of_a_fit_and_its_replicates_together(after):
    result = ct.embed(STUDY, **QUICK)
    after(6, "time_limit")
    found = ct.replicate(STUDY, result=result, n_replicates=20, seed=0, time_limit=1e6)
    assert (len(found), found.n_requested, found.stopped_by) == (6, 20, "time_limit")
    assert "the time limit was reached after 6 of 20" in repr(found)
    assert "the time limit was reached after 6 of 20" in Findings(found).facts()[0].note


def test_no_time_for_replicates_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="the time limit was reached after 0 of 20 replicates"):
        ct.replicate(STUDY, n_replicates=20, time_limit=1e-6, **QUICK)


def test_analyses_beyond_the_time_limit_are_named_and_the_map_is_kept():
    result = ct.embed(STUDY, **QUICK)
    found = Findings.of(STUDY, result, FindingsRequest(10), time_limit=1e-9, **QUICK)
    assert [fact.name for fact in found.left_out] == ["Replicates", "People", "Enough?"]
    assert all("the time limit was reached" in fact.note for fact in found.left_out)


@pytest.mark.parametrize("judge", [ct.assess_people, ct.group_people])
def test_people_are_assessed_completely_or_not_at_all(judge, after):
    after(2, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        judge(STUDY, **QUICK)


def test_fewer_replicates_than_ellipses_need_are_left_out_after_ctrl_c(after):
    result = ct.embed(STUDY, **QUICK)
    after(3, "interrupted")
    found = Findings.of(STUDY, result, FindingsRequest(10), **QUICK)
    assert found.interrupted
    assert found.replicates is None
    assert [fact.note for fact in found.left_out] == ["it was interrupted"]


def test_early_stopping_by_other_answers_is_refused():
    with pytest.raises(ValueError, match="validation must be a fraction here"):
        ct.learning_curve(STUDY, validation=STUDY, **QUICK)


# ---- forked processes ------------------------------------------------------------------------------------------------

forks = pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")


def refitter_of(**options):
    plan = refitter.plan_refits(STUDY, 2, None, None, {**QUICK, "n_threads": 4, **options})
    return refitter.Refitter.of(STUDY, plan)


def one_map(number, fit_map):
    return fit_map(STUDY, np.random.default_rng(number))


def until_stopped(fit_map):
    while True:
        one_map(0, fit_map)


ONES = [functools.partial(one_map, number) for number in range(6)]


@forks
def test_processes_and_threads_give_the_same_results():
    ticks = []
    threaded = refitter_of().run(ONES, n_processes=0)
    forked = refitter_of().run(ONES, lambda: ticks.append(1), n_processes=4)
    assert threaded.stopped_by == forked.stopped_by == ""
    assert len(ticks) == len(ONES)
    for one, other in zip(threaded.results, forked.results, strict=True):
        assert np.array_equal(one.embedding, other.embedding)
        assert (one.loss, one.settings, one.stopped_by) == (other.loss, other.settings, other.stopped_by)


@forks
def test_replicates_have_the_same_bits_in_processes():
    import resource  # not on Windows

    answers = ct.datasets.simulated(POINTS, 4_000, noise="ste", seed=0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    one, several = (ct.replicate(answers, n_replicates=20, n_threads=number, **QUICK) for number in (1, 4))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > before  # there were processes
    assert np.array_equal(one.maps, several.maps)
    assert np.array_equal(one.simulated, several.simulated)
    assert np.array_equal(one.committee.maps, several.committee.maps)
    assert one.calibration == several.calibration


@pytest.mark.slow
@forks
def test_the_time_limit_ends_processes():
    outcome = refitter_of(time_limit=1.0).run([ONES[0], until_stopped, until_stopped], n_processes=2)
    assert outcome.stopped_by == "time_limit"
    assert outcome.progress("fits") == "1 of 3 fits"
    assert outcome.results[0] is not None


@forks
def test_ctrl_c_ends_processes_and_keeps_the_maps_so_far():
    outcome = refitter_of().run(
        [ONES[0], until_stopped, until_stopped], lambda: signal.raise_signal(signal.SIGINT), n_processes=3
    )
    assert outcome.stopped_by == "interrupted"
    assert outcome.progress("fits") == "1 of 3 fits"
    assert outcome.results[0] is not None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@forks
def test_an_error_in_a_process_is_raised_here():
    few = STUDY.take(slice(0))
    with pytest.raises(ValueError, match="there are no comparisons to fit"):
        refitter_of().run([lambda fit_map: fit_map(few, np.random.default_rng(0)), ONES[0]], n_processes=2)


def test_a_loss_that_cannot_be_pickled_is_fitted_in_threads():
    class Local(ct.losses.STE):
        pass

    assert refitter_of(loss=Local()).n_cores == 1
    assert refitter_of().n_cores == 4


# ---- commands --------------------------------------------------------------------------------------------------------


def test_ctrl_c_while_groups_are_sought_keeps_the_table_of_people(file, monkeypatch):
    def struck(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ct, "group_people", struck, raising=False)
    said = closerthan("people", "study.csv")
    assert said.exit_code == 130
    assert "the table of people is complete; groups of people were not looked for" in said.output
    assert {path.name for path in (file / "study-people").iterdir()} == {"people.csv", "people.png"}


def test_ctrl_c_while_people_are_judged_says_that_nothing_was_written(file, after):
    after(2, "interrupted")
    said = closerthan("people", "study.csv")
    assert said.exit_code == 130
    assert "interrupted: nothing was written" in said.output
    assert not (file / "study-people").exists()


def test_ctrl_c_keeps_the_part_of_a_learning_curve_that_is_done(file, after):
    after(30, "interrupted")
    said = closerthan("enough", "study.csv", "--replicates", 0)
    assert said.exit_code == 130
    assert "interrupted after 30 of 70 fits" in " ".join(said.output.split())
    assert (file / "study-enough" / "learning-curve.csv").exists()


def test_replicates_that_are_too_few_are_refused_before_the_fit(file):
    said = closerthan("fit", "study.csv", "--replicates", 3)
    assert said.exit_code == 2
    assert "need at least 4" in said.output
    assert "answers" not in said.output.replace("better", "")


@pytest.mark.parametrize(
    "options", [{"loss": "auto"}, {"loss": "ste", "penalty": "auto"}, {"loss": "ste", "penalty": 0.3}]
)
@pytest.mark.parametrize("is_fitted", [True, False])
def test_refits_have_the_loss_and_the_penalty_of_the_fit_to_all_answers(options, is_fitted):
    result = ct.embed(STUDY, seed=0, **options)
    plan = FitPlan.of(None, 2, {"seed": 0, **options})
    fits = refitter.Refitter.of(STUDY, plan, result if is_fitted else None)
    assert (fits.loss, fits.settings.penalty) == (result.loss, result.penalty)
