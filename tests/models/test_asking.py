"""Questions put to programs: replies that are right, wrong, late, missing or unclear."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.comparisons import Choices
from closerthan.models.asking import Asking, ask, comparisons_of
from closerthan.models.prompts import Prompt, parse_reply, prompts_of
from closerthan.models.question_sets import question_sets
from closerthan.models.question_table import read_question_table

# A program that knows where the objects are: their names are positions on a line.
PROGRAM = """
import json, os, sys
def place(name):
    return float(name[1:])
for line in sys.stdin:
    question = json.loads(line)
    options, anchor = question["options"], question.get("anchor")
    if question["kind"] == "quadruplet":
        answer = min(options, key=lambda pair: abs(place(pair[0]) - place(pair[1])))
    elif anchor is not None:
        nearest = sorted(options, key=lambda one: abs(place(one) - place(anchor)))
        answer = nearest[: question["choose"]] if question["choose"] > 1 else nearest[0]
    else:
        by_place = sorted(options, key=place)
        middle = by_place[1]
        ends = sorted((by_place[0], by_place[2]), key=lambda one: abs(place(one) - place(middle)))
        answer = middle if question["kind"] == "most-central" else ends[1]
    __EXTRA__
    print(json.dumps({"id": question["id"], "answer": answer}), flush=True)
