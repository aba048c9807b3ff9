from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import adjusted_rand_score
from slow import slow_but
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.objects.comparison_tree import comparison_tree, cut

CENTRES = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])


@pytest.fixture(scope="module")
def blobs():
    truth = np.tile(range(3), 7)
    return truth, CENTRES[truth] + np.random.default_rng(0).normal(size=(21, 2))


def plain_tree(comparisons):
    """The formula of the paper in exact fractions, evaluated for all pairs of clusters at each merge."""
    clusters = [[one] for one in range(comparisons.n_objects)]
    numbers, merges, votes = list(range(comparisons.n_objects)), [], {}
    for row in comparisons.rows.tolist():
        i, j, k, l = (row[0], row[1], row[0], row[2]) if len(row) == 3 else row  # noqa: E741
        key = frozenset((i, j)), frozenset((k, l))
        votes[key] = votes.get(key, 0) + 1
        votes[key[::-1]] = votes.get(key[::-1], 0) - 1
    signs = {key: (vote > 0) - (vote < 0) for key, vote in votes.items()}
    while len(clusters) > 1:
        of = {one: number for number, members in enumerate(clusters) for one in members}
        scores = dict.fromkeys(combinations(range(len(clusters)), 2), Fraction(0))
        for (near, far), sign in signs.items():
            (p, q), (r, s) = (sorted(of[one] for one in pair) for pair in (near, far))
            if p != q and r != s:
                size = np.prod([len(clusters[number]) for number in (p, q, r, s)])
                scores[p, q] += Fraction(sign, int(size))
        p, q = max(scores, key=lambda pair: (scores[pair], -pair[0], -pair[1]))
        merges.append(sorted((numbers[p], numbers[q])))
        clusters[p] += clusters.pop(q)
        numbers[p] = comparisons.n_objects + len(merges) - 1
        numbers.pop(q)
    return merges


@pytest.mark.parametrize("quadruplets", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_efficient_merges_give_the_tree_of_the_formula(seed, quadruplets):
    points = np.random.default_rng(seed).normal(size=(9, 2))
    answers = ct.datasets.simulated(points, 150, noise="flip", level=0.2, quadruplets=quadruplets, seed=seed)
    assert comparison_tree(answers)[:, :2].astype(int).tolist() == plain_tree(answers)


def test_a_tree_is_one_that_scipy_understands(blobs):
    from scipy.cluster.hierarchy import is_valid_linkage

    for method in ("average", "comparisons"):
        assert is_valid_linkage(ct.cluster(ct.datasets.simulated(blobs[1], 500, seed=0), 3, method=method).tree)


def test_cuts_are_nested(blobs):
    tree = comparison_tree(ct.datasets.simulated(blobs[1], 500, seed=0))
    for number, (fine, coarse) in enumerate(pairwise(cut(tree, number) for number in range(21, 0, -1))):
        assert len(set(fine.tolist())) == 21 - number
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))


def test_similarities_add_up_as_their_formula():
    rows = ct.datasets.simulated(np.random.default_rng(0).normal(size=(6, 2)), 60, noise="flip", seed=0).rows
    weights = np.random.default_rng(1).uniform(size=len(rows))
    found = ct.objects.answer_similarities(ct.Comparisons.from_triplets(rows, weights=weights))
    for i, j in combinations(range(6), 2):
        expected = 0.0
        for (a, near, far), weight in zip(rows.tolist(), weights, strict=True):
            expected += weight * ({a, near} == {i, j}) - weight * ({a, far} == {i, j})
        assert found[i, j] == found[j, i] == pytest.approx(expected)


@pytest.mark.parametrize("method", ["average", pytest.param("spectral", marks=pytest.mark.slow), "comparisons"])
def test_separate_groups_are_found_and_so_is_their_number(blobs, method):
    truth, points = blobs
    found = ct.cluster(ct.datasets.simulated(points / 4, 3000, noise="ste", seed=0), method=method)
    assert adjusted_rand_score(truth, found.labels) == 1.0
    assert found.n_clusters == 3
    assert found.is_clear
    assert found.same_number == 1.0


CORNERS = 9.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 2.0], [2.0, 0.5]])


@pytest.mark.parametrize("number", slow_but(3, [2, 3, 4, 5, 6]))
def test_the_number_of_separate_groups_on_a_map_is_found(number):
    rng = np.random.default_rng(number)
    for _ in range(4):
        found = ct.cluster(at(CORNERS[np.arange(8 * number) % number] + rng.normal(size=(8 * number, 2))))
        assert found.n_clusters == number
        assert found.is_clear


