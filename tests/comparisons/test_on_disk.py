"""Rows in memory-mapped files: read in blocks, checked in one pass, held out without a copy."""

import os
import tempfile
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import random_comparisons

from closerthan import Comparisons
from closerthan.arrays import frozen
from closerthan.comparisons.on_disk import LARGE, FileRows, TemporaryRows, in_blocks, large_file, survey_rows
from closerthan.comparisons.stored import StoredComparisons


def temporary(array, block_rows=7):
    """The same array in a temporary file, which counts as large and is read a few rows at a time."""
    copy = TemporaryRows(array.shape, None, array.dtype, block_rows)
    copy.write(0, array)
    return frozen(copy)


@pytest.fixture
def stored(kind, rng):
    return temporary(random_comparisons(kind, rng, n_rows=100).rows)


@pytest.fixture
def mapped(kind, rng, tmp_path):
    np.save(tmp_path / "a.npy", random_comparisons(kind, rng, n_rows=100).rows)
    return np.load(tmp_path / "a.npy", mmap_mode="r")


def test_blocks_of_a_file_are_its_rows(mapped):
    for part in (mapped, mapped[13:90]):
        blocks = [(first, block.copy()) for first, block in in_blocks(part, 7)]
        assert [first for first, _ in blocks] == list(range(0, len(part), 7))
        assert np.array_equal(np.concatenate([block for _, block in blocks]), part)


def test_rows_in_memory_or_of_other_types_have_no_file(mapped):
    assert FileRows.of(np.array(mapped)) is None
    assert FileRows.of(mapped[:, ::-1]) is None
    assert FileRows.of(mapped.view(np.uint32)) is None


def test_a_truncated_file_is_a_clear_error(mapped, tmp_path):
    rows = FileRows.of(mapped)
    with open(tmp_path / "a.npy", "r+b") as file:
        file.truncate(500)
    with pytest.raises(ValueError, match=r"a\.npy ends at row \d+, but had 100 when it was opened.*start again"):
        rows.read(0, 100)


def test_a_deleted_file_is_a_clear_error(mapped, tmp_path):
    (tmp_path / "a.npy").unlink()
    with pytest.raises(ValueError, match=r"a\.npy cannot be read: No such file.*start again"):
        FileRows.of(mapped)


def test_temporary_rows_are_read_as_they_were_written_and_leave_no_file(mapped, tmp_path):
    copy = TemporaryRows(mapped.shape, tmp_path)
    copy.write(10, mapped[10:])
    copy.write(0, mapped[:10])
    assert np.array_equal(FileRows.of(copy[5:]).read(0, 95), mapped[5:])
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_temporary_rows_go_elsewhere_if_a_folder_is_not_writable(tmp_path):
    assert TemporaryRows((2, 3), tmp_path / "none").folder != str(tmp_path / "none")


def test_a_modified_file_is_a_clear_error(mapped, tmp_path):
    rows = FileRows.of(mapped)
    assert np.array_equal(rows.read(0, 100), mapped)
    os.utime(tmp_path / "a.npy", ns=(1, 1))
    for file in (rows, FileRows.of(mapped)):  # cached facts about the file no longer hold
        with pytest.raises(ValueError, match=r"a\.npy was changed while it was being read; do not modify it"):
            file.read(0, 100)


