import pytest

from closerthan.collect.study.description import read_study
from closerthan.collect.study.questionnaire import Item, read_items

ITEM = {"name": "age", "kind": "number", "text": "How old are you?"}


def item(kind, **settings):
    return Item("x", "before", kind, "?", **settings)


@pytest.mark.parametrize(
    ("made", "value", "expected"),
    [
        (item("choice", options=("a", "b")), "b", "b"),
        (item("several", options=("a", "b", "c")), ["c", "a", "c"], ["a", "c"]),
        (item("number", least=0), 2.5, 2.5),
        (item("scale", least=1, most=7), 7, 7),
        (item("text"), "caf\u00e9 \ud800", "caf\u00e9 ?"),
        (item("text", required=False), "", None),
        (item("several", options=("a", "b"), required=False), [], None),
    ],
)
def test_a_valid_response_is_stored(made, value, expected):
    assert made.parsed(value) == expected


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (item("choice", options=("a", "b")), "c"),
        (item("choice", options=("a", "b")), None),
        (item("choice", options=("a", "b")), ["a"]),
        (item("several", options=("a", "b")), "a"),
        (item("several", options=("a", "b")), ["a", "c"]),
        (item("number"), "7"),
        (item("number"), True),
        (item("number"), float("nan")),
        (item("scale", least=1, most=7), 8),
        (item("scale", least=1, most=7), 1.5),
        (item("text"), 3),
    ],
)
def test_an_invalid_response_is_refused(made, value):
    with pytest.raises(ValueError, match=r"^x "):
        made.parsed(value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "my age"}, "item 1 needs a name"),
        ({"name": "comprehension"}, "item 1 needs a name"),
        ({"kind": "date"}, 'item "age": kind must be one of'),
        ({"when": "during"}, "when must be"),
        ({"text": ""}, "text is missing"),
        ({"options": ["a"]}, "options is unknown for a number"),
        ({"kind": "choice"}, "options must be at least two different texts"),
        ({"kind": "choice", "options": ["a", "a"]}, "options must be at least two different texts"),
        ({"least": 5, "most": 4}, "least the smaller one"),
        ({"least": float("nan")}, "least the smaller one"),
        ({"kind": "scale", "most": 100}, "at most 21 points"),
        ({"kind": "scale", "labels": ["low"]}, "labels must be the two texts"),
    ],
)
def test_mistakes_in_an_item_are_named(change, problem):
    with pytest.raises(ValueError, match=problem):
        read_items([{**ITEM, **change}])


def test_two_items_need_two_names():
    with pytest.raises(ValueError, match='two items with the name "age"'):
        read_items([ITEM, ITEM])


def test_mistakes_are_reported_with_the_line_of_the_section(folder):
    path = folder / "study.toml"
    text = path.read_text()
    n_lines = len(text.splitlines())
    path.write_text(text + '\n[[questionnaire]]\nname = "age"\nkind = "number"\n')
    with pytest.raises(ValueError, match=rf'line {n_lines + 2}: item "age": text is missing'):
        read_study(folder)
    path.write_text(text + '\n[comprehension]\ntext = "?"\noptions = ["a", "b"]\ncorrect = "c"\n')
    with pytest.raises(ValueError, match=rf'line {n_lines + 2}: correct is "c"; it must be one of the options'):
        read_study(folder)
    path.write_text(text + "\nquestionnaire = 3\n")
    with pytest.raises(ValueError, match=r"unknown|two brackets"):
        read_study(folder)
