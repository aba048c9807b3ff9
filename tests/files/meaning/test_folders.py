"""Folders with one file per person."""

import gzip
import json

import numpy as np
import pytest
from tool_exports import EXPECTED, JSPSYCH, PSYCHOPY, SIDES, as_csv, psychopy, said, screens, trial
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons import Choices
from closerthan.files import read_answers
from closerthan.files.stored.parts import Place, read_part
from closerthan.objective.processes import SingleProcess

TRIPLETS = "anchor,near,far\nant,bee,cat\n"


@pytest.fixture
def folder(tmp_path):
    def write(**files):
        place = tmp_path / "answers"
        place.mkdir(exist_ok=True)
        for name, content in files.items():
            stem, _, kind = name.rpartition("_")
            text = content if isinstance(content, str) else as_csv(content) if kind == "csv" else json.dumps(content)
            (place / f"{stem}.{kind}").write_text(text, encoding="utf-8")
        return place

    return write


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_jspsych_files_are_read_together_with_people_named_like_their_files(folder, kind):
    place = folder(**{f"p1_{kind}": screens(JSPSYCH[:1]), f"p2_{kind}": screens(JSPSYCH[1:])})
    answers = read_answers(place)
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["p1", "p2", "p2"]
    assert answers.comparisons.sides.tolist() == SIDES
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]
    assert answers.summary.dropped == {"other_screens": 4}
    assert "2 files: " in str(answers.summary)
    assert "an export of jsPsych" in str(answers.summary)
    assert "named after the file" in str(answers.summary)


def test_a_participant_named_in_a_file_keeps_that_name(folder):
    answers = read_answers(folder(a_csv=screens(JSPSYCH[:1], subject="s1"), b_csv=screens(JSPSYCH[1:], subject="s2")))
    assert answers.participants.tolist() == ["s1", "s2", "s2"]
    assert "named after the file" not in str(answers.summary)


def test_people_may_have_seen_different_numbers_of_options_or_nothing_at_all(folder):
    longer = [trial("ant", "bee", "cat", 0, 900), {**JSPSYCH[1], "choices": ["cat", "ant", "dog"]}]
    answers = read_answers(folder(a_csv=screens(longer), b_csv=screens(JSPSYCH[2:]), left_csv=screens([])))
    assert answers.comparisons.n_people == 2
    assert said(answers) == [("ant", "bee", "cat"), ("bee", "ant", "cat"), ("bee", "ant", "dog"), ("cat", "bee", "ant")]


@pytest.mark.parametrize(
    ("kind", "nothing"), [("csv", ""), ("csv", "\n"), ("csv", "anchor,near,far\n"), ("json", "[]")]
)
def test_a_file_without_answers_is_skipped_with_a_note(folder, kind, nothing):
    answers = TRIPLETS if kind == "csv" else [{"anchor": "ant", "near": "bee", "far": "cat"}]
    place = folder(**{f"a_{kind}": nothing, f"b_{kind}": answers, f"c_{kind}": nothing})
    answers = read_answers(place)
    assert f"2 of 3 files are empty: a.{kind}, c.{kind}" in str(answers.summary)
    part = read_part(place, Place(0, 1), SingleProcess())
    assert part.rows.tolist() == answers.comparisons.rows.tolist()


def test_a_folder_of_files_without_answers_is_an_error(folder):
    place = folder(a_csv="anchor,near,far\n", b_csv="")
    with pytest.raises(ValueError, match="answers is empty: none of its 2 files has an answer"):
        read_answers(place)


def test_psychopy_logs_are_ignored_and_an_empty_name_is_not_a_name(folder):
    nameless = psychopy(PSYCHOPY[1:]).replace("s3", "")
    place = folder(s3_csv=psychopy(PSYCHOPY[:1]), s4_csv=nameless, s5_csv="", s3_log="x", s3_psydat="x", README_txt="x")
    answers = read_answers(place)
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["s3", "s4", "s4"]
    assert "1 of 3 files are empty: s5.csv" in str(answers.summary)


def test_files_without_column_names_are_combined_by_position(folder):
    place = folder(a_txt="0 1 2\n2 1 0\n", b_txt="1 0 3\n")
    (place / "c.txt.gz").write_bytes(gzip.compress(b"3 2 1\n"))
    answers = read_answers(place)
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [2, 1, 0], [1, 0, 3], [3, 2, 1]]
    assert answers.participants.tolist() == ["a", "a", "b", "c"]


