"""Exports of Salmon, NEXT, tripletTools, jsPsych and PsychoPy, imitated by small files of the same shape."""

import json
import zipfile

import pytest
from tool_exports import EXPECTED, JSPSYCH, NAMES, PSYCHOPY, SIDES, as_csv, psychopy, said, screens

from closerthan.files import read_answers, read_comparisons
from closerthan.files.meaning.matching import read_about


@pytest.fixture
def written(tmp_path):
    def write(content, name="export.csv"):
        text = content if isinstance(content, str) else as_csv(content) if name.endswith("csv") else json.dumps(content)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


# ---- Salmon ----------------------------------------------------------------------------------------------------------


def salmon(head, left, right, winner, puid, seconds):
    loser = left if winner == right else right
    ids = {"head": head, "left": left, "right": right, "winner": winner, "loser": loser}
    return {
        **ids,
        "puid": puid,
        "response_time": seconds,
        "network_latency": 0.02,
        "alg_ident": "Random",
        "datetime_received": "2021-01-01T12:00",
        "time_received": 1609502400.5,
        **{f"{role}_html": f"<img src='{NAMES[number]}.png'/>" for role, number in ids.items()},
        **{f"{role}_filename": NAMES[number] for role, number in ids.items()},
    }


SALMON = [salmon(0, 1, 2, 1, "p1", 1.2), salmon(1, 2, 0, 0, "p2", 0.8), salmon(2, 1, 0, 1, "p1", 2.5)]


@pytest.mark.parametrize("name", ["responses.csv", "responses.json"])
def test_answers_of_salmon(written, name):
    answers = read_answers(written(SALMON, name))
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["p1", "p2", "p1"]
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]
    assert answers.comparisons.sides.tolist() == SIDES
    assert "an export of Salmon" in str(answers.summary)


def test_answers_of_an_older_salmon_without_losers_and_file_names(written):
    records = [
        {name: cell for name, cell in record.items() if "loser" not in name and "filename" not in name}
        for record in SALMON
    ]
    answers = read_answers(written(records))
    assert answers.comparisons.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert answers.comparisons.sides.tolist() == SIDES


def test_numbers_that_share_a_name_remain_numbers_with_a_note(written):
    records = [{**record, "right_filename": "ant", "left_filename": "ant", "head_filename": "ant"} for record in SALMON]
    answers = read_answers(written(records))
    assert answers.comparisons.names is None
    assert "objects are identified by their numbers" in str(answers.summary)


def test_an_explicit_numbering_overrides_the_names(written):
    assert read_answers(written(SALMON), numbering="0-based").comparisons.names is None
    assert read_comparisons(written(SALMON)).names == NAMES


# ---- tripletTools ----------------------------------------------------------------------------------------------------

TRIPLET_TOOLS = """head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg,sampleSet
0,1,2,w1,1200,ant,bee,cat,bee,random,train
1,0,2,w2,800,bee,cat,ant,ant,validation,test
2,1,0,w1,2500,cat,bee,ant,bee,random,train
0,0,1,w1,600,ant,ant,bee,ant,check,NA
"""


def test_answers_of_triplet_tools_have_names_and_no_catch_trials(written):
    answers = read_answers(written(TRIPLET_TOOLS))
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["w1", "w2", "w1"]
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]
    assert answers.comparisons.sides.tolist() == SIDES
    assert answers.comparisons.lines.tolist() == [2, 3, 4]
    assert answers.summary.dropped == {"catch_trials": 1}
    assert answers.checks["w1"] == (1, 1)
    assert "an export of tripletTools" in str(answers.summary)


def test_a_map_of_triplet_tools_names_is_judged_by_the_same_file(written):
    names = ("ant", "bee", "cat", "dog")
    read = read_about(written(TRIPLET_TOOLS), len(names), names, {})
    assert said(read) == EXPECTED
    assert read.comparisons.names == names


def test_names_passed_by_the_user_override_those_of_triplet_tools(written):
    read = read_answers(written(TRIPLET_TOOLS), names=["red", "green", "blue"])
    assert read.comparisons.names == ("red", "green", "blue")
    assert read.comparisons.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


