"""The command line, as a user types it."""

import contextlib
import csv
import io
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from slow import slow_but
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import COMMANDS, app
from closerthan.cli.output import written_folder
from closerthan.evaluate import dims as dims_module
from closerthan.evaluate import losses as losses_module
from closerthan.fit.loss_race import PENALTY_GRID
from closerthan.fit.progress import phases
from closerthan.report.repeat import command_line
from closerthan.saving import whole_folder

OURS = {**os.environ, "PYTHONPATH": str(Path(ct.__file__).parents[1])}  # the sources under test, from any folder
FAST = ["--held-out", "0", "--no-report"]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def closerthan(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def text(path):
    return Path(path).read_text(encoding="utf-8")


def said(*words):
    """Return the single sentence of an error."""
    done = closerthan(*words, code=2)
    assert "Traceback" not in done.stderr
    *_, last = done.stderr.strip().split("\n")
    assert last.startswith("error: ")
    return last.removeprefix("error: ")


@pytest.fixture
def cities(empty_folder):
    """A file of named answers."""
    ct.files.write_comparisons(ct.datasets.eurodist().comparisons(), "cities.csv")
    return "cities.csv"


@pytest.fixture
def simulated(empty_folder):
    """A file of noisy answers about numbered objects."""
    closerthan("simulate", "answers.csv", "--objects", 20, "--answers", 1500, "--noise", "flip", "--level", 0.05)
    return "answers.csv"


def test_output_that_cannot_show_a_character_gets_another_spelling(monkeypatch):
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="ascii"))
    with pytest.raises(SystemExit):
        app(["--version"])
    print("\u00b1 s.e., Z\u00fcrich\u00b1", flush=True)
    assert shown.getvalue().splitlines()[-1] == rb"+- s.e., Z\xfcrich+-"


class TestHelp:
    def test_lists_the_commands(self):
        shown = closerthan("--help").output
        for command in ("fit", "evaluate", "predict", "dims", "compare", "simulate", "convert", "info", "demo", "plot"):
            assert re.search(rf"\b{command}\b", shown)

    def test_groups_the_commands_by_purpose(self):
        shown = closerthan("--help").output
        panels = re.findall(r"^╭─ (.+?) ─+╮$", shown, flags=re.MULTILINE)
        assert panels == ["Options", *COMMANDS]

    def test_knows_all_losses_solvers_kinds_and_noises(self):
        from closerthan.datasets.simulated import NOISES
        from closerthan.files.meaning.columns import KINDS

        fit = " ".join(closerthan("fit", "--help").output.replace("│", " ").split())
        for name in (*ct.losses.LOSSES, *ct.solvers.SOLVERS, *KINDS):
            assert name in fit
        for name in NOISES:
            assert name in closerthan("simulate", "--help").output

    def test_paragraphs_are_wrapped_at_the_width_of_the_terminal_only(self):
        paragraphs = re.split(r"\n *\n", closerthan("predict", "--help").output.partition("╭")[0].strip())
        for lines in map(str.splitlines, paragraphs):
            for line, following in itertools.pairwise(lines):
                assert len(line.rstrip()) + len(following.split()[0]) >= 77

    def test_imports_nothing_heavy(self):
        code = (
            "import sys; from closerthan.cli import app; import typer\n"
            "try: app(['fit', '--help'])\n"
            "except SystemExit: pass\n"
            "heavy = {'numpy', 'numba', 'scipy', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)\n"
            "sys.exit(bool(heavy))"
        )
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, env=OURS).returncode == 0

    def test_is_shown_without_a_command(self):
        assert "Usage" in CliRunner().invoke(app, []).output

    def test_version(self):
        assert ct.__version__ in closerthan("--version").output


