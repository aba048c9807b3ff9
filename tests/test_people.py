"""People's quality: who answers carelessly, and how much each answer should count."""

import csv
import dataclasses

import numpy as np
import pytest
from conftest import interrupting
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons import reversed_rows
from closerthan.uncertainty import people, refits
from closerthan.uncertainty.lapses import Given, fit_lapses
from closerthan.uncertainty.people_groups import PeopleGroups, SeveralMaps
from closerthan.uncertainty.person import Person
from closerthan.uncertainty.repeats import noise_ceilings, repeats_of_people

QUICK = {"loss": "soe", "seed": 0}


def answered(n_people=12, each=100, careless=(), reversed_by=(), seed=0, **options):
    """Answers of people about 15 points, some of whom do not look, or answer the other way round."""
    rng = np.random.default_rng(seed)
    rows = ct.datasets.simulated(2 * rng.standard_normal((15, 2)), n_people * each, noise="ste", seed=rng).rows.copy()
    people = np.repeat(np.arange(n_people), each)
    swapped = np.isin(people, reversed_by) | (np.isin(people, careless) & (rng.random(len(rows)) < 0.5))
    rows[swapped] = reversed_rows(rows[swapped])
    return ct.Comparisons.from_triplets(rows, people=people, **options)


@pytest.fixture(scope="module")
def assessment():
    return ct.assess_people(answered(careless=(3, 7, 8), reversed_by=(5,)), **QUICK)


def by_name(assessment):
    return {person.name: person for person in assessment.people}


def test_careless_people_are_told_from_others(assessment):
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


def test_where_weights_do_not_help_the_answers_stay_as_they_were_given():
    found = ct.assess_people(answered(6), **QUICK)
    assert not found.is_weighted
    assert found.weighted is found.answers


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
    found = ct.assess_people(answers, **QUICK)
    plain, weighed = (ct.triplet_error(test, ct.embed(one, **QUICK).embedding) for one in (answers, found.weighted))
    assert weighed < plain - 0.01


def test_a_preference_for_a_side_is_learnt_from_lapses():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(2, dtype=np.int32), 500)
    size = rng.exponential(4.0, 1000)
    left = rng.random(1000) < 0.5
    chosen_left = np.where(person == 0, rng.random(1000) < 1 / (1 + np.exp(-np.where(left, size, -size))), True)
    lead = np.where(chosen_left == left, size, -size)  # person 1 always takes the left one
    found = fit_lapses(lead, Given(person, 2, np.ones(1000), chosen_left.astype(float)))
    assert found.rates[1] > 0.8
    assert found.guess[person == 1].mean() > 0.9


def test_checks_times_and_sides_are_in_the_table():
    trials = ct.Trials(times=np.repeat([1.0, 0.1, 2.0], 50), sides=np.repeat([0, 1, -1], 50))
    answers = answered(3, 50, trials=trials)
    people = by_name(ct.assess_people(answers, checks={"0": (10, 9)}, **QUICK))
    assert (people["0"].checks, people["0"].checks_passed) == (10, 9)
    assert people["1"].fast == 1
    assert people["1"].left == 0
    assert people["2"].median_seconds == 2
    assert np.isnan(people["2"].left)
    assert [people[name].hurried for name in "012"] == [0.0, 1.0, 0.0]


def test_somebody_in_a_hurry_is_named_though_the_answers_are_right():
    answers = answered(4, 60, trials=ct.Trials(times=np.repeat([2.0, 2.0, 0.7, 2.0], 60)))
    said = ct.assess_people(answers, **QUICK).sentences
    assert said[0] == "nobody of 4 people looks careless: use all answers as they are"
    assert said[1].startswith("1 of 4 people are often too fast to have read the question (2)")


def person(**changes):
    usual = dict.fromkeys(Person._fields, float("nan")) | {
        "name": "ann", "answers": 200, "lapse_rate": 0.02, "lapse_low": 0.0, "lapse_high": 0.1, "others_error": 0.2,
        "repeats": 0, "shared": 0, "checks_passed": 0, "checks": 0, "sides": 0,
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
        ({"lapse_low": 0.2, "hurried": 0.6}, "careless"),
        ({"lapse_low": 0.5, "hurried": 0.6, "others_error": 0.45, "own_error": 0.2}, "own view"),
        ({"hurried": 0.6}, "fine"),  # the answers are right all the same
        ({"lapse_low": 0.5}, "careless"),
        ({"lapse_low": 0.5, "others_error": 0.45, "own_error": 0.2}, "own view"),
        ({"lapse_low": 0.5, "repeats": 20, "consistency": 0.9}, "own view"),
        ({"checks": 10, "checks_passed": 3}, "careless"),
    ],
)
def test_verdicts(changes, verdict):
    assert person(**changes).verdict == verdict
    assert person(**changes).advice


