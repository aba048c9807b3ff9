"""Tables in archives, JSON arrays, and lists in cells."""

import gzip
import json
import zipfile

import pytest
from rows_by_name import rows_by_name

from closerthan.files import read_answers, read_comparisons

TEXT = "anchor,near,far,worker\nant,bee,cat,w1\nbee,cat,ant,w2\n"
FRUIT = [("ant", "bee", "cat"), ("bee", "cat", "ant")]
RECORDS = [dict(zip(("anchor", "near", "far"), row, strict=True)) for row in FRUIT]


@pytest.fixture
def zipped(tmp_path):
    def pack(**files):
        path = tmp_path / "answers.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path

    return pack


# ---- zip ------------------------------------------------------------------------------------------------------------


def test_the_only_table_in_an_archive_is_read(zipped, read_text):
    path = zipped(**{"study/answers.csv": TEXT, "study/README.txt": "about", "__MACOSX/study/._answers.csv": "x"})
    answers = read_text(path)
    assert rows_by_name(answers.comparisons) == FRUIT
    assert answers.participants.tolist() == ["w1", "w2"]
    assert answers.comparisons.lines.tolist() == [2, 3]
    assert answers.summary.path == f"{path}/study/answers.csv"


def test_packed_text_and_json_are_read_in_an_archive_too(zipped):
    assert rows_by_name(read_comparisons(zipped(**{"a.csv.gz": gzip.compress(TEXT.encode())}))) == FRUIT
    assert rows_by_name(read_comparisons(zipped(**{"a.json": json.dumps(RECORDS)}))) == FRUIT
    assert rows_by_name(read_comparisons(zipped(**{"a.jsonl": "\n".join(map(json.dumps, RECORDS))}))) == FRUIT


def test_an_error_names_the_file_in_the_archive_and_its_line(zipped):
    path = zipped(**{"a.csv": TEXT + "cat,,ant,w1\n"})
    with pytest.raises(ValueError, match=r"answers\.zip/a\.csv, line 4 \('cat,,ant,w1'\): a cell is empty"):
        read_answers(path)


def test_one_of_several_tables_is_chosen_by_name(zipped):
    path = zipped(**{"x/a.csv": TEXT, "x/b.csv": "anchor,near,far\nx,y,z\n"})
    with pytest.raises(ValueError, match=r"contains 2 tables: x/a\.csv, x/b\.csv; choose one by its name, such"):
        read_answers(path)
    for name in ("b.csv", "x/b.csv"):
        assert rows_by_name(read_comparisons(path, variable=name)) == [("x", "y", "z")]
    with pytest.raises(ValueError, match=r"has 0 files called 'c\.csv'; its tables are x/a\.csv, x/b\.csv"):
        read_answers(path, variable="c.csv")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "contains no table; it holds nothing"),
        ({"README.md": "x"}, r"it holds README\.md; expected a file that ends in \.csv"),
        ({"a.npz": b"PK"}, r"a\.npz cannot be read inside an archive; extract it first"),
        ({"a.csv": ""}, "is empty"),
    ],
)
def test_an_archive_without_a_table_to_read_is_an_error(zipped, files, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(zipped(**files))


def test_a_damaged_archive_is_an_error(zipped, written):
    with pytest.raises(ValueError, match=r"a\.zip cannot be decompressed: File is not a zip file"):
        read_answers(written("hello", "a.zip"))
    content = bytearray(zipped(**{"a.csv": TEXT * 99}).read_bytes())
    content[60] ^= 0xFF
    with pytest.raises(ValueError, match="cannot be decompressed"):
        read_answers(written(bytes(content), "b.zip"))


def test_an_encrypted_table_is_an_error(zipped, written):
    content = bytearray(zipped(**{"a.csv": TEXT}).read_bytes())
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(start) + flags] |= 1
    with pytest.raises(ValueError, match=r"a\.csv is encrypted; extract it first"):
        read_answers(written(bytes(content), "b.zip"))


# ---- JSON -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "content", [RECORDS, FRUIT, {"study": "insects", "trials": RECORDS}], ids=["records", "lists", "in"]
)
@pytest.mark.parametrize("name", ["answers.json", "answers.json.gz"])
def test_json_arrays_are_read(written, content, indent, name):
    text = json.dumps(content, indent=indent).encode()
    answers = read_answers(written(gzip.compress(text) if name.endswith("gz") else text, name))
    assert rows_by_name(answers.comparisons) == FRUIT
    assert answers.summary.format == "JSON"
    assert answers.comparisons.lines is None


