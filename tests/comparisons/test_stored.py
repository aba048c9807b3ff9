"""Answers that stay in files: split, sampled and counted like answers in memory."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from conftest import in_files, random_comparisons

from closerthan import Comparisons, metrics
from closerthan.comparisons.stored import StoredComparisons
from closerthan.fit.checkpoint import fingerprint
from closerthan.metrics import effective_number


@pytest.fixture
def study(rng):
    """Answers of two rows each, of five people, with weights."""
    rows = random_comparisons("triplets", rng, n_rows=100).rows
    return Comparisons.from_triplets(
        np.repeat(rows, 2, axis=0), weights=rng.random(200), answers=np.repeat(np.arange(100), 2),
        people=np.repeat(rng.integers(5, size=100), 2), n_objects=12,
    )  # fmt: skip


def from_0(answers):
    return np.unique(answers, return_inverse=True)[1]


class TestColumns:
    def test_counts_and_sums_are_those_of_columns_in_memory(self, study):
        stored = in_files(study)
        assert isinstance(stored, StoredComparisons)
        assert (stored.n_answers, stored.n_people) == (study.n_answers, study.n_people) == (100, 5)
        assert stored.total_weight == pytest.approx(study.total_weight)

    def test_answers_in_memory_may_have_any_order_so_rows_are_not_read_in_blocks(self, study):
        assert type(in_files(study).replace(answers=study.answers)) is Comparisons

    @pytest.mark.parametrize("size", [1, 3, 7, 1000])
    def test_no_answer_is_cut_by_the_end_of_a_block(self, study, size):
        blocks = [
            (first, {name: column.copy() for name, column in block.items()})
            for first, block in in_files(study).blocks_of_answers(size)
        ]
        assert np.array_equal(np.concatenate([block["rows"] for _, block in blocks]), study.rows)
        ends = [block["answers"][[0, -1]].tolist() for _, block in blocks]
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ends))
        sizes = [len(block["rows"]) for _, block in blocks]
        assert [first for first, _ in blocks] == np.cumsum([0, *sizes])[:-1].tolist()

    @pytest.mark.parametrize("by", ["answers", "people"])
    def test_a_split_does_not_separate_rows_of_a_unit(self, study, by, rng):
        train, held_out = in_files(study).split(0.3, rng, by=by)
        rest = study.take(np.delete(np.arange(200), train.skipped))
        again = study.take(np.asarray(train.skipped))
        assert 0 < len(held_out) < 150
        assert not set(getattr(rest, by).tolist()) & set(getattr(again, by).tolist())
        for name in ("rows", "weights", "people"):
            assert np.array_equal(getattr(held_out, name), getattr(again, name))
        assert np.array_equal(held_out.answers, from_0(again.answers))

    @pytest.mark.parametrize("zero", ["held out", "left"])
    def test_a_part_without_weight_is_an_error(self, study, zero):
        train, _ = in_files(study).split(0.3, np.random.default_rng(0))
        weights = np.full(200, float(zero == "held out"))
        weights[train.skipped] = float(zero == "left")
        stored = in_files(dataclasses.replace(study, weights=weights))
        with pytest.raises(ValueError, match="all comparisons in this part have weight zero"):
            stored.split(0.3, np.random.default_rng(0))

    def test_no_more_people_are_held_out_than_requested(self, study, rng):
        assert in_files(study).split(0.2, rng, by="people")[1].n_people == 1
        with pytest.raises(ValueError, match=r"a fraction of 0\.01 of 5 people leaves one part empty"):
            in_files(study).split(0.01, rng, by="people")

    def test_a_sample_has_all_columns_of_its_rows(self, study, rng):
        some = in_files(study).sample(50, rng)
        assert 20 < len(some) < 90
        again = study.take(np.isin(study.weights, some.weights))
        for name in ("rows", "weights", "people"):
            assert np.array_equal(getattr(some, name), getattr(again, name))
        assert np.array_equal(some.answers, from_0(again.answers))

    @pytest.mark.parametrize("size", [3, 7, 1000])
    def test_beyond_2_31_answers_their_numbers_wrap_around_and_nothing_else_changes(self, study, size, rng):
        many = dataclasses.replace(study, answers=(study.answers + np.int64(2**31 - 50)).astype(np.int32))
        stored = in_files(many)
        assert stored.n_answers == 100
        wrapped, usual = ([first for first, _ in one.blocks_of_answers(size)] for one in (stored, in_files(study)))
        assert wrapped == usual
        part = stored.sample(50, rng)
        assert sorted(set(part.answers.tolist())) == list(range(part.n_answers))

    @pytest.mark.parametrize("by", ["answers", "people", "comparisons"])
    def test_the_effective_number_is_that_of_columns_in_memory(self, study, by, rng):
        x = rng.standard_normal((12, 2))
        assert effective_number(in_files(study), x, by=by) == pytest.approx(effective_number(study, x, by=by))


@pytest.mark.parametrize(("n_questions", "repeats"), [(20, 100), (2_000, 1)])
def test_the_effective_number_of_a_large_file_counts_repeated_questions_once(n_questions, repeats, rng):
    """It is estimated from 500 of 2,000 rows: more rows are more questions only where questions are not repeated."""
    questions = rng.permutation(list(itertools.combinations(range(30), 3)))[:n_questions].astype(np.int32)
    rows = rng.permutation(np.repeat(questions, repeats, axis=0))
    number = metrics._estimated_from_sample(Comparisons(rows, 30), None, "answers", 500)
    assert 0.8 * n_questions < number <= 1.2 * n_questions


class TestInterface:
    """The methods that code outside this package uses instead of asking where the rows are."""

    def test_answers_in_memory_are_enumerable_and_stored_ones_are_not(self, study):
        assert study.cheap_to_enumerate
        assert not in_files(study).cheap_to_enumerate

    def test_in_memory_samples_stored_answers_only(self, study, rng):
        assert study.in_memory(50, rng) is study
        sample = in_files(study).in_memory(50, rng)
        assert type(sample) is Comparisons
        assert 20 < len(sample) < 90

    def test_groups_are_counted_in_memory_and_assumed_in_files(self, study):
        assert study.has_several_groups("people")
        one_question = Comparisons.from_triplets([[0, 1, 2], [2, 0, 1]])
        assert not one_question.has_several_groups()
        assert in_files(one_question).has_several_groups()
        with pytest.raises(ValueError, match="by is 'everybody'"):
            in_files(study).has_several_groups("everybody")

    def test_a_fingerprint_does_not_depend_on_where_the_answers_are(self, study, rng):
        stored = in_files(study)
        assert fingerprint(stored) == fingerprint(study)
        assert fingerprint(stored.split(0.3, rng)[0]) != fingerprint(stored)

    def test_a_pickled_copy_is_in_memory_without_the_rows_held_out(self, study, rng):
        train, _ = in_files(study).split(0.3, rng)
        copy = pickle.loads(pickle.dumps(train))
        assert type(copy) is Comparisons
        for name in ("rows", "weights", "people"):
            assert np.array_equal(getattr(copy, name), np.delete(getattr(study, name), train.skipped, axis=0))

    def test_replacing_the_rows_by_an_array_gives_comparisons_in_memory(self, study):
        stored = in_files(study).replace(answers=None)
        assert isinstance(stored, StoredComparisons)
        assert type(stored.replace(rows=study.rows)) is Comparisons
        assert repr(stored) == "StoredComparisons(200 triplets of 12 objects)"
