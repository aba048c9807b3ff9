"""From the library's words to the command line's: errors speak of ``ties="drop"``, users type ``--ties drop``."""

import re

OPTIONS = {"n_objects": "objects", "n_dims": "dims", "n_starts": "starts", "n_threads": "threads", "columns": "column"}
"""Arguments whose option has another name; all others have the same one, with hyphens."""

_KNOWN = "kind|numbering|names|n_objects|ties|self_pairs|missing|delimiter|encoding|variable|checkpoint|validation|by"


def option(argument: str) -> str:
    """The option for an argument of the library.

    Examples
    --------
    >>> option("n_dims"), option("time_limit")
    ('--dims', '--time-limit')
    """
    return "--" + OPTIONS.get(argument, argument).replace("_", "-")


def as_options(message: str) -> str:
    """A message of the library, with its arguments as the options that they are here.

    Examples
    --------
    >>> as_options('correct the file or pass self_pairs="drop"')
    'correct the file or pass --self-pairs drop'
    >>> as_options('say what they are, such as columns={"anchor": 0, "near": 1}')
    'say what they are, such as --column anchor=0 --column near=1'
    """
    message = message.replace("header=True or header=False", "--header or --no-header")
    message = re.sub(r"columns=\{(.*?)\}", _columns, message)
    message = re.sub(
        rf"\b({_KNOWN})=(\"[^\"]*\"|'[^']*'|\w+)",
        lambda found: f"{option(found[1])} {found[2].strip(chr(34))}",
        message,
    )
    return re.sub(rf"\b({_KNOWN})=(?=\s)", lambda found: option(found[1]), message)


def _columns(found: re.Match[str]) -> str:
    pairs = [pair.split(":") for pair in found[1].split(",") if ":" in pair]
    return " ".join(
        f"--column {role.strip().strip(chr(34) + chr(39))}={column.strip().replace('...', 'NAME')}"
        for role, column in pairs
    )
