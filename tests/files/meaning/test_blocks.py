"""Blocks of dependent trials: they are chains in files, and held out whole."""

import csv
import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons.chains import find_chains
from closerthan.comparisons.stored import StoredComparisons
from closerthan.evaluate.cross_validation import folds
from closerthan.files.meaning.reading import Reading
from closerthan.files.stored.large import Portion, read_large
from closerthan.fit.checkpoint import fingerprint
from closerthan.metrics import effective_number

N_OBJECTS = 30


def chained_rows(n_people, n_blocks, seed, *, length=12, noise=0.7):
    """Return rows, people and blocks of a study in which each screen replaces one of three objects.

    Within a block all objects are perceived with the same errors, so its answers agree with each other.
    """
    rng = np.random.default_rng(seed)
    points = np.random.default_rng(99).standard_normal((N_OBJECTS, 2))
    rows, people, blocks = [], [], []
    for person in range(n_people):
        for block in range(n_blocks):
            objects = rng.permutation(N_OBJECTS)[:6]
            perceived = points + noise * rng.standard_normal(points.shape)
            screen = list(objects[:3])
            for place in range(length):
                anchor, near, far = rng.permutation(screen)
                if np.linalg.norm(perceived[anchor] - perceived[near]) > np.linalg.norm(
                    perceived[anchor] - perceived[far]
                ):
                    near, far = far, near
                rows.append((anchor, near, far))
                people.append(person)
                blocks.append(block)
                screen[place % 3] = rng.choice([one for one in objects if one not in screen])
    return np.array(rows), np.array(people), np.array(blocks)


def chained(n_people, n_blocks, seed, **more):
    rows, people, blocks = chained_rows(n_people, n_blocks, seed, **more)
    return ct.Comparisons.from_triplets(
        rows, n_objects=N_OBJECTS, people=people, blocks=blocks, unmentioned="ignore"
    )  # fmt: skip


def write(path, rows, **columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["anchor", "near", "far", *columns])
        for row, *cells in zip(rows, *columns.values(), strict=True):
            writer.writerow([*(f"sound {one:02d}" for one in row), *cells])
    return path


