"""Files that are too large for memory, which are read in blocks."""

import tracemalloc

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons import on_disk
from closerthan.comparisons.on_disk import FileRows
from closerthan.comparisons.stored import StoredComparisons
from closerthan.files import read_answers
from closerthan.files.formats.binary.parquet import open_parquet
from closerthan.files.meaning.answers import read
from closerthan.files.meaning.reading import Reading
from closerthan.files.stored.large import Portion, read_large
from closerthan.files.stored.row_columns import RowColumns

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = np.array([[0, 1, 2], [3, 4, 1], [1, 0, 4], [4, 2, 0], [2, 3, 1]] * 4, np.int32)
NAMES = np.array(["bee", "ant", "eel", "cat", "dog"])


FEW_AT_A_TIME = Portion(large_from=1, block=6)


def read_in_blocks(path, **options):
    return read(path, Reading.of(options), portion=FEW_AT_A_TIME)


def same(answers, expected):
    assert answers.comparisons.rows.tolist() == expected.comparisons.rows.tolist()
    assert answers.comparisons.names == expected.comparisons.names
    assert answers.comparisons.n_objects == expected.comparisons.n_objects
    for name in ("kind", "columns", "numbering", "numbering_reason", "n_mentioned", "n_comparisons"):
        assert getattr(answers.summary, name) == getattr(expected.summary, name)
    assert answers.summary.n_repeated is None
    assert "large" in str(answers.summary)


