"""The words of the participant's page, from one TOML file per language. A study can replace each of them."""

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

__all__ = ["ENGLISH", "LANGUAGES", "Language", "find_language", "is_language_tag", "template"]

_WORDS = files("closerthan.collect.study").joinpath("words")
LANGUAGES = tuple(sorted(file.name.removesuffix(".toml") for file in _WORDS.iterdir() if file.name.endswith(".toml")))
"""The languages whose words are part of the package."""
_RIGHT_TO_LEFT = ("ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi")


@dataclass(frozen=True)
class Language:
    """The direction of writing ("ltr" or "rtl"), and the words of buttons and messages by name."""

    direction: str
    words: Mapping[str, str]


def is_language_tag(tag: str) -> bool:
    """Return whether a text has the form of a language tag.

    Examples
    --------
    >>> [is_language_tag(tag) for tag in ("en", "pt-BR", "zh-Hant-TW", "English", "")]
    [True, True, True, False, False]
    """
    return re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag) is not None


def find_language(tag: str, folder: Path) -> Language:
    """Return the words for a language tag: from TAG.toml in the folder of a study, or from the package.

    For a regional variant, such as pt-BR, the words of the language itself are used if there are no others.

    Examples
    --------
    >>> find_language("ar", Path()).direction, find_language("pt-BR", Path()).words["start"]
    ('rtl', 'Começar')
    """
    own = folder / f"{tag}.toml"
    if own.is_file():
        return _own_language(own)
    for name in (tag, tag.partition("-")[0]):
        if name.lower() in LANGUAGES:
            return _included(name.lower())
    raise ValueError(
        f'there are no words for "{tag}"; write them with: closerthan collect translate {folder} {tag}, or use one of '
        f"{', '.join(LANGUAGES)}"
    )


def template(tag: str) -> str:
    """Return the text of a file with English words, to be translated."""
    text = _WORDS.joinpath("en.toml").read_text(encoding="utf-8")
    _, _, rest = text.partition("\n")
    if tag.partition("-")[0].lower() in _RIGHT_TO_LEFT:
        rest = rest.replace('direction = "ltr"', 'direction = "rtl"', 1)
    return (
        f"# The words of the participant's page in the language {tag}: translate the texts in quotes, but not the\n"
        f'# words in braces. The direction is "rtl" for a language that is written from right to left.\n{rest}'
    )


@functools.cache
def _included(name: str) -> Language:
    content = tomllib.loads(_WORDS.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return Language(content["direction"], content["words"])


def _own_language(path: Path) -> Language:
    """Read a file that a researcher wrote; missing words, such as those of a newer version, remain in English."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({error}); compare it with a file that translate writes") from None
    direction, words = content.get("direction", "ltr"), content.get("words", {})
    if direction not in ("ltr", "rtl"):
        raise ValueError(f'{path}: direction is {direction!r}; it must be "ltr" or "rtl"')
    for name, text in words.items():
        if name not in ENGLISH.words:
            raise ValueError(f"{path}: {name} is unknown; remove it")
        if not isinstance(text, str) or _placeholders(text) != _placeholders(ENGLISH.words[name]):
            braces = ", ".join(sorted(_placeholders(ENGLISH.words[name]))) or "no words"
            raise ValueError(f"{path}: {name} is {text!r}; it must be a text with {braces} in braces")
    return Language(direction, {**ENGLISH.words, **words})


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


ENGLISH = _included("en")