class TestHoldingOut:
    def test_blocks_stay_whole_and_those_of_different_people_are_different(self):
        answers = chained(4, 6, 0)
        assert answers.n_blocks == 24
        assert answers.split_unit() == "blocks"
        for train, test in [answers.split(0.2, np.random.default_rng(0)), *folds(answers, 5)]:
            assert len(train) + len(test) == len(answers)
            assert not set(train.blocks.tolist()) & set(test.blocks.tolist())
        groups = answers.groups()
        assert groups.max() + 1 == 24
        assert (groups == answers.groups("blocks")).all()

    def test_selected_rows_keep_their_blocks(self):
        answers = chained(2, 3, 0)
        part = answers.take(np.arange(10, 40))
        assert part.blocks.tolist() == answers.blocks[10:40].tolist()
        assert part.n_blocks == 4
        assert answers.weighted(np.ones(len(answers))).blocks is answers.blocks
        back = pickle.loads(pickle.dumps(answers))
        assert back.blocks.tolist() == answers.blocks.tolist()
        assert not back.blocks.flags.writeable

    def test_answers_are_the_split_unit_without_blocks(self):
        answers = ct.Comparisons.from_triplets([[0, 1, 2], [0, 1, 3], [2, 1, 0]])
        assert answers.split_unit() == "answers"
        assert answers.groups().tolist() == answers.groups("answers").tolist()
        with pytest.raises(ValueError, match="the answers have no blocks"):
            answers.split(0.5, np.random.default_rng(0), by="blocks")

    def test_a_single_block_cannot_be_split(self):
        answers = chained(1, 1, 0)
        with pytest.raises(ValueError, match="are from one block"):
            answers.split(0.5, np.random.default_rng(0))
        with pytest.warns(UserWarning, match="all answers are from one block"):
            ct.embed(answers, seed=0, epochs=3)

    def test_scikit_learn_folds_keep_blocks_whole(self):
        answers = chained(2, 6, 0)
        for train, test in ct.AnswerKFold(4).split(answers):
            assert not set(answers.blocks[train].tolist()) & set(answers.blocks[test].tolist())
        for train, test in ct.AnswerKFold(4, by="blocks").split(answers.rows, groups=answers.blocks):
            assert not set(answers.blocks[train].tolist()) & set(answers.blocks[test].tolist())
        with pytest.raises(ValueError, match="no blocks; pass groups="):
            next(ct.AnswerKFold(by="blocks").split(answers.rows))

    def test_the_unit_of_a_held_out_error_is_shown(self):
        answers = chained(3, 8, 0)
        assert ct.held_out_error(answers, loss="ste", penalty=0, epochs=5).by == "blocks"
        assert ct.held_out_error(answers, loss="ste", penalty=0, epochs=5, by="people").by == "people"
        assert effective_number(answers) == pytest.approx(24)

    def test_blocks_are_resampled_where_people_are_few(self):
        few = ct.replicate(chained(3, 8, 0), n_replicates=3, loss="ste", penalty=0, seed=0, epochs=5)
        assert (few.by, few.n_units) == ("blocks", 24)
        many = ct.replicate(chained(6, 4, 0), n_replicates=3, loss="ste", penalty=0, seed=0, epochs=5)
        assert (many.by, many.n_units) == ("people", 6)

    def test_a_checkpoint_depends_on_the_blocks(self):
        rows, people, blocks = chained_rows(2, 4, 0)
        marks = {
            fingerprint(ct.Comparisons.from_triplets(rows, people=people, blocks=some, unmentioned="ignore"))
            for some in (blocks, blocks // 2, None)
        }
        assert len(marks) == 3

    def test_holding_out_rows_underestimates_the_error_and_holding_out_blocks_does_not(self):
        errors = []
        for seed in range(6):
            answers, new = chained(5, 8, seed), chained(40, 8, 1000 + seed)
            by_rows, by_blocks = (
                ct.cross_validate(answers, loss="ste", penalty=0, by=by, n_folds=10).mean for by in ("answers", "auto")
            )
            true = ct.metrics.triplet_error(new, ct.embed(answers, loss="ste", penalty=0, seed=0).embedding)
            errors.append((by_rows, by_blocks, true))
        by_rows, by_blocks, true = np.mean(errors, axis=0)
        assert by_rows < true - 0.03
        assert abs(by_blocks - true) < 0.03

    def test_people_with_one_block_each_have_no_groups(self):
        with pytest.raises(ValueError, match="no block of a person can be held out"):
            ct.group_people(chained(8, 1, 0), loss="ste", penalty=0, seed=0)

    @pytest.mark.slow
    def test_maps_per_person_do_not_profit_from_similar_neighbouring_rows(self):
        answers = chained(6, 8, 3)
        by_rows = answers.replace(blocks=None)
        how = {"loss": "ste", "penalty": 0, "most_groups": 2, "seed": 0}
        easy, fair = (ct.group_people(one, **how).tests[-1] for one in (by_rows, answers))
        assert easy.error - easy.one_map_error < fair.error - fair.one_map_error - 0.03
        assert fair.p_value > 0.05


class TestFinding:
    def test_answers_of_different_people_are_in_different_chains(self):
        """Each person begins with the last objects of the previous person."""
        rng = np.random.default_rng(0)
        order = rng.permutation(N_OBJECTS)
        rows = np.array([rng.permutation(order[place : place + 3]) for place in range(20)] * 10)
        people = np.repeat(np.arange(50), 4)
        answers = ct.Comparisons.from_triplets(rows, n_objects=N_OBJECTS, people=people, unmentioned="ignore")
        chains = find_chains(answers)
        assert chains.fraction == 1
        assert chains.chain.tolist() == people.tolist()

    @pytest.mark.parametrize("n_objects", [4, 5, 8, 30])
    def test_random_orders_are_not_chains_even_with_few_objects(self, n_objects):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            rows = [rng.permutation(n_objects)[:3] for _ in range(200)]
            answers = ct.Comparisons.from_triplets(
                rows, n_objects=n_objects, people=rng.integers(4, size=200), unmentioned="ignore"
            )
            assert find_chains(answers) is None

    def test_sorted_rows_and_repeated_questions_are_not_chains(self):
        assert find_chains(ct.datasets.eurodist().comparisons()) is None
        rng = np.random.default_rng(0)
        twice = np.repeat([rng.permutation(20)[:3] for _ in range(100)], 2, axis=0)
        assert find_chains(ct.Comparisons.from_triplets(twice)) is None

    def test_chains_are_found_with_few_objects_and_between_the_rows_of_other_people(self):
        answers = chained(6, 6, 0)
        chains = find_chains(answers)
        assert chains.fraction > 0.8 > 0.3 > chains.by_chance
        order = np.argsort(np.tile(np.arange(72), 6), kind="stable")  # people take turns
        mixed = answers.take(order)
        assert find_chains(mixed).fraction == chains.fraction
        assert find_chains(mixed).n_chains == chains.n_chains

    def test_answers_with_several_rows_are_chained_by_their_objects(self):
        rows, people, _ = chained_rows(4, 5, 0)
        both = np.stack([rows, rows[:, [1, 0, 2]]], axis=1).reshape(-1, 3)  # as an odd-one-out answer gives them
        answers = ct.Comparisons.from_triplets(both, answers=np.arange(len(rows)).repeat(2), people=people.repeat(2))
        chains = find_chains(answers)
        assert chains.n_chains == find_chains(ct.Comparisons.from_triplets(rows, people=people)).n_chains
        assert (chains.chain[::2] == chains.chain[1::2]).all()


class TestFiles:
    def test_a_block_column_is_used_if_answers_are_chained(self, tmp_path):
        rows, people, blocks = chained_rows(5, 6, 0)
        file = write(tmp_path / "a.csv", rows, participant=people, trial_index=blocks, trial=np.arange(len(rows)))
        read = ct.files.read_answers(file)
        assert read.summary.columns["block"] == "trial_index"
        assert read.summary.not_used == ("trial",)
        assert read.comparisons.blocks.tolist() == chained(5, 6, 0).blocks.tolist()
        (note,) = [note for note in read.summary.notes if "share" in note]
        assert "'trial_index': 30 blocks" in note

    def test_a_block_column_is_ignored_if_answers_are_not_chained(self, tmp_path):
        rows, people, blocks = chained_rows(5, 6, 0)
        order = np.random.default_rng(0).permutation(len(rows))
        file = write(tmp_path / "a.csv", rows[order], participant=people, trial_index=blocks)
        read = ct.files.read_answers(file)
        assert read.comparisons.blocks is None
        assert read.summary.notes == ()

    def test_without_a_column_chains_are_blocks(self, tmp_path):
        rows, people, _ = chained_rows(5, 6, 0)
        read = ct.files.read_answers(write(tmp_path / "a.csv", rows, participant=people))
        assert 25 <= read.comparisons.n_blocks <= 30  # a block may begin with the last objects of the previous one
        assert "whole chains of such answers are held out" in read.summary.notes[-1]

    def test_people_are_the_blocks_if_each_person_is_one_chain(self, tmp_path):
        rows, people, _ = chained_rows(12, 1, 0)
        read = ct.files.read_answers(write(tmp_path / "a.csv", rows, participant=people))
        assert read.comparisons.n_blocks == 12
        assert "all answers of a person are held out together" in read.summary.notes[-1]

    def test_one_long_chain_gives_a_warning(self, tmp_path):
        rows, _, _ = chained_rows(1, 1, 0, length=200)
        read = ct.files.read_answers(write(tmp_path / "a.csv", rows))
        assert read.comparisons.blocks is None
        assert "held-out errors will be too low" in read.summary.notes[-1]
        output = CliRunner().invoke(app, ["info", str(tmp_path / "a.csv")]).output
        assert "--column block=NAME" in " ".join(output.split())

    def test_the_column_can_be_named_or_switched_off(self, tmp_path):
        rows, people, blocks = chained_rows(5, 6, 0)
        file = write(tmp_path / "a.csv", rows, participant=people, part=blocks // 2, trial_index=blocks)
        assert ct.files.read_answers(file, columns={"block": "part"}).comparisons.n_blocks == 15
        off = ct.files.read_answers(file, columns={"block": None})
        assert off.comparisons.blocks is None
        assert off.summary.notes == ()
        empty = write(tmp_path / "b.csv", rows, participant=people, part=["", *blocks[1:]])
        with pytest.raises(ValueError, match="the block identifier in 'part' is empty"):
            ct.files.read_answers(empty, columns={"block": "part"})

    @pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz", "mat"])
    def test_blocks_are_written_and_read_again(self, tmp_path, ending):
        answers = chained(5, 6, 0)
        order = np.random.default_rng(0).permutation(len(answers))
        answers = answers.take(order)  # no longer chained, so only the column defines the blocks
        ct.files.write_comparisons(answers, tmp_path / f"a.{ending}")
        back = ct.read_comparisons(tmp_path / f"a.{ending}", n_objects=N_OBJECTS)
        pairs = set(zip(answers.blocks.tolist(), back.blocks.tolist(), strict=True))
        assert len(pairs) == 30

    def test_blocks_of_a_large_file_stay_on_disk_and_are_held_out_whole(self, tmp_path):
        answers = chained(5, 6, 0)
        ct.files.write_comparisons(answers, tmp_path / "a.parquet")
        large, summary = read_large(tmp_path / "a.parquet", Reading(), Portion(large_from=0, block=50))
        assert isinstance(large, StoredComparisons)
        assert summary.columns["block"] == "split_block"
        assert large.blocks.tolist() == answers.blocks.tolist()
        train, test = large.split(0.2, np.random.default_rng(1))
        training_blocks = np.delete(answers.blocks, train.skipped)
        assert set(training_blocks.tolist()).isdisjoint(test.blocks.tolist())
        assert len(training_blocks) + len(test) == len(answers)

    def test_fit_and_compare_hold_out_blocks(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        rows, people, blocks = chained_rows(3, 8, 0)
        write(tmp_path / "a.csv", rows, participant=people, trial_index=blocks)
        fast = ["--epochs", "2", "--folds", "3"]
        assert "24 blocks, each held out as a whole" in CliRunner().invoke(app, ["compare", "a.csv", *fast]).output
        assert "questions, each held out as a whole" in CliRunner().invoke(
            app, ["compare", "a.csv", *fast, "--by", "answers", "--force"]
        ).output  # fmt: skip
        output = (
            CliRunner().invoke(app, ["dims", "a.csv", "--most", "1", "--loss", "ste", "--penalty", "0", *fast]).output
        )
        assert "24 blocks, each held out as a whole" in output
