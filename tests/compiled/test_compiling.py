"""User-defined losses, and the cache of compiled code, which is reused and never stale."""

import importlib
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import reference
from conftest import random_comparisons

import closerthan as ct
from closerthan.objective.cpu.objective import CPUObjective


class Exponential(ct.Loss):
    scale: float = 1.0

    def value(self, near, far):
        return math.exp((near - far) / self.scale)

    def slopes(self, near, far):
        slope = math.exp((near - far) / self.scale) / self.scale
        return slope, -slope


@pytest.mark.slow
def test_a_user_loss_runs_compiled_with_its_parameters(kind, rng):
    answers = random_comparisons(kind, rng)
    x = rng.standard_normal((12, 2))
    for loss in (Exponential(), Exponential(scale=2.0), Exponential(scale=3)):
        point = CPUObjective(answers, loss).at(x)
        assert point.value == pytest.approx(reference.value(loss, answers.rows, x))
        np.testing.assert_allclose(point.gradient, reference.gradient(loss, answers.rows, x), rtol=1e-9)


def grown(number):
    return math.exp(number)


def grown_by(number, scale):
    return grown(number / scale)


class ByHelpers(ct.Loss):
    scale: float = 1.0

    def value(self, near, far):
        return grown_by(near - far, self.scale)

    def slopes(self, near, far):
        slope = grown_by(near - far, self.scale) / self.scale
        return slope, -slope


@pytest.mark.slow
def test_a_user_loss_may_call_plain_functions(rng, monkeypatch):
    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 2))
    values = [CPUObjective(answers, kind(scale=2.0)).at(x).value for kind in (ByHelpers, Exponential)]
    assert values[0] == values[1]
    monkeypatch.setitem(globals(), "grown", lambda number: 2.0 * math.exp(number))
    assert CPUObjective(answers, ByHelpers(scale=2.0)).at(x).value == pytest.approx(2.0 * values[1])


def scale(number):  # named like a parameter, and mutually recursive: only functions that a loss calls matter
    return other(number)


def other(number):
    return scale(number)


def with_import(number):
    import math

    return math.exp(number)


def test_only_functions_that_a_loss_calls_are_compiled_and_an_error_says_if_that_fails(rng):
    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 2))
    assert np.isfinite(CPUObjective(answers, Exponential(scale=2.0)).at(x).value)

    class Mutual(ct.Loss):
        def value(self, near, far):
            return scale(near)

        def slopes(self, near, far):
            return 1.0, 0.0

    class Importing(Mutual):
        def value(self, near, far):
            return with_import(near)

    for loss in (Mutual(), Importing()):
        with pytest.raises(TypeError, match="cannot be compiled"):
            CPUObjective(answers, loss)


@pytest.mark.slow
def test_a_user_loss_works_with_every_solver(problem):
    for solver in ct.solvers.SOLVERS:
        result = ct.embed(problem.train, loss=Exponential(scale=2.0), penalty=0, solver=solver, seed=0, epochs=3)
        assert result.best_record.objective < result.history.objective[0]


def test_a_loss_without_slopes_is_refused():
    class Half(ct.Loss):
        def value(self, near, far):
            return near

    with pytest.raises(TypeError, match="loss Half needs a method slopes"):
        Half()


def test_a_loss_that_cannot_be_compiled_is_reported_in_one_sentence():
    class Odd(ct.Loss):
        scale = 2.0  # not annotated, so not a parameter

        def value(self, near, far):
            return near * self.scale

        def slopes(self, near, far):
            return self.scale, 0.0

    with pytest.raises(TypeError, match=r"the loss Odd cannot be compiled: .* annotated parameters"):
        ct.embed([[0, 1, 2]], loss=Odd(), penalty=0)


def _unknown(number):
    return json.loads(number)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda self, near, far: math.fsum((near, -far)), r"Unknown attribute 'fsum' of type math \("),
        (lambda self, near, far: _unknown(near), r"Unknown attribute 'loads' of type json \(.*test_compiling"),
        (lambda self, near, far: nowhere, r"'nowhere'"),  # noqa: F821 - that is the point
        (lambda self, near, far: "a", r"str"),
        (lambda self, near, far: self.scale, r"scale"),
    ],
    ids=["function", "helper", "name", "text", "parameter"],
)
def test_the_error_names_what_cannot_be_compiled(value, message):
    loss = type("Odd", (ct.Loss,), {"value": value, "slopes": lambda self, near, far: (1.0, -1.0)})
    with pytest.raises(TypeError, match=rf"the loss Odd cannot be compiled: .* numba says: .*{message}") as raised:
        ct.embed([[0, 1, 2]], loss=loss(), penalty=0)
    assert "During" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ct.solvers.SOLVERS)
