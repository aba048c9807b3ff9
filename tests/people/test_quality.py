"""People's quality: who answers carelessly, and how much each answer should count."""

import csv
import dataclasses

import numpy as np
import pytest
from conftest import InterruptedPolyak
from scipy import stats
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons import reversed_rows
from closerthan.evaluate.repeats import NoiseCeiling, noise_ceilings, repeats_of_people
from closerthan.people import quality as people
from closerthan.people.groups import PeopleGroups, SeveralMaps
from closerthan.people.lapses import Responses, determined, fit_lapses, intervals
from closerthan.people.person import Person, failed_checks
from closerthan.uncertainty.refitter import JobResults, Refitter

QUICK = {"loss": "soe", "penalty": 0, "seed": 0}


def answered(n_people=12, each=100, careless=(), reversed_by=(), seed=0, **options):
    """Answers about 15 points by people, some of whom guess or reverse their answers."""
    rng = np.random.default_rng(seed)
    rows = ct.datasets.simulated(2 * rng.standard_normal((15, 2)), n_people * each, noise="ste", seed=rng).rows.copy()
    people = np.repeat(np.arange(n_people), each)
    swapped = np.isin(people, reversed_by) | (np.isin(people, careless) & (rng.random(len(rows)) < 0.5))
    rows[swapped] = reversed_rows(rows[swapped])
    return ct.Comparisons.from_triplets(rows, people=people, **options)


@pytest.fixture(scope="module")
def assessment():
    return ct.assess_people(answered(careless=(3, 7, 8), reversed_by=(5,), seed=5), **QUICK)


def by_name(assessment):
    return {person.name: person for person in assessment.people}


def test_careless_people_are_distinguished_from_others(assessment):
    people = by_name(assessment)
    assert {name for name, person in people.items() if person.verdict == "careless"} == {"3", "7", "8"}
    assert people["5"].verdict == "reversed"
    assert all(people[str(name)].verdict == "fine" for name in (0, 1, 2, 4, 6, 9, 10, 11))
    assert [person.name for person in assessment.people[:1]] == ["5"]  # the most troubling first


def test_only_doubtful_people_lose_weight_and_nobody_is_left_out(assessment):
    person = assessment.answers.people
    doubtful = np.isin(person, (3, 5, 7, 8))
    assert (assessment.weights[~doubtful] == 1).all()
    assert (assessment.weights[doubtful] < 1).all()
    assert assessment.weights.min() > 0
    assert len(assessment.weighted) == len(assessment.answers)


def test_where_weights_do_not_help_all_answers_count_the_same():
    found = ct.assess_people(answered(6), **QUICK)
    assert not found.is_weighted
    assert found.weighted is found.answers


def test_weights_that_hardly_help_are_not_used_even_if_somebody_looks_careless():
    found = ct.assess_people(answered(careless=(3,)), **QUICK)
    assert by_name(found)["3"].verdict == "careless"
    assert found.weighted_error < found.plain_error
    assert not found.is_weighted
    assert (found.weights == 1).all()
    assert "no clear gain" in found.sentences[-1]


def test_the_same_seed_gives_the_same_weights_for_any_number_of_threads():
    answers = answered(6, careless=(1,))
    one, two = (ct.assess_people(answers, n_threads=threads, **QUICK) for threads in (1, 2))
    assert (one.weights == two.weights).all()
    assert one.people == two.people or [p.lapse_rate for p in one.people] == [p.lapse_rate for p in two.people]


def test_intervals_hold_the_rate(assessment):
    assert all(0 <= person.lapse_low <= person.lapse_rate <= person.lapse_high <= 1 for person in assessment.people)


def test_weighted_fits_are_better_where_people_are_careless():
    answers = answered(10, 40, careless=range(4), seed=1)
    points = 2 * np.random.default_rng(1).standard_normal((15, 2))
    test = ct.datasets.simulated(points, 20_000, seed=2)
    how = {"loss": "soe", "seed": 0}  # and a chosen penalty
    found = ct.assess_people(answers, **how)
    plain, weighed = (ct.triplet_error(test, ct.embed(one, **how).embedding) for one in (answers, found.weighted))
    assert weighed < plain - 0.01


def test_a_preference_for_a_side_is_learnt_from_lapses():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(2, dtype=np.int32), 500)
    size = rng.exponential(4.0, 1000)
    left = rng.random(1000) < 0.5
    chosen_left = np.where(person == 0, rng.random(1000) < 1 / (1 + np.exp(-np.where(left, size, -size))), True)
    lead = np.where(chosen_left == left, size, -size)  # person 1 always takes the left one
    found = fit_lapses(lead, Responses(person, 2, np.ones(1000), chosen_left.astype(float)))
    assert found.rates[1] > 0.8
    assert found.guess[person == 1].mean() > 0.9


