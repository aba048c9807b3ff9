"""loss="auto": the race and what comes of it."""

import _thread
import dataclasses
import itertools

import numpy as np
import pytest
from conftest import InterruptedPolyak

import closerthan as ct
from closerthan.evaluate.facts import facts
from closerthan.fit import loss_race
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPUObjective
from closerthan.result import Candidate, Result, Start


def test_the_table_of_candidates_is_kept_best_first(problem):
    result = ct.embed(problem.train, loss="auto", seed=0)
    assert {candidate.loss for candidate in result.candidates} == set(LOSSES)
    assert result.candidates[0].rounds == max(candidate.rounds for candidate in result.candidates)
    assert result.settings.loss_name == result.loss_name == result.candidates[0].loss
    gap = result.candidates[1].held_out_error - result.candidates[0].held_out_error
    assert result.margin_of_choice == gap
    assert result.choice_in_words in repr(result)


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


def test_a_tie_is_said_among_the_facts(problem):
    result = dataclasses.replace(
        ct.embed(problem.train, loss="ste", seed=0, epochs=1), candidates=ended(soe=(0.001, 0.004)).candidates
    )
    [fact] = [fact for fact in facts(result, problem.train, None) if fact.name == "Loss"]
    assert fact.value == "ste, tied with soe"
    assert fact.note.startswith(
        "ste and soe cannot be told apart by their errors on held-out answers after a few epochs (paired test at 5 %)"
    )


def raced(answers, wrong):
    """The candidates of a race in which each loss gets wrong what ``wrong(loss, held_out)`` says."""

    def judged(train, held_out, cancelled, *, loss, seed, length, seconds):
        mistakes = wrong(loss, held_out)
        history = ct.History(
            [ct.history.Record(epoch, 0, 0.0, 1.0, 1.0, 1.0, 0.2, float(mistakes.mean())) for epoch in range(2)]
        )
        return loss_race.Judged(history, mistakes)

    return loss_race.race(answers, 2, loss_race.RaceSetup(judged, 1), np.random.default_rng(0))


def test_losses_are_compared_on_the_same_answers_and_questions_count():
    """Ste gets 15 % of the questions wrong, soe 5 % more of them; asking each question ten times changes nothing."""
    rows = np.array(list(itertools.permutations(range(20), 3)))
    rows = rows[(rows[:, 0] < rows[:, 1]) & (rows[:, 1] < rows[:, 2])]  # no two are about the same objects

    def wrong(loss, held_out):
        luck = held_out.rows @ [7, 31, 101] % 60 / 60
        return luck < {"ste": 0.15, "soe": 0.2}.get(loss, 0.9)

    errors = []
    for times in (1, 10):
        answers = ct.Comparisons(np.repeat(rows, times, axis=0), 20)
        candidates = {candidate.loss: candidate for candidate in raced(answers, wrong)}
        soe = candidates["soe"]
        assert candidates["ste"].standard_error == 0
        assert soe.behind == pytest.approx(soe.held_out_error - candidates["ste"].held_out_error)
        errors.append(soe.standard_error)
    assert errors[1] == pytest.approx(errors[0], rel=0.5)  # and not a third of it


def test_the_standard_error_includes_how_much_the_rounds_differ():
    """Soe is 0, 4 and 2 points behind in three rounds, and in each of them equally so for all questions."""
    rng = np.random.default_rng(0)
    asked = rng.permutation(list(itertools.combinations(range(40), 3)))[:120].astype(np.int32)
    answers = ct.Comparisons(np.repeat(asked, 50, axis=0), 40)
    behind = iter([0, 2, 1])  # of 50 answers to a question

    def wrong(loss, held_out):
        n_wrong = {"ste": 10, "soe": 10}.get(loss, 45) + (next(behind) if loss == "soe" else 0)
        return np.arange(len(held_out)) % 50 < n_wrong

    winner, soe, *_ = raced(answers, wrong)
    assert (winner.loss, soe.loss, soe.rounds) == ("ste", "soe", 3)
    assert soe.behind == pytest.approx(0.02)
    assert soe.standard_error == pytest.approx(np.std([0.0, 0.04, 0.02], ddof=1) / np.sqrt(3))


