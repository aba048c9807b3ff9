import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.losses import LOSSES
from closerthan.objects.new_answers import about_new_objects

N_KNOWN = 30


@pytest.fixture(scope="module")
def points():
    return 1.5 * np.random.default_rng(0).normal(size=(N_KNOWN + 3, 2))


def about(points, new, n_answers, seed=0, **options):
    """Answers in which the new objects occur, and no other new ones."""
    answers = ct.datasets.simulated(points[: max(new) + 1], 40 * n_answers, seed=seed, **options)
    rows = np.isin(answers.rows, new).any(axis=1)
    return answers.take(np.flatnonzero(rows)[:n_answers])


def wrong(points, placed, new):
    return ct.triplet_error(about(points, new, 500, seed=99), placed.embedding)


@pytest.mark.parametrize(("loss", "quadruplets"), [*((loss, False) for loss in LOSSES), ("ste", True)])
def test_a_new_object_finds_its_place_with_every_loss(points, loss, quadruplets):
    placed = ct.place(about(points, [N_KNOWN], 100, quadruplets=quadruplets), points[:N_KNOWN], loss=loss)
    assert placed.embedding.shape == (N_KNOWN + 1, 2)
    np.testing.assert_array_equal(placed.embedding[:N_KNOWN], points[:N_KNOWN])
    assert wrong(points[: N_KNOWN + 1], placed, [N_KNOWN]) < 0.08
    assert placed.errors[0] < 0.05


def test_new_objects_may_be_compared_with_each_other(points):
    new = [N_KNOWN, N_KNOWN + 1, N_KNOWN + 2]
    answers = about(points, new, 200)
    both = (answers.rows >= N_KNOWN).sum(axis=1) > 1
    assert both.any()
    placed = ct.place(answers, points[:N_KNOWN], loss="ste")
    assert np.linalg.norm(placed.places - points[N_KNOWN:], axis=1).max() < 0.8
    assert wrong(points, placed, new) < 0.08


def test_an_object_that_is_compared_only_with_other_new_ones_is_placed_by_them(points):
    answers = about(points, [N_KNOWN, N_KNOWN + 1], 300)
    one, other = ((answers.rows == number).any(axis=1) for number in (N_KNOWN, N_KNOWN + 1))
    kept = answers.take(np.flatnonzero(one))  # the second never without the first
    assert (one & other).any()
    placed = ct.place(kept, points[:N_KNOWN], loss="ste")
    assert wrong(points[: N_KNOWN + 2], placed, [N_KNOWN, N_KNOWN + 1]) < 0.15


def test_answers_count_by_their_weights(points):
    here, there = points[:1], points[1:2]
    true, false = (np.concatenate([points[:N_KNOWN], place]) for place in (here, there))
    rows = np.concatenate([about(true, [N_KNOWN], 60).rows, about(false, [N_KNOWN], 60).rows])
    places = []
    for weights in ([1.0] * 60 + [0.01] * 60, [0.01] * 60 + [1.0] * 60):
        answers = ct.Comparisons.from_triplets(rows, weights=weights, unmentioned="ignore")
        places.append(ct.place(answers, points[:N_KNOWN], loss="ste").places[0])
    assert np.linalg.norm(places[0] - here) < np.linalg.norm(places[0] - there)
    assert np.linalg.norm(places[1] - there) < np.linalg.norm(places[1] - here)


def test_the_uncertainty_covers_the_true_place_about_as_often_as_it_says(points):
    inside, rng = [], np.random.default_rng(1)
    for seed in range(30):
        true = np.concatenate([points[:N_KNOWN], rng.normal(size=(1, 2)) * 1.5])
        placed = ct.place(about(true, [N_KNOWN], 40, seed=seed, noise="ste"), true[:N_KNOWN], loss="ste", seed=seed)
        off = placed.places[0] - true[-1]
        inside.append(off @ np.linalg.solve(placed.covariances[0], off) < 5.99)  # 95 % of two dimensions
    assert 0.8 <= np.mean(inside) <= 1.0


def test_more_answers_leave_less_uncertainty(points):
    few, many = (
        ct.place(about(points, [N_KNOWN], number, noise="ste"), points[:N_KNOWN], loss="ste").standard_errors.mean()
        for number in (10, 200)
    )
    assert many < few / 2


@pytest.mark.parametrize("loss", ["ste", "tste", "ckl"])
def test_no_direction_is_more_uncertain_than_before_the_answers(points, loss):
    """A far option repels the object and makes the loss concave, which must not matter."""
    known = points[:N_KNOWN]
    before = np.cov(known.T)
    for anchor, near in ((0, 1), (2, 3), (4, 5)):
        placed = ct.place([[anchor, near, N_KNOWN]] * 3, known, loss=loss)
        left = np.linalg.eigvalsh(before - placed.covariances[0])
        assert left.min() > -1e-4 * np.trace(before)


def test_one_answer_does_not_send_an_object_away(points):
    placed = ct.place([[0, 1, N_KNOWN]], points[:N_KNOWN], loss="gnmds")
    assert np.abs(placed.places).max() < 3 * np.abs(points).max()


