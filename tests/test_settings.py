"""Settings: one description of a fit, as an object, as data and as options."""

import ast
import dataclasses
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import closerthan as ct
from closerthan.cli import app
from closerthan.fit import fixed_loss
from closerthan.losses import LOSSES
from closerthan.objective.cpu.objective import CPU
from closerthan.registry import UserDefined
from closerthan.settings import GIVEN, Settings
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
def test_settings_written_as_json_are_read_back(loss, solver):
    settings = Settings(3, loss=loss, solver=solver, seed=4, validation=0.2, patience=7, window=2)
    data = json.loads(json.dumps(settings.to_data(), allow_nan=False))
    assert Settings.from_data(data) == settings


@pytest.mark.parametrize("loss", ["auto", "ste", "tste-4"])
@pytest.mark.parametrize("penalty", [None, "auto", 0, 0.1, 3])
def test_a_penalty_is_read_back_from_json(loss, penalty):
    settings = Settings(loss=loss, penalty=penalty)
    assert Settings.from_data(json.loads(json.dumps(settings.to_data()))) == settings


@pytest.mark.parametrize(
    ("loss", "penalty", "must_choose", "strength"),
    [
        ("auto", None, True, 0.0),
        ("auto", 0.3, True, 0.3),
        ("ste", "auto", True, 0.0),
        ("ste", None, True, 0.0),
        ("ste", 2, False, 2.0),
        ("ste", 0, False, 0.0),
    ],
)
def test_settings_say_what_is_still_to_be_chosen(loss, penalty, must_choose, strength):
    settings = Settings(loss=loss, penalty=penalty)
    assert (settings.must_choose, settings.penalty_strength) == (must_choose, strength)
    other = settings.replace(n_starts=1)
    assert (settings.decisive_data() == other.decisive_data()) == (not must_choose)  # one start is the default


@pytest.mark.parametrize(
    ("changed", "must_choose"),
    [
        ({"solver": "hogwild"}, True),
        ({"solver": "svrg-sbb"}, False),
        ({"solver": "lbfgs"}, False),
        ({"epochs": 0}, False),
    ],
)
def test_the_penalty_of_a_named_loss_is_chosen_for_the_default_solver(changed, must_choose):
    assert Settings(loss="ste", **changed).must_choose is must_choose
    assert Settings(loss="ste", penalty="auto", **changed).must_choose
    assert Settings(**changed).must_choose


@pytest.mark.parametrize("loss", ["auto", "ste"])
def test_settings_of_earlier_versions_had_no_penalty(loss):
    data = Settings(loss=loss).to_data()
    del data["penalty"]
    assert Settings.from_data(data) == Settings(loss=loss, penalty=0)


def test_a_number_in_the_name_of_a_loss_does_not_follow_the_dimensions():
    assert Settings(2, loss="tste-4").replace(n_dims=9).loss == ct.losses.TSTE(alpha=4.0)
    assert Settings(2, loss="tste").replace(n_dims=9).loss == ct.losses.TSTE(alpha=8.0)
    assert [Settings(2, loss=name).loss_name for name in ("tste-4", "soe-2", "tste")] == ["tste-4", "soe-2", "tste"]


def test_a_name_says_most_of_an_object_with_other_parameters():
    data = Settings(solver=ct.solvers.SVRG(step=ct.solvers.Constant(0.1))).to_data()["solver"]
    assert (data["name"], data["step"]["name"], data["step"]["step"]) == ("svrg", "Constant", 0.1)


def briefly_fitted(loss):
    """Fit with the solver that needs the fewest kernels, since a user-defined loss is compiled for each of them."""
    return ct.embed(ct.datasets.eurodist().comparisons(), loss=loss, solver="batch", seed=0, epochs=2)


def test_a_class_of_the_users_own_is_marked_and_comes_back_as_name_and_parameters(tmp_path):
    result = briefly_fitted(Doubled(scale=3.0))
    assert result.settings.to_data()["loss"] == {"name": "Doubled", "own": True, "parameters": {"scale": 3.0}}
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.settings.loss == UserDefined("Doubled", {"scale": 3.0})
    assert again.settings.to_data() == result.settings.to_data()
    assert again.loss_name == "Doubled"


