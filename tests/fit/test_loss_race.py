"""loss="auto": the race and its outcome."""

import _thread
import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
import pytest
from conftest import InterruptedPolyak

import closerthan as ct
from closerthan.evaluate.facts import facts
from closerthan.fit import loss_race
from closerthan.fit.loss_race import (
    FEW_ANSWERS,
    FIRST,
    LOSS_GRID,
    MANY_ANSWERS,
    PENALTY_GRID,
    ROUNDS,
    STRONG_PENALTIES,
    SURVIVORS,
    Grid,
    Race,
    RaceSetup,
    Round,
    table,
)
from closerthan.losses import STE, loss_named
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.result import Candidate, Result, Start


def test_the_table_of_candidates_is_kept_best_first(problem):
    result = ct.embed(problem.train, loss="auto", seed=0)
    candidates = result.candidates
    assert {(candidate.loss, candidate.penalty) for candidate in candidates} <= set(
        itertools.product(LOSS_GRID, PENALTY_GRID)
    )
    assert list(candidates) == sorted(candidates, key=lambda one: (-one.rounds, one.held_out_error))
    assert all(one.rounds <= ROUNDS for one in candidates)
    assert sum(one.rounds == ROUNDS for one in candidates) <= SURVIVORS
    assert (result.loss_name, result.penalty) == (candidates[0].loss, candidates[0].penalty)
    assert result.loss == loss_named(candidates[0].loss)
    assert (candidates[0].behind, candidates[0].standard_error) == (0.0, 0.0)
    assert result.margin_of_choice == result.runner_up.behind
    assert f"with penalty {result.penalty:g} ({result.choice_in_words})" in repr(result)


def ended(**wrong):
    """A result whose losses are this far behind ste, with these standard errors."""
    candidates = [
        Candidate("ste", 0.2, 3, 0.1),
        *(Candidate(loss, 0.2 + behind, 3, 0.1, behind, error) for loss, (behind, error) in wrong.items()),
    ]
    history = ct.History([ct.history.Record(0, 0, 0.0, 1.0, 1.0, 1.0, 0.2, 0.3)])
    return Result(np.eye(3, 2), history, "tolerance", 0, candidates=tuple(candidates))


def test_a_tie_is_called_a_tie():
    result = ended(soe=(0.001, 0.004), tste=(0.007, 0.004), ckl=(0.02, 0.005))
    assert result.tied_losses == ("soe", "tste")
    assert result.choice_in_words == "tied with soe and tste"
    alone = ended(soe=(0.011, 0.005))
    assert alone.tied_losses == ()
    assert alone.choice_in_words == "1.10 percentage points ahead of soe"


def test_a_tie_is_among_the_facts(problem):
    result = dataclasses.replace(
        ct.embed(problem.train, loss="ste", seed=0, epochs=1), candidates=ended(soe=(0.001, 0.004)).candidates
    )
    [fact] = [fact for fact in facts(result, problem.train, None) if fact.name == "Loss"]
    assert fact.value == "ste with penalty 0, tied with soe"
    assert fact.note.startswith(
        "ste and soe cannot be told apart by their errors on held-out answers (paired test at 5 %)"
    )


# ---- the table of candidates -----------------------------------------------------------------------------------------

STE_CELL, TSTE_CELL = ("ste", 0.1), ("tste-2", 0.1)


def table_of(rounds, group):
    """The table of rounds, each of which has the wrong comparisons of each candidate."""
    summed = [Round.of({cell: np.asarray(one) for cell, one in wrong.items()}, group, None) for wrong in rounds]
    return table(summed, dict.fromkeys(rounds[0], 0.2))