class TestFit:
    def test_writes_a_folder_with_everything(self, cities, empty_folder):
        done = closerthan("fit", cities)
        folder = empty_folder / "cities-map"
        names = {"map.csv", "map.png", "report.html", "history.csv", "settings.json", "result.npz"}
        assert {path.name for path in folder.iterdir()} == names
        assert all(f"cities-map/{name}" in done.stdout for name in names)
        result = ct.Result.load(folder / "result.npz")
        embedding, called = ct.files.read_map(folder / "map.csv")
        assert np.array_equal(embedding, result.embedding)
        assert called == ct.datasets.eurodist().names
        assert len(ct.History.from_csv(folder / "history.csv")) == len(result.history)
        assert '"name":"Held-out error"' in text(folder / "report.html")

    def test_gives_the_map_of_the_library(self, cities, empty_folder):
        closerthan(
            "fit",
            cities,
            *FAST,
            "--dims",
            3,
            "--loss",
            "tste",
            "--penalty",
            "0",
            "--solver",
            "sgd",
            "--seed",
            4,
            "--epochs",
            9,
        )
        embedding, _ = ct.files.read_map("cities-map/map.csv")
        alone = ct.embed(ct.read_comparisons(cities), 3, loss="tste", penalty=0, solver="sgd", seed=4, epochs=9)
        assert np.array_equal(embedding, alone.embedding)

    def test_says_how_good_the_map_is(self, cities):
        shown = closerthan("fit", cities, "--no-report").stdout
        for line in ("Objects", "Comparisons", "Training error", "Held-out error", "Chance level", "Stopped"):
            assert re.search(rf"^{line}", shown, re.MULTILINE)
        assert re.search(r"^Held-out error +\d+\.\d % \(95 % interval \d+\.\d % to \d+\.\d %\)", shown, re.MULTILINE)
        assert "Suggestions" not in shown
        assert max(map(len, shown.split("\n"))) <= 80

    def test_measures_the_held_out_error_by_a_second_fit(self, simulated):
        closerthan("fit", simulated, "--no-report", "--seed", 2)
        train, test = ct.read_comparisons(simulated).split(0.1, np.random.default_rng(2))
        error = ct.triplet_error(test, ct.embed(train, seed=2).embedding)
        facts = json.loads(text("answers-map/settings.json"))["facts"]
        assert facts["Held-out error"].startswith(f"{100 * error:.1f} %")
        assert "Held-out error" in facts

    def test_chooses_the_loss_once_and_without_the_held_out_answers(self, simulated):
        closerthan("fit", simulated, "--no-report", "--seed", 2)
        answers = ct.read_comparisons(simulated)
        train, _ = answers.split(0.1, np.random.default_rng(2))
        chosen = ct.embed(train, seed=2)
        result = ct.Result.load("answers-map/result.npz")
        assert result.candidates == chosen.candidates
        assert len(result.starts) == len(chosen.starts)
        assert np.array_equal(result.embedding, ct.embed(answers, settings=chosen.settings).embedding)
        note = "withheld from a second fit and from the choice of loss and penalty"
        assert note in " ".join(closerthan("fit", simulated, "--no-report", "--seed", 2, "--force").stdout.split())

    def test_resumes_the_map_and_the_choice_of_its_loss(self, simulated, monkeypatch):
        closerthan("fit", simulated, "--no-report", "--out", "plain")
        with monkeypatch.context() as broken:
            broken.setattr("closerthan.cli.output.write_folder", lambda *_: 1 / 0)
            assert CliRunner().invoke(app, ["fit", simulated, "--no-report", "--checkpoint", "state.npz"]).exit_code
        assert Path("state.npz").exists()
        assert Path("state.npz.choice").exists()
        closerthan("fit", simulated, "--no-report", "--checkpoint", "state.npz", "--resume")
        maps = [ct.Result.load(f"{folder}/result.npz") for folder in ("plain", "answers-map")]
        assert np.array_equal(maps[0].embedding, maps[1].embedding)
        assert maps[0].candidates == maps[1].candidates

    def test_removes_the_checkpoints_of_the_map_and_of_the_choice_at_the_end(self, simulated, empty_folder):
        plain = closerthan("fit", simulated, "--no-report").stdout.partition("Stopped")[0]
        before = sorted(empty_folder.iterdir())
        with_checkpoint = closerthan("fit", simulated, "--no-report", "--force", "--checkpoint", "state.npz").stdout
        assert with_checkpoint.partition("Stopped")[0] == plain
        assert sorted(empty_folder.iterdir()) == before

    def test_a_poor_fit_comes_with_suggestions(self, empty_folder):
        rng = np.random.default_rng(0)
        rows = np.array([rng.permutation(12)[:3] for _ in range(400)])
        ct.files.write_comparisons(ct.Comparisons.from_triplets(rows), "noise.csv")
        shown = closerthan("fit", "noise.csv", "--no-report").stdout
        assert "Suggestions" in shown
        assert "no better than guessing" in shown

    @pytest.mark.slow
    @pytest.mark.parametrize("form", ["csv", "parquet", "npz"])
    def test_writes_the_map_in_other_formats(self, form, cities):
        closerthan("fit", cities, *FAST, "--map-format", form)
        assert ct.files.read_map(f"cities-map/map.{form}")[0].shape == (21, 2)

    def test_writes_no_formula_into_a_map_for_spreadsheets(self):
        ct.files.write_comparisons(ct.Comparisons.from_triplets([["=1+1", "b", "c"], ["b", "=1+1", "@c"]]), "names.csv")
        closerthan("fit", "names.csv", *FAST, "--map-format", "spreadsheet")
        assert ct.files.read_map("names-map/map.csv")[1] == ("'=1+1", "'@c", "b", "c")

    def test_bad_reading_options_are_errors_of_one_sentence(self, simulated):
        assert "delimiter is 'ab'; it must be one character" in said("info", simulated, "--delimiter", "ab")
        assert "'far' cannot be 'far' and 'weight' at once" in said("info", simulated, "--column", "weight=far")
        assert "these are answers, not a map" in said("evaluate", simulated, simulated)

    def test_takes_early_stopping_starts_and_limits(self, simulated):
        closerthan("fit", simulated, *FAST, "--validation", 0.2, "--starts", 3, "--tolerance", "none",
                   "--solver", "svrg-sbb", "--time-limit", 60, "--threads", 1)  # fmt: skip
        about = json.loads(text("answers-map/settings.json"))
        assert about["settings"]["validation"] == 0.2
        assert about["settings"]["tolerance"] is None
        assert about["stopped_by"] == "validation"
        assert len(about["starts"]) == 3

    def test_validates_and_tests_on_files(self, simulated):
        closerthan("simulate", "more.csv", "--points", "answers-points.csv", "--answers", 300, "--seed", 8)
        shown = closerthan("fit", simulated, "--no-report", "--validation", "more.csv", "--test", "more.csv").stdout
        assert "Validation error" in shown
        assert "300 comparisons; on answers that the fit never saw" in " ".join(shown.split())

    def test_uses_the_test_column_of_a_file(self, empty_folder):
        rows = ct.datasets.synthetic(8, 2, 300, 1, seed=0).train.rows.tolist()
        with open("split.csv", "w", newline="") as file:
            csv.writer(file).writerows([["anchor", "near", "far", "split"], *[[*row, "train"] for row in rows[:250]],
                                        *[[*row, "test"] for row in rows[250:]]])  # fmt: skip
        shown = closerthan("fit", "split.csv", "--no-report").stdout
        assert "50 comparisons; on answers that the fit never saw" in " ".join(shown.split())

    def test_colours_by_labels_and_shows_pictures(self, cities, empty_folder):
        from PIL import Image

        names = ct.datasets.eurodist().names
        with open("labels.csv", "w", newline="") as file:
            csv.writer(file).writerows([["name", "initial"], *[[name, name[0]] for name in names]])
        (empty_folder / "pictures").mkdir()
        Image.new("RGB", (8, 8), "red").save("pictures/Rome.png")
        closerthan("fit", cities, "--held-out", 0, "--labels", "labels.csv", "--thumbnails", "pictures")
        assert '"name":"initial"' in text("cities-map/report.html")

    def test_chooses_the_loss_and_says_how(self, simulated):
        shown = " ".join(closerthan("fit", simulated, *FAST, "--loss", "auto").stdout.split())
        assert "chosen by the error on held-out answers" in shown
        alone = ct.embed(ct.read_comparisons(simulated), loss="auto", seed=0)
        assert np.array_equal(ct.files.read_map("answers-map/map.csv")[0], alone.embedding)

    def test_takes_a_penalty_and_prints_it(self, simulated):
        done = closerthan("fit", simulated, "--loss", "tste-4", "--penalty", "0.1", "--out", "map", *FAST)
        assert re.search(r"Loss +tste-4 with penalty 0\.1", done.stdout)
        settings = json.loads(text("map/settings.json"))
        assert settings["settings"]["penalty"] == 0.1
        assert settings["settings"]["loss"] == {"name": "tste", "alpha": 4.0}
        assert "--penalty 0.1" in settings["command"]
        assert ct.Result.load("map/result.npz").penalty == 0.1

    @pytest.mark.parametrize("words", [("--penalty", "auto", "--loss", "soe"), ("--loss", "soe"), ()])
    def test_chooses_the_penalty_and_says_how(self, words, simulated):
        done = closerthan("fit", simulated, *words, "--out", "map", *FAST)
        result = ct.Result.load("map/result.npz")
        assert {candidate.penalty for candidate in result.candidates} <= {0.0, *PENALTY_GRID}
        assert f"Loss {result.loss_name} with penalty {result.penalty:g}" in " ".join(done.stdout.split())
        assert "chosen by the error on held-out answers" in " ".join(done.stdout.split())
        assert json.loads(text("map/settings.json"))["settings"]["penalty"] == result.penalty

    def test_reading_options_are_passed_on(self, empty_folder):
        (empty_folder / "odd.txt").write_text("q;yes;no\n" + "7;8;9\n9;8;7\n7;7;9\n" * 5)
        done = closerthan("fit", "odd.txt", *FAST, "--column", "anchor=q", "--column", "near=yes", "--column", "far=no",
                          "--delimiter", ";", "--header", "--self-pairs", "drop", "--numbering", "names")  # fmt: skip
        assert "5 self pairs" in done.stderr
        assert ct.files.read_map("odd-map/map.csv")[1] == ("7", "8", "9")


