"""Choice of questions by expected information."""

import csv
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.collect.choosing import belief
from closerthan.collect.choosing.information import Questions
from closerthan.collect.choosing.newcomers import possible_maps
from closerthan.losses import LOSSES
from closerthan.objective.information import expected_information, uncertainty

N = 12
POINTS = np.random.default_rng(0).normal(size=(N, 2))
ANSWERS = ct.datasets.simulated(POINTS, 120, noise="ste", seed=0)
MAPS = POINTS + 0.3 * np.random.default_rng(1).normal(size=(6, N, 2))


def asked(kind, rows):
    return Questions(kind, N).keys(np.asarray(rows)).tolist()


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_questions_are_distinct_and_neither_excluded_nor_answered(kind):
    out = ct.choose_questions(ANSWERS, 30, kind=kind, maps=MAPS, seed=0)
    rows = ct.choose_questions(ANSWERS, 60, kind=kind, maps=MAPS, seed=0, exclude=out)
    keys = asked(kind, rows)
    assert len(set(keys)) == 60
    assert not set(keys) & set(asked(kind, out))
    assert not set(keys) & set(asked(kind, ANSWERS.rows))
    assert (np.sort(rows, axis=1)[:, 1:] > np.sort(rows, axis=1)[:, :-1]).all()


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_all_questions_can_be_requested(kind):
    number = Questions(kind, 6).number
    rows = ct.choose_questions(None, number, n_objects=6, kind=kind, seed=0)
    assert len(np.unique(Questions(kind, 6).keys(rows))) == number


def test_answered_questions_are_repeated_when_no_others_are_left():
    every = ct.choose_questions(None, 12, n_objects=4, seed=0)
    rows = ct.choose_questions(ct.Comparisons.from_triplets(every), 5, seed=0, exclude=every[:7])
    assert sorted(Questions("closer", 4).keys(rows)) == sorted(Questions("closer", 4).keys(every[7:]))


def test_anchors_take_turns():
    rows = ct.choose_questions(ANSWERS, 2 * N, maps=MAPS, seed=0)
    assert sorted(rows[:N, 0]) == sorted(rows[N:, 0]) == list(range(N))


def test_the_least_frequent_anchor_is_next():
    answers = ct.Comparisons.from_triplets([[i, (i + 1) % 5, (i + 2) % 5] for i in (0, 1, 2, 4)])
    assert ct.choose_questions(answers, 1, seed=0)[0, 0] == 3


def test_objects_without_answers_come_first():
    rows = ct.choose_questions(ANSWERS, 3, n_objects=N + 3, seed=0)
    assert sorted(rows[:, 0]) == [N, N + 1, N + 2]


def test_objects_without_answers_come_before_those_that_were_options_only():
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [0, 2, 3], [0, 1, 4], [0, 4, 3]])
    assert {int(ct.choose_questions(answers, 1, n_objects=6, seed=seed)[0, 0]) for seed in range(20)} == {5}


def test_the_same_seed_gives_the_same_questions_and_more_answers_others():
    first, again = (ct.choose_questions(ANSWERS, 6, seed=3) for _ in range(2))
    assert first.tolist() == again.tolist()
    fewer = ANSWERS.take(np.arange(len(ANSWERS)) < 119)
    assert ct.choose_questions(fewer, 6, seed=3).tolist() != first.tolist()


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_chosen_questions_are_more_informative_than_random_ones(kind):
    def information(random_fraction):
        rows = ct.choose_questions(ANSWERS, N, seed=0, kind=kind, maps=MAPS, random_fraction=random_fraction)
        return expected_information(kind, rows, MAPS, LOSSES["tste"]().in_dims(2)).mean()

    assert information(0.0) > 1.5 * information(1.0)


@pytest.mark.parametrize("name", LOSSES)
def test_information_follows_the_formula(name):
    loss = LOSSES[name]().in_dims(2)
    rows = np.array([[0, 1, 2], [3, 4, 5], [6, 1, 8]])

    def entropy(p):
        return -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)

    for q, (i, j, k) in enumerate(rows):
        closer, odd = [], []
        for x in MAPS:
            ij, ik, jk = (float(((x[a] - x[b]) ** 2).sum()) for a, b in ((i, j), (i, k), (j, k)))
            lead = loss.value(ik, ij) - loss.value(ij, ik)
            closer.append([1 / (1 + np.exp(-lead)), 1 / (1 + np.exp(lead))])
            costs = np.array(
                [
                    loss.value(jk, ij) + loss.value(jk, ik),
                    loss.value(ik, ij) + loss.value(ik, jk),
                    loss.value(ij, ik) + loss.value(ij, jk),
                ]
            )
            odd.append(np.exp(-costs) / np.exp(-costs).sum())
        for kind, p in (("closer", np.array(closer)), ("odd", np.array(odd))):
            of_mean = entropy(p.mean(axis=0))
            assert uncertainty(kind, rows, MAPS, loss)[q] == pytest.approx(of_mean)
            information = expected_information(kind, rows, MAPS, loss)[q]
            assert information == pytest.approx(of_mean - entropy(p).mean(), abs=1e-9)


