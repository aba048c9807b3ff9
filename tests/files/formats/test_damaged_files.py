"""Damaged files: reading one either succeeds or gives an error of one sentence that names the file."""

import gzip
import io
import json
import random
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from rows_by_name import rows_by_name

import closerthan as ct
from closerthan.checks import ParameterError
from closerthan.files import read_answers, read_map, write_comparisons, write_map
from closerthan.files.formats.binary.parquet import ParquetTable
from closerthan.files.formats.text.delimited_text import ARROW_FROM
from closerthan.files.labels import read_labels
from closerthan.files.meaning.answers import read
from closerthan.files.meaning.reading import Reading
from closerthan.files.stored.large import Portion

pytestmark = pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")

NAMES = ["ant", "bee", "gr\u00fcn", "New York, NY", 'a "b"', "w7", "x y"]
LONGEST = 3000  # characters of an error

TEXTS = {
    "names.csv": "anchor,near,far,weight,participant\nant,bee,cat,1.5,w1\nbee,cat,ant,2,w2\ncat,ant,dog,0.25,w1\n",
    "numbers.csv": "anchor,near,far\n" + "".join(f"{i},{(i + 1) % 9},{(i + 2) % 9}\n" for i in range(9)),
    "plain.csv": "0,1,2\n1,2,3\n3,2,0\n2,1,3\n",
    "quoted.csv": '"anchor","near","far"\n"ant","bee, or wasp","c""at"\n"bee, or wasp","ant","two\nlines"\n',
    "windows.csv": "anchor;near;far\r\nant;bee;cat\r\nbee;ant;d\u00f6g\r\n",
    "old mac.csv": "anchor,near,far\rant,bee,cat\rbee,ant,dog\r",
    "remarks.tsv": "# made by hand\n# twice\nanchor\tnear\tfar\nant\tbee\tcat\nbee\tant\tdog\n\n",
    "spaces.txt": "anchor near far\nant bee cat\nbee  ant dog\n cat ant bee\n",
    "columns.txt": "1 2 3\n2 3 1\n3 1 2\n",
    "winner.csv": "head,left,right,winner\nant,bee,cat,left\nbee,ant,cat,right\ncat,ant,bee,left\n",
    "label.csv": "anchor,near,far,y\nant,bee,cat,1\nbee,ant,cat,-1\ncat,ant,bee,true\n",
    "items.csv": "item_1,item_2,item_3,odd\nant,bee,cat,3\nbee,cat,dog,1\ndog,ant,bee,2\n",
    "rank.csv": "anchor,rank_1,rank_2,rank_3\nant,bee,cat,dog\nbee,ant,dog,\n",
    "nearest.csv": "anchor,shown_1,shown_2,shown_3,chosen\nant,bee,cat,dog,bee\nbee,ant,dog,cat,dog\n",
    "study.csv": "head,winner,loser,rt,Left,Right,kind\nant,bee,cat,812,bee,cat,main\ncat,cat,ant,99,ant,cat,check\n",
    "ranking.csv": 'anchor,ranking\nant,"[""bee"", ""cat""]"\nbee,"[""ant"", ""cat"", ""dog""]"\n',
    "split.csv": "anchor,near,far,split\nant,bee,cat,train\nbee,ant,cat,test\ncat,bee,ant,train\n",
}


