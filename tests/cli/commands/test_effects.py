import pytest
from benchmarks.answer_effects import World
from typer.testing import CliRunner

from closerthan.cli import app


def closerthan(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A file of people who prefer sides, and who may say "equal"."""
    monkeypatch.chdir(tmp_path)
    study = World(2, positions=2.0, ties=0.5, n_people=6, each=80, n_objects=8).study(0)
    lines = {}
    for part, is_tie in ((study.answers, False), (study.ties, True)):
        for row, place, person, line in zip(part.rows, part.positions, part.people, part.lines, strict=True):
            left, right = row[1:] if place[0] == 0 else row[:0:-1]
            winner = "tie" if is_tie else row[1]
            lines[int(line)] = f"o{row[0]},o{left},o{right},{winner if is_tie else f'o{winner}'},w{person}"
    text = "\n".join(["anchor,left,right,winner,worker", *(lines[number] for number in sorted(lines))])
    (tmp_path / "study.csv").write_text(text + "\n")
    return "study.csv"


@pytest.mark.slow
def test_the_command_writes_people_terms_models_and_a_map(study, tmp_path):
    done = closerthan("effects", study, "--loss", "ste", "--penalty", 0)
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "ties are kept apart from the other answers" in words
    assert "map + positions" in words
    assert "tie: Davidson's nu: odds of a tie against either answer if both pairs are equally close" in words
    folder = tmp_path / "study-effects"
    assert sorted(file.name for file in folder.iterdir()) == [
        "map.csv", "map.png", "models.csv", "people.csv", "terms.csv"
    ]  # fmt: skip
    assert len((folder / "people.csv").read_text().splitlines()) == 7
    assert (folder / "models.csv").read_text().splitlines()[1].startswith("map alone,")


def test_a_file_without_positions_gets_an_error_that_names_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.csv").write_text("anchor,near,far\na,b,c\nb,c,a\nc,a,b\nd,a,b\n")
    done = closerthan("effects", "plain.csv", "--loss", "ste")
    assert done.exit_code == 2
    words = " ".join(done.stderr.split())
    assert "neither positions of objects on the screen nor ties are known" in words
    assert "--column side=" in words
