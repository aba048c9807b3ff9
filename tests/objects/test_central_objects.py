from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.objects.central_objects import MEASURES

rng = np.random.default_rng(0)
CLOUD = rng.normal(size=(30, 2))


def most_central(points, n_questions, seed):
    """Answers to "which of these three is the most central?": the one opposite the longest side."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(n_questions):
        shown = draw.choice(len(points), 3, replace=False)
        sides = [np.sum((points[a] - points[b]) ** 2) for a, b in ((shown[1], shown[2]), shown[::2], shown[:2])]
        centre = int(np.argmax(sides))
        a, b = np.delete(shown, centre)
        rows += [(a, shown[centre], b), (b, shown[centre], a)]
    return ct.Comparisons.from_triplets(rows, n_objects=len(points), answers=np.arange(len(rows)) // 2)


def all_triplets(points):
    """Every comparison of the points, once, as people who never err give it."""
    apart = ((points[:, None] - points) ** 2).sum(axis=-1)
    return ct.Comparisons.from_triplets(
        [
            (i, *((j, k) if apart[i, j] < apart[i, k] else (k, j)))
            for i in range(len(points))
            for j, k in combinations([one for one in range(len(points)) if one != i], 2)
        ]
    )


def true_depths(points):
    """The share of pairs in whose lens a point lies, pair by pair."""
    apart = ((points[:, None] - points) ** 2).sum(axis=-1)
    inside = np.zeros(len(points))
    for a, b in combinations(range(len(points)), 2):
        inside += np.maximum(apart[a], apart[b]) < apart[a, b]
    return inside / ((len(points) - 1) * (len(points) - 2) / 2)


def test_lens_depth_of_all_comparisons_is_that_of_the_points():
    points = CLOUD[:12]
    found = ct.centrality(all_triplets(points), "lens depth")
    np.testing.assert_allclose(found.scores, true_depths(points))
    assert (found.counts == 11 * 10 / 2).all()


def test_lens_depth_of_most_central_answers_is_that_of_the_points_up_to_chance():
    found = ct.centrality(most_central(CLOUD, 3000, seed=1))
    assert found.measure == "lens depth"
    off = (found.scores - true_depths(CLOUD)) / found.standard_errors
    assert np.abs(off).max() < 4
    assert 0.5 < off.std() < 1.5


def test_each_answer_counts_not_only_the_majority():
    rows = [(0, 2, 1), (1, 2, 0)] * 2 + [(0, 1, 2), (2, 1, 0)]
    found = ct.centrality(ct.Comparisons.from_triplets(rows, answers=[0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(found.scores, [0, 1 / 3, 2 / 3])
    assert found.counts.tolist() == [3, 3, 3]
    by_majority = ct.centrality(ct.Comparisons.from_triplets(rows), "lens depth")
    np.testing.assert_allclose(by_majority.scores, [0, 0, 1])


def test_weights_count():
    rows = [(0, 2, 1), (1, 2, 0), (0, 1, 2), (2, 1, 0)]
    answers = ct.Comparisons.from_triplets(rows, answers=[0, 0, 1, 1], weights=[3, 3, 1, 1])
    np.testing.assert_allclose(ct.centrality(answers).scores, [0, 0.25, 0.75])
    np.testing.assert_allclose(ct.centrality(answers, "nearness").scores, [-1, (2 - 3) / 5, (6 - 1) / 7])


def test_nearness_is_central_less_odd_of_three():
    points = CLOUD[:12]
    apart = ((points[:, None] - points) ** 2).sum(axis=-1)
    expected = np.zeros(12)
    for three in combinations(range(12), 3):
        opposite = [apart[three[1], three[2]], apart[three[0], three[2]], apart[three[0], three[1]]]
        expected[three[int(np.argmax(opposite))]] += 1
        expected[three[int(np.argmin(opposite))]] -= 1
    found = ct.centrality(all_triplets(points))
    assert found.measure == "nearness"
    np.testing.assert_allclose(found.scores, expected / (11 * 10 / 2))


def test_nearness_of_quadruplets_counts_the_objects_of_both_pairs():
    found = ct.centrality(ct.Comparisons.from_quadruplets([[0, 1, 2, 3], [0, 1, 0, 2]]))
    np.testing.assert_allclose(found.scores, [1, 1, -1, -1])
    assert found.counts.tolist() == [1, 2, 2, 1]


@pytest.mark.parametrize("measure", MEASURES)
def test_the_medoid_of_a_cloud_is_found(measure):
    total = np.sqrt(((CLOUD[:, None] - CLOUD) ** 2).sum(axis=-1)).sum(axis=1)
    answers = (
        most_central(CLOUD, 3000, seed=2) if measure == "lens depth" else ct.datasets.simulated(CLOUD, 6000, seed=2)
    )
    found = ct.centrality(answers, measure)
    assert total[found.medoid] < 1.03 * total.min()
    assert int(total.argmin()) in [found.medoid, *found.rivals]
    assert len(found.rivals) < 10


def test_an_object_with_one_comparison_is_no_outlier():
    rows = ct.datasets.simulated(CLOUD, 6000, noise="distance", level=0.1, seed=0).rows
    n_objects = len(CLOUD) + 1
    answers = ct.Comparisons.from_triplets([*rows.tolist(), [0, 1, n_objects - 1]], n_objects=n_objects)
    found = ct.centrality(answers)
    assert found.ranking[-1] == n_objects - 1
    assert not len(found.outliers)


def test_planted_outliers_are_found_and_a_cloud_has_none():
    points = CLOUD.copy()
    points[[4, 17]] = [[7.0, 0.0], [-5.0, 5.0]]
    answers = ct.datasets.simulated(points, 6000, noise="distance", level=0.1, seed=0)
    found = ct.centrality(answers)
    assert sorted(found.outliers.tolist()) == [4, 17]
    assert sorted(found.ranking[-2:].tolist()) == [4, 17]
    assert not len(ct.centrality(ct.datasets.simulated(CLOUD, 6000, noise="distance", level=0.1, seed=0)).outliers)
    by_depth = ct.centrality(most_central(points, 3000, seed=3))
    assert by_depth.outliers is None
    assert {4, 17} <= set(by_depth.ranking[-4:].tolist())


def test_an_object_without_answers_has_no_rank():
    with pytest.warns(UserWarning, match="not mentioned|no comparison"):
        answers = ct.Comparisons.of([[0, 1, 2], [1, 0, 2]], n_objects=4)
    found = ct.centrality(answers)
    assert np.isnan(found.scores[3])
    assert 3 not in found.ranking


@pytest.mark.parametrize(
    ("rows", "measure", "message"),
    [
        ([[0, 1, 2]], "depth", "measure is 'depth'; it can be lens depth or nearness"),
        ([[0, 1, 2, 3]], "lens depth", "needs triplets"),
        ([[0, 1, 2]], "lens depth", "no answers say which of three objects"),
    ],
)
def test_bad_input_is_an_error(rows, measure, message):
    with pytest.raises(ValueError, match=message):
        ct.centrality(rows, measure)


def test_the_command_writes_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"o{number}" for number in range(30)]
    points = CLOUD.copy()
    points[4] = 9.0
    ct.files.write_comparisons(ct.datasets.simulated(points, 4000, names=names, seed=0), "answers.csv")
    done = CliRunner().invoke(app, ["central", "answers.csv"])
    assert done.exit_code == 0, done.output
    lines = Path("answers-central.csv").read_text().splitlines()
    assert lines[0] == "name,nearness,standard_error,comparisons"
    assert len(lines) == 31
    assert lines[-1].startswith("o4,-")
    assert "outlier" in done.stdout
    assert "o4" in done.stdout
    again = CliRunner().invoke(app, ["central", "answers.csv"])
    assert again.exit_code == 2
    assert "pass --force" in again.stderr


def test_the_command_names_its_measures_as_they_are_typed(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\nant,bee,cat\n")
    done = CliRunner().invoke(app, ["central", str(tmp_path / "a.csv"), "--measure", "depth"])
    assert done.exit_code == 2
    assert "--measure is 'depth'; it can be lens-depth or nearness" in done.stderr


@pytest.mark.parametrize(("measure", "extreme"), [("lens depth", 1.0), ("nearness", 1.0), ("nearness", -1.0)])
def test_an_object_that_always_wins_or_loses_is_not_known_for_certain(measure, extreme):
    rows = [(0, 2, 1), (1, 2, 0)] * 4
    found = ct.centrality(ct.Comparisons.from_triplets(rows, answers=np.arange(8) // 2), measure)
    number = int(np.flatnonzero(found.scores == extreme)[0])
    errors = found.standard_errors[number]
    assert 0.1 < errors < 0.6
    more = ct.centrality(ct.Comparisons.from_triplets(rows * 10, answers=np.arange(80) // 2), measure)
    assert 0 < more.standard_errors[number] < errors / 3
