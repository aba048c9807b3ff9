"""Ties that are kept apart from the other answers."""

import itertools

import numpy as np
import pytest
from studies import answer_all, interview_of, joined

from closerthan.collect.store.access import Access
from closerthan.collect.store.export import answer_lines
from closerthan.files import read_answers

WINNERS = "anchor,left,right,winner,worker\na,b,c,b,w1\na,b,c,tie,w2\nb,a,c,c,w2\nb,c,a,equal,w1\nc,a,b,a,w1\n"
LABELS = "anchor,near,far,label,worker\na,b,c,1,w1\na,b,c,0,w2\nb,c,a,-1,w2\n"


def test_ties_are_read_apart_from_the_answers_about_the_same_objects_and_people(written):
    answers = read_answers(written(WINNERS), ties="keep")
    assert len(answers.comparisons) == 3
    assert answers.ties.names == answers.comparisons.names
    assert answers.ties.person_names == answers.comparisons.person_names
    assert [sorted(row[1:]) for row in answers.ties.rows.tolist()] == [[1, 2], [0, 2]]
    assert answers.ties.people.tolist() == [1, 0]
    assert answers.ties.lines.tolist() == [3, 5]
    assert np.array_equal(np.sort(answers.ties.positions, axis=1), [[0, 1], [0, 1]])
    assert "2 ties are kept apart from the other answers" in answers.summary.notes


def test_a_label_of_0_is_a_tie(written):
    answers = read_answers(written(LABELS), ties="keep")
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [1, 0, 2]]
    assert answers.ties.rows.tolist() == [[0, 1, 2]]


def test_a_file_without_ties_has_none(written):
    answers = read_answers(written(WINNERS.replace("tie", "b").replace("equal", "c")), ties="keep")
    assert (len(answers.comparisons), answers.ties) == (5, None)


def test_ties_among_more_than_two_options_are_dropped(written):
    text = "item_1,item_2,item_3,odd\na,b,c,c\nb,c,a,none\nc,a,b,b\n"
    answers = read_answers(written(text), ties="keep")
    assert (answers.summary.dropped["ties"], answers.ties) == (1, None)


def test_a_file_of_ties_only_is_refused(written):
    with pytest.raises(ValueError, match="all answers are ties, which say nothing about distances"):
        read_answers(written("anchor,left,right,winner\na,b,c,tie\nb,a,c,tie\n"), ties="keep")


def test_an_odd_object_is_found_at_its_position(written):
    text = "item_1,item_2,item_3,odd\na,b,c,c\nb,c,a,b\n"
    answers = read_answers(written(text)).comparisons
    assert answers.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]]
    assert answers.positions.tolist() == [[1, 2], [0, 2], [2, 0], [1, 0]]


def test_a_list_with_the_odd_object_last_has_no_positions(written):
    assert read_answers(written("0 1 2\n1 2 3\n3 1 0\n"), kind="odd-one-out").comparisons.positions is None


def test_objects_in_the_order_of_their_numbers_have_no_positions(written):
    rng = np.random.default_rng(0)
    trios = np.sort([rng.permutation(9)[:3] for _ in range(60)], axis=1)
    lines = [",".join(map(str, [*trio, trio[rng.integers(3)]])) for trio in trios]
    answers = read_answers(written("item_1,item_2,item_3,odd\n" + "\n".join(lines) + "\n"))
    assert answers.comparisons.positions is None
    assert any("in the order of their numbers" in note for note in answers.summary.notes)


def test_ties_of_a_collected_study_are_kept_apart_in_its_folder_and_in_its_exports(tmp_path):
    interview, store = interview_of(tmp_path, tie=True)
    joined(interview)
    turns = itertools.count()
    answer_all(interview, choose=lambda _: "tie" if next(turns) % 3 == 0 else 0)
    n_ties = store.value("SELECT count(*) FROM answers JOIN questions ON question = id "
                         "WHERE said = 'tie' AND kind NOT IN ('practice', 'check')")  # fmt: skip
    lines = list(answer_lines(store, interview.study, Access(tmp_path)))
    (tmp_path / "answers.csv").write_text("".join(lines))
    complete = answer_lines(store, interview.study, Access(tmp_path), everything=True)
    (tmp_path / "all-answers.csv").write_text("".join(complete))
    store.close()
    assert n_ties > 0
    for path in (tmp_path, tmp_path / "answers.csv", tmp_path / "all-answers.csv"):
        kept, dropped = read_answers(path), read_answers(path, ties="drop")
        assert (len(kept.ties), dropped.ties, dropped.summary.dropped["ties"]) == (n_ties, None, n_ties)
        assert np.array_equal(kept.comparisons.rows, dropped.comparisons.rows)
        assert len(kept.comparisons) + n_ties < len(lines)
