"""Signatures of public functions are readable in ``help()`` and in editors."""

import inspect

import pytest

import closerthan as ct

LONGEST = 110  # characters of an annotation


def public_callables():
    """Public functions, constructors that users call, and their public methods, by name."""
    callables = {}
    for module in (ct, *(getattr(ct, name) for name in ct._SUBPACKAGES)):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                callables[f"{module.__name__}.{name}"] = thing
            elif inspect.isclass(thing) and "\n    Parameters\n" in (thing.__doc__ or ""):
                callables[f"{module.__name__}.{name}"] = thing
                methods = [method for method, value in vars(thing).items() if inspect.isfunction(value)]
                callables |= {f"{name}.{method}": getattr(thing, method) for method in methods if method[0] != "_"}
    return callables


CALLABLES = public_callables()


@pytest.mark.parametrize("name", CALLABLES)
def test_a_signature_has_short_types_and_the_values_of_defaults(name):
    signature = inspect.signature(CALLABLES[name])
    text = str(signature)
    for unreadable in ("Any", "numpy.", "ForwardRef", "= Ellipsis", "= <", " object at "):
        assert unreadable not in text, text
    for parameter in signature.parameters.values():
        assert len(repr(parameter.annotation)) <= LONGEST, parameter


def test_options_of_a_typed_dict_are_listed_with_their_defaults():
    parameters = inspect.signature(ct.assess_people).parameters
    assert parameters["n_folds"].default == 5
    assert parameters["epochs"].default == 100
    assert str(inspect.signature(ct.plotting.map_figure).parameters["axes"]) == "axes: tuple[int, int] = (0, 1)"
    assert str(inspect.signature(ct.write_report).parameters["test"]) == "test: Comparisons | ArrayLike | None = None"


def test_the_annotations_themselves_stay_types():
    assert ct.embed.__annotations__["return"] is ct.Result
