"""Files of VICE and SPoSE."""

import json

import numpy as np
import pytest

from closerthan.files import read_map, write_vice_folder

X = np.random.default_rng(0).exponential(size=(9, 3))


def test_a_folder_of_vice_is_read_as_it_was_written(tmp_path):
    write_vice_folder(X, tmp_path / "vice", spread=X / 10)
    read, names = read_map(tmp_path / "vice")
    assert np.array_equal(read, X)
    assert names is None
    with np.load(tmp_path / "vice" / "parameters.npz") as arrays:
        assert np.array_equal(arrays["loc"], X)
        assert np.array_equal(arrays["scale"], X / 10)


def test_dimensions_that_were_pruned_are_preferred(tmp_path):
    np.savez(tmp_path / "parameters.npz", loc=X, scale=X)
    assert read_map(tmp_path)[0].shape == (9, 3)
    np.savez(tmp_path / "pruned_params.npz", pruned_loc=X[:, :2], pruned_scale=X[:, :2])
    assert read_map(tmp_path)[0].shape == (9, 2)


def test_dimensions_in_rows_are_transposed(tmp_path):
    np.savez(tmp_path / "pruned_params.npz", pruned_loc=X.T, pruned_scale=X.T)
    assert np.array_equal(read_map(tmp_path / "pruned_params.npz")[0], X)


def test_the_text_files_of_spose_are_read(tmp_path):
    np.savetxt(tmp_path / "spose_embedding_49d_sorted.txt", X)
    assert np.allclose(read_map(tmp_path / "spose_embedding_49d_sorted.txt")[0], X)


def test_sparse_dimensions_are_read_with_their_names(tmp_path):
    about = json.dumps({"names": ["a b", "c, d", "é"]}).encode()
    arrays = {"weights": X[:3], "sparse_dimensions": np.frombuffer(about, dtype=np.uint8)}
    np.savez(tmp_path / "dimensions.npz", **arrays)
    write_vice_folder(X[3:6], tmp_path / "vice")
    for path in (tmp_path, tmp_path / "dimensions.npz"):
        weights, names = read_map(path)
        assert np.array_equal(weights, X[:3])
        assert names == ("a b", "c, d", "é")


def test_damaged_sparse_dimensions_are_refused(tmp_path):
    np.savez(tmp_path / "dimensions.npz", sparse_dimensions=np.zeros(3, dtype=np.uint8))
    with pytest.raises(ValueError, match="damaged file of sparse dimensions"):
        read_map(tmp_path)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"without dimensions.npz of closerthan sparse and without pruned_params.npz"):
        read_map(tmp_path)


def test_a_spread_of_another_shape_is_refused(tmp_path):
    with pytest.raises(ValueError, match="spread has shape"):
        write_vice_folder(X, tmp_path / "vice", spread=X[:, :1])
