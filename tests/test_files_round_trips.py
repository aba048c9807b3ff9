"""closerthan.files: what is written is what is read."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import closerthan as ct
from closerthan.files import read_comparisons, read_map, write_comparisons, write_map

pytestmark = pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
# What a text file keeps: see the error for the others.
PLAIN_NAMES = NAMES.map(str.strip).filter(lambda name: name not in ct.files.tables.MISSING and "\0" not in name)


@st.composite
def comparisons(draw, names):
    """Any comparisons, of objects with names or without."""
    n_objects = draw(st.integers(4, 8))
    called = (
        draw(st.none() | st.lists(names, min_size=n_objects, max_size=n_objects, unique=True))
        if names is not None
        else None
    )
    width = draw(st.sampled_from([3, 4]))
    objects = st.permutations(range(n_objects)).map(lambda order: order[:width])
    rows = draw(st.lists(objects, min_size=1, max_size=8))
    weights = None
    if names is not None:
        weight = st.lists(st.floats(0.125, 1e9), min_size=len(rows), max_size=len(rows))
        weights = draw(st.none() | weight)
    make = ct.Comparisons.from_triplets if width == 3 else ct.Comparisons.from_quadruplets
    return make(rows, weights=weights, n_objects=n_objects, names=called)


def assert_same(one, other):
    assert one.rows.tolist() == other.rows.tolist()
    assert one.n_objects == other.n_objects
    assert one.names == other.names
    assert (one.weights is None) == (other.weights is None)
    if one.weights is not None:
        assert one.weights.tolist() == other.weights.tolist()


@pytest.mark.parametrize("form", [".parquet", ".npz", ".mat"])
@quick
@given(data=st.data())
def test_formats_that_list_the_objects_give_the_same_comparisons_back(tmp_path, form, data):
    written = data.draw(comparisons(NAMES.filter(lambda name: "\0" not in name)))
    path = tmp_path / f"answers{form}"
    write_comparisons(written, path)
    assert_same(read_comparisons(path), written)


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl", ".csv.gz", ".jsonl.gz"])
@quick
@given(data=st.data())
def test_text_gives_the_same_comparisons_back_once_the_objects_are_known(tmp_path, form, data):
    written = data.draw(comparisons(PLAIN_NAMES))
    path = tmp_path / f"answers{form}"
    write_comparisons(written, path)
    if written.names is None:
        read = read_comparisons(path, numbering="0-based", n_objects=written.n_objects)
    else:
        read = read_comparisons(path, numbering="names", names=written.names)
    assert_same(read, written)


@pytest.mark.parametrize("form", [".npy", ".txt"])
@quick
@given(data=st.data())
def test_numbers_alone_come_back(tmp_path, form, data):
    written = data.draw(comparisons(None))
    path = tmp_path / f"answers{form}"
    write_comparisons(written, path)
    assert_same(read_comparisons(path, numbering="0-based", n_objects=written.n_objects), written)


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl"])
def test_ordinary_names_need_no_help(tmp_path, form):
    written = ct.Comparisons.from_triplets([["Zürich", "New York, NY", 'a "b"'], ["a;b", "Zürich", "c\nd"]])
    write_comparisons(written, tmp_path / f"answers{form}")
    assert_same(read_comparisons(tmp_path / f"answers{form}"), written)


@pytest.mark.parametrize("form", [".parquet", ".npz", ".mat"])
def test_given_names_reorder_the_objects_that_a_file_names_itself(tmp_path, form):
    written = ct.Comparisons.from_triplets([["a", "b", "c"]])
    write_comparisons(written, tmp_path / f"answers{form}")
    read = read_comparisons(tmp_path / f"answers{form}", names=["c", "b", "a"])
    assert (read.rows.tolist(), read.names) == ([[2, 1, 0]], ("c", "b", "a"))
    with pytest.raises(ValueError, match="'a' is not among the 3 given names"):
        read_comparisons(tmp_path / f"answers{form}", names=["c", "b", "d"])


def test_matlab_files_count_from_1(tmp_path):
    from scipy import io

    write_comparisons(ct.Comparisons.from_triplets([[0, 1, 2]]), tmp_path / "a.mat")
    assert io.loadmat(tmp_path / "a.mat")["triplets"].tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("names", "form", "problem"),
    [
        (["a ", "b", "c"], ".csv", "which a text file does not keep"),
        (["NA", "b", "c"], ".jsonl", "which a text file does not keep"),
        (["a", "b", "c"], ".npy", "holds numbers alone"),
        (["a", "b", "c"], ".txt", "holds numbers alone"),
        (["a\0", "b", "c"], ".npz", "NUL"),
        (["", "b", "c"], ".mat", "a name is empty"),
        (["a", "b", "c"], ".xlsx", r"can be written as \.csv, "),
        (["a", "b", "c"], ".npz.gz", r"only text can be written as \.gz"),
    ],
)
def test_what_a_format_cannot_keep_is_an_error_and_leaves_no_file(tmp_path, names, form, problem):
    with pytest.raises(ValueError, match=problem):
        write_comparisons(ct.Comparisons.from_triplets([[0, 1, 2]], names=names), tmp_path / f"answers{form}")
    assert list(tmp_path.iterdir()) == []


# ---- maps -----------------------------------------------------------------------------------------------------------

POINTS = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 3)), elements=st.floats(-1e300, 1e300))


@pytest.mark.parametrize("form", [".csv", ".parquet", ".npz"])
@quick
@given(points=POINTS, data=st.data())
def test_a_map_comes_back_to_the_last_digit(tmp_path, form, points, data):
    unique = st.lists(NAMES.filter(lambda name: "\0" not in name), min_size=5, max_size=5, unique=True)
    names = data.draw(st.none() | unique.map(lambda names: tuple(names[: len(points)])))
    write_map(points, names, tmp_path / f"map{form}")
    again, called = read_map(tmp_path / f"map{form}")
    assert np.array_equal(again, points)
    assert called == names


def test_a_map_is_read_from_a_saved_result(tmp_path):
    result = ct.embed(ct.Comparisons.from_triplets([["a", "b", "c"]]), n_dims=1, seed=0, epochs=2)
    result.save(tmp_path / "fit.npz")
    points, names = read_map(tmp_path / "fit.npz")
    assert np.array_equal(points, result.embedding)
    assert names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name,x1\na,1\nb,oops\n", r"line 3 \('b,oops'\): expected a name and 1 coordinates"),
        ("name,x1\na,1,2\n", r"line 2 .*expected a name and 1 coordinates"),
        ("name,x1\na,nan\n", r"row 0: the coordinates \[nan\] are not all finite"),
        ("name,x1\na,1\na,2\n", "the name 'a' occurs twice"),
        ("1,2\n3,4\n", "expected a header line"),
        ("", "has no map"),
        ("name,x1\n", "has no map"),
    ],
)
def test_a_bad_map_is_an_error_that_says_where(tmp_path, text, problem):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_map(tmp_path / "map.csv")


def test_a_map_without_an_embedding_a_folder_and_a_missing_file_are_errors(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no array 'embedding', but points"):
        read_map(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="is a folder"):
        read_map(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_map(tmp_path / "none.csv")


def test_a_map_that_cannot_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "map.csv"
    write_map([[1.0]], None, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not all finite"):
        write_map([[np.inf]], None, path)
    with pytest.raises(ValueError, match="1 objects, but 2 names"):
        write_map([[1.0]], ["a", "b"], path)
    with pytest.raises(UnicodeEncodeError):
        write_map([[1.0]], ["\ud800"], path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["map.csv"]
    with pytest.raises(ValueError, match=r"can be written as \.csv, \.parquet, \.npz"):
        write_map([[1.0]], None, tmp_path / "map.xlsx")