def test_maps_that_agree_leave_nothing_to_ask():
    same = np.repeat(POINTS[np.newaxis], 3, axis=0)
    rows = ct.choose_questions(None, 20, n_objects=N, seed=0)
    assert expected_information("closer", rows, same, LOSSES["ste"]()).max() < 1e-12


def test_answers_about_pairs_with_a_common_object_count_as_answered_questions():
    every = ct.choose_questions(None, 12, n_objects=4, seed=0)
    quadruplets = [[j, i, k, i] for i, j, k in every[:11]]
    last = ct.choose_questions(ct.Comparisons.from_quadruplets(quadruplets), 1, seed=0)
    assert Questions("closer", 4).keys(last).tolist() == Questions("closer", 4).keys(every[11:]).tolist()


def test_a_subset_of_answers_with_several_comparisons_each_is_accepted():
    """The numbers of the answers have gaps then."""
    trios = ct.Comparisons.from_triplets(ANSWERS.rows, answers=np.arange(len(ANSWERS)) // 2, n_objects=N)
    later = trios.take(np.arange(len(trios)) >= 20)
    assert ct.choose_questions(later, 5, n_dims=2, seed=0).shape == (5, 3)


def test_a_huge_map_is_shrunk_before_it_is_finished():
    """Nothing would move it: the slopes of tste vanish there."""
    loss = LOSSES["tste"]().in_dims(2)
    expected = belief.fitted_map(ANSWERS, 2, loss, np.random.default_rng(0))
    huge = 1e9 * ct.embed(ANSWERS, loss=loss, seed=0).embedding
    x = belief.fitted_map(ANSWERS, 2, loss, np.random.default_rng(0), [huge])
    assert x.std() <= belief.LARGEST * (1 + 1e-9)  # it is divided by a rounded number
    assert ct.triplet_error(ANSWERS, x) <= ct.triplet_error(ANSWERS, expected) + 0.05


def test_a_folded_map_unfolds_and_so_do_its_replicates():
    """On a line, objects would have to pass through each other."""
    line = np.linspace(-1, 1, 40)[:, np.newaxis]
    answers, folded = ct.datasets.simulated(line, 400, seed=0), 1000 * np.abs(line - 0.3)
    assert ct.triplet_error(answers, folded) > 0.2
    loss = LOSSES["tste"]().in_dims(1)
    x = belief.fitted_map(answers, 1, loss, np.random.default_rng(0), [folded])
    assert ct.triplet_error(answers, x) < 0.05
    replicates = belief.fit_belief(answers, folded, loss, np.random.default_rng(0)).maps
    assert np.median([ct.triplet_error(answers, replicate) for replicate in replicates]) < 0.1


@pytest.mark.parametrize("kind", ["closer", "odd"])
def test_questions_about_a_new_object(kind):
    rows = ct.choose_questions(ANSWERS, 8, n_objects=N + 2, about=[N], kind=kind, seed=0)
    assert (rows[:, 0] == N).all()
    assert len(set(Questions(kind, N + 2).keys(rows).tolist())) == 8
    every = Questions(kind, N + 2, (N, N + 1)).number
    some = ct.choose_questions(ANSWERS, every, n_objects=N + 2, about=[N, N + 1], kind=kind, seed=0)
    assert set(some[:, 0].tolist()) == {N, N + 1}


def test_questions_about_a_new_object_are_informative_about_its_position():
    so_far = np.concatenate([ANSWERS.rows, [[N, 0, 1], [N, 2, 3]]])
    answers, loss = ct.Comparisons.from_triplets(so_far), LOSSES["tste"]().in_dims(2)
    maps = possible_maps(answers, [N], POINTS, loss, np.random.default_rng(0))
    assert (maps[:, :N] == POINTS).all()
    assert ct.triplet_error(so_far[-2:], maps.mean(axis=0)) == 0

    def information(random_fraction):
        rows = ct.choose_questions(answers, 6, about=[N], random_fraction=random_fraction, maps=maps, seed=0)
        return expected_information("closer", rows, maps, loss).mean()

    assert information(0.0) > 1.5 * information(1.0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"answers": None}, "no answers yet; pass n_objects, the number"),
        ({"answers": None, "n_objects": 2}, "n_objects is 2"),
        ({"count": 0}, "count is 0"),
        ({"count": 661}, "12 objects make 660 questions, and 0 are excluded; pass count=660 or less"),
        ({"kind": "even"}, 'kind is \'even\'; it can be "closer" or "odd"'),
        ({"random_fraction": 1.5}, "random_fraction is 1.5; it must lie between 0 and 1"),
        ({"seed": -1}, "seed is -1"),
        ({"about": [12]}, "about is [12]; it must contain numbers from 0 to 11"),
        ({"about": []}, "about is []"),
        ({"loss": "huge"}, "huge"),
        ({"n_dims": 0}, "n_dims is 0"),
        ({"n_objects": 5}, "n_objects is 5; the answers are about 12"),
        ({"exclude": [[0, 1]]}, "three object numbers each"),
        ({"exclude": [[0, 1, 12]]}, "row 0 of exclude is [0, 1, 12]; objects have numbers from 0 to 11"),
        ({"exclude": [[0, 1, 2], [0, 3, 3]]}, "row 1 of exclude is [0, 3, 3]; the objects of a question must differ"),
        ({"maps": MAPS[0]}, "maps has shape (12, 2)"),
        ({"maps": np.full((2, N, 2), np.nan)}, "not finite"),
    ],
)
def test_bad_input_is_explained(options, sentence):
    arguments = {"answers": ANSWERS, "count": 1, **options}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ct.choose_questions(arguments.pop("answers"), arguments.pop("count"), **arguments)


