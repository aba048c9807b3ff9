"""Fits that several processes share: they equal that of one process, and all processes end if one of them dies."""

import importlib.util
import itertools
import math
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from paths import ROOT
from whole_answers import N_OBJECTS, some_answers

import closerthan as ct
from closerthan.comparisons import Choices
from closerthan.comparisons.on_disk import FileRows
from closerthan.comparisons.stored import StoredComparisons
from closerthan.files.stored.large import Portion
from closerthan.files.stored.parts import Place, read_part
from closerthan.fit.checkpoint import fingerprint
from closerthan.fit.fixed_loss import check_parts
from closerthan.fit.likelihood import objective_of
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.distributed.launch import Launch
from closerthan.objective.distributed.part import Part
from closerthan.objective.processes import SingleProcess
from closerthan.objective.protocol import StepSchedule
from closerthan.objective.visits import Leg, ShuffledPass, UniformDraws, Visits

WORKER = ROOT / "tests" / "several_processes.py"
SOURCES = Path(ct.__file__).parents[1]

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs the extra torch")


# ---- parts, without PyTorch ------------------------------------------------------------------------------------------


def parts(sizes, weights=None):
    """Return the parts of all processes."""
    totals = [float(size) for size in sizes]
    ends = np.cumsum([0, *sizes])
    if weights is None:
        return [Part(rank, sizes, totals) for rank in range(len(sizes))]
    weights = weights / weights.mean()
    own = [weights[begin:end] for begin, end in itertools.pairwise(ends)]
    return [Part(rank, sizes, [one.sum() for one in own], own[rank]) for rank in range(len(sizes))]


@pytest.mark.parametrize("sizes", [(300, 700), (0, 600, 0, 400), (1000,), (1, 998, 1)])
def test_all_processes_visit_each_comparison_once_per_pass(sizes):
    whole = Visits((ShuffledPass.draw(np.random.default_rng(0), 1000),))
    for part in parts(sizes):
        visited = np.concatenate([part.visits(whole[begin : begin + 7]).indices() for begin in range(0, 1000, 7)])
        assert np.array_equal(np.sort(visited), np.arange(part.size))


def test_each_pass_has_an_order_of_its_own():
    rng = np.random.default_rng(0)
    first, second = (Visits((ShuffledPass.draw(rng, 1000),)) for _ in range(2))
    part = parts((500, 500))[0]
    assert not np.array_equal(part.visits(first).indices(), part.visits(second).indices())


@pytest.mark.parametrize("sizes", [(300, 700), (0, 600, 0, 400)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_of_all_comparisons_is_divided_among_the_processes(sizes, weighted):
    weights = np.random.default_rng(1).integers(0, 4, 1000).astype(float) if weighted else None
    visits = Visits((UniformDraws(3, 1000, 0, 500),), weight_seed=5)
    ends = np.cumsum([0, *sizes])
    by_all = np.concatenate([
        part.own(part.positions(visits, visits.indices())) + ends[part.rank] for part in parts(sizes, weights)
    ])  # fmt: skip
    by_one = visits.indices() if weights is None else visits.indices(np.cumsum(weights / weights.mean()))
    assert np.array_equal(np.sort(by_all), np.sort(by_one))


def test_with_weights_a_part_is_visited_in_proportion_to_its_weight():
    weights = np.repeat([1.0, 3.0], 500)
    whole = Visits((ShuffledPass.draw(np.random.default_rng(0), 1000),), weight_seed=1)
    assert [len(part.visits(whole)) for part in parts((500, 500), weights)] == [250, 750]


def test_a_part_without_weight_is_never_visited():
    first, last = parts([3, 2], np.array([1.0, 2.0, 3.0, 0.0, 0.0]))
    places = np.linspace(0, 4.9, 20)
    assert len(first.own(places)) == 20
    assert len(last.own(places)) == 0
    assert len(last.visits(Visits((ShuffledPass.draw(np.random.default_rng(0), 5),), 0))) == 0


def test_a_single_process_has_no_launch():
    assert Launch.of({}) is None
    assert Launch.of({"RANK": "0", "WORLD_SIZE": "1"}) is None
    assert Launch.of({"RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none"}).n == 1
    batch_script = {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
    assert Launch.of(batch_script) is None
    with pytest.raises(ValueError, match="unset RANK"):
        Launch.of({"RANK": "first", "WORLD_SIZE": "2"})


def test_steps_of_one_slurm_job_have_ports_of_their_own():
    step = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "a", "SLURM_JOB_ID": "7"}
    first, second = (Launch.of({**step, "SLURM_STEP_ID": number}) for number in "01")
    assert first.port != second.port


class InThreads:
    """Processes that are simulated by threads, with ``all_gather`` only."""

    def __init__(self, n):
        self.n = n
        self._barrier = threading.Barrier(n)
        self._values = {}

    def run(self, work):
        """Call ``work(rank)`` in each thread and return the results."""
        results = [None] * self.n

        def one(rank):
            self._values[threading.get_ident()] = rank, None
            results[rank] = work(rank)

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def all_gather(self, value):
        me = threading.get_ident()
        self._values[me] = self._values[me][0], value
        self._barrier.wait()
        values = [value for _, value in sorted(self._values.values(), key=lambda pair: pair[0])]
        self._barrier.wait()
        return values


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_fingerprint_does_not_depend_on_how_answers_are_divided(n):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(9), (50, 1)), axis=1)[:, :3].astype(np.int32)

    def of(rows, n):
        processes = InThreads(n)
        cuts = np.linspace(0, len(rows), n + 1).astype(int)
        fingerprints = processes.run(
            lambda rank: fingerprint(ct.Comparisons(rows[cuts[rank] : cuts[rank + 1]], 9), processes=processes)
        )
        assert len(set(fingerprints)) == 1
        return fingerprints[0]

    assert of(rows, n) == of(rows, 4)
    assert of(rows, n) != of(rows[:, [0, 2, 1]], n)


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_by(n, path, **reading):
    """Return the parts that ``n`` processes read."""
    processes = InThreads(n)
    return processes.run(lambda rank: read_part(path, Place(rank, n), processes, **reading))