def test_a_loss_as_good_as_the_winner_is_tied_and_a_far_worse_one_is_not(problem):
    coin = np.random.default_rng(5)
    by_luck = raced(problem.train, lambda loss, held_out: coin.random(len(held_out)) < (0.6 if loss == "ckl" else 0.2))
    worse = {candidate.loss for candidate in by_luck[1:] if not candidate.is_tied}
    assert "ckl" in worse
    assert len(worse) <= 2


def test_a_loss_drops_out_by_the_answers_of_all_rounds_so_far():
    """In the first round its lag is within a standard error of that round's answers, in two rounds it is not."""
    data = ct.datasets.synthetic(100, 2, 4_000, 10, seed=0)  # hardly a question is repeated
    n_held_out, lag = 1_000, 0.9  # standard errors of one round, at an error of 20 %
    error = lag * np.sqrt(0.2 * 0.8 / n_held_out)

    def wrong(loss, held_out):
        return np.arange(len(held_out)) < round((0.2 + error * (loss == "soe")) * len(held_out))

    rounds = {candidate.loss: candidate.rounds for candidate in raced(data.train, wrong)}
    assert rounds["soe"] == 2
    assert rounds["ste"] == 3


def test_it_picks_a_loss_that_is_nearly_the_best():
    data = ct.datasets.synthetic(60, 5, 6_000, 5_000, seed=2)
    chosen = ct.embed(data.train, 5, loss="auto", seed=0)
    errors = [ct.triplet_error(data.test, ct.embed(data.train, 5, loss=loss, seed=0).embedding) for loss in LOSSES]
    assert max(errors) - min(errors) > 0.05  # so that there is something to choose
    assert ct.triplet_error(data.test, chosen.embedding) <= min(errors) + 0.01


@pytest.mark.parametrize(("fewest", "most", "n_train", "n_held_out"), [(100_000, 20_000, 378, 126), (200, 60, 204, 60)])
def test_no_two_rounds_judge_by_the_same_answers(fewest, most, n_train, n_held_out):
    """Nor does one by answers that it has fitted; of a large file not all are looked at."""
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
    assert len(result.starts) == 2
    assert np.isnan(result.best_record.validation_error)
    assert ct.triplet_error(problem.train, result.embedding) == pytest.approx(result.best_record.train_error)


def test_the_settings_make_the_same_map_again(problem):
    result = ct.embed(problem.train, loss="auto", seed=3)
    assert result.starts[result.best_start].objective == result.best_record.objective
    settings = {name: getattr(result.settings, name) for name in ("seed", "epochs", "n_starts")}
    again = ct.embed(problem.train, loss=result.candidates[0].loss, **settings)
    assert np.array_equal(again.embedding, result.embedding)


def test_if_there_is_no_time_for_more_the_best_heat_is_the_result(problem, monkeypatch):
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
        ({"start": np.zeros((15, 2)), "n_starts": 3}, "a given start is not random"),
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


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(problem):
    maps = [ct.embed(problem.train, loss="auto", seed=4, n_threads=n).embedding for n in (1, 3)]
    assert np.array_equal(*maps)


def test_losses_are_judged_where_they_are_best(problem):
    def judged(train, held_out, cancelled, *, loss, seed, length, seconds):
        """All losses alike, but for soe: it is the best after 4 epochs, and no better than others at the end."""
        errors = [0.5, 0.4, 0.35, 0.3, 0.1 if loss == "soe" else 0.3, 0.3]
        history = ct.History(
            ct.history.Record(epoch, 0, 0.0, 1.0, 1.0, 1.0, 0.2, error) for epoch, error in enumerate(errors)
        )
        return loss_race.Judged(history, np.zeros(len(held_out), dtype=bool))

    (winner, *others) = loss_race.race(problem.train, 2, loss_race.RaceSetup(judged, 1), np.random.default_rng(0))
    assert (winner.loss, winner.held_out_error, winner.train_error) == ("soe", 0.1, 0.2)
    assert {candidate.held_out_error for candidate in others} == {0.3}