class TestProgress:
    def test_names_each_phase(self, cities, monkeypatch):
        said = []

        @contextlib.contextmanager
        def noted(shown):
            yield lambda phase: said.append((shown, phase))

        monkeypatch.setattr("closerthan.fit.progress.phases", noted)
        shown = closerthan("fit", cities, "--progress").stderr
        assert said == [(True, f"reading {cities}"), (True, "choosing the loss"), (True, "writing the map"),
                        (True, "writing the report"), (True, "drawing the map")]  # fmt: skip
        bars = re.findall(r"^(.*?) \W* *\d+/\d+ (?:trials|epochs)", shown, re.MULTILINE)
        assert bars == ["fitting", "second fit"]

    def test_shows_phases_on_a_terminal_and_names_as_they_are(self, monkeypatch, capsys):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        with phases(True) as say:
            say("reading [red]my.csv")
        assert "reading [red]my.csv" in capsys.readouterr().err

    @pytest.mark.parametrize("words", [["fit", "cities.csv"], ["dims", "cities.csv", "--most", 1, "--epochs", 1]])
    def test_is_not_shown_where_there_is_no_terminal(self, cities, words):
        shown = closerthan(*words).stderr
        assert not re.search(r"fitting|second fit|drawing|writing|choosing|reading|trials|epochs", shown)
        assert "\x1b" not in shown


class TestTheCommandThatRepeatsAFit:
    OPTIONS = ("--dims", 3, "--loss", "soe", "--seed", 5, "--epochs", 20, "--tolerance", "none", "--validation", 0.3,
               "--starts", 2, "--ties", "drop")  # fmt: skip

    @pytest.mark.slow
    def test_is_in_the_report_and_gives_the_same_map(self, cities, empty_folder):
        closerthan("fit", cities, "--held-out", 0, *self.OPTIONS)
        page = text("cities-map/report.html")
        command = json.loads(re.search(r'"command":("(?:[^"\\]|\\.)*")', page)[1])
        assert command == json.loads(text("cities-map/settings.json"))["command"]
        words = shlex.split(command)
        assert words[:2] == ["closerthan", "fit"]
        closerthan(*words[1:], *FAST, "--out", "again")
        assert text("again/map.csv") == text("cities-map/map.csv")

    def test_of_a_fit_in_python_gives_the_same_map(self, cities):
        result = ct.embed(ct.read_comparisons(cities), 3, loss="gnmds", solver="svrg-sbb0", seed=3, epochs=12,
                          tolerance=None, validation=0.25, n_starts=2)  # fmt: skip
        words = shlex.split(command_line(result.settings, cities))
        closerthan(*words[1:], *FAST)
        assert np.array_equal(ct.files.read_map("cities-map/map.csv")[0], result.embedding)

    def test_of_a_loss_that_was_chosen_gives_the_same_map(self, simulated):
        result = ct.embed(ct.read_comparisons(simulated), loss="auto", seed=3)
        closerthan(*shlex.split(command_line(result.settings, simulated))[1:], *FAST)
        assert np.array_equal(ct.files.read_map("answers-map/map.csv")[0], result.embedding)


class TestEvaluate:
    def test_says_the_error_of_a_map_by_its_folder_or_file(self, cities):
        closerthan("fit", cities, *FAST)
        error = ct.triplet_error(ct.read_comparisons(cities), ct.files.read_map("cities-map/map.csv")[0])
        for place in ("cities-map", "cities-map/map.csv", "cities-map/result.npz"):
            assert f"{100 * error:.1f} %" in closerthan("evaluate", place, cities).stdout

    def test_knows_numbered_objects_even_if_0_does_not_occur(self, simulated, empty_folder):
        (empty_folder / "few.csv").write_text("anchor,near,far\n1,2,3\n3,2,1\n")
        shown = closerthan("evaluate", "answers-points.csv", "few.csv").stdout
        points, _ = ct.files.read_map("answers-points.csv")
        assert f"{100 * ct.triplet_error([[1, 2, 3], [3, 2, 1]], points):.1f} %" in shown

    @pytest.mark.parametrize("name", ["x.npy", "x.txt", "x.csv", "transposed.npy"])
    def test_scores_an_embedding_from_elsewhere_by_whole_answers(self, name, empty_folder, rng):
        x = rng.normal(size=(30, 4))
        if name.endswith(".npy"):
            np.save(name, x.T if name == "transposed.npy" else x)
        else:
            np.savetxt(name, x, delimiter="," if name.endswith(".csv") else " ")
        triads = np.array([rng.permutation(30)[:3] for _ in range(200)])
        np.savetxt("odd.txt", triads, fmt="%d")
        shown = closerthan("evaluate", name, "odd.txt", "--kind", "odd-one-out", "--similarity", "dot").stdout
        similar = [(x[b] @ x[o], x[a] @ x[o], x[a] @ x[b]) for a, b, o in triads]
        accuracy = np.mean([np.argmax(three) == 2 for three in similar])
        assert f"Accuracy        {100 * accuracy:.1f} %" in shown
        assert "of 200 whole answers; chance is 33.3 %" in " ".join(shown.split())
        assert ("its 30 columns are the objects" in " ".join(shown.split())) is (name == "transposed.npy")

    def test_says_the_error_once_if_each_answer_is_a_comparison(self, simulated):
        shown = closerthan("evaluate", "answers-points.csv", simulated).stdout
        assert "Error  " in shown
        assert "whole answers" not in shown

    def test_refuses_objects_that_are_not_on_the_map(self, cities, empty_folder):
        closerthan("fit", cities, *FAST)
        (empty_folder / "strange.csv").write_text("anchor,near,far\nRome,Paris,Atlantis\n")
        for command in ("evaluate", "predict"):
            sentence = said(command, "cities-map", "strange.csv")
            assert "'Atlantis' is not among the 21 names that were passed, such as 'Athens'" in sentence

    def test_refuses_numbers_where_the_map_has_names(self, cities, empty_folder):
        closerthan("fit", cities, *FAST)
        (empty_folder / "numbers.csv").write_text("anchor,near,far\n0,1,2\n3,4,5\n")
        for command in ("evaluate", "predict"):
            sentence = said(command, "cities-map", "numbers.csv")
            assert "numbers.csv is about '0', '1', '2', ..., the map about 'Athens', 'Barcelona'" in sentence
            assert sentence.endswith("pass --numbering 0-based or --numbering 1-based")
            closerthan(command, "cities-map", "numbers.csv", "--numbering", "0-based")
        assert text("numbers-predictions.csv").splitlines()[1].startswith("2,Athens,Barcelona,Brussels,")

    def test_refuses_numbers_that_are_other_names(self, empty_folder):
        (empty_folder / "from-1.csv").write_text("anchor,near,far\n" + "1,2,3\n3,2,1\n4,3,1\n" * 4)
        (empty_folder / "from-0.csv").write_text("anchor,near,far\n0,1,2\n")
        closerthan("fit", "from-1.csv", *FAST)
        assert "is about '0', the map about '1', '2', '3', ...:" in said("evaluate", "from-1-map", "from-0.csv")

    def test_refuses_names_where_the_map_has_numbers(self, simulated, empty_folder):
        (empty_folder / "named.csv").write_text("anchor,near,far\nRome,Paris,Athens\n")
        sentence = said("evaluate", "answers-points.csv", "named.csv")
        assert "'Rome' is not a whole number, but the objects are numbered from 0; pass --names" in sentence

    def test_counts_a_test_file_from_where_the_answers_count(self, empty_folder):
        rows = ct.datasets.synthetic(6, 2, 200, 1, seed=0).train.rows
        np.savetxt("all.csv", rows, "%d", ",")
        np.savetxt("some.csv", rows[(rows > 0).all(axis=1)], "%d", ",")  # 0 does not occur
        (empty_folder / "names.txt").write_text("a\nb\nc\nd\ne\nf\n")
        shown = closerthan("fit", "all.csv", "--no-report", "--names", "names.txt", "--test", "some.csv").stdout
        assert re.search(r"^Held-out error +[0-9]\.", shown, re.MULTILINE)