def test_somebody_with_a_view_of_his_own_is_not_called_careless():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((15, 2)) for _ in range(2)]
    rows = np.concatenate(
        [ct.datasets.simulated(view, number, seed=1).rows for view, number in zip(views, (1800, 300), strict=True)]
    )
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(2100) // 300)
    found = by_name(ct.assess_people(answers, **QUICK))
    assert found["6"].verdict == "own view"
    assert found["6"].own_error < found["6"].others_error


def test_sentences_say_what_to_do(assessment):
    text = " ".join(assessment.sentences)
    assert "3 of 12 people look careless" in text
    assert "nothing was left out" in text
    nobody = ct.assess_people(answered(6), **QUICK)
    assert nobody.sentences == ["nobody of 6 people looks careless: use all answers as they are"]


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


def test_without_repeats_there_is_no_ceiling():
    assert noise_ceilings(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])) == []


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("judge", [ct.assess_people, ct.group_people])
def test_people_must_be_known_and_several(judge):
    with pytest.raises(ValueError, match=r"takes people, but nothing says who gave the answers"):
        judge(ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]))
    with pytest.raises(ValueError, match="all answers are of one person"):
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


def test_ctrl_c_keeps_the_rounds_that_are_done(monkeypatch):
    interrupting(monkeypatch, after=12)  # two rounds of five folds, and two fits of the third
    found = ct.assess_people(answered(careless=(3, 7, 8)), n_threads=1, **QUICK)
    assert (found.stopped_by, found.after) == ("interrupted", "2 of 6 rounds")
    assert {person.name for person in found.people if person.verdict == "careless"} == {"3", "7", "8"}
    assert (found.weights == 1).all()
    assert found.sentences[-1].startswith("interrupted after 2 of 6 rounds")
    assert not any("weights change" in sentence for sentence in found.sentences)


def test_ctrl_c_before_everybody_was_judged_is_raised(monkeypatch):
    interrupting(monkeypatch, after=3)
    with pytest.raises(KeyboardInterrupt):
        ct.assess_people(answered(), n_threads=1, **QUICK)


def test_the_end_of_the_time_keeps_the_rounds_that_are_done(monkeypatch):
    answers = answered(careless=(3,))
    ended = refits.Done([None], "time_limit").cut("fits")
    rounds = iter([None, ended])
    parts = refits.Refits.parts

    def sometimes(self, *args):
        error = next(rounds)
        if error is not None:
            raise error
        return parts(self, *args)

    monkeypatch.setattr(refits.Refits, "parts", sometimes)
    found = ct.assess_people(answers, time_limit=60, **QUICK)
    assert (found.stopped_by, found.after) == ("time_limit", "1 of 6 rounds")
    assert "the time was over after 1 of 6 rounds" in found.sentences[-1]


def test_settings_of_a_single_fit_are_refused():
    with pytest.raises(ValueError, match="checkpoint is for one fit"):
        ct.assess_people(answered(3, 30), checkpoint="x.npz", **QUICK)


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_one_map_serves_people_of_one_view():
    found = ct.group_people(answered(10, 150), **QUICK)
    assert found.n_groups == 1
    assert found.tests[0].p_value > 0.05
    assert found.sentence.startswith("one map serves all 10 people")
    assert found.matrix.shape == (10, 10)


