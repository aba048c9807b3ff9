"""Choice of questions by expected information."""

import itertools
import re

import numpy as np
import pytest
from studies import ANSWERS, MAPS, POINTS
from studies import N_OBJECTS as N

import closerthan as ct
from closerthan.collect.choosing.information import Questions
from closerthan.comparisons.screen import Screen
from closerthan.losses import LOSSES
from closerthan.objective.information import expected_information, uncertainty


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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"answers": None}, "no answers yet; pass n_objects, the number"),
        ({"answers": None, "n_objects": 2}, "n_objects is 2"),
        ({"count": 0}, "count is 0"),
        ({"count": 661}, "12 objects make 660 questions, and 0 are excluded; pass count=660 or less"),
        ({"kind": "even"}, "kind is 'even'; it can be closer, odd, nearest, rank"),
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


WIDE = {"n_options": 5, "n_picks": 2}


@pytest.mark.parametrize("kind", ["nearest", "rank"])
def test_information_of_several_picks_follows_the_formula(kind):
    loss = LOSSES["tste"]().in_dims(2)
    screen, rows = Screen.of(kind, 5, 2), np.array([[0, 1, 2, 3, 4, 5], [7, 3, 9, 1, 0, 2]])
    ways = list((itertools.permutations if kind == "rank" else itertools.combinations)(range(5), 2))
    for q, row in enumerate(rows):
        p = np.empty((len(MAPS), len(ways)))
        for m, x in enumerate(MAPS):
            squares = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
            costs = [
                sum(loss.value(squares[i, j], squares[i, k]) for i, j, k in screen.comparisons(row.tolist(), picks))
                for picks in ways
            ]
            p[m] = np.exp(-np.array(costs)) / np.exp(-np.array(costs)).sum()
        of_mean, mean_of = (-(one * np.log(one)).sum(axis=-1) for one in (p.mean(axis=0), p))
        assert uncertainty(kind, rows, MAPS, loss, 2)[q] == pytest.approx(of_mean)
        assert expected_information(kind, rows, MAPS, loss, 2)[q] == pytest.approx(of_mean - mean_of.mean(), abs=1e-9)


def test_the_nearest_of_two_is_the_closer_one():
    loss = LOSSES["tste"]().in_dims(2)
    rows = ct.choose_questions(None, 20, n_objects=N, seed=0)
    closer, nearest = (expected_information(kind, rows, MAPS, loss) for kind in ("closer", "nearest"))
    assert nearest == pytest.approx(closer)


@pytest.mark.parametrize("kind", ["nearest", "rank"])
def test_chosen_screens_are_more_informative_than_random_ones(kind):
    def information(random_fraction):
        rows = ct.choose_questions(ANSWERS, N, seed=0, kind=kind, maps=MAPS, random_fraction=random_fraction, **WIDE)
        assert all(len(set(row)) == 6 for row in rows.tolist())
        return expected_information(kind, rows, MAPS, LOSSES["tste"]().in_dims(2), 2).mean()

    assert information(0.0) > 1.3 * information(1.0)


def test_all_screens_can_be_requested_once_and_answered_ones_come_last():
    number = Questions("nearest", 7, **WIDE).number
    rows = ct.choose_questions(None, number, n_objects=7, kind="nearest", seed=0, **WIDE)
    keys = Questions("nearest", 7, **WIDE).keys(rows)
    assert len(np.unique(keys)) == number == 42
    screen = Screen.of("nearest", 5, 2)
    answered = [screen.comparisons(row, (0, 1)) for row in rows[:40].tolist()]
    answers = ct.Comparisons.from_triplets(np.concatenate(answered), answers=np.repeat(np.arange(40), 6), n_objects=7)
    last = ct.choose_questions(answers, 2, kind="nearest", seed=0, **WIDE)
    assert sorted(Questions("nearest", 7, **WIDE).keys(last)) == sorted(keys[40:])


def test_keys_of_wide_questions_do_not_depend_on_the_order_of_the_options():
    many = Questions("nearest", 10_000, n_options=8)
    rows = many.draw(np.arange(50), 20, np.random.default_rng(0)).reshape(-1, 9)
    turned = np.concatenate([rows[:, :1], rows[:, :0:-1]], axis=1)
    assert many.keys(rows).tolist() == many.keys(turned).tolist()
    assert len(np.unique(many.keys(rows))) == len(rows)


def test_impossible_numbers_of_options_are_explained():
    for n_options, n_picks in ((12, 2), (3, 3), (2, 4)):
        with pytest.raises(ValueError, match=r"n_options is .*; it must be larger than the number of picks"):
            ct.choose_questions(None, 1, n_objects=12, kind="rank", n_options=n_options, n_picks=n_picks)