def test_losses_are_compared_on_the_same_answers_and_questions_count():
    """Asking each question ten times changes neither the difference nor its standard error."""
    luck = np.random.default_rng(0).random(300)
    errors = []
    for times in (1, 10):
        wrong = {STE_CELL: np.repeat(luck < 0.15, times), TSTE_CELL: np.repeat(luck < 0.2, times)}
        winner, other = table_of([wrong], np.repeat(np.arange(300), times))
        assert (winner.loss, winner.behind, winner.standard_error) == ("ste", 0.0, 0.0)
        assert other.behind == pytest.approx(other.held_out_error - winner.held_out_error)
        errors.append(other.standard_error)
    assert errors[1] == pytest.approx(errors[0])
    difference = (luck < 0.2).mean() - (luck < 0.15).mean()
    assert errors[0] == pytest.approx(np.sqrt(difference * (1 - difference) / 300), rel=0.01)


def test_the_standard_error_includes_how_much_the_rounds_differ():
    """One loss is 0, 4 and 2 points behind in three rounds, and in each of them equally so for all questions."""
    place, group = np.tile(np.arange(50), 20), np.repeat(np.arange(20), 50)
    rounds = [{STE_CELL: place < 10, TSTE_CELL: place < 10 + behind} for behind in (0, 2, 1)]
    winner, other = table_of(rounds, group)
    assert (winner.loss, other.loss, other.rounds) == ("ste", "tste-2", 3)
    assert other.behind == pytest.approx(0.02)
    assert other.standard_error == pytest.approx(np.std([0.0, 0.04, 0.02], ddof=1) / np.sqrt(3))


def test_weights_count_in_the_errors():
    group, weights = np.arange(4), np.array([1.0, 1.0, 1.0, 5.0])
    wrong = {STE_CELL: np.array([1, 1, 1, 0]) > 0, TSTE_CELL: np.array([0, 0, 0, 1]) > 0}
    winner, other = table([Round.of(wrong, group, weights)], dict.fromkeys(wrong, 0.2))
    assert (winner.loss, winner.held_out_error, other.held_out_error) == ("ste", 3 / 8, 5 / 8)


def test_a_candidate_that_dropped_out_is_behind_the_others_even_if_its_round_was_an_easy_one():
    easy, hard = np.arange(100) < 10, np.arange(100) < 50
    wrong = [{STE_CELL: easy, TSTE_CELL: np.arange(100) < 12}, {STE_CELL: hard}]
    winner, other = table_of(wrong, np.arange(100))
    assert (winner.loss, winner.rounds, other.rounds) == ("ste", 2, 1)
    assert other.held_out_error < winner.held_out_error
    assert other.behind == pytest.approx(0.02)
    result = dataclasses.replace(ended(soe=(0.1, 0.1)), candidates=(winner, other))
    assert result.margin_of_choice == pytest.approx(0.02)


def test_a_loss_as_good_as_the_winner_is_tied_and_a_far_worse_one_is_not():
    coin = np.random.default_rng(5)
    others = [(f"tste-{number}", 0.1) for number in (1, 2, 4, 8)]
    wrong = {cell: coin.random(600) < (0.6 if cell[0] == "tste-8" else 0.2) for cell in (STE_CELL, *others)}
    worse = {candidate.loss for candidate in table_of([wrong], np.arange(600))[1:] if not candidate.is_tied}
    assert "tste-8" in worse
    assert len(worse) <= 2


# ---- the race --------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A fit that a race asked for."""

    solver: str
    train: ct.Comparisons
    cell: tuple
    start: np.ndarray | None
    seconds: float
    seed: int
    length: int | None


@dataclasses.dataclass
class FakeFits:
    """Fits of a race that return the true map plus noise, the more the worse a candidate is."""

    truth: np.ndarray
    badness: dict = dataclasses.field(default_factory=dict)
    calls: list = dataclasses.field(default_factory=list)

    def fit(self, solver):
        def one(train, cell, cancelled, seconds, start, *, seed, length=None):
            self.calls.append(Call(solver, train, cell, start, seconds, seed, length))
            noise = np.random.default_rng(9).standard_normal(self.truth.shape)
            history = ct.History([ct.history.Record(0, 0, 0.0, 1.0, 1.0, 1.0, 0.2, np.nan)])
            return Result(self.truth + self.badness.get(cell, 0.0) * noise, history, "epochs", 0)

        return one

    def candidates(self, answers, *, grid=None, start=None, by="auto", until=np.inf):
        fits = (self.fit("from scratch"), self.fit("refine"), self.fit("refine many"))
        setup = RaceSetup(*fits, Grid() if grid is None else grid, 1, until)
        return Race(setup, self.truth.shape[1], start).run(answers, np.random.default_rng(0), by)

    @property
    def rounds(self):
        """The fits of each round; the first of each is that of the common map."""
        common = [number for number, call in enumerate(self.calls) if call.solver == "from scratch"]
        return [self.calls[a:b] for a, b in itertools.pairwise([*common, len(self.calls)])]


