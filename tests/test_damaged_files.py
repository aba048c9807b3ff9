"""Damaged files: whatever happens to a file, reading it succeeds or is one sentence that names the file."""

import gzip
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import closerthan as ct
from closerthan.files import read_answers, read_map, write_comparisons, write_map
from closerthan.files.labels import read_labels

pytestmark = pytest.mark.filterwarnings("ignore:.*occur in no comparison:UserWarning")

NAMES = ["ant", "bee", "gr\u00fcn", "New York, NY", 'a "b"', "7", "x y"]
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
    "winner.csv": "head,left,right,winner\nant,bee,cat,left\nbee,ant,cat,right\ncat,ant,bee,tie\n",
    "label.csv": "anchor,near,far,y\nant,bee,cat,1\nbee,ant,cat,-1\ncat,ant,bee,true\n",
    "items.csv": "item_1,item_2,item_3,odd\nant,bee,cat,3\nbee,cat,dog,1\ndog,ant,bee,2\n",
    "rank.csv": "anchor,rank_1,rank_2,rank_3\nant,bee,cat,dog\nbee,ant,dog,\n",
    "nearest.csv": "anchor,shown_1,shown_2,shown_3,chosen\nant,bee,cat,dog,bee\nbee,ant,dog,cat,dog\n",
    "split.csv": "anchor,near,far,split\nant,bee,cat,train\nbee,ant,cat,test\ncat,bee,ant,train\n",
}


def valid_files(folder: Path) -> list[Path]:
    """A small file of each format and kind of question."""
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
        content[chance.randrange(len(content))] = chance.choice(b'\0\xff",;\t\n\r |#\'0179-+.eE{}[]a\x85\x1c')


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
    """A copy of a file in which something is wrong; of a packed one, inside or outside."""
    chance = random.Random(f"{path.name} {seed}")
    inside = path.suffix == ".gz" and chance.random() < 0.5
    content = bytearray(gzip.decompress(path.read_bytes()) if inside else path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        if content:
            chance.choice(DAMAGES)(content, chance)
    target = path.with_name(f"damaged {path.name}")
    target.write_bytes(gzip.compress(bytes(content), mtime=0) if inside else bytes(content))
    return target


# ---- what may come of it ---------------------------------------------------------------------------------------------


def outcome(path: Path):
    """What reading a file gives: data that can be compared, or the words of an error."""
    try:
        if "map" in path.name:
            points, names = read_map(path)
            return points.tolist(), names
        if "labels" in path.name:
            return read_labels(path, ["ant", "bee"])
        answers = read_answers(path)
    except ValueError as error:
        assert type(error) is ValueError, type(error)
        assert str(path) in str(error), str(error)
        assert len(str(error)) < LONGEST
        return str(error)
    return [saved(part) for part in (answers.comparisons, answers.test) if part is not None]


def saved(comparisons):
    columns = (comparisons.rows, comparisons.weights, comparisons.answers, comparisons.people)
    lists = [None if column is None else column.tolist() for column in columns]
    return lists, comparisons.n_objects, comparisons.names, comparisons.person_names


def assert_readers_agree(path: Path) -> None:
    """One outcome, whether pyarrow reads the text or the standard library does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("closerthan.files.text._LARGE", 0)
        quick = outcome(path)
        patch.setitem(sys.modules, "pyarrow", None)
        patch.setattr("closerthan.files.text._LARGE", 1 << 40)
        careful = outcome(path) if not path.name.endswith(".parquet") else quick
    assert quick == careful, path.read_bytes()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return valid_files(tmp_path_factory.mktemp("valid"))


def test_undamaged_files_are_read(files):
    for path in files:
        assert not isinstance(outcome(path), str), outcome(path)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_read_or_is_one_sentence(files, seed):
    for path in files:
        assert_readers_agree(damaged(path, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 20) for start in range(100, 300, 20)], ids=lambda seeds: seeds[0])
def test_thousands_of_damaged_files_are_read_or_are_one_sentence(files, seeds):
    for seed in seeds:
        for path in files:
            assert_readers_agree(damaged(path, seed))
