"""Objectives of comparisons that are read in blocks, on a GPU or by Triton's interpreter on the CPU."""

import os
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")
HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
pytest.importorskip("triton")

from conftest import in_files, random_comparisons  # noqa: E402

from closerthan import Comparisons  # noqa: E402
from closerthan.losses import LOSSES, STE, Penalized  # noqa: E402
from closerthan.objective.cpu.objective import CPU  # noqa: E402
from closerthan.objective.gpu.blocks import DeviceReader, load  # noqa: E402
from closerthan.objective.gpu.objective import GPU, GPUObjective  # noqa: E402
from closerthan.objective.protocol import StepSchedule  # noqa: E402
from closerthan.objective.streaming.blocks import Blocks, Source  # noqa: E402
from closerthan.objective.streaming.objective import StreamedObjective  # noqa: E402
from closerthan.objective.visits import Leg, ShuffledPass, Visits  # noqa: E402

NAME = "cuda" if HAS_GPU else "cpu"
ON_CARD, IN_BLOCKS = GPU(NAME), GPU(NAME, memory=1, block_bytes=12 * 17)
pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), *([pytest.mark.cuda] if HAS_GPU else [])]


@pytest.fixture(params=["memory", "file"])
def answers(request, rng, tmp_path):
    comparisons = random_comparisons("triplets", rng, n_rows=60)
    if request.param == "memory":
        return comparisons
    np.save(tmp_path / "a.npy", comparisons.rows)
    return Comparisons(np.load(tmp_path / "a.npy", mmap_mode="r"), 12)


@pytest.mark.parametrize("loss", [STE(), Penalized(STE(), 0.1)])
def test_values_and_gradients_are_those_of_rows_on_the_card(answers, loss, rng):
    x = rng.standard_normal((12, 3))
    with IN_BLOCKS.objective(answers, loss) as blocks, ON_CARD.objective(answers, loss) as whole:
        assert isinstance(blocks, StreamedObjective)
        assert isinstance(whole, GPUObjective)
        assert blocks.penalized == whole.penalized == isinstance(loss, Penalized)
        actual, expected = blocks.at(x), whole.at(x)
        assert (actual.value, actual.error) == pytest.approx((expected.value, expected.error))
        np.testing.assert_allclose(actual.gradient, expected.gradient, rtol=1e-9, atol=1e-12)
        assert blocks.value(x).value == pytest.approx(expected.value)


@pytest.mark.parametrize("where", ["memory", "file"])
def test_weights_come_with_their_rows(where, rng):
    weights = rng.integers(4, size=60).astype(float)
    weights[17:34] = 0.0  # of a whole block
    comparisons = random_comparisons("triplets", rng, n_rows=60).weighted(weights)
    answers = comparisons if where == "memory" else in_files(comparisons)
    x, loss, order = rng.standard_normal((12, 3)), LOSSES["ste"](), Visits((ShuffledPass.draw(rng, 60),), 3)
    distances = []
    for device in (IN_BLOCKS, ON_CARD):
        with device.objective(answers, loss) as objective, CPU().objective(comparisons, loss) as memory:
            assert isinstance(objective, StreamedObjective) == (device is IN_BLOCKS)
            assert objective.weighted
            actual, expected = objective.at(x), memory.at(x)
            assert (actual.value, actual.error) == pytest.approx((expected.value, expected.error))
            assert objective.value(x).value == pytest.approx(expected.value)
            np.testing.assert_allclose(actual.gradient, expected.gradient, rtol=1e-9, atol=1e-12)
            walk = objective.polyak_walk(x, StepSchedule(0.0, 1.0, 4.0), 20)
            walk.advance_age(60)
            distances.append(np.mean([walk.move(Visits(order.pieces, seed)) for seed in range(40)]))
    assert distances[0] == pytest.approx(distances[1], rel=0.05)


def test_a_walk_visits_each_row_once(answers, rng):
    schedule, loss = (
        StepSchedule(0.0, 1.0, 4.0),
        LOSSES["ste"](),
    )  # steps of length 0: distances reveal which rows were visited
    x = rng.standard_normal((12, 3))
    order = Visits((ShuffledPass.draw(rng, 60),))
    distances = []
    for device in (IN_BLOCKS, ON_CARD):
        with device.objective(answers, loss) as objective:
            walk = objective.polyak_walk(x, schedule, 20)
            walk.advance_age(60)
            distances.append(walk.move(order))
            walk.take(Leg(order.pieces[0], None, 60))
            assert (int(walk.state()["n_maps"]), walk.age) == (3, 120)
    assert distances[0] == pytest.approx(distances[1], rel=1e-5)


def test_rows_of_a_file_are_loaded_block_by_block(rng, tmp_path):
    rows = rng.integers(9, size=(100, 3)).astype(np.int32)
    np.save(tmp_path / "a.npy", rows)
    source = Source.of(Comparisons(np.load(tmp_path / "a.npy", mmap_mode="r"), 9))
    assert np.array_equal(load(source, torch.device(NAME), 7).rows.cpu().numpy(), rows)


def test_a_reader_returns_the_requested_block_whatever_was_announced(answers):
    blocks = Blocks(60, 17)
    reader = DeviceReader(Source.of(answers), blocks, torch.device(NAME))
    for block, then in [(0, 1), (1, 3), (2, 0), (2, 0), (0, None), (3, 3), (1, 0)]:
        first, last = blocks.bounds(block)
        assert np.array_equal(reader.get(block, then).rows.cpu().numpy(), answers.rows[first:last])
    reader.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("closerthan reads")]
