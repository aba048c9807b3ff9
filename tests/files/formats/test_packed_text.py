"""Compressed text of implausible size and endless lines are refused before they fill the memory."""

import gzip
import tracemalloc
import zipfile

import pytest

from closerthan.files import read_answers
from closerthan.files.formats import opening
from closerthan.files.formats.sizes import LONGEST_LINE

MEGABYTE = 1 << 20
LINES = {
    "jsonl": b'{"anchor": "a", "near": "b", "far": "c"}\n',
    "json": b'{"anchor": "a", "near": "b", "far": "c"}\n',
    "csv": b"lion,tiger,antelope\n",
}


def repeated(line, n_bytes):
    return line * (n_bytes // len(line) + 1)


def bomb(line, n_megabytes):
    """Write many gzip members of one megabyte each; the size that gzip records is only that of the last member."""
    return gzip.compress(repeated(line, MEGABYTE), 6) * n_megabytes


def peak_while_refused(path, words):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=words):
            read_answers(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", LINES)
def test_text_with_an_implausible_decompressed_size_is_refused_without_using_memory(tmp_path, kind):
    path = tmp_path / f"a.{kind}.gz"
    path.write_bytes(bomb(LINES[kind], 150))
    assert path.stat().st_size < MEGABYTE
    peak = peak_while_refused(path, rf"a\.{kind}\.gz.* more than 200 times its size.*; .*decompress it first")
    assert peak < 32 * MEGABYTE


def test_compressed_commas_are_refused_without_using_memory(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"," * MEGABYTE) * 300)
    assert path.stat().st_size < MEGABYTE / 2
    assert peak_while_refused(path, r"a\.csv\.gz.* more than 200 times its size") < 32 * MEGABYTE


def test_the_limit_applies_to_a_gzipped_file_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv.gz", bomb(LINES["csv"], 150))
    assert peak_while_refused(tmp_path / "a.zip", r"a\.csv\.gz.* more than 200 times its size") < 32 * MEGABYTE


def test_answers_that_compress_well_are_read(tmp_path):
    rows = "anchor,near,far\n" + "a,b,c\n" * 50_000 + "b,c,a\n"
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(rows.encode()))
    assert len(rows) > 200 * path.stat().st_size
    assert read_answers(path).summary.n_rows == 50_001


def test_the_limit_depends_on_size_and_ratio(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bomb(LINES["csv"], 2))
    opening.check_decompressed_size(path)
    with pytest.raises(ValueError, match="more than 200 times its size"):
        opening.check_decompressed_size(path, floor=MEGABYTE)
    path.write_bytes(gzip.compress(b"".join(b"%d,%d,%d\n" % (n, n * n, n**3) for n in range(100_000))))
    opening.check_decompressed_size(path, floor=1)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", b"," * (LONGEST_LINE + 10)),
        ("txt", b"1 " * (LONGEST_LINE // 2 + 10)),
        ("jsonl", b'"' * (LONGEST_LINE + 10)),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_endless_line_is_an_error_that_names_it(tmp_path, kind, content, is_first):
    path = tmp_path / f"a.{kind}"
    before = b"" if is_first else {"csv": b"1,2,3\n", "txt": b"1 2 3\n", "jsonl": b"{}\n"}[kind]
    path.write_bytes(before + content)
    number = 1 if is_first else 2
    assert (
        peak_while_refused(path, rf"a\.{kind}, line {number} has more than [\d,]+ (bytes|characters)") < 64 * MEGABYTE
    )


def test_running_out_of_memory_names_the_file():
    @opening.name_file_in_errors
    def read(path):
        raise MemoryError

    with pytest.raises(MemoryError, match=r"answers\.csv needs more memory than is available; leave out columns"):
        read("answers.csv")
