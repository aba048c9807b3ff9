"""Participants, response times, sides, and lines of the file."""

import gzip

import numpy as np
import pytest

from closerthan.files import read_answers, read_comparisons, write_comparisons

TEXT = "anchor,near,far,{}\na,b,c,{}\nb,a,c,{}\nc,b,a,{}\n"


# ---- who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    ["participant", "worker_id", "WorkerId", "subject", "Subject Nr", "rater", "puid", "PROLIFIC_PID", "participantId"],
)
def test_the_usual_names_of_participants_are_recognised(written, title):
    answers = read_answers(written(TEXT.format(title, "w2", "w1", "w2")))
    assert answers.participants.tolist() == ["w2", "w1", "w2"]


def test_the_preferred_name_decides_between_two_columns_of_participants(written):
    answers = read_answers(written("anchor,near,far,puid,participant\na,b,c,7,w1\nb,a,c,8,w2\n"))
    assert (answers.summary.columns["participant"], answers.summary.not_used) == ("participant", ("puid",))


# ---- how quickly ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "cells", "seconds"),
    [
        ("rt", ("850", "1200", "430"), [0.85, 1.2, 0.43]),
        ("rt", ("85", "220", "43"), [0.085, 0.22, 0.043]),  # hurried answers
        ("rt", ("25", "50", "49"), [25, 50, 49]),  # slow, but a median of 49 ms is impossible
        ("response_time", ("0.85", "1.2", "0.43"), [0.85, 1.2, 0.43]),
        ("reaction_time_ms", ("5", "12", "43"), [0.005, 0.012, 0.043]),
        ("RT_s", ("50", "120", "43"), [50, 120, 43]),
        ("responseTime", ("1", "", "NA"), [1, np.nan, np.nan]),
    ],
)
def test_times_are_seconds(written, title, cells, seconds):
    answers = read_answers(written(TEXT.format(title, *cells)))
    assert answers.summary.columns["time"] == title
    np.testing.assert_allclose(answers.comparisons.times, seconds, rtol=1e-15)


def test_a_guessed_unit_gives_a_note(written):
    summary = read_answers(written(TEXT.format("rt", 850, 1200, 430))).summary
    assert "the times in 'rt' are taken to be milliseconds: their median is 850" in summary.notes
    assert "times        half of the answers took at most 0.85 s" in str(summary)
    assert not read_answers(written(TEXT.format("rt_ms", 850, 1200, 430))).summary.notes


def test_an_implausible_unit_of_times_is_corrected(written):
    answers = read_answers(written(TEXT.format("rt_s", 2010, 2500, 1800)))
    assert answers.comparisons.times.tolist() == [2.01, 2.5, 1.8]
    (note,) = answers.summary.notes
    assert "as the name implies, is implausible" in note


@pytest.mark.parametrize(
    ("name", "cells"), [("rt_s", (75, 90, 120)), ("rt_ms", (400, 80, 90)), ("rt_ms", (60, 55, 70))]
)
def test_plausible_times_keep_the_unit_in_the_column_name(written, name, cells):
    answers = read_answers(written(TEXT.format(name, *cells)))
    assert answers.comparisons.times.tolist() == [cell / (1000 if name == "rt_ms" else 1) for cell in cells]
    assert answers.summary.notes == ()


def test_the_median_time_is_over_answers_and_not_over_comparisons(written):
    # One slow answer gives ten comparisons, two quick answers give one each.
    text = "anchor,rank_1,rank_2,rank_3,rank_4,rank_5,rt_s\na,b,c,d,e,f,40\nb,a,c,,,,2\nc,a,b,,,,3\n"
    answers = read_answers(written(text))
    assert len(answers.comparisons) == 12
    assert answers.summary.median_time == 3


def test_an_invalid_time_is_missing(written):
    answers = read_answers(written(TEXT.format("rt", -1, 1200, "inf")))
    np.testing.assert_equal(answers.comparisons.times, [np.nan, 1.2, np.nan])
    assert any("2 times in 'rt' are negative or infinite" in note for note in answers.summary.notes)


def test_a_column_without_times_is_an_error_only_if_chosen_explicitly(written):
    path = written(TEXT.format("latency", "quick", 1200, 430))
    answers = read_answers(path)
    assert (answers.comparisons.times, "time" in answers.summary.columns) == (None, False)
    assert any("'latency' is not used: it holds 'quick'" in note for note in answers.summary.notes)
    with pytest.raises(ValueError, match=r"line 2 .*the time in 'latency' is 'quick'; expected a number"):
        read_answers(path, columns={"time": "latency"})
    assert read_answers(written(TEXT.format("rt", "", "", ""))).comparisons.times is None


def test_all_comparisons_of_an_answer_have_its_time(written):
    comparisons = read_comparisons(written("item_1,item_2,item_3,odd,rt_s\na,b,c,c,2\nd,e,f,d,3\n"))
    assert comparisons.times.tolist() == [2, 2, 3, 3]


# ---- on which side --------------------------------------------------------------------------------------------------


def test_the_side_follows_from_left_right_and_winner(written):
    comparisons = read_comparisons(written("anchor,left,right,winner\na,b,c,b\na,b,c,c\nc,a,b,a\n"))
    assert comparisons.sides.tolist() == [0, 1, 0]