def test_a_mapped_file_is_read_in_blocks_from_the_size_limit_on(tmp_path):
    sizes = (LARGE // 12, LARGE // 12 + 1)  # sparse files, which take no room on the disk
    files = [large_file(np.memmap(tmp_path / f"{n}", np.int32, "w+", shape=(n, 3))) for n in sizes]
    assert [file is not None for file in files] == [False, True]


class TestNoRoom:
    def test_a_copy_that_no_disk_has_room_for_is_refused_before_it_is_written(self, tmp_path):
        message = r"a copy of the answers of 1\.2e\+10 GB is needed, but .* GB free; make room, or set TMPDIR"
        with pytest.raises(ValueError, match=message):
            TemporaryRows((10**18, 3), tmp_path)

    def test_no_folder_is_writable(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "neither"))
        with pytest.raises(ValueError, match=r"none is not writable, and .*neither is not writable; make room"):
            TemporaryRows((2, 3), tmp_path / "none")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_disk_that_becomes_full_is_a_clear_error(self, tmp_path):
        copy = TemporaryRows((2, 3), tmp_path)
        copy.descriptor = os.open("/dev/full", os.O_WRONLY)
        with pytest.raises(ValueError, match=r"GB in .* could not be written: No space left on device; make room"):
            copy.write(0, np.ones((2, 3), np.int32))
        os.close(copy.descriptor)

    def test_a_limit_on_file_sizes_is_a_clear_error(self, tmp_path):
        resource = pytest.importorskip("resource")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(ValueError, match="could not be written: File too large; make room"):
                TemporaryRows((1000, 3), tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert not list(tmp_path.iterdir())


class TestLargeFiles:
    def test_a_survey_agrees_with_the_checks_in_memory(self, stored):
        survey = survey_rows(stored)
        assert (survey.least, survey.largest) == (stored.min(), stored.max())
        assert (survey.self_pair, survey.same_pair) == (None, None)
        assert np.array_equal(np.flatnonzero(survey.mentioned), np.unique(stored))

    def test_comparisons_share_the_file(self, stored):
        answers = Comparisons.of(stored)
        assert np.shares_memory(answers.rows, stored)
        assert np.array_equal(answers.mentioned, Comparisons.of(np.array(stored)).mentioned)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((1, 1, 2), "row 50: object 1 is compared with itself"),
            ((1, 2, 2), "row 50: both pairs are 1 and 2"),
            ((-1, 2, 3), "row 50: object -1 is negative"),
        ],
    )
    def test_errors_are_those_of_rows_in_memory(self, row, message, rng):
        rows = np.array(random_comparisons("triplets", rng, n_rows=100).rows)
        rows[50] = row
        for data in (rows, temporary(rows)):
            with pytest.raises(ValueError, match=message):
                Comparisons.of(data)

    def test_an_object_number_out_of_range_is_refused(self, stored):
        with pytest.raises(ValueError, match="too large for 5 objects"):
            Comparisons.of(stored, n_objects=5)

    def test_a_part_has_its_own_objects(self):
        answers = Comparisons.of(temporary(np.array([[0, 1, 2], [3, 4, 5], [0, 1, 3]], np.int32)))
        assert answers.take(slice(1)).mentioned.tolist() == [True] * 3 + [False] * 3

    def test_a_split_has_each_row_once_and_no_question_twice(self, stored, rng):
        answers = Comparisons.of(stored)
        train, held_out = answers.split(0.3, rng)
        assert np.shares_memory(train.rows, stored)
        assert np.array_equal(held_out.rows, stored[train.skipped])
        assert 5 < len(held_out) < 60
        rest = np.delete(np.array(stored), train.skipped, axis=0)
        questions = [{frozenset(row) for row in rows.tolist()} for rows in (rest, held_out.rows)]
        assert not questions[0] & questions[1]

    def test_a_second_split_holds_out_additional_rows(self, stored, rng):
        train, held_out = Comparisons.of(stored).split(0.3, rng)
        less, more = train.split(0.3, rng)
        assert len(less.skipped) == len(held_out) + len(more)

    def test_a_sample_contains_no_skipped_rows(self, stored, rng):
        train, held_out = Comparisons.of(stored).split(0.3, rng)
        rows = {tuple(row) for row in train.sample(99, rng).rows.tolist()}
        assert rows.isdisjoint({tuple(row) for row in held_out.rows.tolist()})
        assert 30 < len(train.take(slice(None))) == 100 - len(held_out)

    def test_a_sample_of_all_rows_counts_no_skipped_rows(self, stored, rng):
        train, held_out = Comparisons.of(stored).split(0.3, rng)
        everything = train.sample(1000, rng)
        assert len(everything) == 100 - len(held_out)
        assert np.array_equal(everything.rows, np.delete(np.array(stored), train.skipped, axis=0))

    def test_weights_may_be_in_memory_or_in_a_file(self, stored):
        in_a_file = temporary(np.ones(100))
        for weights in (np.ones(100), in_a_file):
            answers = Comparisons.of(stored, weights=weights)
            assert isinstance(answers, StoredComparisons)
            assert answers.total_weight == 100
        assert np.shares_memory(answers.weights, in_a_file)

    def test_an_invalid_weight_in_a_file_is_an_error(self, stored):
        for bad in (-1.0, np.nan, np.inf):
            weights = np.ones(100)
            weights[7] = bad
            with pytest.raises(ValueError, match=f"row 7: the weight is {bad}"):
                Comparisons.of(stored, weights=temporary(weights))


def test_checking_and_splitting_take_memory_for_a_few_blocks(rng):
    anchors = rng.integers(1000, size=300_000)
    rows = (anchors[:, None] + [0, 1, 2] + rng.integers(100, size=(300_000, 1)) * [0, 0, 1]) % 1000
    stored = temporary(rows.astype(np.int32), block_rows=1 << 12)  # 3.6 MB
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = Comparisons.of(stored)
    answers.split(0.001, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_500_000