@pytest.fixture
def simulation():
    """Answers without noise, and fits that are perfect unless a test changes them."""
    truth = np.random.default_rng(1).standard_normal((30, 2))
    return ct.datasets.simulated(truth, 2_000, seed=0), FakeFits(truth)


def away_from(best):
    """The error of each candidate, which grows with its distance from the best one on the grid."""
    row, column = LOSS_GRID.index(best[0]), PENALTY_GRID.index(best[1])
    return {
        (loss, penalty): 0.15 * (abs(i - row) + abs(j - column))
        for (i, loss), (j, penalty) in itertools.product(enumerate(LOSS_GRID), enumerate(PENALTY_GRID))
    }


BEST = [("tste-1", 1.0), ("ste", 0.001), ("tste-4", 0.01), ("soe", 1.0), ("ckl", 0.1), FIRST[0]]


@pytest.mark.parametrize("best", BEST)
def test_the_search_finds_the_best_candidate_without_fitting_all(simulation, best):
    answers, fits = simulation
    fits.badness = away_from(best)
    winner, *_ = fits.candidates(answers)
    assert (winner.loss, winner.penalty) == best
    assert len({call.cell for call in fits.calls}) < len(LOSS_GRID) * len(PENALTY_GRID)


def test_fewer_candidates_remain_after_each_round_and_none_is_fitted_twice_in_one(simulation):
    """All are equally good, so that chance alone decides and none drops out earlier."""
    answers, fits = simulation
    candidates = fits.candidates(answers)
    fitted = [[call.cell for call in calls[1:]] for calls in fits.rounds]
    assert all(len(cells) == len(set(cells)) for cells in fitted)
    assert [len(cells) for cells in fitted[1:]] == [SURVIVORS] * (ROUNDS - 1)
    assert set(fitted[0]) > set(fitted[1])
    assert len(fitted[0]) == len(candidates)


def test_candidates_that_are_clearly_worse_drop_out_at_once(simulation):
    answers, fits = simulation
    grid = Grid(("tste-4", "ste"), (0.01, 0.1))
    fits.badness = dict.fromkeys(itertools.product(grid.losses, grid.penalties), 1.0) | {("tste-4", 0.1): 0.0}
    winner, *others = fits.candidates(answers, grid=grid)
    assert (winner.loss, winner.penalty) == ("tste-4", 0.1)
    assert {one.rounds for one in (winner, *others)} == {1}
    assert len(fits.rounds) == 1


def test_where_there_are_enough_candidates_only_a_few_of_the_best_are_compared_again(simulation):
    answers, fits = simulation
    fits.badness = {cell: 0.02 * worse for cell, worse in away_from(("tste-4", 0.1)).items()}
    fits.candidates(answers)
    first, second = ([call.cell for call in calls[1:]] for calls in fits.rounds[:2])
    assert len(second) <= SURVIVORS
    assert max(map(fits.badness.get, second)) <= sorted(map(fits.badness.get, first))[len(second) - 1]