class TestPredict:
    def test_writes_a_prediction_and_a_margin_a_row(self, simulated):
        closerthan("predict", "answers-points.csv", simulated)
        points, _ = ct.files.read_map("answers-points.csv")
        rows = ct.read_comparisons(simulated).rows
        with open("answers-predictions.csv", newline="") as file:
            written = list(csv.DictReader(file))
        assert [[int(row[name]) for name in ("anchor", "near", "far")] for row in written] == rows.tolist()
        margin = np.linalg.norm(points[rows[:, 0]] - points[rows[:, 2]], axis=1) - np.linalg.norm(
            points[rows[:, 0]] - points[rows[:, 1]], axis=1
        )
        assert np.allclose([float(row["margin"]) for row in written], margin)
        assert [int(row["prediction"]) for row in written] == np.where(margin > 0, 1, -1).tolist()

    def test_of_questions_without_an_answer(self, simulated, empty_folder):
        (empty_folder / "questions.csv").write_text("anchor,left,right\n0,1,2\n0,2,1\n")
        closerthan("predict", "answers-points.csv", "questions.csv", "--column", "near=left", "--column", "far=right")
        with open("questions-predictions.csv", newline="") as file:
            first, second = (int(row["prediction"]) for row in csv.DictReader(file))
        assert first == -second

    def test_of_quadruplets(self, empty_folder):
        closerthan("simulate", "pairs.csv", "--quadruplets", "--objects", 9, "--answers", 40)
        closerthan("predict", "pairs-points.csv", "pairs.csv")
        with open("pairs-predictions.csv", newline="") as file:
            assert {row["prediction"] for row in csv.DictReader(file)} == {"1"}

    def test_of_odd_ones_out_has_one_row_a_question_with_its_line(self, empty_folder):
        (empty_folder / "map.csv").write_text("name,x1\na,0\nb,1\nc,5\nd,6.5\n")
        lines = ["item_1,item_2,item_3,odd", "a,b,c,c", "", "a,c,d,c"]
        (empty_folder / "odd.csv").write_text("\n".join(lines) + "\n")
        shown = closerthan("predict", "map.csv", "odd.csv").stdout
        assert "2 questions: 1 as written, 1 otherwise" in shown
        first, second = csv.DictReader(io.StringIO(text("odd-predictions.csv")))
        assert (first["line"], first["choice"], first["prediction"]) == ("2", "c", "1")
        assert (second["line"], second["choice"], second["prediction"]) == ("4", "a", "-1")
        assert "50.0 % of whole answers as written; chance is 33.3 %" in shown
        assert [second[f"object_{place}"] for place in (1, 2, 3)] == ["a", "c", "d"]

    def test_of_a_parquet_file_has_the_same_numbers(self, simulated):
        parquet = pytest.importorskip("pyarrow.parquet")
        closerthan("predict", "answers-points.csv", simulated, "--out", "said.parquet")
        closerthan("predict", "answers-points.csv", simulated, "--out", "said.csv")
        written = list(csv.DictReader(io.StringIO(text("said.csv"))))
        table = parquet.read_table("said.parquet").to_pydict()
        assert list(table) == list(written[0])
        assert table["line"] == [int(row["line"]) for row in written]
        assert table["line"][:2] == [2, 3]
        assert table["margin"] == [float(row["margin"]) for row in written]
        assert "predictions are written as .csv or .parquet" in said("predict", "map", simulated, "--out", "said.txt")

    def test_does_not_overwrite(self, simulated):
        closerthan("predict", "answers-points.csv", simulated)
        assert "--force" in said("predict", "answers-points.csv", simulated)
        closerthan("predict", "answers-points.csv", simulated, "--force")


class TestSimulate:
    def test_writes_answers_and_points(self, simulated):
        points, _ = ct.files.read_map("answers-points.csv")
        answers = ct.read_comparisons(simulated)
        assert points.shape == (20, 2)
        assert len(answers) == 1500
        assert ct.triplet_error(answers, points) == pytest.approx(0.05, abs=0.02)

    def test_is_repeatable(self, empty_folder):
        for name in ("one.npz", "two.npz"):
            closerthan("simulate", name, "--quadruplets", "--noise", "distance", "--seed", 7)
        assert (ct.read_comparisons("one.npz").rows == ct.read_comparisons("two.npz").rows).all()

    def test_about_the_objects_of_a_map(self, cities):
        closerthan("fit", cities, *FAST)
        closerthan("simulate", "again.csv", "--points", "cities-map", "--answers", 4000)
        assert ct.read_comparisons("again.csv").names == ct.datasets.eurodist().names

    @pytest.mark.parametrize("noise", ["ste", "tste", "ckl"])
    def test_with_the_noise_of_a_loss(self, noise):
        closerthan("simulate", "a.csv", "--noise", noise, "--points", "circle")

    def test_refuses_what_makes_no_sense(self):
        assert "has no level" in said("simulate", "a.csv", "--noise", "ste", "--level", 1)
        assert "it can be normal, uniform, circle" in said("simulate", "a.csv", "--points", "square")
        assert "unknown noise 'pink'; choose from: none" in said("simulate", "a.csv", "--noise", "pink")


