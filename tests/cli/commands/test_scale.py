"""``closerthan scale``."""

import csv
import itertools
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from closerthan.cli import app


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def triads(tmp_path, monkeypatch):
    """A file as R's MLDS has it: two observers judge triads of five levels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["resp S1 S2 S3 who"]
    for who, exponent in (("ann", 2.0), ("bob", 1.0)):
        for a, b, c in list(itertools.combinations(range(1, 6), 3)) * 15:
            larger = (c**exponent - 2 * b**exponent + a**exponent) / 5**exponent + rng.normal(0, 0.15) > 0
            lines.append(f"{int(larger)} {a} {b} {c} {who}")
    (tmp_path / "triads.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "triads.txt"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_it_writes_a_table_a_figure_and_all_numbers(triads):
    shown = run("scale", triads, "--unit", "contrast", "--replicates", 50, "--fit-lapses").output
    assert re.search(r"noise +sigma 0\.\d+", shown)
    assert "lapses" in shown
    rows = rows_of("triads-scale/scale.csv")
    assert [row["level"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [float(rows[0]["scale"]), float(rows[-1]["scale"])] == [0, 1]
    with open("triads-scale/scale.json") as file:
        assert json.load(file)["scales"]["all"]["n_answers"] == 300
    with open("triads-scale/scale.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"
    with open("triads-scale/report.html", encoding="utf-8") as file:
        text = file.read()
    assert "<dt>Noise</dt><dd>sigma 0." in text
    assert 'src="data:image/png;base64,' in text


def test_each_observer_has_a_scale(triads):
    run("scale", triads, "--each", "who", "--replicates", 50)
    rows = rows_of("triads-scale/scale.csv")
    ann, bob = ([float(row["scale"]) for row in rows if row["who"] == who] for who in ("ann", "bob"))
    assert len(ann) == len(bob) == 5
    assert ann[2] < bob[2]


def test_an_observer_without_noise_does_not_prevent_the_scales_of_others(triads):
    with open(triads, "a") as file:
        file.writelines(f"{int(c - b > b - a)} {a} {b} {c} cy\n" for a, b, c in itertools.combinations(range(1, 6), 3))
    shown = " ".join(run("scale", triads, "--each", "who", "--replicates", 50).output.split())
    assert "No scale for who cy: there is a scale without noise that no answer contradicts" in shown
    assert "fit a map of one dimension instead, with --dims 1." in shown
    assert {row["who"] for row in rows_of("triads-scale/scale.csv")} == {"ann", "bob"}


def test_it_says_that_observers_were_pooled(triads):
    triads.write_text(triads.read_text().replace("who", "participant"))
    shown = " ".join(run("scale", triads, "--replicates", 50).output.split())
    assert "The answers of 2 people were pooled, as if one observer had answered; --each people makes" in shown


def test_names_of_levels_may_have_commas(triads):
    named = triads.read_text().replace(" 1 ", ' "one, low" ')
    triads.write_text(named)
    assert "pass --levels" in run("scale", triads, "--each", "who", code=2).stderr
    run("scale", triads, "--levels", '"one, low", 2,3,4,5', "--replicates", 50)
    assert [row["level"] for row in rows_of("triads-scale/scale.csv")][:2] == ["one, low", "2"]


def test_levels_can_have_physical_values(triads):
    run("scale", triads, "--levels", "0, 0.5, 1, 2, 8", "--replicates", 50)
    assert [row["value"] for row in rows_of("triads-scale/scale.csv")] == ["0.0", "0.5", "1.0", "2.0", "8.0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--levels", "1,2"), "--levels is [1.0, 2.0]; it must have one finite number for each of the 5 objects"),
        (("--each", "people"), "the file does not say who gave which answer"),
        (("--each", "nobody"), "nobody"),
        (("--replicates", "3"), "--replicates is 3; it must be a whole number of at least 39"),
    ],
)
def test_errors_are_one_sentence(triads, options, message):
    done = run("scale", triads, *options, code=2)
    assert message in " ".join(done.stderr.split())
    assert not (triads.parent / "triads-scale").exists()
