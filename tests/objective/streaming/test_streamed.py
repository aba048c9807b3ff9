"""Objectives of comparisons that are read in blocks, on the CPU."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from conftest import in_files, random_comparisons, visits_of

import closerthan as ct
from closerthan import Comparisons
from closerthan.comparisons.on_disk import FileRows
from closerthan.fit.loss_race import LOSS_GRID
from closerthan.losses import LOSSES, STE, Penalized
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.streaming.blocks import Blocks, HostReader, Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.objective.streaming.shuffling import is_sorted, shuffled
from closerthan.objective.visits import Leg, ShuffledPass, UniformDraws, Visits
from closerthan.solvers import SOLVERS, Polyak

IN_BLOCKS = CPU(n_threads=1, stream_from=1, block_bytes=4 * 3 * 50)  # 50 triplets


def on_a_file(rows, folder):
    np.save(folder / "a.npy", rows)
    return np.load(folder / "a.npy", mmap_mode="r")


@pytest.fixture
def problem():
    return ct.datasets.synthetic(20, 2, 2000, 2000, seed=1)


# ---- the order of visits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100, 200])
def test_a_pass_in_pieces_visits_each_row_once(size, rng):
    blocks, whole = Blocks(100, size), ShuffledPass.draw(rng, 100)
    visited = []
    for first in range(0, 100, 13):
        piece = Visits((replace(whole, first=first, size=min(13, 100 - first)),))
        visited += [blocks.size * block + visits.indices() for block, visits, _ in blocks.by_block(piece)]
    assert np.array_equal(np.sort(np.concatenate(visited)), np.arange(100))


def test_the_next_block_is_announced(rng):
    blocks = Blocks(100, 9)
    visits = list(blocks.by_block(Visits((ShuffledPass.draw(rng, 100),))))
    order = [each.block for each in visits]
    assert [each.next_block for each in visits] == [*order[1:], None]
    assert sorted(order) == list(range(12))


def test_an_order_within_blocks_is_sent_to_a_device_once_for_all_of_a_size(rng):
    by_block = Blocks(100, 9).by_block(Visits((ShuffledPass.draw(rng, 100),)))
    assert len({id(visits.pieces[0].runs) for _, visits, _ in by_block}) == 2  # the last block is smaller


def test_blocks_come_in_another_order_in_the_next_pass(rng):
    orders = [
        [block for block, _, _ in Blocks(100, 5).by_block(Visits((ShuffledPass.draw(rng, 100),)))] for _ in range(2)
    ]
    assert orders[0] != orders[1]


def test_uniform_draws_take_from_each_block_by_its_size():
    by_block = Blocks(100, 30).by_block(Visits((UniformDraws(1, 100, 0, 100),)))
    assert sorted(len(visits) for _, visits, _ in by_block) == [10, 30, 30, 30]


# ---- values, gradients and fits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [STE(), Penalized(STE(), 0.1)])
def test_values_and_gradients_are_those_of_rows_in_memory(kind, loss, rng, tmp_path):
    answers = random_comparisons(kind, rng, n_rows=470)
    held_out = random_comparisons(kind, rng, n_rows=50)
    x = rng.standard_normal((12, 3))
    mapped = Comparisons(on_a_file(answers.rows, tmp_path), 12)
    with IN_BLOCKS.objective(mapped, loss, held_out) as blocks, CPU().objective(answers, loss, held_out) as memory:
        assert isinstance(blocks, StreamedObjective)
        assert blocks.n_terms == 470
        assert blocks.penalized == memory.penalized == isinstance(loss, Penalized)
        for name in ("at", "value"):
            actual, expected = getattr(blocks, name)(x), getattr(memory, name)(x)
            assert (actual.value, actual.error) == pytest.approx((expected.value, expected.error), rel=1e-12)
        np.testing.assert_allclose(blocks.at(x).gradient, memory.at(x).gradient, rtol=1e-9, atol=1e-15)
        assert blocks.held_out_error(x) == memory.held_out_error(x)
        scales = np.array([0.5, 1.0, 2.0])
        assert blocks.scaled_losses(x, scales) == pytest.approx(memory.scaled_losses(x, scales))
        actual, expected = blocks.at_gram(x @ x.T), memory.at_gram(x @ x.T)
        assert actual[0] == pytest.approx(expected[0])
        np.testing.assert_allclose(actual[1], expected[1], rtol=1e-9, atol=1e-15)


def uneven(answers, rng):
    """Return the answers with weights of which some are 0, including those of a whole block."""
    weights = rng.integers(4, size=len(answers)).astype(float)
    weights[100:150] = 0.0
    return answers.weighted(weights)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_weights_come_with_their_rows(kind, where, rng, tmp_path):
    answers = uneven(random_comparisons(kind, rng, n_rows=470), rng)
    mapped = Comparisons(on_a_file(answers.rows, tmp_path), 12, weights=answers.weights)
    stored = mapped if where == "memory" else in_files(answers)
    x, loss = rng.standard_normal((12, 3)), LOSSES["ste"]()
    with IN_BLOCKS.objective(stored, loss) as blocks, CPU().objective(answers, loss) as memory:
        assert isinstance(blocks, StreamedObjective)
        assert blocks.weighted
        for name in ("at", "value"):
            actual, expected = getattr(blocks, name)(x), getattr(memory, name)(x)
            assert (actual.value, actual.error) == pytest.approx((expected.value, expected.error), rel=1e-12)
        np.testing.assert_allclose(blocks.at(x).gradient, memory.at(x).gradient, rtol=1e-9, atol=1e-15)
        scales = np.array([0.5, 1.0, 2.0])
        assert blocks.scaled_losses(x, scales) == pytest.approx(memory.scaled_losses(x, scales))
        assert blocks.at_gram(x @ x.T)[0] == pytest.approx(memory.at_gram(x @ x.T)[0])


@pytest.mark.parametrize(
    "draw", [lambda rng: ShuffledPass.draw(rng, 470), lambda rng: UniformDraws(int(rng.integers(9999)), 470, 0, 470)]
)
def test_rows_are_visited_by_their_weights(draw, rng):
    answers = uneven(random_comparisons("triplets", rng, n_rows=470), rng)
    visited = np.zeros(470)
    with IN_BLOCKS.objective(in_files(answers), LOSSES["ste"]()) as objective:
        for seed in range(300):
            for block, visits, next_block in objective.blocks.by_block(Visits((draw(rng),), seed)):
                objective.use_block(block, next_block)
                first, last = objective.blocks.bounds(block)
                visited[first:last] += np.bincount(objective.inner.expand(visits), minlength=last - first)
    assert visited.sum() == 300 * 470
    assert not visited[answers.weights == 0].any()
    expected = 300 * 470 * answers.weights / answers.weights.sum()
    assert np.abs(visited - expected).max() < 6 * np.sqrt(expected.max())


def test_held_out_rows_have_no_weight(rng):
    answers = uneven(random_comparisons("triplets", rng, n_rows=470), rng)
    train, held_out = in_files(answers).split(0.2, rng)
    x, loss = rng.standard_normal((12, 3)), LOSSES["ste"]()
    rest = answers.take(np.delete(np.arange(470), train.skipped))
    assert held_out.total_weight + rest.total_weight == answers.total_weight
    with IN_BLOCKS.objective(train, loss) as blocks, CPU().objective(rest, loss) as memory:
        assert blocks.value(x).value == pytest.approx(memory.value(x).value, rel=1e-12)


def test_a_fit_is_as_good_as_that_of_weighted_rows_in_memory_also_where_they_are_sorted():
    data = ct.datasets.synthetic(200, 2, 40_000, 20_000, flipped=0.1, seed=1)
    rng = np.random.default_rng(0)
    right = np.linspace(0, 1, 40_000) < 0.5  # the first half is right, the second at random and of little weight
    order = np.argsort(data.train.rows[:, 0] % 40 + 40 * ~right, kind="stable")
    rows = data.train.rows[order].copy()
    flipped = ~right & (rng.random(40_000) < 0.5)
    rows[flipped] = rows[flipped][:, [0, 2, 1]]
    answers = Comparisons(rows, 200, weights=np.where(right, 1.0, 0.01))
    options = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "epochs": 6, "tolerance": None}
    device = CPU(stream_from=1, block_bytes=12 * 2000)
    with pytest.warns(UserWarning, match="sorted by objects"):
        in_blocks = ct.embed(in_files(answers), device=device, **options)
    errors = [ct.triplet_error(data.test, fit.embedding) for fit in (ct.embed(answers, **options), in_blocks)]
    assert errors[1] == pytest.approx(errors[0], abs=0.005)
    assert in_blocks.best_record.objective == pytest.approx(
        ct.embed(answers, **options).best_record.objective, rel=0.05
    )


def test_a_walk_is_the_walk_along_the_same_rows_in_memory(rng, tmp_path):
    answers = random_comparisons("triplets", rng, n_rows=470)
    x, loss, schedule = rng.standard_normal((12, 3)), LOSSES["ste"](), (0.1, 120.0, 4.0)
    mapped = Comparisons(on_a_file(answers.rows, tmp_path), 12)
    order = Visits((ShuffledPass.draw(rng, 470),))
    with IN_BLOCKS.objective(mapped, loss) as blocks, CPU(n_threads=1).objective(answers, loss) as memory:
        walk, same = blocks.polyak_walk(x, schedule, 470), memory.polyak_walk(x, schedule, 470)
        walk.take(Leg(order.pieces[0], None, 470))
        for block, visits, _ in blocks.blocks.by_block(order):
            same.advance_age(len(visits))
            rows = blocks.blocks.size * block + visits.indices()
            same.distance = same.move(visits_of(rows)) / (2 * len(rows))
        same.update_average()
        assert np.array_equal(walk.mean, same.mean)
        assert (walk.age, walk.step, walk.distance) == (same.age, same.step, same.distance)


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "svrg-bb"])  # whose steps have no bound
def test_every_solver_fits_rows_that_come_in_blocks(solver, problem, tmp_path):
    mapped = on_a_file(problem.train.rows, tmp_path)
    options = {"loss": "ste", "penalty": 0, "solver": solver, "seed": 0, "epochs": 30, "n_dims": 2}
    device = replace(IN_BLOCKS, block_bytes=4 * 3 * 300)
    errors = [
        ct.triplet_error(problem.test, ct.embed(rows, device=where, **options).embedding)
        for rows, where in ((problem.train, "cpu"), (mapped, device))
    ]
    assert errors[1] < errors[0] + 0.02


def test_the_error_is_that_of_rows_in_memory_also_where_the_file_is_sorted(tmp_path):
    data = ct.datasets.synthetic(200, 2, 40_000, 20_000, seed=1)
    rows = data.train.rows
    (tmp_path / "sorted").mkdir()
    by_anchor = on_a_file(rows[np.argsort(rows[:, 0], kind="stable")], tmp_path / "sorted")
    device = CPU(stream_from=1, block_bytes=12 * 2000)
    options = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "epochs": 6, "tolerance": None}
    in_memory = ct.embed(data.train, **options)
    as_it_is = ct.embed(on_a_file(rows, tmp_path), device=device, **options)
    with pytest.warns(UserWarning, match=r"sorted by objects.*a shuffled copy of 0\.00048 GB is made in"):
        after_sorting = ct.embed(by_anchor, device=device, **options)
    errors = [ct.triplet_error(data.test, fit.embedding) for fit in (in_memory, as_it_is, after_sorting)]
    assert max(errors) - min(errors) <= 0.002
    assert [path.name for path in (tmp_path / "sorted").iterdir()] == ["a.npy"]


def test_a_fit_resumed_from_its_checkpoint_has_the_same_bits(problem, tmp_path):
    mapped = on_a_file(problem.train.rows, tmp_path)
    options = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "tolerance": None, "device": IN_BLOCKS}
    whole = ct.embed(mapped, epochs=4, **options)
    options |= {"checkpoint": tmp_path / "fit.npz"}
    ct.embed(mapped, epochs=4, callback=lambda record, _: record.epoch == 2, **options)
    resumed = ct.embed(mapped, epochs=4, resume=True, **options)
    assert np.array_equal(whole.embedding, resumed.embedding)


def test_several_starts_are_run_one_after_the_other_to_the_same_maps(problem, tmp_path):
    mapped = on_a_file(problem.train.rows, tmp_path)
    options = {"n_dims": 2, "loss": "ste", "penalty": 0, "seed": 0, "epochs": 2, "n_starts": 3}
    one, two = (ct.embed(mapped, device=replace(IN_BLOCKS, n_threads=n), **options) for n in (1, 2))
    assert one.starts == two.starts
    assert np.array_equal(one.embedding, two.embedding)


def test_held_out_answers_are_not_fitted(problem):
    answers = in_files(problem.train)
    train, held_out = answers.split(0.2, np.random.default_rng(0))
    source = Source.of(train)
    rows = np.concatenate([source.read(first, first + 100).rows for first in range(0, 2000, 100)])
    unseen = {tuple(row) for row in held_out.rows.tolist()}
    assert not unseen & {tuple(row) for row in rows.tolist()}
    assert not unseen & {tuple(row) for row in source.at(np.arange(2000)).rows.tolist()}
    result = ct.embed(answers, 2, loss="ste", penalty=0, seed=0, validation=0.2, epochs=3, device=IN_BLOCKS)
    assert 0 < result.best_record.validation_error < 0.1


def test_a_penalty_counts_in_blocks_and_the_fit_is_finished(problem):
    """Its weight is that of all comparisons, not of those in a block."""
    settings = {"loss": "ste", "penalty": 0.3, "solver": Polyak(finish=1000.0), "seed": 0, "tolerance": 1e-9}
    streamed, in_memory = (
        ct.embed(answers, device=IN_BLOCKS, **settings) for answers in (in_files(problem.train), problem.train)
    )
    assert np.isnan(streamed.history.step[-1])  # L-BFGS has no step size
    assert streamed.best_record.objective == pytest.approx(in_memory.best_record.objective, rel=1e-6)


def test_the_loss_is_chosen_by_a_sample_of_the_file(problem):
    result = ct.embed(in_files(problem.train), 2, loss="auto", seed=0, device=IN_BLOCKS, epochs=3)
    assert {candidate.loss for candidate in result.candidates} <= set(LOSS_GRID)
    assert len(result.candidates) > 1


# ---- what may go wrong -----------------------------------------------------------------------------------------------


def reading_threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("closerthan reads")]


def test_a_file_that_becomes_shorter_ends_the_fit_with_a_sentence(problem, tmp_path):
    mapped = on_a_file(problem.train.rows, tmp_path)

    def cut(*_):
        with open(tmp_path / "a.npy", "r+b") as file:
            file.truncate(5000)

    with pytest.raises(ValueError, match="it was truncated while it was being read"):
        ct.embed(mapped, 2, loss="ste", penalty=0, seed=0, device=IN_BLOCKS, callback=cut)
    assert not reading_threads()


def test_ctrl_c_leaves_a_map_and_no_thread(problem, tmp_path):
    def pressed(record, _):
        if record.epoch == 1:
            raise KeyboardInterrupt

    mapped = on_a_file(problem.train.rows, tmp_path)
    result = ct.embed(mapped, 2, loss="ste", penalty=0, seed=0, device=IN_BLOCKS, callback=pressed)
    assert result.stopped_by == "interrupted"
    assert not reading_threads()


def test_a_reader_returns_the_requested_block_whatever_was_announced(rng, tmp_path):
    rows = rng.integers(9, size=(100, 3)).astype(np.int32)
    blocks = Blocks(100, 30)
    reader = HostReader(Source(FileRows.of(on_a_file(rows, tmp_path))), blocks)
    for block, then in [(0, 1), (1, 3), (2, 0), (2, 0), (0, None), (3, 3), (1, 0)]:
        first, last = blocks.bounds(block)
        assert np.array_equal(reader.get(block, then).rows, rows[first:last])
    reader.close()


# ---- sorted files ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def random_rows():
    return np.random.default_rng(0).integers(5000, size=(200_000, 3)).astype(np.int32)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_file_sorted_by_a_column_is_seen_to_be(column, random_rows):
    assert is_sorted(Source(random_rows[np.argsort(random_rows[:, column], kind="stable")]))


def test_a_file_about_some_objects_after_others_is_seen_to_be(random_rows):
    later = random_rows // 2 + np.where(np.arange(200_000) < 100_000, 0, 2500)[:, None].astype(np.int32)
    assert is_sorted(Source(later))


def test_random_files_are_not_taken_for_sorted_ones(random_rows):
    assert not is_sorted(Source(random_rows))
    assert not is_sorted(Source(np.repeat(random_rows[:100_000], 2, axis=0)))  # odd-one-out: two rows an answer
    skewed = (5000 * np.random.default_rng(0).random((200_000, 3)) ** 3).astype(np.int32)
    assert not is_sorted(Source(skewed))


@pytest.mark.filterwarnings("ignore:the answers")
def test_each_block_of_a_shuffled_copy_is_a_sample_of_all_rows(random_rows, tmp_path):
    rows = random_rows[np.argsort(random_rows[:, 0], kind="stable")][:199_999]
    copy = shuffled(Source(rows), 30_000, tmp_path)
    copied = copy.read(0, len(copy)).rows
    both = [np.sort(array.astype(np.int64) @ [5000**2, 5000, 1]) for array in (copied, rows)]
    assert np.array_equal(*both)
    for first in range(0, 199_999, 30_000):
        block = copy.read(first, min(first + 30_000, 199_999)).rows
        quarters = np.bincount(block[:, 0] // 1250, minlength=4) / len(block)
        assert quarters == pytest.approx([0.25] * 4, abs=0.02)