def test_a_rate_is_determined_only_if_the_answers_change_what_was_assumed():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(2, dtype=np.int32), 60)
    unclear = np.where(rng.random(120) < 0.5, 1.0, -1.0) * np.where(person == 0, 0.05, 0.0)
    clear = np.where(rng.random(120) < 0.9, 3.0, -3.0)
    responses = Responses(person, 2, np.ones(120))
    assert determined(fit_lapses(clear, responses).posteriors(clear, responses)).tolist() == [True, True]
    assert determined(fit_lapses(unclear, responses).posteriors(unclear, responses)).tolist() == [False, False]


def test_an_answer_counts_once_however_many_comparisons_it_makes():
    """Rates, slope and intervals are those of one comparison per answer."""
    rng = np.random.default_rng(0)
    person, size = np.repeat(np.arange(2, dtype=np.int32), 60), rng.exponential(3.0, 120)
    lead = np.where(rng.random(120) < np.where(person == 0, 0.9, 0.5), size, -size)
    each = np.repeat(np.arange(120), 5)
    rows = np.tile([[0, 1, 2]], (600, 1))
    several = Responses.of(ct.Comparisons.from_triplets(rows, people=person[each], answers=each))
    once = Responses(person, 2, np.ones(120))
    assert several.sums().tolist() == pytest.approx([60, 60])
    many, one = fit_lapses(lead[each], several), fit_lapses(lead, once)
    np.testing.assert_allclose(many.rates, one.rates, rtol=1e-6)
    of_many, of_one = (
        intervals(fitted.posteriors(*about)) for fitted, *about in ((many, lead[each], several), (one, lead, once))
    )
    np.testing.assert_allclose(of_many, of_one, rtol=1e-6)


def test_a_person_has_as_many_answers_as_were_given():
    """Five comparisons per answer are one answer, one time and one side."""
    others = np.array([np.delete(np.arange(8), number % 8) for number in range(90)])
    anchor, near = np.repeat(np.arange(90) % 8, 5), np.repeat(others[:, 0], 5)
    trials = ct.Trials(times=np.repeat(np.where(np.arange(90) % 3 == 0, 0.1, 2.0), 5))
    answers = ct.Comparisons.from_triplets(
        np.column_stack([anchor, near, others[:, 1:6].ravel()]),
        people=np.repeat(np.arange(3), 150),
        answers=np.repeat(np.arange(90), 5),
        trials=trials,
    )
    found = ct.assess_people(answers, **QUICK)
    assert {person.answers for person in found.people} == {30}
    assert {round(person.fast, 3) for person in found.people} == {0.333}


def test_checks_times_and_sides_are_in_the_table():
    trials = ct.Trials(times=np.repeat([1.0, 0.1, 2.0], 50), sides=np.repeat([0, 1, -1], 50))
    answers = answered(3, 50, trials=trials)
    people = by_name(ct.assess_people(answers, checks={"0": (10, 9)}, **QUICK))
    assert (people["0"].checks, people["0"].checks_passed) == (10, 9)
    assert people["1"].fast == 1
    assert people["1"].left == 0
    assert people["2"].median_seconds == 2
    assert np.isnan(people["2"].left)
    assert [people[name].fast_sets for name in "012"] == [0.0, 1.0, 0.0]


@pytest.mark.slow
def test_people_who_are_all_equally_noisy_are_not_unlike_each_other():
    """All 20 give a fifth of their answers the wrong way round, as if they guessed two fifths."""
    answers = answered(20, 120)
    rows, wrong = answers.rows.copy(), np.random.default_rng(0).random(len(answers)) < 0.2
    rows[wrong] = reversed_rows(rows[wrong])
    found = ct.assess_people(ct.Comparisons.from_triplets(rows, people=answers.people), **QUICK)
    assert found.verdicts.get("fine", 0) >= 18
    assert any("so all answers are noisy" in sentence for sentence in found.sentences)


def test_a_person_in_a_hurry_is_named_even_if_the_answers_are_right():
    answers = answered(4, 60, trials=ct.Trials(times=np.repeat([2.0, 2.0, 0.7, 2.0], 60)))
    said = ct.assess_people(answers, **QUICK).sentences
    assert said[0] == "none of 4 people looks careless: use all answers as they are"
    assert said[1].startswith("1 of 4 people often answers so fast that they may not have read the question (2)")


def test_one_quick_set_of_answers_is_no_hurry():
    times = np.full(4 * 54, 2.0)
    times[54 + 20 : 54 + 40] = 0.7
    found = ct.assess_people(answered(4, 54, trials=ct.Trials(times=times)), **QUICK)
    assert by_name(found)["1"].fast_sets == 0.5
    assert found.sentences == ["none of 4 people looks careless: use all answers as they are"]


def test_people_with_another_view_are_reported_although_nobody_looks_careless():
    found = ct.assess_people(answered(4), **QUICK)
    other = person(name="zoe", lapse_low=0.5, others_error=0.45, own_error=0.2)
    assert other.verdict == "own view"
    both = dataclasses.replace(found, people=(*found.people, other)).sentences
    assert both[0] == "none of 5 people looks careless"
    assert both[1].startswith("1 of 5 people is careful, but has a different view")