# ---- NEXT ------------------------------------------------------------------------------------------------------------


def query(center, left, right, winner, old):
    targets = []
    for label, name in (("center", center), ("left", left), ("right", right)):
        one = {"label": label, "target_id": name}
        targets.append({"label": label, "index": NAMES.index(name), "target": {"target_id": name}} if old else one)
    record = {"target_indices": targets, "alg_label": "Random", "response_time": 1.5}
    return record | ({"index_winner": NAMES.index(winner)} if old else {"target_winner": winner})


def next_export(old):
    queries = [query("ant", "bee", "cat", "bee", old), query("bee", "cat", "ant", "ant", old)]
    unanswered = {"target_indices": queries[0]["target_indices"]}
    return {
        "participant_responses": {
            "exp1_p1": [queries[0], unanswered],
            "exp1_p2": [queries[1], query("cat", "bee", "ant", "bee", old)],
        },
        "meta": {"code": 200, "status": "OK"},
    }


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
def test_answers_of_next(written, old, indent):
    answers = read_answers(written(json.dumps(next_export(old), indent=indent), "participants.json"))
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["p1", "p2", "p2"]
    assert answers.comparisons.sides.tolist() == SIDES
    assert answers.comparisons.times.tolist() == [1.5] * 3
    assert "JSON, an export of NEXT" in str(answers.summary)
    assert "1 queries were not answered and are left out" in str(answers.summary)


def test_a_zipped_export_of_next_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "participants.zip", "w") as archive:
        archive.writestr("participants.json", json.dumps(next_export(False)))
    assert said(read_answers(tmp_path / "participants.zip")) == EXPECTED


def test_the_table_of_next(written):
    text = (
        "Participant ID,Timestamp,Center,Left,Right,Answer,Alg Label\n"
        "p1,2016-01-01 12:00,ant,bee,cat,bee,Test\np2,2016-01-01 12:01,bee,cat,ant,ant,Random\n"
        "p2,2016-01-01 12:02,cat,bee,ant,bee,Random\n"
    )
    answers = read_answers(written(text))
    assert said(answers) == EXPECTED
    assert answers.comparisons.sides.tolist() == SIDES
    assert "an export of NEXT" in str(answers.summary)


def test_another_experiment_of_next_is_an_error(written):
    for responses in ({"exp1_p1": [{"target_reward": 3}]}, {"exp1_p1": []}, {}):
        for indent in (None, 1):
            path = written(json.dumps({"participant_responses": responses}, indent=indent), "participants.json")
            with pytest.raises(ValueError, match=r"participants\.json is an export of NEXT without comparisons"):
                read_answers(path)


# ---- jsPsych ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data.csv", "data.json"])
@pytest.mark.parametrize("keys", [False, True])
def test_the_data_of_jspsych(written, name, keys):
    pressed = ["ArrowLeft", "ArrowRight"]
    records = [{**one, "response": pressed[one["response"]]} if keys else one for one in JSPSYCH]
    answers = read_answers(written(screens(records, subject="s7"), name))
    assert said(answers) == EXPECTED
    assert answers.comparisons.sides.tolist() == SIDES
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]
    assert answers.participants.tolist() == ["s7"] * 3
    assert answers.summary.dropped == {"other_screens": 2}
    assert "an export of jsPsych" in str(answers.summary)


@pytest.mark.parametrize("name", ["data.csv", "data.json"])
def test_columns_of_the_experimenter_take_precedence_over_those_of_jspsych(written, name):
    records = [
        {"trial_type": "html-keyboard-response", "stimulus": "<img>", "choices": ["f", "j"], "anchor": one["stimulus"],
         "left": one["choices"][0], "right": one["choices"][1], "response": one["response"], "rt": one["rt"]}
        for one in JSPSYCH
    ]  # fmt: skip
    answers = read_answers(written(screens(records), name))
    assert said(answers) == EXPECTED
    assert answers.summary.dropped == {"other_screens": 2}