# ---- The command ----------------------------------------------------------------------------------------------------


def closerthan(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def test_a_table_of_questions_with_answers_can_be_fitted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("ant\nbee\ncat\ndog\n")
    assert "12 questions" in closerthan("questions", "--names", "names.txt", "--count", 12, "--out", "first.csv")
    with open("first.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert set(table[0]) == {"anchor", "left", "right"}
    with open("answered.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["anchor", "left", "right", "answer"])
        writer.writeheader()
        writer.writerows({**row, "answer": row["left"]} for row in table[:8])
    assert ct.read_comparisons("answered.csv").n_answers == 8
    closerthan("questions", "answered.csv", "--count", 4)
    with open("answered-questions.csv", newline="") as file:
        others = list(csv.DictReader(file))
    assert {(row["anchor"], *sorted((row["left"], row["right"]))) for row in others} == {
        (row["anchor"], *sorted((row["left"], row["right"]))) for row in table[8:]
    }


def test_pending_questions_are_excluded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = ("questions", "--objects", 5, "--ask", "odd")
    closerthan(*odd, "--count", 6, "--out", "first.csv")
    closerthan(*odd, "--count", 4, "--exclude", "first.csv", "--out", "second.csv")
    lines = [line for name in ("first.csv", "second.csv") for line in (tmp_path / name).read_text().splitlines()[1:]]
    assert len({tuple(sorted(line.split(","))) for line in lines}) == 10


@pytest.mark.parametrize("named", [True, False])
def test_the_command_asks_about_an_object_without_answers(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    names = [f"town {number}" for number in range(N)] if named else [str(number) for number in range(N)]
    new = "elsewhere" if named else str(N)
    lines = [",".join(names[one] for one in row) for row in ANSWERS.rows.tolist()]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *lines]))
    output = closerthan("questions", "answers.csv", "--count", 6, "--about", new, "--about", names[3])
    assert f"{new}: new, without answers so far" in output
    with open("answers-questions.csv", newline="") as file:
        assert {row["anchor"] for row in csv.DictReader(file)} == {new, names[3]}


def test_the_number_of_a_new_object_follows_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = closerthan("questions", "--objects", 5, "--count", 3, "--about", "zebra", code=2)
    assert "objects have numbers from 0 to 4; a new one must be 5" in " ".join(output.split())


def test_wrong_options_are_explained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "pass --objects NUMBER or --names FILE" in closerthan("questions", code=2)
    (tmp_path / "waiting.csv").write_text("anchor,left,right\n0,1,zebra\n")
    output = closerthan("questions", "--objects", 5, "--count", 3, "--exclude", "waiting.csv", code=2)
    assert "waiting.csv, line 2: there is no object 'zebra'" in output
    (tmp_path / "waiting.csv").write_text("anchor,left\n0,1\n")
    output = closerthan("questions", "--objects", 5, "--count", 3, "--exclude", "waiting.csv", code=2)
    assert "no column 'right'" in output
    assert "5 objects make 30 questions" in closerthan("questions", "--objects", 5, code=2)


def test_too_many_questions_are_reported_with_the_option_and_its_limit(tmp_path):
    result = CliRunner().invoke(app, ["questions", "--objects", "4", "--out", str(tmp_path / "questions.csv")])
    assert result.exit_code == 2
    message = "--count is 100; 4 objects make 12 questions, and 0 are excluded; pass --count 12 or less"
    assert message in result.stderr