def test_files_that_closerthan_wrote_agree_about_their_objects(tmp_path):
    rows = np.array([[0, 1, 2], [2, 1, 0]])
    for name, n_objects in (("a", 3), ("b", 5)):
        comparisons = ct.Comparisons.from_triplets(rows, n_objects=n_objects, unmentioned="ignore")
        ct.files.write_comparisons(comparisons, tmp_path / f"{name}.npz")
    with pytest.warns(UserWarning, match="occur in no comparison"):
        assert read_answers(tmp_path).comparisons.n_objects == 5
    named = ct.Comparisons.from_triplets(rows, names=["x", "y", "z"])
    ct.files.write_comparisons(named, tmp_path / "c.npz")
    with pytest.raises(ValueError, match="its files list different objects"):
        read_answers(tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a_csv": TRIPLETS, "b_json": "[]"}, r"files of different formats \(1 .csv, 1 .json\)"),
        ({"a_csv": screens(JSPSYCH), "b_csv": psychopy(PSYCHOPY)}, "a.csv is an export of jsPsych and b.csv is an exp"),
        (
            {"a_csv": TRIPLETS, "b_csv": screens(JSPSYCH)},
            "a.csv is not an export of a supported tool and b.csv is an export",
        ),
        (
            {"a_csv": TRIPLETS, "b_csv": "name,age,sex\np1,30,f\n"},
            "a.csv has the columns 'anchor', 'near', 'far', and b.csv",
        ),
        ({"a_csv": TRIPLETS, "b_csv": TRIPLETS + "ant,,cat\n"}, r"answers, b.csv, line 3 .*a cell is empty"),
        ({"a_csv": ""}, "none of its 1 files has an answer"),
        ({"README_txt": "hello"}, "contains no files of answers"),
        (
            {"a_csv": TRIPLETS, "b_csv": TRIPLETS.replace("near", "Near")},
            "b.csv has the columns 'anchor', 'Near', 'far'",
        ),
        ({"cat_png": "x", "dog_png": "x"}, "holds 2 files such as cat.png, which are not answers"),
        ({"map_csv": "name,x1\nant,1\n"}, "is the folder of a fit"),
    ],
)
def test_a_folder_that_cannot_be_read_is_an_error_that_says_why(folder, files, message):
    with pytest.raises(ValueError, match=message):
        read_answers(folder(**files))


def test_commands_take_a_folder(folder, monkeypatch):
    place = folder(p1_csv=screens(JSPSYCH), p2_csv=screens(JSPSYCH))
    result = CliRunner().invoke(app, ["info", str(place)])
    assert result.exit_code == 0, result.output
    assert "participants 2" in result.output
    monkeypatch.chdir(place)
    fitted = CliRunner().invoke(
        app, ["fit", ".", "--loss", "ste", "--penalty", "0", "--held-out", "0", "--no-report", "-o", "../made"]
    )
    assert fitted.exit_code == 0, fitted.output
    assert (place.parent / "made" / "map.csv").exists()


# ---- screens with different numbers of objects ----


def picture_trials(n_objects_of_trials):
    """Return the trials of one person, with a given number of pictures each, of which the first is chosen."""
    return [
        {
            "anchor": f"face {number}",
            "images": [f"pic {(number + place) % 20}" for place in range(n_objects)],
            "rt": 900,
        }
        for number, n_objects in enumerate(n_objects_of_trials)
    ]


def write_people(folder, people, nested):
    folder.mkdir()
    for name, trials in people.items():
        content = {"participant": name, "age": 30, "trials": trials} if nested else trials
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


SIZES = {"ann": [2, 16, 5], "bob": [3, 2], "eve": [7, 7, 2, 9]}


@pytest.mark.parametrize("nested", [True, False])
def test_screens_with_two_to_sixteen_pictures_are_read_together(tmp_path, nested):
    people = {
        name: [{**one, "choice": one["images"][0]} for one in picture_trials(sizes)] for name, sizes in SIZES.items()
    }
    read = ct.files.read_answers(write_people(tmp_path / "study", people, nested))
    answers = read.comparisons
    assert read.summary.kind == "nearest"
    assert (answers.n_answers, answers.n_people, answers.person_names) == (9, 3, ("ann", "bob", "eve"))
    assert len(answers) == sum(size - 1 for sizes in SIZES.values() for size in sizes)
    assert read.summary.dropped == {}


