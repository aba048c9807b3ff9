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
from closerthan.comparisons import StoredComparisons, on_disk
from closerthan.comparisons.on_disk import FileRows, TemporaryRows, in_blocks, surveyed


@pytest.fixture
def all_large(monkeypatch):
    """Every memory-mapped file is large, and read a few rows at a time."""
    monkeypatch.setattr(on_disk, "LARGE", 1)
    monkeypatch.setattr(on_disk, "BLOCK", 7)


@pytest.fixture
def mapped(kind, rng, tmp_path):
    np.save(tmp_path / "a.npy", random_comparisons(kind, rng, n_rows=100).rows)
    return np.load(tmp_path / "a.npy", mmap_mode="r")


def test_blocks_of_a_file_are_its_rows(mapped):
    for part in (mapped, mapped[13:90]):
        blocks = [(first, block.copy()) for first, block in in_blocks(part, 7)]
        assert [first for first, _ in blocks] == list(range(0, len(part), 7))
        assert np.array_equal(np.concatenate([block for _, block in blocks]), part)


def test_rows_in_memory_and_of_other_types_are_no_file(mapped):
    assert FileRows.of(np.array(mapped)) is None
    assert FileRows.of(mapped[:, ::-1]) is None
    assert FileRows.of(mapped.view(np.uint32)) is None


def test_a_file_that_becomes_shorter_is_an_error_that_says_so(mapped, tmp_path):
    rows = FileRows.of(mapped)
    with open(tmp_path / "a.npy", "r+b") as file:
        file.truncate(500)
    with pytest.raises(ValueError, match=r"a\.npy ends at row \d+, but had 100 when it was opened.*start again"):
        rows.read(0, 100)


def test_a_file_that_is_gone_is_an_error_that_says_so(mapped, tmp_path):
    (tmp_path / "a.npy").unlink()
    with pytest.raises(ValueError, match=r"a\.npy cannot be read: No such file.*start again"):
        FileRows.of(mapped)


def test_temporary_rows_are_read_as_they_were_written_and_leave_nothing(mapped, tmp_path):
    copy = TemporaryRows(mapped.shape, tmp_path)
    copy.write(10, mapped[10:])
    copy.write(0, mapped[:10])
    assert np.array_equal(FileRows.of(copy[5:]).read(0, 95), mapped[5:])
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_temporary_rows_go_elsewhere_if_a_folder_does_not_take_them(tmp_path):
    assert TemporaryRows((2, 3), tmp_path / "none").folder != str(tmp_path / "none")


def test_a_file_that_is_changed_is_an_error_that_says_so(mapped, tmp_path):
    rows = FileRows.of(mapped)
    assert np.array_equal(rows.read(0, 100), mapped)
    os.utime(tmp_path / "a.npy", ns=(1, 1))
    for file in (rows, FileRows.of(mapped)):  # what was found out about it before no longer holds
        with pytest.raises(ValueError, match=r"a\.npy was changed while it was being read; leave it alone"):
            file.read(0, 100)


