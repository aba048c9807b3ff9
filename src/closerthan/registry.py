"""Turn a user's choice (a name, a class or an object) into an object, and objects into JSON data and back."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from closerthan.checks import ParameterError

__all__ = [
    "JsonObject",
    "UserDefined",
    "as_data",
    "from_data",
    "is_library_class",
    "name_of",
    "parameters",
    "resolve",
]

Kind = TypeVar("Kind")
Registry = Mapping[str, Callable[[], Any]]
if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    JsonObject: TypeAlias = Mapping[str, Json]  # data that json.dumps accepts
else:
    JsonObject = Mapping[str, Any]  # typing.get_type_hints cannot resolve a recursive type in other modules


def resolve(choice: Any, registry: Mapping[str, Callable[[], Kind]], kind: type[Kind], noun: str) -> Kind:
    """Return the object that a name, class or object stands for; ``noun`` is the parameter that receives it.

    An unknown name raises an error that lists the registered names.

    Examples
    --------
    >>> resolve("two", {"one": lambda: 1, "two": lambda: 2}, int, "number")
    2
    >>> resolve("six", {"one": lambda: 1, "two": lambda: 2}, int, "number")
    Traceback (most recent call last):
    ...
    closerthan.checks.ParameterError: number is 'six'; choose from: one, two
    """
    if isinstance(choice, str):
        if choice not in registry:
            raise ParameterError(noun, choice, f"choose from: {', '.join(registry)}")
        return registry[choice]()
    if isinstance(choice, type) and issubclass(choice, kind):
        return choice()
    if isinstance(choice, kind):
        return choice
    rule = f"pass a name ({', '.join(registry)}) or an object derived from {kind.__name__}"
    raise ParameterError(noun, choice, rule)


@dataclasses.dataclass(frozen=True)
class UserDefined:
    """An object of a user-defined class as it is saved in a file: the name of its class and its parameters."""

    name: str
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def name_of(thing: Any, registry: Registry) -> str | None:
    """Return the name under which an equal object is registered, or None.

    Examples
    --------
    >>> from closerthan.losses import LOSSES, SOE
    >>> name_of(SOE(), LOSSES), name_of(SOE(margin=2.0), LOSSES)
    ('soe', None)
    """
    return next((name for name, make in registry.items() if _same(make(), thing)), None)


def parameters(thing: Any) -> dict[str, Any]:
    """Return the parameters of an object by name: dataclass fields, or arguments that the class stores as attributes.

    Examples
    --------
    >>> class Mine:
    ...     def __init__(self, rate=0.1):
    ...         self.rate = rate
    >>> parameters(Mine(0.5))
    {'rate': 0.5}
    """
    if isinstance(thing, UserDefined):
        return dict(thing.parameters)
    if dataclasses.is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing) if field.init}
    if isinstance(thing, Mapping):
        return {str(key): value for key, value in thing.items()}
    kind = type(thing)
    if not inspect.isfunction(kind.__init__):  # there is no constructor, or it is not written in Python
        return {}
    _, *arguments = inspect.signature(kind.__init__).parameters.values()
    names = [one.name for one in arguments if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    missing = next((name for name in names if not hasattr(thing, name)), None)
    if missing is not None:
        raise ValueError(
            f"{kind.__name__} takes the argument {missing} but has no attribute of that name, so a result could not "
            f"record it; write self.{missing} = {missing}, or make the class a dataclass"
        )
    return {name: getattr(thing, name) for name in names}


def as_data(thing: Any, registry: Registry) -> dict[str, Any]:
    """Return an object as JSON data: its name and its parameters. Objects of user-defined classes are marked as such.

    Examples
    --------
    >>> from closerthan.losses import LOSSES, SOE
    >>> as_data(SOE(margin=2.0), LOSSES)
    {'name': 'soe', 'margin': 2.0}
    """
    if isinstance(thing, UserDefined) or not is_library_class(type(thing)):
        return _plain(thing)  # type: ignore[no-any-return]
    own = parameters(thing)
    defaults = {name: default for name, make in registry.items() if type(default := make()) is type(thing)}
    # Several names may stand for one class; use the one whose parameters agree best.
    name = max(defaults, key=lambda name: _in_common(parameters(defaults[name]), own), default=type(thing).__name__)
    return {"name": name, **{key: _plain(value) for key, value in own.items()}}


def from_data(data: Mapping[str, Any], registry: Registry, classes: Mapping[str, Any]) -> Any:
    """Return the object that :func:`as_data` described; ``classes`` are the possible classes of parameters by name.

    Examples
    --------
    >>> from closerthan.losses import LOSSES, SOE
    >>> from_data({"name": "soe", "margin": 2.0}, LOSSES, {})
    SOE(margin=2.0)
    >>> from_data({"name": "MyLoss", "own": True, "parameters": {"scale": 2.0}}, LOSSES, {})
    UserDefined(name='MyLoss', parameters={'scale': 2.0})
    """
    if data.get("own"):
        return _read(data, classes)
    arguments = {key: _read(value, classes) for key, value in data.items() if key != "name"}
    if data["name"] not in registry:
        raise ValueError(f"unknown name {data['name']!r}; choose from: {', '.join(registry)}")
    # A built-in class with a parameter of a user-defined class cannot be rebuilt either.
    if any(isinstance(value, UserDefined) for value in arguments.values()):
        return UserDefined(data["name"], arguments)
    return dataclasses.replace(registry[data["name"]](), **arguments)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    arguments = {key: _plain(one) for key, one in parameters(value).items()}
    if isinstance(value, UserDefined) or not is_library_class(type(value)):
        # The parameters get a separate dictionary, since users may name them as they like, even "name".
        name = value.name if isinstance(value, UserDefined) else type(value).__name__
        return {"name": name, "own": True, "parameters": arguments}
    return {"name": type(value).__name__, **arguments}


def _read(value: Any, classes: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return tuple(_read(one, classes) for one in value)
    if not isinstance(value, Mapping):
        return value
    if set(value) == {"float"}:
        return float(value["float"])
    if value.get("own"):
        return UserDefined(value["name"], {key: _read(one, classes) for key, one in value["parameters"].items()})
    arguments = {key: _read(one, classes) for key, one in value.items() if key != "name"}
    if any(isinstance(one, UserDefined) for one in arguments.values()) or value["name"] not in classes:
        return UserDefined(value["name"], arguments)
    return classes[value["name"]](**arguments)


def is_library_class(kind: type) -> bool:
    """Return whether a class is part of closerthan, rather than user-defined."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _in_common(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, int]:
    kinds = sum(type(value) is type(other[name]) for name, value in one.items())
    return kinds, sum(_same(value, other[name]) for name, value in one.items())