def test_rankings_of_different_lengths_are_read_together(tmp_path):
    people = {
        name: [{**one, "ranking": one["images"][::-1]} for one in picture_trials(sizes)]
        for name, sizes in SIZES.items()
    }
    read = ct.files.read_answers(write_people(tmp_path / "study", people, nested=True))
    assert read.summary.kind == "rank"
    assert len(read.comparisons) == sum(size * (size - 1) // 2 for sizes in SIZES.values() for size in sizes)


def test_answers_of_different_kinds_are_read_together_once_they_are_comparisons(tmp_path):
    kinds = {
        "odd.csv": "item_1,item_2,item_3,odd,person\na,b,c,c,ann\nb,c,d,d,bob\n",
        "near.csv": "anchor,shown_1,shown_2,shown_3,chosen,person\na,b,c,d,b,ann\nd,a,b,c,c,bob\n",
    }
    folder = tmp_path / "together"
    folder.mkdir()
    for name, text in kinds.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        ct.files.write_comparisons(ct.read_comparisons(tmp_path / name), folder / name)
    answers = ct.read_comparisons(folder)
    assert (answers.n_answers, answers.n_people, len(answers)) == (4, 2, 8)
    assert Choices.of(answers).sizes.tolist() == [3, 3, 3, 3]


def test_the_odd_one_of_many_is_farther_from_each_than_any_other(tmp_path):
    people = {"ann": [{"images": list("abcd"), "odd": "c"}], "bob": [{"images": list("xyz"), "odd": "x"}]}
    answers = ct.read_comparisons(write_people(tmp_path / "study", people, nested=True))
    names = answers.names
    rows = {tuple(names[one] for one in row) for row in answers.rows.tolist()}
    assert rows == {(one, other, "c") for one in "abd" for other in "abd" if one != other} | {
        ("y", "z", "x"),
        ("z", "y", "x"),
    }
    assert (answers.n_answers, len(answers)) == (2, 8)


def test_two_pictures_have_no_odd_one(tmp_path):
    people = {"ann": [{"images": list("abcd"), "odd": "c"}, {"images": list("ab"), "odd": "a"}]}
    folder = write_people(tmp_path / "study", people, nested=True)
    with pytest.raises(ValueError, match=r'fewer than 3 objects in \'items\'; .* pass missing="drop"'):
        ct.files.read_answers(folder)
    assert ct.files.read_answers(folder, missing="drop").summary.dropped == {"missing": 1}


@pytest.mark.parametrize("first", [0, 1])
def test_a_choice_may_be_a_place_in_a_list_of_any_length(tmp_path, first):
    # The last picture of the longest list was never chosen; shorter lists show where counting begins.
    trials = picture_trials([4, 2, 3, 2])
    places = [1, 1, 0, 0]
    people = {"ann": [{**one, "choice": place + first} for one, place in zip(trials, places, strict=True)]}
    answers = ct.read_comparisons(write_people(tmp_path / "study", people, nested=True))
    near = [answers.names[near] for near in answers.rows[np.unique(answers.answers, return_index=True)[1], 1]]
    assert near == [one["images"][place] for one, place in zip(trials, places, strict=True)]


def test_a_list_of_all_pictures_next_to_the_trials_is_not_an_answer(tmp_path):
    content = {
        "participant": "ann",
        "images": [f"pic {number}" for number in range(20)],
        "trials": [{**one, "choice": one["images"][0]} for one in picture_trials([2, 4, 3])],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert ct.read_comparisons(tmp_path / "a.json").n_answers == 3


def test_a_column_other_than_objects_may_be_missing_in_a_file(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "ann.csv").write_text("anchor,near,far,rt,comment\na,b,c,900,none\n")
    (tmp_path / "study" / "bob.csv").write_text("anchor,near,far\nb,c,a\n")
    answers = ct.files.read_answers(tmp_path / "study")
    assert answers.comparisons.n_people == 2
    np.testing.assert_equal(answers.comparisons.times, [0.9, np.nan])
    (tmp_path / "study" / "eve.csv").write_text("anchor,left,right,winner\nb,c,a,a\n")
    with pytest.raises(ValueError, match=r"ann.csv has the columns .*eve.csv has the columns"):
        ct.files.read_answers(tmp_path / "study")