def test_nobody_is_called_fine_by_maps_that_predict_nobody():
    assert person(others_error=0.42).verdict == "fine"
    assert person(others_error=0.42, confidence=0.995).verdict == "unclear"
    assert person(others_error=0.2, confidence=0.995).verdict == "fine"
    rng = np.random.default_rng(5)  # the maps seem to predict one of these people
    rows = np.array([rng.permutation(8)[:3] for _ in range(400)])
    found = ct.assess_people(ct.Comparisons.from_triplets(rows, people=np.arange(400) % 8), **QUICK)
    assert found.is_chance
    assert found.verdicts == {"unclear": 8}


def person(**changes):
    usual = dict.fromkeys(Person._fields, float("nan")) | {
        "name": "ann", "answers": 200, "lapse_rate": 0.02, "lapse_low": 0.0, "lapse_high": 0.1, "others_error": 0.2,
        "repeats": 0, "shared": 0, "checks_passed": 0, "checks": 0, "sides": 0, "confidence": 0.95,
    }  # fmt: skip
    return Person(**usual | changes)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "fine"),
        ({"answers": 3}, "few"),
        ({"others_error": 0.8, "lapse_low": 0.9}, "reversed"),
        ({"lapse_low": 0.2}, "unlike"),
        ({"lapse_low": 0.2, "sides": 200, "left": 0.95}, "careless"),
        ({"lapse_low": 0.2, "fast": 0.6}, "careless"),
        ({"lapse_low": 0.2, "fast_sets": 0.6}, "careless"),
        ({"lapse_low": 0.2, "fast_sets": 0.6, "checks": 60, "checks_passed": 60}, "unlike"),  # the checks were read
        ({"lapse_low": 0.5, "fast_sets": 0.6, "others_error": 0.45, "own_error": 0.2}, "own view"),
        ({"lapse_low": 0.2, "fast_sets": 0.5, "answers": 54}, "unlike"),  # one set of two is no habit
        ({"fast_sets": 0.6}, "fine"),  # the answers are right all the same
        ({"lapse_low": 0.5}, "careless"),
        ({"lapse_low": 0.5, "others_error": 0.45, "own_error": 0.2}, "own view"),
        ({"lapse_low": 0.5, "repeats": 20, "consistency": 0.9}, "own view"),
        ({"lapse_low": 0.5, "others_error": 0.45, "group_error": 0.2}, "own view"),
        ({"lapse_low": 0.5, "others_error": 0.45, "group_error": 0.2, "fast": 0.6}, "own view"),
        ({"lapse_low": 0.5, "others_error": 0.3, "group_error": 0.29}, "careless"),  # the others' map is as good
        ({"lapse_low": 0.5, "others_error": 0.5, "own_error": 0.42}, "unlike"),  # another view is not ruled out
        ({"others_error": 0.65, "lapse_low": 0.8, "group_error": 0.2}, "own view"),  # better than the reversed map
        ({"others_error": 0.8, "lapse_low": 0.8, "group_error": 0.3}, "reversed"),
        ({"checks": 10, "checks_passed": 3}, "fine"),  # the answers fit the map
        ({"answers": 3, "checks": 10, "checks_passed": 3}, "few"),
        ({"lapse_low": 0.2, "checks": 10, "checks_passed": 3}, "careless"),
        ({"lapse_low": 0.2, "checks": 1, "checks_passed": 0}, "unlike"),  # one slip
        ({"lapse_low": 0.4, "checks": 60, "checks_passed": 59}, "unlike"),  # too many passed for so many lapses
        ({"lapse_low": 0.4, "checks": 60, "checks_passed": 44}, "careless"),  # as many failed as the lapses explain
        ({"others_error": 0.52}, "unclear"),
        ({"others_error": 0.4, "answers": 30}, "unclear"),
    ],
)
def test_verdicts(changes, verdict):
    assert person(**changes).verdict == verdict
    assert person(**changes).advice


def test_consistent_repeats_are_no_reason_for_a_verdict_on_few_answers():
    few = person(answers=15, repeats=30, consistency=0.98)
    assert (few.verdict, few.reasons) == ("few", "")
    assert person(answers=15, checks=10, checks_passed=3).reasons == "7 of 10 checks failed"


def test_a_person_with_another_view_is_not_called_careless():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((15, 2)) for _ in range(2)]
    rows = np.concatenate(
        [ct.datasets.simulated(view, number, seed=1).rows for view, number in zip(views, (1800, 300), strict=True)]
    )
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(2100) // 300)
    found = by_name(ct.assess_people(answers, **QUICK))
    assert found["6"].verdict == "own view"
    assert found["6"].own_error < found["6"].others_error