class TestNoRoom:
    def test_a_copy_that_no_disk_has_room_for_is_refused_before_it_is_written(self, tmp_path):
        message = r"a copy of the answers of 1\.2e\+10 GB is needed, but .* GB free; make room, or set TMPDIR"
        with pytest.raises(ValueError, match=message):
            TemporaryRows((10**18, 3), tmp_path)

    def test_no_folder_can_be_written_to(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "neither"))
        with pytest.raises(ValueError, match=r"none is not writable, and .*neither is not writable; make room"):
            TemporaryRows((2, 3), tmp_path / "none")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_disk_that_becomes_full_is_told_in_a_sentence(self, tmp_path):
        copy = TemporaryRows((2, 3), tmp_path)
        copy.descriptor = os.open("/dev/full", os.O_WRONLY)
        with pytest.raises(ValueError, match=r"GB in .* could not be written: No space left on device; make room"):
            copy.write(0, np.ones((2, 3), np.int32))
        os.close(copy.descriptor)

    def test_a_limit_on_the_size_of_files_is_told_in_a_sentence(self, tmp_path):
        resource = pytest.importorskip("resource")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(ValueError, match="could not be written: File too large; make room"):
                TemporaryRows((1000, 3), tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("all_large")
class TestLargeFiles:
    def test_one_pass_finds_what_the_checks_find(self, mapped):
        survey = surveyed(mapped)
        assert (survey.least, survey.largest) == (mapped.min(), mapped.max())
        assert (survey.self_pair, survey.same_pair) == (None, None)
        assert np.array_equal(np.flatnonzero(survey.mentioned), np.unique(mapped))

    def test_comparisons_share_the_file(self, mapped):
        answers = Comparisons.of(mapped)
        assert np.shares_memory(answers.rows, mapped)
        assert np.array_equal(answers.mentioned, Comparisons.of(np.array(mapped)).mentioned)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ((1, 1, 2), "row 50: object 1 is compared with itself"),
            ((1, 2, 2), "row 50: both pairs are 1 and 2"),
            ((-1, 2, 3), "row 50: object -1 is negative"),
        ],
    )
    def test_what_is_wrong_is_said_as_of_rows_in_memory(self, row, message, rng, tmp_path):
        rows = np.array(random_comparisons("triplets", rng, n_rows=100).rows)
        rows[50] = row
        np.save(tmp_path / "a.npy", rows)
        for given in (rows, np.load(tmp_path / "a.npy", mmap_mode="r")):
            with pytest.raises(ValueError, match=message):
                Comparisons.of(given)

    def test_an_object_too_many_is_refused(self, mapped):
        with pytest.raises(ValueError, match="too large for 5 objects"):
            Comparisons.of(mapped, n_objects=5)

    def test_a_part_has_its_own_objects(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([[0, 1, 2], [3, 4, 5], [0, 1, 3]], np.int32))
        answers = Comparisons.of(np.load(tmp_path / "a.npy", mmap_mode="r"))
        assert answers.take(slice(1)).mentioned.tolist() == [True] * 3 + [False] * 3

    def test_a_split_has_each_row_once_and_no_question_twice(self, mapped, rng):
        answers = Comparisons.of(mapped)
        train, held_out = answers.split(0.3, rng)
        assert np.shares_memory(train.rows, mapped)
        assert np.array_equal(held_out.rows, mapped[train.skipped])
        assert 5 < len(held_out) < 60
        rest = np.delete(np.array(mapped), train.skipped, axis=0)
        asked = [{frozenset(row) for row in rows.tolist()} for rows in (rest, held_out.rows)]
        assert not asked[0] & asked[1]

    def test_a_second_split_holds_out_others_too(self, mapped, rng):
        train, held_out = Comparisons.of(mapped).split(0.3, rng)
        less, more = train.split(0.3, rng)
        assert len(less.skipped) == len(held_out) + len(more)

    def test_a_sample_is_of_rows_that_are_not_skipped(self, mapped, rng):
        train, held_out = Comparisons.of(mapped).split(0.3, rng)
        rows = {tuple(row) for row in train.sample(99, rng).rows.tolist()}
        assert rows.isdisjoint({tuple(row) for row in held_out.rows.tolist()})
        assert 30 < len(train.take(slice(None))) == 100 - len(held_out)

    def test_weights_may_be_in_memory_or_where_they_lie(self, mapped, tmp_path):
        np.save(tmp_path / "weights.npy", np.ones(100))
        on_a_file = np.load(tmp_path / "weights.npy", mmap_mode="r")
        for weights in (np.ones(100), on_a_file):
            answers = Comparisons.of(mapped, weights=weights)
            assert isinstance(answers, StoredComparisons)
            assert answers.total_weight == 100
        assert np.shares_memory(answers.weights, on_a_file)

    def test_a_weight_that_cannot_be_is_an_error_wherever_it_lies(self, mapped, tmp_path):
        for bad in (-1.0, np.nan, np.inf):
            weights = np.ones(100)
            weights[7] = bad
            np.save(tmp_path / "weights.npy", weights)
            with pytest.raises(ValueError, match=f"row 7: the weight is {bad}"):
                Comparisons.of(mapped, weights=np.load(tmp_path / "weights.npy", mmap_mode="r"))


def test_checking_and_splitting_take_memory_for_a_few_blocks(monkeypatch, rng, tmp_path):
    monkeypatch.setattr(on_disk, "LARGE", 1)
    monkeypatch.setattr(on_disk, "BLOCK", 1 << 12)
    anchors = rng.integers(1000, size=300_000)
    rows = (anchors[:, None] + [0, 1, 2] + rng.integers(100, size=(300_000, 1)) * [0, 0, 1]) % 1000
    np.save(tmp_path / "a.npy", rows.astype(np.int32))  # 3.6 MB
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = Comparisons.of(mapped)
    answers.split(0.001, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_500_000
