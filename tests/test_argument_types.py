"""Arguments of the wrong type are refused at once, by an error of ours that names the parameter."""

import doctest
import functools
import inspect
import math
import pickle
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import closerthan as ct
from closerthan.checks import checked
from closerthan.settings import FitOptions

SOURCES = str(Path(ct.__file__).parent)
CLASSES = ("Clustering", "Comparisons", "History", "Labelled", "Replicates", "Result")
# Their own checks say more: which names or values are possible.
OWN_CHECKS = {"embed", "loss_named", "solver_named"}
# Their arguments come from the package itself, or from files that a test does not have.
NOT_TRIED = {"History.append", "Result.from_arrays", "imagenet", "labelled_file"}
QUICK_FIT = {"loss": "ste", "penalty": 0, "epochs": 1}
QUICK_DIMENSIONS = {"penalty": 0.01, "n_refits": 0, "max_iterations": 5}
WRONG = (None, {}, {1, 2}, [], [None], "x", b"x", True, -1, 1.5, math.nan, math.inf, len, object(), int, iter([1]))


def public_functions():
    """All public functions, and public methods of the classes that users make or receive, by their name."""
    functions = {}
    for module in (ct, *(getattr(ct, name) for name in ct._SUBPACKAGES)):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                functions[thing.__name__] = thing
            elif inspect.isclass(thing) and thing.__name__ in CLASSES:
                for method, value in vars(thing).items():
                    plain = value.__func__ if isinstance(value, classmethod) else value
                    if inspect.isfunction(plain) and not method.startswith("_"):
                        functions[f"{thing.__name__}.{method}"] = plain
    return functions


def checked_parameters(function):
    """The parameters whose annotations are checked."""
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [one for one in parameters if one.annotation not in (one.empty, Any) and one.kind not in variable]