SCREENS = [
    {"trial_index": 0, "time_elapsed": 9, "stimulus": "<p>Welcome</p>", "response": {"Q0": "x"}},
    {"trial_index": 1, "time_elapsed": 99, "stimulus": "ant", "choices": ["bee", "cat"], "response": 0, "rt": 812},
    {"trial_index": 2, "time_elapsed": 999, "stimulus": "bee", "choices": ["ant", "cat"], "response": 1, "rt": 99},
]
TARGETS = [
    {"label": "center", "target_id": "a"},
    {"label": "left", "target_id": "b"},
    {"label": "right", "target_id": "c"},
]
EXPORTS = {
    "salmon.csv": "head,left,right,winner,loser,puid,response_time,alg_ident,head_filename,left_filename,"
    "right_filename\n0,1,2,1,2,p1,1.2,RR,ant,bee,cat\n1,2,0,0,2,p2,0.8,RR,bee,cat,ant\n",
    "triplettools.csv": "head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg\n"
    "0,1,2,w1,1200,ant,bee,cat,bee,random\n1,2,0,w2,800,bee,cat,ant,cat,random\n0,0,1,w2,80,ant,ant,bee,ant,check\n",
    "jspsych.csv": "trial_index,time_elapsed,stimulus,choices,response,rt\n0,9,<p>Welcome</p>,,x,\n"
    '1,99,ant,"[""bee"",""cat""]",0,812\n2,999,bee,"[""cat"",""ant""]",1,99\n',
    "psychopy.csv": "anchor,left,right,r.keys,r.rt,participant,expName,frameRate,\n,,,,,s1,x,60,\n"
    "ant,bee,cat,left,0.8,s1,x,60,\nbee,cat,ant,right,1.8,s1,x,60,\n",
    "jspsych.json": SCREENS,
    "people.json": [{"participant": "p1", "trials": SCREENS}, {"participant": "p2", "trials": SCREENS}],
    "next.json": {"participant_responses": {"e_p1": [{"target_indices": TARGETS, "target_winner": "b"}] * 2}},
}


