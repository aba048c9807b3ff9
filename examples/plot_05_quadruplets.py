"""
Quadruplets: which of two pairs is closer?
==========================================

"Are these two more alike than those two?" is a question without an anchor. A row (i, j, l, k) means that i and j are
closer to each other than l and k. All losses, solvers and figures accept quadruplets as well as triplets.
"""

import closerthan as ct

data = ct.datasets.synthetic(
    40, 2, n_train=4_000, n_test=4_000, quadruplets=True, flipped=0.1, seed=0
)
data.train

# %%
result = ct.embed(data.train, n_dims=2, seed=0, n_starts=4)
print(f"test error {ct.triplet_error(data.test, result.embedding):.3f}")

# %%
# The points from which the answers were generated, and their places on the map:
figure = ct.plotting.overlay_figure(result.embedding, data.points)

# %%
# The map and the answers disagree mostly on close calls:
margin = ct.plotting.margin_figure(data.train, result.embedding)