def test_keys_are_not_objects(written):
    records = [{**one, "choices": ["f", "j"], "response": "f"} for one in JSPSYCH]
    with pytest.raises(ValueError, match=r"export\.csv has the columns .* which are not understood"):
        read_answers(written(screens(records)))


def test_several_choices_of_jspsych(written):
    records = [{**JSPSYCH[0], "choices": ["bee", "cat", "dog"], "response": 2},
               {**JSPSYCH[1], "choices": ["cat", "ant", "dog"], "response": 0}]  # fmt: skip
    assert said(read_answers(written(screens(records)))) == [
        ("ant", "dog", "bee"), ("ant", "dog", "cat"), ("bee", "cat", "ant"), ("bee", "cat", "dog"),
    ]  # fmt: skip
    odd = read_answers(written(screens(records)), kind="odd-one-out")
    assert said(odd)[0] == ("bee", "cat", "dog")


def test_an_unanswered_trial_is_a_missing_answer_and_not_another_screen(written):
    records = [*JSPSYCH, {**JSPSYCH[0], "response": None, "rt": None}]
    with pytest.raises(ValueError, match="the answer in 'response' is empty"):
        read_answers(written(screens(records), "data.json"))
    answers = read_answers(written(screens(records), "data.json"), missing="drop")
    assert answers.summary.dropped == {"other_screens": 2, "missing": 1}


def test_a_nested_answer_in_a_trial_is_an_error_that_quotes_it(written):
    records = [JSPSYCH[0], {**JSPSYCH[1], "response": {"button": 1}}]
    with pytest.raises(ValueError, match=r"record 3 .*'response' holds .*button.*; expected a name or a number"):
        read_answers(written(screens(records), "data.json"))


# ---- PsychoPy --------------------------------------------------------------------------------------------------------


def test_the_table_of_psychopy(written):
    answers = read_answers(written(psychopy(PSYCHOPY)))
    assert said(answers) == EXPECTED
    assert answers.comparisons.sides.tolist() == SIDES
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]
    assert answers.participants.tolist() == ["s3"] * 3
    assert answers.summary.dropped == {"other_screens": 2}
    assert "an export of PsychoPy" in str(answers.summary)


def test_a_trial_without_a_key_press_is_a_missing_answer(written):
    rows = [*PSYCHOPY, {**PSYCHOPY[0], "resp.keys": "None", "resp.rt": ""}]
    answers = read_answers(written(psychopy(rows)), missing="drop")
    assert said(answers) == EXPECTED
    assert answers.summary.dropped == {"other_screens": 2, "missing": 1}


def test_clicks_of_psychopy_are_lists(written):
    rows = [
        {"mouse.clicked_name": [row["resp.keys"]], "mouse.time": [row["resp.rt"]]}
        | {name: cell for name, cell in row.items() if "resp" not in name}
        for row in PSYCHOPY
    ]
    answers = read_answers(written(psychopy(rows)))
    assert said(answers) == EXPECTED
    assert answers.comparisons.times.tolist() == [1.2, 0.8, 2.5]


def test_two_components_with_responses_need_an_explicit_choice(written):
    rows = [{**row, "sure.keys": "1", "sure.rt": 0.5} for row in PSYCHOPY]
    with pytest.raises(ValueError, match="which are not understood"):
        read_answers(written(psychopy(rows)))
    assert said(read_answers(written(psychopy(rows)), columns={"winner": "resp.keys"})) == EXPECTED


# ---- nested JSON -----------------------------------------------------------------------------------------------------

TRIALS = {
    "p1": [{"anchor": "ant", "near": "bee", "far": "cat", "rt": 1200}],
    "p2": [{"anchor": "bee", "near": "ant", "far": "cat", "rt": 800}, {"anchor": "cat", "near": "bee", "far": "ant"}],
}
EVENTS = [{"t": 1}, {"t": 2}]