class Unlucky(ct.Loss):
    """A class whose parameters have the names of the keys in a file."""

    own: float = 1.0
    name: float = 2.0
    float: float = 3.0
    parameters: float = 4.0

    def value(self, near, far):
        return self.own * max(0.0, near - far + self.name)

    def slopes(self, near, far):
        slope = self.own if near - far + self.name > 0 else 0.0
        return slope, -slope


def test_parameters_may_have_any_name(tmp_path):
    result = briefly_fitted(Unlucky(own=0.5, float=np.inf))
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz")
    assert again.settings.loss == UserDefined("Unlucky", {"own": 0.5, "name": 2.0, "float": np.inf, "parameters": 4.0})
    assert again.settings.to_data() == result.settings.to_data()


class PlainSolver(ct.solvers.Solver):
    """A solver that is no dataclass."""

    def __init__(self, rate=0.1, steps=()):
        self.rate = rate
        self.steps = steps

    def run(self, objective, start, rng, monitor):
        monitor(objective.at(start))


class Forgetful(PlainSolver):
    def __init__(self, speed):
        super().__init__(rate=speed)


def test_a_solver_that_is_no_dataclass_is_saved_with_its_parameters(problem, tmp_path):
    result = ct.embed(problem.train, loss="ste", solver=PlainSolver(0.5, np.array([1, 2])), seed=0)
    result.save(tmp_path / "fit.npz")
    again = ct.Result.load(tmp_path / "fit.npz").settings.solver
    assert again == UserDefined("PlainSolver", {"rate": 0.5, "steps": (1, 2)})


def test_a_solver_that_does_not_keep_its_parameters_is_refused(problem):
    with pytest.raises(
        ValueError, match=r"Forgetful takes the argument speed but has no attribute .* self\.speed = speed"
    ):
        ct.embed(problem.train, loss="ste", solver=Forgetful(0.5), seed=0)


def test_the_defaults_of_embed_are_those_of_the_settings():
    parameters = inspect.signature(ct.embed).parameters
    fields = [field for field in dataclasses.fields(Settings) if field.name != "n_dims"]  # None: that of settings, or 2
    assert all(parameters[field.name].default == field.default for field in fields)


def test_every_setting_is_an_option_of_fit():
    options = {name for parameter in typer.main.get_command(app).commands["fit"].params for name in parameter.opts}
    assert {name for field in FIELDS for name in Settings.option(field).names} <= options


def test_a_result_stores_the_settings_of_its_fit(problem):
    result = ct.embed(problem.train, 3, loss="tste", penalty=0, seed=np.int64(5), epochs=3, validation=problem.test)
    assert result.settings == Settings(3, loss="tste", penalty=0, seed=5, epochs=3, validation=GIVEN)


