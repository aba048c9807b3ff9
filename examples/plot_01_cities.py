"""
A map of 21 cities
==================

The program knows neither where the cities are nor how far they are from each other. Its only input is answers such as
"Paris is closer to Brussels than to Rome".
"""

import numpy as np
from matplotlib.figure import Figure

import closerthan as ct

cities = ct.datasets.eurodist()
answers = cities.comparisons()
answers

# %%
# A fit takes a few hundredths of a second. The result includes the names of the cities.
result = ct.embed(answers, n_dims=2, seed=0, n_starts=4)
result

# %%
# Comparisons of distances say nothing about north and south: a map may be rotated and reflected. For easier reading,
# this one is rotated so that Copenhagen is north of Rome, and reflected so that Athens is east of Lisbon.
place = dict(zip(result.names, result.embedding, strict=True))
north = place["Copenhagen"] - place["Rome"]
east = np.array([north[1], -north[0]])
east *= np.sign(east @ (place["Athens"] - place["Lisbon"]))
northward = result.embedding @ np.column_stack([east, north]) / np.linalg.norm(north)
figure = ct.plotting.map_figure(
    northward, result.names, title="A map from answers alone"
)

# %%
# The answers were derived from road distances, which were not used in the fit. How well do the distances on the map
# agree with them?
first, second = np.triu_indices(len(result.names), 1)
on_map = np.linalg.norm(result.embedding[first] - result.embedding[second], axis=1)
scatter = Figure(figsize=(6, 4), layout="constrained")
axes = scatter.subplots()
axes.plot(cities.table[first, second], on_map, ".", alpha=0.6)
axes.set_xlabel("km by road")
axes.set_ylabel("distance on the map")
axes.spines[["top", "right"]].set_visible(False)

# %%
# Which cities fit worst? Road distances cannot be represented exactly on a map, because of ferries and mountains.
errors = ct.plotting.object_error_figure(answers, result.embedding)