@pytest.mark.parametrize(("per_coordinate", "losses"), [(FEW_ANSWERS - 1, LOSS_GRID[1:-2]), (FEW_ANSWERS, LOSS_GRID)])
def test_with_few_answers_only_tste_and_ste_race(per_coordinate, losses):
    n_objects = 10
    numbers = per_coordinate * n_objects * ct.Settings().n_dims, n_objects
    assert Grid.of(ct.Settings(), *numbers) == Grid(losses, PENALTY_GRID)
    assert Grid.of(ct.Settings(loss="soe"), *numbers) == Grid(("soe",), (0.0, *PENALTY_GRID))
    assert {loss_named(loss).is_likelihood for loss in LOSS_GRID[1:-2]} == {True}


def test_only_with_many_answers_strong_penalties_race():
    strongest = [max(Grid.of(ct.Settings(), number, 1000).penalties) for number in (MANY_ANSWERS - 1, MANY_ANSWERS)]
    assert strongest == [max(PENALTY_GRID), max(STRONG_PENALTIES)]


@pytest.mark.parametrize("seed", [1, 2])
def test_with_many_answers_candidates_are_fitted_long_enough_to_tell_penalties_apart(seed):
    """A strong penalty fits sooner, but not as well: after two epochs instead of three, 1 wins, with errors of .03."""
    data = ct.datasets.synthetic(300, 10, 66_000, 5_000, seed=seed)
    result = ct.embed(data.train, 10, seed=0)
    assert result.penalty < 1.0
    assert ct.triplet_error(data.test, result.embedding) < 0.025


def test_all_candidates_of_a_round_start_from_the_same_map_with_the_same_answers_and_time(simulation):
    answers, fits = simulation
    fits.candidates(answers)
    assert len(fits.rounds) == ROUNDS
    for common, *others in fits.rounds:
        assert common.start is None
        assert common.length == loss_race.EPOCHS
        for call in others:
            assert call.solver == "refine"
            assert np.array_equal(call.start, fits.truth)
            assert np.array_equal(call.train.rows, common.train.rows)
            assert call.seed == common.seed
    assert len({calls[0].seed for calls in fits.rounds}) == ROUNDS


def test_fits_of_later_rounds_are_longer(simulation):
    answers, fits = simulation
    fits.candidates(answers)
    first, second = ({call.length for call in calls[1:]} for calls in fits.rounds)
    assert second == {loss_race.LONGER * length for length in first}


def test_the_common_map_starts_where_the_user_says(simulation):
    answers, fits = simulation
    start = np.zeros((30, 2))
    fits.candidates(answers, start=start)
    assert all(calls[0].start is start for calls in fits.rounds)


@pytest.mark.parametrize(
    ("grid", "n_fitted"),
    [(Grid(("soe",), PENALTY_GRID), len(PENALTY_GRID)), (Grid(LOSS_GRID, (0.3,)), len(LOSS_GRID))],
)
def test_a_race_in_one_direction_may_fit_all_of_it(simulation, grid, n_fitted):
    answers, fits = simulation
    candidates = fits.candidates(answers, grid=grid)
    cells = {call.cell for call in fits.calls}
    assert cells <= set(itertools.product(grid.losses, grid.penalties))
    assert len(candidates) <= n_fitted


def test_a_single_candidate_wins_after_one_round(simulation):
    answers, fits = simulation
    (winner,) = fits.candidates(answers, grid=Grid(("soe",), (0.3,)))
    assert (winner.loss, winner.penalty, winner.rounds) == ("soe", 0.3, 1)


def test_a_loss_without_a_name_has_that_of_its_class(simulation):
    class Mine(STE):
        pass

    answers, fits = simulation
    assert {one.loss for one in fits.candidates(answers, grid=Grid((Mine(),), PENALTY_GRID))} == {"Mine"}


def test_a_round_that_is_cut_short_does_not_count(simulation, monkeypatch):
    """The first round leaves a tenth of the time, and the second one uses it up."""
    answers, fits = simulation
    now = [0.0]
    monkeypatch.setattr(loss_race.time, "perf_counter", lambda: now[0])
    plain = fits.fit

    def timed(solver):
        fit = plain(solver)

        def one(*args, **more):
            n_common = sum(call.solver == "from scratch" for call in fits.calls) + (solver == "from scratch")
            now[0] = 9.0 if n_common == 1 else 10.0
            return fit(*args, **more)

        return one

    fits.fit = timed
    candidates = fits.candidates(answers, until=10.0)
    assert len(fits.rounds) == 2
    assert {candidate.rounds for candidate in candidates} == {1}
    shares = [call.seconds for call in fits.rounds[0][1 : 1 + len(FIRST)]]
    assert shares == pytest.approx([1 / len(FIRST)] * len(FIRST))  # the first candidates share what is left


