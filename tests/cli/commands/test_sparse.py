"""``closerthan sparse``."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.kron(np.eye(3), np.ones((6, 1))) * 2
    names = [f"{kind} {k}" for kind in ("bird", "hat", "tool") for k in range(6)]
    return ct.answers_from(x, 2000, similarity="dot", question="odd-one-out", temperature=1.0, names=names)


def test_it_writes_pages_tables_arrays_and_the_layout_of_vice(answers, tmp_path):
    ct.files.write_comparisons(answers, tmp_path / "answers.csv")
    done = run("sparse", "answers.csv", "--dims", 5, "--refits", 2, "--out", "out")
    assert "of held-out answers" in done.output or "whole answers" in done.output
    assert "found again" in done.output
    weights = np.load(tmp_path / "out" / "weights.npy")
    result = ct.SparseDimensions.load(tmp_path / "out" / "dimensions.npz")
    assert np.array_equal(result.weights, weights)
    assert np.array_equal(ct.files.read_map(tmp_path / "out" / "vice")[0], weights)
    table, names = ct.files.read_map(tmp_path / "out" / "weights.csv")
    assert np.array_equal(table, weights)
    assert set(names) == set(answers.names)
    with open(tmp_path / "out" / "dimensions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == weights.shape[1] >= 3
    assert len({row["top"].split()[0] for row in rows[:3]}) == 3
    assert (tmp_path / "out" / "pages" / "index.html").is_file()
    assert (tmp_path / "out" / "dimensions.png").is_file()
    assert "18 objects in" in run("evaluate", "out", "answers.csv", "--similarity", "dot").output
    run("sparse", "answers.csv", "--out", "out", code=2)
    run("sparse", "answers.csv", "--dims", 3, "--refits", 0, "--out", "out", "--force")


def test_answers_by_chance_write_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = ct.answers_from(
        np.zeros((15, 1)), 600, similarity="dot", question="odd-one-out", temperature=1.0, names=[*"abcdefghijklmno"]
    )
    ct.files.write_comparisons(chance, tmp_path / "answers.csv")
    done = run("sparse", "answers.csv", "--dims", 3, "--refits", 0, "--out", "out", code=1)
    assert "No dimension predicts held-out answers" in " ".join(done.output.split())
    assert "--penalty" in done.output
    assert not (tmp_path / "out").exists()
