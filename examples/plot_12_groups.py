"""
Groups without a map
====================

The answers themselves show which objects belong together: the objects of a pair that is often judged the closer one are
similar.
"""

import numpy as np

import closerthan as ct

answers = ct.datasets.eurodist().comparisons()

# %%
# The number of groups is the one with the highest silhouette on a map. The cities of a continent are spread rather
# evenly, so there may be no groups at all; the result says so.
clusters = ct.cluster(answers)
print(clusters)
for group in clusters.groups:
    print(", ".join(group))

# %%
figure = clusters.plot(title="21 cities")

# %%
# Find groups on a map, and count how often two cities share a group on twenty other maps, each fitted to half of the
# answers:
result = ct.embed(answers, loss="soe", seed=0)
halves = [answers.split(0.5, np.random.default_rng(seed))[0] for seed in range(20)]
maps = [ct.embed(half, loss="soe", seed=0).embedding for half in halves]
on_map = ct.cluster(result, maps=maps)
rome, milan = (answers.names.index(name) for name in ("Rome", "Milan"))
print(
    f"Rome and Milan share a group on {on_map.co_membership[rome, milan]:.0%} of the maps"
)
print(on_map.advice)

# %%
# Colour the map by group. ``ct.write_report(answers, result, path, groups=on_map)`` also shows the tree.
figure = ct.plotting.map_figure(
    result.embedding,
    result.names,
    labels=[f"group {label + 1}" for label in on_map.labels],
)