def angles(rng, n):
    return rng.uniform(0, 2 * np.pi, n)


CONTINUA = {
    "uniform line": lambda rng, n: rng.uniform(size=(n, 1)),
    "normal cloud": lambda rng, n: rng.normal(size=(n, 2)),
    "uniform square": lambda rng, n: rng.uniform(size=(n, 2)),
    "normal cloud in 3-D": lambda rng, n: rng.normal(size=(n, 3)),
    "ring": lambda rng, n: (lambda a: np.c_[np.cos(a), np.sin(a)] + 0.07 * rng.normal(size=(n, 2)))(angles(rng, n)),
    "arc": lambda rng, n: (lambda t: np.c_[2 * t, 1.5 * t**2] + 0.05 * rng.normal(size=(n, 2)))(rng.uniform(-1, 1, n)),
}


@pytest.mark.parametrize("kind", slow_but("normal cloud", CONTINUA))
def test_a_map_without_gaps_has_no_clear_groups(kind):
    rng = np.random.default_rng(0)
    clear = [ct.cluster(at(CONTINUA[kind](rng, 30))).is_clear for _ in range(8)]
    assert sum(clear) <= 1


@pytest.mark.parametrize("method", ["average", "comparisons"])
def test_answers_about_a_cloud_have_no_clear_groups(method):
    points = np.random.default_rng(3).normal(size=(30, 2))
    found = ct.cluster(ct.datasets.simulated(points, 2000, noise="flip", level=0.2, seed=0), method=method)
    assert found.is_clear is False
    assert "not clearly separated" in repr(found)
    assert "describe the map as a whole" in found.advice


def test_a_single_outlier_is_no_group():
    points = np.r_[np.random.default_rng(0).normal(size=(20, 2)), [[40.0, 0.0]]]
    assert not ct.cluster(at(points)).is_clear


def test_a_number_of_groups_that_other_maps_do_not_show_is_uncertain(blobs):
    points = blobs[1]
    flat = points[:, :1] * [1.0, 0.0]  # two of the three groups fall together
    found = ct.cluster(at(points), maps=[points, flat, flat, flat])
    assert (found.n_clusters, found.is_clear, found.same_number) == (3, True, 0.25)
    assert "their number is uncertain: only 25 %" in repr(found)


def test_groups_on_a_map_come_with_how_often_objects_share_one(blobs):
    truth, points = blobs
    result = ct.embed(ct.datasets.simulated(points, 3000, seed=0), loss="ste", penalty=0, seed=0)
    rng = np.random.default_rng(0)
    maps = [points + 2.5 * rng.normal(size=points.shape) for _ in range(8)]
    for method in ("ward", "average", "spectral"):
        found = ct.cluster(result, 3, method=method, maps=maps)
        assert adjusted_rand_score(truth, found.labels) == 1.0
        same = truth[:, None] == truth
        assert found.co_membership[same].mean() > found.co_membership[~same].mean() + 0.3
        assert (np.diagonal(found.co_membership) == 1).all()


def test_the_largest_group_comes_first_and_has_the_first_colour():
    points = np.concatenate([np.zeros((2, 2)), np.full((5, 2), 9.0), np.full((3, 2), -9.0)])
    found = ct.cluster(at(points + 0.01 * np.arange(20).reshape(10, 2)), 3)
    assert found.labels.tolist() == [2, 2, 0, 0, 0, 0, 0, 1, 1, 1]
    lines = found.plot().axes[0].get_lines()
    assert [line.get_color() for line in lines].count(ct.plotting.palette.COLOURS[0]) == 4  # merges of five objects


def at(points):
    return ct.Result(np.asarray(points), ct.History(), stopped_by="", best_epoch=0)


def test_a_map_alone_shows_groups_but_not_how_certain_their_number_is(blobs):
    truth, points = blobs
    found = ct.cluster(at(points))
    assert adjusted_rand_score(truth, found.labels) == 1.0
    assert found.is_clear
    assert "it was not tested whether other answers would show the same number" in repr(found)
    assert sorted(found.silhouettes) == [*range(2, 9)]


@pytest.mark.parametrize("number", [2, 3])
def test_with_fewer_than_four_objects_there_is_one_group_and_nothing_is_clear(number):
    found = ct.cluster(at(np.arange(number)[:, np.newaxis].astype(float)))
    assert (found.n_clusters, found.is_clear) == (1, False)
    assert "too few objects" in repr(found)


