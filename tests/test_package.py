"""What the package promises as a whole."""

import pickle
import subprocess
import sys

import pytest

import closerthan as ct


def test_every_public_name_is_there():
    for name in ct.__all__:
        assert getattr(ct, name) is not None
        assert name in dir(ct)


def test_every_public_class_and_function_has_an_example():
    for name in ct.__all__:
        thing = getattr(ct, name)
        if callable(thing) and name not in ("Record", "Solver"):
            assert ">>>" in (thing.__doc__ or ""), name


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ct.nonsense


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
