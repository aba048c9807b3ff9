"""closerthan fit --replicates, predictions with a probability, and dims with a test."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app


def closerthan(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit with replicates, and one without."""
    place = tmp_path_factory.mktemp("fits")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        closerthan("simulate", "answers.csv", "--objects", 12, "--answers", 1200, "--noise", "ste")
        said = closerthan("fit", "answers.csv", "--loss", "ste", "--no-report", "--replicates", 20)
        closerthan("fit", "answers.csv", "--loss", "soe", "--no-report", "--out", "plain-map")
    (place / "said.txt").write_text(said)
    return place


def test_all_figures_are_written_in_the_format_that_was_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    closerthan("simulate", "answers.csv", "--objects", 8, "--answers", 400, "--noise", "ste")
    options = ("--loss", "ste", "--no-report", "--replicates", 6, "--no-enough", "--held-out", 0, "--groups", 2)
    said = closerthan("fit", "answers.csv", *options, "--format", "svg")
    figures = {
        path.name for path in (tmp_path / "answers-map").iterdir() if path.suffix not in (".csv", ".npz", ".json")
    }
    assert figures == {"map.svg", "ellipses.svg", "neighbours.svg", "calibration.svg", "groups.svg"}
    assert all("<svg" in (tmp_path / "answers-map" / name).read_text("utf-8") for name in figures)
    assert "answers-map/ellipses.svg" in said
    closerthan("fit", "answers.csv", *options, "--format", "pdf", "--force")  # known files: they may be replaced
    assert not (tmp_path / "answers-map" / "map.svg").exists()


@pytest.mark.slow
def test_fit_writes_what_can_be_believed(folder):
    made = folder / "answers-map"
    said = (folder / "said.txt").read_text()
    assert "20 maps" in said
    assert "of all triplets" in said
    for name in ("ellipses.png", "neighbours.png", "calibration.png"):
        assert (made / name).stat().st_size > 5_000
    found = ct.Replicates.load(made / "replicates.npz")
    assert len(found) == 20
    ellipses = table(made / "ellipses.csv")
    assert [row["name"] for row in ellipses] == [str(number) for number in range(12)]
    written = np.array([[float(row[f"half_axis_{axis}"]) for axis in (1, 2)] for row in ellipses])
    np.testing.assert_allclose(written, found.ellipses(0.95).half_axes())
    neighbours = table(made / "neighbours.csv")
    nearest = found.neighbour_probability(1)
    assert all(nearest[int(row["name"]), int(row["neighbour"])] == float(row["nearest"]) for row in neighbours)


def test_without_replicates_none_of_it_is_written(folder):
    assert not (folder / "plain-map" / "replicates.npz").exists()


def test_replicates_predict_where_there_are_some(folder, monkeypatch):
    monkeypatch.chdir(folder)
    said = closerthan("predict", "answers-map", "answers.csv", "--force")
    committee = ct.Replicates.load("answers-map/replicates.npz").committee
    assert f"by {len(committee.maps)} maps" in " ".join(said.split())
    rows = ct.read_comparisons("answers.csv").rows
    expected = ct.Replicates.load("answers-map/replicates.npz").probability(rows)
    written = table("answers-predictions.csv")
    assert [int(row["prediction"]) for row in written] == np.where(expected > 0.5, 1, -1).tolist()
    sure = np.array([float(row["probability"]) for row in written])
    np.testing.assert_allclose(sure, np.maximum(expected, 1 - expected), atol=1e-4)


def test_a_single_map_is_calibrated_on_held_out_answers(folder, monkeypatch):
    monkeypatch.chdir(folder)
    said = closerthan("predict", "plain-map", "answers.csv", "--force")
    assert "calibrated on held-out answers" in " ".join(said.split())
    result = ct.Result.load("plain-map/result.npz")
    assert result.calibration.n_answers > 100
    probability = np.array([float(row["probability"]) for row in table("answers-predictions.csv")])
    assert (probability >= 0.5).all()
    assert probability.max() > 0.8


def test_a_map_without_its_fit_has_no_probability(folder, monkeypatch):
    monkeypatch.chdir(folder)
    closerthan("predict", "plain-map/map.csv", "answers.csv", "--force")
    assert "probability" not in table("answers-predictions.csv")[0]


def test_dims_gives_one_verdict(folder, monkeypatch):
    monkeypatch.chdir(folder)
    shown = closerthan("dims", "answers.csv", "--loss", "soe", "--repeats", 1, "--out", "verdict")
    verdict = " ".join(shown.split())
    assert verdict.count("predict significantly better") == 1
    assert "worth" not in verdict
    assert "questions, each held out whole" in verdict


def test_dims_holds_out_people_where_they_are_known(folder, monkeypatch):
    monkeypatch.chdir(folder)
    rows = ct.read_comparisons("answers.csv").rows
    people = np.arange(len(rows)) % 10
    ct.files.write_comparisons(ct.Comparisons.from_triplets(rows, people=people), "people.csv")
    words = ("dims", "people.csv", "--most", 1, "--loss", "soe", "--repeats", 1, "--force")
    assert "over 10 people, each held out whole" in closerthan(*words)
    assert "questions, each held out whole" in closerthan(*words, "--by", "answers")


@pytest.mark.slow
def test_people_and_the_learning_curve_are_written_unless_they_are_left_out(folder, monkeypatch):
    monkeypatch.chdir(folder)
    rows = ct.read_comparisons("answers.csv").rows
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(len(rows)) % 6)
    ct.files.write_comparisons(answers, "study.csv")
    said = closerthan("fit", "study.csv", "--loss", "soe", "--no-report", "--replicates", 5, "--people", "skip")
    assert "Enough?" in said
    assert (folder / "study-map" / "learning-curve.csv").exists()
    assert not (folder / "study-map" / "people.csv").exists()
    closerthan("fit", "study.csv", "--loss", "soe", "--no-report", "--replicates", 5, "--no-enough", "--force")
    assert {"people.csv", "people.png", "people-matrix.csv", "people-matrix.png", "calibration.csv"} <= {
        file.name for file in (folder / "study-map").iterdir()
    }
    assert not (folder / "study-map" / "learning-curve.csv").exists()
