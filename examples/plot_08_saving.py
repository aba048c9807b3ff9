"""
Saving and loading
==================

A result goes to one file with everything in it, or its map to a table that any other program can read.
"""

import tempfile
from pathlib import Path

import closerthan as ct

folder = Path(tempfile.mkdtemp())
answers = ct.datasets.eurodist().comparisons()
result = ct.embed(answers, loss="ste", seed=0, n_starts=4)

# %%
# Everything: the map, the history, the settings, the names. The file appears whole or not at all.
result.save(folder / "cities.npz")
again = ct.Result.load(folder / "cities.npz")
print(again, (again.embedding == result.embedding).all())

# %%
# The map as a table, and the history as another.
ct.files.write_map(result.embedding, result.names, folder / "cities.csv")
result.history.to_csv(folder / "history.csv")
print(*(folder / "cities.csv").read_text().splitlines()[:4], sep="\n")

# %%
# The answers themselves, in any format that :doc:`/files` lists.
ct.files.write_comparisons(answers, folder / "answers.csv")
ct.read_comparisons(folder / "answers.csv")

# %%
# A map can also be the start of the next fit, for instance when new answers have come in.
more = ct.embed(answers, loss="ste", start=again.embedding, seed=1, epochs=20)
figure = ct.plotting.overlay_figure(
    more.embedding, again.embedding, answers.names, title="Over the saved map"
)
