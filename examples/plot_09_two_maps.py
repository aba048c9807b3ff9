"""
Comparing two maps
==================

Two maps of the same objects may differ by a rotation, a reflection, a translation and a scale, which the answers do not
determine. Procrustes alignment removes these, and the remaining difference is meaningful.
"""

import numpy as np

import closerthan as ct

data = ct.datasets.synthetic(40, 2, n_train=6_000, n_test=5_000, flipped=0.15, seed=2)
first, second = data.train.split(0.5, np.random.default_rng(0))

# %%
# Do two halves of the answers lead to the same map, as if they came from two groups of people?
one = ct.embed(first, n_dims=2, seed=0, n_starts=4)
two = ct.embed(second, n_dims=2, seed=0, n_starts=4)
aligned, distance = ct.metrics.procrustes(two.embedding, one.embedding)
print(f"Procrustes distance {distance:.3f} (0: the same shape, 1: nothing in common)")

# %%
figure = ct.plotting.overlay_figure(two.embedding, one.embedding)

# %%
# For comparison, the distance expected by chance: the same map with its objects shuffled.
rng = np.random.default_rng(0)
chance = [
    ct.metrics.procrustes(rng.permutation(two.embedding), one.embedding).distance
    for _ in range(200)
]
print(f"shuffled: {min(chance):.3f} to {max(chance):.3f}")
