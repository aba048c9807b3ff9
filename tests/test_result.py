"""Saving and loading: everything, whole or not at all, without pickles."""

import contextlib
import dataclasses
import functools
import json

import numpy as np
import pytest
from damage import contents, other_arrays, other_texts, with_arrays

import closerthan as ct

embed = functools.partial(ct.embed, loss="ste", penalty=0)  # how a loss is chosen is tested elsewhere


def test_everything_comes_back(problem, tmp_path):
    result = embed(problem.train, seed=0, epochs=3, n_starts=2, validation=0.2)
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert np.array_equal(again.embedding, result.embedding)
    assert again.history.to_csv() == result.history.to_csv()
    for name in ("stopped_by", "best_epoch", "best_start", "starts", "names"):
        assert getattr(again, name) == getattr(result, name)
    assert again.settings == result.settings


def test_a_result_with_further_columns_in_its_history_is_read_too(problem, tmp_path):
    result = embed(problem.train, seed=0, epochs=3)
    result.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        np.savez(tmp_path / "old.npz", **{name: file[name] for name in file.files}, history_sample=np.full(4, 64))
    assert ct.Result.load(tmp_path / "old.npz").history.to_csv() == result.history.to_csv()


def test_a_failed_save_leaves_the_old_file_and_no_litter(problem, tmp_path, monkeypatch):
    result = embed(problem.train, seed=0, epochs=1)
    result.save(tmp_path / "fit.npz")
    old = (tmp_path / "fit.npz").read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(OSError, match="disk full"):
        result.save(tmp_path / "fit.npz")
    assert (tmp_path / "fit.npz").read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 1


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "text.npz").write_text("hello")
    embed([[0, 1, 2]], seed=0, epochs=1).save(tmp_path / "whole.npz")
    (tmp_path / "half.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:200])
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("other.npz", "pickled.npy", "text.npz", "half.npz", "empty.npz"):
        with pytest.raises(ValueError, match="is not a saved result"):
            ct.Result.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        ct.Result.load(tmp_path / "none.npz")


def test_numbers_of_numpys_kinds_are_saved_too(problem, tmp_path):
    result = embed(
        problem.train, seed=np.int64(3), tolerance=np.float32(1e-3), time_limit=np.int64(9), validation=np.float32(0.25)
    )
    result.save(tmp_path / "fit.npz")
    assert ct.Result.load(tmp_path / "fit.npz").settings.seed == 3


@dataclasses.dataclass(frozen=True)
class OwnStep:
    size: float = 0.01

    def __call__(self, epoch, draws, now, before):
        return self.size


def test_a_result_of_our_solver_with_a_users_step_is_saved_and_read(tmp_path):
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    solver = ct.solvers.SVRG(step=OwnStep())
    ct.embed(data.train, loss="ste", penalty=0, solver=solver, seed=0, epochs=2).save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.settings.solver.parameters["step"].name == "OwnStep"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fit.npz"
    ct.embed(ct.datasets.eurodist().comparisons(), seed=0, epochs=2).save(path)
    return contents(path)


class TestDamaged:
    def test_an_unsuitable_array_is_an_error_of_one_sentence(self, saved, tmp_path):
        for name, array in saved.items():
            for other in other_arrays(array):
                with_arrays(tmp_path / "fit.npz", saved | {name: other})
                with contextlib.suppress(ValueError):  # a history may be NaN, or of single precision
                    loaded = ct.Result.load(tmp_path / "fit.npz")
                    assert name != "embedding"
                    assert len(loaded.history) == 3
                    repr(loaded)

    def test_a_description_is_valid_or_an_error_of_one_sentence(self, saved, tmp_path):
        sentences = []
        for text in list(other_texts(str(saved["about"])))[::7]:
            with_arrays(tmp_path / "fit.npz", saved | {"about": np.array(text)})
            try:
                repr(ct.Result.load(tmp_path / "fit.npz"))
            except ValueError as error:
                sentences.append(str(error))
        assert len(sentences) > 50
        assert all("is not a saved result" in sentence and "\n" not in sentence for sentence in sentences)

    def test_names_are_as_many_as_objects(self, saved, tmp_path):
        about = json.loads(str(saved["about"]))
        with_arrays(tmp_path / "fit.npz", saved | {"about": np.array(json.dumps(about | {"names": ["ant"]}))})
        with pytest.raises(ValueError, match="it has 1 names for 21 objects"):
            ct.Result.load(tmp_path / "fit.npz")

    def test_a_file_that_is_not_a_history_is_an_error_of_one_sentence(self, tmp_path):
        for text in ("", "epoch\n1\n", "a,b\n1,2\n", "epoch," + "x" * 200_000 + "\n1,2\n"):
            (tmp_path / "history.csv").write_text(text)
            with contextlib.suppress(ValueError):
                assert len(ct.history.History.from_csv(tmp_path / "history.csv")) == 0
        (tmp_path / "history.csv").write_bytes(b"epoch\n\xff\n")
        with pytest.raises(ValueError, match="is not a history"):
            ct.history.History.from_csv(tmp_path / "history.csv")
