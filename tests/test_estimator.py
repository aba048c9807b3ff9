import inspect
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.fixes import parse_version

import closerthan as ct
from closerthan.losses import LOSSES
from closerthan.settings import Settings
from closerthan.solvers import SOLVERS

# ---- scikit-learn's own checks ---------------------------------------------------------------------------------------
#
# They draw random features and classes, which are not comparisons: each check that gets as far as a fit must fail, and
# is listed here with the reason and with the error that it must fail with. Below, the same checks run again on
# comparisons, where only a handful is left.


class Reason(NamedTuple):
    text: str
    error: str  # in the exception's message, or in that of the one behind it


COLUMNS = Reason("its rows have neither 3 nor 4 columns", "feature(s); a comparison has 3")
CLASSES = Reason("its labels are classes 0, 1, 2, ... and not +1 and -1", "y is ")

CANNOT_HOLD = {
    "check_fit_score_takes_y": CLASSES,
    "check_estimators_overwrite_params": COLUMNS,
    "check_dont_overwrite_parameters": CLASSES,
    "check_estimators_fit_returns_self": COLUMNS,
    "check_readonly_memmap_input": COLUMNS,
    "check_n_features_in_after_fitting": CLASSES,
    "check_estimators_dtypes": COLUMNS,
    "check_sample_weights_pandas_series": COLUMNS,
    "check_sample_weights_not_an_array": COLUMNS,
    "check_sample_weights_list": CLASSES,
    "check_sample_weights_shape": COLUMNS,
    "check_sample_weights_not_overwritten": COLUMNS,
    "check_sample_weight_equivalence_on_dense_data": COLUMNS,
    "check_dtype_object": COLUMNS,
    "check_pipeline_consistency": CLASSES,
    "check_estimators_nan_inf": CLASSES,
    "check_estimators_pickle": CLASSES,
    "check_array_api_input": COLUMNS,
    "check_f_contiguous_array_estimator": CLASSES,
    "check_methods_sample_order_invariance": CLASSES,
    "check_methods_subset_invariance": CLASSES,
    "check_dict_unchanged": CLASSES,
    "check_fit_idempotent": COLUMNS,
    "check_fit_check_is_fitted": COLUMNS,
    "check_n_features_in": COLUMNS,
    "check_fit2d_predict1d": CLASSES,
}

WRITTEN_OUT = Reason("it writes its X and y out, and they are not comparisons", "")

CANNOT_HOLD_ON_COMPARISONS = {
    "check_sample_weights_pandas_series": WRITTEN_OUT._replace(error="y is 2"),
    "check_sample_weights_not_an_array": WRITTEN_OUT._replace(error="y is 2"),
    "check_sample_weights_shape": WRITTEN_OUT._replace(error=COLUMNS.error),
    "check_sample_weights_not_overwritten": WRITTEN_OUT._replace(error=COLUMNS.error),
    "check_sample_weight_equivalence_on_dense_data": WRITTEN_OUT._replace(error=COLUMNS.error),
}
CANNOT_HOLD_ON_QUADRUPLETS = {
    "check_estimators_nan_inf": WRITTEN_OUT._replace(error="X has 3 features, but OrdinalEmbedding is expecting 4"),
}

# Listed checks that older versions of scikit-learn do not run, and one that fails there for a reason of its own.
NEW_CHECKS = {"check_array_api_input"}
OLD_CHECKS = (
    {
        "check_positive_only_tag_during_fit": Reason(
            "it takes a fraction from whole numbers in place", "Cannot cast ufunc"
        )
    }
    if parse_version(sklearn.__version__) < parse_version("1.7.1")
    else {}
)


def failures_are_as_listed(estimator, listed):
    listed = {**listed, **OLD_CHECKS}
    with warnings.catch_warnings():
        # Some checks fit a handful of rows, and say that their own imports are deprecated.
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(
            estimator,
            expected_failed_checks={name: reason.text for name, reason in listed.items()},
            on_fail=None,
            on_skip=None,
        )
    new = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not new, f"fails, but is not listed: {new}"
    for result in results:
        name, exception = result["check_name"], result["exception"]
        if name in listed and result["status"] != "skipped":
            assert result["status"] == "xfail", f"{name} is listed, but passes: take it off the list"
            behind = exception.__cause__ or exception.__context__
            assert listed[name].error in f"{exception} {behind}", f"{name} fails for another reason: {exception!r}"
    never_ran = set(listed) - {result["check_name"] for result in results}
    assert never_ran <= NEW_CHECKS, f"is listed, but is no check: {never_ran}"