FUNCTIONS = {name: function for name, function in public_functions().items() if checked_parameters(function)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_checks_the_types_of_its_arguments(name):
    function = FUNCTIONS[name]
    assert name in OWN_CHECKS or name == "History.append" or "check" in inspect.getclosurevars(function).nonlocals


class World:
    """Small data, and arguments with which each public function works."""

    def __init__(self, folder):
        points = np.random.default_rng(0).normal(size=(8, 2))
        rows = ct.datasets.simulated(points, 120, noise="ste", seed=0).rows
        people = [f"person {number % 4}" for number in range(len(rows))]
        self.answers = ct.Comparisons.of(np.array(rows), people=people, answers=range(len(rows)))
        trials = ct.Trials(sides=np.random.default_rng(1).integers(2, size=len(rows)))
        self.placed = ct.Comparisons.of(np.array(rows), people=people, trials=trials)
        self.result = ct.embed(self.answers, loss="ste", penalty=0, seed=0, epochs=2)
        self.replicates = ct.replicate(self.answers, result=self.result, n_replicates=6, seed=0)
        quick = {**QUICK_FIT, "seed": 0}
        self.assessment = ct.assess_people(self.answers, n_folds=2, rounds=1, **quick)
        self.groups = ct.group_people(self.answers, **quick)
        self.people_maps = ct.embed_people(self.answers, spread=0.3, result=self.result)
        self.curve = ct.learning_curve(self.answers, n_folds=2, **quick)
        self.dims = ct.choose_dims(self.answers, most=2, n_folds=2, n_repeats=1, **quick)
        self.folder = folder
        self.clustering = ct.cluster(self.answers, 2)
        self.triads = [[1, 0, 2], [1, 2, 0], [2, 1, 3], [2, 3, 1], [1, 0, 3], [1, 0, 3], [2, 0, 3], [2, 3, 0]]
        self.scale = ct.scale(self.triads, levels=[1, 2, 4, 8], n_replicates=50)
        self.scores = ct.score_features(points, self.answers)
        self.dimensions = ct.sparse_dimensions(self.answers, 3, **QUICK_DIMENSIONS)
        ct.files.write_comparisons(self.answers, folder / "answers.csv")
        ct.files.write_map(self.result.embedding, None, folder / "map.csv")
        self.replicates.save(folder / "replicates.npz")
        self.result.save(folder / "result.npz")
        self.people_maps.save(folder / "people.npz")
        self.result.history.to_csv(folder / "history.csv")

    def object_of(self, name):
        """Something that has the method."""
        return {
            "Clustering": self.clustering,
            "Comparisons": self.answers,
            "History": ct.History(self.result.history),
            "Labelled": ct.datasets.synthetic_classes(2, 6, 4, seed=0),
            "PeopleMaps": self.people_maps,
            "Replicates": self.replicates,
            "Result": self.result,
        }[name]

    def by_name(self, parameter):
        """An argument that suits most functions with a parameter of this name."""
        embedding = self.result.embedding
        return {
            "answers": self.answers,
            "calibration": self.replicates,
            "choice": self.dims,
            "people_maps": self.people_maps,
            "group": np.arange(len(self.answers)) // 10,
            "one": self.answers,
            "other": self.answers,
            "replicates": self.replicates,
            "results": self.result,
            "sums": np.ones(3),
            "views": [embedding, embedding],
            "wrong": np.arange(len(self.answers)) % 3 == 0,
            "assessment": self.assessment,
            "comparisons": self.answers,
            "covariance": np.eye(2),
            "cross": np.eye(2),
            "curve": self.curve,
            "data": self.answers,
            "embedding": embedding,
            "error": 0.3,
            "far": 2.0,
            "features": embedding,
            "first": embedding,
            "flipped": 0.1,
            "fraction": 0.3,
            "gallery": embedding,
            "gallery_labels": [0, 1] * 4,
            "groups": self.groups,
            "histories": self.result.history,
            "history": self.result.history,
            "labels": [0, 1] * 4,
            "loss": "ste",
            "penalty": 0,
            "maps": [embedding, embedding],
            "means": [0.1, 0.2],
            "mean_error": [0.1, 0.2],
            "model": embedding,
            "measured_on": 10.0,
            "moments": np.stack([np.eye(2)] * 8),
            "n_answers": 10,
            "n_dims": 2,
            "n_rows": 5,
            "n_test": 2,
            "n_train": 2,
            "batch_size": 1,
            "constant": 0.5,
            "diameter": 1.0,
            "draws": 100,
            "epochs": 10,
            "epsilon": 1.0,
            "fall": 1.0,
            "least_step": 0.01,
            "minimum": 0.0,
            "slope": lambda x: 2 * x,
            "smoothness": 1.0,
            "step": 1e-5,
            "value": np.square,
            "names": list("abcdefgh"),
            "near": 1.0,
            "number": 3,
            "points": embedding,
            "probability": self.replicates.neighbour_probability(),
            "program": "loe",
            "quadruplets": [[0, 1, 2, 3], [1, 2, 0, 3]],
            "queries": embedding,
            "query_labels": [0, 1] * 4,
            "radii": {"95 %": 2.0},
            "reference": embedding,
            "result": self.result,
            "rng": np.random.default_rng(0),
            "rows": self.answers,
            "scales": self.scale,
            "scores": self.scores,
            "second": embedding,
            "selection": np.arange(3),
            "share": 0.3,
            "sizes": [1, 2],
            "dimensions": self.dimensions,
            "dims": [1, 2],
            "standard_error": [0.01, 0.01],
            "standard_errors": [0.01, 0.01],
            "tree": self.clustering.tree,
            "triplets": np.array(self.answers.rows),
            "weights": np.ones(len(self.answers)),
        }[parameter]

    def special(self, name):
        """Arguments that a function needs, or that make it quick."""
        quick = {"loss": "ste", "penalty": 0, "epochs": 1}
        return {
            "Clustering.to_csv": {"path": self.folder / "clusters.csv"},
            "Comparisons.from_columns": {"rows": self.answers.rows, "n_objects": 8},
            "Comparisons.in_memory": {"most": 10},
            "Comparisons.of": {"data": np.array(self.answers.rows)},
            "History.from_csv": {"path": self.folder / "history.csv"},
            "Replicates.load": {"path": self.folder / "replicates.npz"},
            "Replicates.save": {"path": self.folder / "other.npz"},
            "Result.load": {"path": self.folder / "result.npz"},
            "Result.save": {"path": self.folder / "other.npz"},
            "answer_effects": {"answers": self.placed, **quick},
            "assess_people": {"n_folds": 2, "rounds": 1, **quick},
            "choose_dims": {"most": 2, "n_folds": 2, "n_repeats": 1, **quick},
            "compare_losses": {"n_folds": 2, "n_repeats": 1, "epochs": 1},
            "compare_maps": {"n_permutations": 19, "by": "answers", **quick},
            "cross_validate": {"n_folds": 2, **quick},
            "PeopleMaps.load": {"path": self.folder / "people.npz"},
            "PeopleMaps.map_of": {"person": "person 0"},
            "PeopleMaps.save": {"path": self.folder / "other.npz"},
            "embed": quick,
            "embed_people": {"spread": 0.3, **quick},
            "embed_views": {"n_views": 1, "n_starts": 1, "most": 1},
            "group_people": quick,
            "held_out_error": quick,
            "learning_curve": {"n_folds": 2, **quick},
            "matrix_of": {"name": "x", "array": self.result.embedding},
            "place": {"answers": [(8, 1, 2), (8, 0, 3), (8, 4, 5)], "result": self.result},
            "read_answers": {"path": self.folder / "answers.csv"},
            "read_comparisons": {"path": self.folder / "answers.csv"},
            "read_map": {"path": self.folder / "map.csv"},
            "pl_constant": {"points": np.linspace(1, 2, 5)},
            "read_features": {"path": self.folder / "map.csv"},
            "replicate": {"n_replicates": 2, **quick},
            "scale": {"answers": self.triads, "levels": [1, 2, 4, 8], "n_replicates": 50},
            "smoothness": {"loss": ct.losses.STE()},
            "solver_named": {"solver": "polyak"},
            "synthetic": {"n_objects": 6, "n_dims": 2, "n_train": 5, "n_test": 5},
            "synthetic_classes": {"n_classes": 2, "n_each": 3, "n_features": 4},
            "ratio_number": {"weights": np.ones(3)},
            "ratio_variance": {"weights": np.ones(3)},
            "views_figure": {"names": None},
            "sparse_dimensions": QUICK_DIMENSIONS,
            "write_comparisons": {"path": self.folder / "other.csv"},
            "write_for": {"path": self.folder / "other.csv"},
            "write_map": {"path": self.folder / "other.csv", "names": None},
            "write_report": {"path": self.folder / "report.html"},
            "write_vice_folder": {"dimensions": np.ones((8, 3)), "folder": self.folder / "vice"},
        }.get(name, {})

    def arguments(self, name):
        """Arguments with which a function works."""
        arguments = dict(self.special(name))
        parameters = inspect.signature(FUNCTIONS[name]).parameters
        if "options" in parameters and "FitOptions" in str(parameters["options"].annotation):
            arguments = {**QUICK_FIT, **arguments}
        for parameter in parameters.values():
            needed = parameter.default is parameter.empty and parameter.name not in ("self", "cls")
            named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if needed and named and parameter.name not in arguments:
                arguments[parameter.name] = self.by_name(parameter.name)
        return arguments

    def bound(self, name):
        """The function, or the method of a class or an object."""
        kind, _, method = name.rpartition(".")
        return getattr(self.object_of(kind), method) if kind else FUNCTIONS[name]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return World(tmp_path_factory.mktemp("world"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NOT_TRIED))
def test_wrong_arguments_are_refused_by_an_error_of_ours(name, world, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)  # "x" is a path, too
    function, arguments = world.bound(name), world.arguments(name)
    function(**arguments)
    failures = []
    for parameter in checked_parameters(FUNCTIONS[name]):
        if parameter.name in FitOptions.__annotations__ and name not in ("embed", "held_out_error"):
            continue  # the same checks in every function that fits maps; a value that passes them costs a fit
        for value in WRONG:
            try:
                function(**arguments | {parameter.name: value})
            except (ValueError, TypeError) as error:
                is_ours = traceback.extract_tb(error.__traceback__)[-1].filename.startswith(SOURCES)
                if not (is_ours or parameter.name in str(error)):
                    failures.append((parameter.name, value, repr(error)))
            except OSError:  # a path of the right type that cannot be read
                assert value == "x"
            except Exception as error:
                failures.append((parameter.name, value, repr(error)))
    assert failures == []


# ---- the decorator ---------------------------------------------------------------------------------------------------


@checked
def example(number: int, share: float = 0.5, *, sizes: tuple[int, int] = (1, 2), path: "str | Path | None" = None):
    """Return all arguments.

    >>> example(1)
    (1, 0.5, (1, 2), None)
    """
    return number, share, sizes, path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"number": 1.0}, "number is 1.0; it must be a whole number"),
        ({"number": True}, "number is True; it must be a whole number"),
        ({"number": "1"}, "number is '1'; it must be a whole number"),
        ({"number": 1, "share": math.nan}, "share is nan; it must be a number"),
        ({"number": 1, "share": None}, "share is None; it must be a number"),
        ({"number": 1, "sizes": (1,)}, r"sizes is \(1,\); it must be 2 values, each of them a whole number"),
        ({"number": 1, "sizes": "ab"}, "sizes is 'ab'; it must be 2 values"),
        ({"number": 1, "path": 5}, "path is 5; it must be a string or a path or None"),
    ],
)
def test_an_error_names_the_parameter_its_value_and_the_rule(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        example(**arguments)


def test_numbers_of_numpy_lists_and_paths_are_accepted():
    assert example(np.uint8(3), np.float32(0.5)) == (3, 0.5, (1, 2), None)
    assert example(1, 2, sizes=[np.int64(3), 4], path=Path("x"))[2:] == ([3, 4], Path("x"))


def test_a_missing_or_unknown_argument_is_an_error_as_without_checks():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'number'"):
        example()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        example(1, other=2)


def test_a_checked_function_keeps_its_signature_its_docstring_its_doctests_and_its_pickle():
    assert list(inspect.signature(example).parameters) == ["number", "share", "sizes", "path"]
    assert pickle.loads(pickle.dumps(example)) is example
    examples = doctest.DocTestFinder().find(sys.modules[__name__])
    assert any(test.name.endswith("example") and test.examples for test in examples)
    assert pickle.loads(pickle.dumps(functools.partial(ct.triplet_error, embedding=1))).func is ct.triplet_error


# ---- values that used to get through ---------------------------------------------------------------------------------


def test_a_seed_that_is_not_whole_is_refused_where_replicates_would_be_unrepeatable(world):
    with pytest.raises(ValueError, match=r"seed is 3.0; it must be a whole number of at least 0"):
        ct.replicate(world.answers, result=world.result, n_replicates=2, seed=3.0)


def test_the_number_of_a_file_descriptor_is_not_a_path():
    with pytest.raises(ValueError, match="path is 5; it must be a string or a path"):
        ct.Result.load(5)


@pytest.mark.parametrize("flipped", [-1, 1.5])
def test_a_probability_of_flipping_lies_between_0_and_1(flipped):
    with pytest.raises(ValueError, match=rf"flipped is {flipped}; it must lie between 0 and 1"):
        ct.datasets.synthetic(6, 2, 5, 5, flipped=flipped)


def test_small_integers_of_numpy_are_windows_like_any_number(world):
    fits = [
        ct.embed(world.answers, loss="ste", penalty=0, seed=0, window=kind(3), patience=kind(2))
        for kind in (int, np.uint8)
    ]
    assert fits[0].embedding.tolist() == fits[1].embedding.tolist()
    assert type(fits[1].settings.window) is type(fits[1].settings.patience) is int


def masked(array, row):
    """The array with one row masked."""
    mask = np.zeros(np.shape(array), bool)
    mask[row] = True
    return np.ma.masked_array(array, mask)


ROWS = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])


@pytest.mark.parametrize(
    "use",
    [
        lambda: ct.Comparisons.of(masked(ROWS, 1)),
        lambda: ct.Comparisons.of(ROWS, masked([1, 1, -1], 1)),
        lambda: ct.Comparisons.of(ROWS, weights=masked([1.0, 1.0, 2.0], 1)),
        lambda: ct.OrdinalEmbedding(1).fit(masked(ROWS, 1)),
        lambda: ct.OrdinalEmbedding(1).fit(ROWS, sample_weight=masked([1.0, 1.0, 2.0], 1)),
    ],
)
def test_masked_cells_are_refused(use):
    with pytest.raises(ValueError, match="row 1: a cell is masked"):
        use()


@pytest.mark.parametrize("weight", [1e-320, 1e-200, 1e200])
def test_weights_whose_squares_overflow_are_refused(weight):
    with pytest.raises(ValueError, match=r"the largest weight is .*; divide all weights by it"):
        ct.Comparisons.of(ROWS, weights=[weight, weight, weight])


def test_the_number_of_dimensions_is_suggested_for_the_name_that_the_command_has():
    with pytest.raises(TypeError, match="'dims'; did you mean 'n_dims'"):
        ct.embed([[0, 1, 2]], dims=3)