TRIPLETS = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 0]]
NO_FUNCTION = "must be a function of a record and a map, or None"
COUNT = "it must be a whole number of at least 1"
BAD = [
    ("n_dims", 0, COUNT),
    ("n_dims", 2.5, COUNT),
    ("n_dims", "2", COUNT),
    ("loss", "stee", "loss is 'stee'; choose from: gnmds, ckl, ste, tste, soe"),
    ("loss", 3, "loss is 3; pass a name"),
    ("penalty", "a", 'it must be a number and be finite and not negative, or it must be "auto"'),
    ("penalty", -1, 'it must be finite and not negative, or it must be "auto"'),
    ("penalty", np.nan, 'it must be finite and not negative, or it must be "auto"'),
    ("penalty", np.inf, 'it must be finite and not negative, or it must be "auto"'),
    ("penalty", True, "it must be a number"),
    ("likelihood", "luce", "it must be one of auto, answers, comparisons"),
    ("solver", "adam", "solver is 'adam'; choose from: polyak, hogwild, svrg-sbb"),
    ("solver", None, "solver is None; pass a name"),
    ("start", "a", r"start is 'a'; it must be an array of numbers of shape \(4, 2\)"),
    ("start", np.zeros((4, 3)), r"start has shape \(4, 3\); it must have shape \(4, 2\), one row per object"),
    ("start", np.full((4, 2), np.nan), r"start has \[nan nan\] in row 0; all numbers must be finite"),
    ("epochs", -1, "it must be a whole number of at least 0"),
    ("epochs", "a", "it must be a whole number of at least 0"),
    ("tolerance", "a", "it must be a number and not be negative"),
    ("tolerance", -1, "it must not be negative"),
    ("tolerance", np.nan, "it must not be negative"),
    ("window", 0, COUNT),
    ("window", "a", COUNT),
    ("patience", 0, COUNT),
    ("patience", 1.5, COUNT),
    ("validation", 1.5, "it must lie between 0 and 1"),
    ("validation", True, "it must be a number and lie between 0 and 1"),
    ("validation", "a", "it must be a fraction, as in 0.1, or comparisons"),
    ("validation", "given", "it must be a fraction, as in 0.1, or comparisons"),
    ("validation", 0.01, "leaves one part empty"),
    ("by", "person", 'it can be "auto", "answers", "blocks" or "people"'),
    ("by", 5, 'it can be "auto", "answers", "blocks" or "people"'),
    ("time_limit", "a", "it must be a number and be a positive number of seconds"),
    ("time_limit", 0, "it must be a positive number of seconds"),
    ("callback", 5, NO_FUNCTION),
    ("callback", "print", NO_FUNCTION),
    ("n_starts", 0, COUNT),
    ("n_starts", "a", COUNT),
    ("n_threads", 0, COUNT),
    ("n_threads", "a", COUNT),
    ("n_threads", 1.5, COUNT),
    ("device", "tpu", "unknown device 'tpu'; choose from: cpu"),
    ("device", 5, "it must be a device such as"),
    ("seed", -1, "it must be a whole number of at least 0"),
    ("seed", "a", "it must be a whole number of at least 0|cannot be used to seed"),
    ("seed", 1.5, "it must be a whole number of at least 0|cannot be used to seed"),
    ("checkpoint", 5, "it must be the name of a file"),
    ("resume", True, "there is no checkpoint to resume from"),
]
WITHOUT_NAME = ("leaves one", "unknown", "cannot be", "there is no")


def names_of_bad_options(bad):
    return [f"{name}={value!r:.10}" for name, value, _ in bad]