@pytest.mark.parametrize(
    "estimator",
    [
        ct.OrdinalEmbedding(),
        ct.OrdinalEmbedding(n_components=1, loss="tste", penalty=0, solver="lbfgs", validation=0.2, random_state=0),
        ct.OrdinalEmbedding(
            loss=ct.losses.GNMDS(margin=0.5), penalty=0, solver=ct.solvers.SVRG(batch_size=2), n_init=2, n_jobs=1
        ),
    ],
    ids=str,
)
def test_scikit_learns_checks_fail_only_where_features_cannot_be_comparisons(estimator):
    failures_are_as_listed(estimator, CANNOT_HOLD)


N_OBJECTS = 6


def on_comparisons(monkeypatch, n_columns):
    """Put comparisons and answers where scikit-learn's checks adapt their random data to the kind of estimator."""

    def comparisons(_, X, **__):
        rng = np.random.default_rng(len(X))
        return np.array([rng.permutation(N_OBJECTS)[:n_columns] for _ in X], dtype=np.int32)

    def answers(_, y):
        return np.where(y == y[0], 1, -1)

    def blobs(*arguments, **options):
        X, y = make_blobs(*arguments, **options)
        return X, answers(None, y)

    make_blobs = estimator_checks.make_blobs
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", comparisons)
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", answers)
    monkeypatch.setattr(estimator_checks, "make_blobs", blobs)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_scikit_learns_checks_hold_on_triplets(solver, monkeypatch):
    on_comparisons(monkeypatch, 3)
    failures_are_as_listed(
        ct.OrdinalEmbedding(loss="ste", penalty=0, solver=solver, n_objects=N_OBJECTS), CANNOT_HOLD_ON_COMPARISONS
    )


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_scikit_learns_checks_hold_on_quadruplets(loss, monkeypatch):
    on_comparisons(monkeypatch, 4)
    listed = {**CANNOT_HOLD_ON_COMPARISONS, **CANNOT_HOLD_ON_QUADRUPLETS}
    failures_are_as_listed(ct.OrdinalEmbedding(loss=loss, penalty=0, n_objects=N_OBJECTS), listed)


# ---- what the checks cannot see --------------------------------------------------------------------------------------