def minority(n_minority, n_careless, each=60, n_people=24, seed=0):
    """People of whom the last give random answers, and those before them have another map than the others."""
    rng = np.random.default_rng(seed)
    views = 2 * rng.standard_normal((2, 15, 2))
    role = np.repeat([0, 1, 2], [n_people - n_minority - n_careless, n_minority, n_careless])
    rows = np.concatenate([ct.datasets.simulated(views[one % 2], each, noise="ste", seed=rng).rows for one in role])
    swapped = (np.repeat(role, each) == 2) & (rng.random(len(rows)) < 0.5)
    rows[swapped] = reversed_rows(rows[swapped])
    return ct.Comparisons.from_triplets(rows, people=np.repeat(np.arange(n_people), each), n_objects=15), role


def test_a_minority_that_shares_another_map_is_not_called_careless_while_random_answers_are():
    answers, role = minority(5, 2)
    people = by_name(ct.assess_people(answers, **QUICK))
    assert {people[str(number)].verdict for number in np.flatnonzero(role == 1)} == {"own view"}
    assert {people[str(number)].verdict for number in np.flatnonzero(role == 2)} == {"careless"}
    assert {people[str(number)].verdict for number in np.flatnonzero(role == 0)} == {"fine"}
    for number in np.flatnonzero(role == 1):
        assert people[str(number)].group_error < 0.35 < people[str(number)].others_error


def test_only_suspects_get_their_own_map(assessment):
    fine = [person for person in assessment.people if person.verdict == "fine"]
    assert np.isnan([(person.group_error, person.own_error) for person in fine]).all()


def test_sentences_say_what_to_do(assessment):
    text = " ".join(assessment.sentences)
    assert "3 of 12 people look careless (" in text
    assert "): fit with weights, or leave them out and say so" in text
    assert "all answers were used" in text
    nobody = ct.assess_people(answered(6), **QUICK)
    assert nobody.sentences == ["none of 6 people looks careless: use all answers as they are"]


def test_people_are_not_to_be_weighted_where_weights_do_not_help(assessment):
    """The advice and the sentence about weights agree."""
    same = dataclasses.replace(assessment, weights=np.ones(len(assessment.answers)), weighted_error=0.17)
    text = " ".join(same.sentences)
    assert "which is no clear gain" in text
    assert "fit with weights" not in text
    assert "count less" not in text
    assert not any("weigh" in person.advice for person in same.people)


def test_failed_checks_alone_are_a_note():
    answers = answered(6)
    found = ct.assess_people(answers, checks={"2": (10, 4), "3": (10, 10), "4": (1, 0)}, **QUICK)
    assert found.verdicts == {"fine": 6}
    assert found.sentences[1].startswith("1 of 6 people failed checks (2): their answers fit a map all the same")


def test_if_everybody_answers_at_random_nobody_is_called_careful():
    answers = answered(10, 60, careless=range(10), seed=3)
    found = ct.assess_people(answers, **QUICK)
    assert found.is_chance
    assert not any("use all answers as they are" in sentence for sentence in found.sentences)
    assert "not clearly better than chance: it cannot show whether anybody is careless" in found.sentences[0]
    # The lapse rates are those of the prior, so they are not shown.
    assert not any(person.lapse_determined or person.lapses for person in found.people)
    assert all(np.isnan(person.to_row()["lapse_rate"]) for person in found.people)


def test_people_who_cannot_be_judged_are_not_counted_among_the_careful(assessment):
    fine = [one for one in assessment.people if one.verdict == "fine"]
    unclear = fine[0]._replace(name="ann", others_error=0.52, answers=40)
    found = dataclasses.replace(assessment, people=(unclear, *fine), weighted_error=assessment.plain_error)
    assert found.sentences[0].startswith(f"none of the {len(fine)} people who can be judged (of {len(fine) + 1}) looks")
    assert "1 of 9 people cannot be judged, as the map of the others is not clearly better" in found.sentences[1]


def test_with_few_answers_a_person_alone_with_a_view_may_look_careless(assessment):
    careless = [one._replace(answers=50) for one in assessment.people if one.verdict == "careless"]
    text = " ".join(dataclasses.replace(assessment, people=tuple(careless)).sentences)
    assert "unless that person gave about 90 answers" in text
    with_signs = tuple(one._replace(fast=0.9) for one in careless)
    assert "alone" not in " ".join(dataclasses.replace(assessment, people=with_signs).sentences)


@pytest.mark.parametrize(
    ("asked", "passed", "has_failed"),
    [(0, 0, False), (1, 0, False), (2, 0, False), (3, 0, True), (5, 3, False), (10, 5, True), (53, 43, False)],
)
def test_checks_are_failed_if_significantly_more_than_a_fifth_are_wrong(asked, passed, has_failed):
    assert failed_checks(asked, passed) is has_failed


