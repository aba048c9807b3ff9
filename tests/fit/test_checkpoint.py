"""Checkpoints: a fit that was killed goes on, to the same bits."""

import contextlib
import functools
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from damage import contents, other_arrays, other_texts, with_arrays

import closerthan as ct
from closerthan.fit import checkpoint
from closerthan.fit.checkpoint import Checkpoint, Fit
from closerthan.losses import STE
from closerthan.objective.cpu.objective import CPU
from closerthan.solvers import SOLVERS, SVRG, Polyak

embed = functools.partial(ct.embed, loss="ste", penalty=0)  # how a loss is chosen is tested elsewhere


class Killed(BaseException):
    pass


@dataclass(frozen=True)
class CountedPolyak(Polyak):
    """The default solver, which counts its runs."""

    runs: ClassVar[list[int]] = []

    def run(self, *args, **more):
        self.runs.append(1)
        return super().run(*args, **more)


@pytest.fixture
def at_every_epoch(monkeypatch):
    """Checkpoints are written after each epoch, not every few seconds."""
    monkeypatch.setitem(Checkpoint.__init__.__kwdefaults__, "seconds", 0.0)
    monkeypatch.setattr(checkpoint, "WRITING_FRACTION", 1.0)


def killed_and_resumed(answers, path, *, at=2, **settings):
    def kill(record, embedding):
        if record.epoch == at:
            raise Killed

    with pytest.raises(Killed):
        embed(answers, checkpoint=path, callback=kill, **settings)
    return embed(answers, checkpoint=path, resume=True, **settings)


def same(one, other):
    assert np.array_equal(one.embedding, other.embedding)
    assert one.stopped_by == other.stopped_by
    assert one.best_epoch == other.best_epoch
    assert repr(one.starts) == repr(other.starts)
    for name in ("epoch", "gradients", "objective", "step", "train_error", "validation_error"):
        assert np.array_equal(getattr(one.history, name), getattr(other.history, name), equal_nan=True), name


