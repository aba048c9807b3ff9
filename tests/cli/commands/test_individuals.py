import numpy as np
import pytest
from people_who_differ import people_who_weigh
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app


def closerthan(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A file of 12 people who weigh two dimensions differently."""
    monkeypatch.chdir(tmp_path)
    answers, _, _ = people_who_weigh(0.7, n_people=12, n_answers=200, n_objects=12)
    odd = answers.rows[::2, 2]
    rows = np.column_stack([answers.rows[::2], odd, answers.people[::2]])
    names = [["item_1", "item_2", "item_3", "odd", "participant"], *rows.tolist()]
    (tmp_path / "study.csv").write_text("\n".join(",".join(map(str, row)) for row in names) + "\n")
    return "study.csv"


@pytest.mark.slow
def test_the_command_writes_weights_map_and_models(study, tmp_path):
    done = closerthan("individuals", study, "--kind", "odd-one-out", "--loss", "ste", "--penalty", "0")
    assert done.exit_code == 0, done.output
    assert "weigh the dimensions differently" in done.stdout.replace("\n  ", " ")
    folder = tmp_path / "study-individuals"
    assert sorted(file.name for file in folder.iterdir()) == [
        "map.csv", "map.png", "models.csv", "people.npz", "weights.csv", "weights.png"
    ]  # fmt: skip
    maps = ct.PeopleMaps.load(folder / "people.npz")
    assert maps.weights.shape == (12, 2)
    assert len((folder / "models.csv").read_text().splitlines()) == 5
    assert len((folder / "weights.csv").read_text().splitlines()) == 13


def test_with_a_spread_nothing_is_held_out(study, tmp_path):
    done = closerthan(
        "individuals", study, "--kind", "odd-one-out", "--loss", "ste", "--penalty", "0", "--spread", 0.5, "-o", "out"
    )
    assert done.exit_code == 0, done.output
    assert "not tested" in done.stdout
    assert not (tmp_path / "out" / "models.csv").exists()


def test_an_error_names_the_option(study):
    done = closerthan("individuals", study, "--kind", "odd-one-out", "--dims", 1)
    assert done.exit_code == 2
    assert "error: --dims is 1; people can weigh dimensions differently only if" in done.stderr
