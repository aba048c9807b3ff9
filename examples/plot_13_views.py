"""
Answers about different things
==============================

Half of the answers are about colour and the other half about shape, but which is which was not recorded. A mixture of
maps can tell them apart.
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
# A single map inevitably gets many answers wrong:
one = ct.embed(answers, loss="ste", seed=0)
print(f"one map: {ct.triplet_error(answers, one.embedding):.1%} wrong")

# %%
# Fit two maps:
views = ct.embed_views(answers, 2)
print(views)
for number, embedding in enumerate(views.maps):
    own = answers.take(views.view == number)
    print(
        f"view {number + 1}: {len(own):,} answers, {ct.triplet_error(own, embedding):.1%} wrong"
    )

# %%
# Draw them side by side, and print the answers that distinguish them: right on one map and wrong on the other.
figure = views.plot()
for title, rows in zip(views.titles, views.distinguishing(answers, 2), strict=True):
    print(title, answers.rows[rows].tolist())

# %%
# Do the maps represent colour and shape? The Procrustes distance is 0 if two maps have the same shape, and 1 if they
# have nothing in common.
for name, truth in (("colour", colour), ("shape", shape)):
    print(
        name,
        [
            round(ct.metrics.procrustes(embedding, truth).distance, 2)
            for embedding in views.maps
        ],
    )