@pytest.mark.usefixtures("at_every_epoch")
class TestTheSameMap:
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_with_every_solver(self, solver, problem, tmp_path):
        settings = {"solver": solver, "seed": 1, "epochs": 12}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", **settings)
        same(resumed, embed(problem.train, **settings))

    @pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"lbfgs"}))
    def test_without_repeating_completed_epochs(self, solver, problem, tmp_path):
        seen = []
        settings = {"solver": solver, "seed": 1, "epochs": 8, "tolerance": None}
        with pytest.raises(Killed):
            embed(problem.train, checkpoint=tmp_path / "state", callback=killer(5), **settings)
        embed(problem.train, checkpoint=tmp_path / "state", resume=True, **settings,
                 callback=lambda record, x: seen.append(record.epoch))  # fmt: skip
        assert seen[0] == 5

    @pytest.mark.parametrize("output", ["best", "last", "random"])
    def test_with_modules_batches_and_any_output(self, output, problem, tmp_path):
        solver = SVRG(batch_size=7, module_epochs=3, sampling="uniform", output=output)
        settings = {"solver": solver, "seed": 3, "epochs": 11, "tolerance": None}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", **settings)
        same(resumed, embed(problem.train, **settings))

    @pytest.mark.parametrize("at", range(1, 12, 2))
    def test_when_the_default_solver_is_killed_at_any_epoch(self, at, problem, tmp_path):
        settings = {"seed": 1, "epochs": 14, "tolerance": None}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", at=at, **settings)
        same(resumed, embed(problem.train, **settings))

    @pytest.mark.parametrize("kill_early", [True, False])
    def test_when_killed_before_and_during_the_descent_to_the_minimum(self, kill_early, problem, tmp_path):
        settings = {"n_dims": 3, "penalty": 0.1, "seed": 1, "epochs": 30, "tolerance": None}
        whole = embed(problem.train, **settings)
        descent = 1 + np.flatnonzero(np.isnan(whole.history.step[1:]))  # L-BFGS has no step size
        assert len(descent) > 3
        for at in (descent[0] - 1, descent[0]) if kill_early else (descent[1], descent[-1]):
            same(killed_and_resumed(problem.train, tmp_path / f"{at}", at=at, **settings), whole)

    def test_and_it_stops_by_the_tolerance_where_it_would_have(self, problem, tmp_path):
        whole = embed(problem.train, seed=1)
        assert whole.stopped_by == "tolerance"
        for at in (2, whole.history[-1].epoch - 1):
            same(killed_and_resumed(problem.train, tmp_path / f"{at}", at=at, seed=1), whole)

    def test_a_file_of_another_version_is_refused(self, problem, tmp_path):
        settings = {"seed": 1, "epochs": 9, "checkpoint": tmp_path / "state"}
        embed(problem.train, **settings, callback=lambda record, x: record.epoch == 3)
        with np.load(tmp_path / "state") as file:
            arrays = {name: file[name] for name in file.files}
        arrays["0.history"] = arrays["0.history"][:, :-1]
        with open(tmp_path / "state", "wb") as file:
            np.savez(file, **arrays)
        with pytest.raises(ValueError, match="another version of closerthan; begin again"):
            embed(problem.train, **settings, resume=True)

    @pytest.mark.slow
    def test_where_an_epoch_was_taken_back(self, problem, tmp_path):
        long_steps = Polyak(worthwhile=1e-9)
        settings = {
            "n_dims": 1,
            "loss": "gnmds",
            "penalty": 0,
            "solver": long_steps,
            "seed": 1,
            "epochs": 30,
            "tolerance": None,
        }
        whole = embed(problem.train, **settings)
        assert (np.diff(whole.history.objective) == 0).any()
        taken_back = int(np.argmin(np.abs(np.diff(whole.history.objective)))) + 1
        for at in (taken_back, taken_back + 1, 29):
            same(killed_and_resumed(problem.train, tmp_path / f"{at}", at=at, **settings), whole)

    @pytest.mark.slow
    def test_when_no_epoch_improves_the_map(self, tmp_path):
        """The state can be read again however often Polyak steps were shortened."""
        settings = {"n_dims": 1, "loss": "gnmds", "penalty": 0, "solver": "polyak", "start": [[0], [1], [3]], "seed": 0}
        settings |= {"tolerance": None, "epochs": 600}
        answers = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
        same(killed_and_resumed(answers, tmp_path / "state", at=500, **settings), embed(answers, **settings))

    def test_with_the_loss_chosen(self, problem, tmp_path):
        settings = {"loss": "auto", "seed": 1}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", at=1, **settings)
        same(resumed, embed(problem.train, **settings))

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["triplets"])  # a loss of its own is compiled for each kind
    def test_with_the_penalty_of_a_user_defined_loss_chosen(self, problem, tmp_path):
        class Mine(STE):
            pass

        settings = {"loss": Mine(), "penalty": "auto", "seed": 1}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", at=1, **settings)
        same(resumed, embed(problem.train, **settings))

    def test_with_several_starts_and_a_held_out_share(self, problem, tmp_path):
        settings = {"seed": 5, "n_starts": 3, "validation": 0.2, "epochs": 40}
        resumed = killed_and_resumed(problem.train, tmp_path / "state", **settings)
        same(resumed, embed(problem.train, **settings))

    @pytest.mark.parametrize("solver", [*SOLVERS, SVRG(batch_size=100)], ids=str)
    def test_where_threads_share_the_work_and_with_weights(self, solver, problem, tmp_path):
        weights = np.random.default_rng(0).uniform(0.2, 2.0, 600)
        answers = ct.Comparisons(problem.train.rows, 15, weights=weights)
        settings = {"solver": solver, "seed": 1, "epochs": 6, "device": CPU(least_part=30)}
        resumed = killed_and_resumed(answers, tmp_path / "state", **settings, n_threads=2)
        same(resumed, embed(answers, **settings, n_threads=1))

    def test_when_killed_again_and_again(self, problem, tmp_path):
        settings = {"seed": 5, "epochs": 10, "tolerance": None}
        for epoch in (2, 3, 7):
            with pytest.raises(Killed):
                embed(problem.train, checkpoint=tmp_path / "state", resume=True, callback=killer(epoch), **settings)
        same(
            embed(problem.train, checkpoint=tmp_path / "state", resume=True, **settings),
            embed(problem.train, **settings),
        )

    def test_when_resumed_after_the_end(self, problem, tmp_path):
        first = embed(problem.train, seed=0, checkpoint=tmp_path / "state")
        same(embed(problem.train, seed=0, checkpoint=tmp_path / "state", resume=True), first)

    def test_without_an_existing_file(self, problem, tmp_path):
        first = embed(problem.train, seed=0, checkpoint=tmp_path / "state", resume=True)
        same(first, embed(problem.train, seed=0))