def test_it_picks_candidates_that_are_nearly_the_best():
    data = ct.datasets.synthetic(60, 5, 6_000, 5_000, seed=2)
    chosen = ct.embed(data.train, 5, loss="auto", seed=0)
    errors = [
        ct.triplet_error(data.test, ct.embed(data.train, 5, loss=loss, penalty=penalty, seed=0).embedding)
        for loss in ("tste-1", "tste-4", "ste")
        for penalty in (0.001, 0.1, 1.0)
    ]
    assert max(errors) - min(errors) > 0.01  # so that there is something to choose
    assert ct.triplet_error(data.test, chosen.embedding) <= min(errors) + 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "losses", "penalties"),
    [
        ({"loss": "soe", "penalty": "auto"}, {"soe"}, set(PENALTY_GRID)),
        ({"loss": "tste", "penalty": "auto"}, {"tste"}, set(PENALTY_GRID)),
        ({"loss": ct.losses.CKL(mu=0.3), "penalty": "auto"}, {"ckl-0.3"}, set(PENALTY_GRID)),
        ({"loss": "auto", "penalty": 0.3}, set(LOSS_GRID), {0.3}),
        ({"loss": "auto", "penalty": 0}, set(LOSS_GRID), {0.0}),
    ],
)
def test_a_fixed_loss_or_penalty_is_not_varied_in_a_race(options, losses, penalties, problem):
    result = ct.embed(problem.train, seed=0, **options)
    candidates = result.candidates
    assert {candidate.loss for candidate in candidates} <= losses
    assert {candidate.penalty for candidate in candidates} <= penalties
    assert len(candidates) > 1
    assert result.penalty in penalties
    again = ct.embed(problem.train, settings=result.settings)
    assert np.array_equal(again.embedding, result.embedding)


@pytest.mark.slow
def test_a_user_defined_loss_races_with_several_penalties(problem):
    class Mine(STE):
        pass

    result = ct.embed(problem.train, loss=Mine(), penalty="auto", seed=0)
    assert {candidate.loss for candidate in result.candidates} == {"Mine"}
    assert result.runner_up is None
    assert (result.loss, result.penalty) == (Mine(), result.candidates[0].penalty)
    same = ct.embed(problem.train, loss="ste", penalty="auto", seed=0)
    assert [one[1:] for one in result.candidates] == [one[1:] for one in same.candidates]


def test_with_a_fixed_loss_and_no_penalty_there_is_no_race(problem):
    for penalty in (0, 0.1):
        result = ct.embed(problem.train, loss="ste", penalty=penalty, seed=0, epochs=2)
        assert result.candidates == ()
        assert result.penalty == (penalty or 0.0)


def test_the_penalty_of_a_named_loss_is_chosen(problem):
    result = ct.embed(problem.train, loss="ste", seed=0, epochs=2)
    assert {one.loss for one in result.candidates} == {"ste"}
    assert result.penalty == result.candidates[0].penalty
    assert result.runner_up is None
    [fact] = [fact for fact in facts(result, problem.train, None) if fact.name == "Loss"]
    assert fact.value == f"ste with penalty {result.penalty:g}"
    errors = zip(result.candidates, result.comparable_errors, strict=True)
    assert all(f"{100 * error:.1f} % with {one.penalty:g}" in fact.note for one, error in errors)


