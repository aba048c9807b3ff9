"""The options for reading files."""

import dataclasses
import subprocess
import sys
import typing

import pytest

import closerthan as ct
from closerthan.files.meaning.reading import Reading, ReadingOptions


def test_the_typed_keywords_are_the_fields_of_the_options():
    fields = {field.name: field.type for field in dataclasses.fields(Reading)}
    assert typing.get_type_hints(ReadingOptions) == fields


@pytest.mark.parametrize("read", [ct.read_comparisons, ct.files.read_answers])
def test_an_unknown_keyword_is_an_error_that_lists_the_options(written, read):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'tie'; did you mean 'ties'"):
        read(written("a,b,c\n"), tie="drop")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "skip"}, 'ties is \'skip\'; it must be "error" or "drop" or "keep"'),
        ({"catch": None}, 'catch is None; it must be "drop" or "keep"'),
        ({"n_objects": 2.5}, "n_objects is 2.5; it must be a whole number or None"),
        ({"columns": ["anchor"]}, r"columns is \['anchor'\]; it must be a mapping or None"),
        ({"columns": {"catch": ["a", "b"]}}, 'columns has .* for "catch"; one column is expected'),
    ],
)
def test_an_option_of_the_wrong_type_is_an_error_that_names_it(written, options, message):
    with pytest.raises(ValueError, match=message):
        ct.read_comparisons(written("a,b,c\n"), **options)


def test_embedding_an_array_imports_no_file_readers_and_nothing_for_whole_answers_or_blocks():
    unused = (
        "files",
        "comparisons.stored",
        "compiled.kernels.choices",
        "objective.dot_products",
        "objective.streaming",
    )
    program = (
        "import sys, closerthan as ct; ct.embed([[0, 1, 2], [1, 0, 2], [2, 1, 0]], 1, loss='ste', seed=0); "
        f"print([name for name in sys.modules if name[11:].startswith({unused})])"
    )
    process = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert process.stdout.strip() == "[]"