def test_the_table_is_written_as_csv_and_frame(assessment, tmp_path):
    assessment.to_csv(tmp_path / "people.csv")
    rows = list(csv.DictReader((tmp_path / "people.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == [one.name for one in assessment.people]
    assert rows[0]["median_seconds"] == ""  # not known
    assert assessment.to_frame().loc["3", "verdict"] == "careless"


# ---- repeats ---------------------------------------------------------------------------------------------------------


def test_repeats_are_counted_within_and_between_people():
    rows = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 1, 2]]
    answers = ct.Comparisons.from_triplets(rows, people=["ann", "ann", "ann", "bob"])
    found = repeats_of_people(answers)
    assert found.own_pairs.tolist() == [3, 0]
    assert found.own_agreeing.tolist() == [1, 0]
    assert found.shared_pairs.tolist() == [3, 3]
    assert found.shared_agreeing.tolist() == [2, 2]


def test_the_noise_ceiling_of_coins_is_chance_and_of_certainty_zero():
    rng = np.random.default_rng(0)
    rows = np.repeat([[0, 1, 2], [1, 2, 3], [0, 2, 3]], 2000, axis=0)
    coins = ct.Comparisons.from_triplets(rows, y=rng.random(len(rows)) < 0.5)
    (ceiling,) = noise_ceilings(coins)
    assert ceiling.least_error > 0.4
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(rows))
    assert (ceiling.least_error, ceiling.most_error) == (0, 0)


def test_a_question_counts_by_its_answers_not_by_its_pairs():
    """A question that was answered 100 times has 4,950 pairs, but the weight of 100 answers."""
    rows = [[0, 1, 2]] * 100 + [[1, 2, 3], [1, 3, 2]] * 50 + [[2, 3, 4]] * 2 + [[2, 4, 3]] * 2
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(rows))
    of_question = np.array([1.0, 2 * (50 * 49 / 2) / (100 * 99 / 2), 2 / 6])
    assert ceiling.agreement == pytest.approx(np.array([100, 100, 4]) @ of_question / 204)
    assert ceiling.n_questions == 3


def test_questions_that_agree_equally_leave_the_ceiling_an_interval():
    """The differences between thirty questions with the same agreement, 1/3, are rounding errors, not a measurement."""
    rows = [row for i in range(30) for row in ([0, i + 1, i + 2], [0, i + 1, i + 2], [0, i + 2, i + 1])]
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(rows))
    assert ceiling.high - ceiling.low > 0.3


def test_the_interval_of_the_ceiling_comes_from_the_spread_between_questions():
    same = ct.Comparisons.from_triplets([[0, 1, 2]] * 2 + [[1, 2, 3]] * 2)
    (ceiling,) = noise_ceilings(same)
    assert ceiling.low < ceiling.agreement == ceiling.high == 1  # two questions do not prove it
    questions = [
        [i, j, k] for i in range(6) for j in range(i) for k in range(j)
    ]  # 20, of which 10 are answered both ways
    again = [[i, k, j] if number % 2 else [i, j, k] for number, (i, j, k) in enumerate(questions)]
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(questions + again))
    half = 2.093 * 0.5 / np.sqrt(20)  # Student's t with 19 degrees of freedom
    assert (ceiling.low, ceiling.high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.03)


def test_the_interval_of_a_ceiling_from_few_questions_is_widened_by_students_t():
    """By the ratio of the quantiles of Student's t, with n - 1 degrees of freedom, and of the normal distribution."""
    questions = [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 0]]
    again = [*questions[:3], [3, 5, 4], [4, 0, 5]]  # three of five are answered alike
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(questions + again))
    variance = np.var([1, 1, 1, 0, 0], ddof=1) / 5
    number = 0.6 * 0.4 / variance * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 4)) ** 2
    assert (ceiling.low, ceiling.high) == pytest.approx(ct.metrics.error_interval(0.6, number))


def test_ceilings_within_and_between_people_differ():
    """Ann says the same twice, Bob does not, so that half of the pairs of their answers agree."""
    rows = [[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 2, 3]]
    answers = ct.Comparisons.from_triplets(rows, people=["ann", "ann", "bob", "bob", "bob"])
    within, between = noise_ceilings(answers)
    assert (within.of, within.agreement, within.n_questions) == ("a person", 0.5, 2)
    # Between people, the first answer of each counts.
    assert (between.of, between.agreement, between.n_questions) == ("different people", 1.0, 1)


def test_without_repeats_there_is_no_ceiling():
    assert noise_ceilings(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])) == []


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("judge", [ct.assess_people, ct.group_people])
def test_people_must_be_known_and_several(judge):
    with pytest.raises(ValueError, match=r"needs at least two people, but it is not known who gave the answers"):
        judge(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]))
    with pytest.raises(ValueError, match="all answers are from one person"):
        judge(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], people=["ann", "ann"]))


def test_people_of_another_length_than_the_rows_are_an_error():
    with pytest.raises(ValueError, match="one per row is needed"):
        ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], people=["ann"])


@pytest.mark.slow
def test_a_person_with_one_answer_is_not_judged():
    answers = answered(5, 60)
    people = np.where(np.arange(300) == 299, 5, answers.people)
    answers = ct.Comparisons.from_triplets(answers.rows, people=people)
    found = by_name(ct.assess_people(answers, **QUICK))
    assert found["5"].verdict == "few"
    assert ct.group_people(answers, most_groups=2, **QUICK).n_groups == 1


