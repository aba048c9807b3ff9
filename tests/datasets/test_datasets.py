"""The list of data sets, and their loaders, tested with small files in the format of the public ones."""

import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.datasets import food100, imagenet, things
from closerthan.datasets.answers.food100 import REMOTE as FOOD
from closerthan.datasets.answers.imagenet import REMOTES as IMAGES
from closerthan.datasets.answers.things import NAMES, REMOTE

made_up = pytest.mark.filterwarnings("ignore:.*it is another version of the file:UserWarning")
run = CliRunner().invoke


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for data; the cache folder is empty too."""
    monkeypatch.setenv("CLOSERTHAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def said(comparisons):
    return [tuple(comparisons.names[number] for number in row) for row in comparisons.rows.tolist()]


# ---- the list --------------------------------------------------------------------------------------------------------


def test_the_list_is_a_table_that_shows_which_files_are_on_this_machine(folder):
    sets = ct.datasets.list()
    header, *lines = repr(sets).splitlines()
    assert header.split() == ["name", "answers", "objects", "download", "here", "licence", "what"]
    assert len(lines) == len(sets) == 7
    assert {line.split()[0] for line in lines} <= set(ct.datasets.__all__)
    assert [one.name for one in sets if one.is_here] == ["eurodist"]
    for file in sets.named("things").files:
        (folder / file.name).touch()
    assert [one.name for one in ct.datasets.list() if one.is_here] == ["eurodist", "things"]


def test_every_data_set_has_a_licence_a_page_and_pinned_files():
    for one in ct.datasets.list():
        assert one.licence
        assert one.page
        for file in one.files:
            assert file.address.startswith("https://")
            assert len(bytes.fromhex(file.sha256)) == 32
            assert (
                file.size is not None or file.checksum_source is not None
            )  # our own file, or the publisher's checksum
            assert file.name in str(one)


def test_an_unknown_data_set_is_an_error_that_lists_all_names():
    with pytest.raises(ValueError, match="there is no data set 'birds'; choose from: eurodist, cars"):
        ct.datasets.list().named("birds")


# ---- loaders ---------------------------------------------------------------------------------------------------------

TRIALS = (
    "image1\timage2\timage3\tchoice\tRT\tsubject_id\tnoise_ceiling\tdate\ttime\n"
    "4\t1\t2\t1\t1800\tA1\t0\t2020-01-01\t12:00\n"
    "3\t4\t5\t2\t950\tA2\t0\t2020-01-01\t12:01\n"
    "5\t2\t1\t3\t2600\tA1\t1\t2020-01-02\t12:00\n"
)


@made_up
def test_things_are_odd_one_out_with_people_and_times(folder):
    (folder / REMOTE.name).write_text(TRIALS)
    answers = things()
    assert said(answers) == [("1", "2", "4"), ("2", "1", "4"), ("3", "5", "4"), ("5", "3", "4"), ("5", "2", "1"),
                             ("2", "5", "1")]  # fmt: skip
    assert answers.answers.tolist() == [0, 0, 1, 1, 2, 2]
    assert (answers.n_people, answers.times.tolist()) == (2, [1.8, 1.8, 0.95, 0.95, 2.6, 2.6])
    (folder / NAMES.name).write_text("aardvark\nabacus\naccordion\nacorn\nairbag\n")
    assert said(things())[0] == ("aardvark", "abacus", "acorn")


@made_up
def test_pictures_of_imagenet_are_ranked_two_of_eight(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / IMAGES["0.1"].name, "w") as file:
        file["stimulus_set"] = np.array([[70, 11, 12, 13, 14, 15, 16, 17, 18], [11, 70, 12, 13, 14, 15, 16, 17, 18]])
        file["n_select"], file["is_ranked"] = np.full(2, 2), np.ones(2, bool)
        file["rt_ms"], file["session_id"] = np.array([5000.0, 7000.0]), np.array([3, 4])
    answers = imagenet()
    assert (len(answers), answers.n_answers, answers.n_objects, answers.n_people) == (2 * 13, 2, 9, 2)
    assert said(answers)[:2] == [("70", "11", "12"), ("70", "11", "13")]
    assert said(answers)[7:9] == [("70", "12", "13"), ("70", "12", "14")]
    with pytest.raises(ValueError, match=r"version is '3'; it must be"):
        imagenet("3")


@made_up
def test_food_is_read_from_its_archive(folder):
    with zipfile.ZipFile(folder / FOOD.name, "w") as archive:
        archive.writestr("food100-dataset/all-triplets.csv", "images/a.jpg; images/b.jpg; images/c.jpg\n" * 2)
        archive.writestr("food100-dataset/images/a.jpg", b"not read")
        archive.writestr("food100-dataset/README.md", "about")
    assert said(food100()) == [("images/a.jpg", "images/b.jpg", "images/c.jpg")] * 2


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_lists_data_sets(folder):
    result = run(app, ["datasets"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "things" in result.stdout
    assert "CC BY 4.0" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@made_up
def test_the_command_gets_a_data_set_and_writes_its_comparisons(folder):
    for file in (REMOTE, NAMES):
        (folder / file.name).write_text(TRIALS if file is REMOTE else "a\nb\nc\nd\ne\n")
    result = run(app, ["datasets", "get", "things", str(folder / "things.csv")])
    assert result.exit_code == 0
    assert "licence: CC0" in result.stdout
    assert "6 triplets of 5 objects" in result.stdout
    assert len(ct.read_comparisons(folder / "things.csv")) == 6
    assert run(app, ["datasets", "get", "things", str(folder / "things.csv")]).exit_code == 2  # it is there already


def test_without_a_network_the_command_ends_with_one_sentence(folder, monkeypatch):
    def urlopen(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    result = run(app, ["datasets", "get", "cars"])
    assert result.exit_code == 2
    assert "cannot be read (no network); download it by other means and save it as" in result.stderr
    assert run(app, ["datasets", "get", "birds"]).exit_code == 2


def test_a_data_set_without_get_is_an_error_that_mentions_get():
    result = run(app, ["datasets", "cars"])
    assert result.exit_code == 2
    assert "datasets has no command 'cars'; closerthan datasets get NAME" in result.stderr