def answers(n_columns=3, n_rows=400, n_objects=12, seed=0):
    """Rows in random order, and labels, of points in the plane."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_objects, 2))
    X = np.array([rng.permutation(n_objects)[:n_columns] for _ in range(n_rows)])
    return X, np.where(ct.metrics.margins(X, points) > 0, 1, -1)


both_kinds = pytest.mark.parametrize("n_columns", [3, 4], ids=["triplets", "quadruplets"])


def test_parameters_and_defaults_are_those_of_embed():
    ours = dict(inspect.signature(ct.OrdinalEmbedding).parameters)
    theirs = dict(inspect.signature(ct.embed).parameters)
    # What decides a fit are the estimator's own parameters; a number of dimensions and a random state are sklearn's.
    del (
        theirs["answers"],
        theirs["settings"],
        theirs["n_dims"],
        theirs["seed"],
        ours["n_components"],
        ours["random_state"],
    )
    # A grid search fits clones side by side: they would write to one and the same checkpoint.
    del theirs["checkpoint"], theirs["resume"]
    renamed = {**Settings.names_in_estimator(), "start": "init", "n_threads": "n_jobs", "progress": "verbose"}
    assert {renamed[name] for name in ("n_dims", "n_starts", "epochs", "tolerance", "seed")} == {
        "n_components", "n_init", "max_iter", "tol", "random_state"
    }  # fmt: skip
    for name, parameter in theirs.items():
        assert ours.pop(renamed.get(name, name)).default == parameter.default, name
    options = {"n_objects": None, "names": None, "ties": "error", "self_pairs": "error"}
    assert {name: parameter.default for name, parameter in ours.items()} == options
    assert options.keys() <= inspect.signature(ct.Comparisons.from_triplets).parameters.keys()


@both_kinds
def test_fit_finds_the_map_of_embed(n_columns):
    X, y = answers(n_columns)
    parse = ct.Comparisons.from_triplets if n_columns == 3 else ct.Comparisons.from_quadruplets
    model = ct.OrdinalEmbedding(loss="tste", penalty=0, n_components=3, random_state=7).fit(X, y)
    result = ct.embed(parse(X, y), 3, loss="tste", penalty=0, seed=7)
    np.testing.assert_array_equal(model.embedding_, result.embedding)
    assert model.loss_ == ct.losses.TSTE(alpha=2.0)
    assert (model.n_objects_, model.n_features_in_) == (12, n_columns)
    assert model.n_iter_ == len(model.history_) - 1 == model.result_.history[-1].epoch


@both_kinds
@pytest.mark.parametrize("solver", SOLVERS)
def test_predict_score_and_decision_function_agree(n_columns, solver):
    X, y = answers(n_columns)
    model = ct.OrdinalEmbedding(loss="ste", penalty=0, solver=solver, random_state=0).fit(X[:300], y[:300])
    X, y = X[300:], y[300:]
    predicted = model.predict(X)
    assert set(predicted) == {-1, 1}
    np.testing.assert_array_equal(predicted, np.sign(model.decision_function(X)))
    np.testing.assert_array_equal(model.decision_function(X), ct.metrics.margins(X, model.embedding_))
    assert model.score(X, y) == pytest.approx(accuracy_score(y, predicted))
    assert model.score(X, y) > 0.6
    assert model.score(X, y > 0) == model.score(X, y)
    assert model.score(X) == pytest.approx(np.mean(predicted == 1))
    weights = np.arange(len(X))
    assert model.score(X, y, weights) == pytest.approx(accuracy_score(y, predicted, sample_weight=weights))


def test_labels_may_be_booleans_and_rows_may_be_turned_round():
    X, y = answers()
    model = ct.OrdinalEmbedding(random_state=0)
    expected = model.fit(X, y).embedding_
    np.testing.assert_array_equal(model.fit(X, y > 0).embedding_, expected)
    as_written = np.where((y > 0)[:, None], X, X[:, [0, 2, 1]])
    np.testing.assert_array_equal(model.fit(as_written).embedding_, expected)


@pytest.mark.parametrize("kind", [list, pandas.DataFrame, np.asfortranarray, lambda X: X.astype(float)])
def test_lists_frames_and_whole_floats_give_the_same_map(kind):
    X, y = answers()
    expected = ct.OrdinalEmbedding(random_state=0).fit(X, y).embedding_
    np.testing.assert_array_equal(ct.OrdinalEmbedding(random_state=0).fit(kind(X), y).embedding_, expected)


def test_comparisons_are_accepted_unchanged():
    X, y = answers()
    comparisons = ct.Comparisons.from_triplets(X, y, weights=np.arange(len(X)))
    model = ct.OrdinalEmbedding(random_state=0, n_objects=12).fit(comparisons)
    expected = ct.OrdinalEmbedding(random_state=0).fit(X, y, sample_weight=np.arange(len(X)))
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    assert model.score(comparisons) == expected.score(X, y, sample_weight=np.arange(len(X)))
    with pytest.raises(ValueError, match="belong to the Comparisons"):
        model.fit(comparisons, y)
    with pytest.raises(ValueError, match="n_objects is 13, but the Comparisons have 12"):
        model.set_params(n_objects=13).fit(comparisons)


def test_a_map_of_triplets_answers_quadruplets_that_are_comparisons():
    X, y = answers()
    model = ct.OrdinalEmbedding(random_state=0).fit(X, y)
    quadruplets, labels = answers(4)
    assert model.score(ct.Comparisons.from_quadruplets(quadruplets, labels)) > 0.8
    with pytest.raises(ValueError, match="4 features, but OrdinalEmbedding is expecting 3"):
        model.score(quadruplets, labels)


def test_names_keep_their_objects():
    X, y = answers()
    names = np.array([f"object {letter}" for letter in "lkjihgfedcba"])
    model = ct.OrdinalEmbedding(random_state=0).fit(pandas.DataFrame(names[X], columns=["i", "near", "far"]), y)
    assert model.names_ == tuple(sorted(names))
    some = pandas.DataFrame(names[X[:3]], columns=["i", "near", "far"])
    np.testing.assert_array_equal(model.decision_function(some), ct.metrics.margins(11 - X[:3], model.embedding_))
    some.iloc[1, 2] = "a stranger"
    with pytest.raises(ValueError, match="row 1: 'a stranger' is not among the names; add it to names"):
        model.predict(some)
    numbers = ct.OrdinalEmbedding(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X holds names like 'object a', but fit saw numbers"):
        numbers.predict(names[X])
    with pytest.raises(ValueError, match="different names"):
        model.predict(ct.Comparisons.from_triplets(X, names=names))
    with pytest.raises(ValueError, match="have names like 'object l', but fit saw numbers"):
        numbers.score(ct.Comparisons.from_triplets(X, names=names))


def test_there_is_no_transform_as_rows_of_the_map_are_objects():
    assert not hasattr(ct.OrdinalEmbedding, "transform")


def test_fit_transform_returns_one_row_per_object():
    model = ct.OrdinalEmbedding(n_components=2, loss="ste", penalty=0, random_state=0)
    x = model.fit_transform([["a", "b", "c"], ["c", "b", "a"], ["d", "a", "c"]])
    assert x.shape == (4, 2)
    assert (x == model.embedding_).all()


def test_fit_transform_returns_a_frame_of_objects_after_set_output():
    model = clone(ct.OrdinalEmbedding(loss="ste", penalty=0, random_state=0).set_output(transform="pandas"))
    frame = model.fit_transform([["a", "b", "c"], ["c", "b", "a"], ["d", "a", "c"]])
    assert frame.index.tolist() == ["a", "b", "c", "d"]
    assert frame.columns.tolist() == ["ordinalembedding0", "ordinalembedding1"]
    with pytest.raises(ValueError, match="transform is 'csv'; it can be"):
        model.set_output(transform="csv")


def test_probabilities_are_those_of_the_result(problem):
    model = ct.OrdinalEmbedding(loss="ste", penalty=0, random_state=0).fit(problem.train)
    probability = model.predict_proba(problem.test)
    assert probability[:, 1].tolist() == model.result_.probability(problem.test).tolist()
    assert probability.sum(axis=1) == pytest.approx(np.ones(len(problem.test)))
    assert (model.classes_[probability.argmax(axis=1)] == model.predict(problem.test)).all()
    assert not hasattr(ct.OrdinalEmbedding(loss="soe", penalty=0, random_state=0).fit(problem.train), "predict_proba")


def test_it_ends_a_pipeline_and_takes_weights():
    X, y = answers()
    weights = np.linspace(0, 1, len(X))
    alone = make_pipeline(ct.OrdinalEmbedding(random_state=0)).fit(X, y, ordinalembedding__sample_weight=weights)
    expected = ct.OrdinalEmbedding(random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(alone[0].embedding_, expected.embedding_)
    assert alone.score(X, y) == alone[0].score(X, y) > 0.9


def test_a_notebook_shows_the_parameters_and_then_the_map():
    X, y = answers()
    model = ct.OrdinalEmbedding(loss="soe", penalty=0, random_state=0)
    assert "<svg" not in model._repr_html_().partition("OrdinalEmbedding")[2].partition("aria-label")[0]
    model.fit(X, y)
    bundle = model._repr_mimebundle_()
    assert model.result_._repr_html_() in bundle["text/html"]
    assert bundle["text/html"].count("<circle") == 12
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_grid_search_chooses_loss_and_dimensions():
    X, y = answers(n_rows=300)
    grid = {"loss": [*LOSSES, ct.losses.GNMDS(margin=2.0)], "n_components": [1, 2]}
    search = GridSearchCV(ct.OrdinalEmbedding(n_objects=12, random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["n_components"] == 2
    assert search.best_score_ > 0.8
    assert search.best_estimator_.embedding_.shape == (12, 2)
    named = GridSearchCV(search.estimator, {"loss": ["ste"]}, cv=3, scoring="accuracy").fit(X, y)
    ste_in_the_plane = [p["loss"] == "ste" and p["n_components"] == 2 for p in search.cv_results_["params"]]
    assert named.best_score_ == pytest.approx(search.cv_results_["mean_test_score"][ste_in_the_plane][0])


def test_a_fold_without_the_last_object_needs_n_objects():
    X, y = answers()
    last = (X == 11).any(axis=1)
    order = np.argsort(last, kind="stable")
    X, y, without = X[order], y[order], int((~last).sum())
    model = ct.OrdinalEmbedding(random_state=0)
    lacking = model.fit(X[:without], y[:without])
    with pytest.raises(ValueError, match=r"row 0: object 11 is not on the map, .* 0 to 10; pass n_objects"):
        lacking.predict(X[without:])
    with pytest.warns(UserWarning, match="1 of 12 objects occur in no comparison"):
        told = clone(model).set_params(n_objects=12).fit(X[:without], y[:without])
    assert set(told.predict(X[without:])) <= {-1, 1}
    assert told.embedding_.shape == (12, 2)
    scores = cross_val_score(model.set_params(n_objects=12), *answers(), cv=KFold(3))
    assert min(scores) > 0.8


@both_kinds
@pytest.mark.parametrize("solver", ["batch", "lbfgs", "gram"])
def test_weights_equal_repeated_rows_where_all_rows_count_in_each_step(n_columns, solver):
    X, y = answers(n_columns, n_rows=60, n_objects=8)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    model = ct.OrdinalEmbedding(loss="ste", penalty=0, solver=solver, max_iter=10, tol=None, random_state=0)
    weighted = model.fit(X, y, sample_weight=times).embedding_
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).embedding_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-9)
    assert np.abs(model.fit(X, y).embedding_ - weighted).max() > 1e-3


@pytest.mark.parametrize("weights", [pandas.Series(np.ones(400)), [1.0] * 400, np.ones(400, dtype=int)], ids=type)
def test_weights_of_one_change_nothing(weights):
    X, y = answers()
    model = ct.OrdinalEmbedding(random_state=0)
    weighted = model.fit(X, y, sample_weight=weights).embedding_
    np.testing.assert_array_equal(weighted, model.fit(X, y).embedding_)


def test_random_state_decides_the_map():
    X, y = answers()

    def embedding(random_state):
        return ct.OrdinalEmbedding(random_state=random_state, n_init=2).fit(X, y).embedding_

    for same in (3, np.int64(3), np.random.RandomState, np.random.default_rng):
        first, second = (embedding(same(3) if callable(same) else same) for _ in range(2))
        np.testing.assert_array_equal(first, second)
    assert (embedding(3) != embedding(4)).any()
    assert (embedding(None) != embedding(None)).any()
    advancing = np.random.RandomState(0)
    assert (embedding(advancing) != embedding(advancing)).any()


class SquaredHinge(ct.Loss):
    scale: float = 1.0

    def value(self, near, far):
        return max(0.0, (near - far) / self.scale + 1.0) ** 2

    def slopes(self, near, far):
        slope = 2.0 * max(0.0, (near - far) / self.scale + 1.0) / self.scale
        return slope, -slope


@pytest.mark.slow
def test_an_own_loss_is_a_parameter_like_any_other():
    X, y = answers()
    model = ct.OrdinalEmbedding(loss=SquaredHinge(scale=2.0), penalty=0, random_state=0)
    assert clone(model).loss == SquaredHinge(scale=2.0)
    assert clone(model).fit(X, y).score(X, y) > 0.9
    assert model.fit(X, y).loss_ == SquaredHinge(scale=2.0)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [*LOSSES, SquaredHinge()], ids=str)
def test_a_map_that_ran_away_is_not_kept(loss):
    X, y = answers()
    model = ct.OrdinalEmbedding(
        loss=loss, penalty=0, solver=ct.solvers.SVRG(step=ct.solvers.Constant(1e200)), random_state=0
    ).fit(X, y)
    assert model.result_.stopped_by == "diverged"
    assert np.abs(model.embedding_).max() < 1


def test_the_function_embed_is_not_hidden_by_its_module():
    import closerthan.fit.embedding

    assert closerthan.embed is ct.embed
    assert inspect.isfunction(ct.embed)


def test_a_fitted_model_survives_pickling_and_a_clone_forgets():
    X, y = answers()
    model = ct.OrdinalEmbedding(
        loss=ct.losses.TSTE(alpha=3.0), penalty=0, solver=ct.solvers.LBFGS(), random_state=0
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.history_.to_csv() == model.history_.to_csv()
    assert again.get_params() == model.get_params() == clone(model).get_params()
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_fits_in_several_python_threads_are_those_of_one():
    X, y = answers()

    def embedding(seed):
        return ct.OrdinalEmbedding(random_state=seed, n_init=2).fit(X, y).embedding_

    alone = [embedding(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(embedding, range(6)))
    np.testing.assert_array_equal(together, alone)


def test_all_of_embeds_options_reach_it():
    X, y = answers()
    seen = []
    model = ct.OrdinalEmbedding(
        loss="ste",
        penalty=0,
        init=np.eye(12, 2),
        max_iter=4,
        tol=None,
        validation=0.25,
        callback=lambda *record: seen.append(record),
    ).fit(X, y)
    np.testing.assert_array_equal(seen[0][1], np.eye(12, 2))
    assert (model.n_iter_, len(seen), model.result_.stopped_by) == (4, 5, "epochs")
    assert not np.isnan(model.history_.validation_error).any()
    assert ct.OrdinalEmbedding(time_limit=1e-9).fit(X, y).result_.stopped_by == "time_limit"
    assert len(ct.OrdinalEmbedding(n_init=3, n_jobs=1).fit(X, y).result_.starts) == 3


def test_ties_and_self_pairs_are_dropped_when_asked_and_counted():
    X, y = answers()
    expected = ct.OrdinalEmbedding(random_state=0).fit(X, y)
    more = np.vstack([[[0, 0, 1], [0, 1, 2]], X]), np.hstack([[1, 0], y])
    model = ct.OrdinalEmbedding(random_state=0, ties="drop", self_pairs="drop").fit(*more)
    assert model.dropped_ == {"ties": 1, "self_pairs": 1}
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    assert model.score(*more) == expected.score(X, y)


@pytest.mark.parametrize(
    ("options", "cell", "label", "message"),
    [
        ({}, -1, 1, r"Negative values in data: row 2: object -1; objects are numbered from 0"),
        ({}, 1.5, 1, r"row 2: 1.5 is not a whole number; objects are numbered 0, 1, 2"),
        ({}, np.nan, 1, r"row 2: NaN is not a whole number"),
        ({}, 3, 1, r"row 2: object 3 is compared with itself; drop the row or pass self_pairs=\"drop\""),
        ({}, 2, 0, r"row 2: y is 0, a tie; remove the row or pass ties=\"drop\""),
        ({}, 2, 7, r"row 2: y is 7; labels are \+1"),
        ({}, "bee", 1, r"row 0: 0 is not a name, but other cells are"),
        ({"n_objects": 5}, 9, 1, r"row 2: object 9 is too large for 5 objects"),
        ({"n_components": 0}, 2, 1, r"n_components is 0; it must be a whole number of at least 1"),
        ({"n_components": 1.5}, 2, 1, r"n_components is 1.5; it must be a whole number"),
        ({"loss": "sty"}, 2, 1, r"loss is 'sty'; choose from: gnmds, ckl, ste, tste, soe"),
        ({"solver": "adam"}, 2, 1, r"solver is 'adam'; choose from: polyak"),
        ({"init": [[0.0, 1.0]]}, 2, 1, r"init has shape \(1, 2\); it must have shape \(5, 2\)"),
        ({"ties": "keep"}, 2, 1, r"ties is 'keep'; it must be \"error\" or \"drop\""),
    ],
)
def test_bad_input_is_an_error_that_names_row_value_and_way_out(options, cell, label, message):
    X, y = [[0, 1, 2], [1, 2, 4], [3, cell, 1]], [1, 1, label]
    with pytest.raises(ValueError, match=message):
        ct.OrdinalEmbedding(**options).fit(X, y)


def test_a_row_that_is_too_short_is_named():
    with pytest.raises(ValueError, match=r"row 1: \[1, 2\] is not as long as row 0; comparisons have 3 or 4 columns"):
        ct.OrdinalEmbedding().fit([[0, 1, 2], [1, 2], [2, 0, 1]])


def test_weights_that_cannot_be_are_an_error():
    X, y = answers()
    for weights, message in [
        (np.zeros(400), "all weights are zero"),
        (np.r_[1.0, -1.0, np.ones(398)], "row 1: the weight is -1"),
        (np.ones(399), r"weights have shape \(399,\), but there are 400"),
    ]:
        with pytest.raises(ValueError, match=message):
            ct.OrdinalEmbedding().fit(X, y, sample_weight=weights)


def test_a_second_fit_forgets_the_first():
    X, y = answers()
    model = ct.OrdinalEmbedding(random_state=0).fit(pandas.DataFrame(X, columns=["i", "near", "far"]), y)
    model.fit(*answers(4, n_objects=9))
    assert (model.n_features_in_, model.n_objects_) == (4, 9)
    assert not hasattr(model, "feature_names_in_")
    model.fit(pandas.DataFrame(X, columns=["i", "near", "far"]), y)
    model.fit(ct.Comparisons.from_triplets(X, y))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("penalty", [0.1, "auto"])
def test_a_penalty_is_that_of_embed(penalty):
    X = ct.datasets.synthetic(12, 2, 300, 10, seed=0).train.rows
    model = ct.OrdinalEmbedding(loss="tste-2", penalty=penalty, random_state=3).fit(X)
    expected = ct.embed(X, loss="tste-2", penalty=penalty, seed=3)
    assert np.array_equal(model.embedding_, expected.embedding)
    assert model.result_.penalty == expected.penalty > 0
    assert (model.get_params()["penalty"], ct.OrdinalEmbedding().penalty) == (penalty, None)
