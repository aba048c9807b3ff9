"""
Saving and loading
==================

A result can be saved to a single file with everything in it, and its map to a table that other programs can read.
"""

import tempfile
from pathlib import Path

import closerthan as ct

folder = Path(tempfile.mkdtemp())
answers = ct.datasets.eurodist().comparisons()
result = ct.embed(answers, loss="ste", seed=0, n_starts=4)

# %%
# Save everything: the map, the history, the settings and the names. The file is written completely or not at all.
result.save(folder / "cities.npz")
loaded = ct.Result.load(folder / "cities.npz")
print(loaded, (loaded.embedding == result.embedding).all())

# %%
# Write the map and the history as tables.
ct.files.write_map(result.embedding, result.names, folder / "cities.csv")
result.history.to_csv(folder / "history.csv")
print(*(folder / "cities.csv").read_text().splitlines()[:4], sep="\n")

# %%
# Write the answers themselves, in any of the formats listed in :doc:`/files`.
ct.files.write_comparisons(answers, folder / "answers.csv")
ct.read_comparisons(folder / "answers.csv")

# %%
# A map can also be the start of another fit, for instance when new answers have arrived.
more = ct.embed(answers, loss="ste", start=loaded.embedding, seed=1, epochs=20)
figure = ct.plotting.overlay_figure(
    more.embedding, loaded.embedding, answers.names, title="New map over the saved one"
)