def killer(epoch):
    def kill(record, embedding):
        if record.epoch == epoch:
            raise Killed

    return kill


class TestRefused:
    @pytest.fixture
    def path(self, problem, tmp_path):
        embed(problem.train, seed=0, epochs=3, checkpoint=tmp_path / "state")
        return tmp_path / "state"

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"seed": 1}, "seed was 0 and is 1"),
            ({"epochs": 4}, "epochs was 3 and is 4"),
            ({"loss": "tste"}, "loss was ste and is tste"),
            ({"solver": "sgd"}, "solver was polyak .* and is sgd"),
            ({"n_starts": 2}, "n_starts was 1 and is 2"),
            ({"validation": 0.5}, "validation was none and is 0.5"),
            ({"start": np.zeros((15, 2))}, "data was"),
            ({"device": CPU(least_part=50)}, "device was CPU"),
        ],
    )
    def test_other_settings(self, changed, message, path, problem):
        with pytest.raises(ValueError, match=f"belongs to another fit .*{message}"):
            embed(problem.train, checkpoint=path, resume=True, **{"seed": 0, "epochs": 3, **changed})

    def test_other_data(self, path, problem):
        with pytest.raises(ValueError, match="data was"):
            embed(problem.train.take(slice(1, None)), seed=0, epochs=3, checkpoint=path, resume=True)

    def test_without_the_wish_to_resume(self, path, problem):
        with pytest.raises(ValueError, match="exists; resume from it, or remove it"):
            embed(problem.train, seed=0, epochs=3, checkpoint=path)

    def test_a_file_that_is_not_a_checkpoint(self, problem, tmp_path):
        (tmp_path / "state").write_text("nothing")
        with pytest.raises(ValueError, match="is not a checkpoint"):
            embed(problem.train, seed=0, checkpoint=tmp_path / "state", resume=True)

    def test_a_fit_without_a_seed(self, problem, tmp_path):
        with pytest.raises(ValueError, match="needs a whole number, to be repeatable"):
            embed(problem.train, seed=None, checkpoint=tmp_path / "state")

    def test_resuming_from_nowhere(self, problem):
        with pytest.raises(ValueError, match="there is no checkpoint to resume from"):
            embed(problem.train, resume=True)


