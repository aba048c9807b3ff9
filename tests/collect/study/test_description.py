import re
from datetime import UTC, datetime

import pytest

from closerthan.collect.study.description import read_study


def changed(folder, pattern, line):
    """Replace a line of study.toml and return its number."""
    path = folder / "study.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    (number,) = [number for number, text in enumerate(lines) if re.match(pattern, text)]
    lines[number] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    return number + 1


MISTAKES = {
    "number is not a number": ("number =", 'number = "sixty"', 'number is "sixty"; it must be a whole number'),
    "out of range": ("number =", "number = 0", "number is 0; it must be from 1 to 2000"),
    "a word": ("skip =", 'skip = "no"', 'skip is "no"; it must be true or false'),
    "true for a number": ("practice =", "practice = true", "practice is true; it must be a whole number"),
    "a slip": ("skip =", "skpi = true", "skpi is unknown in [question]; did you mean skip?"),
    "a section": (r"\[checks\]", "[cheks]", "[cheks] is unknown; did you mean checks?"),
    "a kind": ("kind =", 'kind = "near"', 'kind is "near"; it must be one of closer, odd, nearest, rank'),
    "picks for another kind": (
        "# picks =",
        "picks = 2",
        'picks is only for the kinds "nearest" and "rank"',
    ),
    "more picks than options": (
        "kind =",
        'picks = 4\nshown = 4\nkind = "rank"',
        "picks is 4, but shown is 4; at least one option must remain",
    ),
    "more options than objects": (
        "kind =",
        'shown = 10\nkind = "nearest"',
        "a question shows 11 objects, but there are only 10; lower shown",
    ),
    "shares": ("random =", "random = 0.9", "the sum of the shares is larger than 1; lower some of them"),
    "a recruiter": ("name =", 'name = "prolofic"', "it must be one of none, prolific, mturk, sona"),
    "http": ("# redirect =", 'redirect = "http://x.org"', "it must be an address that starts with https://, or empty"),
    "a role": ("# redirect =", 'redirect = "https://x.org?c={cod}"', "{cod} is unknown; use one of {code}"),
    "an empty text": ('text = "Which', 'text = " "', "it must be a text that is not empty"),
    "too many": ("number =", "number = 1999", "10 objects allow 360; lower number, or add objects"),
    "no quotes": ("language =", "language = en", "it cannot be read at column 12"),
    "a date": ("number =", "number = 2020-01-01", "number is 2020-01-01; it must be a whole number"),
    "twice": ("title =", 'title = "a"\ntitle = "b"', "the name occurs twice; keep one of them"),
    "an open quote": ("title =", 'title = "a', "a closing quote is missing"),
    "two brackets": (r"\[checks\]", "[[checks]]", "checks must be a section; write [checks] on a line of its own"),
    "a section inside": (r"\[checks\]", "[checks.more]", "more is unknown in [checks]"),
    "a dot": ("language =", 'language.x = "en"', "[language] is unknown"),
    "a parameter": (
        r"\[recruiter\]",
        "[recruiter]\nparameters = { person = 3 }",
        "the name of a parameter must be a text",
    ),
    "dimensions": ("dimensions =", "dimensions = 10", "dimensions is 10, but there are only 10 objects"),
    "an end that never comes": (
        "# until =",
        "until = 9999-12-31",
        "until is 9999-12-31; it must be in the years 2000 to",
    ),
    "a button": ("# agree =", 'agree = ""', 'agree is ""; it must be a text that is not empty'),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_a_remedy(folder, mistake):
    pattern, line, message = MISTAKES[mistake]
    if mistake == "a button":
        changed(folder, r"# \[buttons\]", "[buttons]")
    number = changed(folder, pattern, line)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_study(folder)
    lines_later = mistake in ("twice", "a parameter")  # the second of two lines
    assert f"study.toml, line {number + lines_later}:" in str(error.value)


def test_a_study_in_another_encoding_is_reported_with_the_line(folder):
    path = folder / "study.toml"
    path.write_bytes(path.read_bytes().replace(b"title = ", b"# caf\xe9\ntitle = "))
    number = path.read_bytes().split(b"\n").index(b"# caf\xe9") + 1
    with pytest.raises(ValueError, match=f"study.toml, line {number}: the file is not in UTF-8"):
        read_study(folder)


def test_a_missing_table_of_objects_is_reported(folder):
    (folder / "objects.csv").unlink()
    with pytest.raises(ValueError, match=r"objects\.csv does not exist; it lists the stimuli"):
        read_study(folder)


def test_a_missing_text_is_reported(folder):
    changed(folder, "title =", "")
    with pytest.raises(ValueError, match="title is missing"):
        read_study(folder)


def test_for_a_folder_without_a_study_the_error_says_how_to_create_one(tmp_path):
    with pytest.raises(ValueError, match="closerthan collect new"):
        read_study(tmp_path)


def test_the_study_ends_at_the_end_of_the_last_day(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("# until = 2030-12-31", "until = 2030-12-31"))
    assert read_study(folder).until == datetime(2031, 1, 1).timestamp()
    path.write_text(path.read_text().replace("until = 2030-12-31", "until = 2030-12-31T18:00:00Z"))
    assert read_study(folder).until == datetime(2030, 12, 31, 18, tzinfo=UTC).timestamp()
    path.write_text(path.read_text().replace("until = 2030-12-31T18:00:00Z", 'until = "soon"'))
    with pytest.raises(ValueError, match='until is "soon"; it must be a date without quotes'):
        read_study(folder)


def test_a_single_slip_among_few_checks_is_no_failure(folder):
    study = read_study(folder)
    failures = [
        (checks, wrong) for checks in range(6) for wrong in range(checks + 1) if study.fails_checks(checks, wrong)
    ]
    assert failures == [(2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4), (5, 2), (5, 3), (5, 4), (5, 5)]
