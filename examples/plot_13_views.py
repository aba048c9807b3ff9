"""
Answers about different things
==============================

Half of the answers are about colour, the other half about shape; nobody wrote down which. A mixture of maps finds out.
"""

import numpy as np

import closerthan as ct

rng = np.random.default_rng(0)
colour, shape = 3 * rng.normal(size=(2, 15, 2))
parts = [
    ct.datasets.simulated(points, 1_000, seed=seed)
    for seed, points in enumerate((colour, shape))
]
answers = ct.Comparisons.from_triplets(np.concatenate([part.rows for part in parts]))

# %%
# One map must get many answers wrong:
one = ct.embed(answers, loss="ste", seed=0)
print(f"one map: {ct.triplet_error(answers, one.embedding):.1%} wrong")

# %%
# Two maps:
views = ct.embed_views(answers, 2)
print(views)
for number, embedding in enumerate(views.maps):
    own = answers.take(views.view == number)
    print(
        f"view {number + 1}: {len(own):,} answers, {ct.triplet_error(own, embedding):.1%} wrong"
    )

# %%
# Side by side, and the answers that tell them apart: right on one map, wrong on the other.
figure = views.plot()
for title, rows in zip(views.titles, views.telling(answers, 2), strict=True):
    print(title, answers.rows[rows].tolist())

# %%
# Are they colour and shape? The distance of the shapes is 0 for the same map and 1 for one that has nothing in common.
for name, truth in (("colour", colour), ("shape", shape)):
    print(
        name,
        [
            round(ct.metrics.procrustes(found, truth).distance, 2)
            for found in views.maps
        ],
    )