@pytest.mark.parametrize(
    "content",
    [
        [{"participant": name, "age": 30, "trials": trials} for name, trials in TRIALS.items()],
        [{"subject": name, "survey": [{"Q": 1}], "screens": trials} for name, trials in TRIALS.items()],
        [{"worker": name, "blocks": [{"block": 1, "trials": trials}]} for name, trials in TRIALS.items()],
        {"study": "insects", "people": [{"person": name, "trials": trials} for name, trials in TRIALS.items()]},
        TRIALS,
        {name: {"age": 30, "trials": trials} for name, trials in TRIALS.items()},
        {"participants": {name: {"trials": trials} for name, trials in TRIALS.items()}, "version": 2},
        [[{**trial, "participant": name} for trial in trials] for name, trials in TRIALS.items()],
    ],
    ids=["screens", "survey", "blocks", "study", "by name", "by name, screens", "inside", "lists"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_people_with_lists_of_screens(written, content, indent):
    answers = read_answers(written(json.dumps(content, indent=indent), "study.json"))
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == ["p1", "p2", "p2"]
    assert answers.comparisons.times[:2].tolist() == [1.2, 0.8]


def test_a_list_per_line_holds_the_answers_of_one_person(written):
    answers = read_answers(written("\n".join(map(json.dumps, TRIALS.values())), "results.json"))
    assert said(answers) == EXPECTED
    assert answers.participants.tolist() == [1, 2, 2]
    assert "each of the 2 lists is taken as the answers of one person" in str(answers.summary)


def test_one_person_per_line_is_read(written):
    lines = [json.dumps({"participant": name, "trials": trials}) for name, trials in TRIALS.items()]
    assert read_answers(written("\n".join(lines), "results.jsonl")).participants.tolist() == ["p1", "p2", "p2"]


def test_an_answer_with_a_list_of_events_is_one_answer(written):
    records = [{**trial, "events": EVENTS} for trials in TRIALS.values() for trial in trials]
    for text in (json.dumps(records), "\n".join(map(json.dumps, records))):
        assert said(read_answers(written(text, "a.json"))) == EXPECTED


def test_records_stored_under_keys_are_read(written):
    trials = [trial for part in TRIALS.values() for trial in part]
    content = {f"-Mx{number}": trial for number, trial in enumerate(trials)}
    answers = read_answers(written(json.dumps(content, indent=1), "a.json"))
    assert said(answers) == EXPECTED
    assert answers.participants is None


def test_lists_called_train_and_test_define_the_split(written):
    answers = read_answers(written({"train": TRIALS["p2"], "test": TRIALS["p1"]}, "a.json"))
    assert (len(answers.comparisons), len(answers.test), answers.participants) == (2, 1, None)


@pytest.mark.parametrize("one_line", [True, False])
def test_deeply_nested_json_gives_one_sentence(written, one_line):
    for before, after in (('{"a":', "}"), ('[{"x":[{"q":1}],"y":', "}]"), ("[", "]")):
        for depth in (30, 450):
            inside = json.dumps(TRIALS["p1"])
            text = before * depth + ("" if one_line else "\n") + inside + after * depth
            with pytest.raises(ValueError, match=r"a\.json"):
                read_answers(written(text, "a.json"))


def test_a_json_file_with_an_implausible_decompressed_size_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("a.json", "[" + " " * (1 << 27) + '{"anchor": 1}]')
    with pytest.raises(
        ValueError, match=r"a\.zip.*it decompresses to more than [\d,]+ bytes, more than 200 times its size"
    ):
        read_answers(tmp_path / "a.zip")


# ---- R's MLDS --------------------------------------------------------------------------------------------------------


def test_triads_of_mlds_say_which_interval_is_larger(written):
    answers = read_answers(written("Trial,Response,s1,s2,s3\n0,1,0.1,0.25,1\n1,0,1,0.25,0.1\n", "triads.csv"))
    assert said(answers) == [("0.25", "0.1", "1"), ("0.25", "0.1", "1")]
    assert "an export of MLDS" in str(answers.summary)


def test_quadruples_of_mlds_say_which_interval_is_larger(written):
    answers = read_answers(written("resp S1 S2 S3 S4\n1 1 2 3 5\n0 1 3 4 5\n", "quadruples.txt"))
    assert said(answers) == [("1", "2", "3", "5"), ("4", "5", "1", "3")]