def all_rows(parts):
    """Return the names of the objects of all rows, part by part."""
    return [[parts[0].names[i] if parts[0].names else str(i) for i in row] for part in parts for row in part.rows]


@pytest.fixture
def named():
    """Rows of names, of which some occur only in later rows."""
    return [["ant", "bee", "cat"], ["cat", "bee", "ant"], ["dog", "ant", "eel"], ["bee", "fox", "eel"]]


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("portion", [None, Portion(large_from=1, block=1)], ids=["whole", "in blocks"])
def test_parts_of_a_parquet_file_agree_on_the_names(n, portion, named, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    columns = zip(*named, strict=True)
    table = pyarrow.table(dict(zip(("anchor", "near", "far"), map(list, columns), strict=True)))
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    parts_read = read_by(n, tmp_path / "a.parquet", portion=portion)
    assert {part.names for part in parts_read} == {("ant", "bee", "cat", "dog", "eel", "fox")}
    assert all_rows(parts_read) == named
    assert min(map(len, parts_read)) == (2 if n == 2 else 0)  # two row groups
    assert [isinstance(part, StoredComparisons) for part in parts_read] == [
        portion is not None and len(part) > 0 for part in parts_read
    ]


def test_a_part_of_a_parquet_file_has_its_weights_people_and_answers(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    rows = np.array([[0, 1, 2], [1, 2, 0], [3, 4, 1], [2, 4, 3]] * 3, np.int32)
    beside = {"weight": np.arange(12) / 4, "participant": np.arange(12) % 5, "answer_id": np.arange(12) // 2}
    columns = dict(zip(("anchor", "near", "far"), rows.T, strict=True)) | beside
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet", row_group_size=4)
    parts_read = read_by(2, tmp_path / "a.parquet", portion=Portion(large_from=1, block=3))
    assert [len(part) for part in parts_read] == [4, 8]
    assert all(isinstance(part, StoredComparisons) for part in parts_read)
    assert np.concatenate([part.weights for part in parts_read]).tolist() == beside["weight"].tolist()
    assert [part.n_answers for part in parts_read] == [4, 8]  # of different people
    assert [part.n_people for part in parts_read] == [4, 5]


def test_large_files_of_a_folder_are_put_together_on_disk(named, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    for number, row in enumerate(named):
        table = pyarrow.table({role: [name] for role, name in zip(("anchor", "near", "far"), row, strict=True)})
        parquet.write_table(
            table.append_column("weight", pyarrow.array([number + 0.5])), tmp_path / f"{number}.parquet"
        )
    parts_read = read_by(2, tmp_path, portion=Portion(large_from=1))
    assert all(isinstance(part, StoredComparisons) for part in parts_read)
    assert all_rows(parts_read) == [named[0], named[2], named[1], named[3]]
    assert np.concatenate([part.weights for part in parts_read]).tolist() == [0.5, 2.5, 1.5, 3.5]


def test_each_process_reads_its_own_files_of_a_folder(named, tmp_path):
    for number, row in enumerate(named):
        (tmp_path / f"{number}.csv").write_text("anchor,near,far\n" + ",".join(row) + "\n")
    parts_read = read_by(2, tmp_path)
    assert {part.names for part in parts_read} == {("ant", "bee", "cat", "dog", "eel", "fox")}
    assert all_rows(parts_read) == [named[0], named[2], named[1], named[3]]


@pytest.mark.parametrize("large", [False, True])
def test_files_of_a_folder_keep_their_people_and_answers(large, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    cells = {"anchor": ["ant", "ant", "bee"], "near": ["bee", "bee", "cat"], "far": ["cat", "dog", "dog"]}
    table = pyarrow.table(cells | {"answer_id": [7, 7, 8]})
    for file, people in {"1": ["eve", "eve", "bob"], "2": [None] * 3, "3": ["bob", "bob", "eve"]}.items():
        parquet.write_table(
            table.append_column("participant", pyarrow.array(people, pyarrow.string())), tmp_path / f"{file}.parquet"
        )
    (parts_read,) = read_by(1, tmp_path, portion=Portion(large_from=1) if large else None)
    assert isinstance(parts_read, StoredComparisons) == large
    at_once = ct.files.read_comparisons(tmp_path)
    assert parts_read.person_names == at_once.person_names == ("2", "bob", "eve")
    assert parts_read.people.tolist() == at_once.people.tolist()
    assert parts_read.answers.tolist() == at_once.answers.tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5]


def test_files_of_a_folder_keep_the_order_of_the_names(named, tmp_path):
    for file in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / file).write_text("anchor,near,far\n" + "".join(",".join(row) + "\n" for row in named))
    names = ("fox", "eel", "dog", "cat", "bee", "ant")
    parts_read = read_by(2, tmp_path, names=names)
    assert {part.names for part in parts_read} == {names}
    assert all_rows(parts_read) == 3 * named


def test_names_that_a_file_lists_keep_their_order_in_all_processes(tmp_path):
    pytest.importorskip("pyarrow")
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [2, 0, 1]] * 2, names=["cat", "ant", "bee"])
    ct.files.write_comparisons(answers, tmp_path / "a.parquet")
    assert {part.names for part in read_by(2, tmp_path / "a.parquet")} == {("cat", "ant", "bee")}


@pytest.mark.parametrize("portion", [None, Portion(large_from=1)])
def test_a_folder_with_triplets_and_quadruplets_is_an_error(portion, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1, 2]], np.int64))
    np.save(tmp_path / "b.npy", np.array([[0, 1, 2, 3]], np.int64))
    with pytest.raises(ValueError, match="some parts have triplets and others quadruplets"):
        read_part(tmp_path, Place(0, 1), SingleProcess(), portion)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(("portion", "kind"), [(None, np.int32), (Portion(large_from=1), np.int64)])
