"""Features and matrices in files."""

import numpy as np
import pytest

from closerthan.files import read_features


def text(tmp_path, content, name="table.csv"):
    (tmp_path / name).write_text(content, encoding="utf-8")
    return read_features(tmp_path / name)


def test_spaces_in_the_titles_of_a_csv_file_separate_no_columns(tmp_path):
    (tmp_path / "features.csv").write_bytes("\ufeffname of the object,is it big\nant,0\nwhale,1\n".encode())
    features = read_features(tmp_path / "features.csv")
    assert features.names == ("ant", "whale")
    assert features.table.tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(
    ("content", "names", "table"),
    [
        ("name,a,b\nant,1,2\nbee,3,4\n", ("ant", "bee"), [[1, 2], [3, 4]]),
        ("ant,1,2\nbee,3,4\n", ("ant", "bee"), [[1, 2], [3, 4]]),
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("a\tb\n1\t2\n3\t4\n", None, [[1, 2], [3, 4]]),
        (",0,1\nant,1,2\nbee,3,4\n", ("ant", "bee"), [[1, 2], [3, 4]]),
        ("a b\nant 1 2\nbee 3 4\n", ("ant", "bee"), [[1, 2], [3, 4]]),
        ("1.5 2\n3 4e-1\n", None, [[1.5, 2], [3, 0.4]]),
        (",2,3\n2,,4\n3,4,\n", None, [[np.nan, 2, 3], [2, np.nan, 4], [3, 4, np.nan]]),
    ],
)
def test_text_is_read_with_and_without_titles_and_names(tmp_path, content, names, table):
    features = text(tmp_path, content)
    assert features.names == names
    np.testing.assert_array_equal(features.table, table)


def test_a_matrix_has_the_same_names_in_rows_and_columns(tmp_path):
    features = text(tmp_path, '"","ant","bee, small"\n"ant",0,NA\n"bee, small",2.5,0\n')
    assert features.is_matrix
    np.testing.assert_array_equal(features.table, [[0, np.nan], [2.5, 0]])


def test_a_symmetric_table_is_a_matrix(tmp_path):
    assert text(tmp_path, "0,1,\n1,0,2\n,2,0\n").is_matrix
    assert not text(tmp_path, "0,1,2\n1,0,2\n1,2,0\n").is_matrix


def test_arrays_are_read_with_their_names(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3, dtype=np.float32))
    np.savez(tmp_path / "b.npz", features=np.eye(3), names=["a", "b", "c"], other=np.zeros((2, 2)))
    assert read_features(tmp_path / "a.npy").names is None
    assert read_features(tmp_path / "b.npz").names == ("a", "b", "c")


def test_parquet_is_read_with_names(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"stimulus": ["ant", "bee"], "f1": [1.0, None]}), tmp_path / "a.parquet")
    features = read_features(tmp_path / "a.parquet")
    assert features.names == ("ant", "bee")
    np.testing.assert_array_equal(features.table, [[1.0], [np.nan]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("name,a\nant,1\nbee,x\n", r"line 3 \('bee,x'\): expected a name and 1 numbers"),
        ("name,a\nant,1\nant,2\n", "'ant' occurs twice"),
        ("name,a,b\nant,1\n", "line 2"),
        ("name,a\n", "no objects"),
    ],
)
def test_errors_name_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        text(tmp_path, content)


def test_unclear_arrays_and_other_formats_are_errors(tmp_path):
    np.savez(tmp_path / "a.npz", one=np.eye(3), two=np.eye(3))
    with pytest.raises(ValueError, match=r"holds one .*; expected one table of numbers"):
        read_features(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"read from \.csv"):
        text(tmp_path, "", "a.doc")
    with pytest.raises(FileNotFoundError):
        read_features(tmp_path / "missing.csv")
