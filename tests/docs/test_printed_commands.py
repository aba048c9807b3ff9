"""Everything that we print for pasting works: commands in advice, code in reports, and lines of pages."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT
from PIL import Image
from scipy.io import savemat
from slow import slow_but
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app

pytestmark = pytest.mark.filterwarnings("ignore:.*occur in no comparison")

QUICK = ("--loss", "ste", "--penalty", "0", "--epochs", 2, "--dims", 2)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def closerthan(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, (words, done.output)
    return done.stdout


def guesses(n_answers=300, n_objects=12):
    """Answers at random: a map of them is poor, and there is much to advise."""
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n_objects)[:3] for _ in range(n_answers)])


def table(path, head, rows, sign=","):
    lines = [sign.join(map(str, row)) for row in ([head] if head else []) + list(rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def columns(file):
    table(file, ["q", "yes", "no"], guesses(), ";")
    return [file, "--column", "anchor=q", "--column", "near=yes", "--column", "far=no", "--delimiter", ";"]


def odd_names():
    return columns('it\'s  my "noise".txt')


def people():
    table("people.csv", ["anchor", "near", "far", "who"], [[*row, f"p{n % 6}"] for n, row in enumerate(guesses())])
    return ["people.csv", "--column", "participant=who", "--by", "people"]


def arrays():
    np.savez("two arrays.npz", first=guesses(), second=guesses()[:, ::-1])
    return ["two arrays.npz", "--variable", "second", "--objects", 14]


def matlab():
    savemat("noise.mat", {"S": guesses() + 1, "other": np.zeros((2, 2))})
    return ["noise.mat", "--variable", "S"]


def given_names():
    Path("my names.txt").write_text("".join(f"object {letter}\n" for letter in "abcdefghijkl"))
    table("numbers.csv", None, guesses())
    return ["numbers.csv", "--names", "my names.txt", "--no-header", "--numbering", "0-based"]


def odd_ones():
    rows = [["a", "b", "c", "pick"]]
    for number, shown in enumerate(guesses().astype(str)):
        rows.append(np.char.add("é", [*shown, shown[number % 3]]) if number % 9 else [*np.char.add("é", shown), "same"])
    Path("odd.csv").write_bytes("\n".join(map(",".join, rows)).encode("latin-1"))
    objects = [word for name in "abc" for word in ("--column", f"items={name}")]
    return ["odd.csv", "--encoding", "latin-1", "--ties", "drop", *objects, "--column", "odd=pick"]


def held_out_file():
    for name, rows in (("fitted.csv", guesses()[:250]), ("for stopping.csv", guesses()[250:] + 1)):
        table(name, ["anchor", "near", "far"], rows[(rows < 12).all(axis=1)])
    return ["fitted.csv", "--validation", "for stopping.csv"]


def marked_as_test():
    rows = [[*row, "test" if n % 5 == 0 else "train"] for n, row in enumerate(guesses())]
    table("split.csv", ["anchor", "near", "far", "split"], rows)
    return ["split.csv"]


SITUATIONS = [odd_names, people, arrays, matlab, given_names, odd_ones, held_out_file, marked_as_test]


def data_in(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', Path(page).read_text("utf-8"), re.S)
    return json.loads(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("situation", slow_but(odd_names, SITUATIONS), ids=lambda situation: situation.__name__)
def test_commands_that_a_fit_prints_can_be_pasted(situation):
    shown = closerthan("fit", *situation(), *QUICK, "--out", "map")
    embedding, _ = ct.files.read_map("map/map.csv")
    commands = re.findall(r"closerthan (?:info|dims) .*$", shown, re.MULTILINE)
    assert {shlex.split(command)[1] for command in commands} == {"info"}  # more dimensions do not explain guesses
    for _, name, *words in map(shlex.split, commands):
        closerthan(name, *words)
    page = data_in("map/report.html")
    assert page["command"] == json.loads(Path("map/settings.json").read_text())["command"]
    # Without --held-out, the penalty would be chosen on other answers.
    closerthan(*shlex.split(page["command"])[1:], "--no-report", "--out", "again")
    assert np.array_equal(ct.files.read_map("again/map.csv")[0], embedding)
    names = {}
    exec(page["python"], names)
    assert np.array_equal(names["result"].embedding, embedding)


@pytest.mark.slow
def test_making_a_fit_again_makes_its_replicates_and_groups_again():
    table("plain.csv", ["anchor", "near", "far"], guesses())
    options = ["--replicates", 6, "--no-enough", "--groups", 2, "--held-out", 0.2, "--title", "Two words"]
    closerthan("fit", "plain.csv", *QUICK, *options, "--out", "map")
    page, settings = data_in("map/report.html"), json.loads(Path("map/settings.json").read_text())
    assert page["command"] == settings["command"]
    assert settings["replicates"] == 6
    closerthan(*shlex.split(page["command"])[1:], "--out", "again")
    for name in ("ellipses.csv", "neighbours.csv", "groups.csv"):
        assert Path("again", name).read_bytes() == Path("map", name).read_bytes()
    assert "<title>Two words</title>" in Path("again/report.html").read_text("utf-8")
    names = {}
    exec(page["python"], names)
    assert np.array_equal(names["replicates"].maps, ct.Replicates.load("map/replicates.npz").maps)


def test_a_file_that_is_called_like_an_option_can_be_pasted():
    table("-noise.csv", ["anchor", "near", "far"], guesses())
    shown = closerthan("fit", *QUICK, "--no-report", "--", "-noise.csv")
    closerthan(*shlex.split(re.search(r"closerthan info \S+", shown)[0])[1:])


def test_advice_keeps_to_the_people_that_were_held_out():
    """The answers have eight dimensions, the map has one."""
    rows = ct.datasets.simulated(np.random.default_rng(0).standard_normal((12, 8)), 1_200, seed=0).rows
    table("people.csv", ["anchor", "near", "far", "who"], [[*row, f"p{n % 6}"] for n, row in enumerate(rows)])
    words = [
        "people.csv",
        "--column",
        "participant=who",
        "--by",
        "people",
        "--loss",
        "ste",
        "--penalty",
        "0",
        "--dims",
        1,
    ]
    shown = closerthan("fit", *words, "--no-report")
    [command] = re.findall(r"closerthan dims .*$", shown, re.MULTILINE)
    assert command == "closerthan dims people.csv --by people --column participant=who"
    closerthan(*shlex.split(command)[1:], "--most", 1, "--folds", 2, "--epochs", 1)


def test_the_python_of_a_demo_makes_its_map():
    closerthan("demo")
    names = {}
    exec(data_in("closerthan-demo/report.html")["python"], names)
    assert np.array_equal(names["result"].embedding, ct.files.read_map("closerthan-demo/map.csv")[0])


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_OURS = ("pip ", "python", "sphinx-build", "git ", "closerthan demo")
IN_A_STUDY = re.compile(r"closerthan (collect (?!new|plan)|\w+ animals)")  # needs people: see tests/collect


def commands_in(page):
    """The lines of a page that a reader may paste: in a block, beginning with our name (or with a prompt)."""
    for block in re.findall(r"^```(?:bash|sh|text|console)\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
        for line in re.findall(r"^(?:\$ )?(closerthan [a-z]+.*)$", block, re.MULTILINE):
            if not line.startswith(NOT_OURS) and not IN_A_STUDY.match(line):
                yield line


# The pages about the command line have a test of their own, which compares the output too.
COMMAND_LINE = ("command-line", "fit-command", "judging-commands", "other-commands")


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in COMMAND_LINE], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page):
    answers = ct.datasets.eurodist().comparisons()
    ct.files.write_comparisons(answers, "answers.csv")
    table("kinds.csv", ["name", "kind"], [[name, name[0]] for name in answers.names])
    told = ct.datasets.simulated(np.random.default_rng(0).standard_normal((15, 2)), 600, seed=0)
    study = [
        [*row, f"person {number // 100}", ("left", "right")[sum(row) % 2]]
        for number, row in enumerate(told.rows.tolist())
    ]
    for name in ("study.csv", "people.csv", "cfd36_people.csv"):
        table(name, ["anchor", "near", "far", "participant", "side"], study)
    features = np.random.default_rng(1).random((15, 4))
    for name in ("network.npy", "things_spose49.npy"):
        np.save(name, features)
    table("distances.csv", None, 1 - np.corrcoef(features))
    odd_ones = [[*row, number // 100] for number, row in enumerate(guesses(600, 15).tolist())]
    for name in ("things_people.txt", "some.txt"):
        table(name, None, odd_ones, " ")
    Path("pictures").mkdir()
    for number, colour in enumerate(("red", "green", "blue", "black")):
        Image.new("RGB", (8, 8), colour).save(f"pictures/{number}.png")
    if page.stem == "reporting":
        closerthan("fit", "answers.csv", "--loss", "ste", "--penalty", "0", "--no-report")
    for command in commands_in(page):
        closerthan(*shlex.split(command, comments=True)[1:])


def test_some_pages_have_commands():
    assert sum(len(list(commands_in(page))) for page in PAGES) > 15