def test_with_very_many_answers_a_named_loss_has_no_penalty_unless_asked_for():
    answers = ct.datasets.synthetic(30, 2, loss_race.MOST_FINISHED, 10, seed=0).train
    plain, without, chosen = (
        ct.embed(answers, loss="ste", penalty=penalty, seed=0, epochs=1) for penalty in (None, 0, "auto")
    )
    assert plain.candidates == ()
    assert np.array_equal(plain.embedding, without.embedding)
    assert chosen.candidates


@pytest.mark.parametrize(("fewest", "most", "n_train", "n_held_out"), [(100_000, 20_000, 378, 126), (200, 60, 204, 60)])
def test_no_two_rounds_judge_by_the_same_answers(fewest, most, n_train, n_held_out):
    """No round evaluates on answers that it has fitted; of a large file, only some are read."""
    answers = ct.Comparisons(np.array(list(itertools.permutations(range(9), 3))), 9)  # no two are the same
    parts = loss_race._parts(answers, 1, np.random.default_rng(0), fitted=fewest, most_held_out=most)
    places = {tuple(row): place for place, row in enumerate(answers.rows)}
    rounds = [[{places[tuple(row)] for row in part.rows} for part in both] for *both, _ in parts]
    assert [(len(train), len(held_out)) for train, held_out in rounds] == [(n_train, n_held_out)] * loss_race.ROUNDS
    assert all(train.isdisjoint(held_out) for train, held_out in rounds)
    assert len(set.union(*(held_out for _, held_out in rounds))) == loss_race.ROUNDS * n_held_out
    assert all(np.diff(sorted(held_out)).max() > 1 for _, held_out in rounds)  # from all over, were it sorted


def test_the_winner_is_fitted_to_all_answers_with_several_starts(problem):
    result = ct.embed(problem.train, loss="auto", seed=0)
    assert len(result.starts) == loss_race.STARTS == 4
    assert np.isnan(result.best_record.validation_error)
    assert ct.triplet_error(problem.train, result.embedding) == pytest.approx(result.best_record.train_error)


def test_the_settings_make_the_same_map_again(problem):
    result = ct.embed(problem.train, loss="auto", seed=3)
    assert result.starts[result.best_start].objective == result.best_record.objective
    again = ct.embed(problem.train, settings=result.settings)
    assert np.array_equal(again.embedding, result.embedding)
    winner = result.candidates[0]
    settings = {name: getattr(result.settings, name) for name in ("seed", "epochs", "n_starts")}
    by_name = ct.embed(problem.train, loss=winner.loss, penalty=winner.penalty, **settings)
    assert np.array_equal(by_name.embedding, result.embedding)


def test_without_time_for_the_final_fit_the_best_short_fit_is_returned(problem, monkeypatch):
    plain = loss_race.fit

    def hurried(inputs, settings, run):
        """The last fit, the only one that may use all threads, has no time for an epoch."""
        last = run.device.threads > 1
        result = plain(inputs, settings.replace(time_limit=None, epochs=0 if last else settings.epochs), run)
        return dataclasses.replace(result, stopped_by="time_limit") if last else result

    monkeypatch.setattr(loss_race, "fit", hurried)
    result = ct.embed(problem.train, loss="auto", seed=0, n_starts=4, n_threads=2, time_limit=1000.0)
    assert result.stopped_by == "time_limit"
    assert 1 <= result.history[-1].epoch <= loss_race.EPOCHS
    assert result.best_record.objective == min(start.objective for start in result.starts)


def test_a_start_is_used_and_a_share_held_out(problem):
    start = 0.1 * np.random.default_rng(0).standard_normal((15, 2))
    result = ct.embed(problem.train, loss="auto", seed=0, start=start, validation=0.2)
    assert len(result.starts) == 1
    assert result.best_record.validation_error < 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": np.zeros((15, 2)), "n_starts": 3}, "the start is fixed, so there can be only one"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"tolerance": -1}, "tolerance is -1"),
        ({"resume": True}, "no checkpoint to resume from"),
    ],
)
def test_bad_options_are_refused_before_the_race(options, message, problem):
    solver = InterruptedPolyak()
    with pytest.raises(ValueError, match=message):
        ct.embed(problem.train, loss="auto", solver=solver, **options)
    assert not solver.runs