@pytest.mark.parametrize(("repeats", "rounds"), [(50, 3), (1, 1)])
def test_a_loss_drops_out_by_the_number_of_questions_not_of_answers(repeats, rounds):
    """Losses that err 5 points more often: 1,500 questions show it, 30 questions asked 50 times each do not."""
    rng = np.random.default_rng(0)
    asked = rng.permutation(list(itertools.combinations(range(40), 3)))[: 6000 // repeats].astype(np.int32)
    answers = ct.Comparisons(np.repeat(asked, repeats, axis=0), 40)

    def wrong(loss, held_out):
        return np.arange(len(held_out)) < (0.2 if loss == "soe" else 0.25) * len(held_out)

    (winner, *others) = raced(answers, wrong)
    assert winner.loss == "soe"
    assert {candidate.rounds for candidate in others} == {rounds}


@pytest.mark.parametrize(("n_answers", "times"), [(1_000, 1), (200, 1), (100, 2), (50, 3)])
def test_where_answers_are_few_the_fits_of_a_race_have_more_epochs(n_answers, times):
    """Here three quarters of them are fitted to 20 coordinates, which makes 7 each or fewer."""
    asked = []

    def judged(train, held_out, cancelled, *, loss, seed, length, seconds):
        asked.append(length)
        history = ct.History([ct.history.Record(0, 0, 0.0, 1.0, 1.0, 1.0, 0.2, 0.3)])
        return loss_race.Judged(history, np.zeros(len(held_out), dtype=bool))

    data = ct.datasets.synthetic(10, 2, n_answers, 10, seed=0)
    loss_race.race(data.train, 2, loss_race.RaceSetup(judged, 1), np.random.default_rng(0))
    assert set(asked) == {times * loss_race.EPOCHS}


def test_all_fits_of_a_round_have_as_much_time_and_one_that_is_cut_short_does_not_count(problem, monkeypatch):
    """The five fits of the first round take half of the time each, those of the second all of it."""
    now, asked = [0.0], []
    monkeypatch.setattr(loss_race.time, "perf_counter", lambda: now[0])

    def judged(train, held_out, cancelled, *, loss, seed, length, seconds):
        asked.append(seconds)
        now[0] += seconds / 2 if len(asked) <= 5 else seconds
        history = ct.History([ct.history.Record(0, 0, 0.0, 1.0, 1.0, 1.0, 0.2, 0.3)])
        return loss_race.Judged(history, np.zeros(len(held_out), dtype=bool))

    contest = loss_race.RaceSetup(judged, 1, until=10.0)
    candidates = loss_race.race(problem.train, 2, contest, np.random.default_rng(0))
    assert asked == pytest.approx([2.0] * 5 + [1.0] * 5)
    assert [candidate.rounds for candidate in candidates] == [1] * 5


def test_the_winner_is_run_to_its_end():
    data = ct.datasets.synthetic(40, 2, 4_000, 100, seed=0)
    assert ct.embed(data.train, 2, loss="auto", seed=0, epochs=60, tolerance=None).history[-1].epoch == 60
    assert ct.embed(data.train, 2, loss="auto", seed=0).stopped_by == "tolerance"


def test_it_survives_saving(problem, tmp_path):
    result = ct.embed(problem.train, loss="auto", seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    assert ct.Result.load(tmp_path / "fit.npz").candidates == result.candidates


def test_where_nothing_can_be_held_out_there_is_no_race():
    """Three answers about the same objects say too much about each other."""
    answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    result, expected = (ct.embed(answers, 1, loss=loss, seed=0) for loss in ("auto", loss_race.WITHOUT_RACE))
    assert result.candidates == ()
    assert result.settings == expected.settings
    assert np.array_equal(result.embedding, expected.embedding)


@pytest.mark.parametrize("at", [1, 3, 11])
def test_ctrl_c_ends_the_race(problem, monkeypatch, at):
    """Also after the first epochs, where a fit by itself would keep what it has."""
    evaluations = itertools.count(1)
    plain = CPUObjective.value

    def interrupting(self, x):
        if next(evaluations) == at:
            _thread.interrupt_main()
        return plain(self, x)

    monkeypatch.setattr(CPUObjective, "value", interrupting)
    with pytest.raises(KeyboardInterrupt):
        ct.embed(problem.train, loss="auto", seed=0, epochs=10**6, tolerance=None)


def test_the_estimator_knows_it_too(problem):
    model = ct.OrdinalEmbedding(loss="auto", random_state=0, max_iter=3).fit(problem.train.rows)
    assert model.loss_ == LOSSES[model.result_.candidates[0].loss]().in_dims(2)


def test_no_one_is_told_to_try_what_auto_has_tried():
    data = ct.datasets.synthetic(30, 2, 1_000, 10, flipped=0.4, seed=0)
    told = {loss: ct.advice(data.train, ct.embed(data.train, loss=loss, seed=0, epochs=3)) for loss in ("auto", "ste")}
    assert not any("loss=" in line for line in told["auto"])
    assert any('try loss="auto"' in line for line in told["ste"])


def test_auto_leaves_out_what_weighs_nothing():
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    weights = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], 60)
    answers = ct.Comparisons.from_triplets(data.train.rows, weights=weights)
    assert ct.embed(answers, seed=0).candidates


