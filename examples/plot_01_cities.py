"""
A map of 21 cities
==================

Nobody tells the program where the cities are, or how far they are from each other. All it hears is answers such as
"Paris is closer to Brussels than to Rome".
"""

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct

cities = ct.datasets.eurodist()
answers = cities.comparisons()
answers

# %%
# A fit takes some hundredths of a second. The result knows the cities' names.
result = ct.embed(answers, n_dims=2, seed=0, n_starts=4)
result

# %%
# Closeness says nothing of north and south: a map can be turned and mirrored as one likes. For the eye, this one is
# turned so that Copenhagen is north of Rome, and Athens east of Lisbon.
place = dict(zip(result.names, result.embedding, strict=True))
north = place["Copenhagen"] - place["Rome"]
east = np.array([north[1], -north[0]])
east *= np.sign(east @ (place["Athens"] - place["Lisbon"]))
northward = result.embedding @ np.column_stack([east, north]) / np.linalg.norm(north)
figure = ct.plotting.map_figure(northward, result.names, title="From answers alone")

# %%
# The answers were made from road distances, which the map has never seen. How well do its own distances agree?
first, second = np.triu_indices(len(result.names), 1)
on_map = np.linalg.norm(result.embedding[first] - result.embedding[second], axis=1)
scatter = Figure(figsize=(6, 4), layout="constrained")
axes = scatter.subplots()
axes.plot(cities.table[first, second], on_map, ".", alpha=0.6)
axes.set_xlabel("km by road")
axes.set_ylabel("distance on the map")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which cities do the answers fit least? Road distances are not quite a map: ferries and mountains are in the way.
errors = ct.plotting.object_error_figure(answers, result.embedding)
