import signal
from dataclasses import replace

import numpy as np
import pytest
from conftest import InterruptedPolyak
from scipy.optimize import approx_fprime
from slow import slow_but
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.cli.group import INTERRUPTED
from closerthan.objects import views as views_module
from closerthan.objects.mixture import Mixture

N_OBJECTS = 15


@pytest.fixture(scope="module")
def two_views():
    """Answers about colour, then the same number about shape, and a mask of those that distinguish the two."""
    rng = np.random.default_rng(0)
    colour, shape = 4 * rng.normal(size=(2, N_OBJECTS, 1))
    parts = [ct.datasets.simulated(points, 500, seed=seed) for seed, points in enumerate((colour, shape))]
    answers = ct.Comparisons.from_triplets(np.concatenate([part.rows for part in parts]))
    telling = (ct.metrics.margins(answers, colour) > 0) != (ct.metrics.margins(answers, shape) > 0)
    return answers, np.repeat([0, 1], 500), telling


@pytest.fixture(scope="module")
def found(two_views):
    return ct.embed_views(two_views[0], 2, n_dims=1, n_starts=3)


def test_answers_find_their_view(two_views, found):
    _, truth, telling = two_views
    right = (found.view == truth)[telling].mean()
    assert max(right, 1 - right) > 0.9
    assert found.maps.shape == (2, N_OBJECTS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", slow_but(0, [0, 3]))  # on these, expectation maximisation alone got stuck
def test_answers_find_their_view_where_random_maps_have_nothing_in_common(seed):
    maps = np.random.default_rng(seed).normal(size=(2, 20, 2))
    parts = [ct.datasets.simulated(points, 3000, seed=number) for number, points in enumerate(maps)]
    answers = ct.Comparisons.from_triplets(np.concatenate([part.rows for part in parts]))
    telling = np.logical_xor(*[ct.metrics.margins(answers, points) > 0 for points in maps])
    right = (ct.embed_views(answers, 2).view == np.repeat([0, 1], 3000))[telling].mean()
    assert max(right, 1 - right) > 0.98


def test_flipped_answers_are_guesses():
    points = np.random.default_rng(0).normal(size=(N_OBJECTS, 2))
    answers = ct.datasets.simulated(points, 3000, noise="flip", level=0.1, seed=0)
    assert ct.embed_views(answers, 1, n_starts=4).guesses == pytest.approx(0.2, abs=0.04)  # half of them are right


def test_the_gradient_of_the_likelihood_is_that_of_finite_differences(two_views):
    rng = np.random.default_rng(0)
    number = np.repeat(np.arange(50), 2)
    rows = two_views[0].rows[:100]
    model = Mixture.of(ct.Comparisons.from_triplets(rows, answers=number, weights=rng.random(50)[number]))
    shares, maps = np.array([0.5, 0.3, 0.2]), rng.normal(size=(model.comparisons.n_objects, 2, 2))
    evaluate, at = model.objective(2, 2), np.append(np.log(shares), maps)
    value, gradient = evaluate(at)
    of_answers = model.log_likelihoods(np.moveaxis(maps, 1, 0), shares)
    assert value == pytest.approx(-np.average(of_answers, weights=model.weights))
    np.testing.assert_allclose(gradient, approx_fprime(at, lambda flat: evaluate(flat)[0]), atol=1e-6)


def test_responsibilities_and_shares_are_probabilities(found):
    np.testing.assert_allclose(found.responsibilities.sum(axis=1), 1.0)
    assert found.shares.sum() == pytest.approx(1.0)
    assert (np.diff(found.shares) <= 0).all()


def test_distinguishing_answers_are_right_on_their_own_map_alone(two_views, found):
    answers, truth, _ = two_views
    for view, rows in enumerate(found.distinguishing(answers, 10)):
        assert len(rows) == 10
        assert (found.view[rows] == view).all()
        part = answers.take(rows)
        assert ct.triplet_error(part, found.maps[view]) == 0
        assert ct.triplet_error(part, found.maps[1 - view]) == 1
        assert len({tuple(sorted(row)) for row in part.rows.tolist()}) == 10
        assert len(set(truth[rows])) == 1


def test_distinguishing_answers_are_not_all_about_one_object_that_is_far_off():
    line = np.arange(12.0)[:, None]
    rows = ct.datasets.simulated(line, 2000, seed=0).rows
    other = np.random.default_rng(0).permutation(line)
    other[0] = 1e3
    found = ct.objects.Views(np.stack([line, other]), np.array([0.5, 0.5]), np.full((2000, 2), 0.5), 0.0)
    assert (rows[found.distinguishing(rows, 6)[0]] == 0).sum() == 2
    other[1:] = line[1:]
    found = replace(found, maps=np.stack([line, other]))
    assert (rows[found.distinguishing(rows, 6)[0]] == 0).sum() == 6  # nothing else tells the two apart


def test_views_are_drawn_side_by_side(found):
    figure = found.plot()
    assert [ax.get_title(loc="left") for ax in figure.axes] == found.titles
    assert found.titles[0].startswith("view 1: ")
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax._left_title.get_window_extent().y1 <= figure.bbox.y1


def test_the_command_writes_maps_and_a_page(two_views, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = tuple(f"<o{number}>" for number in range(N_OBJECTS))
    named = ct.Comparisons.from_triplets(two_views[0].rows, names=names)
    ct.files.write_comparisons(named, "answers.csv")
    done = CliRunner().invoke(app, ["views", "answers.csv", "--views", "2", "--dims", "1", "--starts", "3"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "answers-views.html").read_text()
    assert "What distinguishes the views" in page
    assert "&lt;o1" in page
    assert "<o1" not in page
    assert page.count("<li>") == 16
    assert page.count("<img ") == 2
    assert "interpret them one by one" in page
    assert "is closer to" in done.stdout
    for number in (1, 2):
        embedding, _ = ct.files.read_map(tmp_path / f"answers-views-{number}.csv")
        assert embedding.shape == (N_OBJECTS, 1)
    assert CliRunner().invoke(app, ["views", "answers.csv"]).exit_code == 2


def test_two_maps_are_likelier_than_one(two_views, found):
    assert found.log_likelihood > ct.embed_views(two_views[0], 1, n_dims=1).log_likelihood + 0.05


def test_comparisons_of_one_answer_are_of_one_view(two_views):
    rows = two_views[0].rows
    answers = ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(len(rows) // 2), 2))
    held = ct.embed_views(answers, 2, n_dims=1, n_starts=1).responsibilities
    np.testing.assert_array_equal(held[::2], held[1::2])


def test_one_map_is_enough_for_noisy_answers_of_several_comparisons():
    rng = np.random.default_rng(0)
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[np.arange(12) % 3] + 0.4 * rng.normal(size=(12, 2))
    items = np.array([rng.permutation(12)[:4] for _ in range(300)])
    apart = np.linalg.norm(points[items][:, :, None] - points[items][:, None], axis=3).sum(axis=2)
    odd = items[np.arange(300), np.argmax(apart + 0.8 * rng.normal(size=(300, 4)), axis=1)]
    rows = [[one, other, o] for shown, o in zip(items.tolist(), odd.tolist(), strict=True)
            for one in shown for other in shown if len({one, other, o}) == 3]  # fmt: skip
    answers = ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(300), 6))
    assert ct.embed_views(answers, n_dims=2, most=2, n_starts=4).n_views == 1


def test_a_guess_of_the_odd_one_has_the_probability_of_chance():
    three = [[0, 1, 2], [1, 0, 2]]
    four = [[one, other, 3] for one in range(3) for other in range(3) if one != other]
    model = Mixture.of(ct.Comparisons.from_triplets([*three, *four], answers=[0] * 2 + [1] * 6))
    np.testing.assert_allclose(np.exp(model.log_guess), [1 / 3, 1 / 4])


def test_the_same_seed_gives_the_same_bits(two_views):
    one, other = (ct.embed_views(two_views[0], 2, n_dims=1, n_starts=1, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.maps, other.maps)


@pytest.mark.parametrize("seed", slow_but(0, range(3)))
def test_of_answers_of_one_view_one_view_is_chosen(seed):
    points = 3 * np.random.default_rng(seed).normal(size=(N_OBJECTS, 1))
    views = ct.embed_views(ct.datasets.simulated(points, 800, noise="ste", seed=seed), n_dims=1, n_starts=2, most=2)
    assert views.n_views == 1
    assert sorted(views.held_out) == [1, 2]


def test_a_gain_of_another_view_must_be_larger_than_chance():
    """A tenth of a standard deviation is a standard error of 100 answers and ten of 10,000."""
    rng = np.random.default_rng(0)
    for number, is_clear in ((100, False), (10_000, True)):
        gain = rng.permutation(np.linspace(-1, 1, number)) + 0.1 * np.sqrt(1 / 3)
        assert views_module.is_better(gain, np.zeros(number)) == is_clear


@pytest.mark.parametrize("noise", ["none", "flip"])  # maps too sure of themselves; answers that no map explains
def test_neither_overconfident_maps_nor_guesses_make_a_second_view(noise):
    points = 3 * np.random.default_rng(0).normal(size=(N_OBJECTS, 2))
    views = ct.embed_views(ct.datasets.simulated(points, 2000, noise=noise, seed=0), n_starts=4, most=2)
    assert views.n_views == 1


@pytest.mark.slow
def test_of_answers_of_two_views_two_are_chosen(two_views):
    assert ct.embed_views(two_views[0], n_dims=1, n_starts=3).n_views == 2


@pytest.mark.parametrize("wrong", [{"n_views": 0}, {"n_dims": 0}, {"n_starts": 0}, {"most": 0}])
def test_numbers_must_make_sense(two_views, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is 0"):
        ct.embed_views(two_views[0], **wrong)


def test_a_missing_dimension_is_no_second_view():
    points = 1.2 * np.random.default_rng(1).normal(size=(N_OBJECTS, 2))
    answers = ct.datasets.simulated(points, 2500, noise="ste", seed=1)
    views = ct.embed_views(answers, n_dims=1, n_starts=4, most=2)
    assert views.n_views == 1
    assert views.held_out[2] > views.held_out[1] + 0.02  # two maps do predict better than one
    assert views.rival == (1, 2)
    assert "not clearly better than one map of 2 dimensions: a missing dimension may explain" in views.advice
    assert "Fit one map" not in views.advice  # two dimensions need not be better than one


def interrupting_embed(monkeypatch, after):
    """Press Ctrl-C in the middle of a search for views, after a number of fits of single maps."""
    calls, embed = [], views_module.embed

    def sometimes(*args, **settings):
        calls.append(1)
        if len(calls) == after + 1:
            signal.raise_signal(signal.SIGINT)
        return embed(*args, **settings)

    monkeypatch.setattr(views_module, "embed", sometimes)


def test_ctrl_c_keeps_the_best_maps_so_far(two_views, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(two_views[0], "answers.csv")
    interrupting_embed(monkeypatch, after=30)
    done = CliRunner().invoke(app, ["views", "answers.csv", "--dims", "1", "--starts", "2"])
    assert done.exit_code == INTERRUPTED, done.output
    assert "the best maps so far" in done.stderr
    assert (tmp_path / "answers-views.html").exists()
    assert ct.files.read_map(tmp_path / "answers-views-1.csv")[0].shape == (N_OBJECTS, 1)


def test_ctrl_c_in_the_fit_of_a_given_number_of_views_keeps_its_maps(two_views):
    views = ct.embed_views(two_views[0], 2, n_dims=1, n_starts=2, solver=InterruptedPolyak(after=3))
    assert (views.n_views, views.stopped_by) == (2, "interrupted")
    np.testing.assert_allclose(views.responsibilities.sum(axis=1), 1.0)


def test_ctrl_c_before_there_is_a_map_is_raised(two_views):
    with pytest.raises(KeyboardInterrupt):
        ct.embed_views(two_views[0], n_dims=1, n_starts=2, solver=InterruptedPolyak(after=0))


def test_the_weight_of_an_answer_is_the_mean_of_its_comparisons():
    rows = [[0, 1, 2], [0, 1, 3], [1, 2, 3], [2, 3, 0]]
    model = Mixture.of(ct.Comparisons.from_triplets(rows, answers=[0, 0, 0, 1], weights=[2.0, 2.0, 2.0, 2.0]))
    assert model.weights.tolist() == [2.0, 2.0]  # an answer counts the same, whatever its number of comparisons