def test_a_number_that_was_asked_for_is_not_judged(blobs):
    found = ct.cluster(at(blobs[1]), 5)
    assert found.is_clear is None
    assert "leave the number out" in found.advice


def test_an_object_that_changes_its_group_is_in_doubt(tmp_path):
    places = np.array([[0.0], [0.1], [0.2], [4.0], [4.1], [2.0]])
    maps = [np.r_[places[:5], [[x]]] for x in (0.4, 3.8, 3.9, 3.7)]
    found = ct.cluster(at(np.r_[places[:5], [[0.5]]]), 2, maps=maps)
    assert found.doubtful.tolist() == [5]
    assert found.certainty[5] == pytest.approx(0.25)
    found.to_csv(tmp_path / "groups.csv")
    assert (tmp_path / "groups.csv").read_text().splitlines()[::6] == ["name,group,certainty", "5,1,0.250"]


def test_the_certainty_of_a_single_object_is_how_often_it_is_apart():
    maps = [[[0.0], [0.1], [9.0]], [[0.0], [5.0], [5.1]]]
    found = ct.cluster(at(maps[0]), 2, maps=maps)
    assert found.certainty.tolist() == [0.5, 0.5, 0.5]


def test_the_tree_is_drawn_with_names_and_groups_in_colours(blobs):
    names = [f"o{number}" for number in range(21)]
    found = ct.cluster(ct.datasets.simulated(blobs[1], 3000, names=names, seed=0), 3)
    figure = found.plot()
    assert sorted(text.get_text() for text in figure.axes[0].get_yticklabels()) == sorted(names)
    assert len({line.get_color() for line in figure.axes[0].get_lines()}) == 4  # three groups, and what is above


def test_pictures_stand_beside_their_leaves(blobs):
    from matplotlib.offsetbox import AnnotationBbox

    names = [f"o{number}" for number in range(21)]
    found = ct.cluster(ct.datasets.simulated(blobs[1], 3000, names=names, seed=0), 3)
    figure = found.plot(thumbnails={"o3": np.zeros((8, 8, 3)), "o5": np.ones((4, 8))})
    boxes = [artist for artist in figure.axes[0].artists if isinstance(artist, AnnotationBbox)]
    labels = dict(
        zip((text.get_text() for text in figure.axes[0].get_yticklabels()), figure.axes[0].get_yticks(), strict=True)
    )
    assert sorted(box.xy[1] for box in boxes) == sorted([labels["o3"], labels["o5"]])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda answers, _: ct.cluster(answers, 2, method="median"), "method is 'median'; it can be average"),
        (lambda answers, _: ct.cluster(answers, 99), "n_clusters is 99; it can be at most 6"),
        (lambda answers, _: ct.cluster(answers, 0), "n_clusters is 0"),
        (
            lambda answers, _: ct.cluster(answers, 2, maps=[]),
            "but the first argument holds answers",
        ),
        (lambda answers, _: ct.cluster(answers, 2, method="ward"), "which needs a map"),
        (lambda _, result: ct.cluster(result, 2, method="comparisons"), "which is for answers"),
        (lambda *_: ct.cluster(at([[0.0, 1.0]])), "the map has one object"),
        (lambda answers, _: ct.cluster(answers, most=1), "most is 1"),
        (lambda _, result: ct.cluster(result, 2, maps=[]), "there are no maps"),
        (lambda _, result: ct.cluster(result, 2, maps=[[[0.0, 1.0]]]), "has 1 objects, the fit 6"),
        (lambda answers, _: ct.cluster(answers, 2, method="spectral").plot(), "makes no tree"),
        (lambda *_: ct.plotting.dendrogram_figure([[0.0, 1.0]]), "the tree has shape"),
    ],
)
def test_bad_input_is_an_error_that_says_why(act, message):
    answers = ct.datasets.simulated(np.random.default_rng(0).normal(size=(6, 2)), 200, seed=0)
    with pytest.raises(ValueError, match=message):
        act(answers, ct.embed(answers, loss="ste", penalty=0, seed=0, epochs=2))