class TestDamaged:
    """Compiled code does not check its input: with an array of another shape it would read and write anywhere."""

    @pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"lbfgs"}))
    def test_unsuitable_arrays(self, solver, problem, tmp_path):
        asked = {"solver": solver, "seed": 0, "epochs": 3, "checkpoint": tmp_path / "state"}
        embed(problem.train, **asked)
        arrays = contents(tmp_path / "state")
        assert {f"0.state.{name}" for name in SOLVERS[solver]().state_kinds} == {n for n in arrays if ".state." in n}
        for name, array in arrays.items():
            for other in other_arrays(array):
                with_arrays(tmp_path / "state", arrays | {name: other})
                with pytest.raises(ValueError, match=r"damaged|is not a checkpoint|another version"):
                    embed(problem.train, **asked, resume=True)
            with_arrays(tmp_path / "state", {one: there for one, there in arrays.items() if one != name})
            with pytest.raises(ValueError, match=r"damaged|is not a checkpoint"):
                embed(problem.train, **asked, resume=True)

    def test_unsuitable_descriptions(self, problem, tmp_path):
        """Some nonsense does no harm; anything else is an error of one sentence."""
        asked = {"loss": "auto", "seed": 0, "epochs": 2, "checkpoint": tmp_path / "state"}
        embed(problem.train, **asked)
        arrays = contents(tmp_path / "state")
        for text in list(other_texts(str(arrays["about"])))[::30]:
            with_arrays(tmp_path / "state", arrays | {"about": np.array(text)})
            with contextlib.suppress(ValueError):
                embed(problem.train, **asked, resume=True)

    def test_a_state_of_a_solver_that_has_none(self, problem, tmp_path):
        asked = {"seed": 0, "epochs": 3, "checkpoint": tmp_path / "state"}
        embed(problem.train, **asked)
        of_another = contents(tmp_path / "state")
        (tmp_path / "state").unlink()
        embed(problem.train, **asked, solver="lbfgs")
        own = contents(tmp_path / "state")
        about = json.loads(str(own["about"])) | {"starts": json.loads(str(of_another["about"]))["starts"]}
        with_arrays(tmp_path / "state", of_another | {"about": np.array(json.dumps(about))})
        with pytest.raises(ValueError, match="damaged: it contains a solver state, but the solver has none"):
            embed(problem.train, **asked, solver="lbfgs", resume=True)

    @pytest.mark.parametrize("size", [0, 1, 100, 500])
    def test_a_file_that_ends_early(self, size, problem, tmp_path):
        asked = {"seed": 0, "epochs": 3, "checkpoint": tmp_path / "state"}
        embed(problem.train, **asked)
        (tmp_path / "state").write_bytes((tmp_path / "state").read_bytes()[:size])
        with pytest.raises(ValueError, match="is not a checkpoint"):
            embed(problem.train, **asked, resume=True)


def test_a_solver_of_ones_own_cannot_be_misled_either(problem):
    objective = CPU().objective(problem.train, STE())
    for x in (np.zeros((14, 2)), np.zeros((16, 2)), np.zeros(15), np.zeros((15, 2, 2))):
        for evaluate in (objective.at, objective.value):
            with pytest.raises(ValueError, match="expected one row for each of 15 objects"):
                evaluate(x)


class TestTheChoiceOfALoss:
    def test_is_kept_since_a_race_that_ran_out_of_time_may_end_otherwise(self, problem, tmp_path):
        asked = {
            "loss": "auto",
            "solver": CountedPolyak(),
            "seed": 0,
            "epochs": 6,
            "tolerance": None,
            "checkpoint": tmp_path / "state",
        }
        with pytest.raises(Killed):
            embed(problem.train, **asked, callback=killer(2), time_limit=1e6)
        CountedPolyak.runs.clear()
        resumed = embed(problem.train, **asked, resume=True, time_limit=1e6)
        assert len(CountedPolyak.runs) == 1  # the winner's best start, and no race
        del asked["checkpoint"]
        whole = embed(problem.train, **asked)
        same(resumed, whole)
        assert (resumed.candidates, resumed.best_start) == (whole.candidates, whole.best_start)

    def test_of_another_fit_is_refused(self, problem, tmp_path):
        asked = {"loss": "auto", "epochs": 2, "checkpoint": tmp_path / "state"}
        embed(problem.train, **asked, seed=0)
        with pytest.raises(ValueError, match=r"belongs to another fit \(seed was 0 and is 1"):
            embed(problem.train, **asked, seed=1, resume=True)


