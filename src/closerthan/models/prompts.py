"""Prompts: questions as JSON messages for a program, and the meaning of its replies.

A prompt names the options and what is asked::

    {"id": 3, "kind": "triplet", "anchor": "lion", "options": ["frog", "tiger"], "choose": 1, "text": "Which ..."}

The reply repeats the id and names an option, or a list of options if several are to be chosen::

    {"id": 3, "answer": "tiger"}

A reply that names no option, several, or the wrong number of options is *unclear*; its meaning is never guessed.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.models.question_sets import QuestionSet

__all__ = ["Prompt", "Reply", "parse_reply", "prompts_of"]

Option = str | tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Prompt:
    """One question.

    Attributes
    ----------
    number
        Position of the question among all questions.
    kind
        "triplet", "quadruplet", "odd-one-out", "most-central", "nearest" or "rank".
    anchor
        The object that the options are compared with, or None.
    options
        Names of the options; a pair of names for a quadruplet.
    pairs
        For each option, the position of the pair that is chosen with it.
    n_chosen
        Number of options to choose.
    """

    number: int
    kind: str
    anchor: str | None
    options: tuple[Option, ...]
    pairs: tuple[int, ...]
    n_chosen: int

    @property
    def text(self) -> str:
        """The question in words, for a program that passes it on to a language model.

        Examples
        --------
        >>> Prompt(0, "nearest", "lion", ("ant", "tiger", "bee"), (0, 1, 2), 2).text
        'Which 2 of these are most similar to lion: ant, tiger or bee?'
        """
        named = [option if isinstance(option, str) else " and ".join(option) for option in self.options]
        separator = "; " if self.kind == "quadruplet" or any("," in name for name in named) else ", "
        choice = f"{separator.join(named[:-1])} or {named[-1]}"
        if self.kind == "triplet":
            return f"Which is more similar to {self.anchor}: {choice}?"
        if self.kind == "quadruplet":
            return f"Which two are more similar to each other: {choice}?"
        if self.kind == "odd-one-out":
            return f"Which of these is the odd one out: {choice}?"
        if self.kind == "most-central":
            return f"Which of these is the most central, that is, the most similar to both others: {choice}?"
        several = "one" if self.n_chosen == 1 else str(self.n_chosen)
        verb = "is" if self.n_chosen == 1 else "are"
        order = ", the most similar first" if self.kind == "rank" and self.n_chosen > 1 else ""
        return f"Which {several} of these {verb} most similar to {self.anchor}{order}: {choice}?"

    def message(self) -> str:
        """Return the prompt as one line of JSON."""
        content: dict[str, Any] = {"id": self.number, "kind": self.kind}
        if self.anchor is not None:
            content["anchor"] = self.anchor
        content |= {"options": self.options, "choose": self.n_chosen, "text": self.text}
        return json.dumps(content, ensure_ascii=False)


class Reply(NamedTuple):
    """The meaning of a reply.

    Attributes
    ----------
    chosen
        Positions of the chosen options; empty if the reply is unclear or reports an error.
    problem
        Why there is no answer; empty if there is one.
    is_error
        Whether the program reported an error, so that the question may be asked again.
    """

    chosen: tuple[int, ...]
    problem: str = ""
    is_error: bool = False


def parse_reply(line: str, prompt: Prompt) -> Reply | None:
    """Return the meaning of a line that a program wrote; None if it is not a reply to this prompt.

    Upper and lower case and white space around a name do not matter, unless two options differ only in these.

    Examples
    --------
    >>> prompt = Prompt(3, "triplet", "lion", ("frog", "tiger"), (0, 1), 1)
    >>> parse_reply('{"id": 3, "answer": "Tiger"}', prompt).chosen, parse_reply("loading the model ...", prompt)
    ((1,), None)
    >>> parse_reply('{"id": 3, "answer": "frog or tiger"}', prompt).problem
    "'frog or tiger' is not one of the options"
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("id") != prompt.number:
        return None
    if content.get("error"):
        return Reply((), f"the program reports: {content['error']}", is_error=True)
    answer = content.get("answer")
    if prompt.kind == "quadruplet":
        several = [answer] if _is_pair(answer) else answer
    else:
        several = answer if isinstance(answer, list) else [answer]
    if not isinstance(several, list) or len(several) != prompt.n_chosen:
        return Reply((), f"{prompt.n_chosen} of the options must be named, but the answer is {answer!r}")
    chosen = []
    for one in several:
        places = _places(one, prompt.options)
        if len(places) != 1:
            return Reply((), f"{one!r} is not one of the options")
        chosen += places
    if len(set(chosen)) < len(chosen):
        return Reply((), f"{answer!r} names an option twice")
    return Reply(tuple(chosen))