def test_parts_of_an_array_are_ranges_of_its_rows(first, portion, kind, tmp_path):
    rows = (np.array([[0, 1, 2], [1, 2, 0], [3, 4, 1], [2, 4, 3]]) + first).astype(kind)
    np.save(tmp_path / "a.npy", rows)
    parts_read = read_by(2, tmp_path / "a.npy", portion=portion)
    assert [part.n_objects for part in parts_read] == [5, 5]
    assert np.array_equal(np.concatenate([part.rows for part in parts_read]), rows - first)
    if not first or portion is not None:
        assert FileRows.of(parts_read[0].rows) is not None  # never copied into memory


def test_an_array_is_read_by_more_processes_than_it_has_rows(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1, 2], [1, 2, 0]], np.int32))
    assert sorted(len(part) for part in read_by(3, tmp_path / "a.npy")) == [0, 1, 1]


def test_a_text_file_is_divided_by_its_rows(named, tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\n" + "".join(",".join(row) + "\n" for row in named))
    parts_read = read_by(2, tmp_path / "a.csv")
    assert [len(part) for part in parts_read] == [2, 2]
    assert all_rows(parts_read) == named


def test_no_answer_of_a_text_file_is_divided_between_processes(tmp_path):
    rows = [[anchor, anchor + 1, other] for anchor in range(5) for other in (anchor + 2, anchor + 3)]
    answers = ct.Comparisons.from_triplets(rows, answers=np.repeat(np.arange(5), 2))
    ct.files.write_comparisons(answers, tmp_path / "a.csv")
    parts_read = read_by(2, tmp_path / "a.csv")
    assert [(part.n_answers, len(part)) for part in parts_read] == [(2, 4), (3, 6)]


@pytest.mark.parametrize("apart", [True, False])
def test_people_whose_answers_are_in_several_parts_cannot_be_held_out(apart):
    rows = np.array([[0, 1, 2], [1, 2, 0]])
    people = [["ann", "bob"], ["cid", "dan"] if apart else ["cid", "bob"]]
    parts = [ct.Comparisons.from_triplets(rows, people=own) for own in people]
    processes, messages = InThreads(2), []

    def check(rank):
        try:
            check_parts(parts[rank], "people", processes)
        except ValueError as error:
            messages.append(str(error))

    processes.run(check)
    assert len(messages) == (0 if apart else 2)
    assert all("but those of 'bob' are in 2" in message for message in messages)


# ---- with PyTorch ----------------------------------------------------------------------------------------------------


@needs_torch
def test_two_processes_on_one_gpu_are_an_error():
    from closerthan.objective.distributed.process_group import connection_errors

    with pytest.raises(ValueError, match="process 2 of 2 shares its GPU"), connection_errors(1, 2):
        raise RuntimeError("NCCL error: invalid usage, ncclInvalidUsage")


@needs_torch
def test_the_exchange_interval_is_finite_after_endless_restarts():
    from closerthan.objective.distributed.objective import exchange_interval

    assert exchange_interval(5, age=math.inf, reach=1.0) > 10**9


class Twins:
    """One of two processes that have the same comparisons, and so make the same moves."""

    n, rank = 2, 0

    def all_gather(self, value):
        return [value, value]

    def broadcast(self, value):
        return value

    def add(self, tensor):
        tensor *= 2


@needs_torch
def test_processes_share_the_mean_squared_distance_of_all_visited_pairs():
    from closerthan.losses import STE
    from closerthan.objective.distributed.objective import DistributedObjective

    data = ct.datasets.synthetic(20, 2, 500, 10, seed=0)
    objective = DistributedObjective(CPU(1), Twins(), data.train, STE(), None)
    # Steps are too short to matter, and from the second pass on there is one exchange per pass.
    walk = objective.polyak_walk(data.points, StepSchedule(1e-12, 1e-9, 4.0), 1000)
    for _ in range(2):
        walk.take(Leg(ShuffledPass.draw(np.random.default_rng(0), objective.n_terms), None, 1000))
    near, far = ct.metrics.distances(data.train, data.points)
    assert float(walk.state()["distance"]) == pytest.approx(np.mean([near**2, far**2]), rel=1e-5)


@needs_torch
@pytest.mark.parametrize("weighted", [False, True])
def test_the_likelihood_of_whole_answers_is_that_of_the_answers_of_all_processes(weighted, rng):
    from closerthan.objective.distributed.objective import Distributed

    answers, x = some_answers(rng, weighted), rng.standard_normal((N_OBJECTS, 2))
    settings = ct.Settings(loss="tste-2", penalty=0.1, likelihood="answers")
    with objective_of(settings, CPU(1), answers) as objective:
        expected, collapsed = objective.at(x), objective.collapsed_objective
    ends, processes = [0, 30, 30, 90], InThreads(3)  # the second process has no answers

    def of_process(rank):
        group = SimpleNamespace(
            rank=rank, n=3, all_gather=processes.all_gather, sum=lambda own: np.sum(processes.all_gather(own), axis=0)
        )
        own = answers.take((answers.answers >= ends[rank]) & (answers.answers < ends[rank + 1]))
        device = Distributed(CPU(1), group)
        sums = device.objective(own, ct.losses.STE()).choice_sums(Choices.of(own), ct.losses.STE())
        assert sums.sample(10).totals.weight == pytest.approx(sums.totals.weight)
        with objective_of(settings, device, own) as objective:
            assert objective.collapsed_objective == pytest.approx(collapsed)
            return objective.at(x), objective.value(x)

    for point, value in processes.run(of_process):
        assert (point.value, point.error) == pytest.approx((expected.value, expected.error))
        assert (value.value, value.error) == pytest.approx((expected.value, expected.error))
        np.testing.assert_allclose(point.gradient, expected.gradient, atol=1e-12)


class Store(dict):
    """A key-value store as torch.distributed has it."""

    set = dict.__setitem__

    def check(self, keys):
        return all(key in self for key in keys)


@needs_torch
def test_a_process_that_is_silent_is_noticed():
    from closerthan.objective.distributed.process_group import BEAT, SILENCE, Heartbeat

    store = Store()
    first, second, third = (Heartbeat(rank, 3, store) for rank in range(3))
    n_beats = int(SILENCE / BEAT)
    for number in range(3 * n_beats):
        assert [heartbeat.beat(BEAT * number) for heartbeat in (first, second, third)] == [None] * 3
    silent = []
    for number in range(3 * n_beats, 4 * n_beats + 2):  # the second process is silent
        third.beat(0.0)
        silent.append(first.beat(BEAT * number))
    assert silent[0] is None
    assert silent[-1] == 1


def launch(n, scenario, folder, program=(str(WORKER),)):
    """Start processes, wait for them, and return their exit codes and outputs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SOURCES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
    }
    environment |= {"WORLD_SIZE": str(n), "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none"}
    words = [*program, scenario, str(folder)]
    started = [
        subprocess.Popen(
            [sys.executable, *words], env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(n)
    ]  # fmt: skip
    output = [process.communicate(timeout=300)[0] for process in started]
    return [process.returncode for process in started], output


def worker():
    spec = importlib.util.spec_from_file_location("several_processes", WORKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=[2, 3])
def together(request, tmp_path_factory):
    """Return the number of processes, the folder with their results, and their outputs; of three, one is empty."""
    folder = tmp_path_factory.mktemp("together")
    codes, output = launch(request.param, "fits,penalized,whole_answers,interrupted,unwritable", folder)
    assert codes == [0] * request.param, output
    return request.param, folder, output


@needs_torch
@pytest.mark.slow
def test_svrg_in_batches_takes_the_steps_of_one_process(together):
    n, folder, _ = together
    for name, weighted in (("svrg", False), ("weighted", True)):
        alone = ct.embed(worker().answers(weighted)[0], n_threads=1, **worker().SVRG_FIT)
        for rank in range(n):
            embedding = np.load(folder / f"fits-{rank}.npz")[name]
            assert np.abs(embedding - alone.embedding).max() < 1e-9 * np.abs(alone.embedding).max()


@needs_torch
@pytest.mark.slow
def test_a_fit_to_whole_answers_ends_in_the_minimum_that_one_process_finds(together):
    n, folder, _ = together
    alone = ct.embed(worker().odd_one_out(), n_threads=1, **worker().WHOLE_FIT)
    for rank in range(n):
        fit = np.load(folder / f"whole-{rank}.npz")
        assert fit["gradient_norm"] < 1e-4
        assert float(fit["objective"]) == pytest.approx(alone.best_record.objective, rel=1e-3)


@needs_torch
@pytest.mark.slow
def test_the_default_solver_is_as_good_as_in_one_process(together):
    n, folder, _ = together
    everything = worker().answers()[0]
    alone = ct.embed(everything, n_threads=1, **worker().POLYAK_FIT)
    weighted = worker().answers(weighted=True)[0]
    alone_weighted = ct.embed(weighted, n_threads=1, **worker().POLYAK_FIT)
    for rank in range(n):
        fits = np.load(folder / f"fits-{rank}.npz")
        assert abs(fits["errors"][-1] - alone.history.train_error[-1]) < 0.002
        assert np.abs(fits["errors"] - ct.triplet_error(everything, fits["polyak"])).min() < 1e-9  # of all parts
        assert fits["share"][-1] < 0.15
        for name in ("in_blocks", "hogwild"):
            assert abs(ct.triplet_error(everything, fits[name]) - alone.history.train_error[-1]) < 0.002
        errors = [ct.triplet_error(weighted, one) for one in (fits["polyak_weighted"], alone_weighted.embedding)]
        assert abs(errors[0] - errors[1]) < 0.002
        assert float(fits["weighted_blocks"]) == pytest.approx(alone_weighted.best_record.objective, abs=0.0005)


@needs_torch
@pytest.mark.slow
def test_all_processes_have_the_same_map(together):
    n, folder, _ = together
    for name in ("polyak", "hogwild"):
        maps = [np.load(folder / f"fits-{rank}.npz")[name] for rank in range(n)]
        assert all(np.array_equal(maps[0], other) for other in maps[1:])


@needs_torch
@pytest.mark.slow
def test_a_fit_with_a_penalty_ends_in_the_minimum_that_one_process_finds(together):
    n, folder, _ = together
    alone = ct.embed(worker().few(worker().answers()[0]), n_threads=1, **worker().PENALIZED_FIT)
    fits = [np.load(folder / f"penalized-{rank}.npz") for rank in range(n)]
    for fit in fits:
        assert fit["gradient_norms"][-1] < 1e-6  # only the last phase of the solver computes gradients
        assert fit["objectives"][-1] == pytest.approx(alone.history.objective[-1], rel=1e-6)
        assert np.array_equal(fit["embedding"], fits[0]["embedding"])


@needs_torch
@pytest.mark.slow
def test_ctrl_c_in_one_process_ends_the_fit_in_all(together):
    n, folder, _ = together
    assert {(folder / f"interrupted-{rank}").read_text() for rank in range(n)} == {"interrupted 2"}


@needs_torch
@pytest.mark.slow
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_fit(together):
    n, folder, output = together
    assert {(folder / f"unwritable-{rank}").read_text() for rank in range(n)} == {"epochs"}
    assert ["could not be written" in text for text in output] == [True] + [False] * (n - 1)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("then", [1, 3])
def test_a_killed_process_ends_the_others_and_another_number_can_resume(then, tmp_path):
    codes, output = launch(2, "killed", tmp_path)
    assert codes[1] == -9
    assert codes[0] not in (0, -9)
    assert "another process of this fit has ended" in output[0]
    codes, output = launch(then, "resumed", tmp_path)
    assert codes == [0] * then, output
    reports = {(tmp_path / f"resumed-{rank}").read_text() for rank in range(then)}
    assert len(reports) == 1
    first, last, error = reports.pop().split()
    assert int(first) > 1
    assert int(last) == int(first) + 2
    assert float(error) < 0.1


SCRIPT = """
import sys
import closerthan as ct

with ct.processes() as device:
    own = ct.datasets.synthetic(30, 2, 2000, 10, seed=0).train.rows[device.processes.rank :: device.processes.n]
    part = ct.Comparisons.from_triplets(own, n_objects=30)
    result = ct.embed(part, 2, loss="ste", penalty=0, seed=0, epochs=2, device=device)
    result.save(f"{sys.argv[2]}/{device.processes.rank}.npz")
"""


@needs_torch
@pytest.mark.slow
def test_a_script_shares_a_fit_in_a_with_statement(tmp_path):
    codes, output = launch(2, "-", tmp_path, ("-c", SCRIPT))
    assert codes == [0, 0], output
    maps = [ct.Result.load(tmp_path / f"{rank}.npz").embedding for rank in range(2)]
    assert np.array_equal(*maps)


def test_a_script_without_a_launcher_is_a_single_process(monkeypatch):
    for name in ("RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    with ct.processes(n_threads=1) as device:
        assert device == CPU(n_threads=1)
        assert (device.processes.rank, device.processes.n) == (0, 1)


@needs_torch
@pytest.mark.slow
def test_the_command_line_makes_one_map(tmp_path):
    everything = worker().answers()[0]
    np.save(tmp_path / "a.npy", everything.rows)
    program = (
        "-m",
        "closerthan",
        "fit",
        str(tmp_path / "a.npy"),
        "--loss",
        "ste",
        "--penalty",
        "0",
        "--epochs",
        "3",
        "--out",
    )
    codes, output = launch(2, str(tmp_path / "map"), "--no-progress", program)
    assert codes == [0, 0], output
    assert "40,000 triplets" in output[0]
    assert output[1] == ""
    assert (tmp_path / "map" / "report.html").exists()  # by the first process's answers
    result = ct.Result.load(tmp_path / "map" / "result.npz")
    assert ct.triplet_error(everything, result.embedding) < 0.1