def test_the_settings_say_what_time_was_asked_for(problem):
    assert ct.embed(problem.train, loss="auto", seed=0, time_limit=1000.0).settings.time_limit == 1000.0


@pytest.mark.parametrize("n_starts", [None, 3])
def test_a_slow_solver_is_raced_by_polyak_steps_and_runs_all_starts(problem, n_starts):
    result = ct.embed(problem.train, loss="auto", solver="sgd", seed=0, epochs=40, n_starts=n_starts)
    assert len(result.starts) == (n_starts or 1)
    assert [one[:2] for one in result.candidates] == [
        one[:2] for one in ct.embed(problem.train, loss="auto", seed=0).candidates
    ]
    settings = {name: getattr(result.settings, name) for name in ("seed", "epochs", "n_starts", "solver", "loss")}
    assert np.array_equal(ct.embed(problem.train, **settings).embedding, result.embedding)


def test_one_person_who_cannot_be_held_out_is_told_of_it(problem):
    rows = problem.train.rows
    make = ct.Comparisons.from_triplets if rows.shape[1] == 3 else ct.Comparisons.from_quadruplets
    answers = make(rows, people=["ann"] * len(rows))
    with pytest.warns(UserWarning, match='all answers are from one person.* the loss is "ste"'):
        assert not ct.embed(answers, by="people", seed=0, epochs=1).candidates


def test_a_race_by_people_says_so(problem):
    rows = problem.train.rows
    make = ct.Comparisons.from_triplets if rows.shape[1] == 3 else ct.Comparisons.from_quadruplets
    answers = make(rows, people=np.arange(len(rows)) % 5)
    for by, words in (
        ("people", "the error on answers of held-out people:"),
        ("answers", "error on held-out answers:"),
    ):
        result = ct.embed(answers, by=by, seed=0, epochs=1)
        assert words in next(fact.note for fact in facts(result, answers, None) if fact.name == "Loss")


def test_starts_that_lead_to_different_maps_are_reported():
    """Noise does not determine a map; many clean answers do."""
    data = ct.datasets.synthetic(20, 2, 3_000, 10, seed=0)
    clear = ct.embed(data.train, loss="auto", seed=0)
    assert len(clear.starts) == 2
    assert clear.different_starts == ()
    assert not any("Procrustes" in line for line in ct.advice(data.train, clear))
    rng = np.random.default_rng(0)
    noise = ct.Comparisons(np.array([rng.permutation(20)[:3] for _ in range(400)]), 20)
    vague = ct.embed(noise, loss="auto", seed=0)
    [start] = vague.different_starts
    assert start.distance > 0.1
    assert any("two starts lead to different maps (Procrustes distance 0." in line for line in ct.advice(noise, vague))
    [stopped] = [fact for fact in facts(vague, noise, None) if fact.name == "Stopped"]
    assert "starts lead to different maps" in stopped.note


def test_a_few_bad_starts_among_many_are_no_reason_to_doubt(problem):
    result = ct.embed(problem.train, loss="soe", seed=0, n_starts=4)
    assert [start.distance for start in result.starts].index(0.0) == result.best_start
    same, other = Start(1.0, 0.1, np.nan, "tolerance", 0.01), Start(1.2, 0.1, np.nan, "tolerance", 0.6)
    assert dataclasses.replace(result, best_start=0, starts=(same, same, same, other)).different_starts == ()
    assert dataclasses.replace(result, best_start=0, starts=(same, same, other, other)).different_starts == (
        other,
        other,
    )


def test_distances_of_starts_survive_saving(problem, tmp_path):
    result = ct.embed(problem.train, loss="auto", seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.starts[1 - again.best_start].distance == result.starts[1 - result.best_start].distance >= 0