"""
NAMES = tuple(f"n{number * number}" for number in range(12))
POINTS = np.array([[float(name[1:])] for name in NAMES])


@pytest.fixture
def program(tmp_path):
    def write(extra="pass"):
        (tmp_path / "program.py").write_text(PROGRAM.replace("__EXTRA__", extra), encoding="utf-8")
        return [sys.executable, str(tmp_path / "program.py")]

    return write


def run(command, answers, folder, **options):
    sets = list(question_sets(Choices.of(answers)))
    prompts = prompts_of(sets, NAMES, np.random.default_rng(0))
    asking = Asking(command, pause=0.0, **{"timeout": 20.0, **options})
    outcome = ask(prompts, asking, folder / "record.jsonl", folder / "errors.txt")
    made = comparisons_of(outcome, prompts, sets, NAMES, answers.rows.shape[1]) if outcome.answers else None
    return outcome, made


def random_answers(question, number=12):
    """People who choose at random."""
    return ct.answers_from(np.random.default_rng(3).normal(size=(12, 2)), number, question=question, names=NAMES)


@pytest.mark.parametrize(
    "question", ["triplet", "quadruplet", "odd-one-out", "most-central", "nearest 2 of 5", "rank 2 of 5"]
)
def test_the_answers_of_a_program_to_every_kind_of_question_are_its_own(program, tmp_path, question):
    people = random_answers(question)
    outcome, made = run(program(), people, tmp_path)
    assert (len(outcome.outcomes), outcome.n_unclear, outcome.n_failed) == (12, 0, 0)
    assert made.n_answers == 12
    assert ct.answer_accuracy(made, POINTS).accuracy == 1.0


def test_several_processes_share_the_questions(program, tmp_path):
    outcome, made = run(program(), random_answers("triplet", 30), tmp_path, n_processes=3)
    assert len(outcome.answers) == 30
    assert ct.answer_accuracy(made, POINTS).accuracy == 1.0


def test_unclear_replies_are_counted_and_never_guessed(program, tmp_path):
    extra = "answer = 'maybe ' + str(answer) if question['id'] % 3 == 0 else answer"
    outcome, made = run(program(extra), random_answers("triplet"), tmp_path)
    assert (outcome.n_unclear, len(outcome.answers), made.n_answers) == (4, 8, 8)
    lines = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert sum(line.get("status") == "unclear" for line in lines) == 4
    assert "maybe" in lines[1]["received"] or "maybe" in lines[4]["received"]


def test_a_program_that_crashes_is_started_again(program, tmp_path):
    # It crashes once, at question 5, and leaves a file behind.
    mark = tmp_path / "crashed"
    extra = f"""
    if question["id"] == 5 and not os.path.exists({str(mark)!r}):
        open({str(mark)!r}, "w")
        sys.exit(3)"""
    outcome, _ = run(program(extra), random_answers("triplet"), tmp_path)
    assert len(outcome.answers) == 12
    assert outcome.n_attempts == 13
    assert "exit code 3" in (tmp_path / "record.jsonl").read_text()


def test_errors_that_a_program_reports_are_tried_again_and_then_counted(program, tmp_path):
    extra = """
    if question["id"] == 2:
        print(json.dumps({"id": 2, "error": "quota"}), flush=True)
        continue"""
    outcome, made = run(program(extra), random_answers("triplet"), tmp_path, retries=1)
    assert (outcome.n_failed, outcome.problems, outcome.n_attempts) == (1, {"the program reports: quota": 1}, 13)
    assert made.n_answers == 11


def test_a_reply_that_takes_too_long_ends_the_program(tmp_path):
    silent = [sys.executable, "-c", "import sys; [None for _ in sys.stdin]"]
    outcome, made = run(silent, random_answers("triplet", 1), tmp_path, timeout=0.3, retries=0)
    assert made is None
    (problem,) = outcome.problems
    assert problem.startswith("no reply within 0.3 s; it must write each reply on one line and flush")


def test_a_program_that_writes_without_end_is_ended_in_time(tmp_path):
    endless = [sys.executable, "-c", "while True: print('garbage' * 100)"]
    outcome, _ = run(endless, random_answers("triplet", 1), tmp_path, timeout=0.3, retries=0)
    (problem,) = outcome.problems
    assert "lines, but none with the id of the question" in problem
    assert (tmp_path / "record.jsonl").stat().st_size < 10_000


def test_a_reply_may_take_any_time(program, tmp_path):
    outcome, _ = run(program(), random_answers("triplet", 2), tmp_path, timeout=float("inf"))
    assert len(outcome.answers) == 2


def test_a_line_without_end_is_no_reply(tmp_path):
    endless = [sys.executable, "-c", "import sys\nwhile True: sys.stdout.write('x' * 10000)"]
    outcome, _ = run(endless, random_answers("triplet", 1), tmp_path, timeout=0.3, retries=0)
    assert outcome.n_failed == 1


def test_a_run_gives_up_after_ten_questions_in_a_row_without_a_reply(program, tmp_path):
    people = random_answers("triplet", 40)
    outcome, _ = run(program("if question['id'] > 4: sys.exit(1)"), people, tmp_path, retries=0)
    assert outcome.gave_up
    assert (len(outcome.answers), outcome.n_failed) == (5, 10)
    again, _ = run(program(), people, tmp_path)
    assert len(again.answers) == 40


def test_questions_that_failed_do_not_keep_the_others_from_being_asked(program, tmp_path):
    fails = "if question['id'] < 10: print(json.dumps({'id': question['id'], 'error': 'no'}), flush=True); continue"
    people = random_answers("triplet", 14)
    first, second = (run(program(fails), people, tmp_path, retries=0)[0] for _ in range(2))
    assert first.gave_up
    assert not first.answers
    assert sorted(second.answers) == [10, 11, 12, 13]


def test_names_with_commas_are_separated_by_semicolons():
    prompt = Prompt(0, "odd-one-out", None, ("red, dark", "blue", "green"), (0, 1, 2), 1)
    assert prompt.text == "Which of these is the odd one out: red, dark; blue or green?"


def test_replies_of_two_commands_are_not_mixed(program, tmp_path):
    people = random_answers("triplet", 3)
    misspelt = [sys.executable, str(tmp_path / "progrm.py")]
    assert run(misspelt, people, tmp_path, retries=0)[0].n_failed == 3
    run(program(), people, tmp_path)  # nothing was answered, so nothing can be mixed
    with pytest.raises(ValueError, match="has replies of another command"):
        run([*program(), "--other"], people, tmp_path)


def test_other_output_is_recorded_and_ignored(program, tmp_path):
    outcome, _ = run(program("print('loading', flush=True)"), random_answers("triplet", 3), tmp_path)
    assert len(outcome.answers) == 3
    assert '"other_output": ["loading"]' in (tmp_path / "record.jsonl").read_text()


def test_a_run_continues_where_it_ended(program, tmp_path):
    extra = "if question['id'] > 6: sys.exit(1)"
    people = random_answers("triplet")
    first, _ = run(program(extra), people, tmp_path, retries=0)
    assert len(first.answers) == 7
    record = tmp_path / "record.jsonl"
    record.write_bytes(record.read_bytes() + b'{"question": 3, "att')  # killed in the middle of a line
    second, made = run(program(), people, tmp_path)
    assert len(second.answers) == 12
    assert made.n_answers == 12
    asked = [json.loads(line).get("question") for line in record.read_text().splitlines()]
    assert asked.count(0) == 1


def test_a_record_of_other_questions_is_refused(program, tmp_path):
    run(program(), random_answers("triplet", 3), tmp_path)
    with pytest.raises(ValueError, match="belongs to other questions"):
        run(program(), random_answers("triplet", 4), tmp_path)


def test_a_program_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no-such-program cannot be started"):
        run(["no-such-program"], random_answers("triplet", 3), tmp_path)


PROMPT = Prompt(4, "nearest", "lion", ("ant", "bee", "Bee", "cat"), (0, 1, 2, 3), 2)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ({"id": 4, "answer": ["ant", "cat"]}, (0, 3)),
        ({"id": 4, "answer": [" CAT", "ant"]}, (3, 0)),
        ({"id": 4, "answer": ["bee", "ant"]}, (1, 0)),
        ({"id": 4, "answer": ["BEE", "ant"]}, ()),
        ({"id": 4, "answer": ["ant", "ant"]}, ()),
        ({"id": 4, "answer": "ant"}, ()),
        ({"id": 4, "answer": [0, 1]}, ()),
        ({"id": 4, "answer": [None, {}]}, ()),
        ({"id": 4, "answer": ["ant", "dog"]}, ()),
        ({"id": 4}, ()),
    ],
)
def test_only_replies_that_name_options_are_answers(reply, chosen):
    meaning = parse_reply(json.dumps(reply), PROMPT)
    assert meaning.chosen == chosen
    assert bool(meaning.problem) == (not chosen)


@pytest.mark.parametrize(
    "line", ["", "ant", "[4]", '{"id": 5, "answer": ["ant", "cat"]}', '{"answer": "ant"}', "[" * 5000]
)
def test_lines_without_the_id_are_no_replies(line):
    assert parse_reply(line, PROMPT) is None


# ---- the command -----------------------------------------------------------------------------------------------------


def closerthan(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("anchor,left,right\nn0,n1,n9\nn4,n0,n25\n", ()),
        ("item_1,item_2,item_3\nn0,n1,n9\nn4,n0,n25\n", ()),
        ("item_1,item_2,item_3\nn0,n1,n9\nn4,n0,n25\n", ("--question", "most-central")),
        ("anchor,shown_1,shown_2,shown_3\nn0,n1,n9,n4\nn4,n0,n25,n1\n", ("--question", "rank 2 of 3")),
    ],
)
def test_tables_of_questions_are_asked(program, tmp_path, monkeypatch, table, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.csv").write_text(table)
    command = " ".join(f"'{word}'" for word in program())
    shown = closerthan("ask", "questions.csv", "--command", command, *options).output
    assert "2 questions: 2 answered, 0 with an unclear reply, 0 without a reply; 2 attempts" in " ".join(shown.split())
    answers = ct.read_comparisons("questions-asked/answers.csv")
    assert ct.answer_accuracy(answers, [[float(name[1:])] for name in answers.names]).accuracy == 1.0


@pytest.mark.parametrize(
    "text",
    ["anchor;left;right\na;b, c;d\n", "anchor\tleft\tright\na\tb, c\td\n", 'anchor,left,right,answer\na,"b, c",d,\n'],
)
def test_tables_of_questions_may_have_other_delimiters_and_empty_answers(tmp_path, text):
    (tmp_path / "questions.csv").write_text(text)
    table = read_question_table(tmp_path / "questions.csv")
    assert table.names == ("a", "b, c", "d")
    assert table.questions.pairs.tolist() == [[[0, 1], [0, 2]]]


def test_a_table_with_answers_is_not_one_of_questions(tmp_path):
    (tmp_path / "answers.csv").write_text("anchor,left,right,answer\na,b,c,\na,c,b,b\n")
    assert read_question_table(tmp_path / "answers.csv") is None


def test_an_error_about_other_columns_names_those_of_questions(tmp_path):
    (tmp_path / "questions.csv").write_text("anchor,option_1,option_2\na,b,c\n")
    shown = closerthan("ask", str(tmp_path / "questions.csv"), "--command", "cat", code=2).output
    assert "is not a table of questions (anchor, left, right;" in shown


def test_errors_about_options_name_them(tmp_path):
    ct.files.write_comparisons(random_answers("triplet"), tmp_path / "people.csv")
    done = closerthan("ask", str(tmp_path / "people.csv"), "--command", "cat", "--kind", "pairs", code=2)
    shown = " ".join(done.stderr.split())
    assert "--kind is 'pairs'; choose from: triplet" in shown
    assert "not a table of questions" not in shown


def test_the_questions_of_people_are_asked_and_compared_with_their_answers(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(random_answers("odd-one-out"), "people.csv")
    command = " ".join(f"'{word}'" for word in program())
    shown = " ".join(closerthan("ask", "people.csv", "--command", command).output.split())
    assert "of 12 answers agree with those of people; chance is 33.3 %" in shown
    again = closerthan("ask", "people.csv", "--command", command)
    assert "has 12 replies already" in again.output
    people, made = ct.read_comparisons("people.csv"), ct.read_comparisons("people-asked/answers.csv")
    odd = [[one.names[number] for number in one.rows[::2, 2]] for one in (people, made)]
    share = np.mean([ours == theirs for ours, theirs in zip(*odd, strict=True)])
    assert f"{100 * share:.1f} % (95 % interval" in shown


def test_unclear_replies_are_listed_on_the_page(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(random_answers("triplet"), "people.csv")
    command = " ".join(f"'{word}'" for word in program("answer = '<b>' if question['id'] == 3 else answer"))
    closerthan("ask", "people.csv", "--command", command)
    page = (tmp_path / "people-asked" / "report.html").read_text(encoding="utf-8")
    assert "11 answered, 1 with an unclear reply" in page
    assert "&#x27;&lt;b&gt;&#x27; is not one of the options" in page


def test_a_program_that_stops_replying_ends_the_command_with_a_sentence(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ct.files.write_comparisons(random_answers("triplet", 30), "people.csv")
    command = " ".join(f"'{word}'" for word in program("if question['id'] > 4: sys.exit(1)"))
    done = closerthan("ask", "people.csv", "--command", command, "--retries", "0", code=2)
    assert "no reply to 10 questions in a row, so the others were not asked" in " ".join(done.stderr.split())
    assert ct.read_comparisons("people-asked/answers.csv").n_answers == 5


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "--command is empty"),
        ("python 'x", "a quotation mark that is not closed"),
        ("no-such-program", "cannot be started"),
    ],
)
def test_commands_that_cannot_be_started_are_errors(tmp_path, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.csv").write_text("anchor,left,right\nn0,n1,n9\n")
    done = closerthan("ask", "questions.csv", "--command", command, code=2)
    assert message in " ".join(done.stderr.split())


def test_no_answer_at_all_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.csv").write_text("anchor,left,right\nn0,n1,n9\n")
    done = closerthan("ask", "questions.csv", "--command", f"'{sys.executable}' -c pass", "--pause", "0", code=2)
    assert "no question was answered" in done.stderr
    assert (tmp_path / "questions-asked" / "record.jsonl").exists()


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        ("anchor,left,right\nn0,n0,n9\n", (), "line 2: expected 3 different objects"),
        ("anchor,left,right\n", (), "has no questions"),
        ("item_1,item_2,item_3\na,b,c\n", ("--question", "rank 2 of 3"), "three items are for odd-one-out"),
        ("anchor,shown_1,shown_2\na,b,c\n", ("--question", "rank 2 of 3"), "2 objects are shown with each anchor"),
        ("anchor,near,far\na,b,c\n", ("--question", "triplet"), "--question is for a table of questions"),
        ("one,two,three\n1,2,3\n", (), "not understood"),
    ],
)
def test_bad_tables_are_errors(tmp_path, monkeypatch, table, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.csv").write_text(table)
    done = closerthan("ask", "questions.csv", "--command", "true", *words, code=2)
    assert message in " ".join(done.stderr.split())
