"""Files that are written and read back."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import closerthan as ct
from closerthan.files import read_comparisons, read_map, write_comparisons, write_map
from closerthan.files.formats.tables import MISSING

pytestmark = pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
# Names that a text file preserves; the others are an error.
PLAIN_NAMES = NAMES.map(str.strip).filter(lambda name: name not in MISSING and "\0" not in name)


@pytest.fixture(autouse=True)
def _read_matlab_files_here(monkeypatch):
    """Read MATLAB files in this process: one process per example would take minutes."""
    monkeypatch.setattr("sys.executable", "")


@st.composite
def comparisons(draw, names):
    """Draw comparisons of objects with or without names."""
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
    sources = {}
    if names is not None:
        number = st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
        sources["answers"] = draw(st.none() | number)
        people = st.lists(st.just("") | names.filter(lambda name: name not in MISSING), min_size=4, max_size=4)
        if (which := draw(st.none() | number)) is not None:
            sources["people"] = [people_names[one] for people_names in [draw(people)] for one in which]
        seconds = st.lists(st.just(float("nan")) | st.floats(0, 1e6), min_size=len(rows), max_size=len(rows))
        side = st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows))
        times, sides = draw(st.none() | seconds), draw(st.none() | side)
        # A column without any time is not written.
        times = None if times is None or np.isnan(times).all() else times
        random = draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)).filter(any))
        sources["trials"] = ct.Trials(times, sides, random=random)
    make = ct.Comparisons.from_triplets if width == 3 else ct.Comparisons.from_quadruplets
    return make(rows, weights=weights, n_objects=n_objects, names=called, **sources)


def assert_same(one, other):
    assert one.rows.tolist() == other.rows.tolist()
    assert one.n_objects == other.n_objects
    assert one.names == other.names
    assert (one.weights is None) == (other.weights is None)
    if one.weights is not None:
        assert one.weights.tolist() == other.weights.tolist()
    assert (one.answers is None) == (other.answers is None)
    if one.answers is not None:
        assert one.answers.tolist() == other.answers.tolist()
    assert names_of_people(one) == names_of_people(other)
    np.testing.assert_equal(one.times, other.times)
    np.testing.assert_equal(one.sides, other.sides)
    np.testing.assert_equal(one.random, other.random)


def names_of_people(comparisons):
    if comparisons.people is None:
        return None
    return [comparisons.person_names[person] for person in comparisons.people]


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
def test_numbers_without_names_are_read_back(tmp_path, form, data):
    written = data.draw(comparisons(None))
    path = tmp_path / f"answers{form}"
    write_comparisons(written, path)
    assert_same(read_comparisons(path, numbering="0-based", n_objects=written.n_objects), written)


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl"])
def test_ordinary_names_are_read_back_without_options(tmp_path, form):
    written = ct.Comparisons.from_triplets([["Zürich", "New York, NY", 'a "b"'], ["a;b", "Zürich", "c\nd"]])
    write_comparisons(written, tmp_path / f"answers{form}")
    assert_same(read_comparisons(tmp_path / f"answers{form}"), written)


@pytest.mark.parametrize("form", [".parquet", ".npz", ".mat"])
def test_names_passed_by_the_user_reorder_the_objects_of_a_file(tmp_path, form):
    written = ct.Comparisons.from_triplets([["a", "b", "c"]])
    write_comparisons(written, tmp_path / f"answers{form}")
    read = read_comparisons(tmp_path / f"answers{form}", names=["c", "b", "a"])
    assert (read.rows.tolist(), read.names) == ([[2, 1, 0]], ("c", "b", "a"))
    with pytest.raises(ValueError, match="'a' is not among the 3 names that were passed"):
        read_comparisons(tmp_path / f"answers{form}", names=["c", "b", "d"])


ANSWERS = {
    "triplet": "anchor,near,far,worker\na,b,c,ann\nb,a,d,bob\n",
    "triplet, left and right": "anchor,left,right,winner,worker\na,b,c,c,ann\nb,a,d,d,bob\n",
    "quadruplet": "near_1,near_2,far_1,far_2,worker\na,b,c,d,ann\na,c,b,d,bob\n",
    "odd-one-out": "item_1,item_2,item_3,odd,worker\na,b,c,c,ann\nb,c,d,d,bob\n",
    "most-central": "item_1,item_2,item_3,central,worker\na,b,c,c,ann\nb,c,d,d,bob\n",
    "rank": "anchor,rank_1,rank_2,rank_3,worker\na,b,c,d,ann\nb,a,c,,bob\n",
    "nearest": "anchor,shown_1,shown_2,shown_3,chosen_1,chosen_2,worker\na,b,c,d,b,c,ann\nb,a,c,d,d,,bob\n",
}


@pytest.mark.parametrize("form", [".csv", ".tsv", ".jsonl", ".csv.gz", ".parquet", ".npz", ".mat"])
@pytest.mark.parametrize("kind", ANSWERS)
def test_a_converted_file_keeps_answers_and_people(tmp_path, kind, form):
    (tmp_path / "answers.csv").write_text(ANSWERS[kind])
    original = ct.files.read_answers(tmp_path / "answers.csv")
    read = original.comparisons
    assert (read.n_answers, read.n_people, read.person_names) == (2, 2, ("ann", "bob"))
    assert names_of_people(read) == sorted(names_of_people(read))
    if len(read) == 2:
        assert read.answers is None
    else:
        assert read.answers.tolist() == sorted(read.answers.tolist())
        assert [names_of_people(read)[row] for row in np.unique(read.answers, return_index=True)[1]] == ["ann", "bob"]
    write_comparisons(read, tmp_path / f"converted{form}")
    converted = ct.files.read_answers(tmp_path / f"converted{form}", names=read.names)
    assert_same(converted.comparisons, read)
    assert converted.summary.n_answers == original.summary.n_answers == 2
    assert ("they are 2 answers" in str(converted.summary)) == (len(read) > 2)


def test_information_that_cannot_be_written_is_an_error(tmp_path):
    odd = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[1, 1])
    by_someone = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], people=["a", "b"])
    nobody = ct.Comparisons.from_triplets([[0, 1, 2]], people=["NA"])
    for form in (".csv", ".npz", ".parquet"):
        with pytest.raises(ValueError, match="the person's name 'NA' stands for a missing value"):
            write_comparisons(nobody, tmp_path / f"a{form}")
    for form in (".npy", ".txt"):
        with pytest.raises(ValueError, match="but there are several comparisons per answer; write"):
            write_comparisons(odd, tmp_path / f"a{form}")
        with pytest.raises(ValueError, match="but there are people; write"):
            write_comparisons(by_someone, tmp_path / f"a{form}")


def test_an_answer_column_groups_rows_into_answers(tmp_path):
    """A column called answer holds the choice, and identifiers may restart for each participant."""
    file = tmp_path / "a.csv"
    file.write_text("anchor,near,far,answer,trial,worker\na,b,c,b,1,x\na,b,d,b,1,x\nb,a,c,a,1,y\nb,a,d,a,,y\n")
    assert ct.read_comparisons(file).answers is None
    with pytest.raises(ValueError, match=r"line 5 .*the answer identifier in 'trial' is empty"):
        ct.read_comparisons(file, columns={"answer": "trial"})
    read = ct.read_comparisons(file, columns={"answer": "trial"}, missing="drop")
    assert read.answers.tolist() == [0, 0, 1]


def test_unnamed_people_are_read_as_one_person(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far,worker\na,b,c,NA\nb,a,c,10\nc,a,b,9\nc,b,a,\n")
    read = ct.files.read_answers(tmp_path / "a.csv")
    assert (read.comparisons.person_names, read.comparisons.people.tolist()) == (("", "9", "10"), [0, 2, 1, 0])
    assert read.summary.n_participants == 2
    assert "2 rows do not say who gave the answer" in str(read.summary)


def test_matlab_files_count_from_1(tmp_path):
    from scipy import io

    write_comparisons(ct.Comparisons.from_triplets([[0, 1, 2]]), tmp_path / "a.mat")
    assert io.loadmat(tmp_path / "a.mat")["triplets"].tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("names", "form", "problem"),
    [
        (["a ", "b", "c"], ".csv", "which a text file does not preserve"),
        (["NA", "b", "c"], ".jsonl", "which a text file does not preserve"),
        (["a", "b", "c"], ".npy", "holds only numbers"),
        (["a", "b", "c"], ".txt", "holds only numbers"),
        (["a\0", "b", "c"], ".npz", "NUL"),
        (["", "b", "c"], ".mat", "a name is empty"),
        (["a", "b", "c"], ".xlsx", r"can be written as \.csv, "),
        (["a", "b", "c"], ".npz.gz", r"only text can be written as \.gz"),
    ],
)
def test_content_that_a_format_cannot_preserve_is_an_error_and_leaves_no_file(tmp_path, names, form, problem):
    with pytest.raises(ValueError, match=problem):
        write_comparisons(ct.Comparisons.from_triplets([[0, 1, 2]], names=names), tmp_path / f"answers{form}")
    assert list(tmp_path.iterdir()) == []


# ---- maps -----------------------------------------------------------------------------------------------------------

POINTS = arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 3)), elements=st.floats(-1e300, 1e300))


@pytest.mark.parametrize("form", [".csv", ".parquet", ".npz"])
@quick
@given(points=POINTS, data=st.data())
def test_a_map_is_read_back_exactly(tmp_path, form, points, data):
    unique = st.lists(NAMES.filter(lambda name: "\0" not in name), min_size=5, max_size=5, unique=True)
    names = data.draw(st.none() | unique.map(lambda names: tuple(names[: len(points)])))
    write_map(points, names, tmp_path / f"map{form}")
    again, called = read_map(tmp_path / f"map{form}")
    assert np.array_equal(again, points)
    assert called == names


def test_the_first_column_without_a_title_that_pandas_writes_holds_names_and_no_coordinates(tmp_path):
    (tmp_path / "map.csv").write_text(",x1,x2\n0,0.1,0.2\n1,0.3,0.4\n2,0.5,0.6\n")
    points, names = read_map(tmp_path / "map.csv")
    assert points.tolist() == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    assert names == ("0", "1", "2")


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
def test_an_invalid_map_is_an_error_that_names_the_line(tmp_path, text, problem):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_map(tmp_path / "map.csv")


def test_a_map_without_an_embedding_a_folder_and_a_missing_file_are_errors(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no array 'embedding', only points"):
        read_map(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="is a folder"):
        read_map(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_map(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["map.csv", "map.parquet", "map.npz"])
def test_a_map_instead_of_answers_is_reported_as_a_map(tmp_path, name):
    write_map([[0.5, 1.0], [2.0, 3.0]], ["ant", "bee"], tmp_path / name)
    with pytest.raises(ValueError, match=rf"{name} is a map; a file of answers is expected"):
        read_comparisons(tmp_path / name)


def test_a_failed_write_leaves_the_previous_map(tmp_path):
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