def test_slopes_that_cannot_be_compiled_are_reported_with_every_solver(solver):
    """This holds even if all kernels of the built-in losses are compiled already."""
    ct.embed([[0, 1, 2]], solver=solver, epochs=0)
    methods = {"value": lambda self, near, far: near, "slopes": lambda self, near, far: (_unknown(near), 0.0)}
    loss = type("Odd", (ct.Loss,), methods)
    with pytest.raises(TypeError, match=r"the loss Odd cannot be compiled: .* numba says: .*'loads' of type json"):
        ct.embed([[0, 1, 2]], loss=loss(), penalty=0, solver=solver, callback=lambda *_: pytest.fail("too late"))


def test_the_location_of_an_error_is_reported_for_user_folders_of_any_name(tmp_path, monkeypatch):
    """numba reports paths relative to the working directory."""
    folder = tmp_path / "closerthan-study"
    folder.mkdir()
    (folder / "own_loss.py").write_text(
        "import math\nimport closerthan as ct\nclass Stray(ct.Loss):\n"
        "    def value(self, near, far): return math.fsum((near, -far))\n"
        "    def slopes(self, near, far): return 1.0, -1.0\n"
    )
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(TypeError, match=r"own_loss.py\", line 4"):
        ct.embed([[0, 1, 2]], loss=importlib.import_module("own_loss").Stray())


def test_a_parameter_that_is_not_a_number_is_reported():
    class Named(ct.Loss):
        kind: str = "steep"

        def value(self, near, far):
            return near

        def slopes(self, near, far):
            return 1.0, 0.0

    with pytest.raises(TypeError, match="Named: kind is 'steep'; a loss's parameters must be numbers"):
        ct.embed([[0, 1, 2]], loss=Named(), penalty=0)


@pytest.mark.slow
def test_negative_losses_and_losses_undefined_at_zero_distance_can_be_fitted(problem):
    class Shifted(ct.Loss):
        def value(self, near, far):
            return math.log1p(math.exp(near - far)) - 10.0

        def slopes(self, near, far):
            slope = 1 / (1 + math.exp(far - near))
            return slope, -slope

    class Ratio(ct.Loss):
        def value(self, near, far):
            return near / (near + far)

        def slopes(self, near, far):
            return far / (near + far) ** 2, -near / (near + far) ** 2

    for loss in (Shifted(), Ratio()):
        result = ct.embed(problem.train, loss=loss, penalty=0, seed=0, epochs=20)
        assert result.stopped_by != "diverged"
        assert result.best_record.train_error < 0.3


FACTOR_A, FACTOR_B = 1.0, 11.0


class Scaled(ct.Loss):
    def value(self, near, far):
        return FACTOR_A * near + FACTOR_B * far + SETTINGS.FACTOR * near

    def slopes(self, near, far):
        return FACTOR_A + SETTINGS.FACTOR, FACTOR_B


SETTINGS = types.ModuleType("settings_of_a_study")
SETTINGS.FACTOR = 1.0


@pytest.mark.slow
def test_changed_globals_and_module_constants_are_noticed(monkeypatch, rng):
    answers = random_comparisons("triplets", rng)
    x = rng.standard_normal((12, 2))

    def agrees():
        return CPUObjective(answers, Scaled()).at(x).value == pytest.approx(reference.value(Scaled(), answers.rows, x))

    assert agrees()
    monkeypatch.setitem(globals(), "FACTOR_A", 1.01)
    monkeypatch.setitem(globals(), "FACTOR_B", 1.0)
    assert agrees()
    monkeypatch.setattr(SETTINGS, "FACTOR", 7.0)
    assert agrees()


@pytest.mark.slow
def test_user_losses_can_be_sent_to_other_processes_as_in_grid_searches(problem):
    class Mine(ct.Loss):
        scale: float = 1.0

        def value(self, near, far):
            return max(near - far + self.scale, 0.0)

        def slopes(self, near, far):
            slope = 1.0 if near - far + self.scale > 0.0 else 0.0
            return slope, -slope

    cloudpickle = pytest.importorskip("cloudpickle")
    import pickle

    again = pickle.loads(cloudpickle.dumps(Mine(scale=2.0)))
    maps = [
        ct.embed(problem.train, loss=loss, penalty=0, seed=0, epochs=2).embedding for loss in (Mine(scale=2.0), again)
    ]
    assert np.array_equal(*maps)


