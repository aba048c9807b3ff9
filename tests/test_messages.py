"""Tests of messages that suggest arguments."""

import pickle

import pytest

from closerthan.checks import ParameterError
from closerthan.cli.screen import as_option, in_terms_of_options
from closerthan.files import read_answers
from closerthan.files.formats.opening import name_file_in_errors
from closerthan.messages import Message, message_of, value_error

TIE = Message("row 17 is a tie", "drop the row or pass {ties}", ties="drop")


def test_python_and_the_command_line_write_the_same_suggestion_differently():
    assert TIE == 'row 17 is a tie; drop the row or pass ties="drop"'
    assert in_terms_of_options(TIE) == "row 17 is a tie; drop the row or pass --ties drop"


def test_text_quoted_from_a_file_is_never_replaced():
    message = Message("column {ties} is empty", "pass {ties}", ties="drop")
    assert message == 'column {ties} is empty; pass ties="drop"'
    assert message.in_terms_of(as_option) == "column {ties} is empty; pass --ties drop"


def test_a_suggestion_survives_pickling():
    copy = pickle.loads(pickle.dumps(TIE))
    assert (copy, in_terms_of_options(copy)) == (TIE, in_terms_of_options(TIE))


def test_parameter_error_renames_the_suggested_parameters_too():
    error = ParameterError("n_dims", 9, "there are 3 objects", "pass {n_dims}", n_dims=2)
    assert str(error.renamed({"n_dims": "n_components"})) == (
        "n_components is 9; there are 3 objects; pass n_components=2"
    )
    assert error.in_terms_of(as_option) == "--dims is 9; there are 3 objects; pass --dims 2"


def test_the_name_of_a_file_keeps_the_suggestion():
    @name_file_in_errors
    def read(path, length):
        raise value_error(f"{'a' * length} is a tie", "pass {ties}", ties="drop")

    for length in (1, 5000):
        with pytest.raises(ValueError, match=r"^answers.csv: a.* is a tie; pass ties=\"drop\"$") as caught:
            read("answers.csv", length)
        assert len(str(caught.value)) < 2100
        assert in_terms_of_options(message_of(caught.value)).endswith(" is a tie; pass --ties drop")


def test_errors_about_a_parameter_of_a_reader_are_not_about_the_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\na,b,c\n")
    with pytest.raises(ParameterError, match=r"^kind is 'tuple'; choose from: triplet"):
        read_answers(path, kind="tuple")
    with pytest.raises(ParameterError, match=r"^columns has the role 'middle'; choose from: anchor"):
        read_answers(path, columns={"middle": "near"})


def test_a_value_that_looks_like_an_argument_is_not_changed(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far,catch\na,b,c,often\nb,a,c,never\n")
    with pytest.raises(ValueError, match="mark catch trials") as caught:
        read_answers(path, columns={"catch": "catch"})
    assert in_terms_of_options(message_of(caught.value)).endswith("as in --column catch=catch=often")
