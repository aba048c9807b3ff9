"""Optional libraries that only some file formats need."""

import importlib
from typing import Any


def extra(module: str, purpose: str) -> Any:
    """Import an optional module; if it is missing, raise an error that says how to install it.

    Examples
    --------
    >>> extra("json", "reading JSON").__name__
    'json'
    >>> extra("no_such_library.csv", "reading this")
    Traceback (most recent call last):
    ...
    ImportError: reading this needs no_such_library, which is not installed: pip install 'closerthan[files]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {library}, which is not installed: pip install 'closerthan[files]'"
        ) from None


def has_extra(module: str) -> bool:
    """Return whether a module can be imported.

    Examples
    --------
    >>> has_extra("json"), has_extra("no_such_library")
    (True, False)
    """
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True