@pytest.mark.parametrize(
    ("rows", "shared"),
    [
        (ROWS, True),
        (ROWS + np.int32(1), False),
        (ROWS.astype(np.int64), False),
        (np.asfortranarray(ROWS), False),
        (ROWS + np.int32(7), False),  # names
        (np.concatenate([ROWS, ROWS[:, :1]], axis=1)[:, [0, 1, 2, 3]][ROWS[:, 1] != ROWS[:, 0]], None),
    ],
    ids=["from 0", "from 1", "64 bits", "by columns", "from 7", "quadruplets"],
)
def test_an_array_is_read_as_usual(rows, shared, tmp_path, monkeypatch):
    if shared is None:
        rows = np.ascontiguousarray(rows[:, [0, 1, 3, 2]])
    np.save(tmp_path / "a.npy", rows)
    usual = read_answers(tmp_path / "a.npy")
    monkeypatch.setattr(on_disk, "LARGE", 1)  # the container decides by the size of the file whether rows stay in it
    answers = read_in_blocks(tmp_path / "a.npy")
    same(answers, usual)
    assert isinstance(answers.comparisons, StoredComparisons)
    if shared:
        assert answers.comparisons.file.path == str(tmp_path / "a.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def table(cells):
    return pyarrow.table({"far": cells[:, 2], "anchor": cells[:, 0], "note": cells[:, 0], "near": cells[:, 1]})


@pytest.mark.parametrize("cells", [ROWS, ROWS + 1, NAMES[ROWS]], ids=["from 0", "from 1", "names"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_parquet_file_is_read_by_row_groups_as_usual(cells, dictionary, tmp_path):
    written = table(cells)
    if dictionary and cells.dtype.kind == "U":
        written = pyarrow.table({name: written[name].dictionary_encode() for name in written.column_names})
    parquet.write_table(written, tmp_path / "a.parquet", row_group_size=7)
    answers = read_in_blocks(tmp_path / "a.parquet")
    same(answers, read_answers(tmp_path / "a.parquet"))
    assert isinstance(answers.comparisons, StoredComparisons)


def test_a_parquet_file_that_closerthan_wrote_keeps_its_objects(tmp_path):
    ct.files.write_comparisons(ct.Comparisons.from_triplets(NAMES[ROWS]), tmp_path / "a.parquet")
    same(read_in_blocks(tmp_path / "a.parquet"), read_answers(tmp_path / "a.parquet"))


WEIGHT = np.arange(len(ROWS)) % 4 / 2
PEOPLE = np.array(["eve", "ann", None, "bob", "ann"])[np.arange(len(ROWS)) // 2 % 5]
TRIAL = np.repeat([0, 0, 0, 0, 1, 1, 2, 1, 1, 3], 2)  # numbered from 0 for each person


def with_columns(tmp_path, **columns):
    more = table(ROWS)
    for name, cells in columns.items():
        more = more.append_column(name, pyarrow.array(cells))
    parquet.write_table(more, tmp_path / "a.parquet", row_group_size=7)
    return tmp_path / "a.parquet"


@pytest.mark.parametrize(
    "columns",
    [
        {"weight": WEIGHT},
        {"weight": WEIGHT.astype(int)},
        {"participant": PEOPLE},
        {"participant": np.arange(len(ROWS)) % 3},
        {"answer_id": TRIAL, "participant": PEOPLE},
        {"answer_id": [f"a{number // 2}" for number in range(len(ROWS))]},
        {"weight": WEIGHT, "answer_id": np.arange(len(ROWS)) // 3, "participant": PEOPLE, "rt": WEIGHT},
    ],
    ids=lambda columns: "-".join(columns),
)
def test_columns_of_a_large_file_are_read_as_usual_and_stay_on_disk(columns, tmp_path):
    path = with_columns(tmp_path, **columns)
    answers, summary = read_large(path, Reading(), FEW_AT_A_TIME)
    expected = read_answers(path)
    for name in ("rows", "weights", "answers", "people"):
        here, there = getattr(answers, name), getattr(expected.comparisons, name)
        assert (here is None) == (there is None)
        if there is not None:
            assert np.array_equal(here, there)
            assert FileRows.of(here) is not None
    assert answers.person_names == expected.comparisons.person_names
    for name in ("n_rows", "n_answers", "n_participants"):
        assert getattr(summary, name) == getattr(expected.summary, name)
    assert ("'rt' are not read" in str(summary)) == ("rt" in columns)
    assert isinstance(answers, StoredComparisons)


SEVEN = np.array(list("abcdefg"))
NEAREST = {f"shown_{place}": SEVEN[(np.arange(20) + place) % 7] for place in range(1, 5)}


@pytest.mark.parametrize(
    "columns",
    [
        {
            "item_1": NAMES[ROWS[:, 0]],
            "item_2": NAMES[ROWS[:, 1]],
            "odd": NAMES[ROWS[:, 2]],
            "item_3": NAMES[ROWS[:, 2]],
        },
        {"item_1": ROWS[:, 0], "item_2": ROWS[:, 1], "item_3": ROWS[:, 2], "odd": np.arange(20) % 3 + 1},
        dict(zip(("anchor", "left", "right", "winner"), NAMES[ROWS[:, [0, 1, 2, 2]]].T, strict=True), weight=WEIGHT),
        {"anchor": ROWS[:, 0], "near": ROWS[:, 1], "far": ROWS[:, 2], "label": np.resize([1, -1], 20)},
        {"anchor": SEVEN[np.arange(20) % 7], **NEAREST, "chosen": NEAREST["shown_2"], "participant": PEOPLE},
    ],
    ids=["odd-one-out", "places", "winner", "label", "nearest"],
)
def test_every_kind_of_question_is_read_in_batches(columns, tmp_path):
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet", row_group_size=7)
    large = read_large(tmp_path / "a.parquet", Reading(), FEW_AT_A_TIME)
    expected = read_answers(tmp_path / "a.parquet")
    if "odd" in columns and columns["odd"].dtype.kind == "i":
        assert large is None  # a few rows do not show whether these are objects or positions
        return
    answers, summary = large
    assert answers.names == expected.comparisons.names
    for name in ("rows", "weights", "answers", "people"):
        assert np.array_equal(getattr(answers, name), getattr(expected.comparisons, name)), name
    assert isinstance(answers, StoredComparisons)
    for name in ("kind", "columns", "n_rows", "n_used", "n_answers", "n_comparisons", "numbering"):
        assert getattr(summary, name) == getattr(expected.summary, name), name


def test_lists_of_different_lengths_are_left_to_the_usual_reader(tmp_path):
    rows = {"anchor": [0, 1, 2], "rank_1": [1, 2, 3], "rank_2": [2, 3, 4], "rank_3": [3, 4, None]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "a.parquet")
    assert len(read_answers(tmp_path / "a.parquet").comparisons) == 7
    assert read_large(tmp_path / "a.parquet", Reading(), FEW_AT_A_TIME) is None


@pytest.mark.parametrize(
    "columns",
    [
        {"answer_id": np.arange(len(ROWS)) % 5},  # the rows of an answer are not contiguous
        {"split": ["train", "test"] * (len(ROWS) // 2)},
        {"weight": [str(weight) for weight in WEIGHT]},
    ],
    ids=lambda columns: "-".join(columns),
)
def test_files_that_cannot_be_read_in_blocks_are_left_to_the_usual_reader(columns, tmp_path):
    assert read_large(with_columns(tmp_path, **columns), Reading(), FEW_AT_A_TIME) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"weight": [*WEIGHT[:-4], None, 1, 1, 1]}, r"a\.parquet, row 16: the weight in 'weight' is empty"),
        ({"weight": [*WEIGHT[:-4], -2.0, 1, 1, 1]}, r"row 16: the weight in 'weight' is -2; weights must be finite"),
        ({"weight": 0 * WEIGHT}, "all weights are zero"),
        ({"answer_id": [*TRIAL[:-1].tolist(), None]}, r"row 19: the answer identifier in 'answer_id' is empty"),
    ],
)
def test_an_invalid_cell_outside_the_objects_is_an_error_that_names_the_row(columns, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_large(with_columns(tmp_path, **columns), Reading(), FEW_AT_A_TIME)


def test_row_groups_are_released_after_reading(tmp_path):
    cells = np.random.default_rng(0).integers(1 << 30, size=(400_000, 3), dtype=np.int32)
    parquet.write_table(table(cells), tmp_path / "a.parquet", row_group_size=20_000)  # of 0.3 MB
    before = pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in open_parquet(tmp_path / "a.parquet").iter_batches(20_000)]
    assert max(held) < 3_000_000  # all of them are 6.4 MB


def test_weights_and_people_take_no_memory(tmp_path):
    batch = pyarrow.record_batch({"w": np.arange(4096) / 7, "who": np.arange(4096) % 100})
    tracemalloc.start()
    beside = RowColumns(tmp_path / "a.parquet", {"weight": "w", "participant": "who"}, 100 * len(batch))
    for first in range(0, 100 * len(batch), len(batch)):
        beside.add(first, batch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000  # both columns together are 4.9 MB


@pytest.mark.parametrize(
    ("cells", "empty"), [(NAMES[ROWS], None), (NAMES[ROWS], ""), (NAMES[ROWS], "NA"), (ROWS, None)]
)
def test_an_empty_cell_is_an_error_that_names_the_row_as_usual(cells, empty, tmp_path):
    cells = cells.astype(object)
    cells[12, 1] = empty
    parquet.write_table(table(cells), tmp_path / "a.parquet", row_group_size=5)
    for one in (read_answers, read_in_blocks):
        with pytest.raises(ValueError, match=r"a\.parquet, row 12\b.* is empty"):
            one(tmp_path / "a.parquet")


def test_names_with_spaces_or_that_resemble_empty_cells_are_read_as_usual(tmp_path):
    names = np.array(["bee", "bee ", "NA", "cat", "dog"])
    parquet.write_table(table(names[ROWS]), tmp_path / "a.parquet")
    answers = read_in_blocks(tmp_path / "a.parquet", names=names)
    same(answers, read_answers(tmp_path / "a.parquet", names=names))
    assert answers.comparisons.names == tuple(names)


def test_a_missing_file_is_reported_as_missing(tmp_path):
    for name in ("a.npy", "a.parquet"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            read_in_blocks(tmp_path / name)


@pytest.mark.slow
def test_the_command_line_fits_a_large_file_and_reports_it(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from closerthan.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(on_disk, "LARGE", 1)
    monkeypatch.setattr("closerthan.files.stored.large.BLOCK", 6)
    monkeypatch.setattr("closerthan.report.page.MOST_SHOWN", 500)
    data = ct.datasets.synthetic(20, 2, 2000, 10, seed=1)
    parquet.write_table(table(data.train.rows), "a.parquet", row_group_size=300)
    result = CliRunner().invoke(app, ["fit", "a.parquet", "--loss", "ste", "--penalty", "0", "--epochs", "3"])
    assert result.exit_code == 0, result.output
    assert "2,000 triplets" in result.output
    assert "from a second fit" in result.output
    assert (tmp_path / "a-map" / "report.html").exists()