def test_json_lines_of_lists_are_still_json_lines(written):
    answers = read_answers(written('["ant", "bee", "cat"]\n["bee", "cat", "ant"]\n', "answers.json"))
    assert (rows_by_name(answers.comparisons), answers.summary.format) == (FRUIT, "JSON lines")


def test_an_error_names_the_record(written):
    records = [*RECORDS, {"anchor": "cat", "near": "bee"}]
    with pytest.raises(ValueError, match=r'answers\.json, record 3 \(.*"near": "bee".*\): a cell is empty'):
        read_answers(written(json.dumps(records), "answers.json"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[\n{"anchor": ', "it is not JSON"),
        ('{\n"a": 1, "b": 2}', r"is a JSON object with 'a', 'b'; expected a list of records"),
        ('[[1, 2, 3], {"anchor": 1}]', "some records are objects and others are lists"),
        ("[\n7\n]", "expected an object such as"),
        ("[\n]", "is empty: it has no record"),
    ],
)
def test_other_json_is_an_error(written, text, problem):
    with pytest.raises(ValueError, match=problem):
        read_answers(written(text, "answers.json"))


def test_nested_values_are_errors_only_in_columns_that_are_used(written):
    records = [{**record, "mouse": [[1, 2], [3, 4]], "page": {"x": 1}} for record in RECORDS]
    for text, name in ((json.dumps(records), "a.json"), ("\n".join(map(json.dumps, records)), "a.jsonl")):
        assert rows_by_name(read_comparisons(written(text, name))) == FRUIT
        with pytest.raises(ValueError, match=r"1 \(.*\): 'page' holds .*; expected a name or a number"):
            read_answers(written(text, name), columns={"participant": "page"})


# ---- lists ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lists",
    [('["b", "c", "d"]', '["a", "c"]'), ("['b', 'c', 'd']", "['a', 'c']"), ("[b, c, d]", "[a, c]"), ("b;c;d", "a;c")],
)
@pytest.mark.parametrize("more", ["", ",w1"])
def test_lists_in_cells_are_read(written, read_text, lists, more):
    header = "anchor,ranking" + (",worker" if more else "")
    rows = [f'{anchor},"{cell.replace(chr(34), chr(34) * 2)}"{more}' for anchor, cell in zip("ab", lists, strict=True)]
    answers = read_text(written("\n".join([header, *rows]) + "\n"))
    assert rows_by_name(answers.comparisons) == [("a", "b", "c"), ("a", "b", "d"), ("a", "c", "d"), ("b", "a", "c")]
    assert answers.summary.kind == "rank"
    assert answers.comparisons.lines.tolist() == [2, 2, 2, 3]
    assert "the cells in 'ranking' are lists and are read as numbered columns" in answers.summary.notes


def test_a_list_of_options_gives_the_objects_shown(written):
    answers = read_answers(written("anchor,options,choice\na,b|c|d,c\nb,a|d,a\n"))
    assert rows_by_name(answers.comparisons) == [("a", "c", "b"), ("a", "c", "d"), ("b", "a", "d")]
    answers = read_answers(written('items,odd\n"[1, 2, 3]",3\n"[2, 3, 4]",2\n'))
    assert answers.summary.kind == "odd-one-out"


def test_a_list_under_another_name_can_be_given_a_role(written):
    text = 'anchor,sequence\na,"[b, c]"\nb,"[a, c]"\n'
    with pytest.raises(ValueError, match="'sequence_1', 'sequence_2', which are not understood"):
        read_answers(written(text))
    assert rows_by_name(read_comparisons(written(text), columns={"ranking": "sequence"})) == [
        ("a", "b", "c"),
        ("b", "a", "c"),
    ]
    lines = '{"anchor": "a", "sequence": ["b", "c"]}\n'
    assert rows_by_name(read_comparisons(written(lines, "a.jsonl"), columns={"ranking": "sequence"})) == [
        ("a", "b", "c")
    ]


def test_cells_that_only_resemble_lists_remain_names(written):
    text = 'anchor,near,far\n"[a]",b,c\nb,c,a;d\n'
    assert rows_by_name(read_comparisons(written(text))) == [("[a]", "b", "c"), ("b", "c", "a;d")]
    assert len(read_comparisons(written('anchor,near,far\n"(x",y,z\n'))) == 1