def test_answers_that_are_all_the_same_are_judged_without_a_fault():
    answers = ct.Comparisons.from_triplets([[0, 1, 2]] * 60, people=np.repeat([0, 1, 2], 20))
    assert ct.assess_people(answers, **QUICK).verdicts == {"fine": 3}
    with pytest.raises(ValueError, match="about the same objects"):
        ct.group_people(answers, **QUICK)


def test_ctrl_c_keeps_the_rounds_that_are_done():
    solver = InterruptedPolyak(after=12)  # two rounds of five folds, and two fits of the third
    found = ct.assess_people(answered(careless=(3, 7, 8)), n_threads=1, solver=solver, **QUICK)
    assert (found.stopped_by, found.after) == ("interrupted", "2 of 6 rounds")
    assert {person.name for person in found.people if person.verdict == "careless"} == {"3", "7", "8"}
    assert (found.weights == 1).all()
    assert found.sentences[-1].startswith("interrupted after 2 of 6 rounds")
    assert not any("weights change" in sentence for sentence in found.sentences)


def test_ctrl_c_before_everybody_was_judged_is_raised():
    with pytest.raises(KeyboardInterrupt):
        ct.assess_people(answered(), n_threads=1, solver=InterruptedPolyak(after=3), **QUICK)


def test_the_end_of_the_time_keeps_the_rounds_that_are_done(monkeypatch):
    answers = answered(careless=(3,))
    ended = JobResults([None], "time_limit").error("fits")
    rounds = iter([None, ended])
    fit_each = Refitter.fit_each

    def sometimes(self, *args, **options):
        error = next(rounds)
        if error is not None:
            raise error
        return fit_each(self, *args, **options)

    monkeypatch.setattr(Refitter, "fit_each", sometimes)
    found = ct.assess_people(answers, time_limit=60, **QUICK)
    assert (found.stopped_by, found.after) == ("time_limit", "1 of 6 rounds")
    assert "the time limit was reached after 1 of 6 rounds" in found.sentences[-1]


