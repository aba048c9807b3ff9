"""``closerthan answers-from``, ``closerthan score`` and ``closerthan align``."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def features():
    points = np.random.default_rng(0).normal(size=(15, 3))
    np.save("features.npy", points)
    return points


def test_the_answers_of_features_can_be_read(features):
    run("answers-from", "features.npy", "--question", "nearest 2 of 5", "--answers", 50)
    answers = ct.read_comparisons("features-answers.csv")
    assert answers.n_answers == 50
    assert ct.answer_accuracy(answers, features, similarity="cosine").accuracy == 1.0


def test_a_matrix_must_be_declared():
    cities = ct.datasets.eurodist()
    with open("cities.csv", "w", newline="") as file:
        csv.writer(file).writerow(["", *cities.names])
        csv.writer(file).writerows(np.column_stack([cities.names, cities.table]))
    assert "--matrix dissimilarities" in run("answers-from", "cities.csv", code=2).stderr
    run("answers-from", "cities.csv", "--matrix", "dissimilarities", "--answers", 100)
    assert ct.read_comparisons("cities-answers.csv").names is not None


def test_models_answer_the_questions_of_people(features):
    people = ct.answers_from(features, 200, question="odd-one-out", temperature=0.2)
    ct.files.write_comparisons(people, "people.csv")
    shown = run("answers-from", "features.npy", "--same-as", "people.csv").output
    assert "whole answers; chance is 33.3 %" in " ".join(shown.split())
    assert ct.read_comparisons("features-answers.csv").n_answers == 200


def test_scores_are_written_for_each_file(features):
    np.savetxt("noise.txt", np.random.default_rng(1).normal(size=(15, 3)))
    ct.files.write_comparisons(ct.answers_from(features, 300), "people.csv")
    shown = run("score", "people.csv", "features.npy", "noise.txt").output
    assert "100.0 %" in shown
    with open("people-scores/scores.csv", newline="") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["features", "noise"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--matrix", "similarities", "--similarity", "dot"), "leave one of them out"),
        (("--matrix", "distances"), "--matrix is 'distances'; it can be similarities or dissimilarities"),
        (("--similarity", "taxi"), "--similarity is 'taxi'; choose from: cosine, dot, euclidean"),
        (("--question", "nearest 9 of 3"), "--question is 'nearest 9 of 3'; fewer objects"),
        (("--same-as", "nothing.csv"), "nothing.csv"),
        (("--temperature", "-1"), "--temperature is -1.0; it must be positive and finite"),
        (("--out", "answers.doc"), "comparisons can be written as .csv"),
    ],
)
def test_errors_are_one_sentence(features, words, message):
    done = run("answers-from", "features.npy", *words, code=2)
    assert message in " ".join(done.stderr.split())


def test_aligned_features_are_written_with_their_scores(features):
    people = ct.answers_from(features[:, :1], 400, similarity="euclidean", question="odd-one-out", temperature=0.3)
    ct.files.write_comparisons(people, "people.csv")
    shown = run("align", "people.csv", "features.npy", "--similarity", "euclidean", "--folds", 2, "--rank", 2).output
    assert "features, new objects: " in shown
    with open("people-aligned/aligned.csv", newline="") as file:
        assert [row["held_out"] for row in csv.DictReader(file)] == ["new answers", "new objects"]
    positions, _ = ct.files.read_map("people-aligned/features-map.csv")
    with np.load("people-aligned/features-map.npz") as saved:
        assert np.allclose(positions, (features - saved["centre"]) @ saved["weights"])
    assert "people-aligned exists" in run("align", "people.csv", "features.npy", code=2).stderr


def test_constant_features_do_not_prevent_the_alignment_of_others(features):
    ct.files.write_comparisons(ct.answers_from(features, 100, similarity="euclidean"), "people.csv")
    np.save("constant.npy", np.ones_like(features))
    options = ("--similarity", "euclidean", "--folds", 2, "--strength", 1)
    shown = run("align", "people.csv", "constant.npy", "features.npy", *options).output
    remark = "Not aligned: constant.npy: all features are the same; nothing can be learnt from them."
    assert remark in " ".join(shown.split())
    with open("people-aligned/aligned.csv", newline="") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"features"}


def test_errors_of_align_name_the_option(features):
    ct.files.write_comparisons(ct.answers_from(features, 100), "people.csv")
    wrong = (("--hold-out", "people"), ("--towards", "one"), ("--similarity", "taxi"), ("--rank", "7"))
    for option, value in wrong:
        stderr = " ".join(run("align", "people.csv", "features.npy", option, value, code=2).stderr.split())
        assert value in stderr
        assert option.strip("-").replace("-", "") in stderr.replace("-", "")


@pytest.mark.parametrize("command", [("score", "people.csv"), ("align", "people.csv"), ("answers-from",)])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "features.csv is empty"),
        ("name,a,b\n", "features.csv has a header line, but no objects"),
        ("name,a,b\nant,1,2\nbee,3,\ncat,1,4\n", "features.csv: 'bee' lacks a feature; fill the gap"),
        ("name,a,b\nant,1,red\n", "features.csv, line 2"),
        ("name,a,b\nant,1,2\nant,3,4\nbee,1,1\n", "the name 'ant' occurs twice"),
    ],
)
def test_files_of_features_that_cannot_be_used_are_errors(tmp_path, command, content, message):
    ct.files.write_comparisons(ct.Comparisons.from_triplets([["ant", "bee", "cat"]] * 30), "people.csv")
    (tmp_path / "features.csv").write_text(content)
    assert message in " ".join(run(*command, "features.csv", code=2).stderr.split())
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "features.csv"}


def test_a_file_of_features_is_compared_once(features):
    ct.files.write_comparisons(ct.answers_from(features, 100), "people.csv")
    stderr = run("score", "people.csv", "features.npy", "features.npy", code=2).stderr
    assert "the name 'features.npy' occurs twice" in stderr


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "parquet"])
def test_features_are_read_from_every_kind_of_file(features, ending):
    names = [f"object {number}" for number in range(15)]
    ct.files.write_comparisons(ct.answers_from(features, 300, names=names), "people.csv")
    if ending == "npy":
        np.save("model.npy", features)
        ct.files.write_comparisons(ct.answers_from(features, 300), "people.csv")
    elif ending == "npz":
        np.savez("model.npz", features=features, names=np.array(names))
    else:
        ct.files.write_map(features, names, f"model.{ending}")
    assert "100.0 %" in run("score", "people.csv", f"model.{ending}").output


def test_features_without_names_need_the_names_of_their_rows_if_the_answers_have_names(features):
    names = [f"{'zyxwvutsrqponml'[number]}-{number}" for number in range(15)]  # not in alphabetical order
    ct.files.write_comparisons(ct.answers_from(features, 300, names=names), "people.csv")
    ct.files.write_map(features, names, "named.csv")
    for order in (("named.csv", "features.npy"), ("features.npy", "named.csv")):
        assert "pass --names to name them" in run("score", "people.csv", *order, code=2).stderr
    with open("names.txt", "w") as file:
        file.write("\n".join(names))
    shown = run("score", "people.csv", "named.csv", "features.npy", "--names", "names.txt").output
    assert shown.count("100.0 %") >= 2


def test_errors_name_the_file_of_the_matrix(features):
    ct.files.write_comparisons(ct.answers_from(features, 100), "people.csv")
    matrix = np.linalg.norm(features[:, None] - features, axis=2)
    np.save("a_matrix.npy", matrix)
    assert "a_matrix.npy is a matrix" in run("score", "people.csv", "features.npy", "a_matrix.npy", code=2).stderr
    matrix[0, 1] += 1
    np.save("a_matrix.npy", matrix)
    for command in (("answers-from",), ("score", "people.csv")):
        stderr = run(*command, "a_matrix.npy", "--matrix", "dissimilarities", code=2).stderr
        assert "error: a_matrix.npy has" in stderr
    np.save("same.npy", np.ones((15, 2)))
    stderr = run("align", "people.csv", "same.npy", "--similarity", "euclidean", code=2).stderr
    assert "error: same.npy: all features are the same" in stderr


def test_each_command_writes_a_page_that_loads_nothing(features):
    ct.files.write_comparisons(ct.answers_from(features, 300), "people.csv")
    run("score", "people.csv", "features.npy")
    run("align", "people.csv", "features.npy", "--folds", 2, "--strength", 0.1, "--towards", "identity")
    for folder in ("people-scores", "people-aligned"):
        with open(f"{folder}/report.html", encoding="utf-8") as file:
            text = file.read()
        assert "<td>features</td>" in text
        assert "the chance level is 50.0 %" in text
        assert "http" not in text.replace("http-equiv", "")