def valid_files(folder: Path) -> list[Path]:
    """Write a small file of each format and kind of question."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(len(NAMES))[:3] for _ in range(12)])
    more = {"weights": rng.uniform(1, 2, 12), "answers": np.arange(12) // 2, "people": list("ab" * 6)}
    named = ct.Comparisons.from_triplets(rows, names=NAMES, **more)
    plain = ct.Comparisons.from_quadruplets([[0, 1, 2, 3], [1, 2, 3, 0]])
    for form in (".csv", ".tsv", ".jsonl", ".csv.gz", ".jsonl.gz", ".parquet", ".npz"):
        write_comparisons(named, folder / f"answers{form}")
        write_comparisons(plain, folder / f"pairs{form}")
    for form in (".txt", ".npy", ".txt.gz"):
        write_comparisons(plain, folder / f"pairs{form}")
    for name, text in TEXTS.items():
        (folder / name).write_bytes(text.encode())
    (folder / "wide.csv").write_bytes(TEXTS["quoted.csv"].encode("utf-16"))
    (folder / "lists.jsonl").write_text('["ant", "bee", "cat"]\n["bee", "ant", "dog"]\n')
    records = '[{"anchor": "a", "near": "b", "far": "c", "rt": 812},\n {"anchor": "b", "near": "c", "far": "a"}]'
    (folder / "array.json").write_text(records)
    for name, content in EXPORTS.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(folder / f"answers {method}.zip", "w", method) as archive:
            archive.writestr("study/answers.csv", TEXTS["study.csv"])
    (folder / "shown.jsonl").write_text('{"anchor": "a", "shown": ["b", "c"], "chosen": "b"}\n' * 2)
    np.save(folder / "text.npy", np.array([["ant", "bee", "cat"], ["bee", "ant", "dog"]]))
    np.save(folder / "bytes.npy", np.array([[b"ant", b"bee", b"cat"], [b"bee", b"ant", b"dog"]]))
    fields = [("anchor", "i4"), ("near", "i4"), ("far", "i4")]
    np.save(folder / "fields.npy", np.array([(0, 1, 2), (1, 2, 0)], dtype=fields))
    for form in (".csv", ".parquet", ".npz"):
        write_map(rng.standard_normal((len(NAMES), 2)), NAMES, folder / f"map{form}")
    (folder / "labels.csv").write_text("name,legs,colour\nant,6,red\nbee,6,black\ncat,4,\n")
    return sorted(folder.iterdir())


# ---- ways to damage a file -------------------------------------------------------------------------------------------


def flip(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 2, 8])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def overwrite(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 3])):
        content[chance.randrange(len(content))] = chance.choice(b"\0\xff\",;\t\n\r |#'0179-+.eE{}[]a\x85\x1c")


def cut(content: bytearray, chance: random.Random) -> None:
    first, last = sorted(chance.choices(range(len(content) + 1), k=2))
    if chance.random() < 0.5:
        last = len(content)
    del content[first:last]


def double(content: bytearray, chance: random.Random) -> None:
    first, last = sorted(chance.choices(range(len(content) + 1), k=2))
    place = chance.randrange(len(content) + 1)
    content[place:place] = content[first:last] * chance.choice([1, 1, 2])


def insert(content: bytearray, chance: random.Random) -> None:
    pieces = [
        b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\n\n", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"NA", b"nan", b"inf",
        b"1e999", b"-1", b"9" * 5000, b"9" * 19, b"\\ud800", b"\xc2\xa0", b"\t", b"  ", b"=1+1", b"null", b"true", b"#",
        b"1_000", b" 2 ", b"+5", b"\xe2\x80\xa8", b"\x85", b"[" * 2000, b"0x10", b"2147483647", b"999999999", b"nan(1)",
    ]  # fmt: skip
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.choice(pieces)


def reencode(content: bytearray, chance: random.Random) -> None:
    text = content.decode("utf-8", "replace")
    content[:] = text.encode(chance.choice(["latin-1", "utf-16", "utf-16-le", "utf-32", "cp037"]), "replace")


DAMAGES = [flip, overwrite, cut, double, insert, insert, overwrite, reencode]


def damaged(path: Path, seed: int) -> Path:
    """Write a damaged copy of a file; a compressed file is damaged before or after compression."""
    chance = random.Random(f"{path.name} {seed}")
    inside = path.suffix == ".gz" and chance.random() < 0.5
    content = bytearray(gzip.decompress(path.read_bytes()) if inside else path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        if content:
            chance.choice(DAMAGES)(content, chance)
    target = path.with_name(f"damaged {path.name}")
    target.write_bytes(gzip.compress(bytes(content), mtime=0) if inside else bytes(content))
    return target


OPTIONS = {
    "kind": ["triplet", "quadruplet", "odd-one-out", "most-central", "rank", "nearest"],
    "columns": [
        {"weight": "far"},
        {"anchor": 0},
        {"near": 1, "far": 2},
        {"weight": None},
        {"items": [0, 1, 2]},
        {"far": 9},
    ],
    "numbering": ["0-based", "1-based", "names"],
    "names": [NAMES, ["ant", "bee", "cat", "dog"]],
    "n_objects": [3, 9, 100],
    "ties": ["drop"],
    "self_pairs": ["drop"],
    "missing": ["drop"],
    "header": [True, False],
    "delimiter": [",", ";", " ", "\t", "a", "\u00fc"],
    "encoding": ["utf-8", "latin-1", "utf-16", "utf-32", "utf-7", "ascii", "cp1252", "idna", "big5"],
    "variable": ["triplets", "names", "weight"],
}


def options_of(path: Path, seed: int) -> dict[str, object]:
    """Return options for every other file."""
    chance = random.Random(f"options {path.name} {seed}")
    names = chance.sample(sorted(OPTIONS), k=chance.choice([0, 0, 0, 1, 2, 4]))
    return {name: chance.choice(OPTIONS[name]) for name in names}


# ---- what may come of it ---------------------------------------------------------------------------------------------


def outcome(path: Path, arrow_from: int = ARROW_FROM, **options: object):
    """Return the content of a file in a form that can be compared, or the message of the error."""
    try:
        return content(path, arrow_from, options)
    except ValueError as raised:
        error = raised
    assert type(error) in (ValueError, ParameterError), type(error)
    does_not_fit = isinstance(error, ParameterError) and error.parameter in options
    assert str(path) in str(error) or does_not_fit, str(error)
    assert len(str(error)) < LONGEST
    return str(error)


def content(path: Path, arrow_from: int, options: dict[str, object]):
    if "map" in path.name:
        points, names = read_map(path)
        return points.tolist(), names
    if "labels" in path.name:
        return read_labels(path, ["ant", "bee"])
    answers = read(path, Reading.of(options), arrow_from=arrow_from)
    return [saved(part) for part in (answers.comparisons, answers.test) if part is not None]


def saved(comparisons):
    columns = (comparisons.rows, comparisons.weights, comparisons.answers, comparisons.people)
    lists = [None if column is None else column.tolist() for column in columns]
    return lists, comparisons.n_objects, comparisons.names, comparisons.person_names


def assert_readers_agree(path: Path, **options: object) -> None:
    """Check that the outcome is the same, whether pyarrow reads the text or the standard library does."""
    by_arrow, by_line = (outcome(path, arrow_from, **options) for arrow_from in (0, sys.maxsize))
    assert by_arrow == by_line, path.read_bytes()


def refused(match: str, path: Path, read=read_answers, **options):
    with pytest.raises(ValueError, match=match) as caught:
        read(path, **options)
    assert type(caught.value) is ValueError
    assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return valid_files(tmp_path_factory.mktemp("valid"))


def test_undamaged_files_are_read(files):
    for path in files:
        assert not isinstance(outcome(path), str), outcome(path)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_read_or_gives_one_sentence(files, seed):
    for path in files:
        assert_readers_agree(damaged(path, seed), **options_of(path, seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 160, 20))
def test_thousands_of_damaged_files_are_read_or_give_one_sentence(files, first):
    for seed in range(first, first + 20):
        for path in files:
            assert_readers_agree(damaged(path, seed), **options_of(path, seed))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["5", "5, packed", "7.3", "psiz"])
def test_a_damaged_matlab_or_hdf5_file_is_read_or_gives_one_sentence(tmp_path, version):
    path = tmp_path / ("a.mat" if version != "psiz" else "a.hdf5")
    arrays = {"triplets": np.array([[1, 2, 3], [3, 1, 2]]), "names": np.array(["ant", "bee", "cat"], dtype=object)}
    if version == "7.3":
        with pytest.importorskip("h5py").File(path, "w", userblock_size=512) as file:
            file["triplets"] = arrays["triplets"].T
    elif version == "psiz":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["stimulus_set"], file["n_select"] = np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), np.array([2, 1])
    else:
        scipy.io.savemat(path, arrays, do_compression=version == "5, packed")
    for seed in range(8):  # each is read by another process
        outcome(damaged(path, seed))


# ---- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'anchor,near,far\na,b,c\n"a"x,b,c\n',  # after a closing quotation mark
        'anchor,near,far\na,b,c\n"a,"b",c",b\n',  # quotation marks inside a cell
        'anchor,near,far,note\na,b,c,"\nb,c,a,"\n',  # a cell of two lines
        b"anchor,near,far,note\na,b,c,\xff\nb,c,a,x\n",  # not UTF-8, in a column that is not used
        "anchor near far\na\tb c d\nb a c\n",  # a tab among spaces
        "anchor near far\n a b\nb a c\n",  # a line that begins with a space
        "anchor,near,far,weight\na,b,c,1_0\nb,c,a,2\n",  # a number only for Python
        "anchor,near,far,weight\na,b,c,nan(1)\nb,c,a,2\n",  # a number only for pyarrow
        "anchor,near,far,weight\na,b,c,1e400\nb,c,a,2\n",
        "anchor,near,far,weight\na,b,c, 3\nb,c,a,+2\n",
        '"anchor\r",near,far\na,b,c\nb,c,a\n',  # a header of two lines
        "anchor,near,far,note\na,b,c," + "x" * 200_000 + "\nb,c,a,y\n",  # longer than the csv module allows
    ],
)
def test_both_readers_of_text_agree(written, text):
    assert_readers_agree(written(text))


def test_both_readers_recognise_a_compressed_file_by_its_suffix_only(written):
    for name in ("answers.csv.GZ", "answers.csv.bz2"):
        assert_readers_agree(written(gzip.compress(b"anchor,near,far\na,b,c\nb,c,a\n", mtime=0), name))
        assert_readers_agree(written("anchor,near,far\na,b,c\nb,c,a\n", name))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", None])
def test_a_byte_order_mark_is_not_part_of_a_name(written, encoding):
    path = written("\ufeffa,b,c\nb,c,a\n")
    assert read_answers(path, header=False, encoding=encoding).comparisons.names == ("a", "b", "c")


def test_the_line_of_a_bad_object_is_named_in_a_large_file_too(written, read_text):
    lines = ["anchor,near,far"] + ["1,2,3"] * 500 + ["2,3,x"]
    refused(r"line 502 \('2,3,x'\): 'x' is not a whole number", written("\n".join(lines)), read_text)


@pytest.mark.parametrize("delimiter", ["ab", "", '"', "\n", "\0"])
def test_a_delimiter_is_one_character(written, delimiter):
    refused("it must be one character", written("a,b,c\n"), delimiter=delimiter)


@pytest.mark.parametrize("encoding", ["undefined", "no\0thing", "hex", "klingon"])
def test_an_encoding_that_decodes_nothing_is_an_error(written, encoding):
    refused("which is unknown", written("anchor,near,far\na,b,c\n"), encoding=encoding)


def test_text_in_another_encoding_than_utf_16_is_an_error(written):
    refused("is not in utf-16", written("anchor,near,far\na,b,c\n"), encoding="utf-16")


def test_a_column_has_one_role(written):
    path = written("anchor,near,far\na,b,c\n")
    refused("'far' cannot be 'far' and 'weight' at once", path, columns={"weight": "far"})
    refused("at once", path, columns={"participant": 0})
    refused("at once", written("1,2,3,4\n2,1,3,5\n"), columns={"weight": 3, "participant": 3})


def test_errors_raised_outside_the_file_readers_name_the_file(written):
    refused("the name 'a' occurs twice", written("anchor,near,far\na,b,c\n"), names=["a", "b", "c", "a"])
    refused("all weights are zero", written("anchor,near,far,weight\na,b,c,0\n"))


def test_an_error_quotes_only_the_beginning_of_a_long_cell(written):
    with pytest.raises(ValueError, match="not understood") as caught:
        read_answers(written("a" * 50_000 + ",b,c\n1,2,3\n"))
    assert len(str(caught.value)) < LONGEST


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,2\n1,2,1000000000\n", "object 1000000000 implies a map of 1,000,000,001 objects.*numbering"),
        ("0,1,2\n1,2," + "9" * 19 + "\n", "is not a whole number"),
        ("0,1,2\n1,2," + "9" * 5000 + "\n", "is not a whole number"),
    ],
)
def test_numbers_that_are_names_are_not_counted(written, text, message):
    path = written(text)
    assert read_answers(path).summary.numbering == "names"
    refused(message, path, numbering="0-based")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"anchor": ' + "9" * 5000 + ', "near": 1, "far": 2}', r"line 1 .*it is not JSON"),
        ('{"anchor": "\\ud800", "near": 1, "far": 2}', "which is not a character"),
        ("[" * 100_000, "it is not JSON"),
        ("{}\n{}", "all lines are empty"),
        ('{"anchor": 1, "near": 2, "far": {"' + "x" * 9000 + '": ["y"]}}', "expected a name or a number"),
    ],
)
def test_an_invalid_json_line_is_an_error(written, content, message):
    refused(message, written(content, "a.jsonl"))


def test_a_name_missing_from_a_json_line_is_an_empty_cell(written):
    lines = [json.dumps({"anchor": "a", "near": "b", "far": "c", f"k{number}": 1}) for number in range(300)]
    lines[7] = '{"anchor": "a", "near": "b", "far": "c", "participant": "ann"}'
    answers = read_answers(written("\n".join(lines), "a.jsonl"))
    assert answers.participants.tolist() == [""] * 7 + ["ann"] + [""] * 292


# ---- long lists and wide tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rank", "nearest"])
def test_lists_of_any_length_give_the_same_pairs_as_plain_loops(written, kind):
    rng = np.random.default_rng(1)
    rows, expected = [], []
    for _ in range(5):
        objects = [f"o{number}" for number in rng.permutation(30)[: rng.integers(10, 20)]]
        anchor, items, chosen = objects[0], objects[1:], set(objects[2:5])
        if kind == "rank":
            pairs = [(near, far) for place, near in enumerate(items) for far in items[place + 1 :]]
        else:
            pairs = [(near, far) for near in items if near in chosen for far in items if far not in chosen]
        expected += [(anchor, *pair) for pair in pairs]
        cells = [anchor, *items, *[""] * (20 - len(objects)), *(objects[2:5] if kind == "nearest" else [])]
        rows.append(",".join(cells))
    role = "rank" if kind == "rank" else "shown"
    header = ["anchor", *[f"{role}_{place}" for place in range(1, 20)]]
    header += ["chosen_1", "chosen_2", "chosen_3"] if kind == "nearest" else []
    assert rows_by_name(read_answers(written("\n".join([",".join(header), *rows])))) == expected


def test_an_object_that_occurs_twice_in_a_long_list_is_an_error(written):
    text = ",".join(["anchor", *[f"rank_{place}" for place in range(20)]])
    cells = [f"o{number}" for number in range(21)]
    cells[17] = "o4"
    refused("line 2 .*object 'o4' is compared with itself", written(f"{text}\n{','.join(cells)}\n"))


@pytest.mark.slow
def test_too_many_comparisons_are_an_error_before_memory_is_allocated(written):
    ranking = [f"object {number}" for number in range(65_600)]
    path = written(json.dumps({"anchor": "ant", "ranking": ranking}) + "\n", "a.jsonl")
    refused("these answers imply 2,151,647,200 comparisons", path)


# ---- arrays ----------------------------------------------------------------------------------------------------------


def header_of(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<i4", "fortran_order": False, "shape": shape})
    return file.getvalue()


def packed(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


@pytest.mark.parametrize("shape", [(2_000_000_000, 3), (2**40, 3), (3, 3)])
def test_a_header_that_declares_too_much_data_allocates_no_memory(written, shape):
    content = header_of(shape) + bytes(24)
    for path in (written(content, "a.npy"), written(packed(triplets=content), "a.npz")):
        refused(r"its header declares [\d,]+ bytes of numbers, but there are 24", path)


def test_an_archive_with_an_implausible_decompressed_size_is_refused(written, monkeypatch):
    monkeypatch.setattr("closerthan.files.formats.sizes.LARGE", 1 << 20)
    content = header_of((1_000_000, 3)) + bytes(12_000_000)
    refused(
        "it decompresses to 12,000,128 bytes, more than 200 times its size", written(packed(triplets=content), "a.npz")
    )


@pytest.mark.parametrize(("name", "value"), [("n_objects", 10**9), ("n_objects", -3), ("n_objects", [1, 2]),
                                             ("numbering", 7), ("n_objects", "many")])  # fmt: skip
def test_an_invalid_description_of_the_objects_is_an_error(tmp_path, name, value):
    settings = {"n_objects": 3, "numbering": "0-based", name: value}
    np.savez(tmp_path / "a.npz", triplets=[[0, 1, 2], [1, 2, 0]], **settings)
    refused("objects, of which 3 occur|which is invalid|unknown numbering", tmp_path / "a.npz")


def test_a_large_number_of_objects_can_be_confirmed(tmp_path):
    np.savez(tmp_path / "a.npz", triplets=[[0, 1, 2]], n_objects=2_000_000, numbering="0-based")
    refused("pass n_objects=2000000", tmp_path / "a.npz")
    assert read_answers(tmp_path / "a.npz", n_objects=2_000_000).comparisons.n_objects == 2_000_000


def test_bytes_are_decoded_to_text(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[b"ant", "gr\u00fcn".encode(), b"cat"]]))
    assert read_answers(tmp_path / "a.npy").comparisons.names == ("ant", "cat", "gr\u00fcn")
    np.save(tmp_path / "a.npy", np.array([[b"ant", b"\xff", b"cat"]]))
    refused("not text in UTF-8", tmp_path / "a.npy")


# ---- Parquet ---------------------------------------------------------------------------------------------------------


def test_nulls_in_parquet_are_empty_cells(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    names = [f"o{number}" for number in range(128)]  # one more label would not fit into 8-bit indices
    numbers = pa.array([*range(128), None], pa.int8())
    near = pa.DictionaryArray.from_arrays(numbers, names)
    table = pa.table({"anchor": ["a"] * 129, "near": near, "far": ["z"] * 129})
    parquet.write_table(table, path)
    refused(r"row 128 \(a, , z\): a cell is empty", path)
    assert len(read_answers(path, missing="drop").comparisons) == 128
    parquet.write_table(pa.table({"anchor": ["a"], "near": pa.nulls(1), "far": ["z"]}), path)
    refused("a cell is empty", path)
    parquet.write_table(pa.table({"anchor": [1], "near": pa.array([None], pa.int64()), "far": [2]}), path)
    refused("a cell is empty", path)


def test_parquet_columns_with_dots_equal_names_and_unusual_types(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    columns = {"anchor.id": ["a"], "near": ["b"], "far": ["c"]}
    parquet.write_table(pa.table(columns), path)
    assert read_answers(path).comparisons.names == ("a", "b", "c")
    parquet.write_table(pa.table([["a"], ["b"], ["c"], ["d"]], ["anchor", "near", "far", "far"]), path)
    refused("could both be 'far'", path)
    parquet.write_table(pa.table({**columns, "near": [{"x": 1}]}), path)
    refused(r"cannot be read as Parquet \('near'\)", path)


@pytest.fixture
def repetitive(tmp_path):
    """A function that writes a small Parquet file of many equal rows, with the same text or list in a column."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(note, n_rows: int = 100_000) -> Path:
        same = pa.array(np.zeros(n_rows, np.int32))
        columns = {name: pa.DictionaryArray.from_arrays(same, [name]) for name in ("anchor", "near", "far")}
        columns["note"] = pa.DictionaryArray.from_arrays(same, [note])
        if isinstance(note, list):
            columns["note"] = pa.array([note] * n_rows)
        parquet.write_table(pa.table(columns), tmp_path / "map.parquet", compression="zstd", store_schema=False)
        return tmp_path / "map.parquet"

    return write