def _is_pair(answer: object) -> bool:
    return isinstance(answer, list) and len(answer) == 2 and all(isinstance(one, str) for one in answer)


def _places(answer: object, options: Sequence[Option]) -> list[int]:
    """Return the positions of the options that an answer names: exactly, or, if none, in lower case."""
    for spelling in (str, _lower):
        keys = [_key(option, spelling) for option in options]
        key = _key(tuple(answer) if isinstance(answer, list) else answer, spelling)
        places = [place for place, one in enumerate(keys) if one == key]
        if places:
            return places
    return []


def _lower(text: str) -> str:
    return text.strip().casefold()


def _key(option: object, spelling: Any) -> object:
    if isinstance(option, str):
        return spelling(option)
    if isinstance(option, tuple) and all(isinstance(one, str) for one in option):
        return frozenset(spelling(one) for one in option)  # the order of a pair does not matter
    return None if option is None else (option,)  # equal to no option


def prompts_of(
    sets: Sequence[QuestionSet], names: Sequence[str], rng: np.random.Generator | None = None
) -> list[Prompt]:
    """Return the prompts of questions, sorted by number; ``rng`` shuffles the options of each.

    Options of people's questions must be shuffled, since the one that was chosen comes first.

    Examples
    --------
    >>> pairs = np.array([[[0, 1], [0, 2], [1, 2]]])
    >>> odd = QuestionSet(pairs, 1, False, False, np.array([0]))
    >>> prompts_of([odd], ["ant", "bee", "cat"])[0].message()
    '{"id": 0, "kind": "odd-one-out", "options": ["ant", "bee", "cat"], "choose": 1, "text": "Which of these is the odd one out: ant, bee or cat?"}'
    """  # noqa: E501
    prompts = [
        _prompt(one, pairs, int(number), names)
        for one in sets
        for pairs, number in zip(one.pairs, one.numbers, strict=True)
    ]
    prompts.sort(key=lambda prompt: prompt.number)
    if rng is None:
        return prompts
    return [_shuffled(prompt, rng.permutation(len(prompt.options))) for prompt in prompts]


def _shuffled(prompt: Prompt, order: NDArray[np.int64]) -> Prompt:
    options = tuple(prompt.options[place] for place in order)
    return dataclasses.replace(prompt, options=options, pairs=tuple(prompt.pairs[place] for place in order))


def _prompt(questions: QuestionSet, pairs: NDArray[np.int64], number: int, names: Sequence[str]) -> Prompt:
    objects = [set(pair) for pair in pairs.tolist()]
    everything = sorted(set.union(*objects))
    if len(pairs) == 3 and len(everything) == 3:
        kind = "most-central" if questions.least else "odd-one-out"
        # The object that is not in the chosen pair is the odd one, or the central one.
        where = [next(place for place, pair in enumerate(objects) if one not in pair) for one in everything]
        return Prompt(number, kind, None, tuple(names[one] for one in everything), tuple(where), 1)
    shared = set.intersection(*objects)
    if len(shared) != 1:
        options = tuple((names[one], names[other]) for one, other in pairs.tolist())
        return Prompt(number, "quadruplet", None, options, tuple(range(len(options))), questions.n_chosen)
    (anchor,) = shared
    others = tuple(names[next(one for one in pair if one != anchor)] for pair in objects)
    kind = "triplet" if len(pairs) == 2 else "rank" if questions.ordered else "nearest"
    return Prompt(number, kind, names[anchor], others, tuple(range(len(others))), questions.n_chosen)