@pytest.mark.parametrize("analyse", [ct.assess_people, ct.group_people, ct.learning_curve])
def test_a_given_fit_is_not_repeated_and_changes_nothing(analyse):
    answers = answered(6, 60, careless=(2,))
    result = ct.embed(answers, loss="soe", penalty=0, seed=0)

    def numbers(found):
        return [value for name, value in sorted(vars(found).items()) if isinstance(value, float | np.ndarray)]

    for one, other in zip(numbers(analyse(answers, result=result)), numbers(analyse(answers, **QUICK)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_loss_of_a_given_fit_is_used():
    answers = answered(6, 60)
    result = ct.embed(answers, loss="ckl", penalty=0, seed=0)
    assert type(ct.assess_people(answers, result=result, rounds=1).loss) is type(result.loss)


def test_settings_of_a_single_fit_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'checkpoint'"):
        ct.assess_people(answered(3, 30), checkpoint="x.npz", **QUICK)


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_one_map_serves_people_of_one_view():
    found = ct.group_people(answered(10, 80), **QUICK)
    assert found.n_groups == 1
    assert found.tests[0].p_value > 0.05
    assert found.sentence.startswith("one map is kept for all 10 people")
    assert found.matrix.shape == (10, 10)


def two_views():
    """Five people of one view, five of another."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((15, 2)) for _ in range(2)]
    rows = np.concatenate([ct.datasets.simulated(view, 1500, seed=0).rows for view in views])
    return ct.Comparisons.from_triplets(rows, people=[f"p{number // 300}" for number in range(3000)])


@pytest.fixture(scope="module")
def two_groups():
    return ct.group_people(two_views(), **QUICK)


def test_the_matrix_is_low_within_groups_and_high_between_them(two_groups, tmp_path):
    found = two_groups
    assert found.n_groups == 2
    assert found.matrix[:5, :5].mean() < found.matrix[:5, 5:].mean() - 0.2
    assert (found.group_matrix.diagonal() < 0.2).all()
    assert len(found.maps) == 2
    assert "2 groups of people (5, 5)" in found.sentence
    found.to_csv(tmp_path / "matrix.csv")
    assert len((tmp_path / "matrix.csv").read_text().splitlines()) == 11
    titles = [ax.get_title(loc="left") for ax in ct.plotting.people_maps_figure(found).axes]
    assert titles == ["group 1: 5 people", "group 2: 5 people"]


def test_maps_of_groups_are_laid_over_the_first(two_groups):
    found = two_groups
    turned = found.maps[0].embedding[:, ::-1] * 3.0 + 1.0
    same = dataclasses.replace(found.maps[0], embedding=turned)
    first, second = dataclasses.replace(found, maps=(found.maps[0], same)).aligned_maps()
    np.testing.assert_allclose(first, second, atol=1e-6 * np.abs(first).max())


# ---- command line ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "study.csv"
    answers = answered(8, 60, careless=(2,), seed=1)
    lines = [
        f"{i},{j},{k},p{who}" for (i, j, k), who in zip(answers.rows.tolist(), answers.people.tolist(), strict=True)
    ]
    path.write_text("\n".join(["anchor,near,far,participant", *lines]) + "\n")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_a_folder(file, tmp_path):
    folder = tmp_path / "out"
    result = run("people", file, "--loss", "soe", "--penalty", "0", "--out", folder, "--most", 2)
    assert result.exit_code == 0, result.output
    assert "p2" in result.output
    assert "careless" in result.output
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["people-matrix.csv", "people-matrix.png", "people.csv", "people.png"]
    again = run("people", file, "--loss", "soe", "--penalty", "0", "--out", folder)
    assert again.exit_code == 2
    assert "--force" in again.output


@pytest.mark.slow
def test_groups_are_written_with_the_people_and_their_maps(tmp_path):
    ct.files.write_comparisons(two_views(), tmp_path / "study.csv")
    result = run(
        "people", tmp_path / "study.csv", "--loss", "soe", "--penalty", "0", "--out", tmp_path / "out", "--most", 2
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "people-maps.png").exists()
    rows = list(csv.DictReader((tmp_path / "out" / "people.csv").read_text().splitlines()))
    group = {row["name"]: row["group"] for row in rows}
    assert {group[f"p{number}"] for number in range(5)} != {group[f"p{number}"] for number in range(5, 10)}
    assert sorted(group.values()) == ["1"] * 5 + ["2"] * 5


def test_the_table_is_written_where_no_groups_can_be_looked_for(tmp_path):
    same = tmp_path / "same.csv"
    same.write_text("anchor,near,far,participant\n" + "".join(f"0,1,2,p{n % 3}\n" for n in range(60)))
    result = run("people", same, "--loss", "soe", "--penalty", "0", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "all answers are about the same objects" in result.output
    assert "groups of people were not looked for" in result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["people.csv", "people.png"]


@pytest.mark.slow
def test_fit_can_weigh_people(tmp_path):
    file = tmp_path / "study.csv"
    ct.files.write_comparisons(answered(12, 100, careless=(2, 5, 7, 8)), file)
    result = run(
        "fit", file, "--loss", "soe", "--penalty", "0", "--people", "weigh", "--no-report", "--out", tmp_path / "map"
    )
    assert result.exit_code == 0, result.output
    assert "12, weighted" in result.output
    assert "their weights sum to" in result.output
    assert "--people weigh" in (tmp_path / "map" / "settings.json").read_text()
    wrong = run("fit", file, "--people", "drop", "--out", tmp_path / "other")
    assert wrong.exit_code == 2
    assert "it can be weigh" in wrong.output


def test_fit_does_not_say_that_people_were_weighed_where_all_count_the_same(tmp_path):
    ct.files.write_comparisons(answered(4, 60), tmp_path / "study.csv")
    words = ("--loss", "soe", "--penalty", "0", "--people", "weigh", "--held-out", 0, "--out", tmp_path / "map")
    said = run("fit", tmp_path / "study.csv", *words)
    assert "4, all count the same" in said.output
    assert "weights sum" not in said.output
    assert "study.csv" in (tmp_path / "map" / "report.html").read_text().partition("ct.files.read_answers")[2][:200]


def test_the_time_limit_of_a_fit_covers_the_judging_of_people(file, tmp_path, monkeypatch):
    words = (
        "fit",
        file,
        "--loss",
        "soe",
        "--penalty",
        "0",
        "--people",
        "weigh",
        "--no-report",
        "--out",
        tmp_path / "map",
    )
    result = run(*words, "--time-limit", "0.000002")
    assert result.exit_code == 2
    assert "the time limit was reached after 0 of" in result.output
    monkeypatch.setattr(people, "assess_people", lambda *_, settings, **__: limits.append(settings.time_limit) or 1 / 0)
    limits = []
    run(*words, "--time-limit", "60")
    assert limits == [pytest.approx(30.0, abs=5.0)]


def test_weights_of_people_are_not_used_to_judge():
    answers = answered(10, careless=(0, 1, 2))
    found = ct.assess_people(answers, **QUICK)
    plain = ct.held_out_error(answers, weights=found.weights, **QUICK)
    flattered = ct.held_out_error(found.weighted, **QUICK)
    assert plain.error > flattered.error + 0.02


@pytest.mark.parametrize(
    ("p_values", "start"),
    [
        (
            (0.3, 0.4, 0.9),
            "one map is kept for all 2 people: 2 groups do not predict new answers significantly better (error on",
        ),
        ((0.06, 0.4, 0.9), "it is not clear whether one map serves all 2 people: 2 groups may be better"),
        (
            (0.3, 0.4, 0.001),
            "one map is kept for all 2 people, since maps of groups do not predict new",
        ),
    ],
)
def test_the_sentence_about_one_map_follows_from_the_tests(p_values, start):
    what = ("2 groups", "3 groups", "own maps")
    tests = tuple(SeveralMaps(one, 0.27, 0.283, p) for one, p in zip(what, p_values, strict=True))
    groups = PeopleGroups(1, {"a": 0, "b": 0}, tests, (), ("a", "b"), np.zeros((2, 2)), np.zeros((1, 1)))
    assert groups.sentence.startswith(start)


@pytest.mark.parametrize("rows", [[[0, 1, 2], [1, 2, 3], [2, 3, 0]], [[0, 1, 2], [0, 1, 2], [1, 2, 3], [1, 2, 3]]])
def test_groups_take_people_who_answered_several_questions(rows):
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(len(rows)) // (1 + (len(rows) == 4)))
    with pytest.raises(ValueError, match="nobody answered two different questions"):
        ct.group_people(answers, **QUICK)


@pytest.mark.parametrize("n_questions", range(20, 40))
def test_perfect_agreement_on_few_repeated_questions_has_an_interval(n_questions):
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((12, 2)), n_questions, seed=1).rows
    times_asked = 2 + np.arange(n_questions) % 3
    [ceiling] = noise_ceilings(ct.Comparisons.from_triplets(np.repeat(rows, times_asked, axis=0)))
    assert ceiling.agreement == pytest.approx(1.0)
    assert 0.75 < ceiling.low < 0.95


def test_groups_take_at_least_as_many_questions_as_a_map_has_coordinates():
    # The test takes people to be independent, but a map gets the same few questions right or wrong for all of them.
    rng = np.random.default_rng(0)
    questions = ct.datasets.simulated(rng.standard_normal((12, 2)), 20, seed=1).rows
    rows = np.tile(questions, (30, 1))
    wrong = rng.random(len(rows)) < 0.25
    rows[wrong] = reversed_rows(rows[wrong])
    answers = ct.Comparisons.from_triplets(rows, people=np.repeat(np.arange(30), 20))
    with pytest.raises(ValueError, match="19 different questions, fewer than the 24 coordinates of a map"):
        ct.group_people(answers, **QUICK)


def test_groups_are_looked_for_where_some_gave_one_answer():
    answers = answered(4, 30)
    people = np.where(np.arange(120) >= 118, np.arange(120), answers.people)
    found = ct.group_people(ct.Comparisons.from_triplets(answers.rows, people=people), most_groups=2, **QUICK)
    assert len(found.group) == 6
    assert found.matrix.shape == (4, 4)
    assert np.isfinite(found.matrix).all()


@pytest.mark.slow
def test_the_number_of_groups_does_not_depend_on_the_seed():
    """Three of twelve people share one of two dimensions with the others."""
    rng = np.random.default_rng(5)
    view = 2 * rng.standard_normal((12, 2))
    other = np.column_stack([view[:, 0], 2 * rng.standard_normal(12)])
    rows = np.concatenate(
        [ct.datasets.simulated(one, n, noise="ste", seed=rng).rows for one, n in ((view, 720), (other, 240))]
    )
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(960) // 80)
    found = [ct.group_people(answers, most_groups=2, loss="soe", penalty=0, seed=seed) for seed in range(3)]
    assert {one.n_groups for one in found} == {2}
    assert {(one.group["0"], one.group["11"]) for one in found} == {(0, 1)}  # the larger group is the first


def test_the_interval_of_a_noise_ceiling_holds_the_true_agreement():
    """18 questions, each asked twice, of people who give the usual answer in 85 % of the cases."""
    rng = np.random.default_rng(0)
    held, known = 0, 0
    for _ in range(200):
        rows = np.array([[0, 1, 2 + number] for number in range(18)])
        flips = rng.random((2, 18)) < 0.15
        both = np.concatenate([np.where(flip[:, None], rows[:, [0, 2, 1]], rows) for flip in flips])
        (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(both))
        held += ceiling.low <= 0.85**2 + 0.15**2 <= ceiling.high
        known += ceiling.is_known
    assert held >= 185
    assert known <= 10  # 18 questions nearly never tell


def test_few_repeated_questions_are_said_to_be_too_few():
    few = NoiseCeiling("a person", 0.8, 0.55, 0.92, 18)
    assert not few.is_known
    assert "too few repeated questions to tell how much of the error is noise" in str(few)
    many = NoiseCeiling("different people", 0.8, 0.78, 0.82, 2_000)
    assert many.is_known
    low, high = many.least_error_interval
    assert low < many.least_error < high < many.most_error
    assert f"95 % interval {100 * low:.1f} % to {100 * high:.1f} %" in str(many)


@pytest.mark.parametrize("times", [2, 3, 7])
def test_people_who_always_agree_have_an_uncertain_ceiling_of_no_error(times):
    """Weights of many questions sum to 1 but for rounding."""
    rows = np.array([[0, 1, 2 + number] for number in range(997)])
    (ceiling,) = noise_ceilings(ct.Comparisons.from_triplets(np.repeat(rows, times, axis=0)))
    assert ceiling.agreement == pytest.approx(1)
    assert ceiling.least_error == pytest.approx(0)
    assert 0 < ceiling.least_error_interval.high < 0.01
