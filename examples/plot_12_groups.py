"""
Groups without a map
====================

Which objects belong together can be read off the answers themselves: pairs that are often called the closer one are alike.
"""

import numpy as np

import closerthan as ct

answers = ct.datasets.eurodist().comparisons()

# %%
# The number of groups is the one with the highest silhouette on a map. Cities of a continent are spread evenly; whether
# there are groups at all is what the result says.
found = ct.cluster(answers)
print(found)
for group in found.groups:
    print(", ".join(group))

# %%
figure = found.plot(title="21 cities")

# %%
# Groups on a map, and how often two cities share one on twenty others, each fitted to half of the answers:
result = ct.embed(answers, loss="soe", seed=0)
halves = [answers.split(0.5, np.random.default_rng(seed))[0] for seed in range(20)]
maps = [ct.embed(half, loss="soe", seed=0).embedding for half in halves]
on_map = ct.cluster(result, maps=maps)
rome, milan = (answers.names.index(name) for name in ("Rome", "Milan"))
print(f"Rome and Milan share a group on {on_map.together[rome, milan]:.0%} of the maps")
print(on_map.advice)

# %%
# Colours are those of the groups; ``ct.write_report(result, answers, path, groups=on_map)`` shows the same with the tree.
figure = ct.plotting.map_figure(
    result.embedding,
    result.names,
    labels=[f"group {label + 1}" for label in on_map.labels],
)