def test_two_seeds_choose_the_same_loss_and_penalty_by_the_same_errors(problem):
    one, other = (ct.embed(problem.train, loss="auto", seed=seed, epochs=1) for seed in (1, 2))
    assert one.candidates == other.candidates
    assert not np.array_equal(one.embedding, other.embedding)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(problem):
    maps = [ct.embed(problem.train, loss="auto", seed=4, n_threads=n).embedding for n in (1, 3)]
    assert np.array_equal(*maps)


def test_the_winner_is_run_to_its_end():
    data = ct.datasets.synthetic(40, 2, 4_000, 100, seed=0)
    assert ct.embed(data.train, 2, loss="auto", seed=0, epochs=60, tolerance=None).history[-1].epoch == 60
    assert ct.embed(data.train, 2, loss="auto", seed=0).stopped_by == "tolerance"


def test_it_survives_saving(problem, tmp_path):
    result = ct.embed(problem.train, loss="auto", seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    assert ct.Result.load(tmp_path / "fit.npz").candidates == result.candidates


def test_where_nothing_can_be_held_out_there_is_no_race():
    """Answers about the same objects predict each other, so none can be held out."""
    answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    result = ct.embed(answers, 1, loss="auto", seed=0)
    expected = ct.embed(answers, 1, loss=loss_race.WITHOUT_RACE, penalty=0, seed=0)
    assert result.candidates == ()
    assert result.settings == expected.settings
    assert np.array_equal(result.embedding, expected.embedding)


@pytest.mark.parametrize("at", [1, 3, 11])
def test_ctrl_c_ends_the_race(problem, monkeypatch, at):
    """This includes the time after the first epochs, when a single fit would keep its best map."""
    evaluations = itertools.count(1)
    plain = CPUObjective.value

    def interrupting(self, x):
        if next(evaluations) == at:
            _thread.interrupt_main()
        return plain(self, x)

    monkeypatch.setattr(CPUObjective, "value", interrupting)
    with pytest.raises(KeyboardInterrupt):
        ct.embed(problem.train, loss="auto", seed=0, epochs=10**6, tolerance=None)


def test_the_estimator_has_the_chosen_loss(problem):
    model = ct.OrdinalEmbedding(loss="auto", random_state=0, max_iter=3).fit(problem.train.rows)
    assert model.loss_ == loss_named(model.result_.candidates[0].loss)
    assert model.result_.settings.penalty == model.result_.candidates[0].penalty


def test_advice_does_not_repeat_what_auto_has_tried():
    data = ct.datasets.synthetic(30, 2, 1_000, 10, flipped=0.4, seed=0)
    told = {loss: ct.advice(data.train, ct.embed(data.train, loss=loss, seed=0, epochs=3)) for loss in ("auto", "ste")}
    assert not any("loss=" in line for line in told["auto"])
    assert any('try loss="auto"' in line for line in told["ste"])


def test_auto_ignores_comparisons_without_weight():
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    weights = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], 60)
    answers = ct.Comparisons.from_triplets(data.train.rows, weights=weights)
    assert ct.embed(answers, seed=0).candidates


def test_the_settings_keep_the_requested_time_limit(problem):
    assert ct.embed(problem.train, loss="auto", seed=0, time_limit=1000.0).settings.time_limit == 1000.0


@pytest.mark.parametrize("n_starts", [None, 3])
def test_a_slow_solver_is_raced_by_polyak_steps_and_runs_all_starts(problem, n_starts):
    result = ct.embed(problem.train, loss="auto", solver="sgd", seed=0, epochs=40, n_starts=n_starts)
    assert len(result.starts) == (n_starts or 1)
    assert [one[:2] for one in result.candidates] == [
        one[:2] for one in ct.embed(problem.train, loss="auto", seed=0).candidates
    ]
    settings = {
        name: getattr(result.settings, name) for name in ("seed", "epochs", "n_starts", "solver", "loss", "penalty")
    }
    assert np.array_equal(ct.embed(problem.train, **settings).embedding, result.embedding)