@pytest.mark.slow
def test_a_damaged_cache_is_ignored(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = run(**place)[0]
    for damage in (b"", b"half of"):
        for file in tmp_path.rglob("*.nb*"):
            file.write_bytes(damage)
        assert run(**place)[0] == first


@pytest.mark.slow
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("a", "b", "unused"), ("a", "b", "other"), ("p1", "a", "b"),
                                   ("count", "a", "b"), ("_fields", "a", "b")])  # fmt: skip
def test_parameters_may_have_any_names(names, rng):
    """Including names of the tuple that represents a loss in kernels, and of classes that differ in nothing else."""

    def value(self, near, far):
        return self.b * max(0.0, self.a + near - far)

    def slopes(self, near, far):
        slope = self.b if self.a + near - far > 0 else 0.0
        return slope, -slope

    annotated = {"__annotations__": dict.fromkeys(names, float), "value": value, "slopes": slopes}
    loss = type("Hinge", (ct.Loss,), annotated)(**{name: {"a": 2, "b": np.float32(3)}.get(name, 7.0) for name in names})
    answers, x = random_comparisons("triplets", rng), rng.standard_normal((12, 3))
    assert CPUObjective(answers, loss).at(x).value == pytest.approx(reference.value(loss, answers.rows, x))


@pytest.mark.slow
def test_two_losses_with_the_same_name_are_distinguished(rng):
    def make(factor):
        class Linear(ct.Loss):
            def value(self, near, far):
                return factor * (near - far)

            def slopes(self, near, far):
                return factor, -factor

        return Linear()

    answers = random_comparisons("triplets", rng)
    x = rng.standard_normal((12, 2))
    one, two = (CPUObjective(answers, make(factor)).at(x).value for factor in (1.0, 2.0))
    assert two == pytest.approx(2 * one)


PROGRAM = """
import math
import closerthan as ct
from closerthan.compiled.kernels import sums
FACTOR = {factor}
class Own(ct.Loss):
    def value(self, near, far):
        return FACTOR * max(near - far + 1.0, 0.0)
    def slopes(self, near, far):
        slope = FACTOR if near - far + 1.0 > 0.0 else 0.0
        return slope, -slope
start = [[0.0], [1.0], [2.0]]
result = ct.embed([[0, 1, 2], [1, 0, 2], [2, 1, 0]], 1, loss={loss}, solver="batch", start=start, epochs=0)
stats = sums.gradient.stats
print(result.best_record.objective, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run(factor=1.0, loss="Own()", module="__main__", **environment):
    """Return the objective, cache hits and cache misses of a new process."""
    program = f"exec({PROGRAM.format(factor=factor, loss=loss)!r}, {{'__name__': {module!r}}})"
    process = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    objective, hits, misses = process.stdout.split()
    return float(objective), int(hits), int(misses)


@pytest.mark.slow
def test_a_second_process_uses_the_cached_code_and_a_changed_loss_is_compiled_again(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(**place)[1:] == (0, 1)
    first, hits, misses = run(**place)
    assert (hits, misses) == (1, 0)
    second, hits, misses = run(factor=2.0, **place)
    assert (hits, misses) == (0, 1)
    assert second == pytest.approx(2 * first)
    assert run(loss="'ste'", **place)[1:] == (0, 1)
    assert run(loss="'ste'", **place)[1:] == (1, 0)


@pytest.mark.slow
def test_a_loss_whose_module_no_longer_exists_is_compiled_again(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = run(module="once_upon_a_time", **place)
    assert run(module="elsewhere", **place)[0] == first[0]


@pytest.mark.slow
def test_fits_work_if_neither_the_installation_nor_the_home_folder_is_writable(tmp_path):
    """A file in place of a folder prevents even an administrator from writing."""
    package = Path(importlib.util.find_spec("closerthan").origin).parent
    shutil.copytree(package, tmp_path / "closerthan", ignore=shutil.ignore_patterns("__pycache__"))
    for module in [*(tmp_path / "closerthan").rglob("__init__.py")]:
        (module.parent / "__pycache__").write_text("in the way")
    blocked = tmp_path / "blocked"
    blocked.write_text("in the way")
    environment = {
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(blocked),
        "XDG_CACHE_HOME": str(blocked),
        "LOCALAPPDATA": str(blocked),
        "NUMBA_CACHE_DIR": "",
    }
    assert run(**environment)[1:] == (0, 1)
