"""
From another tool to a map, and on to R
=======================================

An experiment in jsPsych logs every screen, in a file per person. The folder is read as it is: what asks nothing is left out,
and who answered, how quickly and on which side is kept.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

import closerthan as ct

folder = Path(tempfile.mkdtemp())
cities = ct.datasets.eurodist()
rng = np.random.default_rng(0)

# %%
# We make such files up, one per person: three people, who know the roads of Europe, press one of two buttons.
(folder / "data").mkdir()
for person in ("p1", "p2", "p3"):
    screens = [
        {
            "trial_type": "html-button-response",
            "stimulus": "<p>Which city is closer?</p>",
            "response": 0,
        }
    ]
    for _ in range(400):
        anchor, left, right = rng.choice(21, 3, replace=False)
        screens.append(
            {
                "trial_type": "html-button-response",
                "stimulus": cities.names[anchor],
                "choices": [cities.names[left], cities.names[right]],
                "response": int(
                    cities.table[anchor, right] < cities.table[anchor, left]
                ),
                "rt": float(rng.uniform(500, 3000)),
            }
        )
    counted = [
        {"trial_index": number, "time_elapsed": 0, **screen}
        for number, screen in enumerate(screens)
    ]
    (folder / "data" / f"{person}.json").write_text(json.dumps(counted))

# %%
# The summary says what was recognised, and what was left out.
answers = ct.files.read_answers(folder / "data")
print(answers.summary)

# %%
result = ct.embed(answers.comparisons, loss="ste", seed=0, n_starts=4)
figure = result.plot()

# %%
# The same answers for the R package loe, whose ``SOE`` takes quadruplets counted from 1.
print(ct.files.write_for("loe", answers.comparisons, folder / "cm.csv"))
print(*(folder / "cm.csv").read_text().splitlines()[:3], sep="\n")

# %%
# Answers of people that can be loaded, with their licences:
ct.datasets.list()