class TestDims:
    def test_chooses_and_writes_a_table_and_a_figure(self, empty_folder):
        closerthan("simulate", "plane.csv", "--objects", 25, "--answers", 4000, "--noise", "flip", "--level", 0.05)
        shown = closerthan("dims", "plane.csv", "--repeats", 2).stdout
        assert re.search(r"^2 .*chosen$", shown, re.MULTILINE)
        assert shown.count("chosen\n") == 1
        assert "neither 3 nor 4" in shown
        assert (empty_folder / "plane-dims" / "dims.png").read_bytes().startswith(b"\x89PNG")
        with open(empty_folder / "plane-dims" / "dims.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [(row["dims"], row["chosen"]) for row in rows] == [("1", "0"), ("2", "1"), ("3", "0"), ("4", "0")]
        assert float(rows[1]["p_value"]) < 0.001
        assert "--force" in said("dims", "plane.csv")

    def test_says_if_more_should_be_tried(self, cities):
        shown = closerthan("dims", cities, "--most", 1, "--repeats", 1).stdout
        assert "no more than 1 dimension" in shown
        assert "--most 2" in shown

    def test_the_loss_is_chosen_once_and_named(self, cities):
        shown = closerthan("dims", cities, "--most", 2, "--repeats", 1).stdout
        assert re.search(r"all fits use the loss [\w-]+, chosen once", shown)

    def test_ctrl_c_keeps_the_dimensions_that_are_done(self, cities, empty_folder, monkeypatch):
        plain = dims_module.scores_of

        def interrupted(answers, plan, scheme, on_fit):
            if plan.settings.n_dims == 3:
                raise KeyboardInterrupt
            return plain(answers, plan, scheme, on_fit)

        monkeypatch.setattr(dims_module, "scores_of", interrupted)
        done = CliRunner().invoke(
            app, ["dims", str(cities), "--repeats", "1", "--out", "kept", "--loss", "soe", "--penalty", "0"]
        )
        assert done.exit_code == 130
        assert "interrupted after 2 dimensions" in " ".join(done.output.split())
        assert len(text("kept/dims.csv").splitlines()) == 3

    @pytest.mark.parametrize("command", slow_but("dims", ["dims", "compare"]))
    def test_by_people_has_a_fold_for_each_of_a_few(self, command, empty_folder):
        rows = ct.datasets.synthetic(8, 2, 300, 1, seed=0).train.rows
        lines = [",".join(map(str, [*row, f"p{number % 3}"])) for number, row in enumerate(rows)]
        (empty_folder / "three.csv").write_text("anchor,near,far,participant\n" + "\n".join(lines))
        few = ("--most", 1) if command == "dims" else ()
        done = closerthan(command, "three.csv", "--by", "people", "--epochs", 1, "--repeats", 1, *few)
        assert "over 3 people, each held out as a whole: 3 folds" in " ".join(done.stdout.split())
        (empty_folder / "one.csv").write_text("anchor,near,far,participant\n" + "a,b,c,ann\nb,a,c,ann\n")
        assert "all answers are from one person" in said(command, "one.csv", "--by", "people")


class TestDimsAuto:
    def test_fits_the_number_that_dims_chooses_and_records_it(self, empty_folder):
        closerthan("simulate", "solid.csv", "--objects", 25, "--dims", 3, "--answers", 5000)
        shown = closerthan("fit", "solid.csv", *FAST, "--dims", "auto", "--loss", "soe").stdout
        assert "3 dimensions: the error on held-out answers is" in " ".join(shown.split())
        about = json.loads(text("solid-map/settings.json"))
        assert about["settings"]["n_dims"] == about["dims"]["chosen"] == 3
        assert "--dims auto" in about["command"]
        assert ct.Result.load("solid-map/result.npz").embedding.shape == (25, 3)
        assert (empty_folder / "solid-map" / "dims.csv").exists()

    @pytest.mark.parametrize("dims", ["0", "many", "1.5"])
    def test_anything_else_is_refused(self, dims, cities):
        assert "it must be a whole number of at least 1, or auto" in said("fit", cities, "--dims", dims)


class TestCompare:
    def test_shows_all_losses_the_best_first_and_writes_the_table(self, simulated):
        shown = closerthan("compare", simulated, "--folds", 3, "--epochs", 20, "--out", "table").stdout
        rows = [line.split() for line in shown.split("\n")[1 : 1 + len(ct.losses.LOSSES)]]
        assert {row[0] for row in rows} == set(ct.losses.LOSSES)
        errors = [float(row[1]) for row in rows]
        assert errors == sorted(errors)
        with open("table/compare.csv", newline="") as file:
            assert [row["loss"] for row in csv.DictReader(file)] == [row[0] for row in rows]

    def test_gives_the_scores_of_the_library(self, simulated):
        shown = closerthan("compare", simulated, "--folds", 3, "--seed", 1, "--repeats", 1).stdout
        answers = ct.read_comparisons(simulated)
        scores = ct.cross_validate(answers, n_folds=3, seed=1, loss="ste", n_starts=2)
        row = next(line.split() for line in shown.split("\n") if line.startswith("ste "))
        assert row[1] == f"{100 * scores.mean:.1f}"
        assert row[3] == f"{100 * scores.interval.low:.1f}"

    def test_ctrl_c_keeps_the_losses_that_are_done(self, simulated, monkeypatch):
        done_before, plain = [], losses_module.scores_of

        def interrupted(answers, plan, scheme, on_fit):
            if len(done_before) == 2:
                raise KeyboardInterrupt
            done_before.append(plan.loss)
            return plain(answers, plan, scheme, on_fit)

        monkeypatch.setattr(losses_module, "scores_of", interrupted)
        words = ["compare", str(simulated), "--repeats", "1", "--epochs", "5", "--out", "kept"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 130
        assert len(text("kept/compare.csv").splitlines()) == 3


class TestConvertAndInfo:
    @pytest.mark.parametrize("form", ["npz", "parquet", "mat", "jsonl", "tsv"])
    def test_there_and_back(self, form, cities):
        closerthan("convert", cities, f"there.{form}")
        closerthan("convert", f"there.{form}", "back.csv")
        assert text("back.csv") == text(cities)

    def test_keeps_who_gave_an_answer(self, empty_folder):
        (empty_folder / "crowd.csv").write_text("head,winner,loser,worker\nlion,tiger,ant,w1\nant,bee,lion,w2\n")
        shown = closerthan("convert", "crowd.csv", "plain.csv").stdout
        assert "2 triplets of 4 objects, from 2 answers of 2 people" in shown
        assert text("plain.csv") == "anchor,near,far,participant\nlion,tiger,ant,w1\nant,bee,lion,w2\n"

    def test_does_not_overwrite(self, cities):
        assert "--force" in said("convert", cities, cities)

    def test_info_says_how_a_file_was_understood(self, cities):
        shown = closerthan("info", cities).stdout
        assert "triplet" in shown
        assert "3,986 read, 3,986 used" in shown
        assert max(map(len, shown.split("\n"))) <= 80

    def test_info_warns_of_groups_that_nothing_links(self, empty_folder):
        (empty_folder / "two.csv").write_text("anchor,near,far\na,b,c\nx,y,z\nx,z,y\n")
        shown = " ".join(closerthan("info", "two.csv").stdout.split())
        assert "2 groups that no comparison links" in shown
        assert "gets 33.3 % of them wrong" in shown


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    place = tmp_path_factory.mktemp("fitted")
    ct.files.write_comparisons(ct.datasets.eurodist().comparisons(), place / "cities.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        closerthan("fit", "cities.csv", *FAST, "--loss", "ste", "--penalty", "0", "--dims", 3, "--out", "fitted")
    return place


class TestPlot:
    BEGINNINGS = {"map.pdf": b"%PDF", "map.svg": b"<?xml", "map.png": b"\x89PNG"}  # noqa: RUF012

    @pytest.fixture
    def folder(self, fitted, empty_folder):
        """A copy of a fit and its answers, which a test may change."""
        shutil.copytree(fitted, empty_folder, dirs_exist_ok=True)
        return "fitted"

    @pytest.mark.parametrize("name", BEGINNINGS)
    def test_draws_a_map_without_a_new_fit(self, folder, empty_folder, name):
        os.remove("cities.csv")
        shown = closerthan("plot", folder, "--out", name, "--size", "85x70mm", "--axes", "3,1").stdout
        assert shown == f"{name}  21 objects, 8.5 x 7.0 cm\n"
        assert (empty_folder / name).read_bytes().startswith(self.BEGINNINGS[name])

    @pytest.mark.slow
    def test_the_same_figure_is_the_same_file(self, folder, empty_folder):
        for name in ("map.pdf", "map.svg"):
            closerthan("plot", folder, "--out", name)
            before = (empty_folder / name).read_bytes()
            closerthan("plot", folder, "--out", name, "--force")
            assert (empty_folder / name).read_bytes() == before

    def test_size_and_dpi_are_those_of_the_picture(self, folder):
        from PIL import Image

        closerthan("plot", f"{folder}/map.csv", "--out", "map.png", "--size", "4x3", "--dpi", 100, "--hide-names")
        with Image.open("map.png") as picture:
            assert picture.size == (400, 300)

    def test_a_journal_sets_the_width(self, folder):
        shown = closerthan("plot", folder, "--out", "map.pdf", "--size", "nature").stdout
        assert "21 objects, 8.9 x " in shown
        shown = closerthan("plot", folder, "--out", "wide.pdf", "--size", "10cm", "--font-size", 5, "--marker-size", 2)
        assert "21 objects, 10.0 x " in shown.stdout

    def test_colours_by_a_column(self, folder, empty_folder):
        rows = [[name, name[0], str(len(name))] for name in ct.datasets.eurodist().names]
        with open("labels.csv", "w", newline="") as file:
            csv.writer(file).writerows([["name", "initial", "length"], *rows])
        drawn = set()
        for options in ((), ("--labels", "labels.csv"), ("--labels", "labels.csv", "--colour", "length")):
            closerthan("plot", folder, "--out", "map.svg", "--force", *options)
            drawn.add(text("map.svg"))
        assert len(drawn) == 3

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--out", "map.gif"], "a figure can be .pdf, .svg, .png"),
            (["--size", "large"], "expected a width or a width and a height"),
            (["--size", "3x900"], "1 to 100 inches"),
            (["--axes", "1,4"], "the map has 3 dimensions"),
            (["--axes", "one"], "expected two numbers, counted from 1"),
            (["--colour", "kind"], "Pass --labels FILE too"),
            (["--out", "nowhere/map.pdf"], "there is no folder nowhere"),
        ],
    )
    def test_a_map_that_cannot_be_drawn_is_an_error_of_one_sentence(self, folder, options, message):
        assert message in said("plot", folder, *options)

    def test_existing_results_are_replaced_only_with_force(self, folder, empty_folder):
        (empty_folder / "map.pdf").write_text("mine")
        assert "--force" in said("plot", folder)
        assert text("map.pdf") == "mine"


def test_ctrl_c_while_the_figure_is_drawn_leaves_it_out(cities, empty_folder, monkeypatch):
    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("closerthan.plotting.map_figure", interrupted)
    done = closerthan("fit", cities, "--held-out", 0, "--loss", "ste", "--penalty", "0", code=130)
    assert "map.png was left out" in done.stderr
    assert {path.name for path in Path("cities-map").iterdir()} >= {"map.csv", "result.npz", "report.html"}
    assert not Path("cities-map/map.png").exists()


class TestDemo:
    def test_writes_map_figure_report_and_history_and_says_where(self, empty_folder):
        shown = closerthan("demo").stdout
        for name in ("map.csv", "map.png", "report.html", "history.csv"):
            assert f"closerthan-demo/{name}" in shown
            assert (empty_folder / "closerthan-demo" / name).exists()
        assert (empty_folder / "closerthan-demo" / "report.html").resolve().as_uri() in shown

    def test_replaces_an_earlier_demo(self):
        closerthan("demo")
        closerthan("demo")

    def test_but_nothing_else(self, empty_folder):
        (empty_folder / "closerthan-demo").mkdir()
        (empty_folder / "closerthan-demo" / "thesis.tex").touch()
        assert "holds thesis.tex" in said("demo")
        assert (empty_folder / "closerthan-demo" / "thesis.tex").exists()


class TestErrors:
    def test_are_one_sentence(self, cities, empty_folder):
        (empty_folder / "bad.csv").write_text("anchor,near,far\na,b,c\na,b,a\n")
        assert said("fit", "nothing.csv") == "there is no file nothing.csv"
        assert "line 3" in said("fit", "bad.csv")
        assert said("fit", "bad.csv").endswith("pass --self-pairs drop")
        losses = ", ".join(ct.losses.LOSSES)
        assert said("fit", cities, "--loss", "best") == f"--loss is 'best'; choose from: {losses}"
        assert "--solver is 'best'" in said("fit", cities, "--solver", "best")
        assert "tolerance is 'low'" in said("fit", cities, "--tolerance", "low")
        assert "expected ROLE=COLUMN" in said("fit", cities, "--column", "anchor")
        assert "--resume needs a checkpoint" in said("fit", cities, "--resume")
        assert "here it must be a fraction" in said("dims", cities, "--validation", cities)
        assert "a map can be read from" in said("evaluate", __file__, cities)

    def test_of_usage_are_one_sentence_too(self, cities):
        assert "No such option" in said("fit", cities, "--lost")
        assert "No such command" in said("fti", cities)
        assert "--dims" in said("fit", cities, "--dims", 0)

    def test_show_a_traceback_on_request(self):
        done = CliRunner().invoke(app, ["fit", "nothing.csv", "--debug"])
        assert isinstance(done.exception, FileNotFoundError)

    def test_unexpected_errors_say_so(self, cities, monkeypatch):
        monkeypatch.setattr("closerthan.files.read_answers", lambda *_, **__: 1 / 0)
        assert "something unexpected happened (ZeroDivisionError" in said("fit", cities)

    def test_warnings_are_one_line(self, cities, empty_folder):
        done = closerthan("fit", cities, *FAST, "--names", names_with("Atlantis"))
        assert "warning: 1 of 22 objects occur in no comparison ('Atlantis')" in done.stderr
        assert "UserWarning" not in done.stderr

    def test_a_name_that_the_font_lacks_is_reported_once(self, empty_folder):
        rows = ["anchor,near,far", *["🍒,b,c", "b,🍒,c", "c,b,🍒"] * 4]
        (empty_folder / "fruit.csv").write_text("\n".join(rows), encoding="utf-8")
        done = closerthan("fit", "fruit.csv", "--loss", "soe", "--penalty", "0", "--no-report")
        assert done.stderr.count("warning: Glyph") == 1
        assert "all answers are about the same objects, so none can be held out" in " ".join(done.stdout.split())

    def test_a_narrow_terminal_loses_no_number_of_a_table(self, empty_folder, monkeypatch):
        (empty_folder / "few.csv").write_text("anchor,near,far\na,b,c\na,c,d\nb,a,d\nd,c,b\n")
        wide = closerthan("central", "few.csv").stdout.split()
        monkeypatch.setenv("COLUMNS", "20")
        assert closerthan("central", "few.csv", "--force").stdout.split() == wide

    def test_central_says_how_many_objects_have_no_score(self, empty_folder):
        (empty_folder / "same.csv").write_text("anchor,near,far\na,b,c\na,b,c\n")
        assert "1 without a score is missing" in closerthan("central", "same.csv").stdout


def test_ctrl_c_while_files_are_written_does_not_lose_them(tmp_path):
    with written_folder(tmp_path / "results", replace=False) as draft:
        signal.raise_signal(signal.SIGINT)
        (draft / "table.csv").write_text("1")
    assert (tmp_path / "results" / "table.csv").exists()


def names_with(name):
    with open("names.txt", "w") as file:
        file.write("\n".join([*ct.datasets.eurodist().names, name]))
    return "names.txt"


class TestFolders:
    def test_are_not_overwritten_without_force(self, cities):
        closerthan("fit", cities, *FAST)
        before = text("cities-map/map.csv")
        assert "pass --force" in said("fit", cities, *FAST, "--seed", 1)
        assert text("cities-map/map.csv") == before
        closerthan("fit", cities, *FAST, "--seed", 1, "--force")
        assert text("cities-map/map.csv") != before

    def test_of_other_people_are_never_replaced(self, cities, empty_folder):
        (empty_folder / "mine").mkdir()
        (empty_folder / "mine" / "thesis.tex").write_text("text")
        assert "holds thesis.tex" in said("fit", cities, "--out", "mine", "--force")
        assert (empty_folder / "mine" / "thesis.tex").read_text() == "text"

    def test_that_cannot_be_made_are_an_error_before_the_answers_are_read(self, cities, empty_folder):
        (empty_folder / cities).write_text("no answers")
        assert "is a file" in said("fit", cities, "--out", cities)
        assert "nothing can be written to" in said("fit", cities, "--out", f"{cities}/below")

    def test_that_one_is_in_are_an_error_before_the_answers_are_read(self, cities, empty_folder, monkeypatch):
        (empty_folder / cities).write_text("no answers")
        (empty_folder / "in").mkdir()
        monkeypatch.chdir(empty_folder / "in")
        assert ". is the current folder" in said("fit", f"../{cities}", "--out", ".")
        assert "is the current folder or contains it" in said("fit", f"../{cities}", "--out", empty_folder / "in")

    @pytest.mark.slow
    def test_behind_a_link_are_written_and_the_link_stays(self, cities, empty_folder):
        (empty_folder / "real").mkdir()
        (empty_folder / "link").symlink_to("real")
        (empty_folder / "later").symlink_to("new")
        (empty_folder / "self").symlink_to("self")
        for name, target in (("link", "real"), ("later", "new")):
            closerthan("fit", cities, "--loss", "ste", "--penalty", "0", *FAST, "--out", name)
            assert (empty_folder / name).is_symlink()
            assert (empty_folder / target / "map.csv").exists()
        closerthan("fit", cities, "--loss", "ste", "--penalty", "0", *FAST, "--out", "link", "--force")
        assert (empty_folder / "link").is_symlink()
        assert "nothing can be written to" in said("fit", cities, "--out", "self")

    def test_names_that_are_not_valid_text_are_escaped(self, cities, empty_folder):
        called = os.fsdecode(b"caf\xe9.csv")
        os.rename(cities, called)
        closerthan("fit", called, "--loss", "ste", "--penalty", "0", "--held-out", 0)
        folder = os.fsdecode(b"caf\xe9-map")
        assert json.loads(text(f"{folder}/settings.json"))["file"] == "caf\\xe9.csv"
        assert "caf\\xe9.csv" in text(f"{folder}/report.html")

    @pytest.mark.parametrize("what", ["name", "label", "title", "thumbnail"])
    def test_are_not_begun_where_something_could_not_be_written(self, what, cities, empty_folder, monkeypatch):
        monkeypatch.setattr("closerthan.fit.embedding.embed", lambda *_, **__: pytest.fail("too late"))
        options = []
        if what == "name":
            row = {"anchor": "a\ud800", "near": "b", "far": "c"}
            (empty_folder / "cities.jsonl").write_text(f"{json.dumps(row)}\n")
            cities = "cities.jsonl"
        elif what == "label":
            rows = "".join(f"{name},x\n" for name in ct.datasets.eurodist().names)
            (empty_folder / "labels.csv").write_bytes(b"name,kind\n" + rows.encode())
            monkeypatch.setattr("closerthan.files.labels.read_labels", lambda *_: {"kind": ["x", "y\ud800"]})
            options = ["--labels", "labels.csv"]
        elif what == "title":
            options = ["--title", os.fsdecode(b"caf\xe9")]
        else:
            (empty_folder / "pictures").mkdir()
            (empty_folder / "pictures" / "Athens.png").write_text("no picture")
            options = ["--thumbnails", "pictures"]
        sentence = said("fit", cities, *options)
        expected = {"name": "an unpaired surrogate", "thumbnail": "is not an image"}
        assert expected.get(what, f"the {what} '") in sentence
        assert not (empty_folder / "cities-map").exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("moment", ["facts.facts", "held_out.held_out_error"])
    def test_are_written_when_ctrl_c_comes_after_the_fit(self, moment, cities, monkeypatch):
        import importlib

        place, name = moment.split(".")
        module = importlib.import_module(f"closerthan.evaluate.{place}")
        plain = getattr(module, name)

        def pressed(*given, **options):
            signal.raise_signal(signal.SIGINT)
            return plain(*given, **options)

        monkeypatch.setattr(module, name, pressed)
        closerthan("fit", cities, "--loss", "ste", "--penalty", "0", "--no-report")
        assert ct.Result.load("cities-map/result.npz").stopped_by != "interrupted"

    def test_that_fill_the_disk_lose_nothing(self, cities, empty_folder, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("closerthan.history.History.to_csv", full)
        sentence = said("fit", cities, *FAST)
        assert "cities-map could not be written (No space left on device)" in sentence
        saved = re.search(r"saved as (\S+\.npz) instead", sentence)[1]
        try:
            assert ct.Result.load(saved).embedding.shape == (21, 2)
        finally:
            os.unlink(saved)
        assert [path.name for path in empty_folder.iterdir()] == [cities]

    def test_appear_whole_or_not_at_all(self, empty_folder):
        def fail_half_way():
            with whole_folder(empty_folder / "new", replace=False) as draft:
                (draft / "map.csv").touch()
                assert not (empty_folder / "new").exists()
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_half_way()
        assert list(empty_folder.iterdir()) == []

    def test_of_two_at_once_one_wins_and_the_other_is_kept_beside(self, empty_folder):
        def write_while_another_writes():
            with whole_folder(empty_folder / "new", replace=False) as slow:
                with whole_folder(empty_folder / "new", replace=False) as quick:
                    (quick / "map.csv").write_text("quick")
                (slow / "map.csv").write_text("slow")

        with pytest.raises(ValueError, match=r"written by another process in the meantime; this result is in .*new-2"):
            write_while_another_writes()
        assert (empty_folder / "new" / "map.csv").read_text() == "quick"
        assert (empty_folder / "new-2" / "map.csv").read_text() == "slow"


def test_advice_can_be_pasted(empty_folder):
    rng = np.random.default_rng(0)
    rows = [rng.permutation(12)[:3].tolist() for _ in range(400)]
    (empty_folder / "my noise.txt").write_text("q;yes;no\n" + "".join(f"{a};{b};{c}\n" for a, b, c in rows))
    reading = ("--column", "anchor=q", "--column", "near=yes", "--column", "far=no", "--delimiter", ";")
    shown = " ".join(
        closerthan("fit", "my noise.txt", "--no-report", "--loss", "ste", "--penalty", "0", *reading).stdout.split()
    )
    command = re.search(r"closerthan info .*?--delimiter ';'", shown)[0]
    closerthan(*shlex.split(command)[1:])
    assert "--loss auto" in shown


def test_settings_are_json_that_every_program_reads(simulated):
    closerthan("fit", simulated, *FAST)

    def no_constant(name):
        raise AssertionError(f"{name} is not JSON")

    about = json.loads(text("answers-map/settings.json"), parse_constant=no_constant)
    assert about["starts"][0]["validation_error"] is None
    assert about["settings"]["loss"]["name"] == about["candidates"][0]["loss"]


# ---- replicates, probabilities, and the number of dimensions ---------------------------------------------------------


def printed(*words):
    return closerthan(*words).stdout


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    """A fit with replicates, and one without."""
    place = tmp_path_factory.mktemp("fits")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        printed("simulate", "answers.csv", "--objects", 12, "--answers", 1200, "--noise", "ste")
        output = printed("fit", "answers.csv", "--loss", "ste", "--penalty", "0", "--no-report", "--replicates", 20)
        printed("fit", "answers.csv", "--loss", "soe", "--penalty", "0", "--no-report", "--out", "plain-map")
    (place / "output.txt").write_text(output)
    return place


@pytest.mark.slow
def test_all_figures_are_written_in_the_format_that_was_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed("simulate", "answers.csv", "--objects", 8, "--answers", 400, "--noise", "ste")
    options = (
        "--loss",
        "ste",
        "--penalty",
        "0",
        "--no-report",
        "--replicates",
        6,
        "--no-enough",
        "--held-out",
        0,
        "--groups",
        2,
    )
    output = printed("fit", "answers.csv", *options, "--format", "svg")
    figures = {
        path.name for path in (tmp_path / "answers-map").iterdir() if path.suffix not in (".csv", ".npz", ".json")
    }
    assert figures == {"map.svg", "ellipses.svg", "neighbours.svg", "calibration.svg", "groups.svg"}
    assert all("<svg" in (tmp_path / "answers-map" / name).read_text("utf-8") for name in figures)
    assert "answers-map/ellipses.svg" in output
    printed("fit", "answers.csv", *options, "--format", "pdf", "--force")  # known files: they may be replaced
    assert not (tmp_path / "answers-map" / "map.svg").exists()


@pytest.mark.slow
def test_fit_writes_what_can_be_believed(fits):
    map_folder = fits / "answers-map"
    output = (fits / "output.txt").read_text()
    assert "20 maps" in output
    assert "of all triplets" in output
    for name in ("ellipses.png", "neighbours.png", "calibration.png"):
        assert (map_folder / name).stat().st_size > 5_000
    replicates = ct.Replicates.load(map_folder / "replicates.npz")
    assert len(replicates) == 20
    ellipses = table(map_folder / "ellipses.csv")
    assert [row["name"] for row in ellipses] == [str(number) for number in range(12)]
    written = np.array([[float(row[f"half_axis_{axis}"]) for axis in (1, 2)] for row in ellipses])
    np.testing.assert_allclose(written, replicates.ellipses(0.95).half_axes())
    neighbours = table(map_folder / "neighbours.csv")
    nearest = replicates.neighbour_probability(1)
    assert all(nearest[int(row["name"]), int(row["neighbour"])] == float(row["nearest"]) for row in neighbours)


def test_without_replicates_none_of_it_is_written(fits):
    assert not (fits / "plain-map" / "replicates.npz").exists()


def test_replicates_predict_where_there_are_some(fits, monkeypatch):
    monkeypatch.chdir(fits)
    output = printed("predict", "answers-map", "answers.csv", "--force")
    committee = ct.Replicates.load("answers-map/replicates.npz").committee
    assert f"from {len(committee.maps)} maps" in " ".join(output.split())
    rows = ct.read_comparisons("answers.csv").rows
    expected = ct.Replicates.load("answers-map/replicates.npz").probability(rows)
    written = table("answers-predictions.csv")
    assert [int(row["prediction"]) for row in written] == np.where(expected > 0.5, 1, -1).tolist()
    sure = np.array([float(row["probability"]) for row in written])
    np.testing.assert_allclose(sure, np.maximum(expected, 1 - expected), atol=1e-4)


def test_a_single_map_is_calibrated_on_held_out_answers(fits, monkeypatch):
    monkeypatch.chdir(fits)
    output = printed("predict", "plain-map", "answers.csv", "--force")
    assert "calibrated on held-out answers" in " ".join(output.split())
    result = ct.Result.load("plain-map/result.npz")
    assert result.calibration.n_answers > 100
    probability = np.array([float(row["probability"]) for row in table("answers-predictions.csv")])
    assert (probability >= 0.5).all()
    assert probability.max() > 0.8


def test_a_map_without_its_fit_has_no_probability(fits, monkeypatch):
    monkeypatch.chdir(fits)
    printed("predict", "plain-map/map.csv", "answers.csv", "--force")
    assert "probability" not in table("answers-predictions.csv")[0]


def test_dims_gives_one_verdict(fits, monkeypatch):
    monkeypatch.chdir(fits)
    shown = printed("dims", "answers.csv", "--loss", "soe", "--penalty", "0", "--repeats", 1, "--out", "verdict")
    verdict = " ".join(shown.split())
    assert verdict.count("predict significantly better") == 1
    assert "worth" not in verdict
    assert "questions, each held out as a whole" in verdict


def test_dims_holds_out_people_where_they_are_known(fits, monkeypatch):
    monkeypatch.chdir(fits)
    rows = ct.read_comparisons("answers.csv").rows
    people = np.arange(len(rows)) % 10
    ct.files.write_comparisons(ct.Comparisons.from_triplets(rows, people=people), "people.csv")
    words = ("dims", "people.csv", "--most", 1, "--loss", "soe", "--penalty", "0", "--repeats", 1, "--force")
    assert "over 10 people, each held out as a whole" in printed(*words)
    assert "questions, each held out as a whole" in printed(*words, "--by", "answers")


@pytest.mark.slow
def test_people_and_the_learning_curve_are_written_unless_they_are_left_out(fits, monkeypatch):
    monkeypatch.chdir(fits)
    rows = ct.read_comparisons("answers.csv").rows
    answers = ct.Comparisons.from_triplets(rows, people=np.arange(len(rows)) % 6)
    ct.files.write_comparisons(answers, "study.csv")
    output = printed(
        "fit", "study.csv", "--loss", "soe", "--penalty", "0", "--no-report", "--replicates", 5, "--people", "skip"
    )
    assert "Enough?" in output
    assert (fits / "study-map" / "learning-curve.csv").exists()
    assert not (fits / "study-map" / "people.csv").exists()
    printed(
        "fit",
        "study.csv",
        "--loss",
        "soe",
        "--penalty",
        "0",
        "--no-report",
        "--replicates",
        5,
        "--no-enough",
        "--force",
    )
    assert {"people.csv", "people.png", "people-matrix.csv", "people-matrix.png", "calibration.csv"} <= {
        file.name for file in (fits / "study-map").iterdir()
    }
    assert not (fits / "study-map" / "learning-curve.csv").exists()