def test_the_same_seed_gives_the_same_bits(points):
    answers = about(points, [N_KNOWN], 50)
    one, other = (ct.place(answers, points[:N_KNOWN], loss="ste", seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.places, other.places)
    np.testing.assert_array_equal(one.covariances, other.covariances)


# ---- features --------------------------------------------------------------------------------------------------------


def features_of(points, noise=0.3):
    rng = np.random.default_rng(5)
    return np.column_stack([points + noise * rng.normal(size=points.shape), rng.normal(size=len(points))])


def test_features_alone_place_objects(points):
    placed = ct.place(result=points[:N_KNOWN], features=features_of(points), loss="ste")
    assert placed.places.shape == (3, 2)
    assert placed.n_comparisons.tolist() == [0, 0, 0]
    assert np.isnan(placed.errors).all()
    assert np.corrcoef(placed.places.ravel(), points[N_KNOWN:].ravel())[0, 1] > 0.8


def test_features_and_answers_are_better_than_either():
    rng = np.random.default_rng(3)
    off = {"answers": [], "features": [], "both": []}
    for seed in range(12):
        points = 1.5 * rng.normal(size=(N_KNOWN + 1, 2))
        answers, features = about(points, [N_KNOWN], 6, seed=seed, noise="ste"), features_of(points)
        for way, given in (("answers", (answers, None)), ("features", (None, features)), ("both", (answers, features))):
            placed = ct.place(given[0], points[:N_KNOWN], features=given[1], loss="ste")
            off[way].append(np.linalg.norm(placed.places[0] - points[-1]))
    assert np.mean(off["both"]) < min(np.mean(off["answers"]), np.mean(off["features"]))


def test_features_by_name_say_which_objects_are_new():
    names = [f"n{number}" for number in range(10)]
    points = np.random.default_rng(0).normal(size=(10, 2))
    answers = ct.datasets.simulated(points, 2000, names=names, seed=0)
    known = ct.Comparisons.from_triplets([[names[number] for number in row] for row in answers.rows if row.max() < 8])
    result = ct.embed(known, loss="ste", penalty=0, seed=0)
    table = dict(zip(names, points, strict=True))
    about_9 = [[names[number] for number in row] for row in answers.rows if 9 in row and 8 not in row]
    placed = ct.place(about_9, result, features=table)
    assert placed.names == ("n8", "n9")
    assert placed.n_comparisons.tolist() == [0, len(about_9)]
    assert placed.all_names == tuple(names)


# ---- which objects are new -------------------------------------------------------------------------------------------


def test_answers_about_known_objects_alone_are_left_out():
    new = about_new_objects([[0, 1, 2], [3, 1, 2]], 3, None)
    assert new.comparisons.rows.tolist() == [[3, 1, 2]]
    assert new.n_new == 1


def test_new_names_are_found_whatever_their_order():
    new = about_new_objects([["a", "b", "d"], ["c", "a", "b"]], 3, ("d", "b", "a"))
    assert new.names == ("c",)
    assert new.comparisons.rows.tolist() == [[3, 2, 1]]


def result_of(points, **changes):
    answers = ct.datasets.simulated(points, 300, names=[f"n{number}" for number in range(len(points))], seed=0)
    return dataclasses.replace(ct.embed(answers, loss="ste", penalty=0, seed=0, epochs=3), **changes)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda x: ct.place([[0, 1, 5]], x), 'the loss of the map is not known; pass it, as in loss="ste"'),
        (lambda x: ct.place([[0, 1, 2]], x, loss="ste"), "nothing to place"),
        (lambda x: ct.place([[0, 1, 6]], x, loss="ste"), "new object 5 occurs in no answer"),
        (lambda x: ct.place([["a", "b", "c"]], x, loss="ste"), "the map does not; use the map's numbers, from 0 to 4"),
        (lambda x: ct.place(result=x), "neither answers nor features"),
        (lambda x: ct.place([[0, 1, 5]], x, loss="stee"), "loss is 'stee'"),
        (lambda x: ct.place(result=x, features=np.ones((5, 2))), "features of 5 objects, but the map has 5"),
        (lambda x: ct.place(result=x, features={"a": [1.0]}), "the objects of the map do not"),
        (lambda x: ct.place(result=result_of(x), features={"a": [1.0]}), "features of 'n0' are missing"),
        (
            lambda x: ct.place([[0, 5, 6]], x, features=np.ones((6, 2)), loss="ste"),
            "about 2 new objects, but there are features of 1",
        ),
        (lambda x: ct.place([[0, 1, 5]], 0 * x, loss="ste"), "in one place"),
    ],
)
def test_bad_input_is_an_error_that_says_why(act, message):
    with pytest.raises(ValueError, match=message):
        act(np.random.default_rng(0).normal(size=(5, 2)))


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_the_map_with_the_new_objects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(10, 2))
    names = [f"n{number}" for number in range(10)]
    result_of(points[:9]).save("result.npz")
    ct.files.write_comparisons(ct.datasets.simulated(points, 800, names=names, seed=1), "more.csv")
    done = CliRunner().invoke(app, ["place", "result.npz", "more.csv"])
    assert done.exit_code == 0, done.output
    places, called = ct.files.read_map("result-placed.csv")
    assert places.shape == (10, 2)
    assert called == tuple(names)
    assert "n9" in done.stdout

    ct.files.write_map(points[:9], names[:9], "map.csv")
    done = CliRunner().invoke(app, ["place", "map.csv", "more.csv"])
    assert done.exit_code == 2
    assert "--loss ste" in done.stderr
    ct.files.write_map(points, names, "features.csv")
    done = CliRunner().invoke(app, ["place", "map.csv", "--features", "features.csv"])
    assert done.exit_code == 0, done.output
    assert len(ct.files.read_map("map-placed.csv")[0]) == 10