def test_a_parquet_file_that_needs_an_implausible_amount_of_memory_is_refused(repetitive, monkeypatch):
    for note, column in (("x", "anchor"), (["a", "b"], "note")):  # lists are always read
        path = repetitive(note)
        assert len(read_answers(path).comparisons) == 100_000
        with monkeypatch.context() as patch:
            patch.setattr("closerthan.files.formats.sizes.LARGE", 1 << 18)
            refused(rf"column '{column}': it decompresses to [\d,]+ bytes, more than 200 times its size", path)


def test_a_large_parquet_file_that_needs_an_implausible_amount_of_memory_is_refused(repetitive, monkeypatch):
    path = repetitive("x")
    columns = {"anchor": "anchor", "near": "near", "far": "far"}
    reading, in_blocks = Reading(columns=columns), partial(read, portion=Portion(large_from=1))
    assert "read in parts" in str(in_blocks(path, reading).summary)
    monkeypatch.setattr("closerthan.files.formats.sizes.LARGE", 1 << 18)
    refused(r"column 'anchor': it decompresses to [\d,]+ bytes", path, in_blocks, reading=reading)


def test_repeated_long_text_in_a_parquet_file_is_stored_once(repetitive):
    arrow = pytest.importorskip("pyarrow")
    path = repetitive("x" * 1_000_000, 200)
    before = arrow.total_allocated_bytes()
    column = ParquetTable(path)._field(path, 3)
    assert arrow.total_allocated_bytes() - before < 20_000_000  # 200 MB if each cell were a separate text
    assert len(column) == 200


# ---- maps and labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [".csv", ".parquet", ".npz"])
def test_a_file_of_answers_is_not_a_map(tmp_path, form):
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])
    write_comparisons(answers, tmp_path / f"answers{form}")
    refused("these are answers, not a map|is not a map", tmp_path / f"answers{form}", read_map)


@pytest.mark.parametrize(
    "arrays",
    [
        {"embedding": [["a", "b"]]},
        {"embedding": [[1j, 2]]},
        {"embedding": [[1.0, 2.0]], "about": "{"},
        {"embedding": [[1.0, 2.0]], "about": '{"names": 3}'},
        {"embedding": [[1.0, 2.0]], "names": [["a", "b"]]},
    ],
)
def test_an_invalid_map_is_an_error(tmp_path, arrays):
    np.savez(tmp_path / "map.npz", **arrays)
    refused("expected numbers|damaged result|2 names", tmp_path / "map.npz", read_map)


def test_labels_that_are_not_text_are_an_error(written):
    for content in (b"name,legs\nant,\xff\n", b'name,legs\nant,"6\n'):
        refused("cannot be read as labels", written(content), lambda path: read_labels(path, ["ant"]))
