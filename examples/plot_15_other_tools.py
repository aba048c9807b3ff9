"""
From jsPsych to a map, and on to R
==================================

An experiment in jsPsych logs every screen, in one file per person. closerthan reads the folder as it is: screens without
a question are skipped; the person, the response time and the chosen side are kept.
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
# Simulate such files: three people who know the road distances in Europe press one of two buttons.
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
        anchor, first, second = rng.choice(21, 3, replace=False)
        screens.append(
            {
                "trial_type": "html-button-response",
                "stimulus": cities.names[anchor],
                "choices": [cities.names[first], cities.names[second]],
                "response": int(
                    cities.table[anchor, second] < cities.table[anchor, first]
                ),
                "rt": float(rng.uniform(500, 3000)),
            }
        )
    trials = [
        {"trial_index": number, "time_elapsed": 0, **screen}
        for number, screen in enumerate(screens)
    ]
    (folder / "data" / f"{person}.json").write_text(json.dumps(trials))

# %%
# The summary describes what was recognised and what was skipped.
answers = ct.files.read_answers(folder / "data")
print(answers.summary)

# %%
result = ct.embed(answers.comparisons, loss="ste", seed=0, n_starts=4)
figure = result.plot()

# %%
# Write the same answers for the R package loe, whose function ``SOE`` takes quadruplets of numbers from 1.
print(ct.files.write_for("loe", answers.comparisons, folder / "cm.csv"))
print(*(folder / "cm.csv").read_text().splitlines()[:3], sep="\n")

# %%
# List the data sets of human answers that can be loaded, with their licences:
ct.datasets.list()
