"""Files that are too large for memory: read in blocks, to the same comparisons."""

import numpy as np
import pytest

import closerthan as ct
from closerthan.comparisons import on_disk
from closerthan.files import read_answers

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = np.array([[0, 1, 2], [3, 4, 1], [1, 0, 4], [4, 2, 0], [2, 3, 1]] * 4, np.int32)
NAMES = np.array(["bee", "ant", "eel", "cat", "dog"])


@pytest.fixture
def usual(monkeypatch):
    """What the usual reader makes of a file."""

    def read(path, **options):
        monkeypatch.setattr(on_disk, "LARGE", 1 << 28)
        found = read_answers(path, **options)
        monkeypatch.setattr(on_disk, "LARGE", 1)
        return found

    monkeypatch.setattr(on_disk, "LARGE", 1)
    monkeypatch.setattr("closerthan.files.large.BLOCK", 6)
    return read


def same(found, expected):
    assert found.comparisons.rows.tolist() == expected.comparisons.rows.tolist()
    assert found.comparisons.names == expected.comparisons.names
    assert found.comparisons.n_objects == expected.comparisons.n_objects
    for name in ("kind", "columns", "numbering", "numbering_reason", "n_mentioned", "n_comparisons"):
        assert getattr(found.summary, name) == getattr(expected.summary, name)
    assert found.summary.n_repeated is None
    assert "large" in str(found.summary)


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
def test_an_array_is_read_as_usual(rows, shared, usual, tmp_path):
    if shared is None:
        rows = np.ascontiguousarray(rows[:, [0, 1, 3, 2]])
    np.save(tmp_path / "a.npy", rows)
    found = read_answers(tmp_path / "a.npy")
    same(found, usual(tmp_path / "a.npy"))
    assert found.comparisons.on_disk is not None
    if shared:
        assert found.comparisons.on_disk.path == str(tmp_path / "a.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def table(cells):
    return pyarrow.table({"far": cells[:, 2], "anchor": cells[:, 0], "note": cells[:, 0], "near": cells[:, 1]})


@pytest.mark.parametrize("cells", [ROWS, ROWS + 1, NAMES[ROWS]], ids=["from 0", "from 1", "names"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_parquet_file_is_read_by_row_groups_as_usual(cells, dictionary, usual, tmp_path):
    written = table(cells)
    if dictionary and cells.dtype.kind == "U":
        written = pyarrow.table({name: written[name].dictionary_encode() for name in written.column_names})
    parquet.write_table(written, tmp_path / "a.parquet", row_group_size=7)
    found = read_answers(tmp_path / "a.parquet")
    same(found, usual(tmp_path / "a.parquet"))
    assert found.comparisons.on_disk is not None


def test_a_parquet_file_that_closerthan_wrote_keeps_its_objects(usual, tmp_path):
    ct.files.write_comparisons(ct.Comparisons.from_triplets(NAMES[ROWS]), tmp_path / "a.parquet")
    same(read_answers(tmp_path / "a.parquet"), usual(tmp_path / "a.parquet"))


def test_what_has_more_columns_is_read_as_usual(usual, tmp_path):
    more = table(ROWS).append_column("weight", pyarrow.array(np.ones(len(ROWS))))
    parquet.write_table(more, tmp_path / "a.parquet")
    found = read_answers(tmp_path / "a.parquet")
    assert found.comparisons.weights is not None
    assert found.summary == usual(tmp_path / "a.parquet").summary


@pytest.mark.usefixtures("usual")
def test_an_empty_cell_is_an_error_that_names_the_row(tmp_path):
    cells = NAMES[ROWS].astype(object)
    cells[12, 1] = None
    parquet.write_table(table(cells), tmp_path / "a.parquet", row_group_size=5)
    with pytest.raises(ValueError, match=r"a\.parquet, row 13: 'near' is empty"):
        read_answers(tmp_path / "a.parquet")


@pytest.mark.usefixtures("usual")
def test_a_missing_file_is_called_missing(tmp_path):
    for name in ("a.npy", "a.parquet"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            read_answers(tmp_path / name)


@pytest.mark.slow
@pytest.mark.usefixtures("usual")
def test_the_command_line_fits_a_large_file_and_reports_it(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from closerthan.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("closerthan.report.page.MOST_SHOWN", 500)
    data = ct.datasets.synthetic(20, 2, 2000, 10, seed=1)
    parquet.write_table(table(data.train.rows), "a.parquet", row_group_size=300)
    done = CliRunner().invoke(app, ["fit", "a.parquet", "--loss", "ste", "--epochs", "3"])
    assert done.exit_code == 0, done.output
    assert "2,000 triplets" in done.output
    assert "of a second fit" in done.output
    assert (tmp_path / "a-map" / "report.html").exists()