def test_the_side_follows_from_left_and_right_columns_next_to_near_and_far(written):
    text = (
        "head,winner,loser,Center,Left,Right,Answer\n"
        "0,1,2,ant,bee,cat,bee\n"
        "0,2,1,ant,bee,cat,cat\n"
        "1,2,0,bee,cat,ant,cat\n"
        "1,2,0,bee,cat,ant,\n"
    )
    answers = read_answers(written(text))
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 2, 0]]
    assert answers.comparisons.sides.tolist() == [0, 1, 0, -1]
    assert answers.summary.columns["side"] == "Left, Right, Answer"
    assert "sides        the near object was shown on the left in 66.7 %" in str(answers.summary)


def test_left_and_right_columns_that_contradict_the_answers_are_ignored(written):
    answers = read_answers(written("anchor,near,far,left,right\na,b,c,x,y\nb,a,c,y,x\n"))
    assert (answers.comparisons.sides, "side" in answers.summary.columns) == (None, False)
    assert any("'left', 'right' are not used" in note for note in answers.summary.notes)


def test_a_column_may_hold_the_side(written):
    assert read_comparisons(written(TEXT.format("side", "Left", "R", ""))).sides.tolist() == [0, 1, -1]
    path = written(TEXT.format("side", "left", "top", ""))
    answers = read_answers(path)
    assert answers.comparisons.sides is None
    assert any("'side' is not used: it holds 'top'" in note for note in answers.summary.notes)
    with pytest.raises(ValueError, match=r"line 3 .*the side in 'side' is 'top'; expected left or right"):
        read_answers(path, columns={"side": "side"})


# ---- on which line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("anchor,near,far\na,b,c\nb,a,c\n", [2, 3]),
        ("a b c\nb a c", [1, 2]),
        ("# about\n\nanchor,near,far\na,b,c\n\n\nb,a,c\n", [4, 7]),
        ('anchor,near,far\n"a\nb",b,c\nb,c,"a\nb"\nb,c,"a\nb"\n', [2, 4, 6]),
        ("anchor,near,far\r\na,b,c\r\nb,a,c\r\n", [2, 3]),
        ("anchor,near,far\ra,b,c\rb,a,c\r", [2, 3]),
    ],
)
def test_rows_record_their_lines(written, read_text, text, lines):
    assert read_text(written(text)).comparisons.lines.tolist() == lines
    packed = written(gzip.compress(text.encode()), "answers.csv.gz")
    assert read_text(packed).comparisons.lines.tolist() == lines


def test_lines_are_kept_when_answers_are_dropped_or_give_several_comparisons(written):
    text = "item_1,item_2,item_3,odd\na,b,c,c\na,a,c,c\nd,e,f,d\n"
    assert read_comparisons(written(text), self_pairs="drop").lines.tolist() == [2, 2, 4, 4]


def test_json_lines_have_lines_and_arrays_have_none(written, tmp_path):
    comparisons = read_comparisons(written('["a","b","c"]\n\n["b","a","c"]\n', "answers.jsonl"))
    assert comparisons.lines.tolist() == [1, 3]
    write_comparisons(comparisons, tmp_path / "answers.npz")
    assert read_comparisons(tmp_path / "answers.npz").lines is None


def test_train_and_test_rows_keep_their_times_and_lines(written):
    text = "anchor,near,far,rt_s,split\na,b,c,1,train\na,c,b,2,test\nb,c,a,3,train\n"
    answers = read_answers(written(text))
    assert (answers.comparisons.times.tolist(), answers.comparisons.lines.tolist()) == ([1, 3], [2, 4])
    assert (answers.test.times.tolist(), answers.test.lines.tolist()) == ([2], [3])


# ---- which questions were random -------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["kind", "sampleAlg", "sampler", "question_kind"])
def test_the_kind_of_question_says_which_were_random(written, title):
    answers = read_answers(written(TEXT.format(title, "random", "chosen", "Random")))
    assert answers.comparisons.random.tolist() == [True, False, True]
    assert answers.summary.columns["random"] == title
    assert "2 of 3 questions were drawn at random" in str(answers.summary)


def test_kinds_of_questions_without_random_ones_are_ignored(written):
    answers = read_answers(written(TEXT.format("kind", "a", "b", "")))
    assert answers.comparisons.random is None
    assert answers.summary.not_used == ("kind",)


def test_catch_trials_and_random_questions_are_marked_in_one_column(written):
    lines = "".join(f"a,{near},{far},{kind}\n" for near, far, kind in [("b", "c", "random"), ("c", "b", "chosen")])
    answers = read_answers(written(f"anchor,near,far,kind\n{lines}a,a,b,check\n"))
    assert answers.comparisons.random.tolist() == [True, False]
    assert answers.summary.dropped == {"catch_trials": 1}


def test_numbers_in_text_separated_by_semicolons_may_have_decimal_commas(written):
    text = "anchor;near;far;rt;weight\na;b;c;1,5;0,5\nb;a;c;0,75;1\nc;b;a;2;2,0\n"
    answers = read_answers(written(text), where={"rt": "<1,9".replace(",", ".")})
    np.testing.assert_allclose(answers.comparisons.times, [1.5, 0.75])
    np.testing.assert_allclose(answers.comparisons.weights, [0.5, 1.0])


def test_a_comma_in_text_separated_by_commas_is_no_decimal_comma(written):
    with pytest.raises(ValueError, match="expected a number"):
        read_answers(written('anchor,near,far,t\na,b,c,"1,971"\n'), columns={"time": "t"})