@pytest.mark.parametrize(("name", "value", "sentence"), BAD, ids=names_of_bad_options(BAD))
def test_a_bad_argument_of_embed_is_one_clear_sentence(name, value, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        ct.embed(TRIPLETS, **{name: value})
    assert "\n" not in str(error.value)
    assert name in str(error.value) or any(words in sentence for words in WITHOUT_NAME)


def test_every_argument_of_embed_can_be_bad():
    arguments = set(inspect.signature(ct.embed).parameters) - {"answers", "progress", "settings"}
    assert {name for name, *_ in BAD} == arguments


BAD_IN_ESTIMATOR = [bad for bad in BAD if bad[0] not in ("checkpoint", "resume")]


@pytest.mark.parametrize(("name", "value", "sentence"), BAD_IN_ESTIMATOR, ids=names_of_bad_options(BAD_IN_ESTIMATOR))
def test_errors_of_the_estimator_use_its_names(name, value, sentence):
    own = {**Settings.names_in_estimator(), "start": "init", "n_threads": "n_jobs"}.get(name, name)
    with pytest.raises(ValueError, match=sentence.replace("start ", "init ")) as error:
        ct.OrdinalEmbedding(**{own: value}).fit(TRIPLETS)
    if "it must be" in sentence:
        assert own in str(error.value) or "cannot be used to seed" in str(error.value)


def test_no_threads_are_refused_for_every_device():
    for device in ("cpu", CPU(), CPU(n_threads=2)):
        with pytest.raises(ValueError, match="n_threads is 0; it must be a whole number of at least 1"):
            ct.embed(TRIPLETS, device=device, n_threads=0)


def test_a_start_excludes_others():
    with pytest.raises(ValueError, match=r"n_starts is 2; the start is fixed, .* leave n_starts or start out"):
        ct.embed(TRIPLETS, start=np.zeros((4, 2)), n_starts=2)
    with pytest.raises(ValueError, match=r"n_init is 2; the start is fixed, .* leave n_init or init out"):
        ct.OrdinalEmbedding(init=np.zeros((4, 2)), n_init=2).fit(TRIPLETS)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--dims", "a", "^--dims is 'a'; it must be a whole number of at least 1, or auto"),
        ("--dims", "0", "^--dims is '0'; it must be a whole number of at least 1, or auto"),
        ("--starts", "0", "^Invalid value for '--starts'"),
        ("--threads", "0", "^Invalid value for '--threads'"),
        ("--epochs", "-1", "^Invalid value for '--epochs'"),
        ("--window", "1.5", "^Invalid value for '--window'"),
        ("--patience", "0", "^Invalid value for '--patience'"),
        ("--seed", "-1", "^Invalid value for '--seed'"),
        ("--tolerance", "a", "^--tolerance is 'a'; it can be a number or none"),
        ("--penalty", "a", "^--penalty is 'a'; it can be a number or auto"),
        ("--penalty", "-1", "^--penalty is -1.0; it must be finite and not negative"),
        ("--tolerance", "-1", "^--tolerance is -1.0; it must not be negative"),
        ("--time-limit", "a", "^Invalid value for '--time-limit'"),
        ("--time-limit", "0", "^--time-limit is 0.0; it must be a positive number of seconds"),
        ("--validation", "1.5", "^--validation is 1.5; it must lie between 0 and 1"),
        ("--by", "person", "^--by is 'person'; it can be"),
        ("--loss", "stee", "^--loss is 'stee'"),
        ("--solver", "adam", "^--solver is 'adam'"),
    ],
)
def test_a_bad_option_is_one_clear_sentence(option, value, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text("anchor,near,far\na,b,c\nb,a,c\n")
    done = CliRunner().invoke(app, ["fit", "answers.csv", option, value])
    assert done.exit_code == 2
    (line,) = done.stderr.strip().split("\n")
    assert re.search(sentence, line.removeprefix("error: "))
    assert list(tmp_path.iterdir()) == [tmp_path / "answers.csv"]


@pytest.mark.skipif(not hasattr(fixed_loss.Limits, "patience"), reason="limits have no patience of their own yet")
def test_patience_ends_a_fit_sooner(problem):
    asked = {"loss": "ste", "solver": "svrg-sbb", "seed": 0, "tolerance": None, "validation": 0.2}
    assert len(ct.embed(problem.train, patience=1, **asked).history) < len(ct.embed(problem.train, **asked).history)


# ---- what is said of a fit ------------------------------------------------------------------------------------------


def test_the_held_out_error_is_that_of_a_fit_without_a_share(problem):
    train, test = problem.train.split(0.1, np.random.default_rng(3))
    expected = ct.triplet_error(test, ct.embed(train, 2, loss="soe", penalty=0, seed=3).embedding)
    found = ct.held_out_error(problem.train, 2, loss="soe", penalty=0, seed=3)
    assert found.error == expected
    assert found.low < found.error < found.high
    assert (found.n_comparisons, found.n_answers) == (len(test), len(test))
    assert str(found).endswith(f"of {len(test)} comparisons")


def test_advice_is_in_the_words_of_python():
    data = ct.datasets.synthetic(30, 2, 1_000, 10, flipped=0.4, seed=0)
    result = ct.embed(data.train, loss="ste", penalty=0, seed=0, epochs=3)
    said = ct.advice(data.train, result, ct.held_out_error(data.train, loss="ste", penalty=0, epochs=3))
    assert said
    assert not any("--" in line or "{" in line or "closerthan " in line for line in said)


# ---- notebooks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_dims", [1, 2, 5])
def test_a_result_shows_its_map_its_error_and_its_loss(problem, n_dims):
    result = ct.embed(problem.train, n_dims, loss="soe", penalty=0, seed=0)
    shown = result._repr_html_()
    assert shown.count("<circle") == 15
    assert "loss soe" in shown
    assert f"training error {result.best_record.train_error:.3f}" in shown


def test_names_cannot_leave_their_place_in_a_notebook():
    names = ["<script>alert(1)</script>", "b", "c", "d"]
    answers = ct.Comparisons.from_triplets([[0, 1, 2], [1, 2, 3], [3, 2, 0]], names=names)
    for thing in (answers, ct.embed(answers, 1, loss="ste", penalty=0, seed=0)):
        assert "<script>" not in thing._repr_html_()
        assert "&lt;script&gt;" in thing._repr_html_()


def test_comparisons_show_how_many_they_are_and_the_first(problem):
    shown = problem.train._repr_html_()
    assert shown.count("<tr>") == 6
    assert "and 595 more" in shown


def test_a_result_as_a_data_frame(problem):
    frame = ct.embed(problem.train, loss="soe", penalty=0, seed=0).to_frame()
    assert frame.shape == (15, 2)
    assert list(frame.columns) == ["x1", "x2"]


@pytest.mark.parametrize("fraction", [0.1, 0.4, 0.9])
def test_the_requested_fraction_of_the_answers_is_held_out(fraction):
    data = ct.datasets.synthetic(12, 2, 300, 300, seed=0)
    measured = ct.held_out_error(data.train, loss="ste", penalty=0, fraction=fraction, epochs=1)
    assert int(measured.amount.split()[0]) == pytest.approx(300 * fraction, abs=8)


def test_a_perfect_map_that_was_judged_by_few_is_not_called_a_guess():
    answers = [[0, 1, 2], [2, 1, 0]]
    result = ct.embed(answers, loss="ste", penalty=0, seed=0)
    assert not any("guessing" in line for line in ct.advice(answers, result))


# These are said of other things, too.
WORDS_OF_THE_FIELD = {"n_dims", "loss", "likelihood", "penalty", "solver", "by", "seed", "device"}
OTHERS = (
    "collect/choosing/belief.py",  # asks for fits, as users do
    "evaluate/advice.py",  # tells users what to try
    "theory.py",  # counts epochs of the theorems
    "objects/views.py", "cli/commands/views.py",  # n_starts of embed_views
    "uncertainty/learning_curve.py",  # has two starts unless n_starts says otherwise
    "files/formats/binary/second_process.py", "objective/streaming/shuffling.py",  # patience and windows of others
    "collect/choosing/judging.py",
)  # fmt: skip


def named(tree):
    """Return the names that a module uses for variables, parameters, keywords, attributes and dictionary keys.

    Docstrings and messages do not count, nor do keys whose values are texts, as in a table of reasons for ending.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.arg(arg=word) | ast.keyword(arg=word) | ast.Attribute(attr=word):
                yield word
            case ast.Subscript(slice=ast.Constant(value=word)):
                yield word
            case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[ast.Constant(value=word), *_]):
                yield word
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    text = isinstance(value, ast.Constant) and isinstance(value.value, str)
                    if isinstance(key, ast.Constant) and not text:
                        yield key.value


def test_an_option_of_a_fit_is_named_in_few_files():
    house = Path(ct.__file__).parent
    naming = {option: set() for option in FIELDS if option not in WORDS_OF_THE_FIELD}
    for path in house.rglob("*.py"):
        name, text = path.relative_to(house).as_posix(), path.read_text(encoding="utf-8")
        if not name.startswith(OTHERS) and any(option in text for option in naming):
            for option in naming.keys() & named(ast.parse(text)):
                naming[option].add(name)
    for option, files in naming.items():
        assert {"settings.py", "estimator.py"} <= files
        assert len(files) <= 7, (option, files)
