"""Exports of Qualtrics, Gorilla and JATOS, written as their documentation describes them."""

import csv
import io
import json
import zipfile

import pytest
from tool_exports import EXPECTED, JSPSYCH, SIDES, as_csv, said, screens

from closerthan.files import read_answers

TRIALS = [("ant", "bee", "cat", "bee"), ("bee", "cat", "ant", "ant"), ("cat", "bee", "ant", "bee")]
SIDED = ("anchor", "left", "right")
BEFORE = ["StartDate", "EndDate", "Status", "Progress", "ResponseId", "DistributionChannel"]


def as_text(rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


def qualtrics(people, names=("anchor", "left", "right", "answer"), n_loops=3, **about):
    """An export with three header rows; each person is a list of trials."""
    loops = [f"{number}_{name}" for number in range(1, n_loops + 1) for name in names]
    header = [*BEFORE, *loops]
    texts = ["Start Date", "End Date", "Response Type", "Progress", "Response ID", "Distribution Channel"]
    texts += ["Which of the two\nis more like the first?"] * len(loops)
    ids = [json.dumps({"ImportId": name}) for name in header]
    rows = []
    for number, trials in enumerate(people):
        cells = [cell for trial in trials for cell in trial]
        cells += [""] * (len(loops) - len(cells))
        about_person = [
            "2030-01-01",
            "2030-01-01",
            about.get("status", "IP Address"),
            "100",
            f"R_{number}",
            "anonymous",
        ]
        rows.append([*about_person, *cells])
    return as_text([header, texts, ids, *rows])


def gorilla(trials, prefix="", **about):
    """An export with a row for each event: a fixation cross and a response in each trial, and a button at the end."""
    header = ["Event Index", "UTC Date", "Participant Public ID", "Participant Private ID", "Trial Number",
              "Screen Name", "Zone Type", "Reaction Time", "Response", "Attempt", "Correct",
              *(f"{prefix}{name}" for name in SIDED)]  # fmt: skip
    rows = []
    for number, (anchor, left, right, answer) in enumerate(trials, 1):
        common = ["01/01/2030", "BLIND", about.get("person", "8134"), number, "screen"]
        rows.append([2 * number, *common, "fixation", 500, "", "", "", anchor, left, right])
        rows.append([2 * number + 1, *common, "response_button_image", 700 + number, answer, 1, 1, anchor, left, right])
    rows.append([99, "01/01/2030", "BLIND", "8134", "", "end", "continue_button", 10, "Next", "", "", "", "", ""])
    return as_text([header, *rows, ["END OF FILE", *[""] * (len(header) - 1)]])


def test_repetitions_of_qualtrics_are_read_as_rows(written):
    answers = read_answers(written(qualtrics([TRIALS, TRIALS[:2]])))
    assert said(answers) == [*EXPECTED, *EXPECTED[:2]]
    assert answers.participants.tolist() == ["R_0", "R_0", "R_0", "R_1", "R_1"]
    assert answers.comparisons.sides.tolist() == [*SIDES, *SIDES[:2]]
    assert answers.summary.format.endswith("an export of Qualtrics")


def test_times_of_qualtrics_are_those_at_which_the_page_was_submitted(written):
    trials = [(*trial, seconds) for trial, seconds in zip(TRIALS, (1.25, 0.5, 2), strict=True)]
    names = ("anchor", "left", "right", "answer", "timing_Page Submit")
    assert read_answers(written(qualtrics([trials], names))).comparisons.times.tolist() == [1.25, 0.5, 2]


def test_odd_one_out_questions_of_qualtrics_are_read(written):
    trials = [("ant", "bee", "cat", "cat"), ("bee", "cat", "dog", "dog")]
    names = ("item_1", "item_2", "item_3", "odd")
    answers = read_answers(written(qualtrics([trials], names, n_loops=2)))
    assert answers.summary.kind == "odd-one-out"
    assert answers.summary.n_answers == 2


def test_previews_of_a_survey_are_left_out(written):
    text = qualtrics([TRIALS])
    preview = qualtrics([TRIALS], status="Survey Preview").splitlines()[-1]
    assert len(read_answers(written(text + preview + "\n")).comparisons) == 3


def test_questions_that_people_did_not_answer_are_left_out(written):
    unfinished = [TRIALS[0], (*TRIALS[1][:3], "")]  # the objects had been set beforehand
    answers = read_answers(written(qualtrics([TRIALS, unfinished])))
    assert said(answers) == [*EXPECTED, EXPECTED[0]]
    assert any("1 question without a response" in note for note in answers.summary.notes)


def test_questions_that_people_saw_but_did_not_answer_are_left_out(written):
    skipped = [TRIALS[0], (*TRIALS[1][:3], "-99")]
    assert said(read_answers(written(qualtrics([TRIALS, skipped])))) == [*EXPECTED, EXPECTED[0]]


def test_a_question_with_its_number_as_name_has_the_answers(written):
    trials = [(*trial, "1.5", "2|1") for trial in TRIALS]
    names = ("anchor", "left", "right", "Q3", "Q3_First Click", "Q3_DO")
    assert said(read_answers(written(qualtrics([trials], names)))) == EXPECTED


def test_other_columns_of_qualtrics_select_people(written):
    header, texts, ids, *rows = csv.reader(io.StringIO(qualtrics([TRIALS, TRIALS[:1]])))
    people = [[*row, str(number), f"5f{number}"] for number, row in enumerate(rows, 18)]
    path = written(as_text([[*header, "age", "PROLIFIC_PID"], [*texts, "Age", ""], [*ids, "", ""], *people]))
    assert said(read_answers(path, where={"age": "19"})) == EXPECTED[:1]
    assert read_answers(path, columns={"participant": "PROLIFIC_PID"}).participants.tolist() == ["5f18"] * 3 + ["5f19"]


def test_an_export_of_qualtrics_without_objects_is_refused_with_advice(written):
    text = qualtrics([[("bee",), ("cat",)]], names=("Q3",), n_loops=2)
    with pytest.raises(ValueError, match=r"does not say which objects.*1_anchor"):
        read_answers(written(text))


def test_a_rearranged_export_of_qualtrics_is_read_as_it_is(written):
    text = as_text(
        [["StartDate", "EndDate", "ResponseId", "anchor", "near", "far"], [1, 2, "R_1", "ant", "bee", "cat"]]
    )
    assert said(read_answers(written(text))) == EXPECTED[:1]


@pytest.mark.parametrize("prefix", ["", "Spreadsheet: "])
def test_responses_of_gorilla_are_read_with_people_and_times(written, prefix):
    answers = read_answers(written(gorilla(TRIALS, prefix)))
    assert said(answers) == EXPECTED
    assert set(answers.participants.tolist()) == {8134}
    assert answers.comparisons.times.tolist() == [0.701, 0.702, 0.703]
    assert answers.comparisons.sides.tolist() == SIDES
    assert any("other events" in note for note in answers.summary.notes)


def test_actions_of_gorilla_are_not_counted_as_further_answers(written):
    header = ["Event Index", "UTC Timestamp", "Participant Private ID", "Trial Number", "Screen", "Object Name",
              "Response Type", "Response", "Reaction Time", *(f"Spreadsheet: {name}" for name in SIDED)]  # fmt: skip
    rows = [
        [row, row, 8134, number, "Screen 1", "Image", kind, answer, 700 + number, anchor, left, right]
        for number, (anchor, left, right, answer) in enumerate(TRIALS, 1)
        for row, kind in enumerate(("response", "action"))
    ]
    assert said(read_answers(written(as_text([header, *rows])))) == EXPECTED


@pytest.mark.parametrize("title", ["ANSWER", "Spreadsheet: Answer"])
def test_the_correct_answer_in_the_spreadsheet_of_gorilla_is_not_the_response(written, title):
    header, *rows = csv.reader(io.StringIO(gorilla(TRIALS)))
    text = as_text([[*header, title], *([*row, row[-1]] for row in rows)])
    assert said(read_answers(written(text))) == EXPECTED


@pytest.mark.parametrize("words", [("left", "right"), ("ArrowLeft", "ArrowRight")])
def test_sides_as_responses_of_gorilla_are_understood(written, words):
    sides = [(*trial[:3], words[trial[3] != trial[1]]) for trial in TRIALS]
    assert said(read_answers(written(gorilla(sides)))) == EXPECTED


def test_an_export_of_gorilla_without_objects_is_refused_with_advice(written):
    text = gorilla(TRIALS)
    with pytest.raises(ValueError, match="columns of your spreadsheet"):
        read_answers(written(text.replace("anchor,left,right", "a,b,c")))
    with pytest.raises(ValueError, match="no Response is one of the objects"):
        read_answers(written(text.replace("bee,1,1", "B,1,1").replace("ant,1,1", "A,1,1")))


def test_results_of_jatos_have_one_person_per_line(written):
    lines = [screens(JSPSYCH), screens(JSPSYCH[:1])]
    answers = read_answers(written("\n".join(map(json.dumps, lines)), "jatos_results.txt"))
    assert said(answers) == [*EXPECTED, EXPECTED[0]]
    assert answers.participants.tolist() == [1, 1, 1, 2]


def test_the_results_of_one_person_can_take_several_lines(written):
    assert said(read_answers(written(json.dumps(screens(JSPSYCH), indent=1), "data.txt"))) == EXPECTED


def test_a_study_of_jatos_is_refused_with_advice(written):
    with pytest.raises(ValueError, match=r"without its results; export these as an archive \(\.jrzip\)"):
        read_answers(written(b"PK", "study.jzip"))


def jrzip(path, results):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        for name, content in results.items():
            archive.writestr(name, content)
    return path


def test_an_archive_of_jatos_joins_the_components_of_each_person(tmp_path):
    results = {
        "study_result_7/comp-result_9/data.txt": json.dumps(screens(JSPSYCH[:2])),
        "study_result_7/comp-result_10/data.txt": json.dumps(screens(JSPSYCH[2:])) + "\n",
        "study_result_8/comp-result_11/data.txt": json.dumps(screens(JSPSYCH[:1]), indent=2),
        "study_result_9/comp-result_12/data.txt": "",  # left before answering
        "study_result_8/comp-result_11/files/notes.txt": "not data",
    }
    for name in ("results.jrzip", "results.zip"):
        answers = read_answers(jrzip(tmp_path / name, results))
        assert said(answers) == [*EXPECTED, EXPECTED[0]]
        assert answers.participants.tolist() == ["study_result_7"] * 3 + ["study_result_8"]


def test_tables_in_an_archive_of_jatos_are_read_and_other_texts_left_out(tmp_path):
    results = {
        "study_result_1/comp-result_1/data.txt": "I agree",
        "study_result_1/comp-result_2/data.txt": as_csv(screens(JSPSYCH)),
        "study_result_2/comp-result_3/data.txt": json.dumps(screens(JSPSYCH[:1])),
    }
    answers = read_answers(jrzip(tmp_path / "results.jrzip", results))
    assert said(answers) == [*EXPECTED, EXPECTED[0]]
    assert answers.participants.tolist() == ["study_result_1"] * 3 + ["study_result_2"]
    assert any("comp-result_1" in note for note in answers.summary.notes)


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ({}, "has a file data.txt with answers"),
        ({"study_result_1/comp-result_1/data.txt": "no json"}, "neither records in JSON nor a table"),
        ({"study_result_1/comp-result_1/data.txt": "42"}, "neither records in JSON nor a table"),
        ({"study_result_1/comp-result_1/data.txt": '[{"anchor": "ant", '}, "is not JSON"),
        ({"study_result_1/comp-result_1/data.txt": "[1, 2]"}, "not lists of records"),
    ],
)
def test_archives_without_answers_are_refused_in_words(tmp_path, results, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_answers(jrzip(tmp_path / "results.jrzip", results))


def test_a_damaged_archive_of_jatos_is_refused_in_words(written):
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read_answers(written(b"PK no archive", "results.jrzip"))