def test_a_single_person_cannot_be_held_out_which_is_reported(problem):
    rows = problem.train.rows
    make = ct.Comparisons.from_triplets if rows.shape[1] == 3 else ct.Comparisons.from_quadruplets
    answers = make(rows, people=["ann"] * len(rows))
    with pytest.warns(UserWarning, match='all answers are from one person.* the loss is "ste"'):
        assert not ct.embed(answers, by="people", seed=0, epochs=1).candidates


def test_a_race_that_holds_out_people_says_so(problem):
    rows = problem.train.rows
    make = ct.Comparisons.from_triplets if rows.shape[1] == 3 else ct.Comparisons.from_quadruplets
    answers = make(rows, people=np.arange(len(rows)) % 5)
    for by, words in (
        ("people", "the error on answers of held-out people, each loss"),
        ("answers", "error on held-out answers, each loss"),
    ):
        result = ct.embed(answers, by=by, seed=0, epochs=1)
        assert words in next(fact.note for fact in facts(result, answers, None) if fact.name == "Loss")


def test_starts_that_lead_to_different_maps_are_reported():
    """Noise does not determine a map; many clean answers do."""
    data = ct.datasets.synthetic(20, 2, 3_000, 10, seed=0)
    clear = ct.embed(data.train, loss="auto", seed=0)
    assert len(clear.starts) > 1
    assert clear.different_starts == ()
    assert not any("Procrustes" in line for line in ct.advice(data.train, clear))
    rng = np.random.default_rng(0)
    noise = ct.Comparisons(np.array([rng.permutation(60)[:3] for _ in range(300)]), 60)
    vague = ct.embed(noise, loss="auto", penalty=0.001, n_starts=16, seed=0)  # a strong one leads to one map
    assert all(start.distance > 0.1 for start in vague.different_starts)
    assert 2 * len(vague.different_starts) > len(vague.close_starts)
    advice = "of the 8 next best starts lead to maps that differ from the best one (Procrustes distance 0."
    assert any(advice in line for line in ct.advice(noise, vague))
    [stopped] = [fact for fact in facts(vague, noise, None) if fact.name == "Stopped"]
    assert "starts lead to different maps" in stopped.note


def test_bad_starts_cast_no_doubt_on_the_map(problem):
    """The better half of the other starts counts."""
    result = ct.embed(problem.train, loss="soe", seed=0, n_starts=4)
    assert [start.distance for start in result.starts].index(0.0) == result.best_start
    same, other = Start(1.0, 0.1, np.nan, "tolerance", 0.01), Start(1.2, 0.1, np.nan, "tolerance", 0.6)
    good = other._replace(objective=1.0)  # it competes with the best one
    for starts, different in (
        ((same, same, same, other), ()),
        ((same, same, other, other), ()),
        ((same, good, good, same._replace(objective=1.2)), (good, good)),
    ):
        assert dataclasses.replace(result, best_start=0, starts=starts).different_starts == different


def test_distances_of_starts_survive_saving(problem, tmp_path):
    result = ct.embed(problem.train, loss="auto", seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.starts[1 - again.best_start].distance == result.starts[1 - result.best_start].distance >= 0


def test_the_progress_bar_counts_the_fits_of_the_race(problem, capsys):
    ct.embed(problem.train, loss="auto", seed=0, epochs=2, progress="a study")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a study: choosing the loss" in err
    assert "trials" in err


@pytest.mark.parametrize("seed", range(3))
def test_if_all_answers_are_about_the_same_objects_none_are_held_out(seed):
    rows = np.tile([[0, 1, 2], [1, 0, 2]], (500, 1))  # the odd one out of the same three objects, again and again
    answers = ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(500), 2))
    with pytest.raises(loss_race._OneGroupError):
        list(loss_race._parts(answers, 1, np.random.default_rng(seed), fitted=10, most_held_out=5))
