"""Invented exports of jsPsych and PsychoPy, and their content."""

import csv
import io
import json

NAMES = ("ant", "bee", "cat")


def as_csv(records):
    """Records as their tools write them: a column for each name that occurs, lists and objects as JSON."""
    file = io.StringIO()
    table = csv.DictWriter(file, list(dict.fromkeys(name for record in records for name in record)), restval="")
    table.writeheader()
    table.writerows(
        {name: json.dumps(cell) if isinstance(cell, list | dict) else cell for name, cell in record.items()}
        for record in records
    )
    return file.getvalue()


def said(answers):
    comparisons = getattr(answers, "comparisons", answers)
    return [tuple(comparisons.names[number] for number in row) for row in comparisons.rows.tolist()]


EXPECTED = [("ant", "bee", "cat"), ("bee", "ant", "cat"), ("cat", "bee", "ant")]  # left, right and left were picked


SIDES = [0, 1, 0]


def screens(answers, **said_of_all):
    """What jsPsych logs: instructions, the questions, and a survey, whose response is an object."""
    rows = [
        {"trial_type": "html-button-response", "stimulus": "<p>Welcome</p>", "response": 0, "rt": 5000},
        *answers,
        {"trial_type": "survey-text", "response": {"Q0": "nothing"}, "rt": 9000},
    ]
    return [
        {**row, "trial_index": number, "time_elapsed": 1000 * number, **said_of_all} for number, row in enumerate(rows)
    ]


def trial(anchor, left, right, response, rt):
    return {"trial_type": "image-button-response", "stimulus": anchor, "choices": [left, right], "response": response,
            "rt": rt}  # fmt: skip


JSPSYCH = [trial("ant", "bee", "cat", 0, 1200), trial("bee", "cat", "ant", 1, 800), trial("cat", "bee", "ant", 0, 2500)]


def psychopy(rows):
    welcome = {"welcome.keys": "space", "welcome.rt": 3.2}
    about = {"participant": "s3", "session": "001", "date": "2024-01-01", "expName": "insects",
             "psychopyVersion": "2023.1", "frameRate": 60.0}  # fmt: skip
    records = [{**about, **welcome}, *({**about, **row} for row in rows), about]
    header, *lines = as_csv(records).splitlines()
    return "\n".join(f"{line}," for line in (header, *lines)) + "\n"  # PsychoPy ends lines with a comma


PSYCHOPY = [
    {"trials.thisN": number, "anchor": anchor, "left": left, "right": right, "resp.keys": key, "resp.rt": seconds}
    for number, (anchor, left, right, key, seconds) in enumerate(
        [("ant", "bee", "cat", "left", 1.2), ("bee", "cat", "ant", "right", 0.8), ("cat", "bee", "ant", "left", 2.5)]
    )
]