class TestHowOften:
    @pytest.fixture
    def writings(self, tmp_path, monkeypatch):
        """Count the writes, on a clock that each write moves by three seconds and the test by any amount."""
        clock, seen = [0.0], []
        monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])

        def write(self):
            seen.append(clock[0])
            clock[0] += 3.0
            if len(seen) == 3:
                raise OSError("full")

        monkeypatch.setattr(Checkpoint, "_write", write)
        keeper = Checkpoint(tmp_path / "state", Fit({}, (1, 1), {}), [np.random.default_rng(0)], resume=False).keeper(0)

        def pass_time(seconds):
            clock[0] += seconds
            keeper(None)
            return seen

        return pass_time

    def test_writing_takes_a_twentieth_of_the_time_at_most_also_where_it_fails(self, writings):
        with pytest.warns(UserWarning, match="could not be written"):
            seen = [writings(1.0) for _ in range(400)][-1]
        assert np.diff(seen)[1:].tolist() == [60.0] * 7


class TestAFileThatCannotBeWritten:
    def test_is_an_error_before_the_fit(self, problem, tmp_path):
        seen = []
        with pytest.raises(OSError, match="nowhere"):
            embed(problem.train, seed=0, checkpoint=tmp_path / "nowhere" / "state",
                     callback=lambda record, x: seen.append(record))  # fmt: skip
        assert not seen

    def test_is_a_warning_later_and_the_map_is_not_lost(self, problem, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()

        def vanish(record, embedding):
            if record.epoch == 1:
                (folder / "state").unlink()
                folder.rmdir()

        with pytest.warns(UserWarning, match="the checkpoint .* could not be written"):
            result = embed(problem.train, seed=0, checkpoint=folder / "state", callback=vanish)
        assert np.array_equal(result.embedding, embed(problem.train, seed=0).embedding)


def test_the_file_holds_arrays_and_json_alone(problem, tmp_path):
    embed(problem.train, seed=0, epochs=3, checkpoint=tmp_path / "state")
    with np.load(tmp_path / "state", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= {"f", "i", "U"}
        assert json.loads(str(file["about"]))["fit"]["solver"]["name"] == "polyak"


class TestWhatAFileIsOf:
    fit = staticmethod(functools.partial(embed, seed=1, epochs=4, solver="batch"))

    def kept(self, answers, path):
        with pytest.raises(Killed):
            self.fit(answers, checkpoint=path, callback=killer(2))

    def test_another_version_may_walk_elsewhere(self, problem, tmp_path):
        self.kept(problem.train, tmp_path / "state")
        arrays = contents(tmp_path / "state")
        about = json.loads(str(arrays["about"]))
        about["fit"]["version"] = "0.0.7"
        with_arrays(tmp_path / "state", arrays | {"about": np.array(json.dumps(about))})
        with pytest.raises(ValueError, match=r"version was 0\.0\.7 and is"):
            self.fit(problem.train, checkpoint=tmp_path / "state", resume=True)

    def test_other_weights_are_other_data(self, problem, tmp_path):
        make = ct.Comparisons.from_triplets if problem.train.shape[1] == 3 else ct.Comparisons.from_quadruplets
        weights = np.linspace(1, 2, len(problem.train))
        self.kept(make(problem.train.rows, weights=weights), tmp_path / "state")
        for others in (weights[::-1], None):
            with pytest.raises(ValueError, match=r"data was .* and is"):
                self.fit(make(problem.train.rows, weights=others), checkpoint=tmp_path / "state", resume=True)


def test_a_failed_write_is_not_retried_at_once(problem, tmp_path, monkeypatch):
    """A full disk, written to after each epoch, would slow the fit."""
    tries = []

    def full(path):
        tries.append(path)
        raise OSError(28, "No space left on device")

    def with_a_full_disk(record, embedding):
        monkeypatch.setattr("closerthan.fit.checkpoint.whole_file", full)
        clock["now"] += 1.0

    clock = {"now": 0.0}
    monkeypatch.setattr("closerthan.fit.checkpoint.time.monotonic", lambda: clock["now"])
    monkeypatch.setitem(Checkpoint.__init__.__kwdefaults__, "seconds", 9.5)
    with pytest.warns(UserWarning, match="could not be written .* the fit continues"):
        embed(problem.train, seed=1, epochs=38, tolerance=None, solver="batch", checkpoint=tmp_path / "state",
              callback=with_a_full_disk)  # fmt: skip
    assert len(tries) == 4  # in 39 seconds, and once more at the end
