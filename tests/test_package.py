"""Properties of the package as a whole."""

import inspect
import pickle
import subprocess
import sys
import typing

import pytest

import closerthan as ct


def test_every_public_name_is_there():
    for name in ct.__all__:
        assert getattr(ct, name) is not None
        assert name in dir(ct)


def test_tab_completion_shows_public_names_only():
    assert dir(ct) == sorted(ct.__all__)


def returned_classes():
    """The classes of ours that public functions return."""
    functions = [getattr(ct, name) for name in ct.__all__ if inspect.isfunction(getattr(ct, name))]
    returned = {typing.get_type_hints(inspect.unwrap(function)).get("return") for function in functions}
    return {kind for kind in returned if isinstance(kind, type) and kind.__module__.startswith("closerthan")}


def test_what_public_functions_return_is_public():
    assert {kind.__name__ for kind in returned_classes()} <= set(ct.__all__)


def test_every_public_class_and_function_has_an_example():
    made_by_functions = returned_classes() | {ct.Gain}
    for name in ct.__all__:
        thing = getattr(ct, name)
        if callable(thing) and thing not in made_by_functions:
            assert ">>>" in (thing.__doc__ or ""), name


def test_what_public_functions_return_has_a_representation_of_its_own():
    for kind in returned_classes():
        assert kind.__repr__ is not object.__repr__, kind
        assert "repr" not in kind.__repr__.__qualname__.split(".")[0], kind


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ct.nonsense


def test_a_public_module_lists_its_public_names():
    for name in ct._SUBPACKAGES:
        module = getattr(ct, name)
        assert set(module.__all__) <= set(dir(module)), name


def test_importing_it_imports_nothing_heavy():
    heavy = ["numba", "scipy", "sklearn", "matplotlib", "rich", "typer", "pandas"]
    program = f"import sys, closerthan; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_functions_of_a_notebook_travel_to_other_processes():
    cloudpickle = pytest.importorskip("cloudpickle")
    namespace = {"ct": ct, "__name__": "__main__"}
    exec("def of_a_cell():\n    return ct.embed, ct.losses.STE", namespace)
    assert pickle.loads(cloudpickle.dumps(namespace["of_a_cell"]))() == (ct.embed, ct.losses.STE)