def test_the_command_writes_groups_and_a_tree(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"o{number}" for number in range(21)]
    ct.files.write_comparisons(ct.datasets.simulated(blobs[1], 6000, names=names, seed=0), "answers.csv")
    done = CliRunner().invoke(app, ["cluster", "answers.csv"])
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "answers-groups.csv").read_text().splitlines()
    assert lines[0] == "name,group"
    assert dict(line.split(",") for line in lines[1:])["o0"] == "1"
    assert len({line.split(",")[1] for line in lines[1:]}) == 3
    assert (tmp_path / "answers-groups.png").stat().st_size > 1000
    assert "3 groups, clearly separated" in " ".join(done.stdout.split())
    again = CliRunner().invoke(app, ["cluster", "answers.csv"])
    assert again.exit_code == 2
    assert "pass --force" in again.stderr


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_command_draws_the_tree_in_the_format_that_is_asked_for(blobs, tmp_path, ending, start):
    ct.files.write_map(blobs[1], None, tmp_path / "map.csv")
    words = ["cluster", str(tmp_path / "map.csv"), "--out", str(tmp_path / "groups.csv"), "--format", ending]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"groups.{ending}").read_bytes().startswith(start)
    assert not (tmp_path / "groups.png").exists()


def test_the_command_finds_groups_on_the_map_of_a_fit(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"o{number}" for number in range(21)]
    answers = ct.datasets.simulated(blobs[1], 3000, names=names, seed=0)
    (tmp_path / "fitted").mkdir()
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "pictures" / "o3.png")
    found = ct.replicate(answers, n_replicates=10, loss="ste", penalty=0, seed=0, epochs=3)
    found.result.save("fitted/result.npz")
    found.save("fitted/replicates.npz")
    done = CliRunner().invoke(app, ["cluster", "fitted", "--groups", "3", "--thumbnails", "pictures"])
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "fitted-groups.csv").read_text().splitlines()[1:]
    assert adjusted_rand_score(blobs[0], [int(line.split(",")[1]) for line in lines]) == 1.0
    assert (tmp_path / "fitted-groups.png").exists()
    assert "of 10 replicates" in " ".join(done.stdout.split())


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_the_command_finds_groups_on_a_map_file_and_says_what_is_unknown(blobs, tmp_path, ending):
    ct.files.write_map(blobs[1], None, tmp_path / f"map.{ending}")
    words = ["cluster", str(tmp_path / f"map.{ending}"), "--out", str(tmp_path / "groups.csv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "it was not tested whether other answers would show the same number" in " ".join(done.stdout.split())
    assert len((tmp_path / "groups.csv").read_text().splitlines()) == 22
    asked = CliRunner().invoke(app, [*words, "--groups", "2", "--force"])
    assert "2 groups, the number that was requested" in asked.stdout


def test_a_fit_writes_groups_into_its_folder_and_its_report(blobs, tmp_path):
    ct.files.write_comparisons(ct.datasets.simulated(blobs[1], 1500, seed=0), tmp_path / "answers.csv")
    words = [
        "fit",
        str(tmp_path / "answers.csv"),
        "--loss",
        "ste",
        "--penalty",
        "0",
        "--held-out",
        "0",
        "--out",
        str(tmp_path / "map"),
    ]
    done = CliRunner().invoke(app, [*words, "--penalty", "0", "--groups", "auto"])
    assert done.exit_code == 0, done.output
    assert "clearly separated" in done.stdout
    assert "--groups auto" in (tmp_path / "map" / "settings.json").read_text()  # what makes the same folder again
    lines = (tmp_path / "map" / "groups.csv").read_text().splitlines()[1:]
    assert adjusted_rand_score(blobs[0], [int(line.split(",")[1]) for line in lines]) == 1.0
    assert (tmp_path / "map" / "groups.png").exists()
    assert "They are clearly separated" in (tmp_path / "map" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [("many", "it must be a whole number of at least 2, or auto"), ("1", "at least 2"), ("99", "21 objects")],
)
def test_a_number_of_groups_that_cannot_be_is_refused_before_the_fit(blobs, tmp_path, given, message):
    ct.files.write_comparisons(ct.datasets.simulated(blobs[1], 300, seed=0), tmp_path / "answers.csv")
    words = ["fit", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "map"), "--groups", given]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_command_speaks_of_its_options_and_not_of_arguments(blobs, tmp_path):
    ct.files.write_comparisons(ct.datasets.simulated(blobs[1], 300, seed=0), tmp_path / "answers.csv")
    for words, message in (
        (["--groups", "99"], "--groups is 99; it can be at most 21"),
        (["--method", "median"], "--method is 'median'; it can be average"),
    ):
        done = CliRunner().invoke(app, ["cluster", str(tmp_path / "answers.csv"), *words])
        assert done.exit_code == 2
        assert message in done.stderr