def two_views():
    """Five people of one view, five of another."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((15, 2)) for _ in range(2)]
    rows = np.concatenate([ct.datasets.simulated(view, 1500, seed=0).rows for view in views])
    return ct.Comparisons.from_triplets(rows, people=[f"p{number // 300}" for number in range(3000)])


def test_the_matrix_is_low_within_groups_and_high_between_them(tmp_path):
    found = ct.group_people(two_views(), **QUICK)
    assert found.n_groups == 2
    assert found.matrix[:5, :5].mean() < found.matrix[:5, 5:].mean() - 0.2
    assert (found.group_matrix.diagonal() < 0.2).all()
    assert len(found.maps) == 2
    assert "2 groups of people (5, 5)" in found.sentence
    found.to_csv(tmp_path / "matrix.csv")
    assert len((tmp_path / "matrix.csv").read_text().splitlines()) == 11
    titles = [ax.get_title(loc="left") for ax in ct.plotting.people_maps_figure(found).axes]
    assert titles == ["group 1: 5 people", "group 2: 5 people"]


def test_maps_of_groups_are_laid_over_the_first():
    found = ct.group_people(two_views(), **QUICK)
    turned = found.maps[0].embedding[:, ::-1] * 3.0 + 1.0
    same = dataclasses.replace(found.maps[0], embedding=turned)
    first, second = dataclasses.replace(found, maps=(found.maps[0], same)).aligned_maps()
    np.testing.assert_allclose(first, second, atol=1e-6 * np.abs(first).max())


# ---- command line ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "study.csv"
    answers = answered(8, 60, careless=(2,))
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
    result = run("people", file, "--loss", "soe", "--out", folder, "--groups", 2)
    assert result.exit_code == 0, result.output
    assert "p2" in result.output
    assert "careless" in result.output
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["people-matrix.csv", "people-matrix.png", "people.csv", "people.png"]
    again = run("people", file, "--loss", "soe", "--out", folder)
    assert again.exit_code == 2
    assert "--force" in again.output


@pytest.mark.slow
def test_groups_are_written_with_the_people_and_their_maps(tmp_path):
    ct.files.write_comparisons(two_views(), tmp_path / "study.csv")
    result = run("people", tmp_path / "study.csv", "--loss", "soe", "--out", tmp_path / "out", "--groups", 2)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "people-maps.png").exists()
    rows = list(csv.DictReader((tmp_path / "out" / "people.csv").read_text().splitlines()))
    group = {row["name"]: row["group"] for row in rows}
    assert {group[f"p{number}"] for number in range(5)} != {group[f"p{number}"] for number in range(5, 10)}
    assert sorted(group.values()) == ["1"] * 5 + ["2"] * 5


def test_the_table_is_written_where_no_groups_can_be_looked_for(tmp_path):
    same = tmp_path / "same.csv"
    same.write_text("anchor,near,far,participant\n" + "".join(f"0,1,2,p{n % 3}\n" for n in range(60)))
    result = run("people", same, "--loss", "soe", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "all 60 answers are about the same objects" in result.output
    assert "groups of people were not looked for" in result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["people.csv", "people.png"]


@pytest.mark.slow
def test_fit_can_weigh_people(tmp_path):
    file = tmp_path / "study.csv"
    ct.files.write_comparisons(answered(12, 100, careless=(2, 5, 7, 8)), file)
    result = run("fit", file, "--loss", "soe", "--people", "weigh", "--no-report", "--out", tmp_path / "map")
    assert result.exit_code == 0, result.output
    assert "12, weighed" in result.output
    assert "their weights sum to" in result.output
    assert "--people weigh" in (tmp_path / "map" / "settings.json").read_text()
    wrong = run("fit", file, "--people", "drop", "--out", tmp_path / "other")
    assert wrong.exit_code == 2
    assert "it can be weigh" in wrong.output


def test_fit_does_not_say_that_people_were_weighed_where_all_count_the_same(tmp_path):
    ct.files.write_comparisons(answered(4, 60), tmp_path / "study.csv")
    words = ("--loss", "soe", "--people", "weigh", "--held-out", 0, "--out", tmp_path / "map")
    said = run("fit", tmp_path / "study.csv", *words)
    assert "4, all count the same" in said.output
    assert "weights sum" not in said.output
    assert "study.csv" in (tmp_path / "map" / "report.html").read_text().partition("ct.files.read_answers")[2][:200]


def test_the_time_limit_of_a_fit_covers_the_judging_of_people(file, tmp_path, monkeypatch):
    words = ("fit", file, "--loss", "soe", "--people", "weigh", "--no-report", "--out", tmp_path / "map")
    result = run(*words, "--time-limit", "0.000002")
    assert result.exit_code == 2
    assert "the time was over after 0 of" in result.output
    monkeypatch.setattr(people, "assess_people", lambda *args, time_limit, **more: limits.append(time_limit) or 1 / 0)
    limits = []
    run(*words, "--time-limit", "60")
    assert limits == [pytest.approx(30.0, abs=5.0)]


def test_weights_of_people_are_not_used_to_judge():
    answers = answered(10, careless=(0, 1, 2))
    found = ct.assess_people(answers, **QUICK)
    plain = ct.held_out_error(answers, weights=found.weights, **QUICK)
    flattered = ct.held_out_error(found.weighted, **QUICK)
    assert plain.error > flattered.error + 0.02


def test_three_groups_that_are_better_where_two_are_not_are_no_chance():
    tests = (SeveralMaps("2 groups", 0.28, 0.283, 0.2), SeveralMaps("3 groups", 0.269, 0.283, 0.025))
    groups = PeopleGroups(1, {"a": 0, "b": 0}, tests, (), ("a", "b"), np.zeros((2, 2)), np.zeros((1, 1)))
    assert "by chance" not in groups.sentence
    assert "3 groups are (error 26.9 % instead of 28.3 %, p = 0.025)" in groups.sentence
