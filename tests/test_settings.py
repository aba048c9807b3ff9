"""Settings: one description of a fit, as an object, as data and as options."""

import dataclasses
import inspect
import json

import numpy as np
import pytest
import typer

import closerthan as ct
from closerthan.cli import app
from closerthan.fit import fixed_loss
from closerthan.fit.settings import GIVEN, Settings
from closerthan.losses import LOSSES
from closerthan.registry import Own
from closerthan.solvers import SOLVERS

FIELDS = [field.name for field in dataclasses.fields(Settings)]


class Doubled(ct.Loss):
    scale: float = 1.0

    def value(self, near, far):
        return max(0.0, 2 * self.scale * (near - far))

    def slopes(self, near, far):
        slope = 2 * self.scale if near > far else 0.0
        return slope, -slope


OWN = [
    ct.solvers.SVRG(step=ct.solvers.StabilizedBB(epsilon=0.025), batch_size=20),
    ct.solvers.SVRG(step=ct.solvers.Constant(0.5)),
    ct.solvers.SGD(step=ct.solvers.Decay(rate=0.5)),
]


@pytest.mark.parametrize("loss", ["auto", *LOSSES, ct.losses.SOE(margin=2.0)], ids=str)
@pytest.mark.parametrize("solver", [*SOLVERS, *OWN], ids=lambda solver: str(solver)[:20])
def test_what_is_written_as_json_is_read_back(loss, solver):
    settings = Settings(3, loss=loss, solver=solver, seed=4, validation=0.2, patience=7, window=2)
    data = json.loads(json.dumps(settings.to_data(), allow_nan=False))
    assert Settings.from_data(data) == settings


def test_a_name_says_most_of_an_object_with_other_parameters():
    data = Settings(solver=ct.solvers.SVRG(step=ct.solvers.Constant(0.1))).to_data()["solver"]
    assert (data["name"], data["step"]["name"], data["step"]["step"]) == ("svrg", "Constant", 0.1)


def test_a_class_of_the_users_own_is_marked_and_comes_back_as_name_and_parameters(problem, tmp_path):
    result = ct.embed(problem.train, loss=Doubled(scale=3.0), seed=0, epochs=2)
    assert result.settings.to_data()["loss"] == {"name": "Doubled", "own": True, "scale": 3.0}
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.settings.loss == Own("Doubled", {"scale": 3.0})
    assert again.settings.to_data() == result.settings.to_data()
    assert again.loss_name == "Doubled"


def test_the_defaults_of_embed_are_those_of_the_settings():
    parameters = inspect.signature(ct.embed).parameters
    assert all(parameters[field.name].default == field.default for field in dataclasses.fields(Settings))


def test_every_setting_is_an_option_of_fit():
    options = {name for parameter in typer.main.get_command(app).commands["fit"].params for name in parameter.opts}
    assert {name for field in FIELDS for name in Settings.option(field).names} <= options


def test_a_result_knows_what_it_was_asked(problem):
    result = ct.embed(problem.train, 3, loss="tste", seed=np.int64(5), epochs=3, validation=problem.test)
    assert result.settings == Settings(3, loss="tste", seed=5, epochs=3, validation=GIVEN)


@pytest.mark.parametrize("name", ["window", "patience"])
def test_epochs_to_wait_are_checked(name, problem):
    with pytest.raises(ValueError, match=f"{name} is 0; it must be a whole number of at least 1"):
        ct.embed(problem.train, **{name: 0})


@pytest.mark.skipif(not hasattr(fixed_loss.Limits, "patience"), reason="limits have no patience of their own yet")
def test_patience_ends_a_fit_sooner(problem):
    asked = {"loss": "ste", "solver": "svrg-sbb", "seed": 0, "tolerance": None, "validation": 0.2}
    assert len(ct.embed(problem.train, patience=1, **asked).history) < len(ct.embed(problem.train, **asked).history)


# ---- what is said of a fit ------------------------------------------------------------------------------------------


def test_the_held_out_error_is_that_of_a_fit_without_a_share(problem):
    train, test = problem.train.split(0.1, np.random.default_rng(3))
    expected = ct.triplet_error(test, ct.embed(train, 2, loss="soe", seed=3).embedding)
    found = ct.held_out_error(problem.train, 2, loss="soe", seed=3)
    assert found.error == expected
    assert found.low < found.error < found.high
    assert (found.n_comparisons, found.n_answers) == (len(test), len(test))
    assert str(found).endswith(f"of {len(test)} comparisons")


def test_advice_is_in_the_words_of_python():
    data = ct.datasets.synthetic(30, 2, 1_000, 10, flipped=0.4, seed=0)
    result = ct.embed(data.train, loss="ste", seed=0, epochs=3)
    said = ct.advice(result, data.train, ct.held_out_error(data.train, loss="ste", epochs=3))
    assert said
    assert not any("--" in line or "{" in line or "closerthan " in line for line in said)


# ---- notebooks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_dims", [1, 2, 5])
def test_a_result_shows_its_map_its_error_and_its_loss(problem, n_dims):
    result = ct.embed(problem.train, n_dims, loss="soe", seed=0)
    shown = result._repr_html_()
    assert shown.count("<circle") == 15
    assert "loss soe" in shown
    assert f"training error {result.best_record.train_error:.3f}" in shown


def test_names_cannot_leave_their_place_in_a_notebook():
    names = ["<script>alert(1)</script>", "b", "c", "d"]
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 2, 3], [3, 2, 0]], names=names)
    for thing in (answers, ct.embed(answers, 1, loss="ste", seed=0)):
        assert "<script>" not in thing._repr_html_()
        assert "&lt;script&gt;" in thing._repr_html_()


def test_comparisons_show_how_many_they_are_and_the_first(problem):
    shown = problem.train._repr_html_()
    assert shown.count("<tr>") == 6
    assert "and 595 more" in shown


def test_a_result_as_a_data_frame(problem):
    frame = ct.embed(problem.train, loss="soe", seed=0).to_frame()
    assert frame.shape == (15, 2)
    assert list(frame.columns) == ["x1", "x2"]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4, 0.9])
def test_the_held_out_error_is_of_the_share_asked_for(share):
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    measured = ct.held_out_error(data.train, loss="ste", share=share, epochs=1)
    assert int(measured.amount.split()[0]) == pytest.approx(300 * share, abs=8)


def test_a_perfect_map_that_was_judged_by_few_is_not_called_a_guess():
    answers = [[0, 1, 2], [2, 1, 0]]
    result = ct.embed(answers, loss="ste", seed=0)
    assert not any("guessing" in line for line in ct.advice(result, answers))
